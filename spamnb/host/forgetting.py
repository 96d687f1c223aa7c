"""Forget a user of a mail host: delete everything learned, with all copies. Mail is never touched.

A service that works with the ledger is asked to let go of it. The request is a directory of the user's name, in a
directory beside the register, which the services watch. The service removes it when it has let go.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from spamnb.base.errors import LedgerBusyError, SpamnbError
from spamnb.base.wording import named
from spamnb.host.host import Host
from spamnb.host.register import Register
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.ledger.file.parts import directory_of
from spamnb.ledger.file.removal import remove

_BUSY_SECONDS = 1.0
_ANSWER_SECONDS = 20.0  # for a service to let go of a ledger: its longest step without a pause takes a few seconds


def name_of_known(host: Host, register: Register | None, asked: str) -> str:
    """Return the user whom a name means; the user may have no mail left. Raises UsageError if nothing is left.

    register: None if there is none yet.
    """
    user = host.find(asked)
    if user is not None:
        return user.name
    if register is not None and register.find(asked) is not None:
        return asked
    if host.ledgers.takes(asked) and host.ledgers.fill(asked).parent.is_dir():
        return asked
    raise host.unknown(asked)


def forget(host: Host, register: Register | None, name: str) -> str:
    """Delete a user's ledger, with its copies and everything that belongs to it, and the user's row in the register.

    Returns the ledger's directory if other files keep it there; otherwise "". Raises LedgerBusyError while another
    process works with the ledger, and LedgerUnavailableError if a file cannot be deleted. After an error or a kill,
    call it again.
    """
    path = str(host.ledger_of(name))
    directory = os.path.dirname(path)
    if os.path.isdir(directory):
        with _claimed(path, host.requests / name):
            remove(path, seconds=_BUSY_SECONDS, with_locks=True)
        for emptied in (directory_of(path), directory):
            with contextlib.suppress(OSError):  # not empty, or it does not exist
                os.rmdir(emptied)
    if register is not None:
        register.forget(name)
    return directory if os.path.isdir(directory) else ""


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
