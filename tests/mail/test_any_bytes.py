import os
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.mail.mutations import MESSAGES, mutated
from tests.mail.promises import check
from tests.profiles import daily
from tests.table import over_rows

FRAGMENTS = st.sampled_from(
    [b"\n", b"\n\n", b"\r\n", b": ", b"Subject: ", b"From: ", b"To: ", b"=?utf-8?q?", b"?=", b"--b", b"--", b"<a href=",
     b"Content-Type: multipart/mixed; boundary=b\n", b"Content-Type: text/html; charset=", b"utf-7", b"iso-2022-jp",
     b"Content-Transfer-Encoding: base64\n", b"\0", b"\xff", b"\xed\xa0\x80", b"+2AA-", b"http://", b"@", b"&#xd800;",
     b"begin 644 x\n", b"; name*0*=", b"'", b'"', b"\\", b"(", b"<p style='color:", b"message/rfc822", b"\x1b$B",
     b"Content-Type: text/calendar\n", b"Content-Disposition: attachment; filename=a.html\n", b"SUMMARY", b"ORGANIZER;",
     b"BEGIN:VALARM\n", b"\n ", b":", b"\\n", b"<script>", b"<svg:a xlink:href=", b"atob("]
)  # fmt: skip  # a list of fragments is read more easily in lines


@settings(deadline=None, max_examples=daily(200))
@given(st.binary(max_size=2000))
@example(b"")
@example(b"From ")
@example(b"\n")
def test_any_bytes_are_read(raw):
    """Any bytes yield a digest, a summary, and printable tokens within the limits; never an exception."""
    check(raw)


@settings(deadline=None, max_examples=daily(250))
@given(st.lists(FRAGMENTS | st.binary(max_size=20), max_size=60).map(b"".join))
def test_any_pieces_of_a_message_are_read(raw):
    """Pieces of real syntax in any order are read too."""
    check(raw)


@over_rows("seed", range(7))
def test_mutated_messages_are_read(seed):
    """A message with slices flipped, dropped, doubled and moved is read."""
    chance = random.Random(seed)
    for _ in range(15):
        check(mutated(chance.choice(MESSAGES), chance))


@pytest.mark.slow
def test_a_hundred_thousand_mutated_messages_are_read():
    """100,000 mutations of our messages are read, and of those in SPAMNB_FUZZ_MESSAGES, if it is set."""
    messages = list(MESSAGES)
    if directory := os.environ.get("SPAMNB_FUZZ_MESSAGES"):
        messages += [path.read_bytes()[:50_000] for path in sorted(Path(directory).iterdir()) if path.is_file()]
    chance = random.Random(int(os.environ.get("SPAMNB_FUZZ_SEED", "1")))
    for number in range(int(os.environ.get("SPAMNB_FUZZ_NUMBER", "100000"))):
        raw = mutated(chance.choice(messages), chance)
        try:
            check(raw)
        except Exception as fault:
            Path("fuzz-failure.eml").write_bytes(raw)
            raise AssertionError(f"mutation {number} fails; it is kept as fuzz-failure.eml") from fault
