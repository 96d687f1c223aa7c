"""The mail of a filter that moves nothing yet: what came, and what the person moved to Junk.

No verdict counts. A filter that knows little is unsure about everything, or takes nearly everything for spam.
"""

from collections.abc import Sequence
from typing import NamedTuple

from spamnb.base.wording import plural
from spamnb.ledger.ledger import Ledger
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart


class FirstWeek(NamedTuple):
    """What came in some days, and how much of it the person called spam. today: both numbers of today.

    junk: the folder for spam. by_day: the same as a chart.
    """

    came: int
    moved: int
    today: tuple[int, int]
    junk: str
    by_day: Chart

    @property
    def words(self) -> str:
        """The mail of today in a few words, if any came.

        >>> FirstWeek(60, 20, (30, 10), "Junk", charts.received([], [], "")).words
        'Today 30 messages came, you moved 10 to Junk'
        """
        came, moved = self.today
        return f"Today {plural(came, 'message')} came{f', you moved {moved:,} to {self.junk}' if moved else ''}"


def first_week(
    ledger: Ledger, bounds: Sequence[float], names: Sequence[str], today: tuple[float, float], junk: str
) -> FirstWeek:
    """Return the mail of some days. bounds: where each begins, and where the last ends; today: the same of today."""
    spans = ledger.figures.received(bounds)
    (of_today,) = ledger.figures.received(today)
    return FirstWeek(
        sum(span.messages for span in spans),
        sum(span.called_spam for span in spans),
        (of_today.messages, of_today.called_spam),
        junk,
        charts.received(spans, names, f"What came, and what you moved to {junk}, by day"),
    )
