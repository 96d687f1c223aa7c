"""`history`: what was judged, moved, learned and imported, and what became of it."""

import argparse
import sys

from spamnb.cli.context import open_to_read
from spamnb.cli.output import as_json, clock, is_terminal, table
from spamnb.cli.times import moment_or_none
from spamnb.errors import UsageError
from spamnb.ledger.journal import Line, Wanted
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import LABELS


def history(options: argparse.Namespace) -> int:
    """Print a page of actions, the newest first."""
    wanted = Wanted(
        since=moment_or_none(options.since),
        until=moment_or_none(options.until),
        kind=options.kind,
        verdict=options.verdict,
        folder=None if options.folder is None else _text(options.folder),
        text=_text(options.word or ""),
    )
    _, ledger = open_to_read(options)
    lines = [] if ledger is None else _page(ledger, wanted, options)
    if options.json:
        for line in lines:
            print(as_json(as_object(line)))
        return 0
    if not lines:
        everything = wanted == Wanted() and options.before is None
        print("Nothing has been moved or learned yet." if everything else "Nothing in the history is like that.")
        return 0
    print(table([(line.action.id, clock(line.action.at), told(line), line.action.summary) for line in lines]))
    if len(lines) == options.limit and lines[-1].action.id > 1 and is_terminal(sys.stdout):
        print(f"What came before: --before {lines[-1].action.id}", file=sys.stderr)
    return 0


def _text(typed: str) -> str:
    """What was typed, with ? for bytes that are no text in this locale: nothing in the ledger holds such."""
    return typed.encode(errors="replace").decode()


def _page(ledger: Ledger, wanted: Wanted, options: argparse.Namespace) -> list[Line]:
    with ledger:
        lines = ledger.journal.page(options.limit, wanted, options.before)
        if not lines and wanted.folder is not None and wanted.folder not in (known := ledger.journal.folders()):
            raise UsageError(
                f"no folder {wanted.folder!r} was ever met; there are: {', '.join(known) or 'none'}"
                " (the names are those of the configuration, with / between the levels)"
            )
    return lines


def told(line: Line) -> str:
    """An action and what became of it, in words."""
    action = line.action
    state = "" if action.state == "done" else f" [{action.state}]"
    if action.kind == "moved":
        return f"moved {line.source} → {line.destination}{state}{_later(line)}: {action.why}"
    if action.kind == "judged":
        return f"judged {action.verdict}{state}{_later(line)}, stays in {line.source}: {action.why}"
    if action.kind == "imported":
        return f"imported{state}: {action.why}"
    if action.after is None:
        return f"forgot, was {LABELS[action.before or 0]}{state}: {action.why}"
    weakly = " weakly" if action.after_weak else ""
    return f"learned {LABELS[action.after]}{weakly}{state}: {action.why}"


def _later(line: Line) -> str:
    moved = [] if line.moved_by is None else [f"moved later, by {line.moved_by}"]
    learned = [] if line.label is None else [f"later learned {LABELS[line.label]}{' weakly' if line.weak else ''}"]
    return f" ({', '.join([*moved, *learned])})" if moved or learned else ""


def as_object(line: Line) -> dict[str, object]:
    """An action and what became of it, for JSON."""
    action = line.action
    return {
        "id": action.id,
        "at": action.at,
        "kind": action.kind,
        "state": action.state,
        "why": action.why,
        "before": _label(action.before),
        "after": _label(action.after),
        "source": line.source,
        "destination": line.destination,
        "verdict": action.verdict,
        "probability": action.probability,
        "message": action.summary,
        "digest": action.digest.hex(),
        "before_weak": action.before_weak,
        "after_weak": action.after_weak,
        "takes_back": action.takes_back,
        "undone_by": line.undone_by,
        "moved_by": line.moved_by,
        "learned_later": _label(line.label),
        "learned_later_weak": line.label is not None and line.weak,
    }


def _label(label: int | None) -> str | None:
    return None if label is None else LABELS[label]
