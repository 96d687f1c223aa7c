"""A message that is longer than is read: pictures are left out first, and what may be text is noted."""

import base64
from random import Random

import pytest

from spamnb.mail.abridged import abridged
from spamnb.mail.intake import is_blank, take
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import read_content

MOST = DEFAULT_LIMITS.message_bytes


def encoded(kind: bytes, size: int) -> bytes:
    """A part in base64 of that many bytes."""
    content = base64.encodebytes(Random(size).randbytes(size))
    return b"--b\nContent-Type: " + kind + b"\nContent-Transfer-Encoding: base64\n\n" + content


def mail(*parts: bytes) -> bytes:
    return b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"".join(parts) + b"--b--\n"


LETTER, SPAM = b"--b\n\nplums\n", b"--b\n\npineapples\n"
LARGE = encoded(b"image/png", 3_000_000)


@pytest.mark.parametrize(
    "raw",
    [
        mail(LETTER, LARGE, SPAM),
        mail(LETTER, LARGE, SPAM, LARGE),
        mail(LETTER, *[LARGE, SPAM] * 6),
        mail(LARGE, LETTER, SPAM),
        mail(LETTER, encoded(b"application/pdf", 900_000), SPAM, LARGE),
    ],
)
def test_text_behind_and_between_large_pictures_is_read(raw: bytes) -> None:
    """A text behind large pictures, or between them, is read, and the message counts as read."""
    content = read_content(raw)
    assert {"plums", "pineapples"} <= content.tokens.keys()
    assert not content.is_in_part
    assert "base64-broken:" not in content.tokens


def test_the_size_of_a_picture_is_known() -> None:
    """The size of a picture of which most is left out is about right."""
    (attachment,) = parse(mail(LETTER, LARGE)).attachments
    assert abs(attachment.size - 3_000_000) < 100_000


@pytest.mark.parametrize(
    "raw",
    [
        mail(LETTER, encoded(b"text/plain", 3_000_000)),
        mail(LETTER, encoded(b"multipart/mixed; boundary=c", 3_000_000)),
        mail(LETTER, encoded(b"message/rfc822", 3_000_000)),
        mail(LETTER, encoded(b"application/pkcs7-mime", 3_000_000)),
        mail(LETTER, encoded(b"text/html; name=a.html\nContent-Disposition: attachment", 3_000_000)),
        mail(LETTER, b"--b\n\n" + b"some words\n" * 200_000 + b"pineapples\n" + b"some words\n" * 100_000),
        mail(LETTER, LARGE, b"--b\n\n" + b"some words\n" * 200_000 + b"\n", SPAM, b"--b\n\n" + b"words\n" * 100_000),
    ],
)
def test_a_text_that_is_left_out_is_noted(raw: bytes) -> None:
    """If what is left out may be a text, the message is read in part."""
    assert read_content(raw).is_in_part


@pytest.mark.parametrize("size", [1, 1000, 65_536, 300_000])
def test_it_does_not_matter_how_a_message_comes(size: int) -> None:
    """A message that comes in chunks of any size is abridged alike, to what is read."""
    raw = mail(LETTER, LARGE, b"--b\n\n" + b"some words\n" * 200_000, SPAM)
    raw = raw[: 2 * MOST] if size == 1 else raw
    taken = take(raw[place : place + size] for place in range(0, len(raw), size))
    assert bytes(taken) == abridged(raw, MOST)
    assert len(taken) <= MOST


def test_a_mark_of_a_stranger_makes_no_ham() -> None:
    """Whoever writes a mark as the reader does has a message that is read in part."""
    assert read_content(b"Subject: x\n\nplums\n\0cut 5\0\npineapples\n").is_in_part
    assert read_content(b"Subject: x\n\nplums\n\0cut anything\0\npineapples\n").is_in_part


def test_zeros_alone() -> None:
    """A file of zeros is no message, however long; one with a text or a picture behind the zeros is."""
    zeros = b"\0" * 2 * MOST
    assert is_blank(take([zeros]))
    assert not is_blank(take([zeros, b"plums"]))
    assert not is_blank(take([zeros[:MOST], encoded(b"image/png", MOST)]))
