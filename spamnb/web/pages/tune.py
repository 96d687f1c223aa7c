"""What other cutoffs would do to one's own mail, how true the probabilities are, and what learning has brought."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from spamnb.base.wording import plural
from spamnb.config import Scoring
from spamnb.evaluation.measures import wilson
from spamnb.evaluation.tuning import CUTOFFS, AtCutoff, at_cutoffs, calibration, lost_at
from spamnb.ledger.history.figures import Bin, Corrected
from spamnb.ledger.ledger import Ledger
from spamnb.review.own_mail import OwnMail
from spamnb.web.http import HttpError, Response
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart, Point
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 20  # ham that a cutoff would lose
_BINS = 1000  # of the probabilities: no cutoff that is offered lies within one
_WINDOW, _POINTS = 200, 40  # messages of a point of the learning curve at least, and about how many points at most


@dataclass(frozen=True, slots=True)
class Row:
    """A cutoff with what it does, as a row of the table; bars: of the ham lost and of the spam caught."""

    at: AtCutoff
    said: str
    yaml: str
    bars: tuple[Markup, Markup]


def tune(visit: Visit) -> Response:
    """The cutoffs."""
    ledger, scoring = visit.ledger, visit.config.scoring
    looked = visit.site.own_mail.look(ledger, scoring)
    if not looked.is_current:
        visit.after.append(lambda: visit.site.own_mail.judge(ledger.path, scoring))
    mail = looked.mail
    if mail is None or not _has_both(mail):
        return visit.page("tune.html", title="Tune", looked=looked, rows=[], has_both=mail is None)
    rows = _rows(mail, scoring)
    chosen = _chosen(visit, rows, scoring.spam_cutoff)
    return visit.page(
        "tune.html",
        title="Tune",
        looked=looked,
        has_both=True,
        rows=rows,
        chosen=chosen,
        lost=_lost(ledger, mail, rows[chosen].at.cutoff),
        in_force=scoring.spam_cutoff,
        for_script=[{"cut": f"{row.at.cutoff:g}", "said": row.said, "yaml": row.yaml} for row in rows],
        as_judged=_as_judged(ledger.figures.probabilities(_BINS), [row.at.cutoff for row in rows]),
        calibration=_calibration(mail),
        curve=_curve(ledger, mail),
    )


def _has_both(mail: OwnMail) -> bool:
    return bool(mail.is_spam.any() and not mail.is_spam.all())


def _rows(mail: OwnMail, scoring: Scoring) -> list[Row]:
    cutoffs = sorted({*CUTOFFS, scoring.spam_cutoff})
    found = at_cutoffs(mail.is_spam, mail.probability, cutoffs)
    most = max(one.lost for one in found)
    return [
        Row(
            one,
            _said(one),
            f"scoring:\n  spam_cutoff: {one.cutoff:g}",
            (
                charts.small_bar(one.lost / most if most else 0.0, "ham"),
                charts.small_bar(one.caught / one.spam, "spam"),
            ),
        )
        for one in found
    ]


def _said(one: AtCutoff) -> str:
    """What a cutoff does, in a sentence.

    >>> _said(AtCutoff(0.95, 1011, 0, 467, 450))
    'At 0.95: 0 of 1,011 ham lost (with 95 % certainty at most 4 in 1,000), 450 of 467 spam caught (96.4 %).'
    """
    return (
        f"At {one.cutoff:g}: {one.lost:,} of {one.ham:,} ham lost (with 95 % certainty at most"
        f" {max(1, round(10 * one.lost_share.high)):,} in 1,000), {one.caught:,} of {one.spam:,} spam caught"
        f" ({100 * one.caught / one.spam:.1f} %)."
    )


def _chosen(visit: Visit, rows: Sequence[Row], in_force: float) -> int:
    """The row that is asked for by its number, or that of the cutoff in force."""
    number = visit.request.query.number("at")
    if number is None:
        return next(place for place, row in enumerate(rows) if row.at.cutoff == in_force)
    if number >= len(rows):
        raise HttpError(404, "There is no such cutoff.", "Go back, and choose one of the list.")
    return number


def _lost(ledger: Ledger, mail: OwnMail, cutoff: float) -> list[tuple[int, str, float]]:
    """The ham that a cutoff loses: number in the history, summary, and probability."""
    found = []
    for place in lost_at(mail.is_spam, mail.probability, cutoff)[:_SHOWN]:
        if (known := ledger.messages.find(mail.digests[place])) is not None:
            found.append((known.id, known.summary, float(mail.probability[place])))
    return found


def _as_judged(bins: Sequence[Bin], cutoffs: Sequence[float]) -> list[tuple[float, int, int, int]]:
    """For each cutoff the messages that were judged above it: those that a person has called ham, spam, or neither."""
    found = []
    for cutoff in cutoffs:
        above = [one for one in bins if round(one.low, 3) >= cutoff]
        numbers = (sum(one.ham for one in above), sum(one.spam for one in above), sum(one.undecided for one in above))
        found.append((cutoff, *numbers))
    return found


def _calibration(mail: OwnMail) -> Chart:
    points = [
        Point(
            one.mean,
            one.share.value / 100,
            one.share.low / 100,
            one.share.high / 100,
            one.messages,
            f"{100 * one.low:.0f} % to {100 * one.high:.0f} %",
        )
        for one in calibration(mail.is_spam, mail.probability)
    ]
    return charts.calibration(points, "How much of the mail of each probability is spam")


def _curve(ledger: Ledger, mail: OwnMail) -> Chart | None:
    """How much of what was judged was corrected, as more was learned; None before enough was judged."""
    total = sum(ledger.messages.numbers().values())
    spans = ledger.figures.corrections(max(_WINDOW, total // _POINTS))
    if len(spans) < 2:
        return None
    last = max(1, len(spans) - 1)
    points = [_span(one, place / last, mail) for place, one in enumerate(spans)]
    highest = max(0.01, *(one.high for one in points))
    return charts.curve(points, "Verdicts that you corrected, as more was learned", highest)


def _span(one: Corrected, at: float, mail: OwnMail) -> Point:
    share = wilson(one.corrected, one.messages)
    learned = mail.learned - int(np.count_nonzero(mail.learned_at > one.until))
    label = f"{plural(learned, 'message')} learned"
    return Point(at, share.value / 100, share.low / 100, share.high / 100, one.messages, label)


ROUTES = (Route("GET", "/tune", tune),)
