"""Who a message is, whatever file it lies in.

A file name says nothing: a move by IMAP makes a new one. What the reader is shown does: Message-ID, Date, From, Subject
and the parts of the body (`walk.py`). Header fields that mail software writes into a message after its delivery do not
count, nor does the way that the message took.
"""

import hashlib
import re
from typing import NamedTuple

from spamnb.mail.encoded_words import decode_field
from spamnb.mail.envelope import without_envelope
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.shown import ShownPart
from spamnb.mail.walk import Claims, Walk, claims, fields_of, odd_from

_SIZE = 16
_MOST_BEFORE = 64 << 10  # bytes of blank lines before the header
_MOST_HEAD = 256 << 10  # bytes of the header block: two and a half times what Postfix takes; what follows is body
_MOST_SUBJECT = DEFAULT_LIMITS.field_chars  # is decoded; a longer one counts as it is written
# Each pattern begins with a line end, which is searched for as a literal: a third of the time that `^` takes.
_FIELD = rb":[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)"
_IDENTITY = re.compile(
    rb"\n(?=[a-z])(message-id|date|from|subject|to|mime-version"
    rb"|content-(?:type|transfer-encoding|disposition|id|location|base|description))" + _FIELD,
    re.IGNORECASE,
)
# What programs read in more than one way: text in the header block, where the blank line is missing between it and the
# body; a line of blanks, which may end the block; returns, which may end a line.
_STRAY = re.compile(rb"\n(?![!-9;-~]+:|[ \t]+[^ \t\n]|\Z)")
# mbsync writes this at the end of every header block, another one for each copy.
_SYNCHRONISED = re.compile(rb"\nX-TUID: [A-Za-z0-9+/]{12}\Z")

# Written by mail software after delivery: mbox and IMAP programs, synchronisers, filters at any station.
_ADDED_LATER = re.compile(
    rb"\n(?:status|x-status|x-keywords|x-uid|x-uidl|x-imap(?:base)?|x-tuid|x-offlineimap|lines|content-length"
    rb"|x-mozilla-[\w-]+|x-spam[\w-]*|x-rspamd-[\w-]+|x-bogosity|x-dspam-[\w-]+|x-crm114-[\w-]+"
    rb"|x-text-classification):[^\n]*(?:\n[ \t][^\n]*)*",
    re.IGNORECASE,
)


class Digests(NamedTuple):
    """Three digests of one message, of 16 bytes each; `header` is None without a Message-ID."""

    identity: bytes
    header: bytes | None
    delivery: bytes


class Start(bytes):
    """The first bytes of a message that is longer than the reader takes, with the digests over all of it."""

    digests: Digests


def identity(raw: bytes) -> bytes:
    """The message's identity, 16 bytes: a digest over Message-ID, Date, From, Subject and all that its parts show.

    Without a Message-ID the To field is taken too. Line ends and blank lines at the end, which mbox and IMAP programs
    change, do not count, nor does the way in which parts are encoded and parted. Two copies of one message that came
    by two ways have one identity.
    """
    return _digests(raw, False).identity


def header_digest(raw: bytes) -> bytes | None:
    """A digest over Message-ID, Date and From alone, 16 bytes; None without a Message-ID.

    Messages that agree in it may be one message that was changed on its way (a list's footer, a mark in the Subject),
    or a forgery: it may tell where a message came from, and nothing more.
    """
    return _digests(raw, False).header


def delivery(raw: bytes) -> bytes:
    """Which delivery of the message this is, 16 bytes: a digest over all of it but what was added later.

    Two deliveries of one message differ in their Received fields; a file that a mail program has moved or
    copied does not.
    """
    return digests(raw).delivery


def digests(raw: bytes) -> Digests:
    """All three digests, in half of the time that they take one by one."""
    return _digests(raw, True)


def _digests(raw: bytes, with_delivery: bool) -> Digests:
    if isinstance(raw, Start):
        return raw.digests
    return Digester(with_delivery).finish(raw)


class Digester:
    """The digests of a message that comes in chunks, however it was cut. Without `with_delivery` that one is empty."""

    def __init__(self, with_delivery: bool = True) -> None:
        self._return = b""  # the last byte, where it may be the first of a line end
        self._head = b""
        self._has_begun = False
        self._walk: Walk | None = None  # behind the header
        self._delivery = ShownPart("", is_text=True) if with_delivery else None
        self._header: bytes | None = None
        self._identity = hashlib.sha256()

    def feed(self, chunk: bytes) -> None:
        """More of the message."""
        self._take(chunk, is_end=False)

    def finish(self, chunk: bytes = b"") -> Digests:
        """The digests of all that was fed, and of the last chunk."""
        self._take(chunk, is_end=True)
        delivery = b"" if self._delivery is None else self._delivery.finish("")[:_SIZE]
        return Digests(self._identity.digest()[:_SIZE], self._header, delivery)

    def _take(self, chunk: bytes, is_end: bool) -> None:
        if self._return:
            chunk = self._return + chunk
            self._return = b""
        if b"\r" in chunk:
            if chunk.endswith(b"\r") and not is_end:
                self._return, chunk = b"\r", chunk[:-1]
            chunk = chunk.replace(b"\r\n", b"\n")
        if self._walk is None:
            self._head += chunk
            if not self._has_begun and (is_end or len(self._head) >= _MOST_BEFORE):
                start, rest = self._head[:_MOST_BEFORE], self._head[_MOST_BEFORE:]
                self._head = b"\n" + without_envelope(start) + rest
                self._has_begun = True
            if self._has_begun:
                self._read_head(is_end)
            return
        self._read_body(self._walk, chunk, is_end)

    def _read_body(self, walk: Walk, chunk: bytes, is_end: bool) -> None:
        if is_end:
            walk.finish(chunk)
        else:
            walk.feed(chunk)
        if self._delivery is not None:
            self._delivery.feed(chunk)

    def _read_head(self, is_end: bool) -> None:
        end = self._head.find(b"\n\n", 0, _MOST_HEAD)
        if end < 0 and not is_end and len(self._head) < _MOST_HEAD:
            return
        has_end = end >= 0
        if not has_end:
            end = min(len(self._head), _MOST_HEAD)
        head, body = self._head[:end], self._head[end + 2 * has_end :]
        self._head = b""
        fields = fields_of(_IDENTITY, head)
        self._read_fields(fields)
        odd = odd_from(_STRAY, head)
        if odd is not None:
            self._identity.update(_SYNCHRONISED.sub(b"", head[odd:].rstrip(b"\n")))
        root = claims({name: values for name, values in fields.items() if name.startswith(b"content-")})
        if odd is not None or (body and not has_end) or _needs_mime(root, fields):
            root = root._replace(is_odd=True)
        self._walk = Walk(root, self._identity)
        if self._delivery is not None:
            self._delivery.feed(_ADDED_LATER.sub(b"", head).strip(b"\n") + b"\n\n")
        self._read_body(self._walk, body, is_end)

    def _read_fields(self, fields: dict[bytes, list[bytes]]) -> None:
        if any(fields.get(b"message-id", ())):
            first = [name + b":" + fields[name][0] for name in (b"date", b"from", b"message-id") if name in fields]
            self._header = hashlib.sha256(b"\n".join(first)).digest()[:_SIZE]
        said = [name + b":" + value for name in (b"message-id", b"date", b"from") for value in fields.get(name, ())]
        if self._header is None:
            said += [b"to:" + value for value in fields.get(b"to", ())]
        subjects = fields.get(b"subject", ())
        said += [b"subject:" + _decoded(value) for value in subjects[:1]]
        said += [b"subject:" + value for value in subjects[1:]]
        self._identity.update(b"\n".join(said) + b"\n\n")


def _needs_mime(root: Claims, fields: dict[bytes, list[bytes]]) -> bool:
    """Whether a message is read in another way by programs that ask for a MIME-Version field, which it has not."""
    return b"mime-version" not in fields and (bool(root.boundary) or root.encoding in {"base64", "quoted-printable"})


def _decoded(subject: bytes) -> bytes:
    if len(subject) > _MOST_SUBJECT:
        return subject
    text = decode_field(subject.decode("ascii", "surrogateescape"), _as_it_stands)
    return " ".join(text.split()).encode("utf-8", "surrogateescape")


def _as_it_stands() -> str:
    """The charset of bytes that nobody declared: any that tells all of them apart."""
    return "latin-1"
