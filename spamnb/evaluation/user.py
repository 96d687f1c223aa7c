"""A simulated user: how well the filter works for people who correct it late, and not always.

The filter gets one message after another, in the order of the corpus. It decides with the functions of the service.
These have the effect of a verdict, the lessons of kept and silent mail, and the weak lessons that give way. They also
decide when mail may be moved and when the circuit breaker trips. The user acts later. The usual protocols give the
filter the true label of each message at once. Delayed and partial feedback are those of Cormack, "TREC 2006 Spam Track
Overview", and go further here.

Each time that the user looks into the spam folder, one message there is opened. This is how the filter knows of it. If
the mailbox has a folder for newcomers, the user looks into it as into the inbox: as much of the spam there is moved to
spam, and of the ham to the inbox, and as late. What stays in it teaches nothing. In a folder for newsletters the user
finds the spam, and reads and keeps mail as in the inbox.
"""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import numpy as np

from spamnb.acts import reconsider
from spamnb.acts.may_move import missing_now
from spamnb.acts.reconsider import Trace
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.config import Learning, Scoring, Senders
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.habits import HABITS, Habit
from spamnb.evaluation.measures import Outcome, one_minus_roca
from spamnb.evaluation.newcomers import Newcomers
from spamnb.filter.judge import Filter, Judgement
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.rules import weak_lessons
from spamnb.rules.destination import UNKNOWN_LIST, destination_of, is_barely_spam, is_unknown_list, is_young
from spamnb.rules.moving import USUAL, WINDOW, fewest, is_taught, trips, why_it_waits
from spamnb.rules.newsletters import newsletter
from spamnb.rules.reactions import reaction_to_kept, reaction_to_left_behind

_DAY = 86_400.0
_MONTH, _WEEK = 30, 7  # days


@dataclass(slots=True)
class UserRun:
    """The result of a run. outcomes: of the messages after those learned first; SPAM means that it was moved.

    switched_on_at: the message, counted from 0 over the whole order, before which moving began; None: never. apart: the
    roles of the folders for mail that is put apart. goals: to which folder each message was moved; None: it stayed.
    """

    habit: str
    outcomes: list[Outcome] = field(default_factory=list)
    messages: int = 0
    a_day: int = 20
    apart: Collection[Role] = ()
    goals: list[Role | None] = field(default_factory=list)
    switched_on_at: int | None = None
    breaker_tripped: int = 0
    learned: tuple[int, int] = (0, 0)

    def figures(self) -> dict[str, float | int | str | None]:
        """Return the figures of a run; shares are in percent. The second half is that of the whole order."""
        second = self.outcomes[max(0, len(self.outcomes) - (self.messages - self.messages // 2)) :]
        n_ham = sum(outcome.label is Label.HAM for outcome in self.outcomes)
        lost = sum(_is_lost(outcome) for outcome in self.outcomes)
        return {
            "habit": self.habit,
            "messages": len(self.outcomes),
            "ham_lost": lost,
            "hm": 100 * lost / n_ham if n_ham else None,
            "caught": _caught(self.outcomes),
            "caught_second_half": _caught(second),
            "one_minus_roca": _roca(self.outcomes),
            "one_minus_roca_second_half": _roca(second),
            "learned_ham": self.learned[Label.HAM],
            "learned_spam": self.learned[Label.SPAM],
            "switched_on_at": self.switched_on_at,
            "breaker_tripped": self.breaker_tripped,
            **(self._of_apart() if self.apart else {}),
        }

    def _of_apart(self) -> dict[str, float | None]:
        """Return what lies in the inbox and in the folders for mail that is put apart; the week is a mean."""
        lying = list(zip(self.goals, self.outcomes, strict=True))
        inbox = [outcome for goal, outcome in lying if goal is None]
        unsure_ham = sum(one.label is Label.HAM and one.verdict is Verdict.UNSURE for one in inbox)
        found: dict[str, float | None] = {"inbox_unsure_ham": unsure_ham}
        found["inbox_spam"] = sum(one.label is Label.SPAM for one in inbox)
        for role in self.apart:
            labels = [outcome.label if goal is role else None for goal, outcome in lying]
            late = labels[max(0, _MONTH * self.a_day - (self.messages - len(labels))) :]
            weeks = len(late) / (_WEEK * self.a_day)
            found |= {f"{role}_{label.word}": labels.count(label) for label in Label}
            found |= {f"{role}_{label.word}_a_week": late.count(label) / weeks if weeks else None for label in Label}
        return found


def _is_lost(outcome: Outcome) -> bool:
    return outcome.label is Label.HAM and outcome.verdict is Verdict.SPAM


def _caught(outcomes: Sequence[Outcome]) -> float | None:
    spam = [outcome.verdict is Verdict.SPAM for outcome in outcomes if outcome.label is Label.SPAM]
    return 100 * sum(spam) / len(spam) if spam else None


def _roca(outcomes: Sequence[Outcome]) -> float | None:
    ranked = [outcome for outcome in outcomes if outcome.has_score]
    labels = np.array([bool(outcome.label) for outcome in ranked])
    if labels.all() or not labels.any():
        return None
    return one_minus_roca(np.array([outcome.score for outcome in ranked]), labels)


def simulate(
    samples: Sequence[Sample],
    scoring: Scoring,
    learning: Learning,
    breaker: bool,
    habit: str,
    *,
    seed: int = 0,
    messages_a_day: int = 20,
    apart: Collection[Role] = (),
) -> UserRun:
    """Run the filter over messages, in their order, with a habit of `HABITS`; `messages_a_day` is the clock.

    apart: the roles of the mailbox's folders for mail that is put apart.
    """
    run = UserRun(habit, messages=len(samples), a_day=messages_a_day, apart=apart)
    mailbox = _Mailbox(samples, scoring, learning, breaker, HABITS[habit], random.Random(seed), run)  # noqa: S311 - repeatable
    mailbox.work()
    return run


class _Mailbox:
    """A mailbox, the filter that watches it, and its user. Messages are named by their place in the order."""

    def __init__(
        self,
        samples: Sequence[Sample],
        scoring: Scoring,
        learning: Learning,
        breaker: bool,
        habit: Habit,
        choose: random.Random,
        run: UserRun,
    ) -> None:
        self._samples, self._scoring, self._learning, self._has_breaker = samples, scoring, learning, breaker
        self._habit, self._choose, self._a_day, self._run = habit, choose, run.a_day, run
        self._goals = {Role.SPAM, *run.apart}
        self._lessons = MemoryLessons()
        self._newcomers = Newcomers(self._lessons, run.a_day)
        self._filter = Filter(self._lessons, scoring, Senders())
        self._now = 0  # the message that comes next
        self._later: list[
            tuple[int, int, Callable[[int], None], int]
        ] = []  # a heap: when, in which order, the act, its message
        self._missed = MissedSpam.UNKNOWN
        self._traces: dict[int, Trace] = {}
        self._numbers = itertools.count()
        self._kept: list[int] = []  # read, and kept in the inbox or among the newsletters
        self._doubtful: list[int] = []  # those of them that are not learned
        self._newsletters: set[int] = set()  # moved to that folder by the filter
        self._in_spam: dict[int, float] = {}  # moved there by the filter, with the probability
        self._opened_spam = -1
        self._verdicts: deque[Verdict] = deque(maxlen=WINDOW)
        self._judged: deque[tuple[int, Verdict]] = deque(maxlen=USUAL + WINDOW)
        self._missing: str | None = None
        self._asked_at = -1  # the last change of a lesson when it was asked whether the filter knows enough
        self._ready: int | None = None  # when the filter knew enough
        # In the inbox since before moving began, and not learned; whether the user leaves it there.
        self._lying: dict[int, bool] = {}
        self._called_spam: list[int] = []  # by the filter, before moving began
        self._spared: set[int] = set()  # called spam since then, but of lists that the filter does not know
        self._sorted_until = -1  # the newest message that the user has moved to spam
        self._stopped = False

    def work(self) -> None:
        """Let all messages arrive, with all consequences."""
        for place, sample in enumerate(self._samples):
            self._now = place
            while self._later and self._later[0][0] <= place:
                _, _, act, of = heapq.heappop(self._later)
                act(of)
            if place % self._a_day == 0:
                self._each_day(place // self._a_day)
            if place < self._habit.learned:
                self._learn(place, sample.label, "learned at the beginning", How.HAND)
            else:
                self._arrive(place, sample)
            self._newcomers.came(sample.reading)
        ham, spam = self._lessons.totals().tolist()[:2]
        self._run.learned = ham, spam

    def _arrive(self, place: int, sample: Sample) -> None:
        lesson = self._lessons.find(sample.reading.digest)
        judgement = self._filter.judge(sample.reading)
        self._verdicts.append(judgement.verdict)
        self._judged.append((place, judgement.verdict))
        label = None if lesson is None else lesson.decision
        if (missing := self._lacking()) and judgement.verdict is Verdict.SPAM:
            self._called_spam.append(place)
        is_unknown = self._is_of_unknown_list(judgement, sample.reading.relations.list_id)
        if is_unknown and not missing:
            self._spared.add(place)
        then = destination_of(
            Verdict.UNSURE if is_unknown else judgement.verdict,
            "",
            label,
            missing,
            self._is_stopped(),
            self._goals,
            why_unsure=UNKNOWN_LIST if is_unknown else judgement.why_unsure,
            newsletter=newsletter(sample.reading.relations, self._seen(place), chosen=None),
            is_newcomer=Role.NEWCOMERS in self._goals and self._newcomers.sent(sample.reading.relations),
            is_barely=not is_unknown and is_barely_spam(judgement.verdict, judgement.probability, judgement.listed),
            are_many=self._newcomers.are_many,
        )
        is_moved = then.goal is Role.SPAM
        self._newcomers.judged(then.goal is Role.NEWCOMERS)
        self._run.goals.append(then.goal)
        seen = Verdict.SPAM if is_moved else Verdict.HAM if judgement.verdict is Verdict.HAM else Verdict.UNSURE
        scored = bool(self._lessons.totals()[:2].all())
        probability, score, summary = judgement.probability, judgement.log_odds, sample.reading.summary
        self._run.outcomes.append(Outcome(sample.name, sample.label, seen, probability, score, scored, summary))
        if then.goal is None or is_moved:
            self._react(place, self._as_seen(sample.label), is_moved, judgement.probability)
        else:
            self._react_apart(place, self._as_seen(sample.label), then.goal)

    def _as_seen(self, label: Label) -> Label:
        return Label(1 - label) if self._choose.random() < self._habit.wrong else label

    def _react(self, place: int, label: Label, is_moved: bool, probability: float) -> None:
        """Let the user see the message, at once or later, or never."""
        habit, chance = self._habit, self._choose.random()
        if is_moved:
            self._in_spam[place] = probability
            if habit.looks:
                self._do(habit.rescued_after, self._open_spam, place)
        if habit.told:
            self._correct(place, label)
        elif label is Label.SPAM and not is_moved:
            if chance < habit.correct:
                self._do(habit.corrected_after, self._move_to_spam, place)
                self._lie(place, is_left=False)
            elif self._choose.random() < habit.left:
                self._do(self._kept_after, self._keep, place)
                self._lie(place, is_left=True)
        elif label is Label.HAM and is_moved:
            if chance < habit.rescue:
                self._do(habit.rescued_after, self._rescue, place)
        elif label is Label.HAM and chance < habit.keep:
            self._do(self._kept_after, self._keep, place)
            self._lie(place, is_left=True)

    def _react_apart(self, place: int, label: Label, goal: Role) -> None:
        """Let the user find the message among mail that was put apart, at once or later, or never."""
        habit, is_found = self._habit, self._choose.random() < self._habit.correct
        is_kept = self._choose.random() < (habit.keep if label is Label.HAM else habit.left)
        if habit.told:
            self._correct(place, label)
        elif is_found and label is Label.SPAM:
            self._do(habit.corrected_after, self._move_on_to_spam, place)
        elif is_kept and goal is Role.NEWSLETTERS:
            self._newsletters.add(place)
            self._do(self._kept_after, self._keep, place)
        elif is_kept and is_found:
            self._do(habit.corrected_after, self._move_to_inbox, place)

    def _lie(self, place: int, *, is_left: bool) -> None:
        """Note a message that comes to the inbox before the filter has begun to move mail, or that it has spared."""
        if self._missing != "" or place in self._spared:
            self._lying[place] = is_left

    @property
    def _kept_after(self) -> int:
        return round(self._learning.kept_days * self._a_day)

    def _do(self, after: int, act: Callable[[int], None], of: int) -> None:
        heapq.heappush(self._later, (self._now + after, next(self._numbers), act, of))

    def _learn(self, place: int, label: Label, why: str, how: How, *, weak: bool = False) -> None:
        self._lessons.learn([self._samples[place].reading], label, why, self._at(self._now), how=how, weak=weak)

    def _correct(self, place: int, label: Label) -> None:
        self._in_spam.pop(place, None)
        self._learn(place, label, "told", How.HAND)

    def _open_spam(self, _: int) -> None:
        self._opened_spam = self._now

    def _move_to_spam(self, place: int) -> None:
        self._traces[place] = Trace(self._at(self._now), self._digest(place), moved=True)
        self._learn(place, Label.SPAM, "moved to spam", How.MOVE)
        self._lying.pop(place, None)
        self._sorted_until = max(self._sorted_until, place)
        self._learn_left_behind()

    def _learn_left_behind(self) -> None:
        """Learn the mail that the user has left, while moving later mail to spam."""
        called_spam, young = set(self._called_spam), is_young(self._lessons.totals().tolist()[0])
        for place in filter(self._is_left_behind, list(self._lying) if self._learning.kept else ()):
            is_spared = place in self._spared
            if is_spared and not young:
                continue
            meant = reaction_to_left_behind(
                is_spared or place in called_spam,
                knows_enough=self._ready is not None,
                has_begun=self._missing == "",
                is_spared=is_spared,
            )
            if meant is None or (meant.doubtful and not self._teaches_ham(place)):
                continue
            self._learn(place, Label.HAM, meant.why, meant.how, weak=True)
            del self._lying[place]

    def _is_left_behind(self, place: int) -> bool:
        return self._lying.get(place, False) and place < self._sorted_until

    def _teaches_ham(self, place: int) -> bool:
        ham, spam = self._lessons.totals().tolist()[:2]
        probability, taught = self._probability(place), is_taught(ham, spam, self._learning)
        return weak_lessons.teaches_ham(probability, self._missed, is_taught=taught)

    def _probability(self, place: int) -> float:
        return self._filter.judge(self._samples[place].reading).probability

    def _move_on_to_spam(self, place: int) -> None:
        self._learn(place, Label.SPAM, "moved to spam", How.MOVE)  # no trace: what is left there leaves none

    def _move_to_inbox(self, place: int) -> None:
        self._learn(place, Label.HAM, "moved to the inbox", How.MOVE)

    def _rescue(self, place: int) -> None:
        if self._in_spam.pop(place, None) is not None:
            self._learn(place, Label.HAM, "taken out of spam", How.MOVE)

    def _keep(self, place: int) -> None:
        self._kept.append(place)
        self._doubtful.append(place)
        self._look_at_kept([place])

    def _look_at_kept(self, places: Sequence[int]) -> None:
        """Learn those messages that the filter does not doubt."""
        ham, spam = self._lessons.totals().tolist()[:2]
        taught = is_taught(ham, spam, self._learning)
        for place in places:
            age = (self._now - place) / self._a_day * _DAY
            is_apart = place in self._newsletters
            meant = reaction_to_kept("S", Role.NEWSLETTERS if is_apart else Role.INBOX, age, self._learning)
            if meant is None:
                continue
            reading = self._samples[place].reading
            probability = self._filter.judge(reading).probability
            if not is_apart:
                kept_at = self._at(place) + self._learning.kept_days * _DAY
                self._traces[place] = Trace(kept_at, reading.digest, moved=False, probability=probability)
            if weak_lessons.teaches_ham(probability, self._missed, is_taught=taught, is_apart=is_apart):
                self._learn(place, Label.HAM, meant.why, meant.how, weak=True)
                self._lying.pop(place, None)
                self._doubtful.remove(place)

    def _each_day(self, day: int) -> None:
        """Do what the service does once a day."""
        self._stopped = False  # the user has looked, and resumed moving
        self._missed = reconsider.missed_spam(self._lessons, self._scoring, self._traces.values(), self._missed)
        self._look_at_kept(list(self._doubtful))
        enough = self._now - weak_lessons.SILENT_MESSAGES
        before = weak_lessons.lay_long_enough(
            self._at(self._now),
            self._at(self._opened_spam),
            None if enough < 0 else self._at(enough),
            is_young=weak_lessons.is_young(self._lessons.totals().tolist()[1], self._missed),
        )
        for place, then in list(self._in_spam.items()):
            if self._at(place) < before and self._teaches_spam(place, then):
                self._learn(place, Label.SPAM, weak_lessons.LAY_IN_SPAM, How.SILENCE, weak=True)
                del self._in_spam[place]
        if day % reconsider.OUTDATED_DAYS == 0:
            for changes in reconsider.outdated(self._lessons, self._scoring, self._missed):
                self._lessons.relabel(changes, self._at(self._now))
                forgotten = {change.digest for change in changes if change.before is Label.HAM}
                self._doubtful += [place for place in self._kept if self._digest(place) in forgotten]

    def _teaches_spam(self, place: int, then: float) -> bool:
        if self._seen(place).known:
            return False
        return weak_lessons.teaches_spam(then, self._probability(place))

    def _seen(self, place: int) -> Seen:
        return self._lessons.seen([self._samples[place].reading.relations])[0]

    def _lacking(self) -> str:
        """Return what must still be learned before mail is moved. Once nothing is missing, this stays so."""
        if self._missing == "":
            return ""
        if self._ready is None and self._asked_at != (learned_until := self._lessons.last_change()):
            self._asked_at = learned_until
            self._missing = missing_now(self._lessons, self._scoring, self._learning)
            if not self._missing:
                self._ready = self._now
                self._learn_left_behind()
        if self._ready is not None:
            days = (self._now - self._ready) / self._a_day
            self._missing = why_it_waits(len(self._unsorted()), days, self._fates(), self._learning)
            if not self._missing:
                self._run.switched_on_at = self._now
        return self._missing or ""

    def _unsorted(self) -> list[int]:
        """Return the mail in the inbox that the filter has called spam, and that is not learned."""
        lying = [place for place in self._called_spam if place in self._lying]
        lessons = [self._lessons.find(self._digest(place)) for place in lying]
        return [place for place, lesson in zip(lying, lessons, strict=True) if lesson is None or lesson.label is None]

    def _fates(self) -> list[bool]:
        """Return what the user did with mail that the filter has called spam since it knew enough, the newest first."""
        fates = (self._fate(place) for place in reversed(self._called_spam) if place >= (self._ready or 0))
        return list(islice((fate for fate in fates if fate is not None), fewest(Label.SPAM, self._learning)))

    def _fate(self, place: int) -> bool | None:
        lesson = self._lessons.find(self._digest(place))
        if lesson is None or lesson.label is None:
            return False if self._is_left_behind(place) else None
        if lesson.label is Label.HAM:
            return False
        is_said_since = not lesson.weak and lesson.at >= self._at(place)  # not of a copy that came before
        return True if is_said_since else None

    def _is_of_unknown_list(self, judgement: Judgement, list_id: str) -> bool:
        ham = self._lessons.totals().tolist()[0]
        of_list = partial(self._newcomers.of_list, list_id)
        return is_unknown_list(judgement.verdict, judgement.listed, list_id, ham, of_list)

    def _is_stopped(self) -> bool:
        may_stop = self._has_breaker and not self._stopped and not self._missing
        if may_stop and len(self._verdicts) == WINDOW:
            spam = self._verdicts.count(Verdict.SPAM)
            if trips(spam, self._usual):
                self._stopped = True
                self._verdicts.clear()
                self._run.breaker_tripped += 1
        return self._stopped

    def _usual(self) -> tuple[int, int]:
        before = list(self._judged)[:-WINDOW]
        judged = ((self._lessons.find(self._digest(place)), verdict) for place, verdict in before)
        spam = sum(
            verdict is Verdict.SPAM if lesson is None or lesson.label is None else bool(lesson.label)
            for lesson, verdict in judged
        )
        return len(before) - spam, spam

    def _digest(self, place: int) -> bytes:
        return self._samples[place].reading.digest

    def _at(self, place: int) -> float:
        """Return the arrival time of the message, in seconds."""
        return place / self._a_day * _DAY
