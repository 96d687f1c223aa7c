"""Texts that some program shows in another way than the others: the same bytes in two readings are two messages.

If both had one digest, a stranger could send the second text under the first one's name. Above a pair is the program
that shows its texts as different ones. What the others show is mostly alike.
"""

import base64

import pytest

from spamnb.identity.digests import delivery, identity
from tests.identity.test_digests import HEADER, in_chunks
from tests.table import over_rows

LETTER = HEADER + b"Subject: Lunch\n"
HTML = b"Content-Type: text/html; charset=utf-8\n"
ENCODED, QUOTED = (b"Content-Transfer-Encoding: %s\n" % name for name in (b"base64", b"quoted-printable"))
MESSAGE = b"Content-Type: message/rfc822\n"
LUNCH, SPAM = b"\n<p>Lunch on Friday?\n", b"\n<p>Buy cheap pills\n"
LONG = b"long" * 20 + b"er"


def parts(body: bytes, boundary: bytes = b"b") -> bytes:
    """A body of parts with its header."""
    return b"Content-Type: multipart/mixed; boundary=%s\n\n%s" % (boundary, body)


def one(part: bytes, boundary: bytes = b"b") -> bytes:
    """A body of one part, which begins with its header."""
    return parts(b"--%s\n%s\n--%s--\n" % (boundary, part, boundary), boundary)


def before(boundary: bytes, end: bytes) -> bytes:
    """A text in a part, and before it spam behind what may be a boundary line."""
    spam = b"--%s\n%s\n" % (end, SPAM)
    return one(LUNCH, boundary).replace(b"\n\n--", b"\n\n" + spam + b"--", 1)


def charset(name: bytes, text: bytes) -> bytes:
    return b'Content-Type: text/html; charset="%s"\n%s' % (name, text)


BROKEN = {
    b"base64": base64.b64encode(b"<p>Lunch on Friday?") + b"*" + base64.b64encode("Купи таблетки".encode("koi8-r")),
    b"quoted-printable": b"<p>Lunch on Friday?=!=EB=D5=D0=C9",
    b"x-uuencode": b"begin 644 a\n$Z]70R0\n`\nend",
}
NESTED = b"--c\n\nLunch on Friday?\n--bother\n%s\nsee below\n--c\n" % HTML

PAIRS = {
    # a. mutt, Python: a multipart without a part is shown as text.
    "closing line alone": (parts(b"Lunch?\n--b--\n"), parts(b"Buy pills\n--b--\n")),
    "closing line alone, text behind it": (parts(b"--b--\nLunch?\n"), parts(b"--b--\nBuy pills\n")),
    "closing line alone, nested": (one(parts(b"Lunch?\n--c--", b"c")), one(parts(b"Buy pills\n--c--", b"c"))),
    "text before a closing line": (parts(b"Lunch?\n--b--\n"), parts(b"--b\nLunch?\n--b--\n")),
    "text behind a closing line": (
        parts(b"--b\n\nLunch?\n--b--\n--bX\nBuy pills\n"),
        parts(b"--b\n\nLunch?\n--b\n--bX\nBuy pills\n"),
    ),
    # mutt: such a part has the rest of the multipart as its text, with fields that count nowhere else.
    "an empty part in a multipart without an end": (
        one(parts(b"--c\nX-A: Lunch?\n", b"c")),
        one(parts(b"--c\nX-A: Buy pills\n", b"c")),
    ),
    "two empty parts in a multipart without an end": (
        one(parts(b"--c\n\n\n--c\n", b"c")),
        one(parts(b"--c\n%s\n\n--c\n" % ENCODED, b"c")),
    ),
    # b. mutt, notmuch, Dovecot: they undo more, and then the charset shows.
    **{
        f"broken {name.decode()} in another charset": tuple(
            charset(label, b"Content-Transfer-Encoding: %s\n\n%s\n" % (name, text)) for label in (b"utf-8", b"koi8-r")
        )
        for name, text in BROKEN.items()
    },
    # c. Dovecot, notmuch: a line that begins like a boundary is one. mutt: so is none in a header.
    "like a boundary in a part's header": (
        one(b"X-A: y\n\n--bX: y\n" + SPAM),
        one(b"X-A: y\n--bX: y\n" + SPAM),
    ),
    "a boundary in a part's header": (
        one(b"X-A: y\n\n--b\n" + ENCODED + LUNCH),
        one(b"X-A: y\n--b\n" + ENCODED + LUNCH),
    ),
    "closing line in a part's header": (one(b"X-A: y") + b"Lunch?\n", one(b"X-A: y") + b"Buy pills\n"),
    "closing line behind an opening one": (parts(b"--b\n--b--\nLunch?\n"), parts(b"--b\n--b--\nBuy pills\n")),
    "like the outer boundary, inside": (
        one(parts(NESTED + HTML + SPAM + b"--c--", b"c")),
        one(parts(NESTED + HTML + ENCODED + b"\n" + base64.b64encode(SPAM[1:]) + b"\n--c--", b"c")),
    ),
    # d. mutt: the header ends there.
    "a blank before a part's header": (one(HTML + SPAM), one(b" X-A: y\n" + HTML + SPAM)),
    "a line of a tab before a part's header": (one(HTML + SPAM), one(b"\t\n" + HTML + SPAM)),
    # e. Dovecot compares 80 letters.
    "a long boundary": (one(LUNCH, LONG), before(LONG, LONG[:80] + b"no")),
    # f. Python, Dovecot: another encoding, another type.
    **{
        f"an encoding and then {end!r}": (
            HTML + b"Content-Transfer-Encoding: base64%s\n\n%s\n" % (end, base64.b64encode(SPAM)),
            HTML + b"\n" + SPAM,
        )
        for end in (b" ", b"\t", b"\n ", b"\x0b", b"\x0c")
    },
    "an encoding on a line of its own": (
        HTML + b"Content-Transfer-Encoding:\n base64\n\n" + base64.b64encode(SPAM) + b"\n",
        HTML + b"\n" + SPAM,
    ),
    **{
        f"a field and then {end!r}": (field + b"\n" + SPAM, field + end + b"\n" + SPAM)
        for end in (b"\x0b", b"\x0c")
        for field in (HTML[:-1], HTML[: HTML.index(b";")], b"Content-Disposition: attachment")
    },
    "a form feed in a field": (one(LUNCH), one(LUNCH).replace(b"; ", b";\x0c")),
    # g. mutt joins a line that ends in NUL with the next one, an empty one too.
    "NUL in the header": (b"X-A: y\n\n" + HTML + SPAM, b"X-A: y\0\n\n" + HTML + SPAM),
    "NUL in a part's header": (one(b"X-A: y\n\n" + HTML + SPAM), one(b"X-A: y\0\n\n" + HTML + SPAM)),
    # mutt reads 1,023 letters of a line, and what follows is another one.
    "a boundary in a long line": (one(LUNCH), one(LUNCH).replace(b"\n\n", b"\n\n%s--b\n%s\n" % (b"x" * 1023, SPAM), 1)),
    "an encoded text with a boundary in it": (
        one(HTML + QUOTED + b"\n<p>Lunch?</p>--b--\n<p>pills"),
        one(HTML + ENCODED + b"\n" + base64.b64encode(b"<p>Lunch?</p>") + b"--b--\n<p>pills"),
    ),
    # Dovecot, Python: outside of quotes a boundary ends before these.
    **{
        f"a boundary with {letter}": tuple(
            text.replace(b"!", letter.encode()) for text in (one(LUNCH, b"b!x"), before(b"b!x", b"b"))
        )
        for letter in ",/:?@[]"
    },
    # mutt, notmuch, Python: the word is decoded; mutt: the blank is part of the boundary.
    "an encoded boundary": (
        one(LUNCH, b"=?utf-8?q?b?=").replace(b"=?utf-8?q?b?=", b'"=?utf-8?q?b?="', 1),
        before(b"=?utf-8?q?b?=", b"b").replace(b"=?utf-8?q?b?=", b'"=?utf-8?q?b?="', 1),
    ),
    "a blank behind a boundary": tuple(
        one(LUNCH).replace(b"boundary=b\n", b"boundary=b ; x=y\n%s" % preamble) for preamble in (b"", SPAM)
    ),
    # Dovecot, mutt: a forwarded message has no encoding, so they show what is encoded.
    **{
        f"{field.decode()[:-1]}, a forwarded message": (
            MESSAGE + b"\nSubject: x\n" + SPAM,
            MESSAGE + field + b"\n" + text,
        )
        for field, text in (
            (ENCODED, base64.b64encode(b"Subject: x\n" + SPAM)),
            (QUOTED, b"Subject: x\n" + SPAM.replace(b"<", b"=3C")),
        )
    },
    # mutt, notmuch, Python: a label that they do not know, or not in that form.
    **{
        f"{label.decode()} for {known.decode()}": (charset(known, b"\n" + text), charset(label, b"\n" + text))
        for known, label, text in (
            (b"utf-7", b"x-utf-7", b"Lunch <!-- +AC0ALQA+- pills <!-- -->\n"),
            (b"utf-7", b"utf_7", b"Lunch <!-- +AC0ALQA+- pills <!-- -->\n"),
            (b"utf-7", b" utf-7", b"Lunch <!-- +AC0ALQA+- pills <!-- -->\n"),
            (b"iso-2022-jp", b"iso2022_jp", b"Lunch \x1b$B<!--\x1b(B pills <!-- -->\n"),
            (b"utf-8", b"shift_jis", b"<p style='displ\\61y:none'>pills</p>\n"),
        )
    },
    # mutt: a label that its iconv does not know, or that is another charset there.
    **{
        f"{label.decode()} for {known.decode()}, in letters": (
            charset(known, b"\nLunch \xcb\xd5\xd0\xc9\n"),
            charset(label, b"\nLunch \xcb\xd5\xd0\xc9\n"),
        )
        for known, labels in {
            b"koi8-r": (b"koi8:r", b"koi8_r", b"koi8", b"x-koi8-r", b"koi8-r*ru", b"'koi8-r'", b" koi8-r"),
            b"windows-1251": (b"1251", b"dos1251", b"win1251", b"ms-1251", b"csibm1251"),
            b"utf-8": (b"utf", b"u8", b"utf_8", b"cp65001"),
            b"iso-8859-1": (b"8859", b"latin", b"646", b"us", b"us-ascii", b"iso8859_1", b"windows-1252"),
            b"us-ascii": (b"646", b"us_ascii"),
            b"gb2312": (b"gbk", b"gb18030", b"chinese", b"euc-cn"),
            b"euc-jp": (b"ujis",),
            b"euc-kr": (b"cp949", b"korean"),
            b"shift_jis": (b"cp932", b"x-sjis"),
        }.items()
        for label in labels
    },
}  # fmt: skip


@over_rows("name", PAIRS)
def test_a_text_that_any_program_shows_otherwise_is_another_message(name):
    """Two texts that programs show differently are two messages, alone and as a part."""
    first, second = PAIRS[name]
    assert identity(LETTER + first) != identity(LETTER + second)
    assert identity(LETTER + one(first, b"outer")) != identity(LETTER + one(second, b"outer"))


@over_rows("end", [b"", b" ", b"\t \t"])
@over_rows("encoding", [b"7bit", b"8BIT", b"binary"])
def test_blanks_behind_an_encoding_that_changes_nothing(encoding, end):
    """Blanks behind the name of an encoding without effect make no difference."""
    assert identity(LETTER + HTML + LUNCH) == identity(
        LETTER + HTML + b"Content-Transfer-Encoding: %s%s\n" % (encoding, end) + LUNCH
    )


@pytest.mark.parametrize("header", [b"X-A: y\n" * 98, b"X-A: %s\n" % (b"y" * 8000), b"X-A: y\n\tz\n" * 98])
def test_a_parts_header_within_the_limits_is_read(header):
    """A part's header of 100 fields, or of 8 KB, is read: its text is the same in another transfer encoding."""
    plain = one(header + HTML + b"X-B: z\n" + SPAM)
    encoded = one(header + HTML + ENCODED + b"\n" + base64.b64encode(SPAM[1:]))
    assert identity(LETTER + plain) == identity(LETTER + encoded)


@pytest.mark.parametrize("header", [b"X-A: y\n" * 101, b"X-A: %s\n" % (b"y" * 8192), b"x" * 8193])
def test_a_longer_header_of_a_part_counts_as_it_is_written(header):
    """Each field of a longer header counts, with its encoding."""
    plain = LETTER + one(header + HTML + SPAM)
    assert identity(plain) != identity(LETTER + one(header + b"X-B: y\n" + HTML + SPAM))
    assert identity(plain) != identity(plain.replace(b"pills", b"pulls"))


@over_rows("text", [b"Lunch?\r\r\nYes.\r\r\n", b"Lunch?\r\r\n\r\r\nYes.\n", b"Lunch?\r\r"])
@over_rows("wrap", [lambda text: b"\n" + text, lambda text: one(b"\n" + text), lambda text: one(QUOTED + b"\n" + text)])
def test_two_returns_before_a_newline_are_one_line_end(wrap, text):
    """A copy by IMAP, which makes a newline of each `\\r\\n`, leaves a message what it was."""
    raw = LETTER + wrap(text + b"\n")
    copied = raw.replace(b"\r\n", b"\n")
    assert copied != raw
    for form in (copied, copied.replace(b"\r\n", b"\n"), copied.replace(b"\n", b"\r\n")):
        assert identity(form) == identity(raw)
        assert delivery(form) == delivery(raw)
    assert all(in_chunks(raw, size) == in_chunks(raw, 10_000) for size in range(1, 9))


@pytest.mark.parametrize(
    "text", [b"X-A: y\r\r\n%s\n" % HTML, one(b"X-A: y\r\r\n" + HTML + SPAM), one(QUOTED + b"\nLunch=\r\r\ntime")]
)
def test_two_returns_count_where_a_program_takes_them_for_two_line_ends(text):
    """In a header Python ends it there, and behind `=` notmuch shows other text, so there they count."""
    assert identity(LETTER + text) != identity(LETTER + text.replace(b"\r\r\n", b"\n"))


def test_an_encoding_without_mime_version_is_undone_beside_a_type_alone():
    """Without MIME-Version, Dovecot undoes an encoding only if there is a Content-Type: that is another message."""
    raw = LETTER.replace(b"MIME-Version: 1.0\n", b"") + ENCODED + b"%s\n" + base64.b64encode(SPAM) + b"\n"
    assert identity(raw % b"") != identity(raw % b"Content-Type: text/plain\n")
