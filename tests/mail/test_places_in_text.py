"""Tokens for the place of a word: openings, closings, pairs; elements; the shape of a Message-ID; broken boundaries."""

from spamnb.mail.reading import read
from spamnb.mail.tokens.kinds import is_header


def tokens(body: str, header: str = "") -> set[str]:
    """The tokens of a plain message."""
    return set(read(f"{header}\n\n{body}".encode()).tokens)


def test_opening_and_closing() -> None:
    """The first ten and the last twenty words are tokens of their own, in their place."""
    found = tokens(" ".join(f"w{letter}" for letter in "abcdefghijklmnopqrstuvwxyzäöüß"))
    assert {"opening:wa", "opening:wj", "closing:wß", "closing:wk"} <= found
    assert not {"opening:wk", "closing:wj"} & found


def test_pairs() -> None:
    """Neighbours in the subject and among the first twenty words are pairs, with the ends marked."""
    found = tokens("dear old friend", "Subject: buy now")
    assert {"subject-pair:^ buy", "subject-pair:buy now", "subject-pair:now $"} <= found
    assert {"opening-pair:^ dear", "opening-pair:dear old", "opening-pair:old friend"} <= found
    assert "opening-pair:dear friend" not in found


def test_elements() -> None:
    """The names of the HTML elements are tokens, once each."""
    found = read(b"Content-Type: text/html\n\n<p>a<p>b<center>c</center>").tokens
    assert found["tag:p"] == found["tag:center"] == 1


def test_shape_of_a_message_id() -> None:
    """The part of a Message-ID before the host is kept as a shape."""
    assert "message-id-shape:d.AaA" in tokens("x", "Message-ID: <2026.AbbC@example.org>")


def test_boundary_that_is_not_there() -> None:
    """A multipart whose field names another boundary than its body is read by the boundary in the body."""
    raw = (
        b"Content-Type: multipart/mixed; boundary=one\n\n--two\nContent-Type: text/plain\n\nhello there\n"
        b"--two\nContent-Type: text/html\n\n<b>bold</b>\n--two--\n"
    )
    found = read(raw).tokens
    assert {"hello", "there", "bold", "multipart-broken:"} <= found.keys()


def test_multipart_without_any_boundary() -> None:
    """A multipart without a boundary anywhere is read as text."""
    assert {"hello", "multipart-broken:"} <= read(b"Content-Type: multipart/mixed\n\nhello").tokens.keys()
    assert "bold" in read(b"Content-Type: multipart/mixed; boundary=x\n\n<html><b>bold</b>").tokens


def test_header_tokens_are_told_apart() -> None:
    """Tokens of the header differ from those of subject and body."""
    header = "From: Anna <a@example.org>\nReceived: from mx.example.org\nSubject: hello\nX-Mailer: mutt"
    found = tokens("good day http://example.com/x", header)
    assert {token for token in found if not is_header(token)} >= {"subject:hello", "good", "url:example.com"}
    assert {"from:a@example.org", "received:mx.example.org", "x-mailer:mutt"} <= {t for t in found if is_header(t)}
