"""Messages of the inbox in one form: the person says which were wanted, so that a young filter begins to move mail."""

from typing import NamedTuple

from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.current_files import CurrentFiles
from spamnb.acts.wanted import MOST, WantedQuestion, answer, may_ask, wanted_questions
from spamnb.base.label import Label
from spamnb.mail.excerpt import beginning
from spamnb.monitoring.status import status
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_BEGINNING = 120  # characters


class WantedRow(NamedTuple):
    """A message with a box. text: the beginning of its text, or "" if its file is gone."""

    number: int
    summary: str
    text: str


def wanted(visit: Visit) -> Response:
    """Return the page with the messages, all of them ticked."""
    known = status(visit.config, visit.ledger, visit.now, visit.missing)
    most = 0 if known.not_yet is None else known.not_yet.questions
    asked = wanted_questions(visit.ledger, visit.config, most)
    rows = [WantedRow(one.number, one.summary, _text(visit, one)) for one in asked]
    return visit.page("wanted.html", title="Which of these did you want?", known=known, asked=rows)


def _text(visit: Visit, one: WantedQuestion) -> str:
    def find() -> str:
        content = CurrentFiles(visit.ledger, visit.config).read(one.location, one.digest)
        return "" if content is None else beginning(content[1], _BEGINNING)

    return visit.site.kept.beginning(one.digest, find)


def say(visit: Visit) -> Response:
    """Learn the ticked messages as ham, or those without a tick as spam, which also moves them."""
    form = visit.request.form
    label, ticked = form.label("label"), set(form.all("wanted"))
    if label is None:
        raise HttpError(400, "The form has no answer.", "Go back, and use the buttons.")
    numbers = [whole_number(one) for one in form.all("asked") if (one in ticked) is (label is Label.HAM)]
    messages = [visit.ledger.messages.get(number) for number in numbers[:MOST] if may_ask(visit.ledger, number)]
    done = answer(visit.answers(), [message.digest for message in messages], label, ON_A_PAGE)
    return visit.done(done.actions, back="wanted", stays=done.failed)


ROUTES = (Route("GET", "/wanted", wanted), Route("POST", "/wanted", say))
