"""The ledgers of all users of a mail host, and their copies in a directory, which has a place for each user.

A copy has the path of its ledger below the directory of all ledgers, and is compressed. So no name of a user has to be
repaired, and two users never share a copy.
"""

import os
import time
from contextlib import suppress
from typing import NamedTuple

from spamnb.base.errors import MaildirError, UsageError
from spamnb.base.wording import named
from spamnb.host.host import Host
from spamnb.host.letting_go import claimed_from_service
from spamnb.host.register import read
from spamnb.ledger.copies.copy import Held, write
from spamnb.ledger.copies.recovery import Restored, restore
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.parts import PACKED
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger


class OneOfAll(NamedTuple):
    """A user of the host, and a file: the ledger, or a copy of it."""

    name: str
    path: str


def with_ledgers(host: Host) -> list[OneOfAll]:
    """Return all users who have a ledger, also without mail, by name. Raises RegisterError."""
    names = {row.name for row in read(host.directory) if host.ledgers.takes(row.name)}
    with suppress(MaildirError):  # the disk of the mail is away: the register knows the users
        names |= {user.name for user in host.users().users}
    ledgers = (OneOfAll(name, str(host.ledger_of(name))) for name in sorted(names))
    return [each for each in ledgers if os.path.lexists(present(each.path))]


def check_directory(host: Host, directory: str) -> None:
    """Raise UsageError for a directory of copies that is a ledger's own."""
    if os.path.realpath(directory).startswith(os.path.join(os.path.realpath(host.directory), "")):
        raise UsageError(f"{named(directory)} is among the ledgers: name another directory")


def copies_in(host: Host, directory: str) -> list[OneOfAll]:
    """Return the copies in a directory that `copy_of` made, by user. Raises UsageError if there are none."""
    found = []
    for above, _, files in os.walk(directory):
        for file in files:
            path = os.path.join(above, file)
            ledger = host.directory / os.path.relpath(path, directory).removesuffix(PACKED)
            if file.endswith(PACKED) and (name := host.ledgers.match(str(ledger))) is not None:
                found.append(OneOfAll(name, path))
    if not found:
        raise UsageError(f"{named(directory)} has no copies from `spamnb backup --all`: name their directory")
    return sorted(found)


def copy_of(host: Host, user: OneOfAll, directory: str, *, replace: bool) -> tuple[str, Held]:
    """Copy a user's ledger into a directory. Returns the copy's path, and what it holds. Raises like `copy.write`."""
    final = os.path.join(directory, os.path.relpath(host.ledgers.fill(user.name), host.directory) + PACKED)
    os.makedirs(os.path.dirname(final), mode=0o700, exist_ok=True)
    with Ledger(user.path, only_read=True):  # while it is open, no other file can take its place
        return final, write(user.path, final, replace=replace)


def restore_user(host: Host, name: str, copy: str) -> Restored:
    """Put a copy in the place of a user's ledger; a running service lets go of it. Raises like `recovery.restore`."""
    path = str(host.ledger_of(name))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with claimed_from_service(path, host.requests / name) as lock:
        done = restore(path, copy, time.time())
        EndRecord(path, lock).begin()  # the record of the last end is about the old ledger
    host.look_again(name)
    return done
