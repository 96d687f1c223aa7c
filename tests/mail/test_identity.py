import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.mail.identity import delivery, identity

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


@pytest.mark.parametrize("field", ADDED)
@pytest.mark.parametrize("position", STARTS)
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
    """Line ends, an mbox separator and blank lines at the end are no part of a message."""
    assert identity(change(RAW)) == identity(RAW)
    assert delivery(change(RAW)) == delivery(RAW)


@pytest.mark.parametrize("change", [(b"<1@", b"<2@"), (b"A <a@", b"B <a@"), (b"1 Jan", b"2 Jan"), (b"text", b"words")])
def test_another_message_has_another_identity(change):
    """Message-ID, Date, From and the body make a message."""
    assert identity(RAW.replace(*change)) != identity(RAW)


def test_two_deliveries_of_one_message():
    """A copy that came by another way is the same message, and another delivery."""
    other = RAW.replace(b"a.example\n\tby", b"list.example\n\tby")
    assert identity(other) == identity(RAW)
    assert delivery(other) != delivery(RAW)


def test_without_a_message_id_the_subject_counts():
    """Mail without a Message-ID is told apart by Subject and To."""
    bare = RAW.replace(b"Message-ID: <1@b.example>\n", b"")
    assert identity(bare) != identity(bare.replace(b"Hello", b"Bye"))
    assert identity(RAW) == identity(RAW.replace(b"Hello", b"Bye"))


@pytest.mark.parametrize("text", [b"one\nand the end\n", b"one\n\nand the end\n"])
def test_text_counts_where_no_blank_line_parts_it_from_the_header(text):
    """Messages of one subject are told apart by their text, also where the blank line before it is missing."""
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
