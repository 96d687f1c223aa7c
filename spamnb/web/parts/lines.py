"""Acts of the history for a page: each is one line of words, with the buttons for it.

An act is one thing that a person or the filter did. A person's answer about a message is one act of several actions:
the lesson, the note not to ask again, and the moves. The undo of an answer is one act too.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from spamnb.acts.not_yet import guessed_until, moved_nothing_until
from spamnb.acts.ordered import is_by_order
from spamnb.acts.undo import why_not_undone
from spamnb.base.label import How, Label, Role, counts_as, is_unseen
from spamnb.ledger.at_start import was_in
from spamnb.ledger.history.actions import Action
from spamnb.ledger.history.lines import Line
from spamnb.ledger.ledger import Ledger
from spamnb.web.parts.choice_words import choice_in_words
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.rendering import certainty, day

MOST_IDS: Final = 60
"""The largest distance between the ids of one act's actions that pages of the history look for."""
_FILED = 2.0  # seconds between a lesson from a training folder and the move out of that folder
_MAIN = ("learned", "settled", "chosen", "imported", "moved", "judged")  # the first of these that it has names an act
_LEARNED_BY_ITSELF = {
    How.KEPT: "because you kept it",
    How.SILENCE: "because you left it there",
    How.SEEN: "because it was there first",
}


@dataclass(frozen=True, slots=True)
class Act:
    """One act. line: the line of its main action. parts: the lines of all its actions, the oldest first.

    why_not: why it cannot be undone, or "". mailbox: its name if there are several. undone_at: the time of its undo,
    or None. at_start: why `init` has learned the message, in words, or "". is_ordered: a move that the person ordered.
    is_guess: the filter judged the message when it knew too little.
    """

    line: Line
    parts: tuple[Line, ...]
    why_not: str
    mailbox: str = ""
    undone_at: float | None = None
    at_start: str = ""
    is_ordered: bool = False
    is_guess: bool = False

    @property
    def action(self) -> Action:
        """The main action, which names the act."""
        return self.line.action

    @property
    def subject(self) -> str:
        """Its object in words: the summary of a message, or a choice."""
        return _subject(self.action)

    @property
    def ids(self) -> list[int]:
        """The ids of all its actions."""
        return [part.action.id for part in self.parts]

    @property
    def verdict(self) -> str:
        """The verdict on the message, or else the label of its lesson, or ""."""
        action = self.action
        if action.verdict is not None:
            return action.verdict
        return "" if action.after is None else action.after.word

    @property
    def how_sure(self) -> str:
        """Return how sure the filter was of its verdict, in words; "" if it gave none. No figure that means nothing."""
        action = self.action
        if self.is_ordered:
            return "on your order"
        if action.probability is None or action.verdict is None:
            return ""
        return "a first guess" if self.is_guess else certainty(action.probability, action.verdict)

    @property
    def opposite(self) -> tuple[Label, ...]:
        """The labels that a person may give instead. None without a verdict, or after a person's decision."""
        action, label = self.action, self.line.label
        if action.verdict is None or action.takes_back is not None or action.state not in ("done", "withheld"):
            return ()
        if label is not None and not self.line.weak:
            return ()
        if action.verdict == "unsure" or action.goal is Role.NEWCOMERS:
            return (Label.HAM, Label.SPAM)
        return (Label.HAM if action.verdict == "spam" else Label.SPAM,)

    @property
    def did(self) -> str:
        """Who did what, such as "you: spam, moved to Junk"."""
        words = [words for part in self.parts if (words := _words(part, self.line, self.at_start))]
        again = ["undo"] if self.line.is_contrary else ["done again"] if self.line.undos else []
        return f"{'you' if self._is_persons else 'filter'}: {', '.join(dict.fromkeys([*again, *words]))}"

    @property
    def _is_persons(self) -> bool:
        action = self.action
        if self.line.undos or self.line.answer is not None or action.kind in ("settled", "chosen", "imported"):
            return True
        return action.kind == "learned" and not action.after_weak and not action.is_of_init

    @property
    def later(self) -> str:
        """What happened to the message later, in words."""
        line = self.line
        if self.action.state == "undone":
            return "" if line.undone_by is not None else "undone"
        events = [] if line.moved_by is None else ["moved later"]
        if line.label is not None and line.weak:
            events.append(f"counts as {counts_as(line.label, line.weak)} now")
        elif line.label is not None:
            events.append(f"later you said {line.label.word}")
        return ", ".join(events)


def _subject(action: Action) -> str:
    return choice_in_words(action.summary) if action.kind == "chosen" else action.summary


def _words(part: Line, main: Line, at_start: str = "") -> str:
    """Return what one action of an act did, in words; "" if another part of the act says it."""
    action, is_undo = part.action, part.is_contrary
    if action.kind == "moved":
        goal = f" to {part.destination}" if part.destination else ""
        done = f"moved{' back' if is_undo else ''}{goal}"
        return {"intent": f"is being moved{goal}", "failed": "was not moved"}.get(action.state, done)
    if action.kind == "learned":
        return _lesson(action, at_start, is_undo=is_undo)
    if action.kind == "imported":
        return "counts no longer imported" if is_undo else "counts imported"
    if action.kind == "chosen":
        return "no longer chosen" if is_undo else "chosen"
    if action.kind == "settled":
        if main.action.kind == "learned":
            return ""
        return "ask again" if is_undo else "do not ask again"
    stays = f"stays in {part.source}"
    return f"moving is stopped, {stays}" if action.state == "withheld" else stays


def _lesson(action: Action, at_start: str, *, is_undo: bool) -> str:
    if action.after is None:
        return "no longer learned" if is_undo else "forgotten"
    if is_undo:
        return f"learned as {action.after.word} as before"
    if action.is_of_init and at_start:
        return f"learned as {action.after.word}: {at_start}"
    if action.after_weak and action.how is not None:
        nobody_looked = is_unseen(action.after, True, action.how)
        why = "because nobody looks there" if nobody_looked else _LEARNED_BY_ITSELF.get(action.how, "by itself")
        return f"{counts_as(action.after, True)}, {why}"
    return action.after.word


def acts(ledger: Ledger, lines: Sequence[Line], names: Names | None = None, shown: Iterable[Line] = ()) -> list[Act]:
    """Return the acts of these lines, each in the place of its first line.

    shown: lines whose acts are left out, since another page has them. names: the mailboxes' names, to tell them apart.
    """
    groups: dict[object, list[Line]] = {}
    for part in ledger.lines.parts(lines):
        groups.setdefault(_key(part), []).append(part)
    found: dict[object, tuple[Line, ...]] = {}
    filed = _filed(lines)
    elsewhere = {_key(line) for line in shown if line.answer is not None}
    for line in lines:
        key = filed.get(line.action.id, _key(line))
        if key in elsewhere:
            continue
        if line.answer is None:
            found[key] = tuple(sorted((*found.get(key, ()), line), key=lambda part: part.action.id))
        else:
            found[key] = tuple(groups[key])
    return _acts_of(ledger, list(found.values()), names)


def _key(line: Line) -> object:
    """Return a key that all lines of one act share."""
    return line.action.id if line.answer is None else (line.answer, line.undos)


def _filed(lines: Sequence[Line]) -> dict[int, object]:
    """Return the ids of moves out of a training folder, each with the key of the lesson before it."""
    lessons = {line.action.message: line.action for line in lines if line.action.kind == "learned" and _is_alone(line)}

    def lesson_of(line: Line) -> Action | None:
        action, lesson = line.action, lessons.get(line.action.message)
        if lesson is None or action.kind != "moved" or action.verdict is not None or not _is_alone(line):
            return None
        return lesson if abs(action.at - lesson.at) < _FILED else None

    return {line.action.id: lesson.id for line in lines if (lesson := lesson_of(line)) is not None}


def _is_alone(line: Line) -> bool:
    """Return whether a line is neither a part of an answer nor an undo."""
    return line.answer is None and not line.undos


def _acts_of(ledger: Ledger, found: Sequence[tuple[Line, ...]], names: Names | None) -> list[Act]:
    actions = [part.action for parts in found for part in parts]
    faults = iter(why_not_undone(ledger, actions))
    told = []
    guesses, begun_at = guessed_until(ledger), moved_nothing_until(ledger)
    for parts in found:
        line = min(parts, key=lambda part: _MAIN.index(part.action.kind))
        reasons = [next(faults) for _ in parts]
        why_not = "" if None in reasons else str(reasons[parts.index(line)])
        undone_by = None if line.undone_by is None else ledger.journal.get(line.undone_by)
        mailbox = "" if names is None else names.of_action(ledger, parts[-1].action)
        undone_at = None if undone_by is None else undone_by.at
        at_start, is_ordered = _at_start(ledger, line.action), is_by_order(line.action, begun_at)
        is_guess = line.action.at <= guesses
        told.append(Act(line, parts, why_not, mailbox, undone_at, at_start, is_ordered, is_guess))
    return told


def _at_start(ledger: Ledger, action: Action) -> str:
    if not action.is_of_init or action.after is None:
        return ""
    return was_in(ledger.locations.at_start(action.message), action.after)


class Hour(NamedTuple):
    """The acts of an hour. since: when it began, in whole seconds since the epoch."""

    since: int
    lines: list[Act]


def by_day(shown: Sequence[Act], now: float) -> Iterator[tuple[str, list[Hour]]]:
    """Yield each day in words, with the acts of each of its hours, in the given order."""
    for _, group in itertools.groupby(shown, key=lambda act: datetime.fromtimestamp(act.action.at).date()):
        of_day = list(group)
        hours = [Hour(since, list(of_hour)) for since, of_hour in itertools.groupby(of_day, key=_hour)]
        yield day(of_day[0].action.at, now), hours


def _hour(act: Act) -> int:
    """Return the beginning of an act's hour, by the local clock."""
    return int(datetime.fromtimestamp(act.action.at).replace(minute=0, second=0, microsecond=0).timestamp())


@dataclass(frozen=True, slots=True)
class Flash:
    """The last act in a sentence, for the page after it. actions: the ids that its button undoes."""

    text: str
    summary: str
    actions: tuple[int, ...]
    is_undo: bool


def flash(ledger: Ledger, ids: Sequence[int]) -> Flash | None:
    """Return a sentence about what these actions did; None if the history has none of them."""
    known = ledger.journal.those(ids)
    lines = ledger.lines.of([known[number] for number in sorted(known)])
    if not lines:
        return None
    shown = [line for line in lines if line.action.kind != "settled"] or lines
    is_one = len({line.action.message for line in shown}) == 1
    parts = []
    for act, number in Counter(map(_in_a_sentence, shown)).items():
        parts.append(act if is_one else f"{number} {act}")
    text = ", ".join(parts)
    faults = why_not_undone(ledger, [line.action for line in lines])
    open_ = tuple(line.action.id for line, fault in zip(lines, faults, strict=True) if fault is None)
    is_undo = all(line.is_contrary for line in shown)
    return Flash(text[:1].upper() + text[1:], _subject(shown[0].action) if is_one else "", open_, is_undo)


def _in_a_sentence(line: Line) -> str:
    """Return what an action did, without the actor."""
    action, back = line.action, " back" if line.action.takes_back is not None else ""
    if action.kind == "learned" and action.after is not None:
        return f"learned{back} as {counts_as(action.after, action.after_weak)}"
    if action.kind == "learned":
        return "forgotten"
    if action.kind == "moved" and action.state == "done":
        return f"moved{back} to {line.destination}" if line.destination else f"moved{back}"
    return _words(line, line)
