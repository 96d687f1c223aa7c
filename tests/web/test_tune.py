"""The pages Tune and Audit: all learned mail, judged without itself."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.evaluation.cutoffs import NOT_SEEN, at_cutoffs, lost_at
from spamnb.evaluation.measures import calibration_bins
from spamnb.mail.reading import read
from spamnb.review.own_mail import judge_own_mail
from tests.web.desk import Answer, Browser, WebDesk

WRONG = message("spam", 100)


@pytest.fixture
def browser(desk: WebDesk) -> Browser:
    """A browser of pages that have judged the own mail; one message of it is filed wrongly."""
    training.learn(desk.ledger, read(WRONG), Label.HAM, "a test", desk.now(), how=How.HAND)
    desk.deliver(WRONG, "INBOX")
    found = Browser(desk.application(at_once=True))
    found.get("/tune")
    return found


def test_before_it_is_judged(desk: WebDesk) -> None:
    """The first visit begins the judging, and says so; the next one shows the result."""
    browser = Browser(desk.application(at_once=True))
    first = browser.get("/tune")
    assert "The filter is judging your learned mail" in first.words
    assert first.tree.xpath("//*[@data-again]")
    assert "Wanted mail moved to Junk" in browser.get("/tune").words
    assert not browser.get("/tune").tree.xpath("//*[@data-again]")


def test_cutoffs(desk: WebDesk, browser: Browser) -> None:
    """Each cutoff says how much wanted mail it moves, in whole numbers, and the one in force is chosen."""
    page = browser.get("/tune")
    (chosen,) = page.tree.xpath("//tr[@class='chosen']")
    assert "0.95" in chosen.text_content()
    assert "in force" in chosen.text_content()
    assert "Wanted mail moved to Junk: 1 of 31 messages" in page.words
    assert page.tree.xpath("//*[@id='moved']//ol//a/@href") == [f"m/{desk.number_of(WRONG)}"]
    assert page.tree.xpath("//th[text()='wanted mail moved to Junk']")
    (link,) = chosen.xpath("./th/a/@href")
    last = browser.get("/" + link.replace("0.95", "0.999"))
    assert "0.999" in last.tree.xpath("//tr[@class='chosen']")[0].text_content()


def test_how_strict(desk: WebDesk, browser: Browser) -> None:
    """Three names say what each does to the learned mail; a button takes one over, and the page says which is on."""
    page = browser.get("/tune")
    cards = [" ".join(card.text_content().split()) for card in page.tree.xpath("//ul[@class='levels']/li")]
    assert [card.split()[0] for card in cards] == ["Gentle", "Normal", "Strict"]
    assert all("wanted messages would go to Junk." in card for card in cards)
    assert ["In force" in card for card in cards] == [False, True, False]
    forms = page.tree.xpath("//ul[@class='levels']//form")
    assert [form.xpath(".//button")[0].text for form in forms] == ["Be gentle", "Be strict"]
    fields = {one.get("name"): one.get("value") for one in forms[1].xpath(".//input")}
    after = browser.follow(browser.post("/choose", **fields))
    assert "Chosen: Spam from 0.9 up" in after.words
    assert "In force" in after.tree.xpath("string(//ul[@class='levels']/li[3])")
    assert [(one.kind, one.value) for one in desk.ledger.choices.newest()] == [("spam_cutoff", 0.9)]


def test_what_the_slider_says(browser: Browser) -> None:
    """The page has the sentence for each step of the slider, and the slider stands at the cutoff that is shown."""
    page = browser.get("/tune?cut=0.97")
    (slider,) = page.tree.xpath("//input[@type='range']")
    told = json.loads(page.tree.xpath("//script[@id='cutoffs']")[0].text)
    at = told[int(slider.get("value"))]
    assert (len(told) - 1, at["cut"]) == (int(slider.get("max")), "0.97")
    assert all(one["said"].startswith(f"At {one['cut']} the filter catches ") for one in told)
    assert f"translate({at['x']})" in page.tree.xpath("//*[@data-line]/@transform")


@pytest.mark.parametrize(("step", "shown", "cut"), [("30", "37", "0.9"), ("37", "37", "0.93"), ("999", "37", "0.999")])
def test_the_slider_without_a_script(browser: Browser, step: str, shown: str, cut: str) -> None:
    """Without a script the form sends the slider beside the number; the slider counts if it was moved."""
    page = browser.get(f"/tune?step={step}&shown={shown}&cut=0.93")
    assert page.tree.xpath("//input[@name='cut']/@value") == [cut]
    assert f"At {cut} the filter catches" in page.words


def test_dots(desk: WebDesk, browser: Browser) -> None:
    """Wanted mail that looks like spam is a dot, which leads to the message, and is filled beyond the line."""
    for cut, kind in (("0.95", "beyond"), ("1", "")):
        (dot,) = browser.get(f"/tune?cut={cut}").tree.xpath("//div[@class='hills']//a")
        assert (dot.get("href"), dot.get("class")) == (f"m/{desk.number_of(WRONG)}", kind)
        assert dot.get("aria-label").startswith(desk.ledger.messages.lookup(desk.number_of(WRONG)).summary)


@pytest.mark.parametrize(("asked", "shown"), [("0.93", "0.93"), ("0.123456789", "0.123457"), ("1", "1"), ("0", "0")])
def test_any_cutoff(browser: Browser, asked: str, shown: str) -> None:
    """Any cutoff can be asked for by its number, which then has a line of its own and a button to use it."""
    page = browser.get(f"/tune?cut={asked}")
    (chosen,) = page.tree.xpath("//tr[@class='chosen']")
    assert chosen.xpath("string(th)").strip() == shown
    assert page.tree.xpath("//input[@type='number' and @name='cut']/@value") == [shown]
    assert page.tree.xpath("//input[@id='use']/@value") == [shown]
    assert f"At {shown} the filter catches" in page.words and f"moved to Junk at {shown}" in page.words
    assert len(page.tree.xpath("//table[@class='cutoffs']/tbody/tr")) == 12


@pytest.mark.parametrize("asked", ["x", "1.5", "-1", "nan", "inf", "0.9\x1b[2J", "9" * 300])
def test_no_cutoff(browser: Browser, asked: str) -> None:
    """A text that cannot be a cutoff is refused, with what to write."""
    answer = browser.get("/tune?" + urlencode({"cut": asked}))
    assert (answer.status, "from 0 to 1" in answer.words or "number" in answer.words) == (400, True)


def test_wanted_mail_that_would_be_moved(desk: WebDesk, browser: Browser) -> None:
    """Each ham that a cutoff would move has a button that calls it spam; a link above leads to Audit."""
    page = browser.get("/tune")
    (line,) = page.tree.xpath("//*[@id='moved']//li")
    assert line.xpath(".//button")[0].text == "It is spam"
    (banner,) = page.tree.xpath("//div[@class='banner' and @role='status']")
    assert "Your mail contradicts itself: 1 message is probably in the wrong folder." in " ".join(
        banner.text_content().split()
    )
    assert NOT_SEEN in page.words
    assert [(link.text, link.get("href")) for link in banner.xpath(".//a")] == [("Answer it", "audit")]
    after = browser.follow(browser.post(line.xpath(".//form/@action")[0].replace("m/", "/m/"), label="spam"))
    assert "Learned as spam" in after.words
    assert not browser.get("/tune").tree.xpath("//*[@id='moved']//button"), "it is answered"
    page = browser.get("/tune")
    assert "contradicts" not in page.words and "moved to Junk: 0 of 30 messages" in page.words
    assert desk.label(WRONG) == (Label.SPAM, False)


def test_learning_again(desk: WebDesk, browser: Browser) -> None:
    """After a new lesson the old figures are shown, with a note that they are old."""
    training.forget(desk.ledger, [read(WRONG).digest], "a test", desk.now(), how=How.HAND)
    page = browser.get("/tune")
    assert "There are new lessons" in page.words
    assert "of 31 messages" in page.words
    assert "of 30 messages" in browser.get("/tune").words


def test_audit_after_learning(desk: WebDesk) -> None:
    """When something was learned since, Audit does not say that nothing is misfiled: it looks again."""
    browser = Browser(desk.application(at_once=True))
    browser.get("/audit")
    assert "No message seems to be in the wrong folder" in browser.get("/audit").words
    training.learn(desk.ledger, read(WRONG), Label.HAM, "a test", desk.now(), how=How.HAND)
    page = browser.get("/audit")
    assert "message seems to be in the wrong folder" not in page.words
    assert page.tree.xpath("//*[@data-again]")
    assert browser.get("/audit").tree.findtext(".//title") == "1 probably in the wrong folder · spamnb"


def test_audit_of_the_newest(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Audit has judged only the newest learned messages, it says how many."""
    training.learn(desk.ledger, read(WRONG), Label.HAM, "a test", desk.now(), how=How.HAND)
    for most, shown in ((60, ["1 in your newest 60 learned messages"]), (61, [])):
        monkeypatch.setattr("spamnb.review.own_mail.MOST", most)
        browser = Browser(desk.application(at_once=True))
        browser.get("/audit")
        assert browser.get("/audit").tree.xpath("//p[@class='pager']/span/text()") == shown


def test_one_class_only(tmp_path: Path) -> None:
    """If only ham is learned, there is nothing to compare, and the page says so."""
    desk = WebDesk(tmp_path)
    try:
        spam = [read(message("spam", number)).digest for number in range(30)]
        training.forget(desk.ledger, spam, "a test", desk.now(), how=How.HAND)
        browser = Browser(desk.application(at_once=True))
        browser.get("/tune")
        assert "has to learn both ham and spam first" in browser.get("/tune").words
        assert "No message seems to be in the wrong folder" in browser.get("/audit").words
    finally:
        desk.stop()
        desk.ledger.close()


def test_audit_asks(desk: WebDesk, browser: Browser) -> None:
    """Ham that looks like spam is asked about, with the filter's verdict and its reasons."""
    page = browser.get("/audit")
    assert page.tree.findtext(".//title") == "1 probably in the wrong folder · spamnb"
    (question,) = page.tree.xpath("//li[@data-row]")
    assert "You filed this as ● ham" in " ".join(question.text_content().replace("●", "● ").split())
    assert "INBOX" in question.text_content()
    assert [one.text_content().strip() for one in question.xpath(".//label")] == [
        *("Ham", "Spam", "Later", "Forget", "Never ask again")
    ]
    assert question.xpath(".//input[@checked]/@value") == ["later"]


def test_nobody_has_said_what_init_learned(desk: WebDesk) -> None:
    """Of what init has learned, each page says in which folder it was, until a person answers."""
    training.learn(desk.ledger, read(WRONG), Label.HAM, "was in a ham folder at the start", desk.now(), how=How.SEEN)
    desk.deliver(WRONG, "INBOX")
    number = desk.number_of(WRONG)
    (place,) = desk.ledger.locations.of_message(number)
    desk.ledger.locations.set_origin(place.folder, place.base, "before")
    browser = Browser(desk.application(at_once=True))
    browser.get("/audit")
    was = "earned as ● ham: it was in INBOX at the start"
    pages = {"/audit": was, f"/m/{number}": was, "/history": "filter: learned as ham: it was in INBOX at the start"}
    for page, words in pages.items():
        assert words in spaced(browser.get(page)), page
    browser.post("/audit", **{f"say.{number}": "ham", f"was.{number}": "ham"})
    assert "You said that it is ● ham" in spaced(browser.get(f"/m/{number}"))
    assert pages["/history"] in spaced(browser.get("/history")), "that was so then"


def spaced(page: Answer) -> str:
    """The words of a page, with a blank behind each sign."""
    return " ".join(page.words.replace("●", "● ").split())


@pytest.mark.parametrize(
    ("answer", "label", "folder"),
    [
        ("spam", (Label.SPAM, False), "Junk"),
        ("ham", (Label.HAM, False), "INBOX"),
        ("forget", (None, False), "INBOX"),
        ("never", (Label.HAM, False), "INBOX"),
    ],
)
def test_audit_answers(
    desk: WebDesk, browser: Browser, answer: str, label: tuple[Label | None, bool], folder: str
) -> None:
    """An answer is learned, moves the message, and is not asked for again, until it is undone."""
    desk.browser = browser
    done = desk.application()  # its departures are not waited for
    said = Browser(done).post("/audit", **answers((desk.number_of(WRONG), answer, "ham")))
    assert desk.label(WRONG) == label
    assert desk.where(WRONG) == [folder]
    page = browser.follow(said)
    assert not page.tree.xpath("//li[@data-row]")
    ids = page.tree.xpath("//form[contains(@action, 'undo')]//input[@name='id']/@value")
    assert ids
    Browser(done).post("/undo", id=ids)
    browser.get("/audit")
    assert browser.get("/audit").tree.xpath("//li[@data-row]"), "what is taken back is asked about again"


def test_several_answers(desk: WebDesk, browser: Browser) -> None:
    """One form answers several messages; those left for later stay, and failures are reported."""
    other = message("ham", 500)
    training.learn(desk.ledger, read(other), Label.SPAM, "a test", desk.now(), how=How.HAND)
    desk.deliver(other, "Junk")
    third = read(message("ham", 1))
    said = [(desk.number_of(WRONG), "spam", "ham"), (desk.number_of(other), "ham", "spam")]
    said += [(desk.number_of(message("ham", 1)), "later", "ham"), (99999, "spam", "ham")]
    after = browser.follow(Browser(desk.application()).post("/audit", **answers(*said)))
    assert (desk.label(WRONG), desk.where(WRONG)) == ((Label.SPAM, False), ["Junk"])
    assert (desk.label(other), desk.where(other)) == ((Label.HAM, False), ["INBOX"])
    assert third.digest not in desk.ledger.journal.all_settled()
    assert "1 learned as spam" in after.words and "1 moved to INBOX" in after.words
    (acts,) = after.tree.xpath("//*[@role='status']//input[@name='id']/@value")
    first, last = map(int, acts.split("-"))
    assert (last - first + 1, last) == (6, desk.ledger.journal.newest_id())


def answers(*said: tuple[int, str, str]) -> dict[str, str]:
    """Return the fields of a form: the answer and the present label for each message."""
    return {
        f"{name}.{number}": value for number, *both in said for name, value in zip(("say", "was"), both, strict=True)
    }


def test_bad_answers(desk: WebDesk, browser: Browser) -> None:
    """An answer that the page does not offer is refused; one about an unlearned message is reported as not done."""
    number, last = desk.number_of(WRONG), desk.ledger.journal.newest_id()
    assert browser.post("/audit", **answers((number, "eggs", "ham"))).status == 400
    assert browser.post("/audit", **answers((number, "never", "eggs"))).status == 400
    assert browser.post("/audit", **answers((number, "spam", "ham"), (number, "eggs", "ham"))).status == 400
    assert browser.post("/audit", **{"say.x": "ham"}).status == 400
    assert browser.post("/audit").status == 303
    assert desk.ledger.journal.newest_id() == last
    desk.deliver(message("ham", 500), "INBOX")
    last = desk.ledger.journal.newest_id()
    after = browser.follow(browser.post("/audit", **answers((desk.number_of(message("ham", 500)), "ham", "ham"))))
    assert "1 answer could not be carried out" in after.words
    assert desk.ledger.journal.newest_id() == last


def test_own_mail(desk: WebDesk, browser: Browser) -> None:
    """The newest messages are judged, each without itself; it tells how far it is."""
    told: list[tuple[int, int]] = []
    found = judge_own_mail(desk.ledger, Scoring(), lambda *progress: told.append(progress))
    assert (len(found.digests), found.learned, found.change) == (61, 61, desk.ledger.lessons.last_change())
    assert told[0] == (0, 61)
    assert [one.digest for one in found.findings if one.is_clear] == [read(WRONG).digest]
    places = lost_at(found.is_spam, found.probability, 0.95)
    assert [found.digests[place] for place in places] == [read(WRONG).digest]
    assert at_cutoffs(found.is_spam, found.probability, [0.95])[0].lost == 1
    assert sum(one.messages for one in calibration_bins(found.is_spam, found.probability)) == 61
    newest = judge_own_mail(desk.ledger, Scoring(), most=10)
    assert (len(newest.digests), newest.learned) == (10, 61)
    assert read(WRONG).digest in newest.digests
