"""Forget a user of a mail host: delete everything learned, with all copies. Mail is never touched."""

import contextlib
import os
from collections.abc import Container

from spamnb.host.host import Host
from spamnb.host.letting_go import claimed_from_service, drop_row
from spamnb.ledger.file.parts import directory_of
from spamnb.ledger.file.removal import remove

_BUSY_SECONDS = 1.0


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
        with claimed_from_service(path, host.requests / name):
            remove(path, seconds=_BUSY_SECONDS, with_locks=True)
        for emptied in (directory_of(path), directory):
            with contextlib.suppress(OSError):  # not empty, or it does not exist
                os.rmdir(emptied)
    drop_row(host, name)
    return directory if os.path.isdir(directory) else ""
