"""What to answer first: the mail whose label would teach the filter most, in one form."""

from collections.abc import Iterable, Set

from spamnb.acts.answers import ON_A_PAGE, Answers
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.review.queue import LASTING, Queue, waiting
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SAYS = "say."  # and the message's number: the name of a field
_NEWEST = "new"  # the other order: as the mail came, the newest first
_LABELS = {label.word: label for label in Label}


def review(visit: Visit) -> Response:
    """The queue."""
    ledger, config = visit.ledger, visit.config
    found, is_current = _waiting(visit)
    if not is_current:
        visit.after.append(lambda: visit.site.badges.weak.judge(ledger.path, config.scoring, visit.now - LASTING))
    visit.site.badges.tell("review", len(found.asked))
    numbers = {one.digest: known.id for one in found.asked if (known := ledger.messages.find(one.digest)) is not None}
    asked = [(numbers[one.digest], one) for one in found.asked]
    order = visit.request.query.one_of("order", (_NEWEST,))
    return visit.page(
        "review.html",
        title=f"{len(found.asked)} to review" if found.asked else "Review",
        asked=sorted(asked, key=lambda one: -one[0]) if order else asked,
        order=order,
        cleared=found.cleared,
        is_current=is_current,
        missing=visit.missing(ledger, config.scoring, config.learning),
        failed=visit.outcome("failed"),
        answered=visit.outcome("answered"),
        moved=visit.outcome("moved"),
    )


def _waiting(visit: Visit) -> tuple[Queue, bool]:
    """What waits, and whether all that was learned weakly has been judged by what is known now."""
    since = visit.now - LASTING
    weak, is_current = visit.site.badges.weak.look(visit.ledger, visit.config.scoring, since)
    return waiting(visit.ledger, visit.config, since, weak), is_current


def answer(visit: Visit) -> Response:
    """Learn what was answered, and move each message where it belongs; what was left for later stays as it is."""
    said = list(_said(visit.request.form.pairs()))
    order = visit.request.form.one_of("order", (_NEWEST,))
    if not said:
        return visit.redirect("review", order=order)
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
    answered = len(said) - failed
    moved = _moved(visit, {number for number, _ in said}) if answered else 0
    return visit.done(actions, back="review", order=order, answered=answered, moved=moved, failed=failed)


def _moved(visit: Visit, said: Set[int]) -> int:
    """How many of the messages on the page that were not answered are not to be asked about any more."""
    shown = {whole_number(name.removeprefix(_SAYS)) for name, _ in visit.request.form.pairs() if name.startswith(_SAYS)}
    lookup = visit.ledger.messages.lookup
    others = {known.digest for number in shown - said if (known := lookup(number)) is not None}
    return len(others - {one.digest for one in _waiting(visit)[0].asked})


def _said(fields: Iterable[tuple[str, str]]) -> Iterable[tuple[int, Label]]:
    """The messages, by their numbers, with what was said of each. Raises HttpError."""
    for name, value in fields:
        if name.startswith(_SAYS) and value != "later":
            if value not in _LABELS:
                raise HttpError(400, "What the message is was not said.", "Go back, and choose ham or spam.")
            yield whole_number(name.removeprefix(_SAYS)), _LABELS[value]


ROUTES = (Route("GET", "/review", review), Route("POST", "/review", answer))
