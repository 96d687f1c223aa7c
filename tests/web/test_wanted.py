"""The form that asks which messages of the inbox were wanted, so that a young filter begins to move mail."""

from typing import Any

import pytest

from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from tests.web.desk import Answer, Browser, WebDesk

HAM = [message("ham", number) for number in range(100, 106)]
SPAM = message("spam", 100)


@pytest.fixture
def young(desk: WebDesk) -> WebDesk:
    """A desk whose filter lacks four ham. After a spam, which was moved to Junk, six letters came."""
    desk.restart(minimum_messages=34)
    desk.deliver(SPAM, flags="S")
    desk.take(SPAM, "INBOX", "Junk")
    for content in HAM:
        desk.ahead += 60.0
        desk.deliver(content, flags="S")
    return desk


def boxes(page: Answer) -> list[Any]:
    """The boxes of the form."""
    return list(page.tree.xpath("//input[@type='checkbox'][@name='wanted']"))


def values(page: Answer) -> list[str]:
    """The numbers of the messages that the form asks about."""
    return [str(box.get("value")) for box in boxes(page)]


def test_the_first_page_leads_there(young: WebDesk) -> None:
    """The first page says what answers bring, and leads to as many messages as are missing; Review is not named."""
    page = young.browser.get("/")
    (link,) = page.tree.xpath("//main//a[@href='wanted']")
    assert link.text_content() == "Answer these 4"
    assert "To begin now: Answer these 4" in page.words
    young.browser._application._site.kept.counted(young.ledger, 3)  # type: ignore[union-attr]
    assert "Not sure about" not in young.browser.get("/").words
    asked = young.browser.get("/wanted")
    assert len(boxes(asked)) == 4 and all(box.get("checked") is not None for box in boxes(asked))
    newest = [str(young.number_of(content)) for content in HAM[:1:-1]]
    assert values(asked) == newest, "the newest first"


def test_ticked_messages_are_ham(young: WebDesk) -> None:
    """The ticked messages are learned as ham by a decision, and stay. One undo takes all back."""
    asked = values(young.browser.get("/wanted"))
    done = young.browser.post("/wanted", label="ham", asked=asked, wanted=asked[:3])
    assert [young.label(content) for content in HAM[:1:-1]] == [(Label.HAM, False)] * 3 + [None]
    assert [young.where(content) for content in HAM] == [["INBOX"]] * 6
    page = young.browser.follow(done)
    (undo,) = page.tree.xpath("//*[@class='flash']//form[contains(@action, 'undo')] | //*[@role='status']//form")
    assert "Answer this one" in young.browser.get("/").words
    young.browser.post("/undo", id=undo.xpath(".//input[@name='id']/@value")[0])
    assert {label and label[0] for label in map(young.label, HAM)} == {None}


def test_enough_answers_begin_it(young: WebDesk) -> None:
    """With all answers the filter has enough ham, and asks no more."""
    asked = values(young.browser.get("/wanted"))
    young.browser.post("/wanted", label="ham", asked=asked, wanted=asked)
    browser = Browser(young.application(at_once=True))
    browser.get("/")
    page = browser.get("/wanted")
    assert "There is nothing to ask now." in page.words and not boxes(page)
    assert "wanted" not in browser.get("/").tree.xpath("//main//a/@href")


def test_what_is_not_ticked_is_spam_only_by_its_button(young: WebDesk) -> None:
    """The other button learns the messages without a tick as spam, moves them to Junk, and leaves the ticked alone."""
    asked = values(young.browser.get("/wanted"))
    young.browser.post("/wanted", label="spam", asked=asked, wanted=asked[1:])
    assert (young.label(HAM[-1]), young.where(HAM[-1])) == ((Label.SPAM, False), ["Junk"])
    assert {young.label(content) for content in HAM[:-1]} == {None}


def test_other_messages_are_left_alone(young: WebDesk) -> None:
    """A forged form cannot change a lesson, and one without an answer is refused."""
    number = young.number_of(SPAM)
    young.browser.post("/wanted", label="ham", asked=[number, 10**6], wanted=[number, 10**6])
    assert young.label(SPAM) == (Label.SPAM, False)
    assert young.browser.post("/wanted", asked=[number]).status == 400


def test_pages_that_only_show(young: WebDesk) -> None:
    """If nothing can be changed, the form has no buttons."""
    page = Browser(young.application(read_only=True)).get("/wanted")
    assert boxes(page) and not page.tree.xpath("//main//button")
