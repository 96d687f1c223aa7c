"""What the filter would have done with a person's mail: lives over it in the order in which it came."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple, Self, TypeVar

from spamnb.base.label import Label, Role, Verdict
from spamnb.bulk.executors import Processes, carried, in_order
from spamnb.config import Config, Learning, Scoring
from spamnb.config.settings import APART
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.past_mail import PastMail, found_in, missing_label
from spamnb.evaluation.replayed import Doubted, Lived, Mistake, Month, Replayed
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted
from spamnb.setup.proposal import Proposal

T = TypeVar("T")
Tell = Callable[[int, int], object]  # how many are done, of how many
DAY = 86_400.0
QUICK, QUICK_FROM = 1_000, 1_500  # messages: a first answer by the newest, if there are many more
LIVES = {"tidy": "You sort each mistake the next day", "blind": "You never look into Junk"}
"""Habits of `evaluation.habits`, in words."""


class Rules(NamedTuple):
    """What changes a life, beside the person. apart: the roles of the folders for mail that is put apart."""

    scoring: Scoring
    learning: Learning
    breaker: bool = True
    trusted: Trusted = NOBODY_TRUSTED
    apart: frozenset[Role] = frozenset()

    @classmethod
    def of(cls, config: Config) -> Self:
        """Return the rules of a configuration. Its lists of senders are left out: they are decisions of later."""
        folders = ((role, key, mailbox) for mailbox in config.mailboxes for role, key in APART.items())
        apart = frozenset(role for role, key, mailbox in folders if getattr(mailbox, key) is not None)
        return cls(config.scoring, config.learning, config.breaker, Trusted.of(config), apart)


@dataclass(frozen=True, slots=True)
class Life:
    """A life over the mail. came: when each message came, by its name, in seconds since the epoch."""

    run: UserRun
    came: Mapping[str, float]

    @property
    def words(self) -> str:
        """Return the habit in words."""
        return LIVES[self.run.habit]

    @property
    def moved(self) -> list[Outcome]:
        """Return the letters that would have been moved to Junk."""
        return [one for one in self.run.outcomes if one.label is Label.HAM and one.verdict is Verdict.SPAM]

    @property
    def missed(self) -> list[Outcome]:
        """Return the first spam that would have stayed after the first move, as far as `UserRun` has clues."""
        return [one for one in self.run.outcomes if one.label is Label.SPAM and one.name in self.run.clues]

    @property
    def began(self) -> float | None:
        """Return when mail would first have been moved, or None."""
        place = self.run.switched_on_at
        return None if place is None else self.came[self.run.outcomes[place].name]

    def number(self, label: Label, verdict: Verdict | None = None) -> int:
        """Return how many messages of a label came; with that verdict. SPAM means that they were moved."""
        outcomes = (one for one in self.run.outcomes if one.label is label)
        return sum(verdict is None or one.verdict is verdict for one in outcomes)

    def put_apart(self) -> list[tuple[Role, int, int]]:
        """Return how many ham and spam went to each folder for mail that is put apart."""
        lying = list(zip(self.run.goals, self.run.outcomes, strict=True))
        labels = {role: [one.label for goal, one in lying if goal is role] for role in self.run.apart}
        return [(role, found.count(Label.HAM), found.count(Label.SPAM)) for role, found in labels.items()]

    def months(self) -> list[Month]:
        """Return the months in which spam came, in their order."""
        spam: dict[str, list[bool]] = {}
        for one in self.run.outcomes:
            if one.label is Label.SPAM:
                month = f"{datetime.fromtimestamp(self.came[one.name]):%Y-%m}"
                spam.setdefault(month, []).append(one.verdict is Verdict.SPAM)
        return [Month(name, len(moved), sum(moved)) for name, moved in sorted(spam.items())]


def pace(came: Iterable[float]) -> int:
    """Return how many of these messages came per day with mail, at least one. came: seconds since the epoch.

    Days without mail do not count: after a gap of years, or with one odd date, the next day stays the next day.

    >>> pace([0.0, 3600.0, 7200.0, 1000 * DAY]), pace([7.0])
    (2, 1)
    """
    times = list(came)
    return max(1, round(len(times) / len({time // DAY for time in times})))


@contextmanager
def lives(mail: Packed, came: Mapping[str, float], rules: Rules) -> Iterator[Iterator[Life]]:
    """Yield a life over mail for each of `LIVES`, at once on several cores. came: when each message of it came."""
    a_day = pace(map(came.__getitem__, mail.names()))
    work, cores = partial(_live, mail, rules, a_day), len(os.sched_getaffinity(0))
    if cores == 1:
        yield (Life(work(habit), came) for habit in LIVES)
        return
    with Processes(min(len(LIVES), cores), work) as workers, in_order(_live_there, LIVES, workers) as done:
        yield (Life(run, came) for run in done)


def _live_there(habit: str) -> UserRun:
    run: UserRun = carried()(habit)
    return run


def _live(mail: Packed, rules: Rules, a_day: int, habit: str) -> UserRun:
    return simulate(
        mail.near(),
        rules.scoring,
        rules.learning,
        rules.breaker,
        habit,
        messages_a_day=a_day,
        in_days=True,
        apart=sorted(rules.apart),
        explained=True,
        trusted=rules.trusted,
    )


def replay(
    mailboxes: Iterable[Proposal], decided: Mapping[bytes, Label], rules: Rules, most: int, tell: Tell
) -> Replayed | Label:
    """Return what each life would have done with the newest messages of these mailboxes.

    Returns a label if there is no mail of that label. tell: of the messages that are read.
    """
    there = found_in(mailboxes)
    found = there[:most]
    if (label := missing_label(found)) is not None:
        return label
    mail = PastMail(decided)
    mail.add(found, partial(_told, tell, len(found)))
    samples, doubted = mail.sifted(rules.scoring)
    with lives(samples, mail.came, rules) as done:
        return replayed(mail, list(done), doubted, len(there) - len(found))


def _told(tell: Tell, of: int, done: Iterable[T]) -> Iterator[T]:
    for number, one in enumerate(done):
        tell(number, of)
        yield one
    tell(of, of)


def replayed(mail: PastMail, lived: Sequence[Life], doubted: Sequence[Doubted], others: int = 0) -> Replayed:
    """Return what lives over mail have done. others: how many older messages were left out."""
    times = mail.came.values()
    found = tuple(map(_lived, lived))
    return Replayed(len(mail), min(times), max(times), mail.unread, others, tuple(doubted), found)


def _lived(life: Life) -> Lived:
    return Lived(
        life.run.habit,
        life.words,
        life.run.a_day,
        life.number(Label.HAM),
        life.number(Label.SPAM),
        life.number(Label.SPAM, Verdict.SPAM),
        life.began,
        tuple(life.put_apart()),
        tuple(life.months()),
        tuple(_mistake(life, one) for one in life.moved),
        tuple(_mistake(life, one) for one in life.missed),
    )


def _mistake(life: Life, one: Outcome) -> Mistake:
    return Mistake(one.name, life.came[one.name], one.summary, tuple(life.run.clues[one.name]))
