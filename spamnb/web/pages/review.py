"""The questions that teach the filter most, in one form."""

from collections.abc import Iterator, Set

from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.not_yet import only_guesses
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.monitoring.status import status, without_inbox
from spamnb.review.misfiled import Misfiled
from spamnb.review.queue import LASTING, Queue, waiting
from spamnb.web.background_values import Snapshot
from spamnb.web.http import HttpError, Response, Values, label_of
from spamnb.web.parts.answered import answers_in
from spamnb.web.parts.asked_rows import asked_rows
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_NEWEST = "new"  # the other order: the newest mail first


def review(visit: Visit) -> Response:
    """Return the page with the queue."""
    weak = _weak_lessons(visit)
    queue = _queue(visit, weak)
    visit.site.kept.counted(visit.ledger, len(queue.asked))
    asked = list(asked_rows(visit, queue.asked))
    order = visit.request.query.one_of("order", (_NEWEST,))
    return visit.page(
        "review.html",
        title=f"Not sure about {len(queue.asked)}" if queue.asked else "Not sure",
        asked=sorted(asked, key=lambda row: -row.number) if order else asked,
        is_guess=only_guesses(visit.ledger, visit.config.learning),
        order=order,
        cleared=queue.cleared,
        is_current=weak.is_current,
        has_failed=weak.has_failed,
        known=status(visit.config, visit.ledger, visit.now, visit.missing),
        doubted=visit.doubted_ham(),
        away=without_inbox(visit.config),
        failed=visit.outcome("failed"),
        answered=visit.outcome("answered"),
        moved=visit.outcome("moved"),
    )


def _weak_lessons(visit: Visit) -> Snapshot[list[Misfiled]]:
    return visit.site.kept.weak_lessons(visit.ledger, visit.config.scoring, visit.now, visit.after_answer)


def _queue(visit: Visit, weak: Snapshot[list[Misfiled]]) -> Queue:
    """Return the waiting messages, with the weak lessons that are known to be in doubt."""
    return waiting(visit.ledger, visit.config, visit.now - LASTING, weak.value or ())


def answer(visit: Visit) -> Response:
    """Learn the answered messages, and move each to the right folder. Messages left for later do not change."""
    answered = dict(_answered(visit.request.form))
    order = visit.request.form.one_of("order", (_NEWEST,))
    if not answered:
        return visit.redirect("review", order=order)
    answers = visit.answers()
    actions: list[int] = []
    failed = 0
    for number, label in answered.items():
        message = visit.ledger.messages.lookup(number)
        try:
            if message is None:
                raise MaildirError("the message is no longer in the history")
            actions += answers.call(message.digest, label, ON_A_PAGE).actions
        except MaildirError:
            failed += 1
    learned = len(answered) - failed
    moved = _moved(visit, answered.keys()) if learned else 0
    return visit.done(actions, back="review", order=order, answered=learned, moved=moved, failed=failed)


def _moved(visit: Visit, answered: Set[int]) -> int:
    """Return how many unanswered messages of the page have left the queue through the answers."""
    shown = {number for number, _ in answers_in(visit.request.form)}
    messages = map(visit.ledger.messages.lookup, shown - answered)
    others = {message.digest for message in messages if message is not None}
    queue = _queue(visit, _weak_lessons(visit))
    return len(others - {finding.digest for finding in queue.asked})


def _answered(form: Values) -> Iterator[tuple[int, Label]]:
    """Yield the number of each answered message, and its label. Raises HttpError."""
    for number, value in answers_in(form):
        if value != "later":
            label = label_of(value)
            if label is None:
                raise HttpError(400, "A message has no answer.", "Go back, and choose ham or spam.")
            yield number, label


ROUTES = (Route("GET", "/review", review), Route("POST", "/review", answer))
