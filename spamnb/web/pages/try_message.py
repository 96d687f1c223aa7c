"""A message that is pasted or uploaded: its verdict, and why. Nothing of it is recorded."""

from spamnb.mail.excerpt import excerpt
from spamnb.mail.reading import read
from spamnb.web.http import HttpError, Response
from spamnb.web.parts.why import why
from spamnb.web.routes import Route
from spamnb.web.upload import MOST_BYTES
from spamnb.web.visit import Visit

_TEXT = 2000  # characters


def form(visit: Visit) -> Response:
    """The form; where nothing is learned yet, what to do first."""
    visit.ledger  # noqa: B018 - raises where there is none
    return visit.page("try.html", title="Try a message", head=None, why=None, most_bytes=MOST_BYTES)


def judge(visit: Visit) -> Response:
    """The verdict on what the form holds, as if it were not learned itself."""
    parts = visit.request.parts
    raw = parts.get("file") or parts.get("text", b"").strip()
    if not raw:
        raise HttpError(400, "There is no message in the form.", "Go back, and paste one, or choose its file.")
    reading, lessons = read(raw), visit.ledger.lessons
    lesson = lessons.find(reading.digest)
    is_learned = lesson is not None and lesson.label is not None
    return visit.page(
        "try.html",
        title="Try a message",
        head=excerpt(raw, _TEXT),
        summary=reading.summary,
        why=why(visit, reading, is_learned=is_learned),
        most_bytes=MOST_BYTES,
    )


ROUTES = (Route("GET", "/try", form), Route("POST", "/try", judge, takes_message=True))
