"""A simulated mailbox: what the filter that watches it does, and what it learns from the acts of its user.

It decides with the functions of the service. The user, who decides when to act, is in `person`.
"""

from collections import deque
from collections.abc import Sequence
from functools import partial

from spamnb.acts import reconsider, unseen
from spamnb.acts.reconsider import Trace
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.config import Learning, Scoring
from spamnb.evaluation.beginning import Beginning
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.newcomers import Newcomers
from spamnb.evaluation.simulated_mail import DAY, Mail
from spamnb.evaluation.user_run import NAMED_SPAM, UserRun
from spamnb.filter.judge import Judgement
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted
from spamnb.mail.relations import Relations
from spamnb.rules import weak_lessons
from spamnb.rules.destination import ByPerson, FromWhom, Opinion, destination_of, is_barely_spam, why_list_mail_stays
from spamnb.rules.moving import USUAL, WINDOW, Hindrance, Stop, trips
from spamnb.rules.newsletters import newsletter
from spamnb.rules.reactions import reaction_to_kept


class Mailbox:
    """A mailbox, and the filter that watches it. Messages are named by their places in the order."""

    def __init__(
        self,
        samples: Sequence[Sample],
        scoring: Scoring,
        learning: Learning,
        breaker: bool,
        run: UserRun,
        trusted: Trusted = NOBODY_TRUSTED,
    ) -> None:
        self._has_breaker, self._run = breaker, run
        self._goals = {Role.SPAM, *run.apart}
        self._mail = Mail(samples, scoring, learning, run.a_day, trusted)
        self._newcomers = Newcomers(self._mail.lessons, run.a_day)
        self._beginning = Beginning(self._mail)
        self._traces: dict[int, Trace] = {}
        self._kept: list[int] = []  # read, and kept in the inbox or among the newsletters
        self._doubtful: list[int] = []  # those of them that are not learned
        self._newsletters: set[int] = set()  # moved to that folder by the filter
        self._in_spam: dict[int, float] = {}  # moved there by the filter, with the probability
        self._opened_spam: int | None = None
        self._first_in_spam: int | None = None
        self._verdicts: deque[Verdict] = deque(maxlen=WINDOW)
        self._judged: deque[tuple[int, Verdict]] = deque(maxlen=USUAL + WINDOW)
        self._stopped = False

    @property
    def now(self) -> int:
        """The message that comes next."""
        return self._mail.now

    @now.setter
    def now(self, place: int) -> None:
        self._mail.come(place)

    @property
    def learned(self) -> tuple[int, int]:
        """The numbers of learned ham and spam."""
        return self._mail.learned

    def label_of(self, place: int) -> Label:
        """Return what a message is."""
        return self._mail.without_tokens(place).label

    # --- mail that comes

    def learn_at_start(self, place: int) -> None:
        """Learn a message that was there before the filter."""
        self._mail.learn(place, self.label_of(place), "learned at the beginning", How.HAND)

    def came(self, place: int) -> None:
        """Note the sender of a message that has come."""
        self._newcomers.came(self._mail.without_tokens(place).reading)

    def arrive(self, place: int) -> Role | None:
        """Judge a message that comes. Returns the role of the folder to which it is moved; None: it stays."""
        relations = self._mail.without_tokens(place).reading.relations
        judgement, lesson = self._mail.judge(place), self._mail.lessons.find(self._mail.digest(place))
        self._verdicts.append(judgement.verdict)
        self._judged.append((place, judgement.verdict))
        if (missing := self._lacking()) and judgement.verdict is Verdict.SPAM:
            self._beginning.called_spam(place)
        why_spared = self._why_list_mail_stays(judgement, relations)
        if why_spared and not missing:
            self._beginning.spare(place)
        opinion = Opinion(
            Verdict.UNSURE if why_spared else judgement.verdict,
            why_spared or judgement.why_unsure,
            is_barely=not why_spared and is_barely_spam(judgement.verdict, judgement.probability, judgement.listed),
        )
        by_person = ByPerson(label=None if lesson is None else lesson.decision)
        sender = FromWhom(
            newsletter(relations, self._mail.seen(place), chosen=None),
            Role.NEWCOMERS in self._goals and self._newcomers.sent(relations),
            self._newcomers.are_many,
        )
        hindrance = Hindrance(missing, Stop(0.0, None) if self._is_stopped(missing) else None)
        goal = destination_of(opinion, by_person, sender, hindrance, self._goals).goal
        self._note(place, judgement, goal)
        if self._run.is_explained:
            self._explain_mistake(place, goal)
        return goal

    def _explain_mistake(self, place: int, goal: Role | None) -> None:
        """Note why the filter was mistaken about a message, while it knows what it knew."""
        sample, run = self._mail.without_tokens(place), self._run
        has_missed = run.switched_on_at is not None and sample.label is Label.SPAM and goal is None
        run.missed += has_missed
        is_missed = has_missed and run.missed <= NAMED_SPAM
        if is_missed or (sample.label is Label.HAM and goal is Role.SPAM):
            run.clues[sample.name] = self._mail.clues(place, is_spam=not is_missed)

    def _note(self, place: int, judgement: Judgement, goal: Role | None) -> None:
        """Note the folder to which the filter moved a message, for the filter and for the figures."""
        sample, is_moved = self._mail.without_tokens(place), goal is Role.SPAM
        self._newcomers.judged(goal is Role.NEWCOMERS)
        if is_moved:
            self._in_spam[place] = judgement.probability
            if self._first_in_spam is None:
                self._first_in_spam = place
        elif goal is Role.NEWSLETTERS:
            self._newsletters.add(place)
        self._run.goals.append(goal)
        seen = Verdict.SPAM if is_moved else Verdict.HAM if judgement.verdict is Verdict.HAM else Verdict.UNSURE
        scored = bool(self._mail.lessons.totals()[:2].all())
        probability, score, summary = judgement.probability, judgement.log_odds, sample.reading.summary
        self._run.outcomes.append(Outcome(sample.name, sample.label, seen, probability, score, scored, summary))

    def _lacking(self) -> str:
        missing = self._beginning.lacking()
        self._run.switched_on_at = self._beginning.began_at
        return missing

    def _why_list_mail_stays(self, judgement: Judgement, relations: Relations) -> str:
        verdict, probability, listed = judgement.verdict, judgement.probability, judgement.listed
        of_list, ham = partial(self._newcomers.of_list, relations.list_id), self.learned[Label.HAM]
        return why_list_mail_stays(verdict, probability, listed, relations, ham, of_list)

    def _is_stopped(self, missing: str) -> bool:
        may_stop = self._has_breaker and not self._stopped and not missing
        if may_stop and len(self._verdicts) == WINDOW:
            spam = self._verdicts.count(Verdict.SPAM)
            if trips(spam, self._usual):
                self._stopped = True
                self._verdicts.clear()
                self._run.breaker_tripped += 1
        return self._stopped

    def _usual(self) -> tuple[int, int]:
        before = list(self._judged)[:-WINDOW]
        judged = ((self._mail.lessons.find(self._mail.digest(place)), verdict) for place, verdict in before)
        spam = sum(
            verdict is Verdict.SPAM if lesson is None or lesson.label is None else bool(lesson.label)
            for lesson, verdict in judged
        )
        return len(before) - spam, spam

    # --- what the user does

    def correct(self, place: int, label: Label) -> None:
        """The user says what a message is."""
        self._in_spam.pop(place, None)
        self._mail.learn(place, label, "told", How.HAND)

    def open_spam(self, _: int) -> None:
        """The user looks into the spam folder."""
        self._opened_spam = self.now

    def lie(self, place: int, *, is_left: bool) -> None:
        """A message lies in the inbox; the user leaves it there, or moves it later."""
        self._beginning.lie(place, is_left=is_left)

    def move_to_spam(self, place: int) -> None:
        """The user moves a message from the inbox to spam."""
        self._traces[place] = Trace(self._mail.at(self.now), self._mail.digest(place), moved=True)
        self._mail.learn(place, Label.SPAM, "moved to spam", How.MOVE)
        self._beginning.moved_to_spam(place)

    def move_on_to_spam(self, place: int) -> None:
        """The user moves a message that was put apart to spam. No trace is left, as of mail that stays there."""
        self._mail.learn(place, Label.SPAM, "moved to spam", How.MOVE)

    def move_to_inbox(self, place: int) -> None:
        """The user moves a message that was put apart to the inbox."""
        self._mail.learn(place, Label.HAM, "moved to the inbox", How.MOVE)

    def rescue(self, place: int) -> None:
        """The user takes a message out of spam."""
        if self._in_spam.pop(place, None) is not None:
            self._opened_spam = self.now if self._opened_spam is None else self._opened_spam
            self._mail.lessons.relabel(unseen.forgetting(self._mail.lessons), self._mail.at(self.now))
            self._mail.learn(place, Label.HAM, "taken out of spam", How.MOVE)

    def keep(self, place: int) -> None:
        """A message that the user has read has been kept for some days."""
        self._kept.append(place)
        self._doubtful.append(place)
        self._look_at_kept([place])

    def _look_at_kept(self, places: Sequence[int]) -> None:
        """Learn those messages that the filter does not doubt."""
        mail, taught = self._mail, self._mail.is_taught
        for place in places:
            is_apart = place in self._newsletters
            role, age = Role.NEWSLETTERS if is_apart else Role.INBOX, mail.at(self.now - place)
            meant = reaction_to_kept("S", role, age, mail.learning)
            if meant is None:
                continue
            probability = mail.judge(place).probability
            if not is_apart:
                kept_at = mail.at(place) + mail.learning.kept_days * DAY
                self._traces[place] = Trace(kept_at, mail.digest(place), moved=False, probability=probability)
            if weak_lessons.teaches_ham(probability, mail.missed, is_taught=taught, is_apart=is_apart):
                mail.learn(place, Label.HAM, meant.why, meant.how, weak=True)
                self._beginning.learned(place)
                self._doubtful.remove(place)

    # --- each day

    def each_day(self, day: int) -> None:
        """Do what the service does once a day."""
        mail = self._mail
        self._stopped = False  # the user has looked, and resumed moving
        mail.missed = reconsider.missed_spam(mail.lessons, mail.scoring, self._traces.values(), mail.missed)
        self._look_at_kept(list(self._doubtful))
        self._learn_silent_spam()
        if day % reconsider.OUTDATED_DAYS == 0:
            for changes in reconsider.outdated(mail.lessons, mail.scoring, mail.missed):
                mail.lessons.relabel(changes, mail.at(self.now))
                forgotten = {change.digest for change in changes if change.before is Label.HAM}
                self._doubtful += [place for place in self._kept if mail.digest(place) in forgotten]

    def _learn_silent_spam(self) -> None:
        """Learn what the filter moved to spam and the user did not take out, if it lay there long enough."""
        mail = self._mail
        silence = weak_lessons.silence(
            mail.at(self.now),
            None if self._opened_spam is None else mail.at(self._opened_spam),
            None if self._first_in_spam is None else mail.at(self._first_in_spam),
            lambda number: None if number > self.now else mail.at(self.now - number),
            is_young=weak_lessons.is_young(mail.learned[Label.SPAM], mail.missed),
        )
        for place, then in list(self._in_spam.items()):
            if then < silence.least or mail.at(place) >= silence.before or mail.seen(place).known:
                continue
            if silence.teaches(then, mail.judge(place).probability):
                mail.learn(place, Label.SPAM, silence.why, silence.how, weak=True)
                del self._in_spam[place]
