"""The page Review: what it asks about, and what follows from the answers."""

import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring, Senders
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Filter
from spamnb.mail.reading import read
from spamnb.review.queue import to_answer
from spamnb.web.background import WorkerProcesses
from spamnb.web.background_values import AfterAnswer, Snapshot
from spamnb.web.kept_values import KeptValues
from spamnb.web.parts.asked_rows import in_words
from spamnb.web.rendering import percent
from tests.service.desk import DAY
from tests.web.desk import Browser, WebDesk, pages_of


def unsure(number: int) -> bytes:
    """A message that the filter of the desk is not sure about: half a letter, half an advertisement."""
    ham, spam = message("ham", number), message("spam", number)
    head, _, text = ham.partition(b"\n\n")
    return head + b"\n\n" + spam.partition(b"\n\n")[2] * 2 + text


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
    assert page.tree.findtext(".//title") == "Not sure about 3 · spamnb"
    rows = page.tree.xpath("//form[@data-review]//*[@data-row]")
    assert len(rows) == 3
    names = {f"say.{desk.number_of(content)}" for content in asked}
    assert {one.get("name") for one in page.tree.xpath("//input[@type='radio']")} == names
    assert {one.get("value") for one in page.tree.xpath("//input[@checked]")} == {"later"}
    for content in asked:
        known = desk.known(content)
        assert known is not None and known.probability is not None
        (row,) = page.tree.xpath(f"//*[@data-row][.//input[@name='say.{desk.number_of(content)}']]")
        assert percent(known.probability) in row.text_content()


def test_a_row_shows_text_and_clues(desk: WebDesk, asked: list[bytes]) -> None:
    """A row has the beginning of the text and its three strongest clues. Without a file there is no row."""
    number = desk.number_of(asked[0])

    def row() -> str:
        (found,) = desk.browser.get("/review").tree.xpath(f"//*[@data-row][.//input[@name='say.{number}']]")
        return str(found.text_content())

    assert " ".join(asked[0].partition(b"\n\n")[2].decode().split())[:60] in row()
    assert re.search("INBOX · .*“.+”; .*“.+”; .*“.+”", row())
    desk.paths(asked[0], "INBOX")[0].unlink()
    fresh = Browser(desk.application())
    assert f"say.{number}" not in fresh.get("/review").text


def test_clues_in_words(desk: WebDesk, asked: list[bytes]) -> None:
    """A part of a word or the form of a date is said in words; a word that a person sees is enough by itself."""
    clues = tuple(Clue(token, 1, 0, -2.0, 1.0) for token in ("hello", "4:ie  ", "date-shape:aaa, d aaa dddd"))
    (finding, *_) = to_answer(desk.ledger, desk.config)
    said = [f"{one.kind} “{one.text}”".lstrip() for one in in_words(replace(finding, clues=clues))]
    assert said == ["“hello”", "words that end in “ie”", "a date that is written like “Mon, 5 Jan 2026”"]


def test_the_clues_of_a_row_are_those_of_explain(desk: WebDesk, asked: list[bytes]) -> None:
    """The clues of waiting mail are the first ones on the side of its score that `explain` gives."""
    judge = Filter(desk.ledger.lessons, Scoring(), Senders())
    for finding in to_answer(desk.ledger, desk.config):
        content = next(one for one in asked if read(one).digest == finding.digest)
        explained = judge.explain(read(content), 0)
        side = [one for one in explained.clues if one.contribution * explained.judgement.log_odds > 0]
        assert [one.token for one in finding.clues] == [one.token for one in first_clues(side[:30], 3)]
        assert [one[1:3] for one in finding.clues] == [one[1:3] for one in first_clues(side[:30], 3)]


def test_answers_are_learned_and_moved(desk: WebDesk, asked: list[bytes]) -> None:
    """Ham stays, spam goes to Junk, both become decisions; a message left for later is asked about again."""
    ham, spam, later = (f"say.{desk.number_of(content)}" for content in asked)
    answer = desk.browser.post("/review", **{ham: "ham", spam: "spam", later: "later"})
    page = desk.browser.follow(answer)
    assert [desk.label(content) for content in asked] == [(Label.HAM, False), (Label.SPAM, False), None]
    assert [desk.where(content) for content in asked] == [["INBOX"], ["Junk"], ["INBOX"]]
    assert {one.get("name") for one in page.tree.xpath("//input[@type='radio']")} == {later}
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
    """An answer about a deleted message is reported as lost; the others count."""
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
    """Review does not ask about flagged mail, mail in neutral folders, or mail older than 30 days."""
    flagged = desk.paths(asked[0], "INBOX")[0]
    flagged.rename(flagged.parent.parent / "cur" / f"{flagged.name.partition(':')[0]}:2,F")
    desk.take(asked[1], "INBOX", "Trash")
    page = desk.browser.get("/review")
    assert page.tree.findtext(".//title") == "Not sure about 1 · spamnb"
    desk.ahead += 31 * DAY
    assert "No message is unsure" in desk.browser.get("/review").words


def test_what_has_become_clear(desk: WebDesk, asked: list[bytes]) -> None:
    """Mail that newer lessons make ham is no longer asked about, and is counted."""
    assert f"say.{desk.number_of(asked[0])}" in desk.browser.get("/review").text
    for _ in range(3):
        desk.ledger.lessons.learn([read(asked[0])], Label.HAM, "a test", desk.now(), how=How.HAND)
    known = desk.number_of(asked[0])
    for number in range(40):  # the same letter under other names
        content = asked[0].replace(b"Message-ID: <", b"Message-ID: <%d." % number)
        desk.ledger.lessons.learn([read(content)], Label.HAM, "a test", desk.now(), how=How.HAND)
    desk.ledger.lessons.forget([read(asked[0]).digest], "a test", desk.now(), how=How.HAND)
    page = desk.browser.get("/review")
    assert f"say.{known}" not in page.text
    assert page.words.count("The filter is now sure about") == 1


def test_the_newest_first(desk: WebDesk, asked: list[bytes]) -> None:
    """The queue can be had as the mail came, the newest first, also after an answer."""
    numbers = sorted(map(desk.number_of, asked), reverse=True)
    page = desk.browser.get("/review?order=new")
    said = [one.get("name") for one in page.tree.xpath("//input[@type='radio' and @checked]")]
    assert said == [f"say.{number}" for number in numbers]
    assert page.tree.xpath("//form[@data-review]/input[@name='order']/@value") == ["new"]
    answer = desk.browser.post("/review", order="new", **{f"say.{numbers[0]}": "spam"})
    assert "order=new" in answer.location
    assert desk.browser.follow(answer).status == 200


def test_weak_lessons(desk: WebDesk, asked: list[bytes]) -> None:
    """A weak lesson that the filter without it contradicts is asked about, as by `spamnb review`."""
    kept = message("spam", 100)
    desk.deliver(kept, "INBOX", "S")
    training.learn_message(desk.ledger, kept, Label.HAM, "read and kept", desk.now(), weak=True, how=How.KEPT)
    browser = Browser(desk.application(at_once=True))
    first = browser.get("/review")
    assert "The filter still checks what it learned by itself" in first.words
    assert f"say.{desk.number_of(kept)}" not in first.text
    page = browser.get("/review")
    assert "The filter is judging" not in page.words
    names = [one.get("name") for one in page.tree.xpath("//input[@type='radio' and @checked]")]
    at_the_prompt = [desk.ledger.messages.find(one.digest) for one in to_answer(desk.ledger, desk.config)]
    assert names == [f"say.{one.id}" for one in at_the_prompt if one is not None]
    assert f"say.{desk.number_of(kept)}" in names
    assert "counts as weakly ham: you kept it" in page.words
    after = browser.follow(browser.post("/review", **{f"say.{desk.number_of(kept)}": "spam"}))
    assert f"say.{desk.number_of(kept)}" not in after.text
    assert (desk.label(kept), desk.where(kept)) == ((Label.SPAM, False), ["Junk"])


def test_weak_lessons_are_judged_in_another_process(desk: WebDesk) -> None:
    """Doubtful weak lessons come from a different process."""
    kept, scoring, after = KeptValues("config.yaml", {}, WorkerProcesses()), desk.config.scoring, AfterAnswer()
    desk.deliver(message("spam", 100), "INBOX", "S")
    training.learn_message(
        desk.ledger, message("spam", 100), Label.HAM, "read and kept", desk.now(), weak=True, how=How.KEPT
    )
    assert kept.weak_lessons(desk.ledger, scoring, desk.now(), after) == Snapshot(None, is_current=False)
    after.pop()()
    looked = kept.weak_lessons(desk.ledger, scoring, desk.now(), after)
    assert [(finding.weak, finding.label) for finding in looked.value or ()] == [(True, Label.HAM)]
    assert looked.is_current


def test_what_the_answers_changed(desk: WebDesk, asked: list[bytes]) -> None:
    """After answers the page says how many other messages are no longer asked about."""
    like_the_first = asked[0].replace(b"Message-ID: <", b"Message-ID: <1.")
    desk.deliver(like_the_first)
    one, other = (f"say.{desk.number_of(content)}" for content in (asked[0], like_the_first))
    assert other in desk.browser.get("/review").text
    for number in range(40):  # what makes the answer weigh enough
        content = asked[0].replace(b"Message-ID: <", b"Message-ID: <%d." % (number + 2))
        training.learn_message(desk.ledger, content, Label.HAM, "a test", desk.now(), how=How.HAND)
    page = desk.browser.follow(desk.browser.post("/review", **{one: "ham", other: "later"}))
    assert "After your 1 answer the filter is now sure about 1 other message." in page.words
    assert page.tree.xpath("//input[@name='back']/@value") == ["review"], "the page after the next act tells of that"


def test_what_an_address_cannot_say(desk: WebDesk, asked: list[bytes]) -> None:
    """Only the pages themselves say what answers have done: not a link that somebody has written or changed."""
    answer = desk.browser.post("/review", **{f"say.{desk.number_of(asked[0])}": "ham", "say.99999": "ham"})
    lost = "1 message could not be learned"
    for _ in range(2):
        assert lost in desk.browser.follow(answer).words
    sealed = parse_qs(urlsplit(answer.location).query)["outcome"][0]
    assert lost not in Browser(desk.application()).get(f"/review?outcome={sealed}").words
    for link in (
        "answered=12&moved=3&failed=1&stays=1&left=4",
        f"outcome={sealed.replace('failed-1', 'failed-2')}",
        "outcome=answered-1.failed-1.",
        "outcome=answered-1.failed-1." + 32 * "0",
        "outcome=failed-\u0661.",
    ):
        words = desk.browser.get(f"/review?{link}").words
        assert "could not" not in words and "answers moved" not in words, link


def test_the_number_in_the_navigation(desk: WebDesk, asked: list[bytes]) -> None:
    """Every page shows how many messages wait: counted beside the pages; Review counts at once."""
    at = [desk.now() // 60 * 60]  # the begin of a minute
    browser = Browser(pages_of(lambda: desk.config, lambda: at[0], at_once=True))

    def number() -> str:
        return " ".join(browser.get("/history").tree.xpath("//nav//a[@data-key='r']")[0].text_content().split())

    assert number() == "Not sure"
    assert number() == "Not sure 3 to answer"
    desk.take(asked[0], "INBOX", "Trash")
    browser.get("/review")
    assert number() == "Not sure 2 to answer"
    desk.take(asked[1], "INBOX", "Trash")
    assert number() == "Not sure 2 to answer", "it is counted once a minute"
    at[0] += 60
    assert [number(), number()] == ["Not sure 2 to answer", "Not sure 1 to answer"]


def test_read_only(desk: WebDesk, asked: list[bytes]) -> None:
    """Pages that only show have no answers on them."""
    page = type(desk.browser)(desk.application(read_only=True)).get("/review")
    assert page.tree.xpath("//*[@data-row]")
    assert not page.tree.xpath("//input | //button[@type='submit']")


def badge(browser: Browser, page: str, of: str) -> str:
    """Return the number that the menu of a page shows for another page; "" for none."""
    found = browser.get(page).tree.xpath(f"//nav//a[contains(@href, '{of}')]/span[@class='badge']/text()")
    return str(found[0]) if found else ""


def test_a_badge_stays_while_it_is_counted_again(desk: WebDesk, asked: list[bytes]) -> None:
    """A lesson takes no number from the menu: an answered finding leaves at once, all else with the next count."""
    some = [message("ham", 500 + number) for number in range(3)]
    for ham in some:
        desk.deliver(ham, "Archive")
        with desk.ledger.transaction():
            desk.ledger.lessons.learn([read(ham)], Label.SPAM, "a test", desk.now(), how=How.HAND)
    application, later = desk.application(at_once=True), list[Callable[[], object]]()
    browser = Browser(application)
    for page in ("/review", "/audit"):
        browser.get(page)
    application._background = later.append
    clear = int(badge(browser, "/words", "audit"))
    assert (clear >= 3, badge(browser, "/words", "review")) == (True, "3")
    browser.post(f"/m/{desk.number_of(some[0])}/teach", label="ham")
    browser.post(f"/m/{desk.number_of(asked[0])}/teach", label="ham")
    assert (badge(browser, "/words", "audit"), badge(browser, "/words", "review")) == (f"{clear - 1}", "3")
    assert str(browser.get("/audit").tree.findtext(".//title")).startswith(f"{clear - 1} probably in the wrong folder")
    for work in later:
        work()
    assert badge(browser, "/words", "review") == "2"
    title = str(browser.get("/audit").tree.findtext(".//title"))
    assert badge(browser, "/words", "audit") == title.partition(" ")[0]
