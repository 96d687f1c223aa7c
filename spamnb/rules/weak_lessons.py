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
docs/evidence/accuracy.md, by `spamnb evaluate --protocol user`.
"""

from collections.abc import Sequence

from spamnb.base.label import How, Label
from spamnb.bayes import calibration
from spamnb.config import Scoring
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.port import Lesson

LAY_IN_SPAM = "moved to spam by the filter, and left there"
SILENT_DAYS, SILENT_MESSAGES = 14.0, 200  # that a message lies in the spam folder before that teaches anything
# Each limit is a score: another slope of the calibration does not move what is learned without a decision.
_BEYOND_DOUBT = calibration.probability(1.77)
_DOUBTFUL = calibration.probability(0.0)
_HAM_FOR_SURE = calibration.probability(-0.385)
_FEWEST = 5
_LEFT_SHARE = 0.25


def is_doubtful(probability: float) -> bool:
    """Whether the filter takes a message rather for spam."""
    return probability > _DOUBTFUL


def missed_spam(moved: Sequence[bool], before: MissedSpam) -> MissedSpam:
    """What a person does about missed spam. moved: of the newest that is taken for spam today, what was moved to spam.

    before: what was known of that; it stays where too few tell.
    """
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


def gives_way(lesson: Lesson, probability: float, missed: MissedSpam, scoring: Scoring) -> bool:
    """Whether a weak lesson is forgotten, by what the filter says of its message today without it."""
    if lesson.label is Label.HAM:
        return missed is not MissedSpam.IS_MOVED and is_doubtful(probability)
    return lesson.how is How.SILENCE and probability <= scoring.ham_cutoff
