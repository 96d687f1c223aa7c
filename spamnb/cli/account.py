"""`status` and `verify`: what the filter knows, whether it works, and whether its counts are right."""

import argparse
import sys
import time
from dataclasses import dataclass

from spamnb.breaker import Stop, stop_of
from spamnb.cli.context import config_path, configuration, open_to_read
from spamnb.cli.moving import until_when
from spamnb.cli.output import as_json, clock, megabytes, plural, printable, table
from spamnb.config import Config
from spamnb.errors import ConfigError
from spamnb.ledger.copies import Sizes, sizes
from spamnb.ledger.ledger import Ledger
from spamnb.policy import missing_lessons
from spamnb.service.alone import is_running, running_since

_EXIT_STOPPED = 1
_EXIT_ERROR = 3
_NO_TOTALS = [0] * 7


@dataclass(frozen=True, slots=True)
class _Status:
    """What a ledger says of the filter. Times are seconds since the epoch; disk: bytes of ledger, log and copies."""

    path: str
    totals: list[int]
    judged: dict[str, int]
    missing: str
    stop: Stop | None
    withheld: int
    mailboxes: list[tuple[str, float | None]]
    last: tuple[float, str] | None
    running: bool
    running_since: float | None
    disk: Sizes


def status(options: argparse.Namespace) -> int:
    """Print what the filter knows, and whether it moves mail. Returns 1 where it has stopped by itself."""
    config, ledger = open_to_read(options)
    found = _status(config, ledger, time.time())
    if options.json:
        print(as_json(_as_object(found, config, options)))
    elif ledger is not None or config.mailboxes:
        _print(found, config)
    if not config.mailboxes:
        raise ConfigError(f"No mailbox is configured in {config_path(options)}. Run: spamnb init")
    return _EXIT_STOPPED if found.stop is not None and found.stop.tripped_at is not None else 0


def _status(config: Config, ledger: Ledger | None, now: float) -> _Status:
    path = str(config.ledger)
    paths = [str(mailbox.path) for mailbox in config.mailboxes]
    running = is_running(path), running_since(path), sizes(path)
    if ledger is None:
        missing = missing_lessons(0, 0, config.learning)
        return _Status(path, _NO_TOTALS, {}, missing, None, 0, [(one, None) for one in paths], None, *running)
    with ledger, ledger.snapshot():
        totals = ledger.learned.totals().tolist()
        stop = stop_of(ledger, now)
        newest = next(ledger.journal.newest(1), None)
        return _Status(
            path,
            totals,
            ledger.messages.numbers(),
            missing_lessons(totals[0], totals[1], config.learning),
            stop,
            0 if stop is None else len(ledger.journal.withheld()),
            [(one, ledger.files.started_at(one)) for one in paths],
            None if newest is None else (newest.at, newest.kind),
            *running,
        )


def _as_object(found: _Status, config: Config, options: argparse.Namespace) -> dict[str, object]:
    stop = found.stop or Stop(None, None)
    paused = stop.paused_until
    return {
        "ledger": found.path,
        "config": str(config_path(options)) if config.mailboxes else None,
        "learned": {"ham": found.totals[0], "spam": found.totals[1]},
        "tokens": found.totals[6],
        "judged": found.judged,
        "moves": "nothing" if found.stop or found.missing or not config.mailboxes else "spam",
        "missing": found.missing,
        "stopped_at": stop.tripped_at,
        "model": config.scoring.model,
        "mailboxes": [{"path": path, "watched_since": since} for path, since in found.mailboxes],
        "last_action_at": None if found.last is None else found.last[0],
        "running": found.running,
        "running_since": found.running_since,
        "paused": paused is not None,
        "paused_until": None if paused is None or paused == float("inf") else paused,
        "withheld": found.withheld,
        "bytes": {"ledger": found.disk.ledger, "log": found.disk.wal, "copies": found.disk.copies},
    }


def _print(found: _Status, config: Config) -> None:
    if found.stop is not None:
        print(f"{_stopped(found.stop, found.withheld)}\n")
    ledger, log, copies = map(megabytes, (found.disk.ledger, found.disk.wal, found.disk.copies))
    running = "not running" if not found.running else "running"
    if found.running_since is not None:
        running += f" since {clock(found.running_since)}"
    rows: list[tuple[str, str]] = [
        ("service", running),
        ("ledger", found.path),
        ("disk", f"{ledger}, its log {log}, its copies {copies}"),
        ("learned", f"{found.totals[0]} ham, {found.totals[1]} spam, {found.totals[6]} tokens"),
        ("judged", ", ".join(f"{number} {name}" for name, number in sorted(found.judged.items())) or "nothing yet"),
        ("model", config.scoring.model),
    ]
    rows += [
        (f"mailbox {path}", "not watched yet" if since is None else f"watched since {clock(since)}")
        for path, since in found.mailboxes
    ]
    if found.last is not None:
        rows.append(("last action", f"{clock(found.last[0])} ({found.last[1]})"))
    print(table(rows))
    if found.missing and found.stop is None:
        print(f"\nNothing is moved yet: {found.missing}. Move mail between your folders, or: spamnb train --help")


def _stopped(stop: Stop, withheld: int) -> str:
    number = f"; {plural(withheld, 'message')} withheld" if withheld else ""
    if stop.tripped_at is not None:
        since = clock(stop.tripped_at)
        return (
            f"Nothing is moved since {since}: too much mail looked like spam{number}."
            " Look at `spamnb history --kind judged`, then: spamnb resume"
        )
    return f"Nothing is moved {until_when(stop.paused_until or 0.0)}: paused by hand{number}. To go on: spamnb resume"


def verify(options: argparse.Namespace) -> int:
    """Prove the counts."""
    config = configuration(options)
    with Ledger(str(config.ledger)) as ledger:
        faults = ledger.learned.verify()
        open_moves = len(ledger.journal.intents())
        totals = ledger.learned.totals().tolist()
        imported = ledger.imports.messages()
    for fault in faults[:20]:
        print(f"spamnb: {printable(fault)}", file=sys.stderr)
    if faults:
        more = f", {len(faults) - 20} more" if len(faults) > 20 else ""
        print(
            f"spamnb: {plural(len(faults), 'fault')} in the ledger {printable(ledger.path)}{more}:"
            " restore a copy of it, or train again",
            file=sys.stderr,
        )
        return _EXIT_ERROR
    if not options.quiet:
        print(f"The counts of {totals[6]} tokens are the sum of {totals[0]} ham and {totals[1]} spam messages.")
        if any(imported):
            print(f"Of these {imported[0]} ham and {imported[1]} spam messages were imported.")
        if open_moves:
            print(f"{plural(open_moves, 'move')} not ended: a running service is at it, or the next start ends it.")
    return 0
