"""How much was judged in a span of time, how surely, and how often a person has decided otherwise.

Each figure comes from the index `message_judged`, which has all columns it needs. SQLite groups nothing, since it would
first sort everything: for 58,000 messages that took 6 MB, which the pages did not give back. For 200,000 messages
judged in a year the figures of all days take 31 ms, and their probabilities 82 ms (for 30 days: 3 and 7).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spamnb.base.label import Label, Verdict
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.corrections import sql_contradicts
from spamnb.ledger.history.messages import FIRST_JUDGED

_DAY = 86_400
_LATELY = 14 * _DAY  # shorter, a holiday would count for much; longer, it is a habit of the past
_FEWEST = 2  # messages that tell how many come


@dataclass(frozen=True, slots=True)
class Judged:
    """Messages that were judged in a span of time, [since, until), in seconds since the epoch.

    ham, unsure, spam: by the verdict. By a person's later decision: lost, ham that was called spam; missed, spam that
    was called ham.
    """

    since: float
    until: float
    ham: int = 0
    unsure: int = 0
    spam: int = 0
    lost: int = 0
    missed: int = 0

    @property
    def messages(self) -> int:
        """The number of judged messages."""
        return self.ham + self.unsure + self.spam

    @property
    def corrected(self) -> int:
        """The number of verdicts that a person has corrected."""
        return self.lost + self.missed


@dataclass(frozen=True, slots=True)
class Received:
    """Messages that were judged in a span of time, as in `Judged`; called_spam: how many of these a person calls spam.

    No verdict counts: this holds for a filter that knows nothing yet, too.
    """

    since: float
    until: float
    messages: int
    called_spam: int


@dataclass(frozen=True, slots=True)
class Caught:
    """Spam that was judged in a span of time, as in `Judged`; caught: the part with that verdict.

    Spam is what the filter or a person calls so; a person's word counts more. As long as the filter moves nothing, only
    a person's word counts. would: what the filter called spam then, too, and so would have caught.
    """

    since: float
    until: float
    caught: int
    would: int
    spam: int


@dataclass(frozen=True, slots=True)
class Bin:
    """Judged messages whose probability of spam was in [low, high), or [low, high] for the last bin.

    ham, spam: by a person's decision. undecided: the others. verdicts: how many were judged ham, unsure, spam.
    """

    low: float
    high: float
    ham: int = 0
    spam: int = 0
    undecided: int = 0
    verdicts: tuple[int, int, int] = (0, 0, 0)

    @property
    def messages(self) -> int:
        """The number of messages."""
        return self.ham + self.spam + self.undecided


@dataclass(frozen=True, slots=True)
class Corrected:
    """Messages that were judged in a span that ends before `until`, seconds since the epoch; corrected: of these."""

    until: float
    messages: int
    corrected: int


_SPAN = "FROM message WHERE judged_at >= ? AND judged_at < ?"
_AGAINST = sql_contradicts("verdict", "label", "weak")
_JUDGED = (
    "SELECT count(*) FILTER (WHERE verdict = 'ham'), count(*) FILTER (WHERE verdict = 'unsure'),"
    f" count(*) FILTER (WHERE verdict = 'spam'), count(*) FILTER (WHERE verdict = 'spam' AND {_AGAINST}),"
    f" count(*) FILTER (WHERE verdict = 'ham' AND {_AGAINST}) {_SPAN}"
)
_RECEIVED = f"SELECT count(*), count(*) FILTER (WHERE label = 1 AND NOT weak) {_SPAN}"
_CAME = (
    "SELECT count(*) FILTER (WHERE iif(label IS NULL, verdict = 'ham', label = 0)),"
    f" count(*) FILTER (WHERE iif(label IS NULL, verdict = 'spam', label = 1)) {_SPAN}"
)
# For a month of 58,000 messages in a year this takes 1.1 ms, and the next 2.0 ms.
_FIRST_UNSURE = (
    "SELECT count(*) FROM message AS m WHERE m.judged_at >= ? AND m.verdict = 'unsure' AND m.sender IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM message WHERE sender = m.sender AND id < m.id)"
)
_OF_LISTS = "SELECT count(*) FROM message WHERE judged_at >= ? AND list IS NOT NULL AND verdict <> 'spam'"
_CAUGHT = (
    f"SELECT count(*) FILTER (WHERE verdict = 'spam' AND judged_at > ?1 AND NOT {_AGAINST}),"
    " count(*) FILTER (WHERE verdict = 'spam' AND judged_at <= ?1 AND label = 1 AND NOT weak),"
    f" count(*) FILTER (WHERE iif(label IS NULL OR weak, verdict = 'spam' AND judged_at > ?1, label)) {_SPAN}"
)
_BINS = f"SELECT min(CAST(probability * ? AS INTEGER), ?), iif(weak, NULL, label), verdict {_SPAN}"
_VERDICTS = (Verdict.HAM, Verdict.UNSURE, Verdict.SPAM)
_DAYS = f"SELECT CAST(judged_at / {_DAY} AS INTEGER), {_AGAINST} FROM message WHERE judged_at IS NOT NULL"  # noqa: S608


class Figures:
    """Numbers of judged messages."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def judged(self, bounds: Sequence[float], after: float = -math.inf) -> list[Judged]:
        """Return what was judged between each of these times and the next: n bounds, ascending, give n - 1 spans.

        after: verdicts up to this time do not count.
        """
        return [
            Judged(since, until, *self._db.row(_JUDGED, (max(since, math.nextafter(after, math.inf)), until)))
            for since, until in pairwise(bounds)
        ]

    def received(self, bounds: Sequence[float]) -> list[Received]:
        """Return what came between each of these times and the next, as in `judged`, without any verdict."""
        return [Received(*span, *self._db.row(_RECEIVED, span)) for span in pairwise(bounds)]

    def weekly(self, now: float) -> tuple[int, int]:
        """Return how many ham and spam messages come in a week, by the last two weeks; 0 for too few to tell.

        A message counts by its label, and if it has none, by its verdict. Less than a day of judging tells nothing.
        """
        (first,) = self._db.row(FIRST_JUDGED)
        since = max(first or now, now - _LATELY)
        if now - since < _DAY:
            return 0, 0
        ham, spam = (
            max(1, round(number * 7 * _DAY / (now - since))) if number >= _FEWEST else 0
            for number in self._db.row(_CAME, (since, now))
        )
        return ham, spam

    def first_letters_unsure(self, since: float) -> int:
        """Return how many messages judged since a time were unsure, and the first of their sender."""
        return int(self._db.row(_FIRST_UNSURE, (since,))[0])

    def of_lists(self, since: float) -> int:
        """Return how many messages judged since a time came over a mailing list, without spam."""
        return int(self._db.row(_OF_LISTS, (since,))[0])

    def caught(self, bounds: Sequence[float], begun_at: float) -> list[Caught]:
        """Return how much spam was caught between each of these times and the next, as in `judged`.

        begun_at: the filter moved none of the mail that was judged until then; seconds since the epoch.
        """
        return [Caught(*span, *self._db.row(_CAUGHT, (begun_at, *span))) for span in pairwise(bounds)]

    def probabilities(self, bins: int, since: float = -math.inf, until: float = math.inf) -> list[Bin]:
        """Return the messages judged in a span by the probability of their verdict, in `bins` bins of equal width."""
        decided, judged = Counter[tuple[int, int | None]](), Counter[tuple[int, str]]()
        met = Counter(self._db.rows(_BINS, (bins, bins - 1, since, until)))
        for (place, label, verdict), number in met.items():
            decided[place, label] += number
            judged[place, verdict] += number
        return [
            Bin(
                place / bins,
                (place + 1) / bins,
                decided[place, Label.HAM],
                decided[place, Label.SPAM],
                decided[place, None],
                (judged[place, _VERDICTS[0]], judged[place, _VERDICTS[1]], judged[place, _VERDICTS[2]]),
            )
            for place in range(bins)
        ]

    def corrections(self, least: int) -> list[Corrected]:
        """Return how many verdicts were corrected, in spans of whole days (UTC) of at least `least` judged messages.

        The last span may have fewer.
        """
        numbers, spans = Counter(self._db.rows(_DAYS)), list[Corrected]()
        for day in sorted({day for day, _ in numbers}):
            last = spans.pop() if spans and spans[-1].messages < least else Corrected(0.0, 0, 0)
            corrected = numbers[day, 1]
            messages = numbers[day, 0] + corrected
            spans.append(Corrected((day + 1.0) * _DAY, last.messages + messages, last.corrected + corrected))
        return spans
