"""Show a person the main parts of a message: a few header fields, and the beginning of its text; never its markup."""

from dataclasses import dataclass

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.parsing.message import Attachment, parse

_FIELDS = ("from", "reply-to", "to", "cc", "subject", "date", "list-id", "message-id")
_FIELD_CHARS = 500
_BLANK_LINES = lazy_pattern(r"\n\s*\n\s*\n+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """fields: name and decoded value. text: as for tokens, without hidden text; is_cut: there is more.

    Text that may be hidden is shown. Several blanks of a page are one, as in a browser. Blanks replace a tab. All else
    is a stranger's text, unchanged.
    """

    fields: tuple[tuple[str, str], ...]
    text: str
    is_cut: bool
    attachments: tuple[Attachment, ...]


def excerpt(raw: bytes, most: int, limits: Limits = DEFAULT_LIMITS) -> Excerpt:
    """Return the excerpt of a message, with at most `most` characters of its text. Any bytes yield one."""
    message = parse(raw, limits)
    fields = [(name, message.first(name)[:_FIELD_CHARS]) for name in _FIELDS]
    plain = [text.text for text in message.texts if not text.is_html]
    shown = plain or [_shown(text.text, limits) for text in message.texts[:1]]
    shown = shown or [_shown(each.text, limits) if each.is_html else each.text for each in message.calendars]
    text = "\n\n".join(shown)[: 4 * most].replace("\r\n", "\n").expandtabs().strip()
    text = _BLANK_LINES.sub("\n\n", text)
    held = tuple((name, value) for name, value in fields if value)
    return Excerpt(held, text[:most], len(text) > most, message.attachments)


def beginning(raw: bytes, most: int) -> str:
    """Return the beginning of a message's text in one line, with at most `most` characters. Any bytes yield one."""
    return " ".join(excerpt(raw, 4 * most).text.split())[:most]


def _shown(markup: str, limits: Limits) -> str:
    from spamnb.mail.tokens.html import read_html  # noqa: PLC0415 - BeautifulSoup takes long to import

    text = read_html(markup, limits).visible
    return "\n".join(" ".join(filter(None, line.replace("\t", " ").split(" "))) for line in text.split("\n"))
