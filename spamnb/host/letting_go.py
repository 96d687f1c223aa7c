"""Ask a service of a mail host to let go of a user's ledger, so that a command can replace it.

The request is a directory of the user's name, in a directory beside the register, which the services watch. The service
removes it when it has let go.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from spamnb.base.errors import LedgerBusyError, SpamnbError
from spamnb.base.wording import named
from spamnb.host.host import Host
from spamnb.host.register import drop
from spamnb.host.shares import running
from spamnb.ledger.file.locks import is_running, only_service

_ASKED_SECONDS = 0.02
_ANSWER_SECONDS = 20.0  # for a service to let go of a ledger: its longest step without a pause takes a few seconds


@contextlib.contextmanager
def claimed_from_service(path: str, request: Path) -> Iterator[int]:
    """Be the only process that works with the ledger at that path; ask a service to let go of it.

    Yields the descriptor of the lock. Raises LedgerBusyError if the service does not let go.
    """
    with contextlib.ExitStack() as held:
        try:
            lock = held.enter_context(only_service(path))
        except SpamnbError:
            if not is_running(path):
                raise
            with _asked(request):
                try:
                    lock = held.enter_context(only_service(path, _ANSWER_SECONDS))
                except SpamnbError as fault:
                    what = f"the service is at work with the ledger {named(path)}, and does not let go of it"
                    raise LedgerBusyError(f"{what}: try again in two minutes, or while no service runs") from fault
        yield lock


def drop_row(host: Host, name: str) -> None:
    """Remove a user's row from the register: the service does, if it runs; if not, this does. Raises RegisterError."""
    if any(share.owns(name) for share in running(host.directory)):
        with _asked(host.requests / name):  # its service writes the register
            _wait_for_answer(host.requests / name)
    else:
        drop(host.directory, name)


def _wait_for_answer(request: Path) -> None:
    """Wait until the service has removed the request; if it does not, its next start forgets the row."""
    until = time.monotonic() + _ANSWER_SECONDS
    while request.exists() and time.monotonic() < until:
        time.sleep(_ASKED_SECONDS)


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
