"""Dying at a chosen call: the effect of a power cut or a kill, at each point that could matter."""

import contextlib
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from spamnb.ledger.connection import Connection
from spamnb.ledger.ledger import Ledger
from spamnb.maildir import rename

# The calls that change what is on disk, or make it durable.
_OF_OS = ("rename", "link", "unlink", "write", "fsync", "fchmod", "utime")


class DeathError(BaseException):
    """The process is dead: nothing that runs `except Exception` may outlive this."""


class Fuse:
    """Burns at the `at`th call that passes, counted from 1: then `die` is called.

    The dead do nothing any more, so that it is called at each later call too; not so what only fails `once`.
    """

    def __init__(self, at: int, die: Callable[[], None], *, once: bool = False) -> None:
        self.at = at
        self.once = once
        self.passed = 0
        self._die = die

    def through(
        self, call: Callable[..., Any], changes: Callable[..., bool] = lambda *arguments: True
    ) -> Callable[..., Any]:
        """Make the call, by way of the fuse if it changes anything."""

        def wrapped(*arguments: Any, **named: Any) -> Any:
            if changes(*arguments):
                self.passed += 1
                if self.passed == self.at or (self.passed > self.at and not self.once):
                    self._die()
            return call(*arguments, **named)

        return wrapped


class _Fused:
    """SQLite's connection by way of a fuse."""

    def __init__(self, sqlite: Any, fuse: Fuse) -> None:
        self._sqlite = sqlite
        self._fuse = fuse
        self.execute = fuse.through(sqlite.execute, lambda statement, *_: not statement.startswith("SELECT"))
        self.executemany = fuse.through(sqlite.executemany)
        self.close = sqlite.close

    @property
    def in_transaction(self) -> bool:
        """The dead roll nothing back."""
        return self._fuse.once and bool(self._sqlite.in_transaction)


@contextlib.contextmanager
def burning(ledger: Ledger, fuse: Fuse, *, disk: bool = True) -> Iterator[None]:
    """Every call that changes the disk (unless that is left out) or the ledger goes by way of the fuse."""
    connection: Connection = ledger._connection
    sqlite = connection._sqlite
    with contextlib.ExitStack() as stack:
        if disk:
            for name in _OF_OS:
                stack.enter_context(mock.patch.object(os, name, fuse.through(getattr(os, name))))
            stack.enter_context(mock.patch.object(rename, "_rename_flagged", fuse.through(rename._rename_flagged)))
            creates = fuse.through(os.open, lambda path, flags, *_: bool(flags & os.O_CREAT))
            stack.enter_context(mock.patch.object(os, "open", creates))
        connection._sqlite = _Fused(sqlite, fuse)  # type: ignore[assignment]
        try:
            yield
        finally:
            connection._sqlite = sqlite


def dead() -> None:
    """Die within this process: an exception passes through everything."""
    raise DeathError


def killed_at(at: int, ledger_path: str, work: Callable[[Ledger], object]) -> bool:
    """Do the work in a child process that is killed at its `at`th call; False if it came to its end before."""

    def burn() -> None:
        ledger = Ledger(ledger_path)
        with burning(ledger, Fuse(at, kill)):
            work(ledger)

    return killed(burn)


def kill() -> None:
    """Die as a process does."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object]) -> bool:
    """Do the work in a child process, which has all that this one has patched; whether it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours runs, and the child starts none
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False
