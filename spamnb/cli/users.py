"""List the users of a mail host, or forget or rename some.

It lists the users that you name, or the 20 who need help most: first those whose filter is
broken or has stopped, then those with the most corrections. "Judged" and "corrected" are
numbers of the last 30 days. It writes nothing.

`forget NAME…` asks, and then deletes all that the filter knows about these users, with all
copies. It does not touch mail. `rename OLD NEW` gives what the filter knows of a user to
another name, as when an address changes; move the mail yourself. `retry NAME…` lets the
service read messages again that it skips because it died while reading them; without a name,
the messages of your own filter.

example:
  spamnb users --all --json
  spamnb users forget anna@example.org
  spamnb users rename anna@example.org ann@example.org

exit codes: 0; 75 another program is using a ledger that you want to forget or rename: try
again
"""

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import clock, escaped, megabytes, named, plural
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, config_path, ledger_to_read
from spamnb.cli.common.output import as_json, inform, is_confirmed, is_dialogue, table, warn
from spamnb.host.forgetting import forget, name_of_known
from spamnb.host.host import Host, load_host
from spamnb.host.own_settings import with_own_fault, worst_users
from spamnb.host.register import AccountRow, read

_FEW = 20
_HEAD = ("user", "state", "learned", "judged", "corrected", "last mail", "size", "fault")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    calls = ("[--all] [--json] [NAME ...]", "forget [--yes] NAME ...", "rename OLD NEW", "retry [NAME ...]")
    parser.usage = "\n       ".join(f"spamnb users {call}" for call in calls)
    option = parser.add_argument
    add_json(parser, "one JSON object per line")
    option("--all", action="store_true", help=f"list all users, and not only {_FEW}")
    option("--yes", action="store_true", help="do not ask before it forgets users")
    option("names", nargs="*", metavar="NAME", help="a user to list, or the user of `forget`, `rename` or `retry`")


def run(options: argparse.Namespace) -> int:
    """List users, or do what the first word says."""
    match options.names:
        case ["forget", *names]:
            return _forget(names, options)
        case ["rename", *names]:
            return _rename(names, options)
        case ["retry", *names]:
            return _retry(names, options)
    return _list(options.names or [options.for_user] * bool(options.for_user), options)


def _list(names: Sequence[str], options: argparse.Namespace) -> int:
    """Print a line for each named user, or for all."""
    host = load_host(config_path(options), os.environ)
    known = {row.name: row for row in read(host.directory)}
    if names:
        shown = [_row(host, known, name) for name in names]
    else:
        shown = worst_users(host, known.values(), None if options.all else _FEW)
    if options.json:
        for row in shown:
            print(as_json(_as_object(row)))
    elif not shown:
        print("No user is known yet: the service has to look at them first.")
    else:
        print(table([_HEAD, *map(_cells, shown)]))
        if not names and len(shown) < len(known):
            step = f"To list all: {command(options)} users --all"
            inform(options, f"\nThese are {len(shown)} of {len(known)} users. {step}")
    return 0


def _row(host: Host, known: Mapping[str, AccountRow], asked: str) -> AccountRow:
    name = name_of_known(host, known, asked)
    if (row := known.get(name)) is None:
        raise SpamnbError(f"{name} is not known yet: the service has to look at this user first")
    return with_own_fault(host, row)


def _cells(row: AccountRow) -> tuple[object, ...]:
    judged, at = sum(row.judged.values()), row.judged_at
    last = "never" if at is None else clock(at)
    return (row.name, row.state, row.ham + row.spam, judged, row.corrected, last, megabytes(row.bytes), _fault(row))


def _fault(row: AccountRow) -> str:
    gone = "" if row.gone_at is None else f"its mailbox has been away since {clock(row.gone_at)}"
    polled = "its folders are polled: they cannot all be watched" if row.polled else ""
    since = "" if row.fault_since is None else f" (since {clock(row.fault_since)})"
    return f"{row.fault}{since}" if row.fault else gone or polled


def _as_object(row: AccountRow) -> dict[str, object]:
    return {
        "name": row.name,
        "mailbox": row.root,
        "state": row.state,
        "learned": {"ham": row.ham, "spam": row.spam},
        "judged": dict(row.judged),
        "corrected": row.corrected,
        "judged_at": row.judged_at,
        "bytes": row.bytes,
        "fault": row.fault,
        "fault_since": row.fault_since,
        "gone_at": row.gone_at,
        "looked_after_at": row.looked_after_at,
        "polled": row.polled,
    }


def _forget(names: Sequence[str], options: argparse.Namespace) -> int:
    """Forget users. It names those whom it cannot forget, and goes on with the others."""
    from spamnb.exchange import by_hand

    if not names:
        raise UsageError("users forget needs the names of the users to forget")
    host = load_host(config_path(options), os.environ)
    rows = {row.name for row in read(host.directory)}
    known = list(dict.fromkeys(name_of_known(host, rows, name) for name in names))
    if not _is_agreed(known, options):
        print("Nobody was forgotten.")
        return 0
    code = 0
    for name in known:
        try:
            by_hand.forget(host.template.exchange, name, time.time())
            left = forget(host, name)
        except SpamnbError as fault:
            warn(f"{name} is not forgotten: {fault}")
            code = fault.exit_code
        else:
            inform(options, f"forgot {name}{f'; other files stay in {escaped(left)}' if left else ''}")
    return code


def _rename(names: Sequence[str], options: argparse.Namespace) -> int:
    """Give the ledger of a user to another name."""
    from spamnb.host.renaming import rename

    if len(names) != 2:
        raise UsageError("users rename needs two names: the old one and the new one")
    host, (old, new) = load_host(config_path(options), os.environ), names
    missing = rename(host, old, new)
    inform(options, f"renamed {old} to {new}: the ledger, with its copies")
    if missing is not None:
        inform(options, f"Move the mail to {named(str(missing))}, with the names of its files.")
    own = host.own_file(old)
    if own is not None and own.exists():
        inform(options, f"The user's own settings are still in {named(str(own))}: rename that file too.")
    return 0


def _is_agreed(names: Sequence[str], options: argparse.Namespace) -> bool:
    """Return whether the person agrees to forget them. Raises UsageError if nobody can be asked."""
    if options.yes:
        return True
    what = f"everything learned for {plural(len(names), 'user')}, with all copies: {', '.join(names)}"
    if not is_dialogue():
        raise UsageError(f"this would delete {what}; do it with --yes")
    print(f"This deletes {what}. You cannot undo this. It does not touch mail.")
    return is_confirmed("Delete it?")


def _retry(names: Sequence[str], options: argparse.Namespace) -> int:
    """Let the service read skipped messages again."""
    from spamnb.acts.skipped import retry
    from spamnb.ledger.ledger import Ledger

    for name, path in list(_ledgers(names, options)):
        skipped: Sequence[str] = ()
        if path is not None and os.path.exists(path):
            with Ledger(path) as ledger:
                skipped = retry(ledger)
        what = f"{plural(len(skipped), 'message')} to read again" if skipped else "no message was skipped"
        inform(options, f"{name}: {what}" if name else what)
    return 0


def _ledgers(names: Sequence[str], options: argparse.Namespace) -> Iterator[tuple[str, str | None]]:
    """Yield the ledger of each named user; without a name, the ledger of the configuration."""
    if not names:
        yield "", ledger_to_read(options)[1]
        return
    host = load_host(config_path(options), os.environ)
    for name in names:
        if (user := host.find(name)) is None:
            raise host.unknown(name)
        yield user.name, str(host.ledger_of(user.name))
