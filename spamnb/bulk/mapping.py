"""Map work over many messages, by any executor."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, Optional, TypeAlias, TypeVar

from spamnb.base.errors import MailError, SpamnbError
from spamnb.bulk.sources import Source
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.parsing.header_block import begins_as_mail
from spamnb.mail.reading import Reading, read

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")
Workers: TypeAlias = Optional["Executor"]  # None: processes of this machine, if there is enough work
Done = tuple[Source, T | MailError]  # a message, and its result or why it could not be read
LeftOut = list[tuple[Source, MailError]]

PROCESSES, DASK = "processes", "dask://"
_FEW = 64  # for fewer messages, starting processes would take longer
_CHUNK = 64  # messages per task
_CHUNK_BYTES = 2 << 20  # of messages that do not come from their own files


def executor_at(where: str) -> AbstractContextManager[Workers]:
    """Return the executor of that name: `processes`, or `dask://HOST:PORT`. Raises SpamnbError if it is unusable."""
    if where == PROCESSES:
        return nullcontext()
    from spamnb.bulk.cluster import dask_workers

    return dask_workers(where.removeprefix(DASK))


@contextmanager
def each(
    work: Callable[[list[Source]], list[T]], found: Iterable[Source], executor: Workers = None
) -> Iterator[Iterator[T]]:
    """Yield the results of `work` for the messages, some at a time, in order. `work` and its results can be pickled.

    Without an executor, processes do the work for many messages, one per core; this process does it for a few. Work
    begins at the call: processes are forked before the caller opens a ledger, since a SQLite connection must not be
    carried into another process.
    """
    waiting = iter(found) if executor is None else map(_anywhere, found)
    first = list(islice(waiting, _FEW))
    chunks = _chunks(chain(first, waiting))
    cores = len(os.sched_getaffinity(0))
    if executor is None and (len(first) < _FEW or cores == 1):
        yield chain.from_iterable(map(work, chunks))
        return
    from spamnb.bulk.executors import Processes, in_order

    with nullcontext(executor) if executor else Processes(cores) as workers, in_order(work, chunks, workers) as done:
        yield chain.from_iterable(done)


def _anywhere(source: Source) -> Source:
    """Return the message as a process in another directory finds it."""
    return source._replace(file=os.path.abspath(source.file)) if source.file else source


def one_by_one(task: Callable[[Source], T], chunk: list[Source]) -> list[Done[T]]:
    """Do a task for each message. A message that cannot be read gives its error."""
    return [(source, _try(task, source)) for source in chunk]


def left_out(done: Iterable[Done[object]]) -> LeftOut:
    """Return the messages that could not be read."""
    return [(source, got) for source, got in done if isinstance(got, MailError)]


def read_all(chunk: list[Source]) -> list[Done[Reading]]:
    """Read messages."""
    return one_by_one(lambda source: read(source.read()), chunk)


def read_batch(chunk: list[Source]) -> list[tuple[Batch, LeftOut]]:
    """Read messages for learning: a batch, and those that cannot be read or are not messages."""
    return _batch(one_by_one(lambda source: read(_checked(source.read())), chunk))


def read_learned_batch(chunk: list[Source]) -> list[tuple[Batch, LeftOut]]:
    """Read messages that were learned before: a batch, and those that cannot be read."""
    return _batch(read_all(chunk))


def _checked(raw: bytes) -> bytes:
    if not begins_as_mail(raw):
        raise MailError("it is not a message: its first line is neither a header field nor a `From ` line")
    return raw


def _batch(done: list[Done[Reading]]) -> list[tuple[Batch, LeftOut]]:
    found = [(source.path, got) for source, got in done if not isinstance(got, MailError)]
    return [(Batch.of((got for _, got in found), [path for path, _ in found]), left_out(done))]


def identify(chunk: list[Source]) -> list[Done[bytes]]:
    """Return the digests of messages."""
    from spamnb.identity.digests import identity

    return one_by_one(lambda source: identity(source.read()), chunk)


def _try(task: Callable[[Source], T], source: Source) -> T | MailError:
    try:
        return task(source)
    except MailError as fault:
        return fault
    except SpamnbError:
        raise  # a fault of the ledger would be the same for every message
    except Exception as fault:
        return MailError(f"the reader failed with {type(fault).__name__}: {fault}; please report it")


def _chunks(found: Iterable[Source]) -> Iterator[list[Source]]:
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
