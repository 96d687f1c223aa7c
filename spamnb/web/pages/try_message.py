"""The verdict on a pasted or uploaded message, with the reasons. Nothing about it is recorded."""

import itertools
from io import BytesIO

from spamnb.bulk.sources import split
from spamnb.mail.excerpt import excerpt
from spamnb.mail.reading import read
from spamnb.web.http import HttpError, Response
from spamnb.web.parts.text import MOST, text_of
from spamnb.web.parts.why import why
from spamnb.web.routes import Route
from spamnb.web.upload import MOST_BYTES
from spamnb.web.visit import Visit


def form(visit: Visit) -> Response:
    """Return the form, or the first steps if nothing is learned yet."""
    visit.ledger  # noqa: B018 - raises if there is none
    return visit.page("try.html", title="Try a message", head=None, why=None, most_bytes=MOST_BYTES)


def judge(visit: Visit) -> Response:
    """Return the verdict on the first message of the form, as if it were not learned itself."""
    parts = visit.request.parts
    sent = parts.get("file") or parts.get("text", b"").strip()
    messages = list(itertools.islice(split(BytesIO(sent)), 2))
    if not messages:
        raise HttpError(400, "There is no message in the form.", "Go back, and paste one, or choose its file.")
    raw = messages[0]
    reading, lessons = read(raw), visit.ledger.lessons
    lesson = lessons.find(reading.digest)
    is_learned = lesson is not None and lesson.label is not None
    head, reasons = excerpt(raw, MOST), why(visit, reading, is_learned=is_learned)
    return visit.page(
        "try.html",
        title="Try a message",
        head=head,
        text=text_of(head, reasons.explanation),
        summary=reading.summary,
        why=reasons,
        is_first=len(messages) > 1,
        most_bytes=MOST_BYTES,
    )


ROUTES = (Route("GET", "/try", form), Route("POST", "/try", judge, takes_message=True))
