"""The form with the messages of the newest letter: none of them is the person's."""

import pytest

from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.history.state import Told
from tests.web.desk import Browser, WebDesk

SPAM = [message("spam", number) for number in range(100, 103)]


@pytest.fixture
def told(desk: WebDesk) -> WebDesk:
    """A desk whose letter shows two of three messages that went to Junk."""
    for content in SPAM:
        desk.deliver(content)
        assert desk.where(content) == ["Junk"]
    desk.ledger.state.told = Told("2026-10", b"letter", desk.now(), tuple(map(identity, SPAM[:2])), ())
    return desk


def numbers(told: WebDesk) -> list[str]:
    """Return the numbers of the three messages."""
    return [str(known.id) for known in map(told.known, SPAM) if known is not None]


def test_the_first_page_leads_there(told: WebDesk) -> None:
    """The first page leads to the messages of the letter, until they are answered."""
    assert "statement" in told.browser.get("/").tree.xpath("//main//a/@href")
    page = told.browser.get("/statement")
    assert page.tree.xpath("//input[@name='asked']/@value") == numbers(told)[:2]
    told.browser.post("/statement", asked=numbers(told)[:2], none="mine")
    assert "statement" not in told.browser.get("/").tree.xpath("//main//a/@href")
    assert "There is nothing to ask now." in told.browser.get("/statement").words


def test_none_is_mine(told: WebDesk) -> None:
    """The button learns as spam what the form and the letter show, and nothing else."""
    told.browser.post("/statement", asked=[numbers(told)[0], numbers(told)[2], str(10**6)], none="mine")
    assert [told.lesson(content) for content in SPAM] == [(Label.SPAM, False), (None, False), (None, False)]
    assert told.browser.post("/statement", asked=numbers(told)).status == 400
    assert told.browser.post("/statement", none="mine").status == 400


def test_pages_that_only_read(told: WebDesk) -> None:
    """Pages that only read show the messages, and no button."""
    page = Browser(told.application(read_only=True)).get("/statement")
    assert page.tree.xpath("//input[@name='asked']")
    assert not page.tree.xpath("//main//button")
