import pytest

from spamnb.mail.addresses import address, addresses
from spamnb.mail.fields import media_type, parameters, read_fields
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.message import decode_field, parse
from spamnb.mail.reading import read


def tokens(header: str) -> set[str]:
    return set(read(header.encode() + b"\n\nbody\n").tokens)


@pytest.mark.parametrize(
    "field",
    """X-Spam-Status X-Spam-Flag X-Spamd-Bar X-Rspamd-Score X-Bogosity X-Spambayes-Classification X-DSPAM-Result
    X-CRM114-Status X-Text-Classification X-Barracuda-Spam-Score X-BitDefenderWKS-Spam X-Company-MailScanner
    X-Antivirus Status X-Status X-Keywords X-UID X-TUID Lines Content-Length""".split(),  # noqa: SIM905 - a list
)
def test_verdicts_and_later_additions_are_never_tokens(field):
    """Neither another filter's verdict nor what mail software adds after delivery leaves a trace in the tokens."""
    bare = read(b"Subject: x\n\nbody\n")
    for value in ("Yes, score=99", "=?utf-8?q?Spam?=", ""):
        for raw in (f"{field}: {value}\nSubject: x\n\nbody\n", f"Subject: x\n{field.lower()}: {value}\n\nbody\n"):
            assert read(raw.encode()).tokens == bare.tokens


def test_each_field_has_its_own_words():
    """The same word is another token in the subject, in a sender's name and in the body."""
    found = tokens("Subject: offer\nFrom: Offer <offer@offer.example>\nReply-To: offer@else.example")
    assert {"subject:offer", "from-name:offer", "from:offer@offer.example", "from:offer.example"} <= found
    assert {"reply-to:else.example", "reply-to-elsewhere", "from:example"} <= found
    assert "offer" not in found


def test_the_topmost_received_is_told_from_those_that_can_be_forged():
    """The hosts of the first Received field are other tokens than the claims below it."""
    found = tokens("Received: from a.example ([192.0.2.1])\nReceived: from b.example ([198.51.100.7])")
    assert {"received:a.example", "received-ip:192.0.2.1", "received-ip:192.0"} <= found
    assert {"received-claimed:b.example", "received-claimed-ip:198.51.100", "received-number:2"} <= found
    assert "received:b.example" not in found


def test_other_fields_are_told_by_name():
    """A mailer's words, Message-ID's host, the zone of the date, and the presence of any other field are tokens."""
    found = tokens("X-Mailer: Some Mailer 1.0\nMessage-ID: <1@host.example>\nDate: Mon, 1 Jan 2024 0:0 +0900\nX-Odd: z")
    assert {"x-mailer:mailer", "message-id:host.example", "date-zone:+0900", "field:x-odd"} <= found
    assert not any(token.rpartition(":")[2] == "z" for token in found)


def test_missing_fields_are_told():
    """A message without sender, recipient or subject says so."""
    assert {"from:none", "to:none", "subject:"} <= tokens("X: y")


def test_a_shouting_subject_is_told():
    """A subject all in upper case, and runs of punctuation in it, are tokens."""
    assert {"subject-shouts", "subject:!!!", "subject:winner"} <= tokens("Subject: YOU ARE A WINNER!!!!!")


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("=?utf-8?q?caf=C3=A9?=", "café"),
        ("=?UTF-8?B?Y2Fmw6k=?= au =?iso-8859-1?q?lait_=E9?=", "café au lait é"),
        ("=?utf-8?q?a?=\n =?utf-8?q?b?=", "ab"),
        ("=?x-unknown?q?plain?=", "plain"),
        ("=?utf-8?b?broken*?=", None),
        ("=?utf-8?q?open", "=?utf-8?q?open"),
        ("folded\r\n\tvalue", "folded value"),
        ("raw \udcc3\udca9 bytes", "raw é bytes"),
        ("raw \udce9 bytes", "raw é bytes"),
        ("=?zlib?b?AAAA?=", None),
    ],
)
def test_encoded_words(written, read_as):
    """Encoded words (RFC 2047), folds and raw 8-bit bytes are decoded; broken ones stand as they can be read."""
    found = decode_field(written)
    assert found if read_as is None else found == read_as


@pytest.mark.parametrize(
    ("raw", "fields", "stray"),
    [
        (b"A: b\nC: d", (("a", "b"), ("c", "d")), ""),
        (b"A:b\r\n c\r\nD: e\r\n", (("a", "b\n c"), ("d", "e")), ""),
        (b" lost\nA: b\n", (("a", "b"),), ""),
        (b"From me\nA: b\n", (("a", "b"),), ""),
        (b": lost\nA: b\n", (("a", "b"),), ""),
        (b"A: b\nno field\nC: d\n", (("a", "b"),), "no field\nC: d\n"),
        (b"A : b\n", (), "A : b\n"),
        (b"A: \xe9\rB: c\n", (("a", "\udce9"), ("b", "c")), ""),
        (b"", (), ""),
    ],
)
def test_fields_are_cut_as_the_standard_parser_cuts_them(raw, fields, stray):
    """Folded, misplaced and broken lines of a header block."""
    block = read_fields(raw, DEFAULT_LIMITS)
    assert (block.fields, block.stray) == (fields, stray)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("text/plain", {}),
        ("text/plain;", {}),
        ('text/plain; charset="us-ascii" ; format=flowed', {"charset": "us-ascii", "format": "flowed"}),
        ('a/b; name="a;b"', {"name": "a;b"}),
        ('a/b; name="a\\"b"', {"name": 'a"b'}),
        ("a/b; name*0=long; name*1=.exe", {"name": "long.exe"}),
        ("a/b; name*=utf-8'en'caf%C3%A9", {"name": "café"}),
        ("a/b; name*=zlib'en'caf%C3%A9", {"name": "café"}),
        ("a/b; charset=x; charset=y", {"charset": "x"}),
        ("a/b; charset = x", {"charset": "x"}),
    ],
)
def test_parameters(value, found):
    """Parameters plain, quoted, continued and encoded (RFC 2045, RFC 2231)."""
    assert dict(parameters(value)) == found


def test_a_media_type_that_is_none_is_plain_text():
    """A Content-Type without a slash, or with two, is read as text/plain (RFC 2045, 5.2)."""
    assert [media_type(value) for value in ("", "text", "a/b/c", " IMAGE/gif ;x")] == ["text/plain"] * 3 + ["image/gif"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a@b.example", [("", "a@b.example")]),
        ("A B <a@b.example>", [("A B", "a@b.example")]),
        ('"B, A" <a@b.example>', [("B, A", "a@b.example")]),
        ("a@b.example (A B)", [("A B", "a@b.example")]),
        ('J. Doe <j@d.example>, "K" <k@d.example>', [("J. Doe", "j@d.example"), ("K", "k@d.example")]),
        ("friends: a@b.example, c@d.example;", [("", "a@b.example"), ("", "c@d.example")]),
    ],
)
def test_addresses(value, found):
    """Addresses plain, quoted, with comments and in groups (RFC 5322, 3.4)."""
    assert addresses([value]) == found


@pytest.mark.parametrize("value", ["", "(" * 4000, "a:" * 2000, "<", '"', "<@a,@b:", ",", "@"])
def test_no_address_is_too_odd(value):
    """Whatever stands in an address field, it is read without a fault."""
    assert isinstance(address(value), tuple)


def test_an_mbox_separator_is_no_field():
    """A `From ` line that a delivery agent left, and blank lines, stand before the header block."""
    assert parse(b"From me Thu Jan  1\n\n\nSubject: x\n\nbody").first("subject") == "x"


def test_a_broken_header_block_ends_where_it_breaks():
    """Text without a blank line before it is body."""
    found = read(b"Subject: x\nthis is text\nmore text\n\nstill text\n").tokens
    assert {"header-broken", "this", "more", "still"} <= found.keys()
