"""The output of `replay`: the figures of each life, what it would have got wrong, JSON, and a line per message."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from spamnb.base.label import Role
from spamnb.base.wording import escaped
from spamnb.cli.common import output_files
from spamnb.cli.common.questions import clue_in_words

if TYPE_CHECKING:
    from spamnb.evaluation.replay import Life
    from spamnb.evaluation.replayed import Lived, Mistake, Month, Replayed

_BARS = "▁▂▃▄▅▆▇█"
_NAMED = 10  # doubted messages


def whole(found: Replayed) -> str:
    """Return all that a person should know."""
    from spamnb.evaluation.replayed import READ_ONLY, UNKNOWN, many

    parts = [figures(found)]
    if found.others:
        more = f"--limit {found.messages + found.others} takes them too."
        parts.append(f"{many(found.others, 'older message')} left out: {more}")
    parts += filter(None, map(_mistakes, found.lives))
    if found.doubted:
        parts.append("\n".join(_doubts(found)))
    return "\n\n".join([*parts, f"{UNKNOWN}\n{READ_ONLY}"])


def figures(found: Replayed) -> str:
    """Return what each life caught and moved, by month and in all, and when it began."""
    from spamnb.evaluation.replayed import NOT_BEGUN

    lines = [found.sentence]
    for life in found.lives:
        lines.append(f"{life.words}: {life.sentence}")
        lines += [f"  Put apart as {role}: {ham:,} letters, {spam:,} spam." for role, ham, spam in life.apart]
    if not found.has_begun:
        lines.append(NOT_BEGUN)
    if months := found.months:
        lines.append(f"Caught by month: {''.join(map(_bar, months))}  {months[0].name} to {months[-1].name}")
    return "\n".join(lines)


def as_object(found: Replayed) -> dict[str, object]:
    """Return all of this for a program."""
    return {
        "messages": found.messages,
        "unread": found.unread,
        "from": found.since,
        "to": found.until,
        "doubted": [one._asdict() for one in found.doubted],
        "lives": [
            {
                "habit": life.habit,
                "messages_a_day": life.a_day,
                "ham": life.ham,
                "spam": life.spam,
                "ham_moved": len(life.moved),
                "spam_caught": life.caught,
                "began": life.began,
                "apart": {role: {"ham": ham, "spam": spam} for role, ham, spam in life.apart},
                "months": [month._asdict() for month in life.months],
                "moved": list(map(_named, life.moved)),
                "missed": list(map(_named, life.missed)),
            }
            for life in found.lives
        ],
    }


def write_csv(path: str, lives: Sequence[Life]) -> None:
    """Write a line per message and life."""
    text = io.StringIO(newline="")
    with output_files.opened(path) as file:
        rows = csv.writer(text)
        rows.writerow(["came", "file", "label", "habit", "moved_to", "verdict", "probability"])
        for life in lives:
            for one, goal in zip(life.run.outcomes, life.run.goals, strict=True):
                came = datetime.fromtimestamp(life.came[one.name]).isoformat(timespec="seconds")
                moved = "" if goal is None else "Junk" if goal is Role.SPAM else goal
                probability = f"{one.probability:.4f}"
                rows.writerow([came, one.name, one.label.word, life.run.habit, moved, one.verdict, probability])
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def _mistakes(life: Lived) -> str:
    """Return the names of what a life got wrong, with the reasons; "" if there is nothing."""
    lines: list[str] = []
    if life.moved:
        lines.append(f"{life.words}: it would have moved")
        lines += [line for one in life.moved for line in _told(one)]
    if life.missed:
        lines.append(f"{life.words}: the first spam that it would have missed after that")
        lines += [line for one in life.missed for line in _told(one)]
    return "\n".join(lines)


def _told(one: Mistake) -> Iterator[str]:
    from spamnb.evaluation.replayed import day

    yield f"  {day(one.came)}  {escaped(one.summary)}"
    yield f"    {'; '.join(map(clue_in_words, one.clues)) or 'nothing in it was known'}"


def _doubts(found: Replayed) -> Iterator[str]:
    yield found.doubts
    for one in found.doubted[:_NAMED]:
        yield f"  {escaped(one.summary)}\n    {escaped(one.name)}"
    if len(found.doubted) > _NAMED:
        yield f"  … {len(found.doubted) - _NAMED:,} more: --json names all"


def _named(one: Mistake) -> dict[str, object]:
    return {"file": one.name, "summary": one.summary, "came": one.came, "clues": [clue.token for clue in one.clues]}


def _bar(month: Month) -> str:
    return _BARS[min(len(_BARS) - 1, month.caught * len(_BARS) // month.spam)]
