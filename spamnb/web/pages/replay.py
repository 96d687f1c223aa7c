"""What the filter would have done with the mail in the folders: the newest first, then all, beside the page."""

from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.evaluation.replayed import NOT_BEGUN, READ_ONLY, UNKNOWN, Lived, Mistake, Replayed, day
from spamnb.filter.explain import Named, named
from spamnb.web.http import Response
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_NAMED = 50  # letters or doubted messages in a list


class Mistakes(NamedTuple):
    """Mistakes of a life: their label, what they are, the first with their clues, and how many more there are."""

    label: str
    words: str
    some: list[tuple[Mistake, list[Named]]]
    more: int


def replay(visit: Visit) -> Response:
    """Return the page. The answer by all mail takes the place of the first one as soon as it is there."""
    if not visit.site.kept.has_replay:
        return visit.page("replay.html", title=_TITLE)
    newest, whole = visit.site.kept.replay(visit.config, visit.now, visit.after_answer)
    value = newest.value if whole.value is None else whole.value
    replayed = value if isinstance(value, Replayed) else None
    return visit.page(
        "replay.html",
        title=_TITLE,
        snapshot=whole if newest.is_current else newest,
        is_current=whole.is_current,
        is_whole=whole.value is not None,
        missing=value if isinstance(value, Label) else None,
        found=replayed,
        curve=None if replayed is None else _curve(replayed),
        not_begun=NOT_BEGUN,
        unknown=UNKNOWN,
        read_only=READ_ONLY,
        most=_NAMED,
        mistakes=_mistakes,
        day=day,
    )


def _curve(found: Replayed) -> Chart | None:
    """Draw the share of the spam of each month that a life caught; None for a few months."""
    if not found.months:
        return None
    lines = [(life.words, [(month.caught, month.spam) for month in life.months]) for life in found.lives]
    return charts.lines(lines, [month.name for month in found.months], "Spam caught, by month", "month")


def _mistakes(life: Lived) -> list[Mistakes]:
    kinds = (
        ("ham", "Wanted mail that it would have moved to Junk", life.moved),
        ("spam", "The first spam that it would have missed after it began", life.missed),
    )
    return [
        Mistakes(label, words, [(one, list(map(named, one.clues))) for one in some[:_NAMED]], len(some[_NAMED:]))
        for label, words, some in kinds
        if some
    ]


_TITLE = "What it would have done"
ROUTES = (Route("GET", "/replay", replay),)
