"""Decide whether mail may be moved: the filter knows enough, and nobody and nothing has stopped it.

Numbers alone do not show that the filter knows enough: with 540 spam and 20 ham learned, it takes nearly all new ham
for spam. So the filter must show on this person's own ham that it would not have moved it: it judges the newest learned
ham, each message as if it were not learned, and takes none for spam. Trained, filed, answered, rescued and kept ham all
count.

Without this, a mailbox that begins with 540 spam and 20 ham loses 2 ham in the first 100 messages after moving begins.
This is csdmc2010 in that order, with three shuffles and the habit `tidy`.

Mail that the filter doubts is not learned, so this proof knows nothing of it. If ham begins to come over a path that
only spam has used, the filter may call all of it spam. So a filter that knows enough waits until its person has sorted
the inbox once, for two days at most. Mail that the person read and left there is then weak ham.
"""

import logging
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.base.label import Label, Verdict
from spamnb.base.wording import plural
from spamnb.config import Config, Learning, Scoring
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.rules import moving as rules

_log = logging.getLogger(__name__)
_DAY = 86_400.0  # seconds
_PROOF = 20  # ham messages, or `minimum_messages` if that is less


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no mail is moved. Times are seconds since the epoch.

    tripped_at: when the circuit breaker stopped moving. paused_until: the end of a person's pause (infinity: until
    `resume`). Each is None if it is not the reason.
    """

    tripped_at: float | None
    paused_until: float | None


class Hindrance(NamedTuple):
    """What keeps mail from being moved; false if nothing does.

    missing: in words, what the filter must learn first; "" for nothing. stop: what has stopped moving, or None.
    """

    missing: str
    stop: Stop | None

    def __bool__(self) -> bool:
        return bool(self.missing) or self.stop is not None

    @property
    def words(self) -> str:
        """Return the hindrance in words; "" for none."""
        return self.missing or ("moving is stopped" if self.stop else "")


def hindrance(ledger: Ledger, config: Config, now: float, remembered: "MissingCache | None" = None) -> Hindrance:
    """Return what keeps mail from being moved. Writes nothing. remembered: a cache, if you ask for many messages."""
    return Hindrance(find_missing(ledger, config.scoring, config.learning, remembered), stop_of(ledger, now))


def hindrance_at_verdict(ledger: Ledger, config: Config, now: float, missing: str) -> Hindrance:
    """Return the same for a verdict that was just recorded, in the same transaction. The breaker may trip by it.

    missing: the answer of `begin_if_ready` from the time of judging, before the ledger was held. That may take half a
    second.
    """
    stop = stop_of(ledger, now)
    if stop is None and not missing and config.breaker and _is_abnormal(ledger):
        stop = _trip(ledger, now)
    return Hindrance(missing, stop)


# --- what the filter still has to learn


def missing_now(lessons: Lessons, scoring: Scoring, learning: Learning) -> str:
    """Return what a filter that has never moved mail still has to learn, in words; "" for nothing."""
    ham, spam = lessons.totals().tolist()[:2]
    if too_few := rules.missing_lessons(ham, spam, learning):
        return too_few
    taken, of = _taken_for_spam(lessons, scoring, learning)
    return "" if not taken else f"{len(taken)} of the newest {plural(of, 'ham message')} would be taken for spam"


def _taken_for_spam(lessons: Lessons, scoring: Scoring, learning: Learning) -> tuple[list[Lesson], int]:
    """Return which of the newest learned ham the filter would take for spam, and how many it has judged for that."""
    newest = [[lesson.digest] for lesson in lessons.newest(Label.HAM, min(_PROOF, learning.minimum_messages))]
    judged = list(without_groups(lessons, scoring, newest))
    return [one.lesson for one in judged if one.judgement.verdict is Verdict.SPAM], len(judged)


def doubted_ham(ledger: Ledger, scoring: Scoring, learning: Learning) -> list[Lesson]:
    """Return the learned ham that the filter would take for spam, if nothing else keeps mail from being moved.

    `find_missing` does not name it: its words also go to programs that ask about other mail, and perhaps to strangers.
    """
    is_last = missing_by_numbers(ledger, learning) is None
    return _taken_for_spam(ledger.lessons, scoring, learning)[0] if is_last else []


class MissingCache:
    """Keeps the answer of `missing_now` for many messages, until something is learned.

    With 36,000 tokens the answer takes 50 ms. May be called in several threads, each with a ledger of its own.
    """

    def __init__(self) -> None:
        self._last: tuple[object, str] = None, ""

    def __call__(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> str:
        """Return what `missing_now` returns."""
        asked = ledger.state.mark, ledger.lessons.last_change(), scoring, learning
        last, missing = self._last
        if asked != last:
            missing = missing_now(ledger.lessons, scoring, learning)
            self._last = asked, missing
        return missing


def find_missing(ledger: Ledger, scoring: Scoring, learning: Learning, remembered: MissingCache | None = None) -> str:
    """Return what the filter still has to learn before it may move mail, in words; "" for nothing. Writes nothing.

    A filter that has moved mail once goes on, unless `minimum_messages` was raised after that.
    """
    if _has_begun(ledger.state.begun_with, learning):
        return ""
    return _unknown(ledger, scoring, learning, remembered) or _unsorted(ledger, learning)


def missing_by_numbers(ledger: Ledger, learning: Learning) -> str | None:
    """Return what `find_missing` returns, or None if that needs ham to be judged."""
    if _has_begun(ledger.state.begun_with, learning):
        return ""
    known = _unknown_by_numbers(ledger, learning)
    return _unsorted(ledger, learning) if known == "" else known


def begin_if_ready(ledger: Ledger, scoring: Scoring, learning: Learning, remembered: MissingCache | None = None) -> str:
    """Return what `find_missing` returns. If nothing is missing, the ledger records that, so that it stays true.

    If the filter knows enough, and only waits, the ledger records since when. Then no ham is judged again.
    """
    state, begun_with = ledger.state, ledger.state.begun_with
    if not _has_begun(begun_with, learning):
        if missing := _unknown(ledger, scoring, learning, remembered):
            if state.ready_at is not None:
                state.ready_at = None
            return missing
        if waiting := _unsorted(ledger, learning):
            if state.ready_at is None:
                state.ready_at = ledger.messages.last_judged_at()
            return waiting
    if begun_with != learning.minimum_messages:
        state.begun_with = learning.minimum_messages
    return ""


def _unknown(ledger: Ledger, scoring: Scoring, learning: Learning, remembered: MissingCache | None) -> str:
    """Return, in words, what the filter does not know yet; "" for nothing."""
    if ledger.state.ready_at is None:
        return _awaited(ledger) or (remembered or MissingCache())(ledger, scoring, learning)
    return _unknown_by_numbers(ledger, learning) or ""


def _unknown_by_numbers(ledger: Ledger, learning: Learning) -> str | None:
    """Return what `_unknown` returns, or None if that needs ham to be judged."""
    ham, spam = ledger.lessons.totals().tolist()[:2]
    too_few = _awaited(ledger) or rules.missing_lessons(ham, spam, learning)
    return too_few or (None if ledger.state.ready_at is None else "")


def _unsorted(ledger: Ledger, learning: Learning) -> str:
    """Return, in words, why a filter that knows enough still waits; "" for nothing. The newest mail is the clock."""
    ready, newest = ledger.state.ready_at, ledger.messages.last_judged_at()
    if newest is None:
        return ""
    since = newest if ready is None else ready
    sorted_out = ledger.messages.called_spam_since(since)
    return rules.why_it_waits(ledger.messages.unsorted(), (newest - since) / _DAY, sorted_out, learning)


def left_behind(ledger: Ledger) -> set[int]:
    """Return the messages that a person has read and left, while the filter waited and later mail was called spam."""
    ready = ledger.state.ready_at
    return set() if ready is None else ledger.messages.left_behind(ready + rules.SORTING_DAYS * _DAY)


def _awaited(ledger: Ledger) -> str:
    """Return, in words, what other hosts have taught and this host does not have yet: a part of it may mislead."""
    received, all_ = ledger.state.received, ledger.state.to_receive
    return "" if received >= all_ else f"{received} of {all_} changes from other hosts have arrived"


def await_nobody(ledger: Ledger) -> None:
    """Stop waiting for other hosts if there is no longer an exchange with them."""
    if ledger.state.to_receive:
        ledger.state.to_receive = 0


def _has_begun(begun_with: int | None, learning: Learning) -> bool:
    return begun_with is not None and learning.minimum_messages <= begun_with


# --- what has stopped moving


def stop_of(ledger: Ledger, now: float) -> Stop | None:
    """Return why moving is stopped, or None."""
    tripped = ledger.state.stopped_at
    paused = rules.paused_until(ledger.state.paused_until, now)
    return None if tripped is None and paused is None else Stop(tripped, paused)


def _is_abnormal(ledger: Ledger) -> bool:
    """Tell whether an abnormal share of the newest verdicts is spam."""
    verdicts = ledger.messages.last_verdicts(rules.WINDOW, ledger.state.resumed_at)
    if len(verdicts) < rules.WINDOW:
        return False
    spam = verdicts.count(Verdict.SPAM)
    return rules.trips(spam, lambda: ledger.messages.usual(rules.USUAL, rules.WINDOW))


def _trip(ledger: Ledger, now: float) -> Stop:
    ledger.state.stopped_at = now
    _log.warning(
        "more than %.0f %% of the last %d messages look like spam: nothing is moved until `spamnb resume`."
        " Look at them with `spamnb history`, and correct what is wrong",
        100 * rules.SHARE,
        rules.WINDOW,
    )
    return Stop(now, None)
