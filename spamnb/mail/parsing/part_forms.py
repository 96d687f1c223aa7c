"""Decide how a part of a message is read."""

from enum import Enum

from spamnb.mail.parsing.encoded_words import decode_field
from spamnb.mail.parsing.readings import MESSAGES, is_text_type

HTML = frozenset({"text/html", "application/xhtml+xml", "text/x-amp-html"})
_CALENDARS = frozenset({"text/calendar", "application/ics"})
_DRAWING = "image/svg+xml"
_UNTOLD = frozenset({"application/octet-stream", "text/plain"})  # the name of the file tells its type
_TEXTS = (".asc", ".csv", ".diff", ".log", ".md", ".patch", ".text", ".txt")  # Thunderbird shows these
_SIGNED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_PAGES = (".htm", ".html", ".shtml", ".xhtml", ".svg")  # a browser opens these


class Form(Enum):
    """TEXT and HTML are shown; a CALENDAR is shown in part; an ATTACHED text is shown by most programs.

    A PAGE is opened in a browser; a SIGNED file holds parts of the message in its signature; a FILE is not read.
    """

    TEXT = "text"
    HTML = "html"
    CALENDAR = "calendar"
    ATTACHED = "attached"
    PAGE = "page"
    SIGNED = "signed"
    FILE = "file"


def form_of(kind: str, disposition: str, filename: str) -> Form:
    """Return how a part of that media type is read; it may be attached under a file name, given as written.

    QUIRK: mutt, Thunderbird and Apple Mail show an attached text, and a report such as message/delivery-status.

    >>> form_of("text/html", "", "").name, form_of("application/octet-stream", "attachment", "a.html").name
    ('HTML', 'PAGE')
    >>> form_of("text/plain", "attachment", "").name, form_of("message/delivery-status", "", "").name
    ('ATTACHED', 'ATTACHED')
    """
    if kind in _CALENDARS:
        return Form.CALENDAR
    if is_text_type(kind) and disposition != "attachment":
        return Form.HTML if kind in HTML else Form.TEXT
    name = decode_field(filename).rstrip(". ").lower() if kind in _UNTOLD else ""
    if kind in _SIGNED or name.endswith(".p7m"):
        return Form.SIGNED
    if name.endswith(".ics"):
        return Form.CALENDAR
    if kind in HTML or kind == _DRAWING or name.endswith(_PAGES):
        return Form.PAGE
    if (kind.startswith("message/") and kind not in MESSAGES) or is_text_type(kind) or name.endswith(_TEXTS):
        return Form.ATTACHED
    return Form.FILE
