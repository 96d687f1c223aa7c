"""How much was judged, how surely, and how often a person has decided otherwise: sums, at any number of messages."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spamnb.base.label import Label, Verdict
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.derived import QUARTER, UNDECIDED, proofs


@dataclass(frozen=True, slots=True)
class Judged:
    """Messages that were judged in a span of time, [since, until), in seconds since the epoch.

    ham, unsure, spam: by the verdict. What a person has decided since: lost, ham that was called spam; missed, spam
    that was called ham; settled, unsure mail that is one or the other.
    """

    since: float
    until: float
    ham: int = 0
    unsure: int = 0
    spam: int = 0
    lost: int = 0
    missed: int = 0
    settled: int = 0

    @property
    def messages(self) -> int:
        """All that were judged."""
        return self.ham + self.unsure + self.spam

    @property
    def corrected(self) -> int:
        """Verdicts against which a person has decided."""
        return self.lost + self.missed


@dataclass(frozen=True, slots=True)
class Bin:
    """Judged messages whose probability of spam was in [low, high), or [low, high] for the last bin.

    ham, spam: by what a person has decided. undecided: the others.
    """

    low: float
    high: float
    ham: int = 0
    spam: int = 0
    undecided: int = 0

    @property
    def messages(self) -> int:
        """All of them."""
        return self.ham + self.spam + self.undecided


@dataclass(frozen=True, slots=True)
class Corrected:
    """Messages that were judged in a span that ends before `until`, seconds since the epoch; corrected: of these."""

    until: float
    messages: int
    corrected: int


_OF_DAY = "FROM judged_quarter WHERE quarter >= 96 * day AND quarter < 96 * (day + 1)"
# A day after the other, each by the key of the table: GROUP BY would sort all quarters, in twice the time and 2 MB.
_BY_DAY = f"""
    WITH RECURSIVE one (day) AS (
        SELECT min(quarter) / 96 FROM judged_quarter
        UNION ALL
        SELECT (SELECT min(quarter) / 96 FROM judged_quarter WHERE quarter >= 96 * (day + 1)) FROM one
        WHERE day IS NOT NULL
    )
    SELECT day, (SELECT sum(number) {_OF_DAY}), (SELECT coalesce(sum(number), 0) {_OF_DAY}
        AND (verdict = 'spam' AND decided = 0 OR verdict = 'ham' AND decided = 1))
    FROM one WHERE day IS NOT NULL"""  # noqa: S608 - no text from outside


class Figures:
    """Numbers of judged messages."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def judged(self, bounds: Sequence[float]) -> list[Judged]:
        """What was judged between each of these times and the next: n bounds, ascending, give n - 1 spans.

        Exact where each bound is at a full quarter of an hour (UTC), as every midnight is; else as at the one before.
        """
        select = (
            "SELECT verdict, decided, sum(number) FROM judged_quarter WHERE quarter >= ? AND quarter < ?"
            " GROUP BY verdict, decided"
        )
        return [
            _judged(since, until, self._db.all(select, (since // QUARTER, until // QUARTER)))
            for since, until in pairwise(bounds)
        ]

    def probabilities(self, bins: int = 1000) -> list[Bin]:
        """All judged messages by the probability of their verdict, in bins of equal width; a divisor of 1000."""
        rows = self._db.all(
            "SELECT thousandth * ? / 1000, decided, sum(number) FROM judged_probability GROUP BY 1, 2", (bins,)
        )
        found = {(place, decided): number for place, decided, number in rows}
        return [
            Bin(
                place / bins,
                (place + 1) / bins,
                *(found.get((place, decided), 0) for decided in (Label.HAM, Label.SPAM, UNDECIDED)),
            )
            for place in range(bins)
        ]

    def corrections(self, least: int) -> list[Corrected]:
        """How much of what was judged was corrected since, in spans of whole days (UTC) of at least so many messages.

        What was judged last may be fewer.
        """
        spans: list[Corrected] = []
        for day, messages, corrected in self._db.all(_BY_DAY):
            last = spans.pop() if spans and spans[-1].messages < least else Corrected(0.0, 0, 0)
            spans.append(Corrected((day + 1) * 96.0 * QUARTER, last.messages + messages, last.corrected + corrected))
        return spans

    def faults(self) -> list[str]:
        """What is wrong with these sums; nothing if each is what the messages give."""
        return [
            f"{table}: {row} is not the sum over the messages, or is missing"
            for table, statement in proofs()
            for row in self._db.all(statement)
        ]


def _judged(since: float, until: float, rows: Sequence[tuple[str, int, int]]) -> Judged:
    numbers = Counter[tuple[str, int]]()
    for verdict, decided, number in rows:
        numbers[verdict, decided] += number
    by_verdict = {one: sum(numbers[one, decided] for decided in (*Label, UNDECIDED)) for one in Verdict}
    return Judged(
        since,
        until,
        ham=by_verdict[Verdict.HAM],
        unsure=by_verdict[Verdict.UNSURE],
        spam=by_verdict[Verdict.SPAM],
        lost=numbers[Verdict.SPAM, Label.HAM],
        missed=numbers[Verdict.HAM, Label.SPAM],
        settled=numbers[Verdict.UNSURE, Label.HAM] + numbers[Verdict.UNSURE, Label.SPAM],
    )
