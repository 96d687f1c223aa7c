"""Forgetting a user of a mail host: what was learned, with all copies of it. Mail is never touched."""

import contextlib
import os
from collections.abc import Iterator

from spamnb.base.errors import LedgerBusyError, SpamnbError
from spamnb.base.wording import named
from spamnb.host.host import Host
from spamnb.host.register import Register
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.ledger.file.parts import directory_of
from spamnb.ledger.file.removal import remove

_BUSY_SECONDS = 1.0


def name_of_known(host: Host, register: Register | None, asked: str) -> str:
    """The user who is meant, who need not have mail any more. Raises UsageError where there is nothing of such a user.

    register: None where there is none yet.
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
    """Delete the ledger of a user, with its copies and all that belongs to it, and what the register knows of the user.

    Returns the directory of the ledger where it stays, for other files that lie in it; else "". Raises LedgerBusyError
    while another process works with the ledger, and LedgerUnavailableError where a file cannot be deleted; then, and
    where it is killed in the midst of it, it can be done again.
    """
    path = str(host.ledger_of(name))
    directory = os.path.dirname(path)
    if os.path.isdir(directory):
        with _claimed(path):
            remove(path, seconds=_BUSY_SECONDS, with_locks=True)
        for emptied in (directory_of(path), directory):
            with contextlib.suppress(OSError):  # not empty, or not there
                os.rmdir(emptied)
    if register is not None:
        register.forget(name)
    return directory if os.path.isdir(directory) else ""


@contextlib.contextmanager
def _claimed(path: str) -> Iterator[None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(only_service(path))
        except SpamnbError as fault:
            if not is_running(path):
                raise
            step = "try again in two minutes: it lets go of a ledger for which there is no work"
            raise LedgerBusyError(f"the service is at work with the ledger {named(path)}: {step}") from fault
        yield
