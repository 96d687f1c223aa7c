"""The result of a simulated user's life, and its figures."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from spamnb.base.label import Label, Role, Verdict
from spamnb.evaluation.measures import Outcome, one_minus_roca
from spamnb.filter.judge import Clue

_MONTH, _WEEK = 30, 7  # days
NAMED_SPAM = 10


@dataclass(slots=True)
class UserRun:
    """The result of a run. outcomes: of the messages after those learned first; SPAM means that it was moved.

    switched_on_at: the message, counted from 0 over the whole order, before which moving began; None: never. apart: the
    roles of the folders for mail that is put apart. goals: to which folder each message was moved; None: it stayed.
    is_explained: `clues` are kept: why the filter was mistaken, by the name of the message, of each ham that it moved
    to Junk, and of the first `NAMED_SPAM` spam that stayed after moving began. missed: how many these are.
    """

    habit: str
    outcomes: list[Outcome] = field(default_factory=list)
    messages: int = 0
    a_day: int = 20
    apart: Collection[Role] = ()
    is_explained: bool = False
    goals: list[Role | None] = field(default_factory=list)
    switched_on_at: int | None = None
    breaker_tripped: int = 0
    learned: tuple[int, int] = (0, 0)
    clues: dict[str, list[Clue]] = field(default_factory=dict)
    missed: int = 0

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
