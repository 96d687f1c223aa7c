"""Fields that a filter adds to a message: their place, and that nothing else of the message changes."""

import re
import time
from email import message_from_bytes, policy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spamnb.delivery.annotate import annotate
from spamnb.identity.digests import identity

NAMES = ("X-Spamnb", "X-Spam-Flag")
OURS = (("X-Spamnb", "ham, probability=0.000001"),)

line_ends = st.sampled_from(["\n", "\r\n"])
words = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=12)
names = st.sampled_from(["Subject", "To", "Return-Path", "X-Spam", "X-Spam-Flagged", "From"])
forged = st.sampled_from(["X-Spamnb", "x-spamnb", "X-SPAM-FLAG", "X-Spam-Flag ", "x-spam-flag\t"])
folds = st.lists(words.map(lambda word: f"\t{word}"), max_size=2)
bodies = st.binary(max_size=40)
soup = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b"\t", b":", b"X-Spamnb", b"x-spam-flag", b"From ", b">From "])
    | st.sampled_from([b"Return-Path", b"To: a", b"\0", b"\xe9", b"a"]),
    max_size=20,
).map(b"".join)


def annotated(raw: bytes, fields: tuple[tuple[str, str], ...] = OURS) -> bytes:
    """The whole message."""
    beginning, replaced = annotate(raw, fields, NAMES)
    return beginning + raw[replaced:]


def test_place() -> None:
    """Our fields come after the line of an mbox and the Return-Path, like SpamAssassin's."""
    raw = b"From a Mon Jan  1 10:00:00 2024\nReturn-Path: <a@b>\nReceived: by c\nTo: d\n\nHello\n"
    assert annotated(raw) == raw.replace(b"Received", b"X-Spamnb: ham, probability=0.000001\nReceived")


@pytest.mark.parametrize("line", [b"From a@b Mon Jan  1 10:00:00 2024\n", b">From a@b\n", b"From : a@b\n"])
def test_it_stays_the_same_message(line: bytes) -> None:
    """The identity leaves out the lines of an mbox before a header, so our fields come behind all of them."""
    raw = line + b"Subject: hello\nMessage-ID: <1@b>\n\nHello\n"
    assert identity(annotated(raw)) == identity(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"To: a\n\nb", b"X-Spamnb: ham, probability=0.000001\nTo: a\n\nb"),
        (b"To: a\r\n\r\nb\nc", b"X-Spamnb: ham, probability=0.000001\r\nTo: a\r\n\r\nb\nc"),
        (b"To: a", b"X-Spamnb: ham, probability=0.000001\nTo: a"),
        (b"\nbody", b"X-Spamnb: ham, probability=0.000001\n\nbody"),
        (b"text\r\n\r\nmore", b"X-Spamnb: ham, probability=0.000001\r\n\r\ntext\r\n\r\nmore"),
        (b" X-Spamnb: spam\nTo: a\n\nb", b"X-Spamnb: ham, probability=0.000001\n\n X-Spamnb: spam\nTo: a\n\nb"),
        (b"x-spamnb: spam\n of mine\n\nb", b"X-Spamnb: ham, probability=0.000001\n\nb"),
        (b"To: a\nX-SPAM-FLAG :YES\n\n", b"X-Spamnb: ham, probability=0.000001\nTo: a\n\n"),
        (b"X-Spamnb: spam", b"X-Spamnb: ham, probability=0.000001\n"),
        (b"To: a\nno field\nX-Spam-Flag: YES\n\nb", b"X-Spamnb: ham, probability=0.000001\nTo: a\nno field\n\nb"),
        (b"To: a\rX-Spam-Flag: YES\nCc: b\n\n", b"X-Spamnb: ham, probability=0.000001\nTo: a\nCc: b\n\n"),
        (b"X-Spam-Flag: YES\rTo: a\n\n", b"X-Spamnb: ham, probability=0.000001\nTo: a\n\n"),
    ],
    ids=[
        "plain",
        "crlf",
        "no-end",
        "empty-header",
        "no-header",
        "continuation-first",
        "folded",
        "blank-before-colon",
        "only-forged",
        "after-no-field",
        "behind-lone-return",
        "before-lone-return",
    ],
)
def test_forms(raw: bytes, expected: bytes) -> None:
    """Every form of a message gets our field, in its own line ends; forged ones are gone, in whatever spelling."""
    assert annotated(raw) == expected


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A message with forged fields among its own, and the same message without them."""
    end = draw(line_ends)
    envelope = draw(st.sampled_from(["", f"From a@b Mon Jan  1 10:00:00 2024{end}"]))
    fields = draw(st.lists(st.tuples(st.booleans(), names, forged, words, folds), min_size=1, max_size=6))
    whole, honest = [], []
    for is_forged, name, false_name, value, more in fields:
        field = end.join([f"{false_name if is_forged else name}: {value}", *more]) + end
        whole.append(field)
        honest += [] if is_forged else [field]
    body = draw(bodies)

    def joined(lines: list[str]) -> bytes:
        return (envelope + "".join(lines) + end).encode("latin-1") + body

    return joined(whole), joined(honest)


@given(messages())
def test_nothing_else_changes(both: tuple[bytes, bytes]) -> None:
    """Without our fields the output equals the message without the forged ones, in body and other fields."""
    whole, honest = both
    out = annotated(whole)
    assert re.sub(rb"X-Spamnb: ham, probability=0\.000001\r?\n", b"", out, count=1) == honest
    assert annotated(out) == out


@given(soup | st.binary(max_size=60))
@example(b"From a\n>From b\n\rX-Spamnb: 1")
@example(b"Return-Path:\n ")
@example(b"X-Spamnb: a\rX-Spamnb: b\n c\r d\n\n")
def test_any_bytes(raw: bytes) -> None:
    """Any bytes at all keep their body and get one field of ours; a second time changes nothing."""
    out = annotated(raw)
    assert annotated(out) == out
    assert out.endswith(raw[annotate(raw, OURS, NAMES)[1] :])
    header = re.split(rb"(?:\A|(?<=\n))\r?\n", out, maxsplit=1)[0]
    assert len(re.findall(rb"(?:\A|[\r\n])(?:x-spamnb|x-spam-flag)[ \t]*:", header, re.IGNORECASE)) == 1
    if not re.search(rb"x-spam", raw, re.IGNORECASE):
        assert raw in (out.replace(header_field, b"", 1) for header_field in our_lines(out))


def our_lines(out: bytes) -> list[bytes]:
    """Return our field, with and without the empty line behind it."""
    found = re.search(rb"X-Spamnb: ham, probability=0\.000001(\r?\n)", out)
    assert found
    return [found[0], found[0] + found[1]]


@given(messages())
def test_readable_by_others(both: tuple[bytes, bytes]) -> None:
    """Python's own reader finds our value, once, and no forged one."""
    read = message_from_bytes(annotated(both[0]), policy=policy.compat32)
    assert read.get_all("X-Spamnb") == ["ham, probability=0.000001"]
    assert "X-Spam-Flag" not in read


def test_no_fields_to_add() -> None:
    """Without fields to add only the forged ones go."""
    assert annotated(b"To: a\nX-Spamnb: 1\n\nb", ()) == b"To: a\n\nb"
    assert annotated(b"text\n\nb", ()) == b"text\n\nb"


@pytest.mark.thorough
@pytest.mark.parametrize("unit", [b"\r", b"\n ", b"x-spamnb:\r ", b"a: b\n", b"From a\n", b"\rx-spam"])
def test_time_grows_with_the_length(unit: bytes) -> None:
    """Twice the length takes twice the time, whatever is repeated, and not four times."""

    def seconds(size: int) -> float:
        raw, times = b"To: a" + unit * (size // len(unit)), []
        for _ in range(3):
            start = time.process_time()
            annotated(raw)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(1_000_000) < 12 * seconds(250_000) + 0.01
