"""Tell in numbers what a filter waits for that has not begun to move mail: for sentences, bars and pages.

It judges no ham, so it is cheap. `may_move` decides; its short texts are for the journal and for programs.
"""

from dataclasses import dataclass
from enum import Enum, auto

from spamnb.acts import may_move
from spamnb.base.label import Label
from spamnb.config import Learning
from spamnb.ledger.ledger import Ledger
from spamnb.rules import moving as rules

_DAY = 86_400.0  # seconds


class Cause(Enum):
    """The reasons to wait, in the order in which they are looked for."""

    HOSTS = auto()  # lessons of other hosts have not all arrived
    LESSONS = auto()  # too few messages are learned
    PROOF = auto()  # it would take some of the newest learned ham for spam, or this is not judged yet
    SORTING = auto()  # it knows enough, and waits until its person has sorted the inbox


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a filter waits for. Times are seconds since the epoch.

    cause: the first reason to wait. ham, spam: the learned messages, which count already. ham_needed, spam_needed: how
    many must be learned in all. kept_at: for each message that was read and lies in the inbox, and is not learned yet,
    when it begins to count as ham by itself, the earliest first. As soon as the person moves a later message to the
    spam folder, it counts at once. doubted: how much of the newest learned ham the filter would take for spam; None if
    nobody has judged that. unsorted: the messages in the inbox that it has called spam, and that are neither learned
    nor deleted.

    confirmed: how many of the newest messages that it has called spam since it knew enough the person has moved to the
    spam folder, without one that was kept between them. With confirmed_needed of them it begins. latest_at: it begins
    with the first mail after that time at the latest, if it waits for sorting.
    """

    cause: Cause
    ham: int
    spam: int
    ham_needed: int
    spam_needed: int
    kept_at: tuple[float, ...] = ()
    doubted: int | None = None
    unsorted: int = 0
    confirmed: int = 0
    confirmed_needed: int = 0
    latest_at: float | None = None

    @property
    def ham_missing(self) -> int:
        """Return how many more ham must be learned."""
        return max(0, self.ham_needed - self.ham)

    @property
    def spam_missing(self) -> int:
        """Return how many more spam must be learned."""
        return max(0, self.spam_needed - self.spam)

    @property
    def enough_ham_at(self) -> float | None:
        """Return when no ham is missing, if mail that was kept begins to count; None if that is not enough."""
        missing = self.ham_missing
        return self.kept_at[missing - 1] if 0 < missing <= len(self.kept_at) else None


def nothing_learned(learning: Learning) -> Waiting:
    """Return what a filter waits for that has learned nothing."""
    return Waiting(Cause.LESSONS, 0, 0, *_needed(0, learning), confirmed_needed=rules.fewest(Label.SPAM, learning))


def waiting(ledger: Ledger, learning: Learning, doubted: int | None = None) -> Waiting | None:
    """Return what a filter waits for; None if it has begun to move mail, or begins with the next message.

    doubted: the number of `may_move.doubted_ham`, if the caller has asked.
    """
    if may_move.has_begun(ledger, learning):
        return None
    ham, spam = ledger.lessons.totals().tolist()[:2]
    ham_needed, spam_needed = _needed(spam, learning)
    knows_enough, known_since = ledger.state.ready_at is not None, may_move.known_since(ledger)
    fates: list[bool] = []
    latest_at = None
    if may_move.awaits_hosts(ledger):
        cause = Cause.HOSTS
    elif ham < ham_needed or spam < spam_needed:
        cause = Cause.LESSONS
    elif not knows_enough and doubted != 0:
        cause = Cause.PROOF
    elif known_since is None or not may_move.why_it_waits(ledger, learning):
        return None
    else:
        cause, latest_at = Cause.SORTING, known_since + rules.SORTING_DAYS * _DAY
        fates = ledger.messages.fates(known_since, spam_needed)
    return Waiting(
        cause,
        ham,
        spam,
        ham_needed,
        spam_needed,
        _kept_at(ledger, learning, is_taught=rules.is_taught(ham, spam, learning)),
        doubted if cause is Cause.PROOF else None,
        ledger.messages.unsorted(),
        rules.confirmed(fates),
        spam_needed,
        latest_at,
    )


def _needed(spam: int, learning: Learning) -> tuple[int, int]:
    return rules.ham_needed(spam, learning), rules.fewest(Label.SPAM, learning)


def _kept_at(ledger: Ledger, learning: Learning, *, is_taught: bool) -> tuple[float, ...]:
    """Return when mail that the person keeps begins to count. The filter doubts mail that it has called spam."""
    if not learning.kept:
        return ()
    kept = ledger.messages.kept_since()
    return tuple(since + learning.kept_days * _DAY for since, is_spam in kept if not (is_spam and is_taught))
