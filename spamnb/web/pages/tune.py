"""The effect of other cutoffs on a person's own mail, how true the probabilities are, and the effect of learning."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spamnb.acts.choices import is_written
from spamnb.base.label import Label
from spamnb.base.wording import escaped, plural
from spamnb.config.chosen import FOLDERS, cutoff_of
from spamnb.evaluation.cutoffs import CUTOFFS, NOT_SEEN, AtCutoff, at_cutoffs, lost_at
from spamnb.evaluation.measures import Measure, calibration_bins, wilson
from spamnb.evaluation.strictness import levels
from spamnb.ledger.history.figures import Bin, Corrected
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.apart import offers
from spamnb.review.misfiled import Doubts, still_asked
from spamnb.review.own_mail import OwnMail
from spamnb.web.http import HttpError, Response
from spamnb.web.parts import charts
from spamnb.web.parts.charts import Chart, Point
from spamnb.web.parts.choice_words import choice_in_words
from spamnb.web.parts.hills import Dot, hills, slider_cutoffs, x_of
from spamnb.web.rendering import percent, printable
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 20  # wanted messages that a cutoff would move
_FROM = 0.5  # wanted mail of a higher probability is a dot on the chart
_BINS = 1000  # of the probabilities: each offered cutoff is the border of a bin
_WINDOW, _POINTS = 200, 40  # of the learning curve: at least 200 messages per point, and about 40 points at most


@dataclass(frozen=True, slots=True)
class Row:
    """A cutoff with its effect, as a row of the table."""

    at: AtCutoff
    sentence: str


def tune(visit: Visit) -> Response:
    """Return the page with the cutoffs."""
    ledger, scoring = visit.ledger, visit.config.scoring
    snapshot = visit.site.kept.own_mail(ledger, scoring, visit.after_answer)
    mail = snapshot.value
    if mail is None or not _has_both(mail):
        return visit.page("tune.html", title="How strict", snapshot=snapshot, rows=[], has_both=mail is None)
    asked = _asked(visit, scoring.spam_cutoff)
    rows = _rows(mail, {*CUTOFFS, scoring.spam_cutoff, asked})
    chosen = next(place for place, row in enumerate(rows) if row.at.cutoff == asked)
    steps = slider_cutoffs(scoring.spam_cutoff, asked)
    like_spam = _looks_like_spam(ledger, mail, min(_FROM, asked))
    return visit.page(
        "tune.html",
        title="How strict",
        snapshot=snapshot,
        has_both=True,
        rows=rows,
        chosen=chosen,
        step=steps.index(asked),
        levels=levels(mail.is_spam, mail.probability),
        chart_of_cutoffs=_hills(visit, mail, asked, like_spam),
        lost=[one for one in like_spam if one.probability >= asked],
        in_force=scoring.spam_cutoff,
        is_written=is_written(visit.config, "spam_cutoff"),
        choice=next((choice for choice in ledger.choices.newest() if choice.kind == "spam_cutoff"), None),
        chosen_folders=[
            (choice, choice_in_words(f"{choice.kind} {choice.value}"))
            for choice in ledger.choices.newest()
            if choice.kind in FOLDERS
        ],
        not_seen=NOT_SEEN,
        doubts=Doubts.of(still_asked(ledger, mail.findings)),
        for_script=[
            {"cut": f"{row.at.cutoff:g}", "said": row.sentence, "x": round(x_of(row.at.cutoff), 1)}
            for row in _rows(mail, steps)
        ],
        as_judged=_as_judged(ledger.figures.probabilities(_BINS), [row.at.cutoff for row in rows]),
        calibration=_reliability(mail),
        curve=_curve(ledger, mail),
        folder_offers=offers(ledger, visit.config, visit.now),
    )


def _has_both(mail: OwnMail) -> bool:
    return bool(mail.is_spam.any() and not mail.is_spam.all())


def _rows(mail: OwnMail, cutoffs: Iterable[float]) -> list[Row]:
    effects = at_cutoffs(mail.is_spam, mail.probability, sorted(cutoffs))
    return [Row(effect, _sentence(effect)) for effect in effects]


def _sentence(effect: AtCutoff) -> str:
    """Return the effect of a cutoff, in sentences.

    >>> _sentence(AtCutoff(0.95, 1011, 0, 467, 450))[:82]
    'At 0.95 the filter catches 450 of 467 spam, 96.4 %. Wanted mail moved to Junk: 0 o'
    >>> _sentence(AtCutoff(0.95, 1011, 0, 467, 450))[52:]
    'Wanted mail moved to Junk: 0 of 1,011 messages, and at most 4 of 1,000 with 95 % certainty.'
    """
    return (
        f"At {effect.cutoff:g} the filter catches {effect.caught:,} of {effect.spam:,} spam,"
        f" {effect.caught_share.value:.1f} %. Wanted mail moved to Junk: {effect.lost:,} of {effect.ham:,} messages,"
        f" and at most {max(1, round(10 * effect.lost_share.high)):,} of 1,000 with 95 % certainty."
    )


def _asked(visit: Visit, in_force: float) -> float:
    """Return the cutoff of the request, with the six digits that the page shows, or the one in force.

    Without a script the form has the number and the slider: the slider counts if it was moved.
    """
    query = visit.request.query
    step, text = query.number("step"), query.text("cut") or f"{in_force:g}"
    if step is not None and step != query.number("shown"):
        steps = slider_cutoffs(in_force)
        return steps[min(step, len(steps) - 1)]
    try:
        asked = float(f"{cutoff_of('spam_cutoff', text):g}")
        return in_force if asked == float(f"{in_force:g}") else asked
    except ValueError as fault:
        raise HttpError(400, escaped(str(fault)), "Go back, and write another cutoff.") from None


class LikeSpam(NamedTuple):
    """A ham that looks like spam. number: of its page in the history."""

    number: int
    summary: str
    probability: float


def _looks_like_spam(ledger: Ledger, mail: OwnMail, cutoff: float) -> list[LikeSpam]:
    """Return the ham that a cutoff would move to Junk, the most probable spam first. Skip corrected messages."""
    found = []
    for place in lost_at(mail.is_spam, mail.probability, cutoff):
        message = ledger.messages.find(mail.digests[place])
        if message is not None and message.label is Label.HAM:
            found.append(LikeSpam(message.id, message.summary, float(mail.probability[place])))
            if len(found) == _SHOWN:
                break
    return found


def _hills(visit: Visit, mail: OwnMail, cutoff: float, like_spam: Sequence[LikeSpam]) -> Chart:
    dots = [
        Dot(one.probability, visit.url(f"m/{one.number}"), f"{printable(one.summary, 100)}: {percent(one.probability)}")
        for one in like_spam
    ]
    return hills(mail.is_spam, mail.probability, cutoff, dots, "Your learned mail, from ham to spam")


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
