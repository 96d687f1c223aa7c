"""The digests of a message: what it is, where it may come from, and which delivery of it lies in a file.

A file name proves nothing: a move by IMAP makes a new one. What the reader is shown does: Message-ID, Date, From,
Subject and the parts of the body. Header fields that mail software writes into a message after its delivery do not
count, nor does the way that the message took.
"""

import hashlib
import re
from typing import NamedTuple

from spamnb.identity.body import Trimmed, sealed, show
from spamnb.identity.headers import (
    Fields,
    PartHeader,
    ambiguous_from,
    fields_of,
    joined,
    part_header,
    without_envelope,
)
from spamnb.identity.subject import subject_line

VERSION = 1  # is hashed first, with what the digest is of: no two kinds, nor versions, can have one digest
_SIZE = 16
_MOST_HEAD = 256 << 10  # bytes of the header block: two and a half times what Postfix takes; what follows is body
_DECODED = 8 << 20  # bytes of a body whose parts are decoded, for which all of it is held in memory
_HELD = 9 << 20  # bytes of a message: such a body with its header
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
    change, do not count, nor does the way in which parts are encoded and separated. Two copies of one message that came
    by two ways have one identity.
    """
    return _digests(raw, with_delivery=False).identity


def header_digest(raw: bytes) -> bytes | None:
    """A digest over Message-ID, Date and From alone, 16 bytes; None without a Message-ID.

    Messages that agree in it may be one message that was changed on its way (a list's footer, a mark in the Subject),
    or a forgery: it may tell where a message came from, and nothing more.
    """
    return _digests(raw, with_delivery=False).header


def delivery(raw: bytes) -> bytes:
    """Which delivery of the message this is, 16 bytes: a digest over all of it but what was added later.

    Two deliveries of one message differ in their Received fields; a file that a mail program has moved or
    copied does not.
    """
    return digests(raw).delivery


def digests(raw: bytes) -> Digests:
    """All three digests, for less than they cost one by one."""
    return _digests(raw, with_delivery=True)


def _digests(raw: bytes, with_delivery: bool) -> Digests:
    if isinstance(raw, Start):
        return raw.digests
    digester = Digester(with_delivery)
    digester.feed(raw)
    return digester.finish()


class Digester:
    """The digests of a message that comes in chunks; without `with_delivery` that one is empty.

    Up to 9 MB of it are held, and read at the end. Of more than that the body counts as it is written.
    """

    def __init__(self, with_delivery: bool = True) -> None:
        self._returns = b""  # the last bytes, which may begin a line end
        self._chunks: list[bytes] = []
        self._size = 0
        self._identity = _begun(b"identity")
        self._header: bytes | None = None
        self._raw: Trimmed | None = None  # the body of a message that counts as it is written
        self._delivery = Trimmed(_begun(b"delivery")) if with_delivery else None

    def feed(self, chunk: bytes) -> None:
        """More of the message."""
        if self._returns or b"\r" in chunk:
            chunk = self._returns + chunk
            end = max(len(chunk.rstrip(b"\r")), len(chunk) - 2)
            self._returns = chunk[end:]
            chunk = chunk[:end].replace(b"\r\n", b"\n")
        self._take(chunk)

    def finish(self) -> Digests:
        """The digests of all that was fed."""
        self._take(self._returns)
        if self._chunks:
            self._open(b"".join(self._chunks), is_long=False)
        if self._raw is not None:
            self._identity.update(b"!" + sealed(self._raw.finish()))
        delivery = b"" if self._delivery is None else self._delivery.finish()[:_SIZE]
        return Digests(self._identity.digest()[:_SIZE], self._header, delivery)

    def _take(self, chunk: bytes) -> None:
        if self._size <= _HELD:
            self._chunks.append(chunk)
            self._size += len(chunk)
            if self._size > _HELD:
                text, self._chunks = b"".join(self._chunks), []
                self._open(text, is_long=True)
            return
        if self._raw is not None:
            self._raw.feed(chunk)
        self._feed_delivery(chunk)

    def _feed_delivery(self, chunk: bytes) -> None:
        if self._delivery is not None:
            self._delivery.feed(chunk.replace(b"\r\n", b"\n"))  # of `\r\r\n`, of which a copy by IMAP makes `\r\n`

    def _open(self, text: bytes, is_long: bool) -> None:
        text = b"\n" + without_envelope(text)
        end = text.find(b"\n\n", 0, _MOST_HEAD)
        has_end = end >= 0
        if not has_end:
            end = min(len(text), _MOST_HEAD)
        head, body = text[:end], text[end + 1 :] if has_end else b"\n" + text[end:]  # with the newline before it
        fields = fields_of(head)
        odd = ambiguous_from(head)
        as_written = b"" if odd is None else _SYNCHRONISED.sub(b"", head[odd:].rstrip(b"\n"))
        self._read_fields(fields, as_written)
        root = part_header(fields)
        needs_mime = _needs_mime(root, fields)
        if needs_mime and b"content-type" not in fields:  # to Dovecot another message than one of text/plain
            root = root._replace(frame=b"-" + root.frame)
        is_odd = odd is not None or (len(body) > 1 and not has_end) or needs_mime
        if is_odd or is_long or len(body) > _DECODED:
            root = root._replace(is_ambiguous=True)
        self._raw = show(root, body, self._identity)
        if self._delivery is not None:
            self._feed_delivery(_ADDED_LATER.sub(b"", head).strip(b"\n") + b"\n")
            self._feed_delivery(body)

    def _read_fields(self, fields: Fields, as_written: bytes) -> None:
        has_id = any(fields.get(b"message-id", ()))
        if has_id:
            first = [name + b":" + fields[name][0] for name in (b"date", b"from", b"message-id") if name in fields]
            header = _begun(b"header")
            header.update(joined(first))
            self._header = header.digest()[:_SIZE]
        names = (b"message-id", b"date", b"from") if has_id else (b"message-id", b"date", b"from", b"to")
        lines = [name + b":" + value for name in names for value in fields.get(name, ())]
        subjects = fields.get(b"subject", ())
        lines += [subject_line(value) for value in subjects[:1]]
        lines += [b"subject:" + value for value in subjects[1:]]
        self._identity.update(joined([joined(lines), as_written]))


def _begun(kind: bytes) -> "hashlib._Hash":
    return hashlib.sha256(b"spamnb %s %d\0" % (kind, VERSION))


def _needs_mime(root: PartHeader, fields: Fields) -> bool:
    """Whether a message is read in another way by programs that ask for a MIME-Version field, which it has not."""
    return b"mime-version" not in fields and (bool(root.boundary) or root.encoding in {b"base64", b"quoted-printable"})
