"""What the pages say of the verdicts of a filter that knew too little: never how sure it was."""

import pytest

from spamnb.cli.common.sample_mail import message
from tests.service.test_ordered import TEXT, mail
from tests.web.desk import Browser, WebDesk
from tests.web.test_try import form, send

SPAM, LETTER, NEAR = mail(1), message("ham", 100), mail(2, f"{TEXT} random", "other@else.example")


@pytest.fixture
def young(desk: WebDesk) -> WebDesk:
    """A desk whose filter lacks ham. A spam, which was moved to Junk, a letter and a near-copy came."""
    desk.restart(minimum_messages=34)
    desk.deliver(SPAM, flags="S")
    desk.take(SPAM, "INBOX", "Junk")
    for content in (LETTER, NEAR):
        desk.ahead += 60.0
        desk.deliver(content)
    return desk


def pages(desk: WebDesk) -> dict[str, str]:
    """The words of the pages that show verdicts, by their addresses."""
    messages = (f"/m/{desk.number_of(content)}" for content in (LETTER, NEAR))
    shown = ["/", "/history", "/review", "/audit", *messages]
    found = {path: desk.browser.get(path).words for path in shown}
    return found | {"/try": send(desk.browser, form(text=message("spam", 400))).words}


def test_no_page_says_how_sure_it_was(young: WebDesk) -> None:
    """The history, the questions, and the page of a message call a verdict a first guess."""
    found = pages(young)
    for path, words in found.items():
        assert "% sure" not in words and "% spam" not in words, (path, words)
    assert "stays in INBOX · a first guess" in found["/history"]
    assert "When it came, the first guess was" in found[f"/m/{young.number_of(LETTER)}"]
    assert "by a first guess" in found[f"/m/{young.number_of(LETTER)}"]
    assert "A first guess:" in found["/try"]


def test_what_was_ordered(young: WebDesk) -> None:
    """A move by order is called that, and the page of the message says why."""
    found = pages(young)
    assert "moved to Junk · on your order" in found["/history"]
    told = "The filter moved it on your order: a near-copy of a message that a person called spam."
    assert told in found[f"/m/{young.number_of(NEAR)}"]


def test_it_says_so_of_later_verdicts(young: WebDesk) -> None:
    """Once the filter knows enough, pages say how sure it is of new mail; older verdicts remain first guesses."""
    young.restart(minimum_messages=30)
    young.ahead += 3600.0
    young.deliver(message("ham", 300))
    words = young.browser.get("/history").words
    assert words.count("a first guess") == 2 and "% sure" in words


@pytest.mark.parametrize(("minimum", "is_offered"), [(34, False), (20, True)])
def test_no_audit_is_offered(desk: WebDesk, minimum: int, *, is_offered: bool) -> None:
    """The first page and the menu offer no Audit as long as the filter's doubts are only guesses."""
    desk.restart(minimum_messages=minimum)
    desk.deliver(doubtful := message("spam", 500), flags="S")
    desk.take(doubtful, "INBOX", "Archive")
    browser = Browser(desk.application(at_once=True))
    browser.get("/")
    assert ("1 probably in the wrong folder" in browser.get("/").words) is is_offered
    assert ("1 probably in the wrong folder" in browser.get("/audit").words) is is_offered
    assert bool(browser.get("/").tree.xpath("//nav//*[contains(@class, 'badge')]")) is is_offered


def test_the_evening_before_it_begins(young: WebDesk) -> None:
    """When it knows enough and no mail has come since, the first page counts what came, and not what was judged."""
    young.restart(minimum_messages=30)
    browser = Browser(young.application(at_once=True))
    browser.get("/")
    words = browser.get("/").words
    assert "moves nothing" not in words and "judged in" not in words
    assert "3 came in 7 days 1 you moved to Junk" in words
