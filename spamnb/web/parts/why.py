"""The reasons for today's verdict on a message, for a page."""

from dataclasses import dataclass

from spamnb.acts.newcomers import of_sender
from spamnb.acts.not_yet import only_guesses
from spamnb.base.label import Verdict
from spamnb.filter.explain import Flip, Named, first_named, flip, main_reasons, sides
from spamnb.filter.judge import Explanation, Filter
from spamnb.mail.reading import Reading
from spamnb.web.parts.offers import FixedLabel, fixed_label_of
from spamnb.web.visit import Visit

CLUES = 10  # per side


@dataclass(frozen=True, slots=True)
class Why:
    """A judgement with its reasons. is_itself_left_out: the message is learned, but judged as if it were not.

    sides: all clues, the strongest first. first: the clues to show first. said: the fixed label of its sender or list,
    if that makes the verdict. sender: whether the person knows the sender, in a sentence, or "". is_guess: the filter
    has learned so little that its figures mean nothing.
    """

    explanation: Explanation
    reasons: list[Named]
    sides: dict[Verdict, list[Named]]
    first: dict[Verdict, list[Named]]
    flip: Flip | None
    is_itself_left_out: bool
    said: FixedLabel | None
    sender: str
    is_guess: bool

    @property
    def first_of(self) -> int:
        """The number of clues of each side to show first."""
        return CLUES

    def length(self, clue: Named) -> float:
        """Return the length of a clue's bar, in percent of the strongest clue that is shown first."""
        longest = max((one.share for side in self.first.values() for one in side), default=0.0) or 1.0
        return min(100.0, max(1.0, 100 * clue.share / longest))


def judge_of(visit: Visit) -> Filter:
    """Return the filter that judges a message now."""
    return Filter.of(visit.ledger.lessons, visit.config)


def why(visit: Visit, reading: Reading, *, is_learned: bool) -> Why:
    """Judge a message, and return the judgement with its reasons."""
    judge, relations = judge_of(visit), reading.relations
    explanation = judge.explain(reading, strongest=0, without_itself=is_learned)
    said = fixed_label_of(visit.config, relations.senders, relations.list_id)
    changed = flip(judge, reading, explanation, without_itself=is_learned)
    both = sides(explanation)
    first = {verdict: first_named(side, CLUES) for verdict, side in both.items()}
    sender = of_sender(visit.ledger, visit.config, relations)
    is_guess = only_guesses(visit.ledger, visit.config.learning)
    return Why(explanation, main_reasons(explanation), both, first, changed, is_learned, said, sender, is_guess)
