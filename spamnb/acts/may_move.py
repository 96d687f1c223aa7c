"""Decide whether mail may be moved: the filter knows enough, and nobody and nothing has stopped it.

Numbers alone do not show that the filter knows enough: with 540 spam and 20 ham learned, it takes nearly all new ham
for spam. So the filter must show on this person's own ham that it would not have moved it: it judges the newest learned
ham, each message as if it were not learned, and takes none for spam. Trained, filed, answered, rescued and kept ham all
count. Kept ham that it doubts may be spam that a person has left: a little of it does not count.

Without this, a mailbox that begins with 540 spam and 20 ham loses 2 ham in the first 100 messages after moving begins.
This is csdmc2010 in that order, with three shuffles and the habit `tidy`.

Mail that the filter doubts is not learned, so this proof knows nothing of it. If ham begins to come over a path that
only spam has used, the filter may call all of it spam. So a filter that knows enough waits until its person has sorted
the inbox, for four days at most. Mail that the person read and left there is then weak ham.
"""

import logging
import math
from collections.abc import Mapping

from spamnb.base.label import Label, Verdict
from spamnb.base.wording import plural
from spamnb.config import Config, Learning, Scoring
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.rules import moving as rules
from spamnb.rules.destination import is_young
from spamnb.rules.moving import Hindrance, Stop
from spamnb.rules.reactions import Reaction, reaction_to_left_behind

_log = logging.getLogger(__name__)
_DAY = 86_400.0  # seconds
_PROOF = 20  # ham messages, or `minimum_messages` if that is less
# Weak ham among them that it doubts: a person who opens spam and leaves it lets it begin too. With a hundred instead of
# 25 messages to look at, csdmc2010 by the time of arrival has the same result (laboratory, eight starts).
_EXCUSED = 5


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
    return _proof(lessons, scoring, learning)[1]


def _proof(lessons: Lessons, scoring: Scoring, learning: Learning) -> tuple[list[Lesson], str]:
    """Return the newest learned ham that speaks against moving mail, and why, in words; nothing if none does.

    It is ham that the filter would take for spam. Weak ham counts only if too little other ham is left. If all weak
    ham that the filter doubts counted in this way, it would catch 15 instead of 22 % of Enron6 in the first week, and
    lose no less ham (docs/evidence/accuracy.md).
    """
    enough = min(_PROOF, learning.minimum_messages)
    newest = [[lesson.digest] for lesson in lessons.newest(Label.HAM, enough + _EXCUSED)]
    judged = list(without_groups(lessons, scoring, newest))
    counted = [one for one in judged if not one.lesson.weak or one.judgement.verdict is not Verdict.SPAM][:enough]
    if len(counted) < enough:
        counted = judged
    against = [one.lesson for one in counted if one.judgement.verdict is Verdict.SPAM]
    why = f"{len(against)} of the newest {plural(len(counted), 'ham message')} would be taken for spam"
    return against, why if against else ""


def doubted_ham(ledger: Ledger, scoring: Scoring, learning: Learning) -> list[Lesson]:
    """Return the learned ham that the filter would take for spam, if nothing else keeps mail from being moved.

    `find_missing` does not name it: its words also go to programs that ask about other mail, and perhaps to strangers.
    """
    is_last = missing_by_numbers(ledger, learning) is None
    return _proof(ledger.lessons, scoring, learning)[0] if is_last else []


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
    if has_begun(ledger, learning):
        return ""
    return _unknown(ledger, scoring, learning, remembered) or why_it_waits(ledger, learning)


def missing_by_numbers(ledger: Ledger, learning: Learning) -> str | None:
    """Return what `find_missing` returns, or None if that needs ham to be judged."""
    if has_begun(ledger, learning):
        return ""
    known = _unknown_by_numbers(ledger, learning)
    return why_it_waits(ledger, learning) if known == "" else known


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
        if waiting := why_it_waits(ledger, learning):
            if state.ready_at is None:
                state.ready_at = ledger.messages.last_judged_at()
            return waiting
        state.begun_at = ledger.messages.last_judged_at()
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


def known_since(ledger: Ledger) -> float | None:
    """Return since when the filter knows enough, by the time of the mail; that of the newest mail if only now."""
    ready = ledger.state.ready_at
    return ledger.messages.last_judged_at() if ready is None else ready


def why_it_waits(ledger: Ledger, learning: Learning) -> str:
    """Return, in words, why a filter that knows enough still waits; "" for nothing. The newest mail is the clock."""
    since, newest = known_since(ledger), ledger.messages.last_judged_at()
    if since is None or newest is None:
        return ""
    fates = ledger.messages.fates(since, rules.fewest(Label.SPAM, learning))
    return rules.why_it_waits(ledger.messages.unsorted(), (newest - since) / _DAY, fates, learning)


def left_behind(ledger: Ledger, learning: Learning) -> Mapping[int, Reaction]:
    """Return the reactions to messages that a person has left behind.

    They are from before moving began, or of a list that a young filter does not know. A ledger may not know when moving
    began, since nothing was judged before, or an earlier program wrote it. Then mail from before teaches nothing.
    """
    state, begun = ledger.state, has_begun(ledger, learning)
    until = state.begun_at if begun else math.inf
    before, spares_lists = -math.inf if until is None else until, is_young(int(ledger.lessons.totals()[0]))
    knows_enough = begun or state.ready_at is not None
    left = ledger.messages.left_behind(before, only_called_spam=begun, lists=spares_lists)
    reactions = {
        message: reaction_to_left_behind(is_spam, knows_enough=knows_enough, has_begun=begun, is_spared=is_later)
        for message, is_spam, is_later in left
    }
    return {message: reaction for message, reaction in reactions.items() if reaction is not None}


def awaits_hosts(ledger: Ledger) -> bool:
    """Tell whether this host does not have yet all that other hosts have taught."""
    return bool(_awaited(ledger))


def _awaited(ledger: Ledger) -> str:
    """Return, in words, what other hosts have taught and this host does not have yet: a part of it may mislead."""
    received, all_ = ledger.state.received, ledger.state.to_receive
    return "" if received >= all_ else f"{received} of {all_} changes from other hosts have arrived"


def await_nobody(ledger: Ledger) -> None:
    """Stop waiting for other hosts if there is no longer an exchange with them."""
    if ledger.state.to_receive:
        ledger.state.to_receive = 0


def has_begun(ledger: Ledger, learning: Learning) -> bool:
    """Tell whether the filter has begun to move mail, and goes on."""
    return _has_begun(ledger.state.begun_with, learning)


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
