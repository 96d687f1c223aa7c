"""How often each kind of thing was done, ever: numbers that only grow, also when old actions are forgotten.

A tally is the number kept so far and the actions since then, so nothing has to be counted when an action is written. An
open intent is not counted yet, nor anything behind it: how it ends is not known.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from spamnb.label import Label
from spamnb.ledger.connection import Connection

_LAST = "tallied up to"  # a note: the last action that is in the numbers kept
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
    # What a person decided against a verdict: the one of that time.
    "SELECT 'corrected', said, after, count(*) FROM (SELECT a.after, (SELECT verdict FROM action"
    " WHERE message = a.message AND id < a.id AND verdict IS NOT NULL ORDER BY id DESC LIMIT 1) AS said"
    " FROM action AS a WHERE a.id > ? AND a.id <= ? AND a.kind = 'learned' AND a.after IS NOT NULL"
    " AND a.takes_back IS NULL AND NOT a.after_weak)"
    " WHERE said IS NOT NULL AND said <> iif(after = 1, 'spam', 'ham') GROUP BY 2, 3",
)

How = Callable[[str, str], str]
"""From a kind and the reason that an action gives to one of a few words for it."""


class Tally(NamedTuple):
    """What is counted: judged (verdict, how), moved (where to), learned (label, how), corrected (verdict, label)."""

    kind: str
    first: str
    second: str


class Tallies:
    """Counts the actions of a ledger."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def read(self, how: How) -> "Counter[Tally]":
        """All numbers, of what was done until now."""
        kept = Counter({Tally(*row[:3]): int(row[3]) for row in self._db.all("SELECT * FROM tally")})
        return kept + self._between(self._last(), self._settled(), how)

    def keep(self, how: How) -> None:
        """Keep the numbers, so that the actions may be forgotten. Raises LedgerError."""
        while (last := self._last()) < (end := self._settled()):
            with self._db.transaction():
                last, end = self._last(), min(end, self._last() + _STEP)  # another process may have been first
                new = self._between(last, end, how)
                self._db.executemany(
                    "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                    [(*tally, number) for tally, number in new.items()],
                )
                self._db.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (_LAST, str(max(last, end))))

    def _last(self) -> int:
        row = self._db.row("SELECT value FROM note WHERE name = ?", (_LAST,))
        return 0 if row is None else int(row[0])

    def _settled(self) -> int:
        """The last action before the first open intent."""
        (last,) = self._db.row(
            "SELECT coalesce((SELECT min(id) - 1 FROM action WHERE state = 'intent'), (SELECT max(id) FROM action), 0)"
        )
        return int(last)

    def _between(self, last: int, end: int, how: How) -> "Counter[Tally]":
        found: Counter[Tally] = Counter()
        for statement in _KINDS:
            for kind, first, second, number in self._db.all(statement, (last, end)):
                found[_tally(kind, first, second, how)] += number
        return found


def _tally(kind: str, first: str | int, second: str | int, how: How) -> Tally:
    """What a row counts; a label is a number in it."""
    words = Label(first).word if isinstance(first, int) else first
    if isinstance(second, int):
        return Tally(kind, words, Label(second).word)
    return Tally(kind, words, how(kind, second) if second else "")
