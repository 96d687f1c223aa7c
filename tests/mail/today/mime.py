"""Messages as programs write them: a draft, its parts, and the ids that every message of today carries."""

import base64
import quopri
import random
import string
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.utils import format_datetime, parseaddr
from typing import NamedTuple

PERSON = "Anna Lind <anna.lind@home.example>"
_FIRST_DAY = datetime(2026, 6, 1, 6, 0, tzinfo=UTC)


class File(NamedTuple):
    """A part of its own: attached, or shown in its place (`inline`). `parameters` go behind its media type."""

    media_type: str
    name: str
    content: bytes
    disposition: str = "attachment"
    parameters: str = ""


class Draft(NamedTuple):
    """A text from its author, before a sending system adds its own. `[[URL]]` in it is a link, tracked or not.

    html: "" for a text alone. invitation: a calendar as one more alternative. late: minutes between Date and delivery.
    """

    name: str
    sender: str
    subject: str
    text: str
    html: str = ""
    attached: tuple[File, ...] = ()
    invitation: File | None = None
    reply_to: str = ""
    late: int = 0

    @property
    def site(self) -> str:
        """The host of the sender's address."""
        return parseaddr(self.sender)[1].rpartition("@")[2]


class Ids:
    """The ids of one message: at random, and always the same for one name."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)
        self._day = _FIRST_DAY + timedelta(minutes=self._random.randrange(30 * 24 * 60))

    def hexadecimal(self, length: int) -> str:
        """Digits of base 16."""
        return self._of("0123456789abcdef", length)

    def mixed(self, length: int) -> str:
        """Letters of both cases and digits."""
        return self._of(string.ascii_letters + string.digits, length)

    def digits(self, length: int) -> str:
        """Digits of base 10; the first is not 0."""
        return str(self._random.randint(1, 9)) + self._of(string.digits, length - 1)

    def uuid(self) -> str:
        """A UUID in its usual writing."""
        return "-".join(self.hexadecimal(length) for length in (8, 4, 4, 4, 12))

    def day(self) -> datetime:
        """When it was written, in June 2026."""
        return self._day

    def _of(self, characters: str, length: int) -> str:
        return "".join(self._random.choices(characters, k=length))


def stamp(when: datetime) -> str:
    """A date as fields hold it."""
    return format_datetime(when)


def encoded(text: str) -> str:
    """A subject or a name as a field may hold it (RFC 2047)."""
    return text if text.isascii() else Header(text, "utf-8").encode()


def encoded_sender(sender: str) -> str:
    """A From field whose display name may hold any letters."""
    name, address = parseaddr(sender)
    return sender if sender.isascii() else f"{encoded(name)} <{address}>"


def content(draft: Draft, boundary: str, text: str, html: str) -> bytes:
    """Return Content-Type and the body: the text, its alternatives, and attachments."""
    shown = [_text("text/plain", text)]
    if html:
        shown.append(_text("text/html", html))
    if draft.invitation:
        shown.append(_file(draft.invitation))
    whole = _joined("alternative", f"alt_{boundary}", shown)
    if draft.attached:
        whole = _joined("mixed", f"mix_{boundary}", [whole, *map(_file, draft.attached)])
    return whole


def _text(media_type: str, text: str) -> bytes:
    head = f"Content-Type: {media_type}; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n\n"
    return head.encode() + quopri.encodestring(text.encode())


def _file(file: File) -> bytes:
    head = f'Content-Type: {file.media_type}; {file.parameters}name="{file.name}"\n'
    if file.disposition:
        head += f'Content-Disposition: {file.disposition}; filename="{file.name}"\n'
    head += f"Content-Transfer-Encoding: base64\nContent-ID: <{file.name}>\n\n"
    return head.encode() + base64.encodebytes(file.content)


def _joined(subtype: str, boundary: str, parts: list[bytes]) -> bytes:
    if len(parts) == 1:
        return parts[0]
    head = f'Content-Type: multipart/{subtype}; boundary="{boundary}"\n\n'.encode()
    line = f"--{boundary}".encode()
    return head + b"".join(b"%b\n%b\n" % (line, part) for part in parts) + line + b"--\n"
