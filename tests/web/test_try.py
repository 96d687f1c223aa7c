"""A message that is tried on a page: its verdict and why, from a text or a file, and nothing of it is kept."""

from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.filter.judge import UNREAD
from spamnb.identity.digests import identity
from spamnb.web.http import HttpError
from spamnb.web.upload import MOST_BYTES, read_parts
from tests.filter.test_vouched import BORDER, LEAVE, SIGNED
from tests.mail.hostile import MESSAGES
from tests.web.desk import Answer, Browser, WebDesk, pages_of
from tests.web.markup import MARKUP, letter

BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def form(text: bytes = b"", file: bytes = b"", filename: str = "") -> bytes:
    """The body of the form, as Chromium sends it."""
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    parts = f'{head}"file"; filename="{filename}"\r\nContent-Type: message/rfc822\r\n\r\n'.encode() + file + b"\r\n"
    parts += f'{head}"text"\r\n\r\n'.encode() + text + b"\r\n"
    return parts + f"--{BOUNDARY}--\r\n".encode()


def send(browser: Browser, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
    """Send the form."""
    return browser.send("/try", body, {"content-type": TYPE, **(headers or {})})


def held(desk: WebDesk) -> list[bytes]:
    """All that the ledger holds."""
    return [path.read_bytes() for path in sorted(desk.directory.glob("ledger*"))]


@pytest.mark.parametrize("kind", ["ham", "spam"])
def test_text_and_file(desk: WebDesk, kind: str) -> None:
    """A pasted message and its file have one verdict, with reasons, although a browser changes line ends."""
    raw, before = message(kind, 200), held(desk)
    for body in (form(text=raw.replace(b"\n", b"\r\n")), form(file=raw, filename="x.eml"), form(b"ignored", raw)):
        page = send(desk.browser, body)
        assert page.status == 200
        assert page.tree.xpath("//*[@id='verdict']//*[contains(@class, 'verdict')]/@class") == [f"verdict {kind}"]
        assert "Mostly because of" in page.words
        assert page.tree.xpath("//table[@class='clues']")
    assert held(desk) == before
    assert desk.ledger.messages.find(identity(raw)) is None


def test_what_is_chosen_holds(desk: WebDesk) -> None:
    """A tried message is judged with the choices; a learned one as if it were not learned."""
    raw = message("spam", 200)
    sender = raw.split(b"From: ")[1].split(b"\n")[0].split(b"@")[1].strip(b" >").decode()
    desk.browser.post("/choose", kind="allow", value=sender)
    page = send(desk.browser, form(raw))
    assert f"You have allowed {sender}" in page.words
    assert "if the filter had not learned it" in send(desk.browser, form(message("ham", 3))).words


def test_several_messages(desk: WebDesk) -> None:
    """If a file has several messages, the first is tried, and the page says so."""
    first, second = (b"From a@b.example Mon Jan  5 10:00:00 2026\n" + message(kind, 200) for kind in ("spam", "ham"))
    page = send(desk.browser, form(file=first + b"\n" + second))
    assert page.tree.xpath("//*[@id='verdict']//*[contains(@class, 'verdict')]/@class") == ["verdict spam"]
    assert "holds several messages. This is the first" in page.words
    assert "holds several" not in send(desk.browser, form(file=first)).words


def test_a_text_without_a_header(desk: WebDesk) -> None:
    """A text without a header, or any other text, is tried too; the page says that a whole message tells more."""
    for raw in (b"Buy pills now", b"\x89PNG\r\n\x1a\n\x00\xff" * 50, message("spam", 1).decode().encode("utf-16-le")):
        page = send(desk.browser, form(file=raw))
        assert (page.status, "It has no header" in page.words) == (200, True), raw[:20]
    assert "It has no header" not in send(desk.browser, form(message("spam", 200))).words


def test_nothing_to_try(desk: WebDesk) -> None:
    """An empty, an invalid and a too long form are refused, with the next step."""
    for body, headers, status in (
        (form(), {}, 400),
        (form(b"  \r\n "), {}, 400),
        (b"label=ham", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b"x", {"content-type": "multipart/form-data"}, 415),
        (b"x", {"content-type": f"multipart/form-data; boundary={'x' * 71}"}, 415),
        (form(b"x"), {"content-length": "x"}, 411),
        (form(b"x"), {"content-length": "9" * 30}, 413),
        (form(b"x" * MOST_BYTES), {}, 413),
        (b"no boundary", {}, 400),
        (form(b"x")[:-20], {}, 400),
        (b"".join([f"--{BOUNDARY}\r\n\r\n\r\n".encode()] * 1000), {}, 400),
    ):
        answer = send(desk.browser, body, headers)
        assert answer.status == status, (body[:80], headers)
        assert answer.tree.xpath("//h1")


def test_who_may(desk: WebDesk) -> None:
    """Without a login, from another page, or on read-only pages nothing is tried, and the message is not even read."""
    body = form(message("ham", 200))
    assert send(desk.browser, body, {"cookie": ""}).status == 401
    assert send(desk.browser, body, {"sec-fetch-site": "cross-site"}).status == 403
    assert send(desk.browser, body, {"host": "evil.example"}).status == 421
    assert send(Browser(desk.application(read_only=True)), body).status == 405


def test_markup(desk: WebDesk) -> None:
    """Mail made of markup stays text on this page, and so does its file's name."""
    some = (letter("a word", 1), letter("a word " * 100, 1), message("spam", 200))
    harmless = {one.tag for raw in some for one in send(desk.browser, form(raw)).tree.iter()}
    for number, text in enumerate(MARKUP):
        name = text.encode("ascii", "replace").decode().replace('"', "%22").replace("\r", "").replace("\n", "")
        page = send(desk.browser, form(file=letter(text, number), filename=name))
        assert page.status == 200, text
        assert {one.tag for one in page.tree.iter()} <= harmless, text
        assert not [one for one in ("\u202e", "\u2066", "\x1b", "\x07") if one in page.text]


@pytest.mark.parametrize(
    "every", [32, pytest.param(8, marks=pytest.mark.thorough), pytest.param(1, marks=pytest.mark.slow)]
)
@pytest.mark.thorough
def test_the_worst_messages(desk: WebDesk, every: int) -> None:
    """The worst messages are judged, or refused as too long; no part of them becomes a part of the form."""
    for raw in [b"", b"a" * MOST_BYTES, *(make() for make, _ in [*MESSAGES.values()][::every])]:
        page = send(desk.browser, form(file=raw))
        assert page.status == (400 if not raw else 413 if len(form(file=raw)) > MOST_BYTES else 200)
    inner = f"Content-Type: multipart/mixed; boundary={BOUNDARY}\n\n--{BOUNDARY}\n\nhello\n--{BOUNDARY}--\n".encode()
    assert send(desk.browser, form(file=b"Subject: x\n" + inner)).status == 200, "their boundary has another line end"


def test_parts() -> None:
    """A form is cut at its boundary alone; of a name that comes twice the first counts, and a strange one never."""

    def parts(body: bytes) -> dict[str, bytes]:
        return read_parts({"content-type": TYPE, "content-length": str(len(body))}, BytesIO(body))

    raw = b"a\r\n--" + BOUNDARY[:-1].encode() + b"\r\n\r\n\0\xff"
    assert parts(form(b"t", raw)) == {"text": b"t", "file": raw}
    other = form(b"t").replace(b'name="text"', b'name="te\nxt"')
    assert parts(other) == {"file": b""}
    twice = form(b"first")[: -len(f"--{BOUNDARY}--\r\n")] + form(b"second")
    assert parts(twice)["text"] == b"first"
    with pytest.raises(HttpError):
        parts(b"")


def test_without_a_ledger(tmp_path: Path) -> None:
    """If nothing is learned yet, the page says what to do first."""
    desk = WebDesk(tmp_path)
    desk.stop()
    desk.ledger.close()
    for path in tmp_path.glob("ledger*"):
        path.unlink()
    assert "Nothing learned yet" in desk.browser.get("/try").words
    assert "Nothing learned yet" in send(desk.browser, form(message("ham", 200))).words


def test_a_newsletter_that_the_server_vouches_for(desk: WebDesk) -> None:
    """The page names the server that makes a newsletter unsure, and says how to end that."""
    pages = pages_of(lambda: replace(desk.config, authserv_id="mx.example.org"), desk.now)
    raw = "\n".join([SIGNED, BORDER, LEAVE, "From: news@shop.example\nX-Was-"]).encode() + message("spam", 200)
    page = send(Browser(pages), form(file=raw))
    assert page.tree.xpath("//*[@id='verdict']//*[contains(@class, 'verdict')]/@class") == ["verdict unsure"]
    assert "mx.example.org vouches for this newsletter, and you have called no mail of shop.example spam." in page.words


def test_a_letter_of_which_some_text_is_not_read(desk: WebDesk) -> None:
    """The page says why a letter is unsure that looks like ham."""
    page = send(desk.browser, form(file=message("ham", 200) + b"best wishes\n" * 80_000))
    assert page.tree.xpath("//*[@id='verdict']//*[contains(@class, 'verdict')]/@class") == ["verdict unsure"]
    assert f"It looks like ham, but it is unsure: {UNREAD}." in page.words
