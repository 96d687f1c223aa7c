"""An action of the journal as a value, and how statements read it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from spamnb.base.label import How, Label, Role, label_or_none

Kind = Literal["judged", "moved", "learned", "imported", "settled", "chosen"]
# An intent is written before a move and ends as done, or as failed if nothing was moved. A judgement is done, or
# withheld if the breaker or a pause stopped the move.
ActionState = Literal["intent", "done", "failed", "undone", "withheld"]

UNDOABLE: Mapping[Kind, str] = {
    "moved": "move",
    "learned": "lesson",
    "imported": "import",
    "settled": "answer",
    "chosen": "choice",
}
"""The kinds of action that can be undone, and what people call an action of each."""


class Cause(NamedTuple):
    """Why a move is made, in words, when that was decided, and what led to it.

    how, verdict, probability: of the judgement that it follows from. goal: the role of the folder to which a verdict
    leads. takes_back: the action that it undoes. answer: the action of the person's answer that it belongs to.
    """

    why: str
    at: float
    how: How | None = None
    verdict: str | None = None
    probability: float | None = None
    goal: Role | None = None
    takes_back: int | None = None
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was done.

    `before` and `after` are labels; source and destination are a folder's id and a base name. `verdict` and
    `probability` belong to a judgement, or to the judgement that a move followed from. `takes_back`: the action that
    this one undoes. `goal`: the role of the folder to which a judgement has moved the message. An action of kind
    "chosen" has no message: `message` is 0, `digest` empty, `summary` the choice.
    `how`: the way by which its message was judged or learned; None for other actions.
    """

    id: int
    at: float
    message: int
    digest: bytes
    summary: str
    kind: Kind
    state: ActionState
    why: str
    how: How | None
    takes_back: int | None
    before: Label | None
    before_weak: bool
    after: Label | None
    after_weak: bool
    source: int | None
    source_base: str
    destination: int | None
    destination_base: str
    verdict: str | None
    probability: float | None
    goal: Role | None

    @property
    def is_of_init(self) -> bool:
        """Whether `spamnb init` has learned the message by its folder, or this takes such a lesson back."""
        if self.kind != "learned" or self.how is not How.SEEN or (self.after is None and self.takes_back is None):
            return False
        label, is_weak = (self.before, self.before_weak) if self.after is None else (self.after, self.after_weak)
        return label is Label.HAM or not is_weak


CHOICE = "c.kind || ' ' || coalesce(c.pattern, c.number)"  # the choice, in place of a summary
COLUMNS = (
    "a.id, a.at, coalesce(a.message, 0), coalesce(m.digest, x''),"
    f" coalesce(m.summary, {CHOICE}), a.kind, a.state, a.why, a.how, a.takes_back,"
    " a.before, coalesce(a.before_weak, 0), a.after, coalesce(a.after_weak, 0),"
    " a.source, a.source_base, a.destination, a.destination_base, a.verdict, a.probability, a.goal"
)
# LEFT JOIN: a choice has no message. This walks the actions by id, so a page ends as soon as it is full. But a
# condition on `m` that refuses NULL by itself, as = does, may make SQLite begin with the messages.
OF_ACTION = "action AS a LEFT JOIN message AS m ON m.id = a.message LEFT JOIN choice AS c ON c.id = a.choice"
SELECT = f"SELECT {COLUMNS} FROM {OF_ACTION}"  # noqa: S608 - no text from outside
TAKEN = "takes_back = a.id AND state IN ('done', 'undone')"  # of an action that has taken back another one
AMONG = "IN (SELECT value FROM {asked})"  # for `look_up`


def action_of(row: Sequence[Any]) -> Action:
    """Return the action of a row with `COLUMNS`."""
    *former, how, undoes, before, was_weak, after, is_weak, source, base, to, new_base, verdict, sure, goal = row
    labels = label_or_none(before), bool(was_weak), label_or_none(after), bool(is_weak)
    ends = source, os.fsdecode(base or b""), to, os.fsdecode(new_base or b"")
    judged = verdict, sure, None if goal is None else Role(goal)
    values: list[Any] = [*former, None if how is None else How(how), undoes, *labels, *ends, *judged]
    return Action(*values)
