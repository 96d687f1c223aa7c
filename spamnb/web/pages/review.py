"""What to answer first: the mail whose label would teach the filter most, in one form."""

from collections.abc import Iterable

from spamnb.audit.answers import ON_A_PAGE, Answers
from spamnb.audit.queue import LASTING, waiting
from spamnb.errors import MaildirError
from spamnb.label import Label
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SAYS = "say."  # and the message's number: the name of a field
_LABELS = {label.word: label for label in Label}


def review(visit: Visit) -> Response:
    """The queue."""
    ledger, config = visit.ledger, visit.config
    found = waiting(ledger, config, visit.now - LASTING)
    numbers = {one.digest: known.id for one in found.asked if (known := ledger.messages.find(one.digest)) is not None}
    return visit.page(
        "review.html",
        title=f"{len(found.asked)} to review" if found.asked else "Review",
        asked=[(numbers[one.digest], one) for one in found.asked],
        cleared=found.cleared,
        missing=visit.missing(ledger, config.scoring, config.learning),
        failed=visit.request.query.number("failed") or 0,
        answered=visit.request.query.number("answered") or 0,
    )


def answer(visit: Visit) -> Response:
    """Learn what was answered, and move each message where it belongs; what was left for later stays as it is."""
    said = list(_said(visit.request.form.pairs()))
    if not said:
        return visit.redirect("review")
    answers = Answers(visit.ledger, visit.config, visit.site.now)
    visit.after.append(answers.end)
    actions: list[int] = []
    failed = 0
    for number, label in said:
        known = visit.ledger.messages.lookup(number)
        try:
            if known is None:
                raise MaildirError("the message is not in the history any more")
            actions += answers.call(known.digest, label, ON_A_PAGE).actions
        except MaildirError:
            failed += 1
    return visit.done(actions, back="review", answered=len(said) - failed, failed=failed or None)


def _said(fields: Iterable[tuple[str, str]]) -> Iterable[tuple[int, Label]]:
    """The messages, by their numbers, with what was said of each. Raises HttpError."""
    for name, value in fields:
        if name.startswith(_SAYS) and value != "later":
            if value not in _LABELS:
                raise HttpError(400, "What the message is was not said.", "Go back, and choose ham or spam.")
            yield whole_number(name.removeprefix(_SAYS)), _LABELS[value]


ROUTES = (Route("GET", "/review", review), Route("POST", "/review", answer))
