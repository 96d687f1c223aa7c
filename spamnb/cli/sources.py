"""Messages that can be read, and one task for each of many of them, on all cores."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from spamnb.errors import MaildirError, MailError, SpamnbError
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import Reading, read
from spamnb.maildir.mailbox import read_bytes

T = TypeVar("T")

MOST = DEFAULT_LIMITS.message_bytes + 1  # bytes of a message; the last tells the reader that there are more
_FEW = 64  # fewer messages than this are done sooner than processes are started
_CHUNK = 32  # messages a task
_AHEAD = 32  # chunks: what the workers read while the ledger learns a batch
_CHUNK_BYTES = 2 << 20  # of messages that are not read from files of their own
_ENDING = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1  # prctl(2)


@dataclass(frozen=True, slots=True)
class Source:
    """A message that can be read: where it is, for a person, and a file, or the bytes, or why there are none."""

    where: str
    file: str = ""
    content: bytes | None = None
    fault: str = ""

    def read(self) -> bytes:
        """The message's bytes, no more of them than the reader takes. Raises MailError where they cannot be read."""
        if self.fault:
            raise MailError(self.fault)
        content = self.content
        if content is None:
            try:
                content = read_bytes(self.file, MOST)[0]
            except FileNotFoundError:
                raise MailError("it is gone: it was moved or deleted meanwhile") from None
            except MaildirError as fault:
                raise MailError(str(fault)) from fault
        if not content.strip():
            raise MailError("it is empty")
        return content


Done = tuple[Source, T | MailError]
Work = Callable[[list[Source]], list[Done[T]]]
_work: Work[Any]  # in a worker: what it does


def readings(found: Iterable[Source]) -> Iterator[Done[Reading]]:
    """Read messages, in order, many of them on all cores."""
    return each(found, read_all)


def read_all(chunk: list[Source]) -> list[Done[Reading]]:
    """Read some messages."""
    return one_by_one(lambda source: read(source.read()), chunk)


def one_by_one(task: Callable[[Source], T], chunk: list[Source]) -> list[Done[T]]:
    """Do a task for each message; one that cannot be read gives its error."""
    return [_try(task, source) for source in chunk]


def each(found: Iterable[Source], work: Work[T]) -> Iterator[Done[T]]:
    """Work on messages, some at a time and in order; on many of them on all cores.

    Workers are forked at the call, before the caller opens a ledger: a SQLite connection must not be carried
    into another process.
    """
    waiting = iter(found)
    first = list(islice(waiting, _FEW))
    cores = len(os.sched_getaffinity(0))
    chunks = _chunks(chain(first, waiting))
    if len(first) < _FEW or cores == 1:
        return (done for chunk in chunks for done in work(chunk))
    pool = ProcessPoolExecutor(cores, get_context("fork"), _begin, (work,))
    with _undisturbed(), _plain_faults():
        running = [pool.submit(_do, chunk) for chunk in islice(chunks, 2 * cores + _AHEAD)]
    return _in_order(pool, running, chunks)


def _in_order(
    pool: ProcessPoolExecutor, running: "list[Future[list[Done[T]]]]", chunks: Iterator[list[Source]]
) -> Iterator[Done[T]]:
    try:
        while running:
            with _plain_faults():
                done = running.pop(0).result()
                running += [pool.submit(_do, chunk) for chunk in islice(chunks, 1)]
            yield from done
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _plain_faults() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as fault:
        raise SpamnbError(
            "a reading process was killed, for want of memory perhaps: what was done so far is kept; try again"
        ) from fault


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while processes are forked: Python drops an exception that is raised in a hook of fork."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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


def _begin(work: Work[Any]) -> None:
    """In a worker: Ctrl-C is the parent's to answer, and without the parent there is nothing to do."""
    global _work  # noqa: PLW0603 - a worker is a process with one purpose
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _do(chunk: list[Source]) -> list[Done[Any]]:
    return _work(chunk)


def _try(task: Callable[[Source], T], source: Source) -> Done[T]:
    try:
        return source, task(source)
    except MailError as fault:
        return source, fault
    except SpamnbError:
        raise  # the ledger's: it would be the same for every message
    except Exception as fault:
        return source, MailError(f"the reader failed with {type(fault).__name__}: {fault}; please report it")
