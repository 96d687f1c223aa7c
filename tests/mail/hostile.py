"""The worst messages we can think of, each as large as the reader will take, by name.

`test_hostile.py` reads each of them; by hand, `python tests/mail/hostile.py` says what each costs.
"""

import base64
import random
import resource
import sys
import time
from collections.abc import Callable

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read

MOST = DEFAULT_LIMITS.message_bytes + 1  # the caller reads no more of a file
FIELD = 70_000  # a little more than a header block may have


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


SPACED = b"a b c d e f g h i j k l m n o p q r s t u v w x y z aa "

# What it is -> (the message, tokens that must be among its tokens).
MESSAGES: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "nothing": (lambda: b"", {"body-empty"}),
    "nuls": (lambda: filled(b"\0"), {"limit:message_bytes"}),
    "noise": (lambda: noise(1), {"limit:message_bytes"}),
    "noise-in-body": (lambda: b"Subject: x\n\n" + noise(2), {"limit:text_chars"}),
    "noise-in-html": (lambda: b"Content-Type: text/html\n\n" + noise(3), {"limit:html_chars"}),
    "one-line": (lambda: filled(b"a"), {"limit:header_bytes"}),
    "one-line-body": (lambda: plain(b"a"), {"limit:text_chars", "a…200000"}),
    "blank-lines": (lambda: filled(b"\n"), set()),
    "blank-lines-crlf": (lambda: filled(b"\r\n"), set()),
    "blanks": (lambda: filled(b" "), {"limit:header_bytes"}),
    "blank-lines-with-blanks": (lambda: filled(b" \t\n"), set()),
    "returns": (lambda: filled(b"\r"), set()),
    "returns-in-header": (lambda: filled(b"A: b\r"), set()),
    "newlines-and-returns": (lambda: b"A: b\n" + filled(b" \r"), set()),
    # The structure.
    "parts-10000": (lambda: many_parts(10_000), {"limit:parts", "mime-parts:7"}),
    "parts-empty": (lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + filled(b"--b\n"), {"limit:parts"}),
    "parts-html": (
        lambda: many_parts(90, b"Content-Type: text/html\n\n" + filled(b"<p><b>x</b>y", 11_000) + b"\n"),
        {"limit:html_chars"},
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
        {"multipart-broken"},
    ),
    "boundary-and-blanks": (lambda: b"Content-Type: multipart/mixed; boundary=b\n\n--b" + filled(b" "), set()),
    "boundary-missing-and-blanks": (
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n--c" + filled(b" "),
        {"multipart-broken"},
    ),
    "boundary-missing-and-dashes": (
        lambda: b"Content-Type: multipart/mixed; boundary=b\n\n" + filled(b"--" + b" " * 5000 + b"\n"),
        {"multipart-broken"},
    ),
    "boundary-missing-nested": (
        lambda: (
            b"Content-Type: multipart/mixed\n\n"
            + filled(b"--c" + b" " * 90 + b"\ncontent-type: multipart/mixed; boundary=x\n\n")
        ),
        set(),
    ),
    "boundary-of-a-dash": (lambda: b"Content-Type: multipart/mixed; boundary=-\n\n" + filled(b"-----\n"), set()),
    "parts-parameters": (
        lambda: many_parts(90, b"Content-Type: text/plain" + filled(b"; a='", 4000) + b"\n\nx\n"),
        set(),
    ),
    "parts-quoted-parameters": (
        lambda: many_parts(90, b"Content-Type: text/plain; a=" + filled(b'";', 4000) + b"\n\nx\n"),
        set(),
    ),
    "parts-addresses": (lambda: b"Content-Type: message/rfc822\n" + filled(b"From: (((a@b.c\n", 9000) + b"\nx", set()),
    "attachments": (
        lambda: many_parts(99, b"Content-Disposition: attachment; filename=%s\n\nx\n" % filled(b"a.b", 4000)),
        set(),
    ),
    # The header.
    "fields-many": (lambda: filled(b"A: b\n"), {"limit:header_bytes", "limit:header_fields"}),
    "fields-many-names": (lambda: b"".join(b"X-%x: b\n" % n for n in range(100_000)), {"limit:header_fields"}),
    "fields-received": (lambda: filled(b"Received: from a.b.c.d.e.f ([1.2.3.4])\n"), {"received-number:8"}),
    "field-folded": (lambda: b"Subject: a" + filled(b"\n b"), {"limit:header_bytes", "limit:field_chars"}),
    "field-folded-blank": (lambda: b"Subject: a" + filled(b"\n \t"), set()),
    "fields-added-later": (lambda: filled(b"Status: x\n y\n"), {"limit:header_bytes"}),
    "fields-added-later-long": (lambda: b"Status: x" + filled(b"\n "), set()),
    "fields-identity": (lambda: filled(b"From: a\n b\n"), {"limit:header_bytes"}),
    "fields-identity-blank": (lambda: filled(b"date:" + b" " * 5000 + b"\n"), {"limit:header_bytes"}),
    "mozilla-names": (lambda: b"X-Mozilla-" + filled(b"a-"), {"limit:header_bytes"}),
    "encoded-word-long": (lambda: field("Subject", b"=41", b"=?utf-8?q?") + b"?=", {"limit:field_chars"}),
    "encoded-words-many": (lambda: field("Subject", b"=?utf-8?q?=41?= "), {"limit:field_chars"}),
    "encoded-words-open": (lambda: field("Subject", b"=?utf-8?q?"), {"limit:field_chars"}),
    "encoded-words-base64": (lambda: field("Subject", b"=?utf-8?b?QQ?="), {"limit:field_chars"}),
    "encoded-words-marks": (lambda: field("Subject", b"=?"), {"limit:field_chars"}),
    "encoded-words-everywhere": (
        lambda: b"".join(b"X-%d: %s\n" % (n, b"=?utf-8?q?=41?= " * 8) for n in range(490)),
        set(),
    ),
    "address-comments": (lambda: field("From", b"("), {"limit:field_chars"}),
    "address-comments-closed": (lambda: field("From", b"()"), {"limit:field_chars"}),
    "address-quotes": (lambda: field("From", b'"\\'), {"limit:field_chars"}),
    "address-groups": (lambda: field("To", b"a:b;,"), {"limit:field_chars"}),
    "address-brackets": (lambda: field("To", b"<a@[("), {"limit:field_chars"}),
    "address-routes": (lambda: field("To", b"<@a,@b:"), {"limit:field_chars"}),
    "address-commas": (lambda: field("To", b","), {"limit:field_chars"}),
    "address-fields": (lambda: filled(b"To: " + b"a b <c@d.e.f>, " * 100 + b"\n", 60_000) + b"\nx", {"to-number:6"}),
    "continuations": (lambda: continuations(2000), set()),
    "continuations-long": (lambda: continuations(10_000), {"limit:header_bytes"}),
    "parameters-semicolons": (lambda: field("Content-Type", b";", b"text/plain"), set()),
    "parameters-quotes": (lambda: field("Content-Type", b'";', b"text/plain; a="), set()),
    "parameters-escapes": (lambda: field("Content-Type", b'\\"', b'text/plain; a="'), set()),
    "parameters-many": (lambda: field("Content-Type", b"; a=b", b"text/plain"), set()),
    "date-blank": (lambda: field("Date", b" ", b"+0000"), set()),
    "date-zones": (lambda: field("Date", b"+0000 "), set()),
    "message-id-hosts": (lambda: field("Message-ID", b"a.", b"<x@"), set()),
    "names-long": (lambda: field("Received", b"a.-"), set()),
    "names-digits": (lambda: field("Received", b"1.1."), set()),
    # Transfer encodings and charsets.
    "base64-broken": (
        lambda: b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + filled(b"QUJD*"),
        {"base64-broken"},
    ),
    "base64-blank": (lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"Q "), {"limit:text_chars"}),
    "quoted-printable-broken": (
        lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"=X="),
        {"limit:text_chars"},
    ),
    "quoted-printable-blanks": (lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b" \t"), set()),
    "uuencoded-begins": (lambda: plain(b"begin 644 a\n"), {"limit:text_chars"}),
    "uuencoded-files": (lambda: plain(b"begin 644 a\n\nend\n"), {"uuencoded"}),
    "uuencode": (lambda: b"Content-Transfer-Encoding: x-uuencode\n\n" + filled(b"#86)C\n"), set()),
    "flowed": (lambda: b"Content-Type: text/plain; format=flowed\n\n" + filled(b"a \n"), {"limit:text_chars"}),
    "flowed-empty": (lambda: b"Content-Type: text/plain; format=flowed\n\n" + filled(b" \n"), set()),
    "utf-7": (lambda: plain(b"+2D3cAA-", "utf-7"), set()),
    "utf-7-open": (lambda: plain(b"A", "utf-7", b"+"), set()),
    "hz": (lambda: plain(b"~{VPND~}", "hz"), set()),
    "hz-tildes": (lambda: plain(b"~~\n", "hz"), set()),
    "iso-2022-jp": (lambda: plain(b"\x1b$B0l\x1b(B", "iso-2022-jp"), set()),
    "iso-2022-kr": (lambda: plain(b"\x0e0l\x0f", "iso-2022-kr", b"\x1b$)C"), set()),
    "iso-2022-jp-ext": (lambda: encoded(b"\x1b$(D0l", "iso-2022-jp-ext"), set()),
    "punycode": (lambda: plain(b"a-99", "punycode"), {"charset-unknown"}),
    "idna": (lambda: plain(b"xn--a.", "idna"), {"charset-unknown"}),
    "unicode-escape": (lambda: plain(b"\\U0001F600", "unicode_escape"), {"charset-unknown"}),
    "utf-16": (lambda: encoded(b"\xd8\x00", "utf-16"), {"charset-wrong"}),
    "utf-32": (lambda: encoded(b"\xff", "utf-32"), {"charset-wrong"}),
    "utf-8-broken": (lambda: plain(b"\xff\xc3"), {"charset-wrong"}),
    "charset-many": (
        lambda: many_parts(90, b"Content-Type: text/plain; charset=x-%d\n\n\xff\n" % 1),
        {"charset-unknown"},
    ),
    # Text.
    "words-distinct": (lambda: b"Subject: x\n\n" + distinct_words(), {"limit:tokens", "limit:text_chars"}),
    "words-distinct-html": (
        lambda: b"Content-Type: text/html\n\n<p>" + distinct_words(),
        {"limit:tokens", "limit:html_chars"},
    ),
    "words-spaced": (lambda: plain(SPACED), {"limit:text_chars"}),
    "words-spaced-long": (lambda: plain(b"a "), {"limit:text_chars"}),
    "words-spaced-almost": (lambda: plain(b"a b c1"), {"limit:text_chars"}),
    "words-hyphens": (lambda: plain(b"a-"), {"limit:text_chars"}),
    "words-hyphens-many": (lambda: plain(b"ab-'"), {"limit:text_chars"}),
    "numbers": (lambda: plain(b"1,."), {"limit:text_chars"}),
    "punctuation": (lambda: plain(b"!"), {"!!!"}),
    "punctuation-almost": (lambda: plain(b"!!?"), set()),
    "punctuation-pairs": (lambda: plain(b"--=="), set()),
    "shouting": (lambda: plain(b"A"), set()),
    "shouting-almost": (lambda: plain(b"AAAAAAAAAAAAAAAAAAAAA1"), set()),
    "urls": (lambda: plain(b"http://a.b/c "), {"limit:text_chars", "url:a.b"}),
    "urls-one": (lambda: plain(b"http://"), {"limit:text_chars"}),
    "urls-almost": (lambda: plain(b"http:// "), {"limit:text_chars"}),
    "urls-www": (lambda: plain(b"www."), {"limit:text_chars"}),
    "urls-distinct": (
        lambda: b"\n\n" + b" ".join(b"http://h%x.a.b.c.d.e/p%x" % (n, n) for n in range(30_000)),
        set(),
    ),
    "at-hosts": (lambda: plain(b"@a.b.c.d.e.f.g."), set()),
    "at-hosts-almost": (lambda: plain(b"@a-1."), set()),
    "at-long": (lambda: plain(b"@" + b"a" * 63 + b"."), set()),
    "at-only": (lambda: plain(b"@"), set()),
    "han": (lambda: plain("漢字".encode()), {"漢字", "limit:text_chars"}),
    "han-distinct": (lambda: plain("".join(map(chr, range(0x4E00, 0x9FFF))).encode()), {"limit:tokens"}),
    "look-alikes": (lambda: plain("vіаgra ".encode()), {"viagra", "body-lookalike"}),
    "look-alikes-one-word": (lambda: plain("vі".encode()), set()),
    "combining": (lambda: plain(b"a\xcc\x80\xcc\x96"), set()),
    "combining-unordered": (lambda: plain("\u0591\u05b0\u0591\u05c1".encode()), set()),
    "combining-two-classes": (lambda: plain(b"\xe1\xb7\x8e\xf0\x90\x87\xbd"), set()),
    "ligatures": (lambda: plain("\ufdfa".encode()), {"limit:text_chars"}),
    "invisible": (lambda: plain("a\u200b".encode()), {"body-invisible"}),
    "dotted-capital-i": (lambda: plain("İ".encode()), set()),
    # HTML.
    "html-depth": (lambda: html(b"<div>"), {"limit:html_depth"}),
    "html-depth-text": (lambda: html(b"<div>x "), {"limit:html_depth"}),
    "html-depth-font": (lambda: html(b"<font color=red>x"), {"limit:html_depth"}),
    "html-depth-inline": (lambda: html(b"<b><i>x"), {"limit:html_depth"}),
    "html-tables": (lambda: html(b"<table><tr><td>"), {"limit:html_depth"}),
    "html-closed": (lambda: html(b"</p></b>"), set()),
    "html-crossed": (lambda: html(b"<b><p></b></p>x"), set()),
    "html-lists": (lambda: html(b"<ul><li>x"), set()),
    "html-forms": (lambda: html(b"<form action=a><input>"), {"html:form"}),
    "html-breaks": (lambda: html(b"<br>"), set()),
    "html-less-than": (lambda: html(b"<"), set()),
    "html-open-tag": (lambda: html(b"a=b "), set()),
    "html-attributes": (lambda: html(b" a=b", b"<p"), set()),
    "html-attributes-distinct": (
        lambda: b"Content-Type: text/html\n\n<p " + b" ".join(b"a%x=b" % n for n in range(120_000)) + b">x",
        set(),
    ),
    "html-attribute-long": (lambda: html(b"x", b'<a href="'), set()),
    "html-attributes-namespaced": (lambda: html(b" xmlns:a=b a:c=d", b"<p"), set()),
    "html-entities": (lambda: html(b"&amp;"), set()),
    "html-entities-alone": (lambda: html(b"&", b""), set()),
    "html-entities-open": (lambda: html(b"&"), set()),
    "html-entities-numeric": (lambda: html(b"&#x10ffff;"), set()),
    "html-entities-surrogates": (lambda: html(b"&#xd800;&#0;&#1;"), set()),
    "html-entities-distinct": (lambda: html(b"".join(b"&#%d;" % n for n in range(19_968, 40_000))), {"limit:tokens"}),
    "html-comments": (lambda: html(b"<!-- x -->y"), {"html:comment"}),
    "html-comment-open": (lambda: html(b"- ", b"<!--"), set()),
    "html-instructions": (lambda: html(b"<?a b>"), set()),
    "html-doctypes": (lambda: html(b"<!DOCTYPE html>"), set()),
    "html-cdata": (lambda: html(b"<![CDATA[x"), set()),
    "html-script": (lambda: html(b"</scrip", b"<script>"), {"html:script"}),
    "html-titles": (lambda: html(b"<title>x</title>"), set()),
    "html-links": (lambda: html(b'<a href="http://a.bb/">http://c.dd/</a>'), {"html:link-shows-another-host"}),
    "html-links-distinct": (
        lambda: (
            b"Content-Type: text/html\n\n"
            + b"".join(b"<a href=http://%x.com/>www.x.com</a>" % n for n in range(28_000))
        ),
        {"limit:links"},
    ),
    "html-links-open": (lambda: html(b"<a href=x>y "), {"limit:html_chars"}),
    "html-link-text": (lambda: html(b"a.", b"<a href=http://x.y>"), set()),
    "html-styles": (lambda: html(b'<p style="display:none">x</p>y'), {"html:hidden-text"}),
    "html-style-blanks": (lambda: html(b" ", b'<p style="color'), set()),
    "html-style-long": (lambda: html(b'<p style="' + b"height " * 140 + b'">'), set()),
    "html-style-blank": (lambda: html(b'<p style="' + b";" + b" " * 998 + b'">'), set()),
    "html-style-digits": (lambda: html(b'<p style="font-size:1.' + b"0" * 990 + b'">'), set()),
    "html-style-opacity": (lambda: html(b'<p style="' + b"opacity:0. " * 90 + b'">'), set()),
    "html-images": (lambda: html(b"<img src=http://a.b/c alt=x width=1 height=1>"), {"html:image-invisible"}),
    "html-xml-declaration": (lambda: html(b" ", b"\n"), set()),
    "html-xml": (lambda: html(b"<a:b>", b"<?xml version='1.0'?><html xmlns='x'>"), set()),
    "html-bom": (lambda: html(b"<p>x", "\ufeff<?xml encoding='utf-16'?>".encode()), set()),
    "html-charset": (lambda: html(b"<p>x", b"<meta charset=utf-7>"), set()),
    "html-nuls": (lambda: html(b"<p>\0x"), set()),
    "html-svg": (lambda: html(b"<svg><math><template>"), {"html:svg"}),
    "html-select": (lambda: html(b"<select><option>x"), {"html:select"}),
    "html-plaintext": (lambda: html(b"<p>x", b"<plaintext>"), set()),
    "html-frameset": (lambda: html(b"<frameset><frame>"), set()),
}


def main() -> None:
    """What each message costs: CPU seconds, the peak of memory so far, tokens."""
    read(MESSAGES["html-styles"][0]()[:1000])  # imports are no message's fault
    for name, (make, _) in MESSAGES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        raw = make()[:MOST]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        try:
            tokens = read(raw).tokens
        except Exception as fault:
            sys.stdout.write(f"{fault!r:.100} {name}\n")
            continue
        seconds = time.process_time() - start
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        sys.stdout.write(f"{seconds:8.3f} s {more:+5d} MB {len(tokens):6d} tokens  {name}\n")


if __name__ == "__main__":
    main()
