"""The journal: what was done to messages, and what is about to be done."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from spamnb.ledger.connection import Connection

Kind = Literal["judged", "moved", "learned", "imported"]
# An intent is written before a move and ends as done, or as failed where nothing was moved. A judgement is done, or
# withheld where the breaker or a pause stopped the move.
State = Literal["intent", "done", "failed", "undone", "withheld"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was done.

    `before` and `after` are labels; the places are a folder's id and a base name. `verdict` and `probability` are
    those of a judgement, also of the one that a move followed from. `takes_back`: the action that this one undoes.
    """

    id: int
    at: float
    message: int
    digest: bytes
    summary: str
    kind: Kind
    state: State
    why: str
    takes_back: int | None
    before: int | None
    before_weak: bool
    after: int | None
    after_weak: bool
    source: int | None
    source_base: str
    destination: int | None
    destination_base: str
    verdict: str | None
    probability: float | None


_SELECT = (
    "SELECT a.id, a.at, a.message, m.digest, m.summary, a.kind, a.state, a.why, a.takes_back,"
    " a.before, coalesce(a.before_weak, 0), a.after, coalesce(a.after_weak, 0),"
    " a.source, a.source_base, a.destination, a.destination_base, a.verdict, a.probability"
    " FROM action AS a JOIN message AS m ON m.id = a.message"
)


class Journal:
    """The actions of a ledger, in order. Learnings and imports are recorded where they are made."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def intend(
        self,
        message: int,
        source: tuple[int, str],
        destination: tuple[int, str],
        why: str,
        at: float,
        *,
        takes_back: int | None = None,
        verdict: str | None = None,
        probability: float | None = None,
        owner: str | None = None,
    ) -> int:
        """Write down a move before it is made; source and destination are a folder's id and a base name.

        owner: the process that makes it (`Owner.name`).
        """
        places = source[0], os.fsencode(source[1]), destination[0], os.fsencode(destination[1])
        with self._db.transaction():
            return self._db.execute(
                "INSERT INTO action (at, message, kind, state, why, source, source_base, destination, destination_base,"
                " takes_back, verdict, probability, owner) VALUES (?, ?, 'moved', 'intent', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (at, message, why, *places, takes_back, verdict, probability, owner),
            )

    def judged(
        self,
        message: int,
        place: tuple[int, str],
        verdict: str,
        probability: float,
        why: str,
        at: float,
        *,
        withheld: bool = False,
    ) -> int:
        """Record a judgement that no move follows from; `place` is a folder's id and a base name."""
        with self._db.transaction():
            return self._db.execute(
                "INSERT INTO action (at, message, kind, state, why, source, source_base, verdict, probability)"
                " VALUES (?, ?, 'judged', ?, ?, ?, ?, ?, ?)",
                (
                    at,
                    message,
                    "withheld" if withheld else "done",
                    why,
                    place[0],
                    os.fsencode(place[1]),
                    verdict,
                    probability,
                ),
            )

    def redirect(self, action: int, base: str) -> None:
        """Give an open intent another base name at its destination."""
        with self._db.transaction():
            self._db.execute("UPDATE action SET destination_base = ? WHERE id = ?", (os.fsencode(base), action))

    def settle(self, action: int, state: State) -> None:
        """Say how an action stands now. Only an open intent can fail: another process may have ended it well."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE action SET state = ? WHERE id = ? AND (state = 'intent' OR ? <> 'failed')",
                (state, action, state),
            )

    def get(self, action: int) -> Action | None:
        """The action of that id, or None."""
        return next(map(_action, self._db.rows(f"{_SELECT} WHERE a.id = ?", (action,))), None)

    def intents(self) -> list[Action]:
        """Moves that were begun and not ended: another process is at it, or the last one died."""
        return [_action(row) for row in self._db.rows(f"{_SELECT} WHERE a.state = 'intent' ORDER BY a.id")]

    def owner(self, action: int) -> str | None:
        """Which process carries out an open intent (`Owner.name`); None where that is not known."""
        row = self._db.row("SELECT owner FROM action WHERE id = ?", (action,))
        return None if row is None else row[0]

    def newest(self, most: int) -> Iterator[Action]:
        """The newest actions, the newest first."""
        return map(_action, self._db.rows(f"{_SELECT} ORDER BY a.id DESC LIMIT ?", (most,)))

    def since(self, at: float) -> list[Action]:
        """Actions done since a time that stand, the newest first: the order in which they are undone."""
        rows = self._db.rows(
            f"{_SELECT} WHERE a.at >= ? AND a.state = 'done' AND a.kind <> 'judged' AND a.takes_back IS NULL"
            " ORDER BY a.id DESC",
            (at,),
        )
        return [_action(row) for row in rows]

    def of_message(self, message: int) -> list[Action]:
        """What was done to a message, the oldest first."""
        return [_action(row) for row in self._db.rows(f"{_SELECT} WHERE a.message = ? ORDER BY a.id", (message,))]


def _action(row: Sequence[object]) -> Action:
    values = list(row)
    for place in (14, 16):
        raw = values[place]
        values[place] = os.fsdecode(raw) if isinstance(raw, bytes) else ""
    return Action(*values)  # type: ignore[arg-type]  # the columns of _SELECT are the fields of Action, in order
