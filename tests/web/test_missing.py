"""The lessons still missing before mail is moved: no page waits for the judging that they take."""

import pytest

from spamnb.acts import may_move, training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring
from spamnb.mail.reading import read
from spamnb.web.background_values import AfterAnswer
from spamnb.web.kept_values import KeptValues
from tests.web.desk import Browser, WebDesk

LOOKING = "the filter still checks"


def test_no_request_judges(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that would have to judge ham says that this is in progress; the next page shows the result."""
    desk.ledger.state.begun_with = None
    judged = []

    def missing_now(*_: object) -> str:
        judged.append(1)
        return "3 of the newest 20 ham messages would be taken for spam"

    monkeypatch.setattr(may_move, "missing_now", missing_now)
    for page in ("/", "/review", "/overview.json"):
        assert LOOKING in Browser(desk.application()).get(page).text
    assert not judged
    browser = Browser(desk.application(at_once=True))
    assert LOOKING in browser.get("/").words
    assert "3 of the newest 20" in browser.get("/").words
    assert "3 of the newest 20" in browser.get("/review").words
    assert len(judged) == 1


def test_what_was_found_is_shown_meanwhile(desk: WebDesk) -> None:
    """After a lesson the old answer stays until there is a new one; answers by numbers come at once."""
    desk.ledger.state.begun_with = None
    kept, learning = KeptValues("config.yaml", {}), Learning()
    after: AfterAnswer = []
    assert LOOKING in kept.missing(desk.ledger, Scoring(), learning, after)
    after.pop()()
    assert kept.missing(desk.ledger, Scoring(), learning, after) == ""
    assert not after
    desk.ledger.lessons.learn([read(message("spam", 900))], Label.SPAM, "a test", 1.0, how=How.HAND)
    assert kept.missing(desk.ledger, Scoring(), learning, after) == ""
    assert after.pop(), "it is looked again"
    many = Learning(minimum_messages=1000)
    said = kept.missing(desk.ledger, Scoring(), many, after)
    assert said == may_move.missing_now(desk.ledger.lessons, Scoring(), many) != ""
    assert not after


def test_the_ham_that_keeps_mail_from_being_moved(desk: WebDesk) -> None:
    """The overview and Review link to the ham that the filter would take for spam, and to Audit."""
    desk.ledger.state.begun_with = None
    wrong = message("spam", 900)
    training.learn(desk.ledger, read(wrong), Label.HAM, "a test", desk.now(), how=How.HAND)
    browser = Browser(desk.application(at_once=True))
    browser.get("/")
    for page in ("/", "/review"):
        (told,) = browser.get(page).tree.xpath("//main//p[contains(., 'moves nothing yet')]")
        links = [link.get("href") for link in told.xpath("./a")]
        assert links == [f"m/{desk.number_of(wrong)}", "audit"], page
        assert "would be taken for spam: CHEAP" in " ".join(told.text_content().split())
    browser.post(f"/m/{desk.number_of(wrong)}/teach", label="spam")
    browser.get("/")
    assert "moves nothing yet" not in browser.get("/").words
