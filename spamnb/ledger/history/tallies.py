"""How often each kind of thing was done, ever: numbers that only grow, also when old actions are forgotten.

A tally is the number kept so far and the actions since then, so nothing has to be counted when an action is written. An
open intent is not counted yet, nor anything behind it: how it ends is not known. Nor is a correction of the last hour,
which may be taken back.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.corrections import UNDO_SECONDS, decides_against

_LAST = "tallied up to"  # a note: the last action that is in the numbers kept
_LAST_CORRECTED = "corrections tallied up to"  # the same of corrections
_DAY = 86_400.0
_STEP = 20_000  # actions a transaction; some ten milliseconds
_KINDS = (
    # What was judged: once for each message that came, not again when a withheld one is looked at a second time.
    "SELECT 'judged', a.verdict, a.why, count(*) FROM action AS a WHERE a.id > ? AND a.id <= ?"
    " AND a.kind IN ('judged', 'moved') AND a.verdict IS NOT NULL AND a.takes_back IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM action WHERE message = a.message AND id < a.id AND state = 'withheld')"
    " GROUP BY 2, 3",
    # Where to: by the verdict that a move followed from; or back to the inbox; or by what the message was learned as
    # before, on from a training folder. As it was then: by what it is today, a number would get smaller.
    "SELECT 'moved', CASE WHEN a.takes_back IS NOT NULL THEN 'inbox' WHEN a.verdict IS NOT NULL THEN a.verdict"
    " WHEN (SELECT after FROM action WHERE message = a.message AND id < a.id AND kind = 'learned'"
    " ORDER BY id DESC LIMIT 1) = 1 THEN 'spam' ELSE 'inbox' END, '', count(*)"
    " FROM action AS a WHERE a.id > ? AND a.id <= ? AND a.kind = 'moved' AND a.state IN ('done', 'undone') GROUP BY 2",
    "SELECT 'learned', a.after, a.why, count(*) FROM action AS a WHERE a.id > ? AND a.id <= ?"
    " AND a.kind = 'learned' AND a.after IS NOT NULL AND a.takes_back IS NULL GROUP BY 2, 3",
)
# By the verdict of that time. A decision that was taken back within the hour is left out for ever, and one of the last
# hour waits: a number that was told cannot get smaller.
_CORRECTED = (
    "SELECT 'corrected', said, after, count(*) FROM (SELECT *, (SELECT verdict FROM action"  # noqa: S608 - no text from outside
    " WHERE message = a.message AND id < a.id AND verdict IS NOT NULL ORDER BY id DESC LIMIT 1) AS said"
    f" FROM action AS a WHERE id > ? AND id <= ? AND kind = 'learned') AS a WHERE {decides_against('said')}"
    " AND NOT EXISTS (SELECT 1 FROM action WHERE takes_back = a.id AND state IN ('done', 'undone')"
    f" AND at < a.at + {UNDO_SECONDS}) GROUP BY 2, 3"
)

How = Callable[[str, str], str]
"""From a kind and the reason that an action gives to one of a few words for it."""


class Tally(NamedTuple):
    """What is counted: judged (verdict, how), moved (where to), learned (label, how), corrected (verdict, label)."""

    kind: str
    first: str
    second: str


class _Part(NamedTuple):
    """What some statements count: the actions behind the last one that is in the numbers kept, up to an end.

    note: where the last one is written down.
    """

    kinds: Sequence[str]
    note: str
    last: int
    end: int

    def begun(self) -> "_Part":
        """What is done of it in one transaction."""
        return self._replace(end=min(self.end, self.last + _STEP))


class Tallies:
    """Counts the actions of a ledger."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def read(self, how: How, now: float = math.inf) -> "Counter[Tally]":
        """All numbers, of what was done until now, in seconds since the epoch."""
        kept = Counter({Tally(*row[:3]): int(row[3]) for row in self._db.all("SELECT * FROM tally")})
        return sum((self._between(*part, how) for part in self._parts(now)), kept)

    def keep(self, how: How, now: float = math.inf) -> None:
        """Keep the numbers, so that the actions may be forgotten. Raises LedgerError."""
        while any(part.last < part.end for part in self._parts(now)):
            with self._db.transaction():
                parts = [part.begun() for part in self._parts(now)]  # another process may have been first
                new = sum((self._between(*part, how) for part in parts), Counter[Tally]())
                self._db.executemany(
                    "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                    [(*tally, number) for tally, number in new.items()],
                )
                self._db.executemany(
                    "INSERT OR REPLACE INTO note VALUES (?, ?)", [(part.note, str(part.end)) for part in parts]
                )

    def _parts(self, now: float) -> "list[_Part]":
        """What is not kept yet."""
        last, settled = self._last(_LAST, 0), self._settled()
        corrected = self._last(_LAST_CORRECTED, last)
        stood = min(settled, self._stood(corrected, now))
        return [
            _Part(_KINDS, _LAST, last, max(last, settled)),
            _Part((_CORRECTED,), _LAST_CORRECTED, corrected, max(corrected, stood)),
        ]

    def _last(self, note: str, otherwise: int) -> int:
        row = self._db.row("SELECT value FROM note WHERE name = ?", (note,))
        return otherwise if row is None else int(row[0])

    def _stood(self, last: int, now: float) -> int:
        """The last action before the first of the last hour; what is a day ahead was done by a wrong clock."""
        first = "SELECT min(id) FROM action WHERE id > ? AND at > ? AND at < ?"
        (young,) = self._db.row(first, (last, now - UNDO_SECONDS, now + _DAY))
        return int(young) - 1 if young is not None else self._settled()

    def _settled(self) -> int:
        """The last action before the first open intent."""
        (last,) = self._db.row(
            "SELECT coalesce((SELECT min(id) - 1 FROM action WHERE state = 'intent'), (SELECT max(id) FROM action), 0)"
        )
        return int(last)

    def _between(self, kinds: Sequence[str], _: str, last: int, end: int, how: How) -> "Counter[Tally]":
        found: Counter[Tally] = Counter()
        for statement in kinds:
            for kind, first, second, number in self._db.all(statement, (last, end)):
                found[_tally(kind, first, second, how)] += number
        return found


def _tally(kind: str, first: str | int, second: str | int, how: How) -> Tally:
    """What a row counts; a label is a number in it."""
    words = Label(first).word if isinstance(first, int) else first
    if isinstance(second, int):
        return Tally(kind, words, Label(second).word)
    return Tally(kind, words, how(kind, second) if second else "")
