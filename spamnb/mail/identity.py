"""Who a message is, whatever file it lies in.

A file name says nothing: a move by IMAP makes a new one. Content does, but for the header fields that mail
software writes into a message after its delivery.
"""

import hashlib
import re

from spamnb.mail.envelope import without_envelope

_BODY_BYTES = 256 << 10  # of the body: fixed, so that header fields added later do not move the cut
_SIZE = 16
# Each pattern begins with a line end, which is searched for as a literal: a third of the time that `^` takes.
_FIELD = rb":[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)"
_IDENTITY = re.compile(rb"\n(message-id|date|from)" + _FIELD, re.IGNORECASE)
_ADDRESSED = re.compile(rb"\n(subject|to)" + _FIELD, re.IGNORECASE)
# Text in the header block, where the blank line is missing between it and the body; fields are left out of it.
_STRAY = re.compile(rb"\n(?![!-9;-~]+:)[^ \t\n][^\n]*")

# Written by mail software after delivery: mbox and IMAP programs, synchronisers, filters at any station.
_ADDED_LATER = re.compile(
    rb"\n(?:status|x-status|x-keywords|x-uid|x-uidl|x-imap(?:base)?|x-tuid|x-offlineimap|lines|content-length"
    rb"|x-mozilla-[\w-]+|x-spam[\w-]*|x-rspamd-[\w-]+|x-bogosity|x-dspam-[\w-]+|x-crm114-[\w-]+"
    rb"|x-text-classification)" + _FIELD,
    re.IGNORECASE,
)


def identity(raw: bytes) -> bytes:
    """The message's identity, 16 bytes: a digest over Message-ID, Date, From and the body.

    Line ends and blank lines at the end, which mbox and IMAP programs change, do not count. Without a
    Message-ID the Subject and To fields are taken too. Two copies of one message that came by two ways (a
    list's and a direct one) have one identity.
    """
    head, body = _split(raw)
    fields = {name.lower(): value for name, value in reversed(_IDENTITY.findall(head))}
    if not fields.get(b"message-id", b"").strip():
        fields.update((name.lower(), value) for name, value in reversed(_ADDRESSED.findall(head)))
    digest = hashlib.blake2b(digest_size=_SIZE)
    for name in sorted(fields):
        digest.update(name + b":" + b" ".join(fields[name].split()) + b"\n")
    for line in _STRAY.findall(head):
        digest.update(line.rstrip())
    digest.update(b"\n" + body)
    return digest.digest()


def header_digest(raw: bytes) -> bytes | None:
    """A digest over Message-ID, Date and From alone, 16 bytes; None without a Message-ID.

    Messages that agree in it may be one message that was changed on its way (a list's footer, a mark in the Subject),
    or a forgery: it may tell where a message came from, and nothing more.
    """
    head, _ = _split(raw)
    fields = {name.lower(): value for name, value in reversed(_IDENTITY.findall(head))}
    if not fields.get(b"message-id", b"").strip():
        return None
    digest = hashlib.blake2b(digest_size=_SIZE)
    for name in sorted(fields):
        digest.update(name + b":" + b" ".join(fields[name].split()) + b"\n")
    return digest.digest()


def delivery(raw: bytes) -> bytes:
    """Which delivery of the message this is, 16 bytes: a digest over all of it but what was added later.

    Two deliveries of one message differ in their Received fields; a file that a mail program has moved or
    copied does not.
    """
    head, body = _split(raw)
    return hashlib.blake2b(_ADDED_LATER.sub(b"", head).strip(b"\n") + b"\n\n" + body, digest_size=_SIZE).digest()


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """The header block with a line end before each field, and as much of the body as counts."""
    raw = without_envelope(raw.replace(b"\r\n", b"\n"))
    head, _, body = (b"\n" + raw).partition(b"\n\n")
    return head, body[:_BODY_BYTES].rstrip(b"\n")
