"""Faults in the own settings of a mail host's users: each user whom they concern has other settings than written."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from spamnb.base.errors import ConfigError, MaildirError
from spamnb.base.wording import plural
from spamnb.config.own_file import with_own
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, by_need


def own_faults(host: Host, owner: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield the users on the disk whose own files are faulty, each with its faults, one per line.

    owner: as in `Host.users`. Yields nothing if the users cannot be listed. A file takes 0.7 ms of CPU, and a missing
    one 0.01 ms.
    """
    try:
        users = host.users(owner).users
    except MaildirError:
        return
    for user in users:
        if fault := _fault_of(host, user.name):
            yield user.name, fault


def worst_users(host: Host, rows: Iterable[AccountRow], most: int | None = None) -> list[AccountRow]:
    """Return rows of the register, at most `most`, the ones that need a look first, as `by_need` orders them.

    Also reads the own files that have changed since the service looked after their users: nobody else has read these
    before mail comes.
    """
    if host.template.users.own is not None:
        rows = [with_own_fault(host, row) for row in rows]
    return by_need(rows)[:most]


def in_one_line(fault: str) -> str:
    """Return the faults of a user's own file as the fault of the user's account.

    >>> in_one_line("anna.yaml:1: log: no\\nanna.yaml:2: spamd: no")
    'own settings are not in force: anna.yaml:1: log: no; and 1 more fault'
    """
    first, *others = fault.splitlines()
    more = f"; and {plural(len(others), 'more fault')}" if others else ""
    return f"own settings are not in force: {first}{more}"


def changed_at(host: Host, name: str) -> float:
    """Return when a user's own file was last changed or put there, in seconds since the epoch; 0 without one."""
    own = host.own_file(name)
    try:
        return 0.0 if own is None else os.stat(own).st_ctime
    except OSError:
        return 0.0


def with_own_fault(host: Host, row: AccountRow) -> AccountRow:
    """Return the row of a user with the fault of a new own file, unless the row tells of something worse."""
    is_worse = row.state in (FilterState.BROKEN, FilterState.GONE, FilterState.LEFT_OUT)
    if is_worse or changed_at(host, row.name) <= (row.looked_after_at or 0.0):
        return row
    fault = _fault_of(host, row.name)
    return replace(row, fault=in_one_line(fault)) if fault else row


def _fault_of(host: Host, name: str) -> str:
    own = host.own_file(name)
    try:
        if own is not None:
            with_own(host.template, own)
    except ConfigError as fault:
        return str(fault)
    return ""
