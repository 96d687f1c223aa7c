"""Decide what the filter learns from a person's silence, and when it takes that back.

Mail that was read and kept is ham. Spam that stays in the spam folder, long and untouched, is spam. Nobody has said so:
these lessons are weak. A verdict alone never causes one if a person looks into spam, and any decision replaces it.

Kept mail is doubtful if the filter calls it spam. It may be ham that the filter does not know yet, or missed spam that
this person has opened and left. Other mail shows which: the mail from the inbox that the filter takes for spam today,
each message without itself. If the person moves spam to the spam folder, the spam was moved, and kept mail is ham. If
the person leaves spam in the inbox, a good part of that mail was kept.

Spam caught in the second half of csdmc2010, and ham moved of 2,949, means of three orders, by the habits `tidy`,
`hasty` and `careless`. If all kept mail is learned: 94.4 % and 0.3, 94.4 % and 0.3, 24.0 % and 0. If none is learned
above 0.3, and weak ham above 0.5 is forgotten: 95.1 % and 3.0, 94.8 % and 7.7, 88.5 % and 0. The results of the present
rule are in docs/evidence/accuracy.md, by `spamnb evaluate --protocol user`. Nobody has sorted the mail that was there
before the filter. A message of a ham folder is doubted if it looks more like spam than a twentieth of Junk does
(`doubt_limit`, `at_start`). This is the class threshold of confident learning (Northcutt et al. 2021), with a low
quantile instead of the mean. `benchmarks/day_one.py` measures it.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from spamnb.base.label import How, Label
from spamnb.bayes import calibration
from spamnb.config import Scoring
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.port import Lesson

LAY_IN_SPAM = "moved to spam by the filter, and left there"
LEFT_BEHIND = "read and left, while later mail was moved to spam"
# The time of a message in the spam folder before it teaches anything. With 5 days and 100 messages instead, 60 instead
# of 32 ham of Enron1 are moved to Junk (docs/evidence/accuracy.md, "Tried, and not taken").
SILENT_DAYS, SILENT_MESSAGES = 14.0, 200
# In a folder that nobody has opened in all that time, mail teaches sooner, if the filter is surer of it: the table in
# docs/evidence/accuracy.md. A person who looks rescues ham, but late: until then it would teach spam.
NEVER_SEEN = "moved to spam by the filter, and nobody has ever looked there"
UNSEEN_DAYS, UNSEEN_MESSAGES = 5.0, 100
# A young filter learns sooner from what it has moved. Since it begins early, few missed spam teach it. Without this, it
# catches four points less in weeks 2 and 3 (csdmc2010, five orders, habit `tidy`).
_YOUNG_DAYS, _YOUNG_SPAM = 1.0, 100
# Each limit is a score: another slope of the calibration does not change what is learned without a decision.
_BEYOND_DOUBT = calibration.probability(1.77)
_STILL_SURER = calibration.probability(2.0923)  # 0.985
_DOUBTFUL = calibration.probability(0.0)
_HAM_FOR_SURE = calibration.probability(-0.385)
_FEWEST, _FEWEST_HAM = 5, 20
_LITTLE = 20
_LEFT_SHARE = 0.25
# A message of a ham folder is doubted above a limit: the probability that this part of Junk does not reach.
# With a tenth instead, 74 instead of 77 % of later spam is caught (csdmc2010, 60 in Junk, 30 of 330 in the inbox).
_LEAST_LIKE_SPAM = 0.05
_LOWEST, _HIGHEST = 0.5, 0.9
FIRST_LIMIT = 0.05  # all above it is left out at first: spam among the ham hides other spam
# Doubted mail counts as weakly spam if its odds are this many times those of the limit: from 0.97 at the highest limit.
_CLEARLY, _LEAST_CLEAR = 3.6, 0.8
_BY_VERDICT = (How.SILENCE, How.KEPT, How.HAND)  # of weak spam: the filter has called it spam, and nobody else


def shows_a_look(days: float, *, is_marked: bool = False, is_first: bool = False) -> bool:
    """Tell whether a person has looked into spam if a file that the filter put there is opened, or leaves.

    days: that the file has lain there. A file that leaves later may have been removed by a server. is_marked: it is
    opened. is_first: nobody has looked there before.
    """
    return days <= SILENT_DAYS or (is_marked and is_first)


def is_young(spam: int, missed: MissedSpam) -> bool:
    """Tell whether a filter is young, by the number of learned spam, and its person moves missed spam.

    >>> is_young(99, MissedSpam.IS_MOVED), is_young(100, MissedSpam.IS_MOVED), is_young(99, MissedSpam.UNKNOWN)
    (True, False, False)
    """
    return spam < _YOUNG_SPAM and missed is MissedSpam.IS_MOVED


class Silence(NamedTuple):
    """Which mail that the filter moved to the spam folder teaches spam, if it is still there, and with which reason.

    before: it came before that time, in seconds since the epoch. least: its probability, on arrival and today.
    """

    before: float
    least: float
    why: str
    how: How

    def teaches(self, then: float, today: float) -> bool:
        """Tell whether such mail is learned as spam, by its probability on arrival, and today."""
        return min(then, today) >= self.least


def silence(
    now: float,
    opened_at: float | None,
    first_at: float | None,
    judged_at: Callable[[int], float | None],
    *,
    is_young: bool = False,
) -> Silence:
    """Return which mail in the spam folder teaches now.

    Times are seconds since the epoch. opened_at: when a person has last looked into the folder; None for never.
    first_at: when the filter first moved mail there, or None. judged_at: returns when the oldest message of this number
    of newest ones was judged; None if there are fewer. is_young: as of the function.
    """

    def lain(days: float, messages: int) -> float:
        enough_at = judged_at(messages) if messages else now
        return min(now - days * 86_400, -1.0 if enough_at is None else enough_at)

    if opened_at is None:
        is_never_opened = first_at is not None and first_at < lain(SILENT_DAYS, SILENT_MESSAGES)
        before = lain(UNSEEN_DAYS, UNSEEN_MESSAGES) if is_never_opened else -1.0
        return Silence(before, _STILL_SURER, NEVER_SEEN, How.KEPT)
    before = min(opened_at, lain(_YOUNG_DAYS, 0) if is_young else lain(SILENT_DAYS, SILENT_MESSAGES))
    return Silence(before, _BEYOND_DOUBT, LAY_IN_SPAM, How.SILENCE)


def is_doubtful(probability: float) -> bool:
    """Tell whether the filter takes a message for spam rather than ham."""
    return probability > _DOUBTFUL


def missed_spam(moved: Sequence[bool], before: MissedSpam) -> MissedSpam:
    """Return a person's habit with missed spam.

    moved: for the newest mail that the filter takes for spam today, whether the person moved it to spam. before: the
    habit known before; it stays if the sample is too small.
    """
    if len(moved) < _FEWEST:
        return before
    return MissedSpam.IS_LEFT if moved.count(False) > _LEFT_SHARE * len(moved) else MissedSpam.IS_MOVED


def teaches_ham(probability: float, missed: MissedSpam, *, is_taught: bool, is_apart: bool = False) -> bool:
    """Tell whether mail that was read and kept is learned as ham, by the filter's probability of today.

    is_taught: enough ham and spam is learned for that to mean anything. A filter that has learned much spam and little
    ham takes all ham for spam: without this condition it would never learn any ham. is_apart: it was kept among the
    newsletters. Who moves spam out of the inbox may still leave it there.
    """
    if not is_taught or (missed is MissedSpam.IS_MOVED and not is_apart):
        return True
    return probability <= (_HAM_FOR_SURE if missed is MissedSpam.IS_LEFT else _DOUBTFUL)


def may_doubt_first(ham: int, spam: int) -> bool:
    """Tell whether these numbers of learned messages can show spam in the ham folders of a new filter.

    With more spam than ham, honest ham of its kind alone looks like spam: with 300 spam and 150 ham of csdmc2010, all
    labelled rightly, doubts would raise the ham called spam from 3 to 11 of 600; with 200 ham from 1 to 2.
    """
    return ham >= _FEWEST_HAM and _FEWEST <= spam <= ham


def lacks_spam(ham: int, spam: int) -> bool:
    """Tell whether only spam is missing for that: the person may be asked which messages are spam."""
    return ham >= _FEWEST_HAM and spam < _FEWEST


def has_little(ham: int, spam: int) -> bool:
    """Tell whether there is too little learned spam, and enough ham, for the doubts to find most of the other spam."""
    return ham >= _FEWEST_HAM and spam < _LITTLE


def doubt_limit(of_spam: Sequence[float]) -> float:
    """Return the probability above which mail from before the filter is doubted; infinity without learned spam.

    of_spam: the probabilities of the learned spam, each message without itself and its near-copies.

    >>> doubt_limit([0.3] * 10 + [0.6] * 10), doubt_limit([0.8] * 20), doubt_limit([1.0]), doubt_limit([])
    (0.5, 0.8, 0.9, inf)
    """
    if not of_spam:
        return math.inf
    return min(max(sorted(of_spam)[int(_LEAST_LIKE_SPAM * len(of_spam))], _LOWEST), _HIGHEST)


def at_start(probability: float, limit: float) -> Label | None:
    """Return what a message of a ham folder teaches that was there before the filter: ham, nothing, or weakly spam.

    probability: without the message and its near-copies. limit: of `doubt_limit`.

    >>> [at_start(probability, 0.9) for probability in (0.9, 0.96, 0.971)]
    [<Label.HAM: 0>, None, <Label.SPAM: 1>]
    """
    if probability <= limit:
        return Label.HAM
    is_clear = probability >= _LEAST_CLEAR and probability * (1 - limit) >= _CLEARLY * limit * (1 - probability)
    return Label.SPAM if is_clear else None


def gives_way(lesson: Lesson, probability: float, missed: MissedSpam, scoring: Scoring) -> bool:
    """Tell whether a weak lesson is forgotten, by the message's probability of today without the lesson."""
    if lesson.label is Label.HAM:
        return missed is not MissedSpam.IS_MOVED and is_doubtful(probability)
    return lesson.how in _BY_VERDICT and probability <= scoring.ham_cutoff
