"""Forget a user of a mail host: delete everything learned, with all copies. Mail is never touched.

A service that works with the ledger is asked to let go of it. The request is a directory of the user's name, in a
directory beside the register, which the services watch. The service removes it when it has let go.
"""

import contextlib
import os
import time
from collections.abc import Container, Iterator
from pathlib import Path

from spamnb.base.errors import LedgerBusyError, SpamnbError
from spamnb.base.wording import named
from spamnb.host.host import Host
from spamnb.host.register import drop
from spamnb.host.shares import running
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.ledger.file.parts import directory_of
from spamnb.ledger.file.removal import remove

_BUSY_SECONDS = 1.0
_ASKED_SECONDS = 0.02
_ANSWER_SECONDS = 20.0  # for a service to let go of a ledger: its longest step without a pause takes a few seconds


def name_of_known(host: Host, known: Container[str], asked: str) -> str:
    """Return the user whom a name means; the user may have no mail left. Raises UsageError if nothing is left.

    known: the names in the register.
    """
    user = host.find(asked)
    if user is not None:
        return user.name
    if asked in known:
        return asked
    if host.ledgers.takes(asked) and host.ledgers.fill(asked).parent.is_dir():
        return asked
    raise host.unknown(asked)


def forget(host: Host, name: str) -> str:
    """Delete a user's ledger, with its copies and everything that belongs to it, and the user's row in the register.

    Returns the ledger's directory if other files keep it there; otherwise "". Raises LedgerBusyError while another
    process works with the ledger, LedgerUnavailableError if a file cannot be deleted, and RegisterError. After an error
    or a kill, call it again.
    """
    path = str(host.ledger_of(name))
    directory = os.path.dirname(path)
    if os.path.isdir(directory):
        with _claimed(path, host.requests / name):
            remove(path, seconds=_BUSY_SECONDS, with_locks=True)
        for emptied in (directory_of(path), directory):
            with contextlib.suppress(OSError):  # not empty, or it does not exist
                os.rmdir(emptied)
    if any(share.owns(name) for share in running(host.directory)):
        with _asked(host.requests / name):  # its service writes the register
            _wait_for_answer(host.requests / name)
    else:
        drop(host.directory, name)
    return directory if os.path.isdir(directory) else ""


def _wait_for_answer(request: Path) -> None:
    """Wait until the service has removed the request; if it does not, its next start forgets the row."""
    until = time.monotonic() + _ANSWER_SECONDS
    while request.exists() and time.monotonic() < until:
        time.sleep(_ASKED_SECONDS)


@contextlib.contextmanager
def _claimed(path: str, request: Path) -> Iterator[None]:
    """Be the only process that works with the ledger at that path; ask a service to let go of it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(only_service(path))
        except SpamnbError:
            if not is_running(path):
                raise
            with _asked(request):
                try:
                    held.enter_context(only_service(path, _ANSWER_SECONDS))
                except SpamnbError as fault:
                    what = f"the service is at work with the ledger {named(path)}, and does not let go of it"
                    raise LedgerBusyError(f"{what}: try again in two minutes, or while no service runs") from fault
        yield


@contextlib.contextmanager
def _asked(request: Path) -> Iterator[None]:
    """Let the request be there, until the service has removed it or the block ends."""
    try:
        request.parent.mkdir(mode=0o700, exist_ok=True)
        request.mkdir(mode=0o700, exist_ok=True)
    except OSError as fault:
        raise SpamnbError(
            f"cannot make {named(str(request))}: {fault.strerror}; check the directory and its owner"
        ) from fault
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            request.rmdir()
