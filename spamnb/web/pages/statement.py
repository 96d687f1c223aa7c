"""The messages of the newest letter in one form: the person says that none of them is theirs."""

from typing import NamedTuple

from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.none_of_these import none_is_mine, unanswered
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


class ShownRow(NamedTuple):
    """A message that the letter shows, and that nobody has decided on."""

    number: int
    summary: str


def open_rows(visit: Visit) -> list[ShownRow]:
    """Return the messages of the newest letter that nobody has decided on."""
    told = visit.ledger.state.told
    digests = [] if told is None else unanswered(visit.ledger, told.shown)
    found = [visit.ledger.messages.find(digest) for digest in digests]
    return [ShownRow(one.id, one.summary) for one in found if one is not None]


def shown(visit: Visit) -> Response:
    """Return the page with the messages."""
    return visit.page("statement.html", title="Is one of these yours?", asked=open_rows(visit))


def say(visit: Visit) -> Response:
    """Learn the messages as spam that the form shows, as far as the newest letter shows them too."""
    numbers = {whole_number(one) for one in visit.request.form.all("asked")}
    found = [row.number for row in open_rows(visit) if row.number in numbers]
    if visit.request.form.text("none") != "mine" or not numbers:
        raise HttpError(400, "The form has no answer.", "Go back, and use the button.")
    digests = [visit.ledger.messages.get(number).digest for number in found]
    done = none_is_mine(visit.answers(), visit.ledger, digests, ON_A_PAGE)
    return visit.done(done.actions, back="statement", stays=done.failed)


ROUTES = (Route("GET", "/statement", shown), Route("POST", "/statement", say))
