"""Give the ledger of a mail host's user to another name, as when the address of a person changes. Mail is not touched.

The directory of the ledger is renamed, with the copies in it. Then the ledger learns where the mail is now: files that
keep their names are known there. A kill between the two leaves a ledger that the next call finishes.
"""

import contextlib
import os
from pathlib import Path

from spamnb.base import durable
from spamnb.base.errors import LedgerUnavailableError, UsageError
from spamnb.base.wording import named
from spamnb.host.find_users import ANYBODY
from spamnb.host.host import Host
from spamnb.host.letting_go import claimed_from_service, drop_row
from spamnb.ledger.file.removal import remove
from spamnb.ledger.file.replacement import holding
from spamnb.ledger.ledger import Ledger

_BUSY_SECONDS = 5.0


def rename(host: Host, old: str, new: str) -> Path | None:
    """Rename a user. Returns the path of the new name's Maildir if it is not there yet; None if it is, or is unknown.

    Raises UsageError if there is no such ledger, or if the new name has one that has learned something. Raises
    LedgerBusyError while another process works with one of the ledgers, and LedgerUnavailableError if the directory
    cannot be renamed. After an error or a kill, call it again.
    """
    if host.template.exchange.database is not None:
        way = f"`spamnb --user {old} export`, `spamnb --user {new} import`, and then `spamnb users forget {old}`"
        raise UsageError(f"the hosts that share lessons know the user by the name {old}: {way}")
    if old == new or not (host.mail.takes(new) and host.ledgers.takes(new)):
        raise UsageError("write two different names of users") if old == new else host.unknown(new)
    former, path = str(host.ledgers.fill(old)), str(host.ledgers.fill(new))
    if not os.path.lexists(former) and _old_root(host, path, old) is None:
        raise UsageError(f"{old} has no ledger: there is no {named(former)}")
    if os.path.lexists(former):
        with claimed_from_service(former, host.requests / old):
            _make_room(host, new, path)
            _move(former, path)
            there = _tell_where(host, path, old, new)
    else:
        with claimed_from_service(path, host.requests / new):
            there = _tell_where(host, path, old, new)
    drop_row(host, old)
    host.look_again(new)
    return there


def _make_room(host: Host, new: str, path: str) -> None:
    """Remove the ledger that the service has begun for the new name, if nothing was learned with it."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        return
    if os.path.lexists(path):
        with claimed_from_service(path, host.requests / new):
            with Ledger(path, only_read=True) as ledger:
                if ledger.lessons.last_change() or ledger.choices.standing():
                    step = f"`spamnb users forget {new}` deletes that"
                    raise UsageError(f"{new} is a user with a ledger that has learned something: {step}")
            remove(path, seconds=_BUSY_SECONDS, with_locks=True)
    with contextlib.suppress(OSError):  # the renaming tells that it is not empty
        os.rmdir(os.path.join(directory, "copies"))


def _move(former: str, path: str) -> None:
    """Rename the directory of a ledger."""
    source, target = os.path.dirname(former), os.path.dirname(path)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        with holding(former, seconds=_BUSY_SECONDS):
            os.rename(source, target)
        for directory in {os.path.dirname(source), os.path.dirname(target)}:
            durable.sync(directory)
    except OSError as fault:
        what = f"{named(source)} cannot be renamed to {named(target)} ({fault.strerror})"
        raise LedgerUnavailableError(f"{what}: move other files there away, and check who owns both") from fault


def _tell_where(host: Host, path: str, old: str, new: str) -> Path | None:
    """Record in the ledger that the mail is in the Maildir of the new name. Returns it if it is not there yet."""
    user = host.find(new, ANYBODY)
    root = host.mail.fill(new) if user is None or user.name != new else user.root
    if "*" in root.parts:
        return None
    former = _old_root(host, path, old)
    if former is not None:
        with Ledger(path, busy_seconds=_BUSY_SECONDS) as ledger:
            ledger.locations.move_mailbox(former, str(root))
    return None if root.is_dir() else root


def _old_root(host: Host, path: str, old: str) -> str | None:
    """Return the Maildir of the old name, if the ledger at that path knows it; None if not, or without a ledger."""
    if not os.path.lexists(path):
        return None
    with Ledger(path, only_read=True) as ledger:
        return next((root for root in ledger.locations.mailboxes() if host.mail.match(root) == old), None)
