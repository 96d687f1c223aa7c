"""The output of `replay`: the figures of each life, what it would have got wrong, JSON, and a line per message."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from spamnb.base.label import Label, Role, Verdict
from spamnb.base.wording import escaped
from spamnb.cli.common import output_files
from spamnb.cli.common.questions import clue_in_words

if TYPE_CHECKING:
    from spamnb.evaluation.measures import Outcome
    from spamnb.evaluation.past_mail import Doubted, PastMail
    from spamnb.evaluation.replay import Life, Month

_BARS = "▁▂▃▄▅▆▇█"
_FEWEST_MONTHS = 3
_NAMED = 10  # doubted messages
UNKNOWN = "It cannot know what you have deleted, what a rule has filed, and spam that nobody sorted out of a folder."
READ_ONLY = "It reads only: nothing was moved, learned or written."


def whole(mail: PastMail, lives: Sequence[Life], doubted: Sequence[Doubted], others: int) -> str:
    """Return all that a person should know. others: how many older messages were left out."""
    parts = [figures(mail, lives)]
    if others:
        parts.append(f"{_many(others, 'older message')} left out: --limit {len(mail) + others} takes them too.")
    parts += filter(None, (_mistakes(life) for life in lives))
    if doubted:
        parts.append("\n".join(_doubts(doubted)))
    return "\n\n".join([*parts, f"{UNKNOWN}\n{READ_ONLY}"])


def figures(mail: PastMail, lives: Sequence[Life]) -> str:
    """Return what each life caught and moved, by month and in all, and when it began."""
    times = mail.came.values()
    unread = f"; {_many(mail.unread, 'more')} could not be read" if mail.unread else ""
    lines = [
        f"{_many(len(mail), 'message')} from {_day(min(times))} to {_day(max(times))}{unread}. They came in this order,"
        " as if spamnb had begun then."
    ]
    for life in lives:
        spam, ham = life.number(Label.SPAM), life.number(Label.HAM)
        lines.append(
            f"{life.words}: it moves mail {_since(life.began)}, catches {life.number(Label.SPAM, Verdict.SPAM):,} of"
            f" {spam:,} spam, and takes {len(life.moved):,} of {ham:,} letters for spam."
        )
        lines += [f"  Put apart as {role}: {ham:,} letters, {spam:,} spam." for role, ham, spam in life.put_apart()]
    if all(life.began is None for life in lives):
        lines.append(
            "It does not begin: before that, it waits for letters that you read and keep, and for spam in Junk."
        )
    months = lives[0].months()
    if len(months) >= _FEWEST_MONTHS:
        lines.append(f"Caught by month: {''.join(map(_bar, months))}  {months[0].name} to {months[-1].name}")
    return "\n".join(lines)


def as_object(mail: PastMail, lives: Sequence[Life], doubted: Sequence[Doubted]) -> dict[str, object]:
    """Return all of this for a program."""
    times = mail.came.values()
    return {
        "messages": len(mail),
        "unread": mail.unread,
        "from": min(times),
        "to": max(times),
        "doubted": [one._asdict() for one in doubted],
        "lives": [
            {
                "habit": life.run.habit,
                "messages_a_day": life.run.a_day,
                "ham": life.number(Label.HAM),
                "spam": life.number(Label.SPAM),
                "ham_moved": len(life.moved),
                "spam_caught": life.number(Label.SPAM, Verdict.SPAM),
                "began": life.began,
                "apart": {role: {"ham": ham, "spam": spam} for role, ham, spam in life.put_apart()},
                "months": [month._asdict() for month in life.months()],
                "moved": [_named(life, one) for one in life.moved],
                "missed": [_named(life, one) for one in life.missed],
            }
            for life in lives
        ],
    }


def write_csv(path: str, mail: PastMail, lives: Sequence[Life]) -> None:
    """Write a line per message and life."""
    text = io.StringIO(newline="")
    with output_files.opened(path) as file:
        rows = csv.writer(text)
        rows.writerow(["came", "file", "label", "habit", "moved_to", "verdict", "probability"])
        for life in lives:
            for one, goal in zip(life.run.outcomes, life.run.goals, strict=True):
                came = datetime.fromtimestamp(mail.came[one.name]).isoformat(timespec="seconds")
                moved = "" if goal is None else "Junk" if goal is Role.SPAM else goal
                probability = f"{one.probability:.4f}"
                rows.writerow([came, one.name, one.label.word, life.run.habit, moved, one.verdict, probability])
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def _mistakes(life: Life) -> str:
    """Return the names of what a life got wrong, with the reasons; "" if there is nothing."""
    lines: list[str] = []
    if life.moved:
        lines.append(f"{life.words}: it would have moved")
        lines += [line for one in life.moved for line in _told(life, one)]
    if life.missed:
        lines.append(f"{life.words}: the first spam that it would have missed after that")
        lines += [line for one in life.missed for line in _told(life, one)]
    return "\n".join(lines)


def _told(life: Life, one: Outcome) -> Iterator[str]:
    yield f"  {_day(life.came[one.name])}  {escaped(one.summary)}"
    yield f"    {'; '.join(map(clue_in_words, life.run.clues[one.name])) or 'nothing in it was known'}"


def _doubts(doubted: Sequence[Doubted]) -> Iterator[str]:
    spam = sum(one.is_spam for one in doubted)
    yield (
        f"{_many(len(doubted), 'message')} outside of Junk may be spam: {spam:,} of them count as spam here, and"
        f" {len(doubted) - spam:,} are left out."
    )
    for one in doubted[:_NAMED]:
        yield f"  {escaped(one.summary)}\n    {escaped(one.name)}"
    if len(doubted) > _NAMED:
        yield f"  … {len(doubted) - _NAMED:,} more: --json names all"


def _named(life: Life, one: Outcome) -> dict[str, object]:
    clues = [clue.token for clue in life.run.clues[one.name]]
    return {"file": one.name, "summary": one.summary, "came": life.came[one.name], "clues": clues}


def _day(at: float) -> str:
    when = datetime.fromtimestamp(at)
    return f"{when.day} {when:%B %Y}"


def _since(began: float | None) -> str:
    return "at no time" if began is None else f"from {_day(began)} on"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 or noun == 'more' else 's'}"


def _bar(month: Month) -> str:
    return _BARS[min(len(_BARS) - 1, month.caught * len(_BARS) // month.spam)]
