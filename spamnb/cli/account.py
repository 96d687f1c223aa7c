"""`status`, `history`, `undo`, `verify`, `resume`: what has happened, and taking it back."""

import argparse
import contextlib
import functools
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from spamnb.cli.context import config_path, configuration, open_ledger
from spamnb.cli.output import as_json, clock, is_terminal, plural, printable, progress, table
from spamnb.errors import LedgerError, SpamnbError, UsageError
from spamnb.ledger.journal import Action
from spamnb.ledger.ledger import Ledger
from spamnb.moves import Mover, Spot, bases_now, find_spot
from spamnb.policy import BREAKER_NOTE, RESUMED_NOTE, missing_lessons

_LABELS = ("ham", "spam")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_STATES = {"intent": "still being made", "failed": "not made: the message was gone", "undone": "undone already"}
_BATCH = 200  # learnings a transaction
_EXIT_ERROR = 3


def status(options: argparse.Namespace) -> int:
    """Print what the filter knows, and whether it moves mail."""
    config, ledger = open_ledger(options)
    with ledger:
        totals = ledger.learned.totals().tolist()
        missing = missing_lessons(totals[0], totals[1], config.learning)
        stopped = ledger.note(BREAKER_NOTE)
        judged = {name: number for name, number in ledger.messages.numbers().items() if name != "not judged"}
        mailboxes = [(str(mailbox.path), ledger.files.mailbox(str(mailbox.path))[1]) for mailbox in config.mailboxes]
        newest = next(ledger.journal.newest(1), None)
    moves = "nothing" if stopped or missing or not mailboxes else "spam"
    if options.json:
        print(
            as_json(
                {
                    "ledger": ledger.path,
                    "config": str(config_path(options)) if mailboxes else None,
                    "learned": {"ham": totals[0], "spam": totals[1]},
                    "tokens": totals[6],
                    "judged": judged,
                    "moves": moves,
                    "missing": missing,
                    "stopped_at": None if stopped is None else float(stopped),
                    "model": config.scoring.model,
                    "mailboxes": [{"path": path, "watched_since": since} for path, since in mailboxes],
                    "last_action_at": None if newest is None else newest.at,
                }
            )
        )
        return 0
    rows: list[tuple[str, str]] = [
        ("ledger", ledger.path),
        ("learned", f"{totals[0]} ham, {totals[1]} spam, {totals[6]} tokens"),
        ("judged", ", ".join(f"{number} {name}" for name, number in sorted(judged.items())) or "nothing yet"),
        ("model", config.scoring.model),
    ]
    rows += [
        (f"mailbox {path}", "not watched yet" if since is None else f"watched since {clock(since)}")
        for path, since in mailboxes
    ]
    if newest is not None:
        rows.append(("last action", f"{clock(newest.at)} ({newest.kind})"))
    print(table(rows))
    if stopped is not None:
        print(
            f"\nNothing is moved since {clock(float(stopped))}: too much mail looked like spam."
            " Look at `spamnb history`, then: spamnb resume"
        )
    elif missing:
        print(f"\nNothing is moved yet: {missing}. Move mail between your folders, or: spamnb train --help")
    elif not mailboxes:
        print("\nNo mailbox is configured. Run: spamnb init")
    return 0


def history(options: argparse.Namespace) -> int:
    """Print the newest actions."""
    _, ledger = open_ledger(options)
    with ledger:
        actions = list(ledger.journal.newest(options.limit))
        places = {action.id: (_place(ledger, action.source), _place(ledger, action.destination)) for action in actions}
    if options.json:
        for action in actions:
            print(as_json(_as_object(action, *places[action.id])))
        return 0
    if not actions:
        print("Nothing has been moved or learned yet.")
        return 0
    print(
        table([(action.id, clock(action.at), _done(action, *places[action.id]), action.summary) for action in actions])
    )
    return 0


def _place(ledger: Ledger, folder: int | None) -> str:
    return "" if folder is None else ledger.files.where(folder)[1]


def _done(action: Action, source: str, destination: str) -> str:
    state = "" if action.state == "done" else f" [{action.state}]"
    if action.kind == "moved":
        return f"moved {source} → {destination}{state}: {action.why}"
    if action.kind == "judged":
        return f"judged {action.verdict}{state}, stays in {source}: {action.why}"
    if action.kind == "imported":
        return f"imported{state}: {action.why}"
    if action.after is None:
        return f"forgot, was {_LABELS[action.before or 0]}{state}: {action.why}"
    return f"learned {_LABELS[action.after]}{state}: {action.why}"


def _as_object(action: Action, source: str, destination: str) -> dict[str, object]:
    return {
        "id": action.id,
        "at": action.at,
        "kind": action.kind,
        "state": action.state,
        "why": action.why,
        "before": None if action.before is None else _LABELS[action.before],
        "after": None if action.after is None else _LABELS[action.after],
        "source": source,
        "destination": destination,
        "verdict": action.verdict,
        "probability": action.probability,
        "message": action.summary,
        "digest": action.digest.hex(),
    }


def undo(options: argparse.Namespace) -> int:
    """Take back actions, the newest first; those that cannot be are named, and the others are done all the same."""
    if bool(options.ids) == bool(options.since):
        raise UsageError("undo takes the ids that `spamnb history` shows, or --since WHEN")
    now = time.time()
    since = None if options.since is None else _moment(options.since, now)
    _, ledger = open_ledger(options)
    failed = undone = 0
    with ledger:
        actions = ledger.journal.since(since) if since is not None else _chosen(ledger, options.ids)
        mover = Mover(ledger, time.time, bases_now(), _spots(ledger))
        shown = progress(actions, "undoing", options.quiet or is_terminal(sys.stdout), len(actions))
        for action, fault in _taken_back(ledger, mover, shown):
            if fault is not None:
                failed += 1
                print(f"spamnb: {printable(str(fault))}", file=sys.stderr)
                continue
            undone += 1
            if not options.quiet:
                done = _done(action, _place(ledger, action.source), _place(ledger, action.destination))
                print(f"undid {action.id}: {printable(done)}: {printable(action.summary)}")
        mover.departures.touch_all(time.sleep)
    if not undone and not failed:
        print("There is nothing to undo.")
    return _EXIT_ERROR if failed else 0


def _chosen(ledger: Ledger, ids: list[int]) -> list[Action]:
    found = []
    for number in sorted(set(ids), reverse=True):
        action = ledger.journal.get(number)
        if action is None:
            newest = next(ledger.journal.newest(1), None)
            if newest is not None and 0 < number < newest.id:
                raise UsageError(
                    f"action {number} is forgotten, it cannot be undone: its message is long gone and was never"
                    " learned; see `retention` in the configuration"
                )
            raise UsageError(f"there is no action {number}: see `spamnb history`")
        found.append(action)
    return found


def _spots(ledger: Ledger) -> Callable[[int], Spot | None]:
    """Folders on disk, each looked for once: an undo may go over thousands of messages in a few folders."""
    return functools.cache(lambda folder: find_spot(ledger, folder))


def _taken_back(ledger: Ledger, mover: Mover, actions: Iterable[Action]) -> Iterator[tuple[Action, SpamnbError | None]]:
    """Take back one action after the other; each with its fault, or None.

    Learnings that follow each other are taken back in one transaction, since each transaction waits for the
    disk; moves are not, since an intent has to be on the disk before the file is renamed.
    """
    for kind, following in itertools.groupby(actions, key=lambda action: action.kind):
        size = _BATCH if kind == "learned" else 1
        while batch := list(itertools.islice(following, size)):
            with ledger.transaction() if kind == "learned" else contextlib.nullcontext():
                faults = [_take_back(ledger, mover, action) for action in batch]
            yield from zip(batch, faults, strict=True)


def _take_back(ledger: Ledger, mover: Mover, action: Action) -> SpamnbError | None:
    if action.state != "done":
        return SpamnbError(f"cannot undo {action.id}: it is {_STATES[action.state]}")
    if action.kind == "imported":
        try:
            ledger.imports.take_back(action.id, time.time())
        except LedgerError as fault:
            return fault
        return None
    if action.kind == "moved":
        try:
            mover.take_back(action)
        except LedgerError:
            raise
        except SpamnbError as fault:
            return fault
        return None
    known = ledger.messages.get(action.message)
    if (known.label, known.weak) != (action.after, action.after_weak):
        return SpamnbError(f"cannot undo {action.id}: the message was learned anew since; undo that first")
    ledger.learned.set_label(
        action.message,
        action.before,
        time.time(),
        f"undo of {action.id}",
        weak=action.before_weak,
        takes_back=action.id,
    )
    ledger.journal.settle(action.id, "undone")
    return None


def _moment(text: str, now: float) -> float:
    """A time that a person wrote, in seconds since the epoch. Raises UsageError.

    >>> _moment("2h", 10_000.0)
    2800.0
    """
    if span := re.fullmatch(r"(\d{1,6})\s*([smhdw])", text.strip().lower(), re.ASCII):
        return now - int(span[1]) * _UNITS[span[2]]
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    try:
        return (named.get(text.strip().lower()) or datetime.fromisoformat(text.strip())).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time: write 30m, 2h, 3d, today, yesterday or 2026-01-31 12:00") from None


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
            " put back a copy of it, or train anew",
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


def resume(options: argparse.Namespace) -> int:
    """Close the circuit breaker."""
    _, ledger = open_ledger(options)
    with ledger:
        stopped = ledger.note(BREAKER_NOTE) is not None
        ledger.set_note(RESUMED_NOTE, str(time.time()))
        ledger.set_note(BREAKER_NOTE, None)
    print("Spam is moved again." if stopped else "Moving was not stopped.")
    return 0
