"""What can be wrong around the pages: each fault is a page with the next step."""

import contextlib
import dataclasses
import re
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.may_move import begin_if_ready
from spamnb.base.label import How, Label
from spamnb.checkup.finding import fault, warning
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.config.writing import render
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.web.background_values import AfterAnswer
from spamnb.web.config_file import ConfigFile
from spamnb.web.rendering import NAVIGATION
from tests.service.test_flood import BANK, bomb, past
from tests.web.desk import Browser, WebDesk, all_routes, pages_of

OFFER = message("spam", 100)
PAGES = [one.pattern for one in all_routes() if one.method == "GET" and not one.is_public and "{" not in one.pattern]


@contextlib.contextmanager
def closed(desk: WebDesk) -> Iterator[Path]:
    """The ledger's file, while nobody has it open, with all that was written in it."""
    desk.stop()
    desk.ledger.close()
    path = Path(desk.ledger.path)
    content = path.read_bytes()
    yield path
    for left in path.parent.glob("ledger-*"):
        left.unlink()
    path.write_bytes(content)
    desk.ledger = Ledger(str(path))
    desk.start()


def test_locked(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process writes, all pages are shown; a change is not made, and the page says to try again."""
    monkeypatch.setattr("spamnb.web.application._BUSY_SECONDS", 0.05)
    desk.deliver(OFFER)
    number = desk.number_of(OFFER)
    with contextlib.closing(sqlite3.connect(desk.ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert desk.browser.get("/history").status == 200
        answer = desk.browser.post(f"/m/{number}/teach", label="ham")
        other.execute("ROLLBACK")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
    assert "Another process is writing to the ledger" in answer.words
    assert "Load this page again" in answer.words
    assert (desk.where(OFFER), desk.label(OFFER)) == (["Junk"], None)
    assert desk.browser.post(f"/m/{number}/teach", label="ham").status == 303


def test_damaged(desk: WebDesk) -> None:
    """A damaged ledger is a page that says so, and by which command one sees more; it needs nothing of the ledger."""
    with closed(desk) as path:
        content = path.read_bytes()
        path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
        for page in PAGES:
            answer = desk.browser.get(page)
            assert (answer.status, "damaged" in answer.words) == (500, True), page
            assert "spamnb verify" in answer.words and "restore a copy (spamnb restore)" in answer.words
            assert answer.tree.xpath("//nav//a")


def test_no_ledger(desk: WebDesk) -> None:
    """The page says that a file is not a ledger."""
    with closed(desk) as path:
        path.write_bytes(b"rubbish" * 1000)
        answer = desk.browser.get("/")
        assert (answer.status, "is not a ledger" in answer.words) == (500, True)


def test_of_a_later_program(desk: WebDesk) -> None:
    """A ledger of a later version is left alone; the page says to start it again, or what else to do."""
    with contextlib.closing(sqlite3.connect(desk.ledger.path)) as other:
        (version,) = other.execute("PRAGMA user_version").fetchone()
        other.execute("PRAGMA user_version = 1000")
        for answer in (desk.browser.get("/"), desk.browser.post("/pause", span="1h")):
            assert answer.status == 503
            assert "written by a later spamnb" in answer.words
            assert "end the server of these pages and start it again: spamnb web" in answer.words
        other.execute(f"PRAGMA user_version = {version}")
    assert desk.browser.get("/").status == 200


def test_lost(desk: WebDesk) -> None:
    """A ledger that is gone, while there are copies of it, is not begun again: the page says to restore one."""
    with closed(desk) as path:
        roll(str(path), desk.now(), 3)
        path.unlink()
        answer = desk.browser.get("/")
        assert (answer.status, "spamnb restore" in answer.words) == (503, True)
        assert not path.exists()


def test_the_mailbox_is_away(desk: WebDesk) -> None:
    """While the mailbox is not mounted every page is shown; a message's page names the mailbox and the next step."""
    desk.deliver(OFFER)
    number = desk.number_of(OFFER)
    root = desk.roots[0]
    away = root.rename(root.with_name("away"))
    try:
        assert [page for page in PAGES if desk.browser.get(page).status != 200] == []
        words = desk.browser.get(f"/m/{number}").words
        assert f"Its mailbox {root} cannot be reached now. Mount its disk" in words
        review = desk.browser.get("/review").words
        assert "No message is unsure" not in review
        assert f"The mailbox {root} cannot be reached now, so this page leaves out its mail" in review
        answer = desk.browser.post(f"/m/{number}/teach", label="ham")
        assert (answer.status, "nothing was learned" in answer.words) == (409, True)
    finally:
        away.rename(root)
    assert "It is in Junk" in desk.browser.get(f"/m/{number}").words


def test_the_service_is_down(desk: WebDesk) -> None:
    """While the service does not run every page says so first, with the command that starts it here."""
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    for page in ("/", "/history", "/tune"):
        words = desk.browser.get(page).words
        assert words.startswith("The service is not running, so nothing is judged now.")
        assert "Start it: spamnb run" in words
    assert desk.browser.get("/").tree.findtext(".//title") == "The service is not running · spamnb"
    with only_service(desk.ledger.path):
        assert "The service is not running" not in desk.browser.get("/").text
        assert desk.browser.get("/").tree.findtext(".//title") != "The service is not running · spamnb"


def test_moving_is_stopped(desk: WebDesk) -> None:
    """If the filter has stopped by itself, the overview has this as its title, and leads to the mail and to resume."""
    desk.ledger.state.stopped_at = desk.now()
    page = desk.browser.get("/")
    assert page.tree.findtext(".//title") == "Moving has stopped · spamnb"
    (banner,) = page.tree.xpath("//*[@role='alert']")
    assert [link.text for link in banner.xpath(".//a")] == ["Look"]
    assert next(button.text for button in banner.xpath(".//button")) == "Move again"


def test_nothing_learned_yet(tmp_path: Path) -> None:
    """Without a ledger, and with an empty one, the first steps are named; and nothing is made by looking."""
    ledger = tmp_path / "state" / "ledger"
    ledger.parent.mkdir()
    browser = Browser(pages_of(lambda: Config((), ledger)))
    for entry in NAVIGATION:
        if entry.page != "health":
            assert "spamnb init --learn" in browser.get(f"/{entry.page}").text, entry.page
    assert list(ledger.parent.iterdir()) == []
    with Ledger(str(ledger)):
        pass
    words = browser.get("/").words
    assert (
        "By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk." in words
        and "ham 0 of 20" in words
        and "spamnb init --learn" in words
    )


def test_steps_that_are_done(desk: WebDesk) -> None:
    """While nothing is learned, the first page names only steps that are still to do."""
    desk.stop()
    desk.ledger.close()
    Path(desk.ledger.path).unlink()
    desk.ledger = Ledger(desk.ledger.path)
    desk.restart()

    def steps() -> list[str]:
        page = desk.browser.get("/")
        return [" ".join(step.text_content().split()).partition(":")[0] for step in page.tree.xpath("//main//ol/li")]

    move, read_ = "In your mail program, move spam from your inbox to the spam folder.", "Read your mail as usual."
    assert [step.startswith(wanted) for step, wanted in zip(steps(), ("Start the service", move, read_), strict=True)]
    with only_service(desk.ledger.path):
        assert [step.partition(". ")[0] for step in steps()] == [move, read_.removesuffix(".")]
    desk.ledger.locations.put(1, "old", desk.ledger.messages.ensure(b"old", "").id, "before", b"", "", 1.0)
    assert steps()[0].startswith("Find your Maildir")


def test_a_message_that_was_pruned(desk: WebDesk) -> None:
    """A message that the history has forgotten is a page that says so."""
    desk.deliver(OFFER)
    number = desk.number_of(OFFER)
    desk.paths(OFFER, "Junk")[0].unlink()
    desk.deliver(message("ham", 100))
    desk.ledger.tallies.keep()
    assert sum(desk.ledger.retention.forget(1e12, 1e12))
    answer = desk.browser.get(f"/m/{number}")
    assert answer.status == 404
    assert "The filter never saw it, or has forgotten it" in answer.words
    assert desk.browser.get(f"/m/{number}.json").status == 404


def test_a_faulty_configuration(desk: WebDesk, tmp_path: Path) -> None:
    """A configuration that cannot be read is a page with its fault; corrected, the pages are there again."""
    file = tmp_path / "config.yaml"
    good = render(desk.config.mailboxes, desk.config.ledger)
    file.write_text("scoring: {spam_cutoff: high}\n")
    browser = Browser(pages_of(ConfigFile(file, {}, is_needed=True).read))
    answer = browser.get("/")
    assert (answer.status, "spam_cutoff" in answer.words) == (500, True)
    assert "spamnb config --check" in answer.words
    file.write_text(good)
    assert browser.get("/").status == 200


@pytest.mark.parametrize(("page", "waits"), [("/", "No mail has come yet"), ("/health", "Being checked")])
def test_an_old_check(desk: WebDesk, tmp_path: Path, page: str, waits: str) -> None:
    """A result older than a minute is not the heading, and the page says that it checks again."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    roll(desk.ledger.path, desk.now(), 1)
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    noon = 1_800_000_000.0  # the begin of a minute
    browser = Browser(pages_of(lambda: desk.config, lambda: noon + desk.ahead, config_path=str(file), at_once=True))

    def title() -> str:
        return str(browser.get(page).tree.findtext(".//title")).removesuffix(" · spamnb")

    with only_service(desk.ledger.path):
        assert title() == waits
        before = title()
        assert "fault" not in before
        desk.ahead += 24 * 60
        away = desk.roots[0].rename(desk.roots[0].with_name("away"))
        assert (title(), title().partition(",")[0]) == (waits, "1 fault")
        assert str(desk.roots[0]) in browser.get(page).words
        away.rename(desk.roots[0])
        desk.ahead += 24 * 60
        assert [title(), title()] == [waits, before]
        desk.ahead += 50
        assert title() == before, "within its minute it stands"
    desk.ahead += 10
    assert browser.get(page).tree.xpath("//*[@data-unfinished or @data-again]")


def test_a_service_that_has_ended_since(desk: WebDesk, tmp_path: Path) -> None:
    """If the banner says that the service does not run, Health checks again before it says otherwise."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    browser = Browser(pages_of(lambda: desk.config, desk.now, config_path=str(file), at_once=True))

    def services(page: str) -> list[str]:
        return re.findall("(?:service running|service not running|The filter checks)", page)

    with only_service(desk.ledger.path):
        browser.get("/health")
        assert services(browser.get("/health").words) == ["service running"]
    assert services(browser.get("/health").words) == ["The filter checks"]
    assert services(browser.get("/health").words) == ["service not running"]


def test_the_former_check_is_shown_as_such(desk: WebDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all is checked anew, Health shows what was found before, under its time; the overview shows none of it."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    application = pages_of(lambda: desk.config, desk.now, config_path=str(file))
    at = desk.now()
    old = [fault("one", "long repaired", "a step")]
    monkeypatch.setattr("spamnb.checkup.checkup.checkup", lambda *_, **__: old)
    after = AfterAnswer()
    application._site.kept.checkup(lambda: at - 61.0, after)
    after.pop()()
    browser = Browser(application)
    words = browser.get("/health").words
    assert words.index("The last check") < words.index("long repaired") and "The filter checks" in words
    page = browser.get("/")
    assert "long repaired" not in page.words
    assert page.tree.xpath("//*[@data-unfinished]/a/@href") == ["./"]
    assert "Checking the service, the folders and what it remembers" in page.words


def test_what_fails_beside_the_pages(desk: WebDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the work beside the pages fails, they say so, and do not reload for ever."""
    desk.deliver(OFFER, "INBOX", "S")
    training.learn_message(desk.ledger, OFFER, Label.HAM, "read and kept", desk.now(), weak=True, how=How.KEPT)
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    application = pages_of(lambda: desk.config, desk.now, config_path=str(file), at_once=True)
    browser, site = Browser(application), application._site

    def failing(*_: object) -> None:
        raise RuntimeError("the process has ended with -9")

    def later(work: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):
            work()

    monkeypatch.setattr(application, "_background", later)
    pages = ["/", "/health", "/tune", "/audit", "/review"]
    with only_service(desk.ledger.path):
        with monkeypatch.context() as broken:
            for kept in (site.kept._checkup, site.kept._glance, site.kept._own_mail, site.kept._weak):
                broken.setattr(kept, "_run", failing)
            for page in pages:
                browser.get(page)
                found = browser.get(page)
                assert not found.tree.xpath("//*[@data-again or @data-unfinished]"), page
                assert "the log of these pages says why" in found.words, page
                assert (found.tree.findtext(".//title") == "Not checked · spamnb") == (page == "/health")
        for page in pages:
            browser.get(page)
            found = browser.get(page)
            assert "the log of these pages says why" not in found.words, page
            assert not str(found.tree.findtext(".//title")).startswith(("Not checked", "Being checked"))


def test_warnings_on_the_overview(desk: WebDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings of doctor are on the overview, with the next step; the check runs beside the page."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    application = pages_of(lambda: desk.config, desk.now, config_path=str(file), at_once=True)
    browser = Browser(application)
    assert "spamnb backup" not in browser.get("/").words
    assert "the service makes one per day; to make one now: spamnb backup" in browser.get("/").words
    assert browser.get("/health").tree.findtext(".//title") == "Being checked · spamnb", "a glance proves no ledger"
    many = [warning("one", f"warning {number}", "a step") for number in range(5)]
    monkeypatch.setattr("spamnb.checkup.checkup.checkup", lambda *_, **__: many)
    application._site.kept.check_again()
    browser.get("/")
    with only_service(desk.ledger.path):
        page = browser.get("/")
    assert page.tree.findtext(".//title") == "No mail has come yet · spamnb"
    assert "and 2 more" in page.words


def test_the_button_corrects_the_heading(desk: WebDesk) -> None:
    """The button beside the overview's heading is for what that says, and mail is kept from being moved there too."""

    def heading(browser: Browser) -> tuple[str, list[str]]:
        place = browser.get("/").tree.xpath("//div[@class='heading']")[0]
        buttons = place.xpath(".//a | .//button")
        return place.findtext(".//h1//span"), [" ".join(one.text_content().split()) for one in buttons]

    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    pause = "Pause for an hour"
    assert heading(desk.browser) == ("The service is not running", ["What to do", pause])
    with only_service(desk.ledger.path):
        assert heading(desk.browser) == ("No mail has come yet", [pause])
        desk.browser.post("/pause", span="1h")
        assert heading(desk.browser) == ("Moving is paused", ["Move again"])
        desk.browser.post("/resume")
        desk.ledger.state.begun_with = None
        desk.learning = dataclasses.replace(desk.learning, minimum_messages=1000)
        assert heading(desk.browser) == ("No mail has come yet", [])


def test_the_heading_tells_of_today(desk: WebDesk) -> None:
    """The heading counts the mail of today and its spam; what waits for the person is a line below it."""

    def title() -> str:
        return str(desk.browser.get("/").tree.findtext(".//title")).removesuffix(" · spamnb")

    desk.go_to_noon()
    with only_service(desk.ledger.path):
        desk.deliver(message("ham", 100))
        assert title() == "Today 1 message came, none was spam"
        desk.deliver(OFFER)
        assert title() == "Today 2 messages came, 1 was spam"
        desk.deliver(message("spam", 101))
        desk.browser._application._site.kept.counted(desk.ledger, 3)
        assert title() == "Today 3 messages came, 2 were spam"
        assert "Not sure about 3 Answer them" in desk.browser.get("/").words
        desk.ahead += 86_400.0
        assert title() == "No mail has come today"
        assert "The last message came yesterday" in desk.browser.get("/").words


def test_a_filter_that_moves_nothing_yet(desk: WebDesk) -> None:
    """Until the filter moves mail, the first page counts what came, and what the person moved to Junk; no verdict."""
    desk.restart(minimum_messages=1000)
    assert "No mail came in these days." in desk.browser.get("/").words
    assert not desk.browser.get("/").tree.xpath("//figure")
    desk.ahead += 86_400 + 12 * 3600.0 - desk.now() % 86_400  # the next noon
    offers = [message("spam", number) for number in range(100, 103)]

    def title() -> str:
        return str(desk.browser.get("/").tree.findtext(".//title")).removesuffix(" · spamnb")

    with only_service(desk.ledger.path):
        desk.deliver(message("ham", 100))
        assert title() == "Today 1 message came"
        for offer in offers:
            desk.deliver(offer)
        assert title() == "Today 4 messages came"
        for offer in offers[:2]:
            desk.take(offer, "INBOX", "Junk")
        assert title() == "Today 4 messages came, you moved 2 to Junk"
        page = desk.browser.get("/")
        facts = [" ".join(fact.text_content().split()) for fact in page.tree.xpath("//*[@class='fact']")]
        assert facts == ["4 came in 7 days", "2 you moved to Junk"]
        drawn, _ = page.tree.xpath("//figure")
        assert drawn.findtext("figcaption") == "What came, and what you moved to Junk, by day"
        days = [" ".join(row.text_content().split()).split()[-2:] for row in drawn.xpath(".//tbody/tr")]
        assert days == [["0", "0"]] * 6 + [["4", "2"]]
        assert not re.search("unsure|You corrected", page.tree.xpath("string(//main//p[@class='lead today'])"))
        desk.ahead += 86_400.0
        assert title() == "No mail has come today"


def test_what_the_filter_waits_for_is_said_once(desk: WebDesk, tmp_path: Path) -> None:
    """The first page says once what the filter waits for, though doctor finds it too; Health shows the finding."""
    file = tmp_path / "config.yaml"
    learning = "learning:\n  minimum_messages: 1000\n"
    file.write_text(f"{render(desk.config.mailboxes, desk.config.ledger)}\n{learning}")
    browser = Browser(
        pages_of(ConfigFile(file, {}, is_needed=True).read, desk.now, config_path=str(file), at_once=True)
    )
    said = "By itself, the filter moves nothing until you have kept 970 more ham"
    browser.get("/")
    browser.get("/health")
    assert browser.get("/").words.count(said) == browser.get("/health").words.count(said) == 1


def test_spam_caught_by_week(desk: WebDesk) -> None:
    """From the second week with spam on, each week has a bar of what was caught; before, each day."""

    def drawn(by: str = "week") -> list[str]:
        figures = {one.findtext("figcaption"): one for one in desk.browser.get("/").tree.xpath("//figure")}
        week = figures.get(f"Spam caught, by {by}")
        return [] if week is None else [" ".join(row.text_content().split()) for row in week.xpath(".//tbody/tr")]

    desk.ahead = -20 * 86_400.0
    missed, spam = message("ham", 100), [message("spam", number) for number in range(100, 105)]
    for content in (*spam[:3], missed):
        desk.deliver(content)
    desk.take(missed, "INBOX", "Junk")
    assert desk.label(missed) == (Label.SPAM, False)
    assert drawn() == []
    assert [row.split()[-3:] for row in drawn("day")][-1] == ["%", "3", "4"]
    desk.ahead += 14 * 86_400.0
    for content in spam[3:]:
        desk.deliver(content)
    desk.take(spam[4], "Junk", "INBOX")
    weeks = [row.split()[-3:] for row in drawn()]
    assert [weeks[0], weeks[-1]] == [["%", "3", "4"], ["%", "1", "1"]]
    assert [" ".join(row.split()[-2:]) for row in drawn()[1:-1]] == ["0 0"]


def test_spam_that_would_have_been_caught(desk: WebDesk) -> None:
    """Until the filter moves mail, the first page shows how much of the person's spam it would have caught."""
    desk.restart(minimum_messages=1000)
    desk.ahead += 86_400 + 12 * 3600.0 - desk.now() % 86_400  # the next noon
    assert "Spam caught" not in desk.browser.get("/").text
    missed, *spam = message("ham", 100), *(message("spam", number) for number in range(100, 104))
    for content in (missed, *spam):
        desk.deliver(content)
    for content in (missed, *spam[:3]):
        desk.take(content, "INBOX", "Junk")

    def drawn() -> tuple[list[str], str]:
        figures = {one.findtext("figcaption"): one for one in desk.browser.get("/").tree.xpath("//figure")}
        today = figures["Spam caught, by day"].xpath(".//tbody/tr[last()]")[0].text_content().split()
        return today[-5:], figures["Spam caught, by day"].xpath("string(.//*[@class='legend'])").strip()

    assert drawn() == (["0", "%", "0", "3", "4"], "▒ the filter would have caught it")
    desk.take(spam[3], "INBOX", "Junk")
    desk.restart(minimum_messages=1)
    desk.deliver(message("spam", 110))
    assert desk.where(message("spam", 110)) == ["Junk"]
    assert drawn()[0] == ["16.7", "%", "1", "4", "6"]
    page = desk.browser.get("/")
    facts = [" ".join(fact.text_content().split()) for fact in page.tree.xpath("//*[@class='fact']")]
    assert facts[0].startswith("1 judged since moving began, today ")
    assert facts[1:4] == ["0 ●ham", "1 ■spam", "0 ◆unsure"], "no verdict from before counts"
    assert "Today 6 messages came, 6 were spam" in page.words


def test_misfiled_mail_comes_first(desk: WebDesk, tmp_path: Path) -> None:
    """The overview names misfiled mail before Review, even if Audit was never opened."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    roll(desk.ledger.path, desk.now(), 1)
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    wrong = message("spam", 100)
    training.learn(desk.ledger, read(wrong), Label.HAM, "a test", desk.now(), how=How.HAND)
    application = pages_of(lambda: desk.config, desk.now, config_path=str(file), at_once=True)
    browser, kept = Browser(application), application._site.kept

    def asked() -> list[str]:
        kept.counted(desk.ledger, 3)
        hints = browser.get("/").tree.xpath("//*[@class='hint']")
        return [" ".join(hint.text_content().split()) for hint in hints]

    asked()
    review, audit = "Not sure about 3 Answer them", "1 probably in the wrong folder Answer it"
    assert asked() == [audit, review]
    with only_service(desk.ledger.path):
        assert asked() == [audit, review]
        training.learn(desk.ledger, read(wrong), Label.SPAM, "a test", desk.now(), how=How.HAND)
        assert asked() == [review], "it is put right"
        other = message("spam", 101)
        training.learn(desk.ledger, read(other), Label.HAM, "a test", desk.now(), how=How.HAND)
        desk.ahead += 300
        assert asked() == asked() == [review], "all is judged again after ten minutes only"
        desk.ahead += 300
        asked()
        assert asked() == [audit, review]


def test_a_first_day(desk: WebDesk) -> None:
    """On the first day what was judged is shown by its hours; from the second on by days."""
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    assert "The filter judged no mail in these days." in desk.browser.get("/").words
    assert not desk.browser.get("/").tree.xpath("//figure")
    desk.go_to_noon()
    desk.deliver(OFFER)
    desk.ahead += 7200.0
    desk.deliver(message("spam", 101))
    first = desk.browser.get("/").tree.xpath("//figure")[0]
    assert first.findtext("figcaption") == "Messages judged today, by hour"
    assert len(first.xpath(".//*[contains(@class, 'bar spam')]")) == 2
    hours = [row.text_content() for row in first.xpath(".//tbody//th")]
    assert hours[0] == "00:00" and len(hours) in range(14, 17)
    desk.ahead += 86_400.0
    second = desk.browser.get("/?days=90").tree.xpath("//figure")[0]
    assert second.findtext("figcaption") == "Messages judged, by day"
    assert " to " in second.xpath(".//tbody//th")[0].text_content()
    legend = second.xpath("string(.//p[@class='legend'])")
    assert [word in legend for word in ("ham", "unsure", "spam", "you corrected the verdict")] == [True] * 3 + [False]
    year = desk.browser.get("/?days=365").tree.xpath("//figure")[0].xpath(".//tbody//th")
    last = datetime.fromtimestamp(desk.now()).year - 1
    assert str(last) in year[0].text_content() and str(last) not in year[-1].text_content()


@pytest.mark.parametrize("page", PAGES)
def test_each_page_says_what_is_seen(desk: WebDesk, page: str) -> None:
    """Each page begins with a sentence about its contents."""
    answer = desk.browser.get(page)
    if answer.headers["Content-Type"].startswith("text/html") and page != "/words/teachers":
        (about,) = answer.tree.xpath("//p[@class='about']")
        assert about.text_content().strip().endswith(".")
        assert not re.search(r"log-odds|leave-one-out", answer.words)


def test_no_menu_before_the_login(desk: WebDesk) -> None:
    """Without a login a page shows neither the menu nor the owner, wherever the request leads."""
    for path in ("/", "/login", "/nowhere", "/m/1"):
        for headers in ({"cookie": ""}, {"cookie": "spamnb_7726=x"}, {"cookie": "", "sec-fetch-site": "cross-site"}):
            answer = desk.browser.get(path, headers)
            assert not answer.tree.xpath("//nav | //*[@class='owner'] | //dialog"), (path, headers)
            assert "anna" not in answer.text
    assert desk.browser.get("/nowhere").tree.xpath("//nav")


def test_a_flood_of_first_letters(desk: WebDesk) -> None:
    """The first page tells a flood, and links the letter of somebody known that came in it; else it says nothing."""
    assert "first letters of strangers" not in desk.browser.get("/").words
    past(desk.ledger, desk.now())
    bomb(desk.ledger, desk.now() - 4000, 60, hidden_at=30)
    page = desk.browser.get("/")
    assert "59 first letters of strangers came between" in page.words
    (link,) = page.tree.xpath("//section[@aria-label='A flood of first letters']//a/@href")
    assert f"From {BANK}" in desk.browser.get(f"/m/{link.rpartition('/')[2]}").words
