"""Show what went to Junk in a month, and what to look at.

Three of the five look most like your own mail: of all the ham that you have taught, each
judged without itself, the most looks at least as much like spam. Two are drawn at random. If
one is yours, move it out of Junk. If one is spam, say so on its page, or with
spamnb train --spam FILE. The last line says how many messages were yours at most, by your
answers about the drawn ones. It counts the messages from which these were drawn: those of
the same time that the filter was as sure about. Without an answer nobody knows.

example:
  spamnb statement
  spamnb statement 2026-11 --json
  spamnb statement 2026-W48
"""

import argparse
import contextlib
import re
import time
from datetime import datetime

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.output import as_json, say, table
from spamnb.review.period import Month, Period, Week
from spamnb.review.statement import Statement, statement
from spamnb.review.statement_words import question, results, title, why_shown

INTERRUPTED = "nothing was changed"
_HELP = "as 2026-11; a week as 2026-W48 (default: the last month)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("month", nargs="?", type=_period, metavar="MONTH", help=_HELP)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the statement."""
    period = options.month or Month.of(time.time()).before
    config, ledger = open_to_read(options)
    if ledger is None:
        say("The filter has not moved or learned anything yet.")
        return 0
    with ledger:
        found = statement(ledger, config, period)
    if options.json:
        print(as_json(_as_object(found)))
    else:
        say("\n".join(_lines(found)))
    return 0


def _period(text: str) -> Period:
    found = re.fullmatch(r"([0-9]{4})-(?:(0[1-9]|1[0-2])|W([0-5][0-9]))", text)
    if found is not None and 1970 < int(found[1]) < 9998:
        with contextlib.suppress(ValueError):  # not every year has a week 53
            year = int(found[1])
            return Month(year, int(found[2])) if found[2] else Week.of(_monday(year, int(found[3])))
    raise argparse.ArgumentTypeError("write a month as 2026-11, and a week as 2026-W48")


def _monday(year: int, week: int) -> float:
    return datetime.fromisocalendar(year, week, 1).timestamp()


def _lines(found: Statement) -> list[str]:
    lines = [title(found)]
    if found.shown:
        lines.append(question(found))
        days = [f"{datetime.fromtimestamp(one.moved.at):%e %b}" for one in found.shown]
        rows = [(day, one.moved.summary, why_shown(one)) for day, one in zip(days, found.shown, strict=True)]
        lines += [f"  {row}" for row in table(rows).splitlines()]
    return lines + results(found)


def _as_object(found: Statement) -> dict[str, object]:
    return {
        "month": str(found.period),
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
