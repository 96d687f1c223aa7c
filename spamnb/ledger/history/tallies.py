"""How often each kind of action ever happened: numbers that only grow, even when old actions are forgotten.

A tally is the kept number plus the actions since then, so writing an action counts nothing. An open intent, and
everything after it, is not counted yet: its end is unknown. Corrections of the last hour are not counted either: they
may be taken back.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.corrections import UNDO_SECONDS, sql_is_correction
from spamnb.ledger.history.state import State

_DAY = 86_400.0
_STEP = 20_000  # actions per transaction; a few tens of milliseconds
_KINDS = (
    # Judgements: once per message that came, not again when a withheld one is looked at a second time.
    "SELECT 'judged', a.verdict, a.how, count(*) FROM action AS a WHERE a.id > ? AND a.id <= ?"
    " AND a.kind IN ('judged', 'moved') AND a.verdict IS NOT NULL AND a.takes_back IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM action WHERE message = a.message AND id < a.id AND state = 'withheld')"
    " GROUP BY 2, 3",
    # The destination: to which a verdict has led; or back to the inbox; or, for a move on from a training
    # folder, by the label at that time. By today's label, a number could get smaller.
    "SELECT 'moved', CASE WHEN a.takes_back IS NOT NULL THEN 'inbox' WHEN a.goal IS NOT NULL THEN a.goal"
    " WHEN (SELECT after FROM action WHERE message = a.message AND id < a.id AND kind = 'learned'"
    " ORDER BY id DESC LIMIT 1) = 1 THEN 'spam' ELSE 'inbox' END, '', count(*)"
    " FROM action AS a WHERE a.id > ? AND a.id <= ? AND a.kind = 'moved' AND a.state IN ('done', 'undone') GROUP BY 2",
    "SELECT 'learned', a.after, a.how, count(*) FROM action AS a WHERE a.id > ? AND a.id <= ?"
    " AND a.kind = 'learned' AND a.after IS NOT NULL AND a.takes_back IS NULL GROUP BY 2, 3",
)
# By the verdict at that time. A decision that was taken back within the hour never counts, and one of the last hour
# waits: a published number cannot get smaller.
_CORRECTED = (
    "SELECT 'corrected', said, after, count(*) FROM (SELECT *, (SELECT verdict FROM action"  # noqa: S608 - no text from outside
    " WHERE message = a.message AND id < a.id AND verdict IS NOT NULL ORDER BY id DESC LIMIT 1) AS said"
    f" FROM action AS a WHERE id > ? AND id <= ? AND kind = 'learned') AS a WHERE {sql_is_correction('said')}"
    " AND NOT EXISTS (SELECT 1 FROM action WHERE takes_back = a.id AND state IN ('done', 'undone')"
    f" AND at < a.at + {UNDO_SECONDS}) GROUP BY 2, 3"
)


class Tally(NamedTuple):
    """A counted kind: judged (verdict, how), moved (where to), learned (label, how), corrected (verdict, label)."""

    kind: str
    first: str
    second: str


class CountedUpTo(NamedTuple):
    """The last counted actions: `corrections` for corrections, `others` for all else."""

    others: int
    corrections: int


class Tallies:
    """Counts the actions of a ledger.

    `State.tallied` is one cursor for all numbers, although only corrections wait for an hour. So each reading counts
    the later actions anew, in 4 ms if 10,000 messages were learned in the last hour.
    """

    def __init__(self, connection: Connection, state: State) -> None:
        self._db = connection
        self._state = state

    def read(self, now: float = math.inf) -> "Counter[Tally]":
        """Return all numbers for the actions until now, in seconds since the epoch."""
        kept = Counter({Tally(*row[:3]): int(row[3]) for row in self._db.all("SELECT * FROM tally")})
        last = self._state.tallied
        return kept + self.since(CountedUpTo(last, last), now)[0]

    def counted_up_to(self, now: float) -> CountedUpTo:
        """Return up to which actions counting has come, for the first call of `since`."""
        return self._end(self._state.tallied, now)

    def since(self, last: CountedUpTo, now: float) -> tuple["Counter[Tally]", CountedUpTo]:
        """Return the numbers since the last call, and `last` for the next call, so that nothing counts twice."""
        here = self._end(last.corrections, now)
        done = self._between(_KINDS, last.others, here.others)
        return done + self._between([_CORRECTED], last.corrections, here.corrections), here

    def keep(self, now: float = math.inf) -> None:
        """Keep the numbers, so that the actions may be forgotten. Raises LedgerError."""
        while (last := self._state.tallied) < self._end(last, now).corrections:
            with self._db.transaction():
                last = self._state.tallied  # another process may have been first
                end = min(max(last, self._end(last, now).corrections), last + _STEP)
                new = self._between([*_KINDS, _CORRECTED], last, end)
                self._db.executemany(
                    "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                    [(*tally, number) for tally, number in new.items()],
                )
                self._state.tallied = end

    def _end(self, last: int, now: float) -> CountedUpTo:
        """Return how far one may count now: up to the first open intent; for corrections, up to the last hour.

        last: where counting has come. An action dated a day ahead comes from a wrong clock.
        """
        ended = self._last_ended()
        first = "SELECT min(id) FROM action WHERE id > ? AND at > ? AND at < ?"
        (young,) = self._db.row(first, (last, now - UNDO_SECONDS, now + _DAY))
        return CountedUpTo(ended, ended if young is None else min(ended, int(young) - 1))

    def _last_ended(self) -> int:
        """Return the last action before the first open intent."""
        (last,) = self._db.row(
            "SELECT coalesce((SELECT min(id) - 1 FROM action WHERE state = 'intent'), (SELECT max(id) FROM action), 0)"
        )
        return int(last)

    def _between(self, kinds: Sequence[str], last: int, end: int) -> "Counter[Tally]":
        counted: Counter[Tally] = Counter()
        for statement in kinds:
            for kind, first, second, number in self._db.all(statement, (last, end)):
                counted[Tally(kind, _word(first), _word(second))] += number
        return counted


def _word(value: str | int) -> str:
    """Return the value of a row as a word; in the table a label is a number."""
    return Label(value).word if isinstance(value, int) else value
