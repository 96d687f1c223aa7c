"""When the filter knows enough to move mail, and what it still lacks.

Numbers alone do not tell: to a filter that has learned 540 spam and 20 ham, nearly all new ham looks like spam. So it
has to show on this person's own ham that it would have left that where it was: the newest ham that was learned, each
judged without itself, is not taken for spam. Trained, filed, answered, rescued and kept ham all count.

Where mail begins with 540 spam and 20 ham (csdmc2010 in that order, three shuffles, the habit `tidy`), the first 100
messages after it began to move cost 2 ham without this.
"""

from spamnb.base.label import Label, Verdict
from spamnb.base.wording import plural
from spamnb.config import Learning, Scoring
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lessons
from spamnb.rules.may_move import missing_lessons

_PROOF = 20  # ham, or `minimum_messages` where that is less
_ARMED = "moving began with minimum_messages"  # a note in the ledger


def lacks(lessons: Lessons, scoring: Scoring, learning: Learning) -> str:
    """What a filter that has never moved mail still lacks, in words; "" for nothing."""
    ham, spam = lessons.totals().tolist()[:2]
    if missing := missing_lessons(ham, spam, learning):
        return missing
    newest = [[one.digest] for one in lessons.newest(Label.HAM, min(_PROOF, learning.minimum_messages))]
    judged = [left.judgement.verdict for left in without_groups(lessons, scoring, newest)]
    taken = judged.count(Verdict.SPAM)
    return "" if not taken else f"{taken} of the newest {plural(len(judged), 'ham message')} would be taken for spam"


def missing(ledger: Ledger, scoring: Scoring, learning: Learning) -> str:
    """What the filter still lacks before it may move mail, in words; "" for nothing. Writes nothing.

    A filter that has moved mail once goes on, unless `minimum_messages` was raised since.
    """
    return "" if _has_begun(ledger, learning) else lacks(ledger.lessons, scoring, learning)


def known_missing(ledger: Ledger, learning: Learning) -> str | None:
    """The same where no ham has to be judged for it, else None."""
    if _has_begun(ledger, learning):
        return ""
    ham, spam = ledger.lessons.totals().tolist()[:2]
    return missing_lessons(ham, spam, learning) or None


def _has_begun(ledger: Ledger, learning: Learning) -> bool:
    since = ledger.number(_ARMED)
    return since is not None and learning.minimum_messages <= since


class Remembered:
    """`missing`, for each of many messages: looked at again when something was learned. Writes nothing.

    With 36,000 tokens the answer takes 50 ms. May be called in several threads, each with a ledger of its own.
    """

    def __init__(self) -> None:
        self._last: tuple[object, str] = None, ""

    def __call__(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> str:
        """What the filter still lacks, as `missing`."""
        asked = ledger.lessons.last_change(), ledger.note(_ARMED), scoring, learning
        last, found = self._last
        if asked != last:
            found = missing(ledger, scoring, learning)
            self._last = asked, found
        return found


class Arming:
    """Whether the filter may move mail, asked for each message."""

    def __init__(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> None:
        self._ledger = ledger
        self._scoring = scoring
        self._learning = learning
        self._remembered = Remembered()

    def missing(self) -> str:
        """What the filter still lacks, as `missing`; that it lacks nothing is written down."""
        found = self._remembered(self._ledger, self._scoring, self._learning)
        armed_with = str(self._learning.minimum_messages)
        if not found and self._ledger.note(_ARMED) != armed_with:
            self._ledger.set_note(_ARMED, armed_with)
        return found
