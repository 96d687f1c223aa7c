"""Actions of the history as a page shows them: in words, with what can be done about them."""

from collections.abc import Iterable
from dataclasses import dataclass

from spamnb.label import Label
from spamnb.ledger.history.describe import in_words
from spamnb.ledger.history.journal import Action, Line
from spamnb.undo import why_not
from spamnb.web.visit import Visit


@dataclass(frozen=True, slots=True)
class Told:
    """A line of the history. words: what was done. hindrance: why it cannot be undone, or ""."""

    line: Line
    words: str
    hindrance: str

    @property
    def action(self) -> Action:
        """The action itself."""
        return self.line.action

    @property
    def verdict(self) -> str:
        """What the message was called: the verdict, or the label it was learned as; "" for neither."""
        action = self.action
        if action.verdict is not None:
            return action.verdict
        return "" if action.after is None else action.after.word

    @property
    def opposite(self) -> Label | None:
        """What a person would say it is instead; None where that is no question."""
        action = self.action
        if action.kind not in ("judged", "moved") or action.verdict is None:
            return None
        return Label.HAM if action.verdict == "spam" else Label.SPAM


def told(visit: Visit, lines: Iterable[Line]) -> list[Told]:
    """Lines of the history in words."""
    found = []
    for line in lines:
        fault = why_not(visit.ledger, line.action)
        found.append(Told(line, in_words(line), "" if fault is None else str(fault)))
    return found
