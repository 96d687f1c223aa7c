"""The effect of other cutoffs on a person's own mail, how true the probabilities are, and the effect of learning."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from spamnb.acts.choices import is_written
from spamnb.base.label import Label
from spamnb.base.wording import escaped, plural
from spamnb.config.chosen import cutoff_of
from spamnb.evaluation.cutoffs import CUTOFFS, AtCutoff, at_cutoffs, lost_at
from spamnb.evaluation.measures import Measure, calibration_bins, wilson
from spamnb.ledger.history.figures import Bin, Corrected
from spamnb.ledger.ledger import Ledger
from spamnb.review.misfiled import Doubts, still_asked
from spamnb.review.own_mail import OwnMail
from spamnb.web.http import HttpError, Response
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart, Point
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 20  # ham that a cutoff would lose
_BINS = 1000  # of the probabilities: each offered cutoff is the border of a bin
_WINDOW, _POINTS = 200, 40  # of the learning curve: at least 200 messages per point, and about 40 points at most


@dataclass(frozen=True, slots=True)
class Row:
    """A cutoff with its effect, as a row of the table. bar: the share of caught spam."""

    at: AtCutoff
    sentence: str
    bar: Markup


def tune(visit: Visit) -> Response:
    """Return the page with the cutoffs."""
    ledger, scoring = visit.ledger, visit.config.scoring
    snapshot = visit.site.kept.own_mail(ledger, scoring, visit.after)
    mail = snapshot.value
    if mail is None or not _has_both(mail):
        return visit.page("tune.html", title="Tune", snapshot=snapshot, rows=[], has_both=mail is None)
    asked = _asked(visit, scoring.spam_cutoff)
    rows = _rows(mail, {*CUTOFFS, scoring.spam_cutoff, asked})
    chosen = next(place for place, row in enumerate(rows) if row.at.cutoff == asked)
    return visit.page(
        "tune.html",
        title="Tune",
        snapshot=snapshot,
        has_both=True,
        rows=rows,
        chosen=chosen,
        lost=_lost(ledger, mail, asked),
        in_force=scoring.spam_cutoff,
        is_written=is_written(visit.config, "spam_cutoff"),
        choice=next((choice for choice in ledger.choices.newest() if choice.kind == "spam_cutoff"), None),
        doubts=Doubts.of(still_asked(ledger, mail.findings)),
        for_script=[{"cut": f"{row.at.cutoff:g}", "said": row.sentence} for row in rows],
        as_judged=_as_judged(ledger.figures.probabilities(_BINS), [row.at.cutoff for row in rows]),
        calibration=_reliability(mail),
        curve=_curve(ledger, mail),
    )


def _has_both(mail: OwnMail) -> bool:
    return bool(mail.is_spam.any() and not mail.is_spam.all())


def _rows(mail: OwnMail, cutoffs: Iterable[float]) -> list[Row]:
    rows = []
    for effect in at_cutoffs(mail.is_spam, mail.probability, sorted(cutoffs)):
        rows.append(Row(effect, _sentence(effect), charts.small_bar(effect.caught / effect.spam, "spam")))
    return rows


def _sentence(effect: AtCutoff) -> str:
    """Return the effect of a cutoff, in a sentence.

    >>> _sentence(AtCutoff(0.95, 1011, 0, 467, 450))
    'At 0.95: 0 of 1,011 ham lost, 0.0 per 1,000 (at most 4, with 95 % certainty); 450 of 467 spam caught, 96.4 %.'
    """
    lost = effect.lost_share
    return (
        f"At {effect.cutoff:g}: {effect.lost:,} of {effect.ham:,} ham lost, {10 * lost.value:.1f} per 1,000 (at most"
        f" {max(1, round(10 * lost.high)):,}, with 95 % certainty); {effect.caught:,} of {effect.spam:,} spam caught,"
        f" {effect.caught_share.value:.1f} %."
    )


def _asked(visit: Visit, in_force: float) -> float:
    """Return the cutoff of the request, with the six digits that the page shows, or the one in force."""
    text = visit.request.query.text("cut") or f"{in_force:g}"
    try:
        asked = float(f"{cutoff_of('spam_cutoff', text):g}")
        return in_force if asked == float(f"{in_force:g}") else asked
    except ValueError as fault:
        raise HttpError(400, escaped(str(fault)), "Go back, and write another cutoff.") from None


def _lost(ledger: Ledger, mail: OwnMail, cutoff: float) -> list[tuple[int, str, float]]:
    """Return the ham that a cutoff loses: number in the history, summary, and probability. Skip corrected messages."""
    rows = []
    for place in lost_at(mail.is_spam, mail.probability, cutoff):
        message = ledger.messages.find(mail.digests[place])
        if message is not None and message.label is Label.HAM:
            rows.append((message.id, message.summary, float(mail.probability[place])))
            if len(rows) == _SHOWN:
                break
    return rows


def _as_judged(bins: Sequence[Bin], cutoffs: Sequence[float]) -> list[tuple[float, int, int, int]]:
    """Return for each cutoff the messages judged above it: how many a person called ham, spam, or neither."""
    rows = []
    for cutoff in cutoffs:
        above = [part for part in bins if round(part.low, 3) >= cutoff]
        ham, spam = sum(part.ham for part in above), sum(part.spam for part in above)
        rows.append((cutoff, ham, spam, sum(part.undecided for part in above)))
    return rows


def _reliability(mail: OwnMail) -> Chart:
    points = [
        _point(part.mean, part.share, part.messages, f"{100 * part.low:.0f} % to {100 * part.high:.0f} %")
        for part in calibration_bins(mail.is_spam, mail.probability)
    ]
    return charts.diagonal(points, "How much of the mail of each probability is spam")


def _curve(ledger: Ledger, mail: OwnMail) -> Chart | None:
    """Draw the share of corrected verdicts as the filter learned more; None before there are enough verdicts."""
    total = sum(ledger.messages.numbers().values())
    spans = ledger.figures.corrections(max(_WINDOW, total // _POINTS))
    if len(spans) < 2:
        return None
    last = max(1, len(spans) - 1)
    points = [_corrected(span, place / last, mail) for place, span in enumerate(spans)]
    highest = max(0.01, *(point.high for point in points))
    return charts.curve(points, "Verdicts that you corrected, as more was learned", highest)


def _corrected(span: Corrected, at: float, mail: OwnMail) -> Point:
    learned = mail.learned - int(np.count_nonzero(mail.learned_at > span.until))
    return _point(at, wilson(span.corrected, span.messages), span.messages, f"{plural(learned, 'message')} learned")


def _point(at: float, share: Measure, messages: int, label: str) -> Point:
    return Point(at, share.value / 100, share.low / 100, share.high / 100, messages, label)


ROUTES = (Route("GET", "/tune", tune),)
