"""Check weak lessons again with today's knowledge: each message is judged as if it were not learned.

`rules.weak_lessons` decides the consequences.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spamnb.config import Scoring
from spamnb.filter.leave_one_out import LeaveOneOut, without_groups
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.port import Lessons, Relabel, pages
from spamnb.rules import weak_lessons

OUTDATED = "newer lessons contradict this weak one"
OUTDATED_DAYS = 10  # between two looks at all weak lessons
_NEWEST = 400  # messages that show a person's habits


class Trace(NamedTuple):
    """The fate of a message that came to the inbox. at: the time, in seconds since the epoch.

    moved: a person has moved it to spam, or marked it as spam; otherwise it was read and kept. probability: the
    filter's own verdict, if the message is not learned. A learned message is judged again, without itself.
    """

    at: float
    digest: bytes
    moved: bool
    probability: float = 0.0


def missed_spam(lessons: Lessons, scoring: Scoring, traces: Iterable[Trace], before: MissedSpam) -> MissedSpam:
    """Return a person's habit with missed spam, by the newest traces that the filter takes for spam today.

    before: the habit known before; it is returned if too few of the newest traces count.
    """
    newest = sorted(traces)[-_NEWEST:]
    if before is MissedSpam.IS_LEFT and not any(trace.moved for trace in newest):
        return before  # whatever of it the filter takes for spam; a person may never move any
    today = {
        left.lesson.digest: left.judgement.probability
        for left in without_groups(lessons, scoring, ([trace.digest] for trace in newest))
    }
    probabilities = (today.get(trace.digest, trace.probability) for trace in newest)
    moved = [
        trace.moved
        for trace, probability in zip(newest, probabilities, strict=True)
        if weak_lessons.is_doubtful(probability)
    ]
    return weak_lessons.missed_spam(moved, before)


def outdated(lessons: Lessons, scoring: Scoring, missed: MissedSpam) -> Iterator[list[Relabel]]:
    """Yield the changes that forget weak lessons contradicted since then, one page of lessons at a time.

    Each message is judged without itself. You may learn and forget between the pages.
    """
    without = LeaveOneOut(lessons, scoring)
    for page in pages(lessons):
        weak = [[lesson.digest] for lesson in page if lesson.label is not None and lesson.weak]
        yield [
            Relabel(lesson.digest, lesson.label, lesson.weak, None, True, OUTDATED, lesson.how)
            for lesson, judgement, _ in without.judge_groups(weak)
            if weak_lessons.gives_way(lesson, judgement.probability, missed, scoring)
        ]
