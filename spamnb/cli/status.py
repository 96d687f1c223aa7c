"""Show whether the filter moves mail, and what it knows.

It says first whether it moves mail, and if not, what is missing. Then it shows whether the
service runs, how much it has learned, and how much disk it uses. On a mail host it shows
sums over the users; with --user it shows one of them. It writes nothing.

example:
  spamnb status

exit codes: 0; 1 if the filter has stopped moving mail by itself, or a mailbox is not there
(on a mail host: if the filter of a user is broken or has stopped); 78 without a
configuration; with --prometheus always 0
"""

import argparse
import math
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict

from spamnb.acts.choices import Standing, in_short, standing
from spamnb.acts.may_move import doubted_ham
from spamnb.acts.not_yet import moved_nothing_until
from spamnb.acts.waiting import Waiting
from spamnb.base.errors import ConfigError
from spamnb.base.label import Label
from spamnb.base.wording import clock, escaped, megabytes, plural
from spamnb.checkup.finding import some
from spamnb.cli.choose import as_object
from spamnb.cli.common import exit_codes
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, config_path, configuration, host_of, open_to_read
from spamnb.cli.common.moving import step_to_hasten
from spamnb.cli.common.output import as_json, say, table
from spamnb.config import Config
from spamnb.config.default_paths import instance
from spamnb.host.host import Host
from spamnb.host.register import files_in
from spamnb.host.shares import not_running
from spamnb.host.unsent import Unsent, shared_by_users, unsent
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.apart import MONTH, in_words, put_apart
from spamnb.monitoring.host import HostStatus, host_metrics, host_status
from spamnb.monitoring.metrics import metrics
from spamnb.monitoring.status import Status, paused
from spamnb.monitoring.status import status as status_of
from spamnb.rules.moving import Stop

INTERRUPTED = "nothing was changed"
ENDS_AT_ONCE = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--prometheus", action="store_true", help="as metrics in the text format of Prometheus")


def run(options: argparse.Namespace) -> int:
    """Print whether the filter moves mail, and what it knows."""
    if (host := host_of(options)) is not None:
        return _of_host(host, options)
    config, ledger = open_to_read(options)
    if options.prometheus:
        with ledger or nullcontext():
            print(metrics(config, ledger, time.time(), instance=instance(os.environ)), end="")
        return 0
    with ledger or nullcontext():
        found = status_of(config, ledger, time.time())
        judged = {} if ledger is None else ledger.messages.numbers()
        judged_in_words = _judged(ledger, found)
        chosen = [] if ledger is None else standing(ledger, configuration(options))
        apart = {} if ledger is None else put_apart(ledger, config, time.time() - MONTH)
        apart_in_words = "" if ledger is None else in_words(ledger, config, apart)
        doubted = doubted_ham(ledger, config.scoring, config.learning) if ledger is not None and found.missing else []
    if options.json:
        numbers = {str(role): number for role, number in apart.items()}
        print(as_json(_as_object(found, judged, chosen, config, options) | {"apart_in_30_days": numbers}))
    elif ledger is not None or config.mailboxes:
        doubts = [escaped(lesson.summary) for lesson in doubted]
        say(f"moves mail: {_moves(found, doubts, step_to_hasten(found, options), time.time())}")
        _print(found, judged_in_words, apart_in_words, chosen, config)
    if not config.mailboxes:
        raise ConfigError(f"No mailbox is configured in {config_path(options)}. Run: spamnb init")
    if found.without_inbox:
        return exit_codes.NO_MAILBOX
    return exit_codes.STOPPED if found.stop is not None and found.stop.tripped_at is not None else 0


def _of_host(host: Host, options: argparse.Namespace) -> int:
    """Print the sums over all users of a mail host."""
    found = host_status(host)
    sums = found.sums
    if options.prometheus:
        of_host = host_metrics(
            host.template, sums, time.time(), is_running=bool(found.running), instance=instance(os.environ)
        )
        print(of_host, end="")
        return 0
    waiting = None if host.template.exchange.database is None else unsent(shared_by_users(host).values())
    if options.json:
        print(as_json(_host_as_object(found, host, waiting)))
    else:
        print(table(_host_rows(found, host, waiting)))
        if number := found.in_need:
            which = "The filter of 1 user is" if number == 1 else f"The filters of {number} users are"
            say(f"\n{which} broken, or stopped because too much mail looked like spam: {command(options)} users")
    return exit_codes.STOPPED if found.in_need else 0


def _host_as_object(found: HostStatus, host: Host, waiting: Unsent | None) -> dict[str, object]:
    sums = found.sums
    return {
        "config": str(host.path),
        "register": [str(file) for file in files_in(host.directory)],
        "running": {str(share): since for share, since in found.running.items()},
        "not_running": [str(share) for share in not_running(found.running)],
        "users": {str(state): number for state, number in sums.states.items()},
        "faulty": sums.faulty,
        "learned": {"ham": sums.ham, "spam": sums.spam},
        "judged": dict(sums.judged),
        "corrected": sums.corrected,
        "judged_at": sums.judged_at,
        "bytes": sums.bytes,
        "exchange": None if waiting is None else asdict(waiting),
    }


def _host_rows(found: HostStatus, host: Host, waiting: Unsent | None) -> list[tuple[str, str]]:
    sums, states = found.sums, found.sums.states
    services = [f"{share} since {clock(since)}" for share, since in found.running.items()]
    if missing := not_running(found.running):
        services.append(f"not running: {', '.join(map(str, missing))}")
    by_state = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    judged = ", ".join(f"{number} {name}" for name, number in sorted(sums.judged.items()) if number)
    return [
        ("services", "; ".join(services) or "none is running"),
        ("users", f"{sums.users}{by_state and ': '}{by_state}"),
        ("register", ", ".join(map(str, files_in(host.directory))) or "there is none yet"),
        ("disk", f"{megabytes(sums.bytes)} for ledgers and their copies"),
        ("learned", f"{sums.ham} ham, {sums.spam} spam"),
        ("last 30 days", f"{judged or 'nothing judged'}; {sums.corrected} corrected"),
        ("last judged", "never" if sums.judged_at is None else clock(sums.judged_at)),
        ("model", host.template.scoring.model),
        *([] if waiting is None else [("exchange", waiting.words)]),
    ]


def _as_object(
    found: Status, judged: dict[str, int], chosen: list[Standing], config: Config, options: argparse.Namespace
) -> dict[str, object]:
    stop = found.stop or Stop(None, None)
    return {
        "ledger": str(config.ledger),
        "config": str(config_path(options)) if config.mailboxes else None,
        "learned": {"ham": found.ham, "spam": found.spam},
        "tokens": found.tokens,
        "judged": judged,
        "moves": "nothing" if found.stop or found.missing or not config.mailboxes else "spam",
        "moves_mail": found.moves,
        "missing": found.missing,
        "not_yet": "" if found.not_yet is None else found.not_yet.words,
        "needed": _of_each((0, 0) if found.not_yet is None else found.not_yet.needed),
        "weekly": _of_each((0, 0) if found.not_yet is None else found.not_yet.weekly),
        "waits_for": None if found.not_yet is None else _waits_for(found.not_yet.waiting),
        "stopped_at": stop.tripped_at,
        "model": config.scoring.model,
        "chosen": list(map(as_object, chosen)),
        "mailboxes": [
            {"path": path, "watched_since": since, "is_there": path not in found.without_inbox}
            for path, since in found.watched_since.items()
        ],
        "last_action_at": found.last and found.last[0],
        "running": found.is_running,
        "running_since": found.running_since,
        "paused": stop.paused_until is not None,
        "paused_until": None if stop.paused_until == math.inf else stop.paused_until,
        "withheld": found.withheld,
        "letter_fault": found.letter_fault,
        "bytes": {"ledger": found.disk.ledger, "log": found.disk.wal, "copies": found.disk.copies},
        "exchange": None if found.shared is None else asdict(found.shared),
    }


def _waits_for(waiting: Waiting) -> dict[str, object]:
    """Return what a filter waits for that has never moved mail. Times are seconds since the epoch."""
    return {
        "cause": waiting.cause.name.lower(),
        "learned": _of_each((waiting.ham, waiting.spam)),
        "of": _of_each((waiting.ham_needed, waiting.spam_needed)),
        "kept": len(waiting.kept_at),
        "enough_ham_at": waiting.enough_ham_at,
        "confirmed": waiting.confirmed,
        "of_confirmed": waiting.confirmed_needed,
        "latest_at": waiting.latest_at,
    }


def _of_each(numbers: tuple[int, int]) -> dict[str, int]:
    return {label.word: number for label, number in zip(Label, numbers, strict=True)}


def _moves(found: Status, doubted: Sequence[str], step: str, now: float) -> str:
    """Return whether mail is moved, and the next step. doubted: the learned ham that keeps it from being moved.

    step: what would hasten the first move, or "".
    """
    withheld = f"; {plural(found.withheld, 'message')} withheld" if found.withheld else ""
    if found.stop is not None and found.stop.tripped_at is None:
        return f"{paused(found.stop, now)}{withheld}. To go on: spamnb resume"
    if found.stop is not None:
        why = f"stopped since {clock(found.stop.tripped_at or now)}: too much mail looked like spam{withheld}"
        return f"{why}. Look at `spamnb history --verdict spam`, then: spamnb resume"
    if len(found.without_inbox) == len(found.watched_since):
        return "no, the mailbox is not there" if found.without_inbox else "no, no mailbox is configured"
    if found.not_yet is None:
        return "yes" if found.is_running else "yes, when the service runs"
    if doubted:
        return f"not yet. {found.not_yet.words.removesuffix('.')}: {some(doubted)}. Say what it is: spamnb audit"
    if found.not_yet.learns_folders:
        step = " To learn from the mail in your folders: spamnb init --learn"
    return f"not yet. {found.not_yet.words}{step}"


def _judged(ledger: Ledger | None, found: Status) -> str:
    """Return how much was judged by a filter that may move mail, by verdict; until then, by the person's word."""
    if ledger is None:
        return "nothing yet"
    all_time, begun_at = (-math.inf, math.inf), moved_nothing_until(ledger)
    (received,), (judged,) = ledger.figures.received(all_time), ledger.figures.judged(all_time, begun_at)
    if received.messages and (found.missing or not judged.messages):
        return f"{plural(received.messages, 'message')}; you called {received.called_spam} spam"
    numbers = (judged.ham, "ham"), (judged.spam, "spam"), (judged.unsure, "unsure")
    since = "" if math.isinf(begun_at) else " since moving began"
    return f"{', '.join(f'{number} {name}' for number, name in numbers if number) or 'nothing yet'}{since}"


def _print(found: Status, judged: str, apart: str, chosen: list[Standing], config: Config) -> None:
    """Print all rows."""
    for path in found.without_inbox:
        say(f"Mailbox {path} is not there, or has no inbox: the filter cannot judge its mail or learn from it.")
    if found.without_inbox:
        say("Mount its disk, or correct its path in the configuration. To see more: spamnb doctor\n")
    since = "" if found.running_since is None else f" since {clock(found.running_since)}"
    disk, copies = map(megabytes, (found.disk.ledger + found.disk.wal, found.disk.copies))
    rows = [
        ("service", f"running{since}" if found.is_running else "not running"),
        ("ledger", str(config.ledger)),
        ("disk", f"{disk}, its copies {copies}"),
        ("learned", f"{found.ham} ham, {found.spam} spam, {found.tokens} tokens"),
        ("judged", judged),
        *([("put apart", apart)] if apart else []),
        ("model", config.scoring.model),
        *([("chosen", f"{in_short(chosen)} (spamnb choose)")] if chosen else []),
    ]
    for path, watched in found.watched_since.items():
        since = "not watched yet" if watched is None else f"first watched {clock(watched)}"
        rows.append((f"mailbox {path}", f"not there, {since}" if path in found.without_inbox else since))
    if found.shared is not None:
        rows.append(("exchange", found.shared.words))
    if found.letter_fault:
        rows.append(("letters", f"not written: {found.letter_fault}"))
    if found.last is not None:
        rows.append(("last action", f"{clock(found.last[0])} ({found.last[1]})"))
    print(table(rows))
