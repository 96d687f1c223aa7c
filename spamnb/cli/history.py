"""List verdicts, moves and lessons, the newest first.

Each line also says what happened to the message later: an undo, a move, or a new lesson.

example:
  spamnb history --limit 50
  spamnb history invoice --folder Junk --since 3d
"""

import argparse
import sys

from spamnb.base.errors import UsageError
from spamnb.base.wording import clock
from spamnb.cli.common.argument_types import at_least, ledger_text, moment
from spamnb.cli.common.arguments import WHEN, add_json
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.output import as_json, is_terminal, table
from spamnb.ledger.history.describe import KINDS, as_object, in_words
from spamnb.ledger.history.lines import Line, Wanted
from spamnb.ledger.ledger import Ledger

INTERRUPTED = "nothing was changed"
ENDS_AT_ONCE = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option, id_ = parser.add_argument, at_least(1)
    has = "only actions with this word in the subject, the sender or a choice"
    option("word", nargs="?", default="", type=ledger_text, metavar="WORD", help=has)
    add_json(parser, "one JSON object per line")
    option("--limit", type=id_, default=20, metavar="N", help="how many actions (default: 20)")
    option("--before", type=id_, metavar="ID", help="only actions before this one: the next page")
    option("--since", type=moment, metavar="WHEN", help=f"only actions since then: {WHEN}")
    option("--until", type=moment, metavar="WHEN", help="only actions until then")
    option("--verdict", choices=("ham", "spam", "unsure"), help="only messages with this verdict")
    option("--kind", choices=tuple(KINDS), help="only actions of this kind")
    option("--folder", type=ledger_text, metavar="FOLDER", help="only mail that came from this folder or went to it")


def run(options: argparse.Namespace) -> int:
    """Print a page of actions, the newest first."""
    kind = None if options.kind is None else KINDS[options.kind]
    wanted = Wanted(options.since, options.until, kind, options.verdict, options.folder, options.word)
    _, ledger = open_to_read(options)
    lines = [] if ledger is None else _page(ledger, wanted, options)
    if options.json:
        for line in lines:
            print(as_json(as_object(line)))
    elif lines:
        print(table([(line.action.id, clock(line.action.at), in_words(line), line.action.summary) for line in lines]))
        if len(lines) == options.limit and lines[-1].action.id > 1 and is_terminal(sys.stdout):
            print(f"For older actions: --before {lines[-1].action.id}", file=sys.stderr)
    elif wanted == Wanted() and options.before is None:
        print("The filter has not moved or learned anything yet.")
    else:
        print("Nothing in the history matches that.")
    return 0


def _page(ledger: Ledger, wanted: Wanted, options: argparse.Namespace) -> list[Line]:
    with ledger:
        lines = ledger.lines.page(options.limit, wanted, options.before)
        if not lines and wanted.folder is not None and wanted.folder not in (known := ledger.lines.folders()):
            raise UsageError(
                f"the folder {wanted.folder!r} is not known; the history has: {', '.join(known) or 'none'}"
                " (named as in the configuration, with / between the levels)"
            )
    return lines
