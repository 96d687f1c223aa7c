"""A person's choices beside the configuration: allow or block a sender, set a cutoff, and take that back."""

from typing import get_args

from spamnb.acts import choices
from spamnb.ledger.history.choices import ChoiceKind
from spamnb.web.http import HttpError, Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_LONGEST = 300  # characters; no pattern has more


def choose(visit: Visit) -> Response:
    """Make the choice of the form. A choice without effect is refused, with the reason."""
    form = visit.request.form
    kind: ChoiceKind | None = next((kind for kind in get_args(ChoiceKind) if kind == form.text("kind")), None)
    value = form.text("value", _LONGEST)
    if kind is None or not value:
        raise HttpError(400, "The form names no choice.", "Go back, and use the buttons.")
    actions = choices.choose(visit.ledger, visit.site.config(), kind, [value], "page", visit.now)
    return visit.done(actions, back="senders", already=int(not actions))


def forget(visit: Visit) -> Response:
    """Take back all choices about a pattern or a cutoff."""
    actions = choices.forget(
        visit.ledger, visit.site.config(), visit.request.form.text("value", _LONGEST), visit.site.now
    )
    return visit.done(actions, back="senders")


ROUTES = (Route("POST", "/choose", choose), Route("POST", "/choose/forget", forget))
