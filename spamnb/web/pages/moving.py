"""Stop moving for a while, and start it again."""

import math

from spamnb.acts import withheld
from spamnb.web.http import Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SPANS = {"1h": 3600.0, "1d": 86_400.0, "": math.inf}


def pause(visit: Visit) -> Response:
    """Move nothing for an hour, for a day, or until a person resumes."""
    withheld.pause(visit.ledger, visit.now + _SPANS[visit.request.form.one_of("span", _SPANS)])
    return visit.done([])


def resume(visit: Visit) -> Response:
    """Move mail again; with `move` also withheld messages that are unread and that the filter would move today."""
    withheld.resume(visit.ledger, visit.now)
    if not visit.request.form.text("move"):
        return visit.done([])
    reviewed = withheld.move_withheld(visit.ledger, visit.config, visit.site.now, later=visit.after_answer.append)
    return visit.done([move for message in reviewed for move in message.moves])


ROUTES = (Route("POST", "/pause", pause), Route("POST", "/resume", resume))
