"""List what was judged, moved and learned, the newest first.

Each line tells what became of it: undone, moved later, learned later as what.

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
from spamnb.ledger.history.journal import Line, Wanted
from spamnb.ledger.ledger import Ledger

INTERRUPTED = "nothing was changed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option, id_ = parser.add_argument, at_least(1)
    has = "only what has it in subject or sender, or in a choice"
    option("word", nargs="?", default="", type=ledger_text, metavar="WORD", help=has)
    add_json(parser, "one JSON object a line")
    option("--limit", type=id_, default=20, metavar="N", help="how many (default: 20)")
    option("--before", type=id_, metavar="ID", help="only actions before that one: the next page")
    option("--since", type=moment, metavar="WHEN", help=WHEN)
    option("--until", type=moment, metavar="WHEN", help="the same")
    option("--verdict", choices=("ham", "spam", "unsure"), help="only what was judged so")
    option("--kind", choices=tuple(KINDS), help="only these actions")
    option("--folder", type=ledger_text, metavar="FOLDER", help="only what came from that folder or went to it")


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
            print(f"What came before: --before {lines[-1].action.id}", file=sys.stderr)
    elif wanted == Wanted() and options.before is None:
        print("Nothing has been moved or learned yet.")
    else:
        print("Nothing in the history matches that.")
    return 0


def _page(ledger: Ledger, wanted: Wanted, options: argparse.Namespace) -> list[Line]:
    with ledger:
        lines = ledger.journal.page(options.limit, wanted, options.before)
        if not lines and wanted.folder is not None and wanted.folder not in (known := ledger.journal.folders()):
            raise UsageError(
                f"no folder {wanted.folder!r} is known; there are: {', '.join(known) or 'none'}"
                " (the names are those of the configuration, with / between the levels)"
            )
    return lines
