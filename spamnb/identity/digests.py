"""The digests of a message: its identity, its possible origin, and its delivery.

A file name proves nothing: a move by IMAP makes a new one. The reader's view proves it: Message-ID, Date, From, Subject
and the parts of the body. Header fields that mail software adds after delivery do not count, nor does the message's way
through the network.
"""

import hashlib
import re

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
from spamnb.identity.values import Digests, Start

VERSION = 1  # hashed first, with the digest's kind: two kinds or versions never have the same digest
_SIZE = 16
_MOST_HEAD = 256 << 10  # bytes of the header block: 2.5 times what Postfix accepts; the rest is body
_DECODED = 8 << 20  # bytes of a body with decoded parts: all of it is in memory
_HELD = 9 << 20  # bytes of a message in memory: such a body with its header
# mbsync writes this at the end of every header block, a different one for each copy.
_SYNCHRONISED = re.compile(rb"\nX-TUID: [A-Za-z0-9+/]{12}\Z")

# Mail software writes these after delivery: mbox and IMAP programs, synchronisers, filters at any station.
_ADDED_LATER = re.compile(
    rb"\n(?:status|x-status|x-keywords|x-uid|x-uidl|x-imap(?:base)?|x-tuid|x-offlineimap|lines|content-length"
    rb"|x-mozilla-[\w-]+|x-spam[\w-]*|x-rspamd-[\w-]+|x-bogosity|x-dspam-[\w-]+|x-crm114-[\w-]+"
    rb"|x-text-classification):[^\n]*(?:\n[ \t][^\n]*)*",
    re.IGNORECASE,
)


def identity(raw: bytes) -> bytes:
    """Return the message's identity, 16 bytes: a digest over Message-ID, Date, From, Subject and what its parts show.

    Without a Message-ID, the To field counts too. Line ends and blank lines at the end do not count, since mbox and
    IMAP programs change them; nor does the encoding and separation of parts. Two copies of one message that came by two
    ways have one identity.
    """
    return _digests(raw, with_delivery=False).identity


def header_digest(raw: bytes) -> bytes | None:
    """Return a digest over Message-ID, Date and From alone, 16 bytes; None without a Message-ID.

    Messages that agree in it may be one message that was changed on its way (a list's footer, a mark in the Subject),
    or a forgery. It may show where a message came from, and nothing more.
    """
    return _digests(raw, with_delivery=False).header


def delivery(raw: bytes) -> bytes:
    """Return which delivery of the message this is, 16 bytes: a digest over everything except later additions.

    Two deliveries of one message differ in their Received fields. A file that a mail program has moved or copied does
    not differ from the original.
    """
    return digests(raw).delivery


def digests(raw: bytes) -> Digests:
    """Return all three digests at once, which is faster than one by one."""
    return _digests(raw, with_delivery=True)


def _digests(raw: bytes, with_delivery: bool) -> Digests:
    if isinstance(raw, Start):
        return raw.digests
    digester = Digester(with_delivery)
    digester.feed(raw)
    return digester.finish()


class Digester:
    """Computes the digests of a message that comes in chunks; without `with_delivery`, that digest is empty.

    Up to 9 MB of the message are held, and read at the end. The body of a longer message counts as written.
    """

    def __init__(self, with_delivery: bool = True) -> None:
        self._returns = b""  # the last bytes: a line end may begin with them
        self._chunks: list[bytes] = []
        self._size = 0
        self._identity = _begun(b"identity")
        self._header: bytes | None = None
        self._raw: Trimmed | None = None  # a body that counts as written
        self._delivery = Trimmed(_begun(b"delivery")) if with_delivery else None

    def feed(self, chunk: bytes) -> None:
        """Add a chunk of the message."""
        if self._returns or b"\r" in chunk:
            chunk = self._returns + chunk
            end = max(len(chunk.rstrip(b"\r")), len(chunk) - 2)
            self._returns = chunk[end:]
            chunk = chunk[:end].replace(b"\r\n", b"\n")
        self._take(chunk)

    def finish(self) -> Digests:
        """Return the digests of everything that was fed."""
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
            self._delivery.feed(chunk.replace(b"\r\n", b"\n"))  # also in `\r\r\n`, which IMAP copies as `\r\n`

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
        if needs_mime and b"content-type" not in fields:  # Dovecot distinguishes this from text/plain
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
    """Tell whether programs that require a MIME-Version field, which is missing, read the message in another way."""
    return b"mime-version" not in fields and (bool(root.boundary) or root.encoding in {b"base64", b"quoted-printable"})
