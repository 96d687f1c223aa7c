"""Share lessons with other hosts, now.

The hosts share a log of lessons in PostgreSQL, which the configuration names
(docs/exchange.md). The service does this by itself every few seconds. Use this command
before a mailbox leaves this host, or if you judge mail with `run --once`. On a mail host,
`--status` without --user lists the users who are behind.

example:
  spamnb exchange --upgrade
  spamnb exchange --status

exit codes: 0; 75 the database cannot be reached: the lessons wait in the ledger
"""

import argparse
from dataclasses import asdict

from spamnb.base.wording import clock, plural
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, configuration, host_of, open_ledger, open_to_read
from spamnb.cli.common.output import as_json, inform, table, warn
from spamnb.config import Config
from spamnb.exchange import by_hand, connecting
from spamnb.host.host import Host
from spamnb.host.unsent import Behind, shared_by_users, unsent, users_behind

_FEW = 20
_HEAD = ("user", "to send", "since", "to receive")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--status", action="store_true", help="only show how far the exchange is; write nothing")
    one.add_argument("--upgrade", action="store_true", help="create the tables in the database, or update them")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Send and receive lessons, or do what the options say."""
    if options.upgrade:
        return _upgrade(options)
    if not options.status:
        return _exchange(options)
    return _show(options) if (host := host_of(options)) is None else _show_users(host, options)


def _upgrade(options: argparse.Namespace) -> int:
    before, now = connecting.upgrade(by_hand.database_of(configuration(options, of_all=True)))
    if options.json:
        print(as_json({"before": before, "version": now}))
    else:
        done = "had its tables" if before == now else f"was of version {before}" if before else "has its tables now"
        inform(options, f"the log {done}, and is of version {now}")
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print the state of the ledger, and that of the log, if it can be reached."""
    config, ledger = open_to_read(options)
    news, fault = by_hand.look(config)
    account = by_hand.account_of(config)
    shared = None
    if ledger is not None:
        with ledger:
            shared = ledger.shared()
    if options.json:
        here = None if shared is None else asdict(shared)
        there = None if news is None else {"log": news.log, **news.account._asdict()}
        print(as_json({"account": account, "ledger": here, "database": there, "fault": str(fault or "")}))
    else:
        rows = [("account", account), ("ledger", "not there yet" if shared is None else shared.words)]
        if news is not None:
            forgotten = news.account.forgotten_at
            since = "" if forgotten is None else f"; the user was forgotten on {clock(forgotten)}"
            rows.append(("database", f"log {news.log}, up to change {news.account.last}{since}"))
        print(table(rows))
    if fault is not None:
        warn(str(fault))
        return fault.exit_code
    return 0


def _show_users(host: Host, options: argparse.Namespace) -> int:
    """Print the sum of what waits on a mail host, and a table of the users who are behind."""
    shared = shared_by_users(host)
    news, fault = by_hand.look_at(host.template, shared)
    log = "" if news is None else next((each.log for each in news.values()), "")
    last = None if news is None else {name: each.account.last for name, each in news.items()}
    waiting, behind = unsent(shared.values()), users_behind(shared, log, last)
    if options.json:
        users = list(map(asdict, behind))
        print(as_json({"waiting": asdict(waiting), "behind": users, "log": log, "fault": str(fault or "")}))
    else:
        rows = [("users", f"{len(shared)}, {len(behind)} behind"), ("ledgers", waiting.words)]
        print(table([*rows, *([("database", f"log {log}")] if log else [])]))
        if behind:
            print(f"\n{table([_HEAD, *map(_cells, behind[:_FEW])])}")
        if len(behind) > _FEW:
            inform(
                options,
                f"\nThese are {_FEW} of {len(behind)} users. To list all: {command(options)} exchange --status --json",
            )
    if fault is not None:
        warn(str(fault))
        return fault.exit_code
    return 0


def _cells(user: Behind) -> tuple[object, ...]:
    since = "" if user.since is None else clock(user.since)
    return user.name, user.unsent, since, "unknown" if user.to_receive is None else user.to_receive


def _exchange(options: argparse.Namespace) -> int:
    by_hand.database_of(configuration(options))  # raises before a ledger is created
    config, ledger = open_ledger(options)
    with ledger:
        done = by_hand.exchange_now(config, ledger)
    if options.json:
        print(as_json({"sent": done.sent, "changed": done.changed, "forgotten": done.is_forgotten}))
    elif not done.is_forgotten:
        inform(options, f"sent {plural(done.sent, 'lesson')}, took over {done.changed} of other hosts")
    if done.is_forgotten:
        _forget(config)
    return 0


def _forget(config: Config) -> None:
    """Remove the ledger of a user who was forgotten on another host. A running service does that itself."""
    from spamnb.ledger.file.locks import is_running
    from spamnb.ledger.file.removal import remove

    if is_running(str(config.ledger)):
        warn("the user was forgotten on another host: the service will remove the ledger, and start anew")
        return
    remove(str(config.ledger))
    warn("the user was forgotten on another host: the ledger and its copies are removed")
