"""Read calendar objects (RFC 5545), as in an invitation: the text that a reader sees, and who invites."""

import re
from typing import Final, NamedTuple

from spamnb.base.patterns import lazy_pattern

# A parameter's value in quotation marks may hold a colon. QUIRK: some programs do not close the quotation marks (RFC
# 5545, 3.2); then the first colon counts.
_PROPERTY = lazy_pattern(
    r"^(begin|end|method|organizer|summary|description|location)"
    r"(?:;(?:[^:\"\n]|\"[^\"\n]*\")*|;[^:\n]*)?:([^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_METHOD = lazy_pattern(r"[a-z][a-z-]{0,19}")
_MARKUP = lazy_pattern(r"<(?:a|b|br|div|html|p|span|table|ul)[\s/>]", re.IGNORECASE)
_ALARM = "valarm"  # its texts are the same in all invitations by one program


class Calendar(NamedTuple):
    """A calendar object: its texts, one per line; the addresses of who invites; and its purpose (`method`).

    is_html: QUIRK: some programs write markup into a description, and show it as markup (RFC 5545 has plain text).
    method: in lower case, "" if there is none. group: as that of a `Text`.
    """

    text: str
    is_html: bool
    organizers: tuple[str, ...]
    method: str
    group: int = 0


NO_CALENDAR: Final = Calendar("", False, (), "")


def read_calendar(written: str) -> Calendar:
    """Read the visible text of a calendar object. Accepts any text.

    >>> read_calendar("METHOD:REQUEST\\nORGANIZER;CN=Anna:mailto:anna@home.example\\nSUMMARY:Lunch\\\\, at\\n  noon")
    Calendar(text='Lunch, at noon', is_html=False, organizers=('anna@home.example',), method='request', group=0)
    """
    texts: list[str] = []
    organizers: list[str] = []
    method = component = ""
    for found in _PROPERTY.finditer(_unfolded(written)):
        name, value = found[1].lower(), found[2].strip()
        if name in {"begin", "end"}:
            component = value.lower() if name == "begin" else ""
        elif name == "organizer":
            organizers.append(value[7:] if value[:7].lower() == "mailto:" else value)
        elif name == "method":
            named = _METHOD.match(value.lower())
            method = method or (named[0] if named else "")
        elif value and component != _ALARM:
            texts.append(_unescaped(value))
    text = "\n".join(dict.fromkeys(texts))
    return Calendar(text, _MARKUP.search(text) is not None, tuple(dict.fromkeys(organizers)), method)


def _unfolded(written: str) -> str:
    """Join folded lines (RFC 5545, 3.1)."""
    lines = written.replace("\r\n", "\n").replace("\r", "\n")
    return lines.replace("\n ", "").replace("\n\t", "")


def _unescaped(value: str) -> str:
    """Return a value of the type TEXT without its escapes (RFC 5545, 3.3.11)."""
    pieces = value.split("\\\\")
    for escape, meant in (("\\n", "\n"), ("\\N", "\n"), ("\\;", ";"), ("\\,", ",")):
        pieces = [piece.replace(escape, meant) for piece in pieces]
    return "\\".join(pieces)
