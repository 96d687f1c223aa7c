"""Mutations that know what a message is made of, so that chance gets past its encodings.

A fuzzer that flips bytes of base64 changes three letters of nothing. Here what is encoded is decoded, handed to
`inner` (the fuzzer's own mutation), and encoded again; and a message is put into a part, a part's claims are
changed, lines and fields change places.
"""

import base64
import binascii
import quopri
import random
import re
from collections.abc import Callable

from tests.mail.mutations import mutated

Inner = Callable[[bytes, random.Random], bytes]

CHARSETS = (
    b"utf-8 utf-7 utf-16 utf-16le utf-32 us-ascii iso-8859-1 windows-1252 koi8-r gb2312 gb18030 big5 hz euc-kr"
    b" iso-2022-jp iso-2022-jp-2 iso-2022-kr shift_jis cp949 idna punycode unicode_escape zlib base64 x-none utf_8_sig"
).split()
MEDIA_TYPES = (
    b"text/plain text/html text/rtf application/xhtml+xml application/pdf image/png multipart/mixed"
    b" multipart/alternative multipart/related message/rfc822 message/partial application/ics"
    b" text/calendar image/svg+xml /"
).split()
ENCODINGS = b"base64 quoted-printable 7bit 8bit x-uuencode".split()
FIELDS = b"Content-Type Content-Transfer-Encoding Subject From To Received Date Message-ID".split()

_TEXT_BLOCK = re.compile(rb"\n\r?\n(.+?)(?=\r?\n--|\Z)", re.DOTALL)
_ENCODED_WORD = re.compile(rb"=\?([^?\s]{1,40})\?([bqBQ])\?([^?]*)\?=")
_CLAIM = re.compile(rb"(?i)(charset=|content-type: ?|content-transfer-encoding: ?)[^\s;]*")


def mutate(raw: bytes, seed: int, inner: Inner) -> bytes:
    """One of the mutations, by the seed; always the same for the same input."""
    chance = random.Random(seed)
    return chance.choice(_MUTATIONS)(raw, chance, inner)


def _by_chance(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    return mutated(raw, chance)


def _bytes(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    return inner(raw, chance)


def _content(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """Decode a body, change it, and encode it again."""
    blocks = list(_TEXT_BLOCK.finditer(raw))
    if not blocks:
        return inner(raw, chance)
    block = chance.choice(blocks)
    encoding = chance.choice(ENCODINGS[:2]) if chance.random() < 0.3 else _encoding_before(raw[: block.start()])
    changed = _encoded(inner(_decoded(block[1], encoding), chance), encoding)
    return raw[: block.start(1)] + changed + raw[block.end(1) :]


def _encoding_before(head: bytes) -> bytes:
    last = head[-400:].lower()
    return next((encoding for encoding in ENCODINGS[:2] if encoding in last), b"8bit")


def _decoded(content: bytes, encoding: bytes) -> bytes:
    if encoding == b"quoted-printable":
        return quopri.decodestring(content)
    if encoding == b"base64":
        try:
            return binascii.a2b_base64(content)
        except binascii.Error:
            return content
    return content


def _encoded(content: bytes, encoding: bytes) -> bytes:
    if encoding == b"quoted-printable":
        return quopri.encodestring(content)
    return base64.encodebytes(content) if encoding == b"base64" else content


def _encoded_word(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """Change the text of an encoded word; if there is none, put one at a line's end."""
    found = list(_ENCODED_WORD.finditer(raw))
    if not found:
        place = chance.randrange(len(raw) + 1)
        word = b"=?%s?b?%s?=" % (chance.choice(CHARSETS), base64.b64encode(raw[place : place + 30]))
        return raw[:place] + word + raw[place:]
    old = chance.choice(found)
    in_base64 = old[2] in b"bB"
    says = inner(_decoded(old[3], b"base64") if in_base64 else old[3], chance)
    charset = chance.choice(CHARSETS) if chance.random() < 0.3 else old[1]
    word = b"=?%s?%s?%s?=" % (charset, old[2], base64.b64encode(says) if in_base64 else says)
    return raw[: old.start()] + word + raw[old.end() :]


def _claim(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """Another charset, media type or transfer encoding than the message claims."""
    found = list(_CLAIM.finditer(raw))
    if not found:
        return _field(raw, chance, inner)
    claim = chance.choice(found)
    values = {b"char": CHARSETS, b"cont": MEDIA_TYPES}[claim[1][:4].lower()]
    if b"encoding" in claim[1].lower():
        values = ENCODINGS
    return raw[: claim.end(1)] + chance.choice(values) + raw[claim.end() :]


def _field(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """A header field more, at the front."""
    name = chance.choice(
        (b"Content-Type", b"Subject", b"From", b"Received", b"To", b"Content-Transfer-Encoding", b"Date")
    )
    value = chance.choice((*MEDIA_TYPES, *ENCODINGS, b"text/html; charset=" + chance.choice(CHARSETS), raw[:40]))
    return b"%s: %s\n%s" % (name, value, raw)


def _wrapped(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """The message as a part of another, or twice in it."""
    kind = chance.choice((b"mixed", b"alternative", b"related"))
    if chance.random() < 0.3:
        return b"Content-Type: message/rfc822\n\n" + raw
    part = b"--b\n" + raw + b"\n"
    return b"Content-Type: multipart/%s; boundary=b\n\n" % kind + part * chance.choice((1, 2)) + b"--b--\n"


def _lines(raw: bytes, chance: random.Random, inner: Inner) -> bytes:
    """A line is left out, doubled, or changes places with another."""
    lines = raw.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


_MUTATIONS = (_bytes, _bytes, _by_chance, _content, _content, _encoded_word, _claim, _field, _wrapped, _lines)
