"""Show what went to Junk in a month, and what to look at.

Three of the five look most like your own mail: of all the ham that you have taught, each
judged without itself, the most looks at least as much like spam. Two are drawn at random. If
one is yours, move it out of Junk. If none is, say so at a terminal, or with --none for those
of the newest letter (service.statement): they are learned as spam. The last line says how
many messages were yours at most, by your answers about the drawn ones. It counts the messages
from which these were drawn: those of the same time that the filter was as sure about. Without
an answer nobody knows.

example:
  spamnb statement
  spamnb statement 2026-11 --json
  spamnb statement 2026-W48
  spamnb statement --none
"""

import argparse
import re
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from datetime import datetime

from spamnb.acts.answers import WHY, Answers
from spamnb.acts.none_of_these import none_is_mine
from spamnb.base.errors import UsageError
from spamnb.base.wording import plural
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, open_ledger, open_to_read
from spamnb.cli.common.output import as_json, is_confirmed, is_dialogue, say, table
from spamnb.review.period import Month, Period, Week
from spamnb.review.statement import Statement, statement
from spamnb.review.statement_words import question, results, title, why_shown

INTERRUPTED = "nothing was changed"
_HELP = "as 2026-11; a week as 2026-W48 (default: the last month)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("month", nargs="?", type=_period, metavar="MONTH", help=_HELP)
    one = parser.add_mutually_exclusive_group()
    add_json(one)
    one.add_argument("--none", action="store_true", help="learn what the newest letter shows as spam")


def run(options: argparse.Namespace) -> int:
    """Print the statement, and ask about its messages at a terminal; or answer for the newest letter."""
    if options.none:
        return _answer_letter(options)
    period = options.month or Month.of(time.time()).before
    config, ledger = open_to_read(options)
    if ledger is None:
        say("The filter has not moved or learned anything yet.")
        return 0
    with ledger:
        found = statement(ledger, config, period)
    if options.json:
        print(as_json(_as_object(found)))
        return 0
    say("\n".join(_lines(found)))
    if found.shown and is_dialogue() and is_confirmed("\nIs all of this spam? It is learned as spam then."):
        _learn([one.moved.digest for one in found.shown], options)
    return 0


def _answer_letter(options: argparse.Namespace) -> int:
    if options.month is not None:
        raise UsageError("--none is about the newest letter: leave the month out, or leave out --none, at a terminal")
    _, ledger = open_to_read(options)
    with ledger or nullcontext():
        told = None if ledger is None else ledger.state.told
    if told is None:
        raise UsageError("--none is about the newest letter, and there is none: call spamnb statement at a terminal")
    _learn(told.shown, options)
    return 0


def _learn(shown: Sequence[bytes], options: argparse.Namespace) -> None:
    config, ledger = open_ledger(options)
    with ledger:
        answers = Answers(ledger, config)
        done = none_is_mine(answers, ledger, shown, WHY)
        answers.end()
    number = len(done.answers)
    undo = f" To undo: {command(options)} undo {' '.join(map(str, done.answers))}" if number else ""
    say(f"{number} learned as spam, by your decision.{undo}")
    if done.failed:
        say(f"{plural(done.failed, 'message')} could not be learned: moved or deleted in the meantime.")


def _period(text: str) -> Period:
    found = re.fullmatch(r"([0-9]{4})-(?:(0[1-9]|1[0-2])|W([0-5][0-9]))", text)
    if found is not None and 1970 < int(found[1]) < 9998:
        with suppress(ValueError):  # not every year has a week 53
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
