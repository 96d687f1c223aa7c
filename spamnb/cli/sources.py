"""Messages that can be read, and work on many of them."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from spamnb.errors import MaildirError, MailError, SpamnbError
from spamnb.mail.intake import take
from spamnb.mail.reading import Reading, read
from spamnb.maildir.mailbox import read_chunks

T = TypeVar("T")

_FEW = 64  # fewer messages than this are done sooner than processes are started
_CHUNK = 64  # messages a task
_CHUNK_BYTES = 2 << 20  # of messages that are not read from files of their own


@dataclass(frozen=True, slots=True)
class Source:
    """A message that can be read: where it is, for a person, and a file, or the bytes, or why there are none."""

    where: str
    file: str = ""
    content: bytes | None = None
    fault: str = ""

    def read(self) -> bytes:
        """The message's bytes as `take` gives them. Raises MailError where they cannot be read."""
        if self.fault:
            raise MailError(self.fault)
        content = self.content
        if content is None:
            try:
                content = take(read_chunks(self.file))
            except FileNotFoundError:
                raise MailError("it is gone: it was moved or deleted meanwhile") from None
            except MaildirError as fault:
                raise MailError(str(fault)) from fault
        if not content.strip():
            raise MailError("it is empty")
        return content


Done = tuple[Source, T | MailError]


def readings(found: Iterable[Source]) -> AbstractContextManager[Iterator[Done[Reading]]]:
    """Read messages, in order, many of them on all cores."""
    return each(found, read_all)


def read_all(chunk: list[Source]) -> list[Done[Reading]]:
    """Read some messages."""
    return one_by_one(lambda source: read(source.read()), chunk)


def one_by_one(task: Callable[[Source], T], chunk: list[Source]) -> list[Done[T]]:
    """Do a task for each message; one that cannot be read gives its error."""
    return [_try(task, source) for source in chunk]


@contextmanager
def each(found: Iterable[Source], work: Callable[[list[Source]], list[T]]) -> Iterator[Iterator[T]]:
    """What `work` makes of some messages at a time, in order; of many of them on all cores.

    Workers are forked at the call, before the caller opens a ledger: a SQLite connection must not be carried
    into another process.
    """
    waiting = iter(found)
    first = list(islice(waiting, _FEW))
    cores = len(os.sched_getaffinity(0))
    chunks = _chunks(chain(first, waiting))
    if len(first) < _FEW or cores == 1:
        yield (done for chunk in chunks for done in work(chunk))
        return
    from spamnb.cli.workers import in_parallel

    with in_parallel(work, chunks, cores) as all_done:
        yield all_done


def _chunks(found: Iterator[Source]) -> Iterator[list[Source]]:
    chunk: list[Source] = []
    size = 0
    for source in found:
        chunk.append(source)
        size += len(source.content or b"")
        if len(chunk) == _CHUNK or size > _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _try(task: Callable[[Source], T], source: Source) -> Done[T]:
    try:
        return source, task(source)
    except MailError as fault:
        return source, fault
    except SpamnbError:
        raise  # the ledger's: it would be the same for every message
    except Exception as fault:
        return source, MailError(f"the reader failed with {type(fault).__name__}: {fault}; please report it")
