import base64
import doctest
import quopri
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.identity import charsets, headers, subject, transfer
from spamnb.identity.digests import Digester, delivery, digests, header_digest, identity
from spamnb.mail.intake import take
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from tests.mail.hostile import MESSAGES as HOSTILE
from tests.mail.mutations import MESSAGES as REALISTIC
from tests.mail.mutations import mutated
from tests.table import over_rows

RAW = (
    b"Received: from a.example\n\tby b.example\nFrom: A <a@b.example>\nTo: c@d.example\nSubject: Hello\n there\n"
    b"Message-ID: <1@b.example>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\n\nBody text.\n\nFrom me.\n"
)
LINES = RAW.partition(b"\n\n")[0].split(b"\n")
STARTS = [n for n, line in enumerate([*LINES, b""]) if not line.startswith((b" ", b"\t"))]
ADDED = [
    b"Status: RO",
    b"X-Status: A",
    b"X-Keywords: NonJunk\n $Label1",
    b"X-UID: 17",
    b"X-TUID: abcdefghijkl",
    b"Lines: 3",
    b"Content-Length: 99",
    b"X-Mozilla-Status: 0001",
    b"X-Spam-Status: No, score=0\n\ttests=NONE",
    b"X-Spamd-Bar: +",
    b"X-Rspamd-Score: 1",
    b"X-Bogosity: Ham, tests=bogofilter",
    b"X-Spambayes-Classification: ham",
    b"X-DSPAM-Result: Innocent",
    b"X-CRM114-Status: Good",
    b"X-Text-Classification: ham",
]


@over_rows("field", ADDED)
@over_rows("position", STARTS)
def test_a_field_added_after_delivery_changes_nothing(field, position):
    """Wherever mail software adds a field of its own, the message and the delivery stay the same."""
    changed = b"\n".join([*LINES[:position], field, *LINES[position:]]) + b"\n\n" + RAW.partition(b"\n\n")[2]
    assert identity(changed) == identity(RAW)
    assert delivery(changed) == delivery(RAW)
    both = b"\n".join([*LINES[:position], field, field, *LINES[position:]]) + b"\n\n" + RAW.partition(b"\n\n")[2]
    assert delivery(both) == delivery(RAW)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw + b"\n\n",
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: b"From a@b.example Mon Jan  1 00:00:00 2024\n" + raw,
        lambda raw: b"From MAILER\r\n" + raw.replace(b"\n", b"\r\n") + b"\r\n",
        lambda raw: b"\n" + raw,
    ],
)
def test_what_mbox_and_imap_programs_change(change):
    """Line ends, an mbox separator and final blank lines do not belong to a message."""
    assert identity(change(RAW)) == identity(RAW)
    assert delivery(change(RAW)) == delivery(RAW)


@pytest.mark.parametrize(
    "change", [(b"<1@", b"<2@"), (b"A <a@", b"B <a@"), (b"1 Jan", b"2 Jan"), (b"Hello", b"Bye"), (b"text", b"words")]
)
def test_another_message_has_another_identity(change):
    """Message-ID, Date, From, Subject and the body make a message."""
    assert identity(RAW.replace(*change)) != identity(RAW)


def test_two_deliveries_of_one_message():
    """A copy that came by another way is the same message, and another delivery."""
    other = RAW.replace(b"a.example\n\tby", b"list.example\n\tby")
    assert identity(other) == identity(RAW)
    assert delivery(other) != delivery(RAW)


def test_without_a_message_id_the_receiver_counts():
    """Without a Message-ID, the To field distinguishes messages too."""
    bare = RAW.replace(b"Message-ID: <1@b.example>\n", b"")
    assert identity(bare) != identity(bare.replace(b"c@d", b"e@d"))
    assert identity(RAW) == identity(RAW.replace(b"c@d", b"e@d"))


def test_header_digest_is_of_message_id_date_and_from_alone():
    """A list's mark or a forger's text does not change the header digest; without a Message-ID there is none."""
    changed = RAW.replace(b"Hello", b"***SPAM*** Hello").replace(b"text", b"words")
    assert header_digest(changed) == header_digest(RAW)
    assert header_digest(RAW.replace(b"1 Jan", b"2 Jan")) != header_digest(RAW)
    assert header_digest(RAW.replace(b"Message-ID", b"X-ID")) is None


@pytest.mark.parametrize("text", [b"one\nand the end\n", b"one\n\nand the end\n"])
def test_text_counts_where_no_blank_line_parts_it_from_the_header(text):
    """The text distinguishes messages of one subject, even without a blank line before it."""
    raw = b"Subject: meeting\n" + text
    assert identity(raw) != identity(raw.replace(b"one", b"two"))
    assert identity(raw) == identity(b"Status: RO\n" + raw) == identity(raw.replace(b"\n", b"\r\n"))


@given(st.binary(max_size=300), st.sampled_from(ADDED))
def test_any_bytes_have_an_identity(raw, field):
    """Any bytes have an identity and a delivery of 16 bytes, and a message keeps them when a field is added first."""
    assert len(identity(raw)) == len(delivery(raw)) == 16
    message = b"A: b\n" + raw.replace(b"\r", b"")
    assert identity(field + b"\n" + message) == identity(message)
    assert delivery(field + b"\n" + message) == delivery(message)


PAIRS = [("base64", "7bit"), ("7bit", "base64")]

# The same message in another form. What a server, a synchroniser or an mbox does to it must not make it another one.

HEADER = b"From: A <a@b.example>\nMessage-ID: <1@b.example>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nMIME-Version: 1.0\n"
TEXTS = st.text(st.characters(exclude_characters="\r", codec="utf-8"), max_size=200).map(lambda text: text.rstrip("\n"))
PARTS = st.lists(st.tuples(st.sampled_from(["text/plain", "text/html", "application/pdf"]), TEXTS), max_size=5)


def in_base64(content: bytes) -> tuple[bytes, bytes]:
    return b"base64", base64.encodebytes(content)


def in_base64_of_returns(content: bytes) -> tuple[bytes, bytes]:
    return b"Base64", base64.b64encode(content.replace(b"\n", b"\r\n"))


def in_quoted_printable(content: bytes) -> tuple[bytes, bytes]:
    return b"quoted-printable", quopri.encodestring(content)


def in_every_byte_quoted(content: bytes) -> tuple[bytes, bytes]:
    return b"quoted-printable", b"=\n".join(b"=%02X" % byte for byte in content)


def in_8bit(content: bytes) -> tuple[bytes, bytes]:
    return b"8bit", content


ENCODERS = st.sampled_from([in_base64, in_quoted_printable, in_every_byte_quoted, in_8bit])
BOUNDARIES = st.text("abcdefXYZ0123456789_", min_size=12, max_size=68).map(lambda text: b"=_" + text.encode())


def one_part(content: bytes, encoder, kind: bytes = b"text/plain") -> bytes:
    encoding, body = encoder(content)
    return b"Content-Type: %s; charset=utf-8\nContent-Transfer-Encoding: %s\n\n%s" % (kind, encoding, body)


def multipart(parts, encoders, boundary: bytes, kind: bytes = b"mixed", around: bytes = b"") -> bytes:
    """A multipart of (media type, text) pairs, each part encoded in its way."""
    made = b"".join(
        b"--%s\n%s\n" % (boundary, one_part(text.encode(), encoder, media_type.encode()))
        for (media_type, text), encoder in zip(parts, encoders, strict=True)
    )
    head = b'Content-Type: multipart/%s;\n boundary="%s"\n\n' % (kind, boundary)
    return head + around + b"\n" + made + b"--%s--\n" % boundary + around


@given(TEXTS, st.data())
def test_another_transfer_encoding_is_the_same_message(text, data):
    """A server that undoes or makes a transfer encoding leaves the message what it was."""
    plain = HEADER + one_part(text.encode(), in_8bit)
    assert identity(HEADER + one_part(text.encode(), data.draw(ENCODERS))) == identity(plain)
    assert identity(HEADER + one_part(text.encode(), in_base64_of_returns)) == identity(plain)


@given(PARTS.filter(bool), st.data(), st.sampled_from([b"", b"This is a message in MIME format.\n"]))
def test_another_boundary_is_the_same_message(parts, data, around):
    """New boundaries, preambles, epilogues and encodings of parts do not change a message."""
    raws = [
        multipart(
            parts,
            [data.draw(ENCODERS) for _ in parts],
            data.draw(BOUNDARIES),
            around=data.draw(st.just(around) | st.just(b"")),
        )
        for _ in range(2)
    ]
    assert len({identity(HEADER + raw) for raw in raws}) == 1


@given(PARTS.filter(bool), BOUNDARIES, st.data())
def test_another_part_is_another_message(parts, boundary, data):
    """Parts in a different order, type, number or text make a different message."""
    place = data.draw(st.integers(0, len(parts) - 1))
    kind, text = parts[place]
    other = {"text/plain": "text/html", "text/html": "text/plain", "application/pdf": "image/png"}[kind]
    changed = [
        [*parts[:place], (kind, text + "x"), *parts[place + 1 :]],
        [*parts[:place], (kind, "x" + text), *parts[place + 1 :]],
        [*parts[:place], (other, text), *parts[place + 1 :]],
        [*parts, (kind, text)],
    ]
    if parts != parts[::-1]:
        changed.append(parts[::-1])
    made = [HEADER + multipart(each, [in_8bit] * len(each), boundary) for each in [parts, *changed]]
    made.append(HEADER + multipart(parts, [in_8bit] * len(parts), boundary, kind=b"alternative"))
    assert len({identity(raw) for raw in made}) == len({repr(each) for each in [parts, *changed]}) + 1


@pytest.mark.parametrize(
    "same",
    [
        (
            b"Subject: caf\xc3\xa9 au lait",
            b"Subject: =?utf-8?q?caf=C3=A9?= au\n lait",
            b"Subject: =?UTF-8?B?Y2Fmw6kgYXU=?=\n\tlait",
        ),
        (
            b"Content-Type: text/plain",
            b"Content-Type: TEXT/Plain; charset=US-ASCII",
            b"X-A: b",
            b'Content-Type: text/plain; charset="utf-8"',
        ),
        (
            b"Content-Type: text/plain; charset=latin1; format=flowed",
            b"Content-Type: text/plain;\n format=flowed; charset=ISO-8859-1",
        ),
        (b"Content-Transfer-Encoding: 7bit", b"Content-Transfer-Encoding: 8BIT", b"Delivered-To: x", b"Received: by y"),
    ],
)
def test_a_field_in_another_form_is_the_same(same):
    """Folds, encoded words, other names for ASCII and fields of the way do not count."""
    assert len({identity(HEADER + field + b"\n\nwords\n") for field in same}) == 1


@pytest.mark.parametrize(
    "subjects",
    [
        # One text to some programs, and not to others.
        ["=?utf-8?q?one?=", "=?utf-8?q?=3D=3Futf-8=3Fq=3Fone=3F=3D?=", "=?utf-8?q?one", "x=?utf-8?q?one?=", "x one"],
        ["=?utf-8?b?b25l?=", "=?utf-8?b?b25*l?=", "=?utf-8?b?b25lIQ?=", "=?utf-8?b?b25lIQ==?=", "=?utf-8?q?one=3?="],
        ["=?utf-8?q?one?= two", "=?utf-8?q?one?==?utf-8?q?_two?=", "=?utf-8?q?one=0Atwo?="],
        [f"=?{charset}?q?=C3=A9?=" for charset in ("utf-8", "latin1", "koi8-r", "utf-7", "utf-16", "x-nobody")],
        ["=?utf-8?q?=C3?=", "=?utf-8?q?=C4?=", "=?utf-8?q?=EF=BF=BD?="],
    ],
)
def test_another_subject_is_another_message(subjects):
    """If any program may show a different Subject, the message is different."""
    assert len({identity(HEADER + f"Subject: {subject}\n\nwords\n".encode()) for subject in subjects}) == len(subjects)


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "iso-8859-15", "koi8-r", "gb18030", "shift_jis"])
def test_where_an_encoded_word_begins_and_ends_makes_no_difference(charset):
    """ASCII may be inside an encoded word or outside, even as a letter's second byte."""
    letter = {"koi8-r": "Ж", "gb18030": "镾", "shift_jis": "ソ"}.get(charset, "é")
    coded = "".join(f"={byte:02X}" for byte in letter.encode(charset))
    words = (
        f"?q?a_{coded}?= b c",
        f"?Q?a_{coded}_b_c?=",
        f"?q?a?=\n =?{charset.upper()}?b?IA==?= =?{charset}?q?{coded}_b?= c",
    )
    assert len({identity(HEADER + f"Subject: =?{charset}{each}\n\nwords\n".encode()) for each in words}) == 1


@over_rows(
    ("name", "values"),
    [
        ("Subject", ["one", "two", "one\nSubject: two", "=?utf-8?q?one=21?=", "one\nX-Subject: two\nSubject:"]),
        ("Content-Type", ["text/plain", "text/html", "text/html\nContent-Type: text/plain", "text/plain; x"]),
        ("Content-Type", [f"text/plain; charset={name}" for name in ("utf-8", "utf-7", "utf-16", "cp037", "hz")]),
        ("Content-Transfer-Encoding", ["7bit", "base64", "quoted-printable", "x-a", "7bit (a)"]),
        ("Content-Transfer-Encoding", [f"{one}\nContent-Transfer-Encoding: {two}" for one, two in PAIRS]),
        ("Content-Disposition", ["inline", "attachment", "attachment\nContent-Disposition: inline"]),
        ("Content-Disposition", [f"attachment; filename{name}" for name in ("=a.txt", "=a.exe", "*=utf-8''a.txt")]),
        ("Content-ID", ["<1>", "<2>"]),
    ],
)
def test_a_field_that_shows_another_message_makes_another_one(name, values):
    """Doubled fields, charsets, names and dispositions that a program may show differently change the digest."""
    body = b"\n\nd29yZHMgKw=2B-\n"
    assert len({identity(HEADER + f"{name}: {value}".encode() + body) for value in values}) == len(values)


# What an attacker did: the second message was taken for the first, which had been answered, or junked.

BOTH = (
    b"--one\n\nLunch on Friday?\n--one--\n--two\nContent-Type: text/html\n\n<p>Buy cheap pills\n--two--\n"
)  # fmt: skip


def under(boundary: bytes, line_end: bytes, mark: bytes) -> bytes:
    """A letter in HTML; its comment has other HTML behind a line that some programs take for a boundary."""
    hidden = mark + line_end + b"Content-Type: text/html" + line_end * 2 + b"<p>Buy cheap pills" + mark + line_end
    return (
        b"Content-Type: multipart/mixed; boundary=%s\n\n--%s\nContent-Type: text/html\n\n" % (boundary, boundary)
        + b"<p>Lunch on Friday?<!--" + hidden + b"-->\n--%s--\n" % boundary
    )  # fmt: skip


QUOTED = (
    b"Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n<p>Lunch on Friday?</p>"
)
BASE64 = b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n"
AS_WRITTEN = b"=!--=3E Buy cheap pills today =3C!-- "  # "=!" is no quoted-printable: what follows counts as written
SHIFTED = (
    b"\n\n<head><meta charset=iso-2022-jp></head><p>Lunch on Friday?</p>\x1b$B<!--\x1b(B Buy cheap pills <!-- -->\n"
)


@pytest.mark.parametrize(
    ("honest", "other"),
    [
        (
            QUOTED + b"\n" * len(AS_WRITTEN) + b"<!-- " + AS_WRITTEN.replace(b"=", b"=3D") + b"=! -->\n",
            QUOTED + b"=0D=0A" * len(AS_WRITTEN) + b"<!-- " + AS_WRITTEN + b"=! -->\n",
        ),
        (BASE64 + b"eAoqAAA", BASE64 + b"eA0K*AAA"),
        (under(b"one", b"\r", b"\r--two"), under(b"two", b"\r", b"\r--two")),
        (under(b"one", b"\n", b"\n--twofold"), under(b"two", b"\n", b"\n--twofold")),
        (b"Content-Type: text/html; charset=utf-8" + SHIFTED, b"Content-Type: text/html" + SHIFTED),
    ],
    ids=["line ends before a broken encoding", "the same in base64", "CR alone", "a longer boundary", "escapes"],
)
def test_what_only_some_programs_show_is_another_message(honest, other):
    """Two forms that programs show differently are two messages."""
    assert identity(HEADER + b"Subject: Lunch\n" + honest) != identity(HEADER + b"Subject: Lunch\n" + other)


@pytest.mark.parametrize("before", [b"", b"of no consequence " * 15_360], ids=["at-once", "behind-270-KB"])
def test_one_body_under_two_boundaries_is_two_messages(before):
    """A body with two messages, one to each boundary, has a different digest under each boundary."""
    first, second = (
        HEADER + b"Subject: Lunch\nContent-Type: multipart/mixed; boundary=%s\n\n%s\n%s" % (boundary, before, BOTH)
        for boundary in (b"one", b"two")
    )
    assert "lunch" in read(first).tokens
    assert "pills" not in read(first).tokens
    assert "pills" in read(second).tokens
    assert identity(first) != identity(second)
    assert delivery(first) != delivery(second)


def test_a_body_under_another_subject_is_another_message():
    """A post that is sent again with the Subject of spam is not the honest post."""
    assert identity(RAW) != identity(RAW.replace(b"Hello\n there", b"Cheap pills"))


PLAIN = b"Content-Type: multipart/mixed; boundary=b\n\n"
PART = b"--b\n\nwords\n"


@over_rows(
    ("first", "second"),
    [
        # Where programs differ in what a boundary is, what one of them shows counts.
        (PLAIN + PART, PLAIN + b"--bc\n\nspam\n" + PART),
        (PLAIN + PART, PLAIN + b"x\r--b\r\rspam\r\n" + PART),
        (PLAIN + PART + b"--b--\n", PLAIN + PART + b"--b--\n--b\n\nspam\n"),
        (PLAIN + PART + b"--b--\n", PLAIN + PART + b"--b--\nspam\n--b-- \n"),
        (PLAIN + PART, PLAIN + b"--b" + b" " * 300 + b"\n\nspam\n" + PART),
        (
            b"Content-Type: multipart/mixed; boundary=b; boundary=c\n\n" + PART,
            b"Content-Type: multipart/mixed; boundary=b; boundary=d\n\n" + PART,
        ),
        (
            b"Content-Type: multipart/mixed; boundary=b (c)\n\n" + PART,
            b"Content-Type: multipart/mixed; boundary=b (d)\n\n" + PART,
        ),
        (
            b"Content-Type: multipart/mixed; boundary=b\nContent-Type: multipart/mixed; boundary=c\n\n" + PART,
            b"Content-Type: multipart/mixed; boundary=b\nContent-Type: multipart/mixed; boundary=d\n\n" + PART,
        ),
        # Nor is anything left out where there is no part at all, or a header that ends in two ways.
        (
            b"Content-Type: multipart/mixed; boundary=c\n\nwords\n",
            b"Content-Type: multipart/mixed; boundary=c\n\nspam\n",
        ),
        (b"Content-Type: multipart/mixed\n\n" + PART, b"Content-Type: multipart/mixed\n\nspam\n" + PART),
        (PLAIN + PART, PLAIN[:-1] + b" \nSubject: spam\n\n" + PART),
        (PLAIN[:-1] + b" \nwords\n\n" + PART, PLAIN[:-1] + b" \nX-Spam: words\n\n" + PART),
        (b"Subject: a\rX: b\r\rwords", b"Subject: a\rX: b\r\rspam"),
        (PLAIN + b"--b\nX: y\n\nwords\n", PLAIN + b"--b\nX: y\n \nContent-Type: text/html\n\nwords\n"),
        (PLAIN + b"--b\nX: y\n\nwords\n", PLAIN + b"--b\nX: y\n--b spam: x\n\nwords\n"),
        # A part without a type is a message to most programs, in a digest alone.
        (
            PLAIN.replace(b"mixed", b"digest") + b"--b\n\nSubject: a\n\nwords\n",
            PLAIN.replace(b"mixed", b"digest") + b"--b\nContent-Type: text/plain\n\nSubject: a\n\nwords\n",
        ),
        # Broken encodings count as they are written.
        (
            b"Content-Transfer-Encoding: base64\n\nd29yZHM=\n",
            b"Content-Transfer-Encoding: base64\n\nd29yZHM=c3BhbQ==\n",
        ),
        (b"Content-Transfer-Encoding: base64\n\nd29yZHM=\n", b"Content-Transfer-Encoding: base64\n\nd29yZHM=*spam*\n"),
        (
            b"Content-Transfer-Encoding: quoted-printable\n\n=\rwords\n",
            b"Content-Transfer-Encoding: quoted-printable\n\n=\rspam\n",
        ),
    ],
)
def test_what_programs_read_in_two_ways_counts_as_it_is_written(first, second):
    """Two messages that any program may show as different texts are two messages."""
    assert identity(HEADER + first) != identity(HEADER + second)


TWO = b"--one\n\nlunch\n--one--\n--two\n\nspam\n--two--\n"


@pytest.mark.parametrize(
    ("before", "opening"),
    [
        (b"Subject: Lunch\n", b""),  # without MIME-Version
        (b"MIME-Version: 1.0\n", b"x\rx\n"),
        (b"MIME-Version: 1.0\nContent-Transfer-Encoding: x-none\n", b""),
        (b"MIME-Version: 1.0\nContent-Transfer-Encoding: base64\n", b""),
        (b"MIME-Version: 1.0\n>From a b\n", b""),
    ],
    ids=["mime-version", "return", "encoding", "base64", "stray"],
)
def test_the_boundary_counts_where_a_body_counts_as_it_is_written(before, opening):
    """The same holds if the structure of the body is not read."""
    one, two = (
        HEADER.replace(b"MIME-Version: 1.0\n", b"")
        + b"Content-Type: multipart/mixed; boundary=%s\n" % boundary
        + before
        + b"\n"
        + opening
        + TWO
        for boundary in (b"one", b"two")
    )
    assert identity(one) != identity(two)


@pytest.mark.parametrize(
    ("kind", "stray"),
    [(b"text/plain", b">From a b\n"), (b"text / plain", b""), (b"multipart/mixed", b""), (b"multipart/mixed", b"a\n")],
)
def test_how_a_body_is_declared_counts_where_it_counts_as_it_is_written(kind, stray):
    """One raw body under two transfer encodings, or two charsets, is two messages."""
    head, body = HEADER + b"Content-Type: %s; charset=" % kind, b"\n\nd29yZHM=\n"
    encodings = (b"base64", b"quoted-printable", b"7bit")
    made = [head + b"utf-8\nContent-Transfer-Encoding: " + each + b"\n" + stray + body for each in encodings]
    made += [head + charset + b"\n" + stray + body for charset in (b"utf-7", b"utf-16", b"hz")]
    made += [HEADER + PLAIN + b"--b\n" + raw.removeprefix(HEADER) for raw in made]
    assert len({identity(raw) for raw in made}) == 12


@over_rows("other", [b"a  c", b" a c", b"a c ", b"a\tc"])
@over_rows("honest", [b"a c", b"ac"])
def test_blanks_in_a_boundary(honest, other):
    """Programs differ in the blanks of a boundary: what any of them may find behind it counts."""
    head = HEADER + b'Content-Type: multipart/mixed; boundary="%s"\n\n'
    body = b"--%s\n\nlunch\n--%s--\n" % (honest, honest)
    spam = b"--%s\n\nspam\n--%s--\n" % (other, other)
    first, second = head % honest + spam + body, head % other + spam + body
    assert identity(first) != identity(second)
    assert identity(head % honest + body) != identity(head % other + spam + body)


@pytest.mark.parametrize("byte", [b"\0", b"\x7f", b"\xe9"])
def test_bytes_in_a_boundary_that_programs_change(byte):
    """If a boundary has a byte that programs replace, the text outside the parts counts."""
    head = HEADER + b'Content-Type: multipart/mixed; boundary="b%sc"\n\n' % byte
    body = b"--b%sc\n\nlunch\n--b%sc--\n" % (byte, byte)
    assert identity(head + body) != identity(head + b"--b\n\nspam\n--b--\n" + body)


def test_a_synchroniser_leaves_a_broken_header_the_same_message():
    """The field that mbsync writes at the end of each header makes no other message of one with text in its header."""
    head = HEADER + b">From a b\nX-Mailer: x\n"
    written = head + b"X-TUID: ab+/efghijkl\n"
    assert identity(head + b"\nwords\n") == identity(written + b"\nwords\n")
    assert identity(written + b"\nwords\n") == identity(written.replace(b"kl", b"mn") + b"\nwords\n")
    assert identity(head + b"\nwords\n") != identity(head + b"X-TUID: spam, spam\n\nwords\n")


def test_a_multipart_without_mime_version_is_another_message():
    """Some programs show a message without MIME-Version raw, so its preamble counts."""
    bare = HEADER.replace(b"MIME-Version: 1.0\n", b"")
    assert identity(bare + PLAIN + PART) != identity(bare + PLAIN + b"spam\n" + PART)
    assert identity(HEADER + PLAIN + PART) == identity(HEADER + PLAIN + b"This is MIME.\n" + PART)


@pytest.mark.parametrize(
    ("opening", "unit"),
    [
        (b"", b"--b\n\nwords of %d\n"),
        (b"", b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n'),
        (b"Content-Type: message/rfc822\n\n", b"Content-Type: message/rfc822\n\nSubject: %d\n\n"),
        (b"--b\n\n", b"--b%d\n"),
    ],
    ids=["parts", "nested", "forwarded", "lines-like-boundaries"],
)
def test_what_lies_past_the_limits_counts(opening, unit):
    """The last of 10,000 parts, levels or forwarded messages counts, in chunks of any size."""
    units = b"".join(unit % ((number,) * unit.count(b"%d")) for number in range(10_000))
    raw = HEADER + PLAIN + opening + units + b"\nthe last words\n"
    assert identity(raw) != identity(raw.replace(b"last words", b"last spam"))
    assert in_chunks(raw, 999) == digests(raw)


# From a file, in chunks.


def in_chunks(raw: bytes, size: int):
    digester = Digester()
    for start in range(0, len(raw), size):
        digester.feed(raw[start : start + size])
    return digester.finish()


@settings(deadline=None)
@given(
    st.sampled_from([*REALISTIC, *(raw.replace(b"\n", b"\r\n") for raw in REALISTIC)]),
    st.integers(),
    st.integers(1, 3000),
)
def test_chunks_make_no_difference(raw, seed, size):
    """However a stream is cut, the digests are those of the whole, also of broken messages."""
    raw = mutated(raw, random.Random(seed))
    assert in_chunks(raw, size) == digests(raw)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.thorough)])
def test_chunks_make_no_difference_to_hostile_messages(step):
    """Chunks do not change the digests of the worst messages either."""
    for name in [*HOSTILE][::step]:
        raw = HOSTILE[name][0]()
        assert in_chunks(raw, 65_537) == digests(raw), name


@given(PARTS.filter(bool), st.data(), st.integers(1, 50))
def test_chunks_make_no_difference_to_encodings(parts, data, size):
    """A chunk may end within a boundary, an escape or four letters of base64."""
    raw = HEADER + multipart(parts, [data.draw(ENCODERS) for _ in parts], data.draw(BOUNDARIES)) + b"Q" * 2500
    assert in_chunks(raw, size) == digests(raw)


@pytest.mark.thorough
def test_the_last_byte_of_a_large_attachment_counts():
    """A different byte at 3 MB, or behind the decoded part, makes a different message."""
    for size, encoder in ((3 << 20, in_base64), (17 << 20, in_8bit)):
        content = b"0123456789abcdef" * (size // 16)
        one, other = (
            HEADER + multipart([("application/pdf", content.decode() + end)], [encoder], b"boundary")
            for end in ("x", "y")
        )
        assert identity(one) != identity(other)
        assert delivery(one) != delivery(other)
        taken = take(one[start : start + (256 << 10)] for start in range(0, len(one), 256 << 10))
        assert len(taken) <= DEFAULT_LIMITS.message_bytes
        assert digests(taken) == digests(one)
        assert read(taken).digest == identity(one)


def test_a_message_that_the_reader_takes_whole_is_kept_whole():
    """A message within the limit is returned unchanged."""
    assert take([RAW[:100], RAW[100:]]) == RAW
    raw = RAW + b"x" * (DEFAULT_LIMITS.message_bytes - len(RAW))
    assert take([raw]) == raw


@pytest.mark.parametrize("module", [charsets, headers, subject, transfer])
def test_docstrings_hold(module):
    """The examples in the docstrings are what the functions do."""
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
