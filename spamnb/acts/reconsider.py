"""What was learned weakly, asked again by what is learned today: each message is judged without itself.

`rules.weak_lessons` says what follows.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spamnb.config import Scoring
from spamnb.filter.leave_one_out import LeaveOneOut, without_groups
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.port import Lessons, Relabel
from spamnb.rules import weak_lessons

OUTDATED = "learned weakly, and contradicted by what was learned since"
OUTDATED_DAYS = 10  # between two looks at all weak lessons
_NEWEST = 400  # messages by which a person is known
_PAGE = 500


class Trace(NamedTuple):
    """What became of a message that came to the inbox. at: when, in seconds since the epoch.

    moved: a person has moved it to spam, or marked it so; else it was read and kept. probability: what the filter has
    said of it, where it is not learned; for a learned message it is asked again, without the message itself.
    """

    at: float
    digest: bytes
    moved: bool
    probability: float = 0.0


def missed_spam(lessons: Lessons, scoring: Scoring, traces: Iterable[Trace], before: MissedSpam) -> MissedSpam:
    """What a person does about missed spam, by the newest traces, of those that the filter takes for spam today.

    before: what was known of that; it stays where too few of the newest tell.
    """
    newest = sorted(traces)[-_NEWEST:]
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
    """How the weak lessons are forgotten that give way to what was learned since, a page of lessons at a time.

    Each is judged without itself. Learn and forget between the pages as you like.
    """
    without = LeaveOneOut(lessons, scoring)
    last = 0
    while page := lessons.changes(last, _PAGE):
        last = page[-1].number
        weak = [[lesson.digest] for lesson in page if lesson.label is not None and lesson.weak]
        yield [
            Relabel(lesson.digest, lesson.label, lesson.weak, None, True, OUTDATED, lesson.how)
            for lesson, judgement, _ in without.judge_groups(weak)
            if weak_lessons.gives_way(lesson, judgement.probability, missed, scoring)
        ]
