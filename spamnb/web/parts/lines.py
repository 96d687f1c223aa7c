"""Actions of the history as a page shows them: in words, with what can be done about them."""

import itertools
from collections import Counter
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
        """The labels that a person may give instead; none where nothing was judged, or a person has decided already."""
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
            return f"learned{back} as {action.after.word}{', by itself' if action.after_weak else ''}"
        if action.kind == "imported":
            return "counts taken back" if self.line.is_contrary else "counts imported"
        if action.kind == "chosen":
            return "no longer chosen" if self.line.is_contrary else "chosen"
        if action.kind == "settled":
            return "to be asked about again" if self.line.is_contrary else "not asked about again"
        return "withheld" if action.state == "withheld" else "judged"

    @property
    def later(self) -> str:
        """What became of it."""
        line = self.line
        if self.action.state == "undone":
            return "" if line.undone_by is not None else "undone"
        events = [] if line.moved_by is None else ["moved later"]
        if line.label is not None:
            events.append(f"learned since as {line.label.word}{', by itself' if line.weak else ''}")
        return ", ".join(events)


def history_lines(ledger: Ledger, lines: Iterable[Line], names: Names | None = None) -> list[HistoryLine]:
    """Lines of the history in words; names: of the mailboxes, where they are to be told apart."""
    shown, lines = [], list(lines)
    for line, fault in zip(lines, why_not_undone(ledger, [line.action for line in lines]), strict=True):
        mailbox = "" if names is None else names.of_action(ledger, line.action)
        undone_by = None if line.undone_by is None else ledger.journal.get(line.undone_by)
        undone_at = None if undone_by is None else undone_by.at
        shown.append(HistoryLine(line, "" if fault is None else str(fault), mailbox, undone_at))
    return shown


class Hour(NamedTuple):
    """The lines of an hour. since: when it began, in whole seconds since the epoch."""

    since: int
    lines: list[HistoryLine]


def by_day(lines: Sequence[HistoryLine], now: float) -> Iterator[tuple[str, list[Hour]]]:
    """Lines in their order, the lines of each day together, with the day in words, and in it those of each hour."""
    for _, group in itertools.groupby(lines, key=lambda line: datetime.fromtimestamp(line.action.at).date()):
        of_day = list(group)
        hours = [Hour(since, list(of_hour)) for since, of_hour in itertools.groupby(of_day, key=_hour)]
        yield day(of_day[0].action.at, now), hours


def _hour(line: HistoryLine) -> int:
    """When the hour of an action began, by the local clock."""
    return int(datetime.fromtimestamp(line.action.at).replace(minute=0, second=0, microsecond=0).timestamp())


def without_repeats(lines: Sequence[Line]) -> list[Line]:
    """Lines without those that only say that nobody asks again, where the answer itself is among them."""
    answers = {(line.action.message, round(line.action.at)) for line in lines if line.action.kind == "learned"}

    def is_repeat(action: Action) -> bool:
        at = round(action.at)
        is_answered = any((action.message, second) in answers for second in (at - 1, at, at + 1))
        return action.kind == "settled" and is_answered

    return [line for line in lines if not is_repeat(line.action)]


@dataclass(frozen=True, slots=True)
class Flash:
    """What an act did, for the page that follows it. actions: those that are undone by its button."""

    text: str
    summary: str
    actions: tuple[int, ...]
    is_undo: bool


def flash(ledger: Ledger, ids: Sequence[int]) -> Flash | None:
    """What these actions did, in a sentence; None where none of them is known (any more)."""
    known = ledger.journal.those(ids)
    actions = [known[number] for number in sorted(known)]
    lines = history_lines(ledger, ledger.journal.lines(actions))
    if not lines:
        return None
    shown = [line for line in lines if line.action.kind != "settled"] or lines
    is_one = len({line.action.message for line in shown}) == 1
    parts = []
    for act, number in Counter(map(_act, shown)).items():
        parts.append(act if is_one else f"{number} {act}")
    text = ", ".join(parts)
    is_undo = all(line.line.is_contrary for line in shown)
    open_ = tuple(line.action.id for line in lines if not line.hindrance)
    return Flash(text[:1].upper() + text[1:], shown[0].action.summary if is_one else "", open_, is_undo)


def _act(line: HistoryLine) -> str:
    """What was done, and for a move whereto."""
    if line.action.kind == "moved" and line.line.destination:
        return f"{line.did} to {line.line.destination}"
    return line.did
