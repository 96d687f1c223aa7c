"""Actions of the history as a page shows them: in words, with what can be done about them."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from spamnb.acts.undo import why_not_undone
from spamnb.base.label import Label
from spamnb.ledger.history.journal import Action, Line
from spamnb.ledger.ledger import Ledger
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.rendering import day


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A line of the history. hindrance: why it cannot be undone, or "". mailbox: its name where there are several.

    undone_at: when it was taken back, or None.
    """

    line: Line
    hindrance: str
    mailbox: str = ""
    undone_at: float | None = None

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
    def opposite(self) -> tuple[Label, ...]:
        """What a person would say that it is instead; nothing where that is no question, or is answered already."""
        action, label = self.action, self.line.label
        if action.verdict is None or action.takes_back is not None or action.state not in ("done", "withheld"):
            return ()
        if label is not None and not self.line.weak:
            return ()
        if action.verdict == "unsure":
            return (Label.HAM, Label.SPAM)
        return (Label.HAM if action.verdict == "spam" else Label.SPAM,)

    @property
    def way(self) -> str:
        """Where the message went, or where it stayed."""
        source, destination = self.line.source, self.line.destination
        if self.action.kind == "moved":
            return f"{source} → {destination}"
        return f"stays in {source}" if source else ""

    @property
    def did(self) -> str:
        """What was done, in a few words."""
        action = self.action
        back = " back" if action.takes_back is not None else ""
        if action.kind == "moved":
            return {"intent": "is being moved", "failed": "was not moved"}.get(action.state, f"moved{back}")
        if action.kind == "learned":
            if action.after is None:
                return "forgotten"
            return f"learned{back} as {action.after.word}{', weakly' if action.after_weak else ''}"
        if action.kind == "imported":
            return "counts taken back" if back else "counts imported"
        if action.kind == "chosen":
            return "no longer chosen" if back else "chosen"
        if action.kind == "settled":
            return "to be asked about again" if back else "not asked about again"
        return "withheld" if action.state == "withheld" else "judged"

    @property
    def later(self) -> str:
        """What became of it."""
        line = self.line
        if self.action.state == "undone":
            return "" if line.undone_by is not None else "undone"
        found = [] if line.moved_by is None else ["moved later"]
        if line.label is not None:
            found.append(f"learned since as {line.label.word}{', weakly' if line.weak else ''}")
        return ", ".join(found)


def told(ledger: Ledger, lines: Iterable[Line], names: Names | None = None) -> list[HistoryLine]:
    """Lines of the history in words; names: of the mailboxes, where they are to be told apart."""
    found, lines = [], list(lines)
    for line, fault in zip(lines, why_not_undone(ledger, [line.action for line in lines]), strict=True):
        mailbox = "" if names is None else names.of_action(ledger, line.action)
        undone_by = None if line.undone_by is None else ledger.journal.get(line.undone_by)
        undone_at = None if undone_by is None else undone_by.at
        found.append(HistoryLine(line, "" if fault is None else str(fault), mailbox, undone_at))
    return found


class Hour(NamedTuple):
    """The lines of an hour. since: when it began, in whole seconds since the epoch."""

    since: int
    lines: list[HistoryLine]


def by_day(lines: Sequence[HistoryLine], now: float) -> Iterator[tuple[str, list[Hour]]]:
    """Lines in their order, the lines of each day together, with the day in words, and in it those of each hour."""
    for _, group in itertools.groupby(lines, key=lambda one: datetime.fromtimestamp(one.action.at).date()):
        some = list(group)
        hours = [Hour(since, list(of_hour)) for since, of_hour in itertools.groupby(some, key=_hour)]
        yield day(some[0].action.at, now), hours


def _hour(one: HistoryLine) -> int:
    """When the hour of an action began, by the local clock."""
    return int(datetime.fromtimestamp(one.action.at).replace(minute=0, second=0, microsecond=0).timestamp())


def without_repeats(lines: Sequence[Line]) -> list[Line]:
    """Lines without those that only say that nobody asks again, where the answer itself is among them."""
    said = {(one.action.message, round(one.action.at)) for one in lines if one.action.kind == "learned"}
    return [
        one
        for one in lines
        if one.action.kind != "settled"
        or all((one.action.message, round(one.action.at) + off) not in said for off in (-1, 0, 1))
    ]


@dataclass(frozen=True, slots=True)
class Flash:
    """What an act did, for the page that follows it. actions: those that are undone by its button."""

    text: str
    summary: str
    actions: tuple[int, ...]
    is_undo: bool


def flash(ledger: Ledger, ids: Sequence[int]) -> Flash | None:
    """What these actions did, in a sentence; None where none of them is known (any more)."""
    actions = [action for number in ids if (action := ledger.journal.get(number)) is not None]
    lines = told(ledger, ledger.journal.lines(actions))
    if not lines:
        return None
    shown = [one for one in lines if one.action.kind != "settled"] or lines
    messages = {one.action.message for one in shown}
    parts = [
        f"{one.did} to {one.line.destination}" if one.action.kind == "moved" and one.line.destination else one.did
        for one in shown
    ]
    if len(messages) > 1:
        counted = {part: parts.count(part) for part in parts}
        parts = [f"{number} {part}" if number > 1 else part for part, number in counted.items()]
    text = ", ".join(dict.fromkeys(parts))
    is_undo = all(one.action.takes_back is not None for one in shown)
    open_ = tuple(one.action.id for one in lines if not one.hindrance)
    summary = shown[0].action.summary if len(messages) == 1 else ""
    return Flash(text[:1].upper() + text[1:], summary, open_, is_undo)
