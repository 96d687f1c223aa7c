"""Choices on the pages, and their undo: senders and lists are allowed and blocked, a cutoff is set."""

import dataclasses
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Scoring, Senders
from tests.ledger.test_choices import in_force
from tests.web.desk import Answer, Browser, WebDesk
from tests.web.markup import FOLDER, MARKUP, fill
from tests.web.test_acts import undo_of

LIST = b"From: ann@writer.example\nList-Id: Talk <talk.writer.example>\n"


def of_list(number: int, head: bytes = LIST) -> bytes:
    """A message of a mailing list."""
    return head + b"\n".join(line for line in message("ham", number).split(b"\n") if not line.startswith(b"From:"))


def offered(page: Answer) -> list[tuple[str, str]]:
    """Return the choices that the buttons of a page offer."""
    forms = page.tree.xpath("//form[contains(@action, 'choose') and not(contains(@action, 'forget'))]")
    pairs = [form.xpath(".//input[@name='kind' or @name='value']/@value") for form in forms]
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]


def test_from_a_message(desk: WebDesk) -> None:
    """The page of a message allows and blocks its address, its domain and its list; it holds for the next message."""
    desk.deliver(of_list(100))
    number = desk.number_of(of_list(100))
    page = desk.browser.get(f"/m/{number}")
    assert offered(page) == [
        (kind, of)
        for of in ("ann@writer.example", "writer.example", "list:talk.writer.example")
        for kind in ("allow", "block")
    ]
    said = desk.browser.post("/choose", kind="block", value="list:talk.writer.example", back=f"m/{number}")
    after = desk.browser.follow(said)
    assert after.path == f"/m/{number}"
    assert "Chosen: block list:talk.writer.example" in after.words
    assert "spam because you block list:talk.writer.example" in after.words.replace("■", "")
    assert "You have blocked list:talk.writer.example" in after.words
    assert desk.where(of_list(100)) == ["INBOX"], "what is there stays"
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["Junk"]
    undone = desk.browser.follow(desk.browser.post("/undo", id_=undo_of(after), back=f"m/{number}"))
    assert "No longer chosen: block list:talk.writer.example" in undone.words
    desk.deliver(of_list(102))
    assert desk.where(of_list(102)) == ["INBOX"]


BORDER = b"Received: from x (out.lists.example [9.9.9.7]) by mx.example.org with ESMTP; Mon, 1 Jun 2026\n"
RESULTS = b"Authentication-Results: mx.example.org; dkim=pass header.d=lists.example\n"
OF_OTHERS = b"From: ann@writer.example\nDKIM-Signature: v=1; d=lists.example\nList-Id: Talk <talk.lists.example>\n"


@pytest.mark.parametrize(
    ("head", "offers_it"),
    [
        (RESULTS + BORDER + OF_OTHERS, True),
        (BORDER + OF_OTHERS, False),
        (RESULTS + OF_OTHERS, False),  # it came over no machine outside, so a stranger wrote the field
        (RESULTS.replace(b"pass", b"fail") + BORDER + OF_OTHERS, False),
        (RESULTS.replace(b"lists", b"evil") + BORDER + OF_OTHERS, False),
        (RESULTS.replace(b"mx.example.org", b"mx.lists.example") + BORDER + OF_OTHERS, False),
        (b"From: ann@lists.example\nList-Id: <other.lists.example>\n", True),
        (b"From: ann@mail.lists.example\nList-Id: <talk.lists.example>\n", True),
        (b"From: ann@lists.example, eve@evil.example\nList-Id: <evil.example>\n", False),
        (b"From: eve@evil.example\nList-Id: Deals <gmail.com>\n", False),
        (b"From: eve@evil.co.uk\nList-Id: <co.uk>\n", False),
        (b"From: eve@lists.example.evil.example\nList-Id: <lists.example>\n", False),
        (b"From: eve@example\nList-Id: <*.example>\n", False),
        (b"List-Id: <talk.lists.example>\n", False),
    ],
)
def test_a_strangers_list(desk: WebDesk, monkeypatch: pytest.MonkeyPatch, head: bytes, offers_it: bool) -> None:
    """A list is offered if its site is that of From, or of a domain that signed, by the person's own server."""
    desk.deliver(of_list(100, head))
    number = desk.number_of(of_list(100, head))

    def lists(path: str) -> list[str]:
        return [value for kind, value in offered(desk.browser.get(path)) if kind == "block" and ":" in value]

    is_of_author = bool(lists(f"/m/{number}"))
    assert is_of_author is (offers_it and not head.startswith(RESULTS))
    config = dataclasses.replace(desk.config, authserv_id="example.org")
    monkeypatch.setattr(type(desk), "config", property(lambda _: config))
    assert bool(lists(f"/m/{number}")) is offers_it
    for one in desk.ledger.senders.of_message(number):
        assert bool(lists(f"/senders/{one.id}")) is (one.is_list and is_of_author)
    assert bool(lists("/senders")) is is_of_author


def test_a_blocked_list_is_not_a_domain(desk: WebDesk) -> None:
    """A block of a list from its page does nothing to mail of the domain whose name the list bears."""
    head = b"From: ann@writer.example\nList-Id: Deals <writer.example>\n"
    desk.deliver(of_list(100, head))
    number = desk.number_of(of_list(100, head))
    assert ("block", "list:writer.example") in offered(desk.browser.get(f"/m/{number}"))
    desk.browser.post("/choose", kind="block", value="list:writer.example", back=f"m/{number}")
    letter = of_list(101, b"From: ann@writer.example\n")
    below = of_list(102, b"From: ann@writer.example\nList-Id: <talk.writer.example>\n")
    again = of_list(103, head)
    for one in (letter, below, again):
        desk.deliver(one)
    assert [desk.where(one) for one in (letter, below, again)] == [["INBOX"], ["INBOX"], ["Junk"]]


def test_from_a_sender(desk: WebDesk) -> None:
    """The page of a sender and the list of senders show the choice about it, and undo it."""
    desk.deliver(of_list(100))
    (row,) = desk.ledger.senders.page(5, "ann@writer")
    assert ("block", "ann@writer.example") in offered(desk.browser.get(f"/senders/{row.id}"))
    desk.browser.post("/choose", kind="block", value="ann@writer.example")
    page = desk.browser.get("/senders?q=ann@writer")
    assert "ann@writer.example blocked" in page.words
    assert "Allowed and blocked: 1" in page.words and "Blocked: ann@writer.example" in page.words
    page = desk.browser.get(f"/senders/{row.id}")
    assert ("block", "ann@writer.example") not in offered(page)
    (value,) = page.tree.xpath("//form[contains(@action, 'choose/forget')]//input[@name='value']/@value")
    after = desk.browser.follow(desk.browser.post("/choose/forget", value=value, back=f"senders/{row.id}"))
    assert ("block", "ann@writer.example") in offered(after)
    assert in_force(desk.ledger) == []


def test_by_the_form(desk: WebDesk) -> None:
    """The form takes a pattern as the configuration does; what cannot be one is refused in the same words."""
    after = desk.browser.follow(desk.browser.post("/choose", kind="block", value=" *@Shop.example ", back="senders"))
    assert "Chosen: block *@shop.example" in after.words
    again = desk.browser.follow(desk.browser.post("/choose", kind="block", value="*@shop.example"))
    assert "You have chosen that already" in again.words
    last = desk.ledger.journal.newest_id()
    for value, status, said in (
        ("*", 400, "matches all mail"),
        ("@shop.example", 400, "has nothing before '@'"),
        ("", 400, "The form names no choice"),
        ("\x1b[2J.example", 400, "cannot be a sender"),
        ("a" * 400 + ".example", 400, "cannot be a sender"),
        ("*a*b*c*d*e*f.example", 400, "has more than 5 stars"),
        *((text, 400, "cannot be a sender") for text in MARKUP if " " in text),
    ):
        answer = desk.browser.post("/choose", kind="block", value=value)
        assert (answer.status, said in answer.words) == (status, True), value
        assert "\x1b" not in answer.text and not answer.tree.xpath("//main//img | //main//script")
    assert desk.browser.post("/choose", kind="forbid", value="a.example").status == 400
    assert desk.browser.post("/choose/forget", value="nobody.example").status == 409
    assert desk.ledger.journal.newest_id() == last


def test_a_strangers_address_is_no_pattern(desk: WebDesk) -> None:
    """An address with a star, a cut or invalid one is never offered: it would name others."""
    for address in ("*@writer.example", "a?@writer.example", "a" * 230 + "@writer.example"):
        letter = f"From: {address}\nSubject: star {len(address)}\n\nhello {address}\n".encode()
        desk.deliver(letter)
        values = {value for _, value in offered(desk.browser.get(f"/m/{desk.number_of(letter)}"))}
        assert values <= {"writer.example"}


def test_hostile_senders(tmp_path: Path) -> None:
    """Senders made of markup are shown as text wherever something can be chosen of them."""
    desk = WebDesk(tmp_path)
    try:
        numbers = fill(desk, MARKUP, FOLDER)
        for number in numbers:
            page = desk.browser.get(f"/m/{number}")
            for kind, value in offered(page):
                assert desk.browser.post("/choose", kind=kind, value=value).status in {303, 409}
        for page in (desk.browser.get("/senders"), desk.browser.get("/history")):
            assert page.status == 200
            assert not page.tree.xpath("//main//img | //main//script | //main//iframe")
    finally:
        desk.stop()
        desk.ledger.close()


def test_the_configuration_stands_above(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration's word about a sender is shown, without a button; an older choice has no effect."""
    desk.deliver(of_list(100))
    desk.browser.post("/choose", kind="block", value="ann@writer.example")
    config = dataclasses.replace(
        desk.config, senders=Senders(allow=("writer.example",)), written=frozenset({"senders.allow"})
    )
    monkeypatch.setattr(type(desk), "config", property(lambda _: config))
    page = desk.browser.get(f"/m/{desk.number_of(of_list(100))}")
    assert {value for _, value in offered(page)} == set()
    said = "senders.allow in the configuration has writer.example. That has priority over your choices here"
    assert said in page.words
    assert "without effect: the configuration already decides" in desk.browser.get("/senders").words
    answer = desk.browser.post("/choose", kind="block", value="bob@writer.example")
    assert (answer.status, "has priority" in answer.words) == (409, True)


def tune(desk: WebDesk) -> tuple[Browser, Answer]:
    """The pages, and Tune, once the own mail is judged."""
    browser = Browser(desk.application(at_once=True))
    browser.get("/tune")
    return browser, browser.get("/tune?cut=0.99")


def test_a_cutoff(desk: WebDesk) -> None:
    """The cutoff that is looked at on Tune is taken over by a button, is in force, and is taken back by another."""
    browser, page = tune(desk)
    assert "The limit in force is 0.95, the default" in page.words
    assert [value for _, value in offered(page)] == ["gentle", "strict", "0.99"]
    after = browser.follow(browser.post("/choose", kind="spam_cutoff", value="0.99", back="tune?cut=0.99"))
    assert "Chosen: Spam from 0.99 up" in after.words
    assert "The limit in force is 0.99, chosen" in browser.get("/tune?cut=0.99").words
    assert desk.ledger.choices.over(desk.config).scoring == Scoring(spam_cutoff=0.99)
    browser.follow(browser.post("/choose/forget", value="spam_cutoff", back="tune"))
    assert "The limit in force is 0.95, the default" in browser.get("/tune").words
    for value, status in (("1.5", 400), ("x", 400), ("0.05", 409)):
        assert browser.post("/choose", kind="spam_cutoff", value=value).status == status
    assert in_force(desk.ledger) == []


def test_a_written_cutoff(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the configuration names the cutoff, Tune says so, and shows the line to write instead of a button."""
    config = dataclasses.replace(desk.config, written=frozenset({"scoring.spam_cutoff"}))
    monkeypatch.setattr(type(desk), "config", property(lambda _: config))
    browser, page = tune(desk)
    assert offered(page) == []
    assert "sets it, and has priority over your choices here" in page.words
    assert page.tree.xpath("string(//pre[@id='yaml'])").split() == ["scoring:", "spam_cutoff:", "0.99"]
    assert browser.post("/choose", kind="spam_cutoff", value="0.99").status == 409


def test_read_only(desk: WebDesk) -> None:
    """Read-only pages show choices, without a button."""
    desk.deliver(of_list(100))
    desk.browser.post("/choose", kind="block", value="ann@writer.example")
    browser = Browser(desk.application(read_only=True))
    for path in (f"/m/{desk.number_of(of_list(100))}", "/senders", "/senders/1", "/tune", "/try", "/undo?span=today"):
        page = browser.get(path)
        assert (page.status, page.tree.xpath("//form[@method='post']")) == (200, []), path
    assert "Blocked: ann@writer.example" in browser.get("/senders").words
    assert browser.post("/choose", kind="block", value="a.example").status == 405
    assert browser.post("/try").status == 405


def test_without_a_configuration(tmp_path: Path) -> None:
    """A ledger whose choices are many is shown by its newest, with how many there are."""
    desk = WebDesk(tmp_path)
    try:
        with desk.ledger.transaction():
            for number in range(150):
                desk.ledger.choices.record("block", f"{number}.example", "page", "a test", desk.now())
        page = desk.browser.get("/senders")
        assert "Allowed and blocked: 150" in page.words and "The newest 100." in page.words
        assert "Blocked: 149.example" in page.words and "Blocked: 49.example" not in page.words
        assert desk.ledger.choices.over(Config((), tmp_path)).senders.named(("a@0.example",), "") is not None
    finally:
        desk.stop()
        desk.ledger.close()


def test_where_newsletters_go(desk: WebDesk) -> None:
    """Senders lists choices by moves, and offers more, if there is a folder for newsletters; an undo ends each."""
    assert "newsletters" not in desk.browser.get("/senders").words
    desk.stop()
    desk.apart = {"newsletters_folder": "Lists"}
    desk.start()
    desk.deliver(of_list(100))
    assert desk.where(of_list(100)) == ["Lists"]
    desk.move("Lists", "INBOX", desk.fresh)
    desk.work()
    page = desk.browser.get("/senders")
    assert "Kept in the inbox: list:talk.writer.example" in page.words
    assert ", by a move" in page.words
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["INBOX"]
    said = desk.browser.post("/choose", kind="newsletters", value="list:talk.writer.example", back="senders")
    after = desk.browser.follow(said)
    assert "Chosen: move list:talk.writer.example to the newsletters" in after.words
    assert "To the newsletters: list:talk.writer.example" in after.words
    desk.deliver(of_list(102))
    assert desk.where(of_list(102)) == ["Lists"]
    desk.browser.post("/undo", id_=undo_of(after), back="senders")
    assert "Kept in the inbox: list:talk.writer.example" in desk.browser.get("/senders").words
