"""The mail of a simulated mailbox, and what the filter has learned of it. Messages are named by their places."""

from collections.abc import Sequence

from spamnb.base.label import How, Label
from spamnb.config import Learning, Scoring, Senders
from spamnb.evaluation.corpus import Sample
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Filter, FrozenFilter, Judgement
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content
from spamnb.rules.moving import is_taught

DAY = 86_400.0
_CLUES = 3


class Mail:
    """The messages in their order, and a filter with its lessons.

    now: the message that comes next; it is the clock. a_day: how many come per day. missed: what the user does about
    spam in the inbox, as far as the filter knows. Only judging and learning take a message with its tokens.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        scoring: Scoring,
        learning: Learning,
        a_day: int,
        trusted: Trusted = NOBODY_TRUSTED,
    ) -> None:
        self.samples, self.scoring, self.learning, self.a_day = samples, scoring, learning, a_day
        self._trusted = trusted
        self._come: list[Sample] = []  # without their tokens
        self.lessons = MemoryLessons()
        self.now = 0
        self.missed = MissedSpam.UNKNOWN
        self._frozen, self._frozen_at = FrozenFilter(self.lessons, scoring, Senders(), trusted), 0

    def come(self, place: int) -> None:
        """Take the next message."""
        self.now, sample = place, self.samples[place]
        self._come.append(sample._replace(reading=sample.reading._replace(tokens={})))

    def without_tokens(self, place: int) -> Sample:
        """Return a message that has come, without its tokens."""
        return self._come[place]

    def digest(self, place: int) -> bytes:
        """Return the identity of a message that has come."""
        return self._come[place].reading.digest

    def at(self, place: int) -> float:
        """Return the arrival time of a message, in seconds."""
        return place / self.a_day * DAY

    def judge(self, place: int) -> Judgement:
        """Judge a message by what is learned now.

        Each day a filter judges all mail again that it doubts: until something is learned, it looks up a token once.
        """
        if (now := self.lessons.last_change()) != self._frozen_at:
            self._frozen, self._frozen_at = FrozenFilter(self.lessons, self.scoring, Senders(), self._trusted), now
        reading = self.samples[place].reading
        (judgement,) = self._frozen.judge_all([Content(reading.tokens, reading.relations)])
        return judgement

    def clues(self, place: int, *, is_spam: bool) -> list[Clue]:
        """Return why a message looks like spam, or like ham: a few clues for a person."""
        found = Filter(self.lessons, self.scoring, Senders()).explain(self.samples[place].reading, 0).clues
        return first_clues([clue for clue in found if (clue.contribution > 0) is is_spam], _CLUES)

    def seen(self, place: int) -> Seen:
        """Return what the lessons say of the sender of a message."""
        return self.lessons.seen([self._come[place].reading.relations])[0]

    @property
    def learned(self) -> tuple[int, int]:
        """The numbers of learned ham and spam."""
        ham, spam = self.lessons.totals().tolist()[:2]
        return ham, spam

    def learn(self, place: int, label: Label, why: str, how: How, *, weak: bool = False) -> None:
        """Learn a message now."""
        self.lessons.learn([self.samples[place].reading], label, why, self.at(self.now), how=how, weak=weak)

    @property
    def is_taught(self) -> bool:
        """Whether enough is learned for a doubt of the filter to mean anything."""
        return is_taught(*self.learned, self.learning)
