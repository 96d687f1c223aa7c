"""What is learned from what a person does not do, and when that is taken back.

Mail that was read and kept is ham, and spam that lies in the spam folder, long and untouched, is spam. Nobody has said
so: these lessons are weak. They follow a verdict nowhere alone, and give way to any decision.

Kept mail is doubtful where the filter calls it spam. It may be ham that the filter does not know yet, or spam that the
filter has missed and that this person has opened and left. Which of the two shows in what became of the mail from the
inbox that the filter takes for spam today, each message without itself: a person who moves spam to the spam folder has
moved it, and what was kept is ham; one who leaves spam lying has kept a good part of it.

Spam caught in the second half of csdmc2010, and ham lost of 2,949, means of three orders, by the habits `tidy`, `hasty`
and `careless`: where all kept mail is learned 94.4 % and 0.3, 94.4 % and 0.3, 24.0 % and 0; where none is learned above
0.3, and weak ham above 0.5 is forgotten, 95.1 % and 3.0, 94.8 % and 7.7, 88.5 % and 0. What holds now is in
docs/accuracy.md, by `spamnb evaluate --protocol user`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spamnb.base.label import How, Label
from spamnb.config import Scoring
from spamnb.filter.leave_one_out import LeaveOneOut, without_groups
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.port import Lesson, Lessons, Relabel

LAY_IN_SPAM = "moved to spam by the filter, and left there"
OUTDATED = "learned weakly, and contradicted by what was learned since"
SILENT_DAYS, SILENT_MESSAGES = 14.0, 200  # that a message lies in the spam folder before that teaches anything
# At 0.98 the habit `tidy` has 97.1 % caught in the second half and a (1−ROCA)% of 0.0022 there (csdmc2010, three
# orders); at 0.99 96.8 % and 0.0039, at 0.999 94.7 % and 0.0038.
_BEYOND_DOUBT = 0.98
_DOUBTFUL = 0.5
_HAM_FOR_SURE = 0.3
OUTDATED_DAYS = 10  # between two looks at all weak lessons
_NEWEST = 400  # messages by which a person is known
_FEWEST = 5
_LEFT_SHARE = 0.25
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
    moved = [trace.moved for trace in newest if today.get(trace.digest, trace.probability) > _DOUBTFUL]
    if len(moved) < _FEWEST:
        return before
    return MissedSpam.IS_LEFT if moved.count(False) > _LEFT_SHARE * len(moved) else MissedSpam.IS_MOVED


def teaches_ham(probability: float, missed: MissedSpam, *, is_taught: bool) -> bool:
    """Whether mail that was read and kept is learned as ham, by what the filter says of it today.

    is_taught: enough ham and spam is learned for that to mean anything; before, all ham looks like spam to a filter
    that has learned much spam, and it would never learn any.
    """
    if missed is MissedSpam.IS_MOVED or not is_taught:
        return True
    return probability <= (_HAM_FOR_SURE if missed is MissedSpam.IS_LEFT else _DOUBTFUL)


def teaches_spam(then: float, today: float) -> bool:
    """Whether mail that has lain in the spam folder is learned as spam, by the probability when it came, and today."""
    return min(then, today) >= _BEYOND_DOUBT


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
            if _gives_way(lesson, judgement.probability, missed, scoring)
        ]


def _gives_way(lesson: Lesson, probability: float, missed: MissedSpam, scoring: Scoring) -> bool:
    if lesson.label is Label.HAM:
        return missed is not MissedSpam.IS_MOVED and probability > _DOUBTFUL
    return lesson.how is How.SILENCE and probability <= scoring.ham_cutoff
