"""Why a message is judged as it is today, for a page."""

from dataclasses import dataclass

from spamnb.base.label import Verdict
from spamnb.filter.explain import Flip, Named, first_named, flip, main_reasons, sides
from spamnb.filter.judge import Explanation, Filter
from spamnb.mail.reading import Reading
from spamnb.web.parts.offers import Said, said_of
from spamnb.web.visit import Visit

CLUES = 10  # a side


@dataclass(frozen=True, slots=True)
class Why:
    """A judgement with its reasons. is_itself_left_out: the message is learned, and judged as if it were not.

    sides: all clues, the strongest first; first: those that are shown first. said: what the person has said of its
    sender or list, where that makes the verdict.
    """

    explanation: Explanation
    reasons: list[Named]
    sides: dict[Verdict, list[Named]]
    first: dict[Verdict, list[Named]]
    flip: Flip | None
    is_itself_left_out: bool
    said: Said | None

    @property
    def first_of(self) -> int:
        """How many of each side are shown first."""
        return CLUES


def judge_of(visit: Visit) -> Filter:
    """What judges a message now."""
    config = visit.config
    return Filter(visit.ledger.lessons, config.scoring, config.senders)


def why(visit: Visit, reading: Reading, *, is_learned: bool) -> Why:
    """Judge a message, and say why it is judged so."""
    judge, relations = judge_of(visit), reading.relations
    explanation = judge.explain(reading, strongest=0, without_itself=is_learned)
    said = said_of(visit.config, relations.sender, relations.list_id)
    changed = flip(judge, reading, explanation, without_itself=is_learned)
    both = sides(explanation)
    first = {verdict: first_named(side, CLUES) for verdict, side in both.items()}
    return Why(explanation, main_reasons(explanation), both, first, changed, is_learned, said)
