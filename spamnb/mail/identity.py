"""Who a message is, whatever file it lies in.

A file name says nothing: a move by IMAP makes a new one. Content does, but for the header fields that mail
software writes into a message after its delivery.
"""

import hashlib
import re

_BODY_BYTES = 256 << 10  # of the body: fixed, so that header fields added later do not move the cut
_SIZE = 16
_FIELD = rb":[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)"
_IDENTITY = re.compile(rb"^(message-id|date|from)" + _FIELD, re.IGNORECASE | re.MULTILINE)
_ADDRESSED = re.compile(rb"^(subject|to)" + _FIELD, re.IGNORECASE | re.MULTILINE)

# Written by mail software after delivery: mbox and IMAP programs, synchronisers, filters in a client.
_ADDED_LATER = re.compile(
    rb"^(?:status|x-status|x-keywords|x-uid|x-uidl|x-imap(?:base)?|x-tuid|x-offlineimap|lines|content-length"
    rb"|x-mozilla-[\w-]+|x-spam[\w-]*|x-bogosity)" + _FIELD + rb"\n?",
    re.IGNORECASE | re.MULTILINE,
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
    digest.update(b"\n" + body)
    return digest.digest()


def delivery(raw: bytes) -> bytes:
    """Which delivery of the message this is, 16 bytes: a digest over all of it but what was added later.

    Two deliveries of one message differ in their Received fields; a file that a mail program has moved or
    copied does not.
    """
    head, body = _split(raw)
    return hashlib.blake2b(
        _ADDED_LATER.sub(b"", head + b"\n").rstrip(b"\n") + b"\n\n" + body, digest_size=_SIZE
    ).digest()


def _split(raw: bytes) -> tuple[bytes, bytes]:
    raw = raw.replace(b"\r\n", b"\n")
    if raw.startswith(b"\n"):
        head, body = b"", raw
    else:
        head, _, body = raw.partition(b"\n\n")
    return head, body[:_BODY_BYTES].rstrip(b"\n")
