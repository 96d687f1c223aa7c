"""Take back moves and lessons.

A message goes back to its old folder, and the filter does not judge it again. The counts
are the same as before. If you have moved a message since then, it stays in its folder.
The number of an answer to audit or review takes back everything that the answer did. You
can undo an undo too.

example:
  spamnb undo --since 1h --dry-run
  spamnb undo 17 18
"""

import argparse
import collections
import sys
import time
from collections.abc import Iterable

from spamnb.acts.undo import NoSuchActionError, UndoOutcome, foresee, of_ids, since, undo, undos_since
from spamnb.base.errors import UsageError
from spamnb.base.wording import clock, escaped, plural
from spamnb.cli.common import exit_codes
from spamnb.cli.common.argument_types import at_least, moment
from spamnb.cli.common.arguments import WHEN
from spamnb.cli.common.config_and_ledger import open_ledger, open_to_read
from spamnb.cli.common.output import inform, is_confirmed, is_dialogue, is_terminal, progress, say, warn
from spamnb.config import Config
from spamnb.ledger.history.actions import UNDOABLE, Action, Kind
from spamnb.ledger.history.describe import in_words
from spamnb.ledger.history.lines import Line
from spamnb.ledger.ledger import Ledger

_MANY = 20  # actions; before more are undone, it asks
_ONLY: dict[str, Kind] = {"moves": "moved", "lessons": "learned"}
_UNDOS = "undos"
_NOTHING = "There is nothing to undo."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    option("--since", type=moment, metavar="WHEN", help=f"undo everything since then: {WHEN}")
    only = "with --since: only moves, only lessons, or only undos (which does the undone again); may be repeated"
    option("--only", action="append", default=[], choices=(*_ONLY, _UNDOS), help=only)
    option("--dry-run", action="store_true", help="only show what it would undo")
    option("--yes", action="store_true", help="do not ask; needed for more than 20 actions without a terminal")
    option("ids", nargs="*", type=at_least(1), metavar="ID", help="the numbers that `spamnb history` shows")


def run(options: argparse.Namespace) -> int:
    """Undo actions, the newest first. It names those that it cannot undo, and goes on with the others."""
    if bool(options.ids) == (options.since is not None):
        raise UsageError("undo needs a number that `spamnb history` shows, or --since WHEN")
    if options.ids and options.only:
        raise UsageError("--only needs --since WHEN: leave out the numbers, or --only")
    config, ledger = open_to_read(options) if options.dry_run else open_ledger(options)
    if ledger is None:
        print(_NOTHING)
        return 0
    with ledger:
        actions = _chosen(ledger, options)
        if options.dry_run:
            return _show(ledger, config, actions, options)
        if actions and not _is_agreed(actions, options):
            print("Nothing was undone.")
            return 0
        return _undo(ledger, config, actions, options)


def _chosen(ledger: Ledger, options: argparse.Namespace) -> list[Action]:
    try:
        if options.since is None:
            return of_ids(ledger, options.ids)
    except NoSuchActionError as fault:
        raise UsageError(str(fault)) from fault
    chosen = undos_since if _UNDOS in options.only else since
    kinds = [_ONLY[name] for name in options.only if name in _ONLY]
    return chosen(ledger, options.since, *([kinds] if kinds else []))


def _totals(actions: list[Action]) -> str:
    """Return how many actions of each kind these are. The lessons of `init` are named: few people want to lose them."""
    numbers = collections.Counter((action.kind, action.is_of_init) for action in actions)
    return ", ".join(
        f"{plural(number, name)}{' of init' if is_of_init else ''}"
        for kind, name in UNDOABLE.items()
        for is_of_init in (False, True)
        if (number := numbers[kind, is_of_init])
    )


def _show(ledger: Ledger, config: Config, actions: list[Action], options: argparse.Namespace) -> int:
    """Print what the command would undo."""
    if not actions:
        print(_NOTHING)
        return 0
    outcomes = list(foresee(ledger, config, actions))
    for outcome, line in zip(outcomes, ledger.lines.of(actions), strict=True):
        if outcome.fault is None:
            inform(options, f"would undo {_described(line)}")
        else:
            _refuse(outcome)
    possible = [outcome.action for outcome in outcomes if outcome.fault is None]
    print(f"would undo {_totals(possible) or 'nothing'}; nothing was changed")
    return _code(outcomes)


def _refuse(outcome: UndoOutcome) -> None:
    """Say why an action is not undone. A person may have moved the message since then, and that is right."""
    if outcome.left:
        print(f"{escaped(str(outcome.fault))}: {escaped(outcome.action.summary)}")
    else:
        warn(str(outcome.fault))


def _code(outcomes: Iterable[UndoOutcome]) -> int:
    return exit_codes.ERROR if any(one.fault is not None and not one.left for one in outcomes) else 0


def _described(line: Line) -> str:
    return f"{line.action.id}: {escaped(in_words(line))}: {escaped(line.action.summary)}"


def _is_agreed(actions: list[Action], options: argparse.Namespace) -> bool:
    """Return whether the person agrees to undo all this. Raises UsageError if nobody can be asked."""
    is_much = len(actions) > _MANY
    if options.yes:
        return True
    if is_dialogue() and not options.quiet:
        if options.ids and not is_much:
            return True
        say(f"This undoes {_totals(actions)}. (You can undo it again; --dry-run lists what it would do.)")
        return is_confirmed("Undo all of it?")
    if is_much:
        raise UsageError(f"this would undo {_totals(actions)}: list it with --dry-run, and do it with --yes")
    return True


def _undo(ledger: Ledger, config: Config, actions: list[Action], options: argparse.Namespace) -> int:
    outcomes = []
    start = time.time()
    quiet = options.quiet or is_terminal(sys.stdout)  # on a terminal the lines themselves are the progress
    lines = ledger.lines.of(actions)  # read before the undo
    for outcome, line in zip(
        progress(undo(ledger, config, actions), "undoing", quiet, len(actions)), lines, strict=True
    ):
        outcomes.append(outcome)
        if outcome.fault is None:
            inform(options, f"undid {_described(line)}")
        else:
            _refuse(outcome)
    undone = sum(outcome.fault is None for outcome in outcomes)
    if not actions:
        print(_NOTHING)
    if undone > _MANY:
        way_back = f"spamnb undo --only undos --since '{clock(start)}'"
        inform(options, f"undid {plural(undone, 'action')}; to take that back: {way_back}")
    return _code(outcomes)
