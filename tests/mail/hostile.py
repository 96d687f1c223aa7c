"""The worst messages that we can think of, by name.

`MESSAGES` are as large as the reader will take, `LARGE` are larger. `test_hostile.py` reads each of them,
`benchmarks/hostile.py` has each scored by a process of its own, and the fuzzer begins with their first bytes.
`PATTERNS` are the costliest that a person can choose.
"""

import base64
import io
import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from spamnb.mail.limits import DEFAULT_LIMITS

MOST = DEFAULT_LIMITS.message_bytes + 1  # the caller reads no more of a file
FIELD = 70_000  # a little more than a header block may have


def forwarded_subjects(unit: bytes) -> bytes:
    """Messages in messages, each with Subjects that are `unit` again and again."""
    subjects = filled(b"Subject: %s\n" % filled(unit, 4000), 60_000)
    return (b"Content-Type: message/rfc822\n%s\n\n" % subjects) * 12


def two_parts(text: bytes, markup: bytes) -> bytes:
    """As much text and as much HTML as are read, each `unit` again and again."""
    return b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n%s\n--b\nContent-Type: text/html\n\n%s\n" % (
        filled(text, 510_000),
        filled(markup, 410_000),
    )


def filled(unit: bytes, size: int = MOST) -> bytes:
    """`unit` again and again, `size` bytes of it."""
    return (unit * (size // len(unit) + 1))[:size]


def field(name: str, unit: bytes, before: bytes = b"", size: int = FIELD) -> bytes:
    """A message with one overlong field."""
    return name.encode() + b": " + before + filled(unit, size) + b"\n\nbody\n"


def plain(unit: bytes, charset: str = "utf-8", before: bytes = b"") -> bytes:
    """A plain text message whose body is `unit` again and again."""
    return f"Content-Type: text/plain; charset={charset}\n\n".encode() + before + filled(unit)


def html(unit: bytes, before: bytes = b"<p>", charset: str = "utf-8") -> bytes:
    """An HTML message whose body is `unit` again and again."""
    return f"Content-Type: text/html; charset={charset}\n\n".encode() + before + filled(unit)


def encoded(unit: bytes, charset: str) -> bytes:
    """A text in base64, whose decoded bytes are `unit` again and again."""
    body = base64.encodebytes(filled(unit, MOST * 3 // 4))
    return f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n".encode() + body


def nested(levels: int, kind: bytes = b"multipart/mixed") -> bytes:
    """Multiparts in multiparts, each with a boundary of its own."""
    opening = b"".join(b'Content-Type: %s; boundary="b%d"\n\n--b%d\n' % (kind, level, level) for level in range(levels))
    return opening + b"\ninnermost words\n" + b"".join(b"--b%d--\n" % level for level in reversed(range(levels)))


def forwarded(levels: int) -> bytes:
    """Messages in messages."""
    return b"Content-Type: message/rfc822\n\n" * levels + b"Subject: innermost\n\nwords\n"


def many_parts(number: int, part: bytes = b"\nword\n") -> bytes:
    """One multipart with `number` parts."""
    return b"Content-Type: multipart/mixed; boundary=b\n\n" + (b"--b\n" + part) * number + b"--b--\n"


def alternatives(*texts: bytes, kind: bytes = b"plain") -> bytes:
    """A message with several texts for one content."""
    parts = b"".join(b"--b\nContent-Type: text/%s; charset=utf-8\n\n%s\n" % (kind, text) for text in texts)
    return b"Content-Type: multipart/alternative; boundary=b\n\n" + parts + b"--b--\n"


def chinese(number: int, seed: int = 1) -> bytes:
    """Letters of which nearly all pairs are different."""
    return "".join(map(chr, random.Random(seed).choices(range(0x4E00, 0x9FA0), k=number))).encode()


def noise(seed: int, size: int = MOST) -> bytes:
    """Random bytes, always the same."""
    return random.Random(seed).randbytes(size)


def distinct_words(number: int = 150_000) -> bytes:
    """Words that occur once each."""
    return b" ".join(b"w%x" % word for word in range(number))


def continuations(number: int) -> bytes:
    """A file name in RFC 2231 pieces."""
    pieces = b"".join(b";\n name*%d*=%%41" % piece for piece in range(number))
    return b"Content-Type: application/x" + pieces + b"\n\nbody\n"


def zip_bomb() -> bytes:
    """A small archive of a large file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("inside.txt", filled(b"unzipped ", 10 << 20))
    return archive.getvalue()


def attached(media_type: bytes, content: bytes) -> bytes:
    """A message with one attachment in base64."""
    fields = b"Content-Type: %s; name=a.bin\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n"
    return b"Subject: see attached\n" + fields % media_type + base64.encodebytes(content)


def signed(octets: bytes) -> bytes:
    """A file of S/MIME whose content is an octet string of these pieces."""
    oid = bytes.fromhex("06092a864886f70d0107")
    head = b"\x30\x80%s\x02\xa0\x80\x30\x80\x02\x01\x01\x31\x00\x30\x80%s\x01\xa0\x80\x24\x80" % (oid, oid)
    fields = b"Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\n"
    return fields + base64.b64encode(head + octets)


def signed_layers() -> bytes:
    """Files of S/MIME in one another, as large as is read."""
    raw = b"\n" + filled(b"words ", 40_000)
    for _ in range(11):
        raw = signed(b"\x04\x83" + len(raw).to_bytes(3) + raw)
    return raw


def calendar(unit: bytes, before: bytes = b"BEGIN:VCALENDAR\n") -> bytes:
    """An invitation that is `unit` again and again."""
    return b"Content-Type: text/calendar\n\n" + before + filled(unit)


def page(unit: bytes, before: bytes = b"", kind: bytes = b"text/html") -> bytes:
    """An attached page that is `unit` again and again."""
    return b"Content-Type: %s\nContent-Disposition: attachment\n\n" % kind + before + filled(unit)


PATTERNS = [f"*a?b{'?' * 230}*{number}*.*" for number in range(1000)]
LONGEST_NAME = b"a." * 119 + b"a.example"  # with an address before it, the longest that a pattern is compared with
SPACED = b"a b c d e f g h i j k l m n o p q r s t u v w x y z aa "

_FIELD_LIMITS = {"limit:field_chars", "limit:header_bytes"}

_HTML = b"Content-Type: text/html\n\n"
_SEEN_OPEN = {"limit:html_depth", "limit:html_open"}

# What it is -> (the message, tokens that must be among its tokens).
MESSAGES: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "nothing": (lambda: b"", {"body-empty:"}),
    "nuls": (lambda: filled(b"\0"), {"limit:header_bytes", "limit:text_chars"}),
    "noise": (lambda: noise(1), {"limit:text_chars", "limit:tokens", "limit:work"}),
    "noise-in-body": (lambda: b"Subject: x\n\n" + noise(2), {"limit:text_chars", "limit:tokens", "limit:work"}),
    "noise-in-html": (
        lambda: b"Content-Type: text/html\n\n" + noise(3),
        {"limit:html_depth", "limit:text_chars", "limit:work"},
    ),
    "one-line": (lambda: filled(b"a"), {"limit:header_bytes", "limit:text_chars"}),
    "one-line-body": (lambda: plain(b"a"), {"a…150000", "limit:text_chars"}),
    "odd-lines": (lambda: filled(b"\xe8\n"), {"limit:header_bytes", "limit:text_chars", "limit:work"}),
    "blank-lines": (lambda: filled(b"\n"), set()),
    "blank-lines-crlf": (lambda: filled(b"\r\n"), set()),
    "blanks": (lambda: filled(b" "), {"limit:header_bytes"}),
    "blank-lines-with-blanks": (lambda: filled(b" \t\n"), {"limit:header_bytes"}),
    "returns": (lambda: filled(b"\r"), {"limit:header_bytes"}),
    "returns-in-header": (lambda: filled(b"A: b\r"), {"limit:header_bytes", "limit:header_fields", "limit:text_chars"}),
    "newlines-and-returns": (lambda: b"A: b\n" + filled(b" \r"), {"limit:field_chars", "limit:header_bytes"}),
    "nuls-everywhere": (
        lambda: b"Sub\0ject: a\0b\nFrom: \0@\0.example\nContent-Type: text/\0html\n\n" + filled(b"w\0rd "),
        {"limit:text_chars"},
    ),
    "from-lines": (
        lambda: b"Subject: x\n\n" + filled(b"From a@b.example Mon Jan  1 00:00:00 2024\n\n"),
        {"limit:text_chars"},
    ),
    "from-lines-before": (lambda: filled(b">From a@b.example x\n", 60_000) + b"Subject: x\n\nwords\n", set()),
    "escapes": (
        lambda: b"Subject: " + filled(b"\x1b]0;x\x07\x1b[2J\x9b\xe2\x80\xae", 2000) + b"\n\n" + filled(b"\x1b[31mred "),
        {"limit:text_chars"},
    ),
    # The structure.
    "parts-10000": (lambda: many_parts(10_000), {"limit:parts", "limit:work", "mime-parts:7"}),
    "parts-empty": (lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + filled(b"--b\n"), {"limit:work"}),
    "parts-html": (
        lambda: many_parts(90, b"Content-Type: text/html\n\n" + filled(b"<p><b>x</b>y", 11_000) + b"\n"),
        {"limit:html_tags"},
    ),
    "parts-text": (lambda: many_parts(90, b"\n" + filled(b"word1 ", 11_000) + b"\n"), {"limit:text_chars"}),
    "parts-headers": (lambda: many_parts(90, filled(b"A: b\n", 11_000) + b"\nx\n"), {"limit:header_fields"}),
    "nesting-1000": (lambda: nested(1000), {"limit:nesting"}),
    "nesting-10000": (lambda: nested(10_000), {"limit:nesting"}),
    "nesting-alternative": (lambda: nested(1000, b"multipart/alternative"), {"limit:nesting"}),
    "forwarded-1000": (lambda: forwarded(1000), {"limit:nesting"}),
    "forwarded-30000": (lambda: forwarded(30_000), {"limit:nesting"}),
    "forwarded-big-headers": (
        lambda: (b"Content-Type: message/rfc822\n" + filled(b"Subject: a b c\n", 60_000) + b"\n") * 15,
        {"limit:header_fields"},
    ),
    "boundary-everywhere": (
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + filled(b"--b "),
        {"limit:text_chars", "limit:work", "multipart-broken:"},
    ),
    "boundary-and-blanks": (lambda: b"Content-Type: multipart/mixed; boundary=b\n\n--b" + filled(b" "), set()),
    "boundary-missing-and-blanks": (
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n--c" + filled(b" "),
        {"multipart-broken:"},
    ),
    "boundary-missing-and-dashes": (
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + filled(b"--" + b" " * 5000 + b"\n"),
        {"multipart-broken:"},
    ),
    "boundary-missing-nested": (
        lambda: (
            b"Content-Type: multipart/mixed\n\n"
            + filled(b"--c" + b" " * 90 + b"\ncontent-type: multipart/mixed; boundary=x\n\n")
        ),
        {"limit:work"},
    ),
    "boundary-of-a-dash": (
        lambda: b"Content-Type: multipart/mixed; boundary=-\n\n" + filled(b"-----\n"),
        {"limit:text_chars", "limit:work"},
    ),
    "parts-parameters": (
        lambda: many_parts(90, b"Content-Type: text/plain" + filled(b"; a='", 4000) + b"\n\nx\n"),
        {"limit:work"},
    ),
    "parts-quoted-parameters": (
        lambda: many_parts(90, b"Content-Type: text/plain; a=" + filled(b'";', 4000) + b"\n\nx\n"),
        {"limit:work"},
    ),
    "parts-addresses": (
        lambda: b"Content-Type: message/rfc822\n" + filled(b"From: (((a@b.c\n", 9000) + b"\nx",
        {"limit:header_fields"},
    ),
    "attachment-zip": (lambda: attached(b"application/zip", zip_bomb()), {"attached:application/zip"}),
    "attachment-zip-as-text": (lambda: attached(b"text/plain", zip_bomb()), {"attached:text/plain"}),
    "signed-data": (lambda: signed(b"\x04\x01x" * 250_000), {"limit:work"}),
    "signed-data-deep": (lambda: signed(b"\x24\x80" * 350_000), set()),
    "signed-data-often": (lambda: many_parts(48, signed(b"\x04\0" * 8_000) + b"\n"), {"limit:work"}),
    "signed-data-layers": (signed_layers, set()),
    "signed-data-text": (lambda: signed(b"\x04\x84\x00\x0b\x00\x00" + b"\nab'c " * 110_000), {"limit:text_chars"}),
    "attachment-image": (
        lambda: attached(b"image/png", b"\x89PNG\r\n\x1a\n" + b"\0\0\xff\xffIHDR" * 80_000),
        {"attached:image/png"},
    ),
    "attached-texts": (
        lambda: many_parts(
            99, b"Content-Type: text/plain\nContent-Disposition: attachment\n\n%s\n" % (chinese(1600) + b"\xff")
        ),
        {"limit:unspaced_chars", "limit:work"},
    ),
    "attached-pages": (
        lambda: many_parts(
            98, b"Content-Type: text/html\nContent-Disposition: attachment\n\n%s\n" % filled(b"<p><b>x</b>y", 10_000)
        ),
        {"limit:html_tags", "limit:work"},
    ),
    "attachments": (
        lambda: many_parts(99, b"Content-Disposition: attachment; filename=%s\n\nx\n" % filled(b"a.b", 4000)),
        set(),
    ),
    # Invitations.
    "calendar-folds": (lambda: calendar(b"\n a", b"SUMMARY:b"), {"b…49990", "limit:text_chars"}),
    "calendar-folds-blank": (lambda: calendar(b"\n \t"), {"limit:text_chars"}),
    "calendar-lines": (lambda: calendar(b"\n"), {"limit:text_chars"}),
    "calendar-returns": (lambda: calendar(b"\r"), {"limit:text_chars"}),
    "calendar-nuls": (lambda: calendar(b"\0"), {"limit:text_chars"}),
    "calendar-properties": (
        lambda: b"Content-Type: text/calendar\n\n" + b"".join(b"SUMMARY:w%x\n" % n for n in range(90_000)),
        {"limit:text_chars", "limit:tokens"},
    ),
    "calendar-organizers": (
        lambda: (
            b"Content-Type: application/ics\n\n"
            + b"".join(b'ORGANIZER;CN="%x:;":mailto:a@%x.b.c.d.e.f\n' % (n, n) for n in range(30_000))
        ),
        {"limit:text_chars", "organizer:b.c.d.e.f"},
    ),
    "calendar-quotes": (lambda: calendar(b'";', b"ORGANIZER;"), {"limit:text_chars"}),
    "calendar-quotes-open": (lambda: calendar(b'ORGANIZER;"a:b\n'), {"limit:text_chars", "organizer:b"}),
    "calendar-escapes": (lambda: calendar(b"\\\\", b"SUMMARY:"), {"limit:text_chars"}),
    "calendar-escaped-lines": (lambda: calendar(b"a\\n", b"SUMMARY:"), {"a", "limit:text_chars"}),
    "calendar-alarms": (lambda: calendar(b"BEGIN:VALARM\nSUMMARY:a\n"), {"limit:text_chars"}),
    "calendar-markup": (
        lambda: calendar(b"<b>", b"SUMMARY:"),
        {"limit:html_depth", "limit:html_tags", "limit:text_chars", "limit:work"},
    ),
    "calendar-charset": (
        lambda: calendar(b"\xff\xc3", b"SUMMARY:"),
        {"limit:text_chars", "limit:unspaced_chars", "limit:work"},
    ),
    "calendar-utf-16": (
        lambda: b"Content-Type: text/calendar; charset=utf-16\n\n" + filled(b"\xd8\x00"),
        {"limit:text_chars", "limit:work"},
    ),
    "calendar-parts": (
        lambda: many_parts(90, b"Content-Type: text/calendar\n\nSUMMARY:" + filled(b"w\\n", 11_000) + b"\n"),
        {"limit:text_chars", "limit:work"},
    ),
    # Attached pages.
    "page-programs": (
        lambda: page(b"<script>eval(a)</script>"),
        {"attached-html:eval", "attached-html:script", "limit:html_tags", "limit:work"},
    ),
    "page-program": (lambda: page(b"at ob(", b"<script>"), {"attached-html:script", "limit:work"}),
    "page-handlers": (lambda: page(b" onx=location", b"<p"), {"limit:work"}),
    "page-links": (
        lambda: page(b"<a href=javascript:x><a href=data:x><a href=http://a.b/c>"),
        {"attached-html:data-url", "attached-url:a.b", "limit:html_tags", "limit:work"},
    ),
    "page-urls": (
        lambda: (
            b"Content-Type: text/html\nContent-Disposition: attachment\n\n<script>"
            + b" ".join(b"http://%x.a.b.c.d.e" % n for n in range(40_000))
        ),
        {"attached-url:a.b.c.d.e", "limit:links"},
    ),
    "page-depth": (lambda: page(b"<div>"), {"limit:html_tags", "limit:work"}),
    "page-charset": (
        lambda: page(b"\xff\xc3"),
        {"limit:text_chars", "limit:work"},
    ),
    "page-noise": (lambda: b"Content-Type: image/svg+xml\n\n" + noise(4), {"limit:work"}),
    "page-drawing": (
        lambda: page(b'<a xlink:href="http://a.b/"><script/></a>', b"<svg>", b"image/svg+xml"),
        {"attached-html:script", "limit:html_tags", "limit:work"},
    ),
    "page-drawing-names": (lambda: page(b" xmlns:a=b a:href=c", b"<svg", b"image/svg+xml"), set()),
    "pages": (
        lambda: many_parts(90, b"Content-Type: image/svg+xml\n\n" + filled(b"<script>eval(1)", 11_000) + b"\n"),
        {"attached-html:eval", "limit:html_tags", "limit:work"},
    ),
    # The header.
    "fields-many": (lambda: filled(b"A: b\n"), {"limit:header_bytes", "limit:header_fields", "limit:text_chars"}),
    "fields-many-names": (
        lambda: b"".join(b"X-%x: b\n" % n for n in range(100_000)),
        {"limit:header_bytes", "limit:header_fields"},
    ),
    "fields-received": (
        lambda: filled(b"Received: from a.b.c.d.e.f ([1.2.3.4])\n"),
        {"limit:header_bytes", "limit:header_fields", "limit:text_chars", "received-number:8"},
    ),
    "field-folded": (
        lambda: b"Subject: a" + filled(b"\n b"),
        {"limit:field_chars", "limit:header_bytes", "limit:text_chars"},
    ),
    "field-folded-blank": (lambda: b"Subject: a" + filled(b"\n \t"), _FIELD_LIMITS),
    "fields-added-later": (lambda: filled(b"Status: x\n y\n"), {"limit:header_bytes", "limit:header_fields"}),
    "fields-added-later-long": (lambda: b"Status: x" + filled(b"\n "), _FIELD_LIMITS),
    "fields-identity": (lambda: filled(b"From: a\n b\n"), {"limit:header_bytes", "limit:header_fields", "limit:work"}),
    "fields-identity-blank": (lambda: filled(b"date:" + b" " * 5000 + b"\n"), {"limit:header_bytes"}),
    "mozilla-names": (lambda: b"X-Mozilla-" + filled(b"a-"), {"limit:header_bytes", "limit:text_chars"}),
    "encoded-word-long": (
        lambda: field("Subject", b"=41", b"=?utf-8?q?") + b"?=",
        {"limit:field_chars", "limit:header_bytes"},
    ),
    "encoded-words-many": (lambda: field("Subject", b"=?utf-8?q?=41?= "), {"limit:field_chars", "limit:header_bytes"}),
    "encoded-words-open": (
        lambda: field("Subject", b"=?utf-8?q?"),
        {"limit:field_chars", "limit:header_bytes", "limit:work"},
    ),
    "encoded-words-base64": (lambda: field("Subject", b"=?utf-8?b?QQ?="), {"limit:field_chars", "limit:header_bytes"}),
    "encoded-words-marks": (lambda: field("Subject", b"=?"), {"limit:field_chars", "limit:header_bytes", "limit:work"}),
    "encoded-word-utf-7": (lambda: field("Subject", b"+2D3cAA-", b"=?utf-7?q?"), _FIELD_LIMITS),
    "encoded-word-hz": (lambda: field("Subject", b"~{VPND~}", b"=?hz?q?"), _FIELD_LIMITS),
    "encoded-word-punycode": (lambda: field("Subject", b"a-99", b"=?punycode?q?"), _FIELD_LIMITS),
    "encoded-word-idna": (lambda: field("Subject", b"xn--a.", b"=?idna?q?"), _FIELD_LIMITS),
    "encoded-words-everywhere": (
        lambda: b"".join(b"X-%d: %s\n" % (n, b"=?utf-8?q?=41?= " * 8) for n in range(490)),
        {"limit:header_bytes", "limit:header_fields"},
    ),
    "encoded-words-in-all-fields": (
        lambda: b"".join(b"A-%d: %s\n" % (n, b"=?utf-8?q?=41?= " * 8) for n in range(490)),
        {"limit:header_bytes", "limit:header_fields", "limit:work"},
    ),
    # Lines that are no fields.
    "strays": (
        lambda: filled(b"To: a\nno field\n", 900_000) + b"\n\nbody",
        {"limit:header_bytes", "limit:header_fields", "limit:text_chars"},
    ),
    "strays-and-body": (
        lambda: b"A: b\n.\n" + filled(b"a\n", 500_000) + b"Content-Transfer-Encoding: base64\n\n" + filled(b"QUJD\n"),
        {"limit:header_bytes", "limit:text_chars"},
    ),
    "fields-wanted": (
        lambda: filled(b"Subject:\n"),
        {"header-broken:", "limit:header_bytes", "limit:header_fields", "limit:text_chars", "limit:work"},
    ),
    "fields-almost": (
        lambda: b"A: b\n.\n" + filled(b"\xa0subject" + b"\xa0" * 900 + b"\n"),
        {"limit:header_bytes"},
    ),
    "forwarded-strays": (
        lambda: (
            b"Content-Type: message/rfc822\n.\nContent-Type: message/rfc822\nContent-Transfer-Encoding: 7bit\n\n" * 12
            + b"A: b\n\n"
            + filled(b"word ", 1_000_000)
        ),
        {"limit:text_chars", "limit:work"},
    ),
    "nesting-strays": (
        lambda: (
            b"".join(
                b"Content-Type: multipart/mixed; boundary=b%d\n--\nContent-Transfer-Encoding: base64\n\n--b%d\n"
                % (n, n)
                for n in range(12)
            )
            + b"\n"
            + filled(b"QUJDRA==\n", 1_000_000)
        ),
        {"limit:text_chars", "limit:work"},
    ),
    "parts-strays": (
        lambda: many_parts(
            98,
            b"Content-Transfer-Encoding: base64\n.\nContent-Type: text/html\nContent-Transfer-Encoding: x-uue\n\n"
            + filled(b"QUJD\n", 10_000),
        ),
        {"limit:html_chars", "limit:parts", "limit:work"},
    ),
    "address-comments": (lambda: field("From", b"("), {"limit:field_chars", "limit:header_bytes"}),
    "address-comments-closed": (lambda: field("From", b"()"), {"limit:field_chars", "limit:header_bytes"}),
    "address-quotes": (lambda: field("From", b'"\\'), {"limit:field_chars", "limit:header_bytes"}),
    "address-groups": (lambda: field("To", b"a:b;,"), {"limit:field_chars", "limit:header_bytes"}),
    "address-brackets": (lambda: field("To", b"<a@[("), {"limit:field_chars", "limit:header_bytes"}),
    "address-routes": (lambda: field("To", b"<@a,@b:"), {"limit:field_chars", "limit:header_bytes"}),
    "address-commas": (lambda: field("To", b","), {"limit:field_chars", "limit:header_bytes"}),
    "sender-longest": (lambda: b"From: x@%s\nList-Id: <b.%s>\n\nbody\n" % (LONGEST_NAME, LONGEST_NAME), set()),
    "sender-overlong": (lambda: b"From: %s\nList-Id: <%s>\n\nbody\n" % (filled(b"a.@", 490), LONGEST_NAME * 2), set()),
    "address-fields": (lambda: filled(b"To: " + b"a b <c@d.e.f>, " * 100 + b"\n", 60_000) + b"\nx", {"to-number:6"}),
    "continuations": (lambda: continuations(2000), {"limit:field_chars"}),
    "continuations-long": (lambda: continuations(10_000), {"limit:field_chars", "limit:header_bytes"}),
    "parameters-semicolons": (
        lambda: field("Content-Type", b";", b"text/plain"),
        {"limit:field_chars", "limit:header_bytes"},
    ),
    "parameters-quotes": (
        lambda: field("Content-Type", b'";', b"text/plain; a="),
        {"limit:field_chars", "limit:header_bytes"},
    ),
    "parameters-escapes": (
        lambda: field("Content-Type", b'\\"', b'text/plain; a="'),
        {"limit:field_chars", "limit:header_bytes"},
    ),
    "parameters-many": (
        lambda: field("Content-Type", b"; a=b", b"text/plain"),
        {"limit:field_chars", "limit:header_bytes"},
    ),
    "date-blank": (lambda: field("Date", b" ", b"+0000"), {"limit:field_chars", "limit:header_bytes"}),
    "date-zones": (lambda: field("Date", b"+0000 "), {"limit:field_chars", "limit:header_bytes"}),
    "message-id-hosts": (lambda: field("Message-ID", b"a.", b"<x@"), {"limit:field_chars", "limit:header_bytes"}),
    "names-long": (lambda: field("Received", b"a.-"), {"limit:field_chars", "limit:header_bytes"}),
    "names-digits": (lambda: field("Received", b"1.1."), {"limit:field_chars", "limit:header_bytes"}),
    "address-blanks": (lambda: (b"To: a@b.c," + b" " * 1989 + b"\n") * 32 + b"\nx", set()),
    "address-blanks-by-the-book": (lambda: (b"Cc: a@b.c," + b" " * 1980 + b"(\n") * 32 + b"\nx", set()),
    "parts-closed-parameters": (
        lambda: many_parts(
            99, b"Content-Type: text/plain%s\nContent-Disposition: attachment%s\n\nx\n" % (b";)" * 2000, b";)" * 2000)
        ),
        {"limit:work"},
    ),
    "forwarded-words": (lambda: forwarded_subjects(b"=?a?q?A?= "), {"limit:work"}),
    "forwarded-words-of-two-charsets": (
        lambda: forwarded_subjects(b"=?a?q?A?= =?b?q?B?= "),
        {"limit:work"},
    ),
    "forwarded-words-base64": (
        lambda: forwarded_subjects(b"=?iso-2022-jp?b?GyRCJDM?= "),
        {"limit:work"},
    ),
    "forwarded-words-broken": (
        lambda: forwarded_subjects(b"=?utf-8?q?\xff=FF=FE\xe4=80?= \xff\xfe"),
        {"limit:work"},
    ),
    # Transfer encodings and charsets.
    "base64-broken": (
        lambda: b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + filled(b"QUJD*"),
        {"base64-broken:", "limit:text_chars"},
    ),
    "base64-blank": (lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"Q "), {"limit:text_chars"}),
    "quoted-printable-broken": (
        lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"=X="),
        {"limit:text_chars"},
    ),
    "quoted-printable-blanks": (
        lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b" \t"),
        set(),
    ),
    "quoted-printable-padded": (
        lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"a= \n"),
        {"limit:text_chars"},
    ),
    "uuencoded-begins": (lambda: plain(b"begin 644 a\n"), {"limit:text_chars"}),
    "uuencoded-files": (lambda: plain(b"begin 644 a\n\nend\n"), {"uuencoded:"}),
    "uuencoded-lines": (lambda: plain(b"begin 644 a\n#86)C\n#86)C\n"), {"limit:text_chars"}),
    "uuencode": (
        lambda: b"Content-Transfer-Encoding: x-uuencode\n\n" + filled(b"#86)C\n"),
        {"limit:text_chars", "limit:work"},
    ),
    "flowed": (lambda: b"Content-Type: text/plain; format=flowed\n\n" + filled(b"a \n"), {"limit:text_chars"}),
    "flowed-empty": (lambda: b"Content-Type: text/plain; format=flowed\n\n" + filled(b" \n"), set()),
    "utf-7": (lambda: plain(b"+2D3cAA-", "utf-7"), {"limit:text_chars"}),
    "utf-7-open": (lambda: plain(b"A", "utf-7", b"+"), {"limit:text_chars"}),
    "hz": (lambda: plain(b"~{VPND~}", "hz"), {"limit:text_chars", "limit:unspaced_chars"}),
    "hz-tildes": (lambda: plain(b"~~\n", "hz"), {"limit:text_chars"}),
    "iso-2022-jp": (lambda: plain(b"\x1b$B0l\x1b(B", "iso-2022-jp"), {"charset-wrong:", "limit:unspaced_chars"}),
    "iso-2022-kr": (lambda: plain(b"\x0e0l\x0f", "iso-2022-kr", b"\x1b$)C"), {"limit:text_chars"}),
    "iso-2022-jp-ext": (lambda: encoded(b"\x1b$(D0l", "iso-2022-jp-ext"), {"charset-wrong:", "limit:unspaced_chars"}),
    "punycode": (lambda: plain(b"a-99", "punycode"), {"charset-unknown:", "limit:text_chars"}),
    "idna": (lambda: plain(b"xn--a.", "idna"), {"charset-unknown:", "limit:text_chars"}),
    "unicode-escape": (lambda: plain(b"\\U0001F600", "unicode_escape"), {"charset-unknown:", "limit:text_chars"}),
    "utf-16": (lambda: encoded(b"\xd8\x00", "utf-16"), {"charset-wrong:"}),
    "utf-32": (lambda: encoded(b"\xff", "utf-32"), {"charset-wrong:", "limit:text_chars", "limit:work"}),
    "utf-8-broken": (
        lambda: plain(b"\xff\xc3"),
        {"charset-wrong:", "limit:text_chars", "limit:unspaced_chars", "limit:work"},
    ),
    "euc-kr": (lambda: plain("\ud55c\uae00 ".encode("euc-kr"), "euc-kr"), {"limit:text_chars", "limit:work"}),
    "euc-kr-broken": (lambda: plain(b"\xc7\xd1\xff", "euc-kr"), {"limit:text_chars", "limit:work"}),
    "euc-kr-html": (
        lambda: html(b"\xa4\xd4\xa4\xa1\xa4\xc7", b"<p>", "euc-kr"),
        {"limit:text_chars", "limit:work"},
    ),
    "charset-many": (
        lambda: many_parts(90, b"Content-Type: text/plain; charset=x-%d\n\n\xff\n" % 1),
        {"charset-unknown:"},
    ),
    # Text.
    "words-distinct": (lambda: b"Subject: x\n\n" + distinct_words(), {"limit:text_chars", "limit:tokens"}),
    "words-distinct-html": (
        lambda: b"Content-Type: text/html\n\n<p>" + distinct_words(),
        {"limit:text_chars", "limit:tokens"},
    ),
    "alternatives": (lambda: alternatives(distinct_words(30_000), *[b"x"] * 98), {"limit:tokens"}),
    "alternatives-han": (lambda: alternatives(chinese(199_000), *[b"x"] * 98), {"limit:tokens"}),
    "alternatives-han-each": (lambda: alternatives(*[chinese(2000, part) for part in range(98)]), {"limit:tokens"}),
    "words-spaced": (lambda: plain(SPACED), {"limit:text_chars"}),
    "words-spaced-long": (lambda: plain(b"a "), {"limit:text_chars"}),
    "words-spaced-almost": (lambda: plain(b"a b c1"), {"limit:text_chars"}),
    "words-hyphens": (lambda: plain(b"a-"), {"limit:text_chars"}),
    "words-hyphens-many": (lambda: plain(b"ab-'"), {"limit:text_chars"}),
    "numbers": (lambda: plain(b"1,."), {"limit:text_chars"}),
    "punctuation": (lambda: plain(b"!"), {"!!!", "limit:text_chars"}),
    "punctuation-almost": (lambda: plain(b"!!?"), {"limit:text_chars"}),
    "punctuation-pairs": (lambda: plain(b"--=="), {"limit:text_chars"}),
    "shouting": (lambda: plain(b"A"), {"limit:text_chars"}),
    "shouting-almost": (lambda: plain(b"AAAAAAAAAAAAAAAAAAAAA1"), {"limit:text_chars"}),
    "urls": (lambda: plain(b"http://a.b/c "), {"limit:links", "limit:text_chars", "url:a.b"}),
    "urls-one": (lambda: plain(b"http://"), {"limit:text_chars"}),
    "urls-almost": (lambda: plain(b"http:// "), {"limit:text_chars"}),
    "urls-www": (lambda: plain(b"www."), {"limit:text_chars"}),
    "urls-distinct": (
        lambda: b"Subject: x\n\n" + b" ".join(b"http://h%x.a.b.c.d.e/p%x" % (n, n) for n in range(30_000)),
        {"limit:links", "limit:text_chars"},
    ),
    "at-hosts": (lambda: plain(b"@a.b.c.d.e.f.g."), {"limit:text_chars"}),
    "at-hosts-almost": (lambda: plain(b"@a-1."), {"limit:text_chars"}),
    "at-long": (lambda: plain(b"@" + b"a" * 63 + b"."), {"limit:text_chars"}),
    "at-only": (lambda: plain(b"@"), {"limit:text_chars"}),
    "han": (lambda: plain("漢字".encode()), {"limit:text_chars", "limit:unspaced_chars", "limit:work", "漢字"}),
    "han-distinct": (
        lambda: plain("".join(map(chr, range(0x4E00, 0x9FFF))).encode()),
        {"limit:text_chars", "limit:tokens", "limit:work"},
    ),
    "han-pairs-distinct": (lambda: plain(chinese(199_000)), {"limit:text_chars", "limit:tokens", "limit:work"}),
    "look-alikes": (lambda: plain("vіаgra ".encode()), {"body-lookalike:", "limit:text_chars", "viagra"}),
    "look-alikes-one-word": (lambda: plain("vі".encode()), {"limit:text_chars"}),
    "styled": (lambda: plain("ａ 𝐚 ".encode()), {"limit:text_chars", "limit:work"}),
    "styled-words": (lambda: plain("𝐚𝐛 ".encode()), {"ab", "body-styled:", "limit:text_chars", "limit:work"}),
    "combining": (lambda: plain(b"a\xcc\x80\xcc\x96"), {"limit:text_chars", "limit:work"}),
    "combining-unordered": (lambda: plain("\u0591\u05b0\u0591\u05c1".encode()), {"limit:text_chars", "limit:work"}),
    "combining-two-classes": (lambda: plain(b"\xe1\xb7\x8e\xf0\x90\x87\xbd"), {"limit:text_chars", "limit:work"}),
    "ligatures": (lambda: plain("\ufdfa".encode()), {"limit:text_chars", "limit:work"}),
    "ligatures-in-parts": (
        lambda: many_parts(20, b"\n" + "\ufdfa".encode() * 11_500 + b"\n"),
        {"limit:text_chars", "limit:work"},
    ),
    "ligatures-spaced": (lambda: plain("\ufdfa ".encode()), {"limit:text_chars"}),
    "text-and-links": (
        lambda: two_parts("\ufdfd аb v-ı 1,2 http:// @a.b ".encode(), b"<a href=x>y "),
        {"limit:links", "limit:text_chars", "limit:work"},
    ),
    "text-and-sheet": (
        lambda: two_parts(
            "аb漢字漢".encode(), b"<style>.a{display:block} .b{background:red}</style><p class='a b'>x" * 2
        ),
        {"limit:text_chars", "limit:unspaced_chars", "limit:work"},
    ),
    "invisible": (lambda: plain("a\u200b".encode()), {"body-invisible:", "limit:text_chars", "limit:work"}),
    "dotted-capital-i": (lambda: plain("İ".encode()), {"limit:text_chars", "limit:work"}),
    # HTML.
    "html-depth": (lambda: html(b"<div>"), {"limit:html_depth", "limit:html_tags", "limit:work"}),
    "html-depth-links": (lambda: html(b"<a>"), {"limit:html_tags"}),
    "html-depth-text": (lambda: html(b"<div>x "), {"limit:html_depth", "limit:html_tags", "limit:work"}),
    "html-depth-font": (lambda: html(b"<font color=red>x"), {"limit:html_depth", "limit:html_tags", "limit:work"}),
    "html-depth-inline": (lambda: html(b"<b><i>x"), {"limit:html_depth", "limit:html_tags"}),
    "html-open": (lambda: _HTML + b"<b><div>" + b"<x>" * 18_000 + b"</b>" * 18_000, _SEEN_OPEN),
    "html-open-not-closed": (lambda: _HTML + b"<x>" * 19_900 + b"</i>" * 19_900, _SEEN_OPEN),
    "html-open-p": (lambda: _HTML + b"<font>" * 19_900 + b"</p>" * 19_900, _SEEN_OPEN),
    "html-open-again": (
        lambda: _HTML + b"<p><i><div>" + b"<i>" * 18_000 + b"<p><h1></h1></p>" * 5000,
        {"limit:html_depth"},
    ),
    "html-open-by-turns": (lambda: _HTML + (b"<x>" * 128 + b"</b>" * 128) * 155, _SEEN_OPEN),
    "html-open-bodies": (lambda: _HTML + b"<b>" * 19_000 + b"<bOdY a=b>" * 19_000, _SEEN_OPEN),
    "html-open-roots": (lambda: _HTML + b"<html a=b c=d e=f>" * 10_000 + b"<body a=b c>" * 15_000, set()),
    "html-open-names": (lambda: _HTML + b"<%s1>" % (b"x" * 50) * 3700 + b"</%s2>" % (b"x" * 50) * 3700, _SEEN_OPEN),
    "html-open-tables": (lambda: _HTML + b"<table><tr><td><b>" * 8_000 + b"</table>" * 7_900, _SEEN_OPEN),
    "html-open-in-tables": (lambda: _HTML + b"<table>" * 2 + b"<b><i>" * 10_000 + b"</td>" * 19_000, _SEEN_OPEN),
    "html-open-raw": (
        lambda: _HTML + b"<b>" * 2500 + b"</i>" * 2500 + b"<script><!--</script>" * 11_000,
        {"html:script", *_SEEN_OPEN},
    ),
    "html-open-behind-comments": (
        lambda: _HTML + b"<b>" * 2500 + b"</i>" * 2500 + b"<!---->" * 34_000,
        {"html:comment", *_SEEN_OPEN},
    ),
    "html-tables": (lambda: html(b"<table><tr><td>"), {"limit:html_depth", "limit:html_tags", "limit:work"}),
    "html-closed": (lambda: html(b"</p></b>"), {"limit:html_tags"}),
    "html-crossed": (lambda: html(b"<b><p></b></p>x"), {"limit:html_tags", "limit:work"}),
    "html-lists": (lambda: html(b"<ul><li>x"), {"limit:html_depth", "limit:html_tags", "limit:work"}),
    "html-forms": (
        lambda: html(b"<form action=a><input>"),
        {"html:form", "limit:html_tags", "limit:links", "limit:work"},
    ),
    "html-breaks": (lambda: html(b"<br>"), {"limit:html_tags"}),
    "html-less-than": (lambda: html(b"<"), {"limit:html_tags"}),
    "html-open-tag": (lambda: html(b"a=b "), {"limit:text_chars"}),
    "html-attributes": (lambda: html(b" a=b", b"<p"), set()),
    "html-attributes-distinct": (
        lambda: b"Content-Type: text/html\n\n<p " + b" ".join(b"a%x=b" % n for n in range(120_000)) + b">x",
        set(),
    ),
    "html-attributes-closed": (
        lambda: _HTML + b"<p " + b" ".join(b"a%x" % n for n in range(60_000)) + b">x",
        set(),
    ),
    "html-attributes-in-tags": (
        lambda: _HTML + (b"<p " + b" ".join(b"a%x" % n for n in range(1000)) + b">x") * 80,
        set(),
    ),
    "html-references-odd": (lambda: html(b"&#"), {"limit:html_chars"}),
    "html-attribute-long": (lambda: html(b"x", b'<a href="'), set()),
    "html-attributes-namespaced": (lambda: html(b" xmlns:a=b a:c=d", b"<p"), set()),
    "html-entities": (lambda: html(b"&amp;"), {"limit:html_chars"}),
    "html-entities-alone": (lambda: html(b"&", b""), {"limit:html_chars"}),
    "html-entities-open": (lambda: html(b"&"), {"limit:html_chars"}),
    "html-entities-numeric": (lambda: html(b"&#x10ffff;"), {"limit:html_chars"}),
    "html-entities-surrogates": (lambda: html(b"&#xd800;&#0;&#1;"), {"limit:html_chars"}),
    "html-entities-distinct": (
        lambda: html(b"".join(b"&#%d;" % n for n in range(19_968, 40_000))),
        {"limit:html_chars", "limit:tokens", "limit:work"},
    ),
    "html-entities-odd": (
        lambda: html(b"".join(b"&ampx%d;" % n for n in range(20_000))),
        {"limit:html_chars", "limit:tokens", "limit:work"},
    ),
    "html-comments": (lambda: html(b"<!-- x -->y"), {"html:comment", "limit:html_tags", "limit:work"}),
    "html-comment-open": (lambda: html(b"- ", b"<!--"), set()),
    "html-instructions": (lambda: html(b"<?a b>"), {"limit:html_tags", "limit:work"}),
    "html-doctypes": (lambda: html(b"<!DOCTYPE html>"), {"limit:html_tags", "limit:work"}),
    "html-cdata": (
        lambda: html(b"<![CDATA[x"),
        {"limit:html_tags", "limit:text_chars", "limit:work"},
    ),
    "html-script": (
        lambda: html(b"</scrip", b"<script>"),
        {"html:script", "limit:html_tags", "limit:work"},
    ),
    "html-raw-in-svg": (
        lambda: html(b"</svg><p style='display:none'>x <style>", b"<svg><style>"),
        {"html:svg", "limit:html_tags", "limit:work"},
    ),
    "html-raw-often": (lambda: html(b"<style><p></style>x "), {"limit:html_tags", "limit:work"}),
    "html-hidden": (
        lambda: html(b"<p style='display:none'>x</p>"),
        {"html:hidden-text", "limit:html_tags", "limit:work"},
    ),
    "html-hidden-deep": (
        lambda: html(b"<i>", b"<div style='display:none'>x"),
        {"html:hidden-text", "limit:html_depth", "limit:html_tags"},
    ),
    "html-nobr": (lambda: html(b"<nobr style='font-size:0'>x"), {"limit:html_depth", "limit:work"}),
    "html-sheet-nested": (lambda: html(b"a{b(", b"<style>"), set()),
    "html-sheet-quotes": (lambda: html(b"a{b:'\"}", b"<style>"), {"limit:work"}),
    "html-sheets": (lambda: html(b"<style>.a,.b{font-size:0}</style><p class=a>x"), {"limit:html_tags", "limit:work"}),
    "html-titles": (lambda: html(b"<title>x</title>"), {"limit:html_tags", "limit:work"}),
    "html-links": (
        lambda: html(b'<a href="http://a.bb/">http://c.dd/</a>'),
        {"html:link-shows-another-host", "limit:html_tags", "limit:links", "limit:work"},
    ),
    "html-links-distinct": (
        lambda: (
            b"Content-Type: text/html\n\n"
            + b"".join(b"<a href=http://%x.com/>www.x.com</a>" % n for n in range(28_000))
        ),
        {"limit:html_tags", "limit:links", "limit:work"},
    ),
    "html-links-open": (lambda: html(b"<a href=x>y "), {"limit:html_tags", "limit:links", "limit:work"}),
    "html-link-text": (lambda: html(b"a.", b"<a href=http://x.y>"), {"limit:text_chars"}),
    "html-styles": (
        lambda: html(b'<p style="display:none">x</p>y'),
        {"html:hidden-text", "limit:html_tags", "limit:work"},
    ),
    "html-sheets-of-rules": (lambda: html(b"<style>" + b"a{color:red}" * 58 + b"</style>x"), {"limit:work"}),
    "html-sheets-selectors": (lambda: html(b"<style>" + (b"a," * 400 + b"{x:y}") * 6 + b"</style>x"), {"limit:work"}),
    "html-style-blanks": (lambda: html(b" ", b'<p style="color'), set()),
    "html-style-long": (lambda: html(b'<p style="' + b"height " * 140 + b'">'), set()),
    "html-style-blank": (lambda: html(b'<p style="' + b";" + b" " * 998 + b'">'), set()),
    "html-style-digits": (lambda: html(b'<p style="font-size:1.' + b"0" * 990 + b'">'), set()),
    "html-style-opacity": (lambda: html(b'<p style="' + b"opacity:0. " * 90 + b'">'), set()),
    "html-sheet-rules": (lambda: html(b".a,#b,p{font:9px x}", b"<style>"), set()),
    "html-sheet-selectors": (lambda: html(b".a,", b"<style>"), set()),
    "html-sheet-comments": (lambda: html(b"/*", b"<style>"), {"limit:work"}),
    "html-sheet-used": (
        lambda: html(
            b"<p class='a b c d' id=e>x",
            b"<style>p{font-size:9px} .a{display:block} .b{background:red} .c{visibility:visible} p i{background:blue}"
            b"#e{font-size:9pt}</style>",
        ),
        {"limit:html_tags", "limit:work"},
    ),
    "html-links-odd": (
        lambda: (
            b"Content-Type: text/html\n\n"
            + b"".join(b"<a href='hTTp:/\\\\a%%41@%d@[b]:c/?http://d%d.e'>" % (n, n) for n in range(20_000))
        ),
        {"limit:links"},
    ),
    "html-images": (
        lambda: html(b"<img src=http://a.b/c alt=x width=1 height=1>"),
        {"html:image-invisible", "limit:links", "limit:work"},
    ),
    "html-xml-declaration": (lambda: html(b" ", b"\n"), set()),
    "html-xml": (
        lambda: html(b"<a:b>", b"<?xml version='1.0'?><html xmlns='x'>"),
        {"limit:html_depth", "limit:html_tags", "limit:work"},
    ),
    "html-bom": (
        lambda: html(b"<p>x", "\ufeff<?xml encoding='utf-16'?>".encode()),
        {"limit:html_tags", "limit:work"},
    ),
    "html-charset": (lambda: html(b"<p>x", b"<meta charset=utf-7>"), {"limit:html_tags", "limit:work"}),
    "html-nuls": (lambda: html(b"<p>\0x"), {"limit:html_tags", "limit:work"}),
    "html-svg": (
        lambda: html(b"<svg><math><template>"),
        {"html:svg", "limit:html_depth", "limit:html_tags", "limit:work"},
    ),
    "html-select": (
        lambda: html(b"<select><option>x"),
        {"html:select", "limit:html_depth", "limit:html_tags", "limit:work"},
    ),
    "html-plaintext": (lambda: html(b"<p>x", b"<plaintext>"), {"limit:html_tags", "limit:work"}),
    "html-frameset": (lambda: html(b"<frameset><frame>"), {"limit:html_depth", "limit:html_tags", "limit:work"}),
}


@dataclass(frozen=True, slots=True)
class Large:
    """A message too large to be held in memory: `head`, and `unit` again and again up to `size` bytes."""

    head: bytes
    unit: bytes
    size: int
    tokens: set[str]  # that must be among its tokens


_MB = 1 << 20
_HTML_HEAD = b"Content-Type: text/html\n\n"
_CHARSET_HEAD = b"Content-Type: text/plain; charset=%s\n\n"
_FIELD_SAID = {"limit:header_bytes", "limit:field_chars"}

LARGE: dict[str, Large] = {
    "message-200MB": Large(b"Subject: x\n\n", b"some words of it\n", 200 * _MB, {"limit:text_chars"}),
    "line-50MB": Large(b"Subject: x\n\n", b"a", 50 * _MB, {"limit:text_chars", "a…150000"}),
    "line-50MB-of-header": Large(b"", b"a", 50 * _MB, {"limit:header_bytes"}),
    "fields-1000000": Large(b"", b"X-A: b\n", 7_000_000, {"limit:header_bytes", "limit:header_fields"}),
    "tokens-billion": Large(b"Subject: x\n\n", b"a ", 2_000_000_000, {"limit:text_chars"}),
    "tokens-billion-numbers": Large(b"Subject: x\n\n", b"1 ", 2_000_000_000, {"limit:text_chars"}),
    "tables-30MB": Large(_HTML_HEAD, b"<table><tr><td>", 30 * _MB, {"limit:html_tags", "limit:html_depth"}),
    "divs-30MB": Large(_HTML_HEAD, b"<div>", 30 * _MB, {"limit:html_tags", "limit:html_depth"}),
    "entities-30MB": Large(_HTML_HEAD, b"&lt;&#x4e2d;", 30 * _MB, {"limit:message_bytes"}),
    "attributes-30MB": Large(_HTML_HEAD + b"<p", b" a=b", 30 * _MB, {"limit:message_bytes"}),
    "parts-10000000": Large(
        b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b\n\nx\n", 70_000_000, {"limit:work"}
    ),
    "nesting-messages-30MB": Large(b"", b"Content-Type: message/rfc822\n\n", 30 * _MB, {"limit:nesting"}),
    "encoded-word-5MB": Large(b"Subject: =?utf-8?b?", b"QUJD", 5 * _MB, _FIELD_SAID),
    "encoded-words-5MB": Large(b"Subject:", b" =?utf-8?q?=41?=", 5 * _MB, _FIELD_SAID),
    "encoded-words-folded-5MB": Large(b"Subject:", b" =?iso-2022-jp?B?GyRCJDM?=\n", 5 * _MB, _FIELD_SAID),
    "encoded-word-idna-5MB": Large(b"Subject: =?idna?q?", b"xn--a.", 5 * _MB, _FIELD_SAID),
    "utf-7-30MB": Large(_CHARSET_HEAD % b"utf-7", b"+2D3cAA-", 30 * _MB, {"charset:utf-7"}),
    "hz-30MB": Large(_CHARSET_HEAD % b"hz", b"~{VPND~}", 30 * _MB, {"limit:text_chars"}),
    "punycode-30MB": Large(_CHARSET_HEAD % b"punycode", b"a-99", 30 * _MB, {"limit:text_chars", "charset-unknown:"}),
    "idna-30MB": Large(_CHARSET_HEAD % b"idna", b"xn--a.", 30 * _MB, {"limit:text_chars", "charset-unknown:"}),
    "attachment-zip-30MB": Large(
        b"Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n", b"UEsDBAoAAAAA", 30 * _MB, set()
    ),
    "attachment-image-30MB": Large(b"Content-Type: image/png\n\n", b"\x89PNG\r\n\x1a\n", 30 * _MB, set()),
}


def write(name: str, path: str, most: int | None = None) -> None:
    """Write a message of `MESSAGES` or `LARGE` to a file; past `most` bytes, a large one is a hole in the file."""
    with open(path, "wb") as file:
        if name in MESSAGES:
            file.write(MESSAGES[name][0]())
            return
        large = LARGE[name]
        end = large.size if most is None else min(most, large.size)
        file.write(large.head)
        units = large.unit * max(1, _MB // len(large.unit))
        while (left := end - file.tell()) > 0:
            file.write(units[:left])
    os.truncate(path, large.size)
