"""The page Review: what it asks about, and what follows from the answers."""

import pytest

from spamnb.cli.sample_mail import message
from spamnb.label import Label
from spamnb.mail.reading import read
from tests.service.desk import DAY
from tests.web.desk import WebDesk


def unsure(number: int) -> bytes:
    """A message that the filter of the desk is not sure about: half a letter, half an advertisement."""
    ham, spam = message("ham", number), message("spam", number)
    head, _, text = ham.partition(b"\n\n")
    return head + b"\n\n" + text + spam.partition(b"\n\n")[2] * 2


@pytest.fixture
def asked(desk: WebDesk) -> list[bytes]:
    """Three messages that the filter is unsure about."""
    found = []
    for number in range(200, 260):
        content = unsure(number)
        desk.deliver(content, "INBOX")
        known = desk.known(content)
        assert known is not None
        if known.verdict == "unsure":
            found.append(content)
        if len(found) == 3:
            return found
    raise AssertionError("the filter is sure about everything")


def test_asks_what_is_unsure(desk: WebDesk, asked: list[bytes]) -> None:
    """Each unsure message is a row of one form, left for later unless it is answered; the number is in the title."""
    page = desk.browser.get("/review")
    assert page.tree.findtext(".//title") == "3 to review · spamnb"
    rows = page.tree.xpath("//form[@data-review]//*[@data-row]")
    assert len(rows) == 3
    names = {f"say.{desk.number_of(content)}" for content in asked}
    assert {one.get("name") for one in page.tree.xpath("//input[@type='radio']")} == names
    assert {one.get("value") for one in page.tree.xpath("//input[@checked]")} == {"later"}
    probabilities = [desk.known(content).probability for content in asked]  # type: ignore[union-attr]
    assert all(probability is not None for probability in probabilities)


def test_answers_are_learned_and_moved(desk: WebDesk, asked: list[bytes]) -> None:
    """Ham stays, spam goes to Junk, both are learned as a decision; what was left for later is asked again."""
    ham, spam, later = (f"say.{desk.number_of(content)}" for content in asked)
    answer = desk.browser.post("/review", **{ham: "ham", spam: "spam", later: "later"})
    page = desk.browser.follow(answer)
    assert [desk.label(content) for content in asked] == [(Label.HAM, False), (Label.SPAM, False), None]
    assert [desk.where(content) for content in asked] == [["INBOX"], ["Junk"], ["INBOX"]]
    assert {one.get("name") for one in page.tree.xpath("//input[@type='radio']")} <= {later}
    (undo,) = page.tree.xpath("//form[contains(@action, 'undo')]//input[@name='id']/..")
    desk.browser.post("/undo", id=[one.get("value") for one in undo.xpath("input[@name='id']")])
    assert [desk.label(content) for content in asked[:2]] == [(None, False)] * 2
    assert desk.where(asked[1]) == ["INBOX"]


def test_nothing_said(desk: WebDesk, asked: list[bytes]) -> None:
    """A form in which all is left for later changes nothing."""
    before = desk.ledger.journal.newest_id()
    answer = desk.browser.post("/review", **{f"say.{desk.number_of(asked[0])}": "later"})
    assert answer.location == "/review"
    assert desk.ledger.journal.newest_id() == before


def test_what_is_gone(desk: WebDesk, asked: list[bytes]) -> None:
    """An answer about a message that was deleted meanwhile is said to be lost; the others count."""
    desk.paths(asked[0], "INBOX")[0].unlink()
    fields = {f"say.{desk.number_of(content)}": "ham" for content in asked}
    page = desk.browser.follow(desk.browser.post("/review", **{**fields, "say.99999": "ham"}))
    assert "2 messages could not be learned" in page.words
    assert [desk.label(content) for content in asked] == [None, (Label.HAM, False), (Label.HAM, False)]


def test_bad_answers(desk: WebDesk, asked: list[bytes]) -> None:
    """An answer that is neither ham nor spam is refused, and nothing of the form is done."""
    one, two = (f"say.{desk.number_of(content)}" for content in asked[:2])
    assert desk.browser.post("/review", **{one: "eggs"}).status == 400
    assert desk.browser.post("/review", **{"say.x": "ham"}).status == 400
    assert desk.browser.post("/review", **{one: "ham", two: "eggs"}).status == 400
    assert desk.label(asked[0]) is None


def test_what_is_not_asked(desk: WebDesk, asked: list[bytes]) -> None:
    """Nobody is asked about flagged mail, mail in neutral folders, or mail of more than 30 days ago."""
    flagged = desk.paths(asked[0], "INBOX")[0]
    flagged.rename(flagged.parent.parent / "cur" / f"{flagged.name.partition(':')[0]}:2,F")
    desk.take(asked[1], "INBOX", "Trash")
    page = desk.browser.get("/review")
    assert page.tree.findtext(".//title") == "1 to review · spamnb"
    desk.ahead += 31 * DAY
    assert "Nothing is unsure" in desk.browser.get("/review").words


def test_what_has_become_clear(desk: WebDesk, asked: list[bytes]) -> None:
    """What the filter takes for ham by what it has learned since is asked about no more, and counted."""
    for _ in range(3):
        desk.ledger.lessons.learn([read(asked[0])], Label.HAM, "a test", desk.now())
    known = desk.number_of(asked[0])
    for number in range(40):  # the same letter under other names
        content = asked[0].replace(b"Message-ID: <", b"Message-ID: <%d." % number)
        desk.ledger.lessons.learn([read(content)], Label.HAM, "a test", desk.now())
    desk.ledger.lessons.forget([read(asked[0]).digest], "a test", desk.now())
    page = desk.browser.get("/review")
    assert f"say.{known}" not in page.text
    assert "clear to it by now" in page.words or "Nothing is unsure" in page.words


def test_read_only(desk: WebDesk, asked: list[bytes]) -> None:
    """Pages that only show have no answers on them."""
    page = type(desk.browser)(desk.application(read_only=True)).get("/review")
    assert page.tree.xpath("//*[@data-row]")
    assert not page.tree.xpath("//input | //button[@type='submit']")
