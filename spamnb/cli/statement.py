"""Show what went to Junk in a month, and what to look at.

Three of the five look most like your own mail: of all the ham that you have taught, each
judged without itself, the most looks at least as much like spam. Two are drawn at random. If
one is yours, move it out of Junk. If one is spam, say so on its page, or with
spamnb train --spam FILE. The last line says how many messages were yours at most, by your
answers about the drawn ones. It counts the messages from which these were drawn: those of
the same month that the filter was as sure about. Without an answer nobody knows.

example:
  spamnb statement
  spamnb statement 2026-11 --json
"""

import argparse
import re
import time
from datetime import datetime

from spamnb.base.wording import plural
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.output import as_json, say, table
from spamnb.review.at_most import CONFIDENCE
from spamnb.review.statement import Month, Shown, Statement, statement

INTERRUPTED = "nothing was changed"
_NUMBERS = ("", "one", "two", "three", "four", "five")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("month", nargs="?", type=_month, metavar="MONTH", help="as 2026-11 (default: the last month)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the statement."""
    month = options.month or Month.of(time.time()).before
    config, ledger = open_to_read(options)
    if ledger is None:
        say("The filter has not moved or learned anything yet.")
        return 0
    with ledger:
        found = statement(ledger, config, month)
    if options.json:
        print(as_json(_as_object(found)))
    else:
        say("\n".join(_lines(found)))
    return 0


def _month(text: str) -> Month:
    found = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
    if found is None or not 1970 < int(found[1]) < 9999:
        raise argparse.ArgumentTypeError("write a month as 2026-11")
    return Month(int(found[1]), int(found[2]))


def _lines(found: Statement) -> list[str]:
    name = f"{datetime(found.month.year, found.month.number, 1):%B %Y}"
    lines = [f"{plural(found.moved, 'message')} moved to Junk in {name}"]
    if found.shown:
        number = len(found.shown)
        which = "this message. If it" if number == 1 else f"these {_NUMBERS[number]}. If one"
        lines.append(f"Look at {which} is yours, move it out of Junk.")
        rows = [(f"{datetime.fromtimestamp(one.moved.at):%e %b}", one.moved.summary, _why(one)) for one in found.shown]
        lines += [f"  {row}" for row in table(rows).splitlines()]
    if found.spam:
        lines.append(f"Caught {found.caught} of {found.spam} spam. {found.back} came back because you want them.")
    if found.drawn:
        lines.append(_bound(found))
    return lines


def _why(one: Shown) -> str:
    if one.is_drawn:
        return "drawn at random"
    if not one.of:
        return "least like your other spam"
    return f"{one.ham or 'none'} of {one.of} of your letters look{'s' if one.ham <= 1 else ''} so"


def _bound(found: Statement) -> str:
    """Return how many messages were ham at most, with the number that this is by."""
    drawn = f"Drawn at random so far: {found.drawn}."
    if found.at_most is None:
        return f"{drawn} You have answered none of them, so nobody knows how many messages in Junk are yours."
    ham = sum(one.is_ham for one in found.answered)
    yours = f"{ham or 'none'} of these {'were' if ham > 1 else 'was'} yours"
    most = f"at most {found.at_most} of the {plural(found.behind, 'message')} that they stand for were yours"
    return f"{drawn} You have answered {len(found.answered)}, and {yours}. So {most} ({100 * CONFIDENCE:.0f} %)."


def _as_object(found: Statement) -> dict[str, object]:
    return {
        "month": str(found.month),
        "moved": found.moved,
        "back": found.back,
        "caught": found.caught,
        "spam": found.spam,
        "shown": [
            {
                "digest": one.moved.digest.hex(),
                "message": one.moved.summary,
                "path": one.place.path,
                "at": one.moved.at,
                "ham_like_it": one.ham,
                "of_ham": one.of,
                "drawn": one.is_drawn,
            }
            for one in found.shown
        ],
        "drawn": found.drawn,
        "answered": len(found.answered),
        "answered_ham": sum(one.is_ham for one in found.answered),
        "behind": found.behind,
        "at_most": found.at_most,
    }
