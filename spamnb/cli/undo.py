"""`undo`: taking back what was done, after a look at what that is."""

import argparse
import collections
import sys
import time

from spamnb.cli.context import open_ledger, open_to_read
from spamnb.cli.history import told
from spamnb.cli.output import clock, is_terminal, plural, printable, progress
from spamnb.cli.times import moment_or_none
from spamnb.errors import UsageError
from spamnb.ledger.journal import Action, Kind
from spamnb.ledger.ledger import Ledger
from spamnb.undo import NoSuchActionError, of_ids, since, undos_since, why_not
from spamnb.undo import undo as take_back

_MANY = 20  # actions; more are not undone without a question
_EXIT_ERROR = 3
_NAMES: dict[Kind, str] = {"moved": "move", "learned": "learning", "imported": "import"}


def undo(options: argparse.Namespace) -> int:
    """Take back actions, the newest first; those that cannot be are named, and the others are done all the same."""
    if bool(options.ids) == bool(options.since):
        raise UsageError("undo takes the ids that `spamnb history` shows, or --since WHEN")
    if options.ids and (options.moves or options.learned or options.undos):
        raise UsageError("--moves, --learned and --undos choose among what was done --since WHEN")
    at = moment_or_none(options.since)
    if options.dry_run:
        ledger = open_to_read(options)[1]
        if ledger is None:
            print("There is nothing to undo.")
            return 0
        with ledger:
            return _show(ledger, _chosen(ledger, at, options), options)
    with open_ledger(options)[1] as ledger:
        actions = _chosen(ledger, at, options)
        if not _agreed(actions, options):
            print("Nothing was undone.")
            return 0
        return _undo(ledger, actions, options)


def _chosen(ledger: Ledger, at: float | None, options: argparse.Namespace) -> list[Action]:
    if at is None:
        try:
            return of_ids(ledger, options.ids)
        except NoSuchActionError as fault:
            raise UsageError(str(fault)) from fault
    kinds: list[Kind] = [*(["moved"] if options.moves else []), *(["learned"] if options.learned else [])]  # type: ignore[list-item]
    chosen = undos_since if options.undos else since
    return chosen(ledger, at, kinds) if kinds else chosen(ledger, at)


def _totals(actions: list[Action]) -> str:
    numbers = collections.Counter(action.kind for action in actions)
    return ", ".join(plural(numbers[kind], name) for kind, name in _NAMES.items() if numbers[kind])


def _show(ledger: Ledger, actions: list[Action], options: argparse.Namespace) -> int:
    """Print what would be undone."""
    if not actions:
        print("There is nothing to undo.")
        return 0
    possible = []
    for line in ledger.journal.lines(actions):
        if (fault := why_not(ledger, line.action)) is not None:
            print(f"spamnb: {printable(str(fault))}", file=sys.stderr)
            continue
        possible.append(line.action)
        if not options.quiet:
            print(f"would undo {line.action.id}: {printable(told(line))}: {printable(line.action.summary)}")
    print(f"would undo {_totals(possible) or 'nothing'}; nothing was changed")
    return 0 if len(possible) == len(actions) else _EXIT_ERROR


def _agreed(actions: list[Action], options: argparse.Namespace) -> bool:
    """Whether so much may be undone: a person says so when asked, or has said --yes. Raises UsageError."""
    if options.yes or not actions:
        return True
    if is_terminal(sys.stdin) and is_terminal(sys.stdout) and not options.quiet:
        if len(actions) <= _MANY and options.ids:
            return True
        print(f"To be undone: {_totals(actions)}. (An undo can be undone; --dry-run lists what this one would do.)")
        try:
            return input("Undo all of it? [y/N] ").strip().lower() in {"y", "yes"}
        except EOFError:
            print()
            return False
    if len(actions) > _MANY:
        raise UsageError(f"this would undo {_totals(actions)}: look at it with --dry-run, and do it with --yes")
    return True


def _undo(ledger: Ledger, actions: list[Action], options: argparse.Namespace) -> int:
    failed = undone = 0
    start = time.time()
    shown = progress(
        take_back(ledger, actions), "undoing", options.quiet or is_terminal(sys.stdout), len(actions)
    )  # on a terminal the lines themselves are the progress
    lines = iter(ledger.journal.lines(actions))  # as they were before
    for outcome, line in zip(shown, lines, strict=True):
        what = f"{printable(told(line))}: {printable(line.action.summary)}"
        if outcome.left:
            print(f"left {line.action.id}: {printable(str(outcome.fault))}: {printable(line.action.summary)}")
        elif outcome.fault is not None:
            failed += 1
            print(f"spamnb: {printable(str(outcome.fault))}", file=sys.stderr)
        else:
            undone += 1
            if not options.quiet:
                print(f"undid {line.action.id}: {what}")
    if not actions:
        print("There is nothing to undo.")
    elif undone > _MANY and not options.quiet:
        print(f"undid {plural(undone, 'action')}; to take that back: spamnb undo --undos --since '{clock(start)}'")
    return _EXIT_ERROR if failed else 0
