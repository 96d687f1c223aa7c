"""The page of what the filter would have done with the mail in the folders."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, parse
from spamnb.config.writing import render
from spamnb.evaluation import replay
from spamnb.evaluation.replayed import Doubted, Lived, Mistake, Month, Replayed
from spamnb.filter.judge import Clue
from spamnb.maildir.messages import deliver
from spamnb.web.background import WorkerProcesses
from spamnb.web.background_values import AfterAnswer, Snapshot
from spamnb.web.kept_values import KeptValues
from tests.web.desk import Browser, WebDesk, pages_of
from tests.web.markup import HARMLESS, MARKUP
from tests.web.test_hostile import made_of

HAM, SPAM = 60, 40
LEDGER = Path("/no/such/ledger")


@pytest.fixture
def old(tmp_path: Path) -> Iterator[WebDesk]:
    """A mailbox whose old mail lies in its folders; two of the spam lie in the inbox."""
    desk = WebDesk(tmp_path)
    for number in range(HAM):
        deliver(desk.folder("INBOX"), message("ham", 100 + number), next(desk.bases))
    for number in range(SPAM):
        folder = "INBOX" if number >= SPAM - 2 else "Junk"
        deliver(desk.folder(folder), message("spam", 100 + number), next(desk.bases))
    yield desk
    desk.stop()
    desk.ledger.close()


def everything(place: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files below a directory, with their bytes and times, but for those that SQLite has open."""
    files = [path for path in place.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal"))]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_it_goes_through_the_mail(old: WebDesk) -> None:
    """The first page says that the work goes on, and loads itself again; the next shows both lives. It only reads."""
    before = everything(old.directory)
    browser = Browser(old.application(at_once=True))
    first = browser.get("/replay")
    assert "The filter goes through your newest mail" in first.words
    (banner,) = first.tree.xpath("//*[@data-again]")
    assert banner.xpath(".//a/@href") == ["replay"], "for a browser without scripts"
    page = browser.get("/replay")
    assert not page.tree.xpath("//*[@data-again]")
    assert f"{HAM + SPAM} messages from " in page.words
    for words in ("You sort each mistake the next day", "You never look into Junk"):
        (card,) = page.tree.xpath(f"//li[h2='{words}']")
        assert f" of {HAM:,} letters for spam." in card.text_content()
    assert "2 messages outside of Junk may be spam" in page.words
    assert "It reads only: nothing was moved, learned or written." in page.words
    assert everything(old.directory) == before


def test_the_newest_first(old: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest mail answers first; while the older mail is read, the page shows that answer, and begins no other."""
    monkeypatch.setattr(replay, "QUICK", 50)
    shown, asked, find = list[str](), list[int](), replay.replay
    browser = Browser(old.application(at_once=True))

    def found(*given: Any) -> Replayed | Label:
        asked.append(given[3])
        assert len(asked) < 3
        shown.append(browser.get("/replay").words)
        return find(*given)

    monkeypatch.setattr(replay, "replay", found)
    browser.get("/replay")
    assert asked == [50, 5_000]
    assert "goes through your newest mail" in shown[0]
    assert "This is the answer by your newest mail." in shown[1] and "50 messages from" in shown[1]
    last = browser.get("/replay").words
    assert f"{HAM + SPAM} messages from" in last and "Look again" not in last


def test_it_is_found_once_a_day(old: WebDesk) -> None:
    """An answer holds for a day, and for this configuration: until then, nothing is worked on again."""
    kept, after, config = KeptValues("config.yaml", {}), AfterAnswer(), old.config
    kept.replay(config, old.now(), after)
    after.pop()()
    assert all(one.is_current for one in kept.replay(config, old.now(), after))
    assert not after
    other = replace(config, scoring=replace(config.scoring, spam_cutoff=0.8))
    for now, asked in ((old.now() + 86_400, config), (old.now(), other)):
        newest, _ = kept.replay(asked, now, after)
        assert newest.value is not None and not newest.is_current
        assert after.pop()


def of_a_file(config: Config) -> Config:
    """Return the configuration of these mailboxes as it is read from a file."""
    return parse(render(config.mailboxes, LEDGER), "a file")


def test_in_another_process(old: WebDesk) -> None:
    """The work runs in a process of its own, with a configuration as it is read from a file, and says how far it is."""
    told = list[tuple[int, int]]()
    processes = WorkerProcesses()

    def run(work: Callable[..., Any], tell: Callable[[int, int], None], /) -> Any:
        return processes(work, lambda *done: (told.append(done), tell(*done))[1])

    kept, after, config = KeptValues("config.yaml", {}, run), AfterAnswer(), of_a_file(old.config)
    kept.replay(config, old.now(), after)
    after.pop()()
    newest, whole = kept.replay(config, old.now(), after)
    assert isinstance(newest.value, Replayed) and whole is newest
    assert told[-1] == (HAM + SPAM, HAM + SPAM)


@pytest.mark.parametrize("label", list(Label))
def test_without_one_kind(tmp_path: Path, label: Label) -> None:
    """Without any mail in a folder of ham, or of spam, the page says so."""
    desk = WebDesk(tmp_path)
    try:
        deliver(desk.folder("Junk" if label is Label.HAM else "INBOX"), message("ham", 1), next(desk.bases))
        browser = Browser(desk.application(at_once=True))
        browser.get("/replay")
        assert f"there is no mail in a {label.word} folder" in browser.get("/replay").words
    finally:
        desk.stop()
        desk.ledger.close()


def test_before_the_first_lesson(old: WebDesk, tmp_path: Path) -> None:
    """The page has its answer before there is a ledger, and the first steps lead to it."""
    config: Config = replace(old.config, ledger=tmp_path / "none" / "ledger")
    browser = Browser(pages_of(lambda: config, old.now, at_once=True))
    assert browser.get("/").tree.xpath("//main//a[@href='replay']")
    browser.get("/replay")
    assert f"{HAM + SPAM} messages from" in browser.get("/replay").words
    assert not (tmp_path / "none").exists()


def test_where_it_is_found(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The overview and How strict lead to the page; for the users of a mail host they do not, and the page says why."""
    browser = Browser(desk.application(at_once=True))
    for path in ("/tune", "/", "/tune"):
        page = browser.get(path)
    for shown in (page, browser.get("/")):
        assert len(shown.tree.xpath("//main//a[@href='replay']")) == 1
    monkeypatch.setattr(KeptValues, "has_replay", False)
    for path in ("/", "/tune"):
        assert not browser.get(path).tree.xpath("//a[@href='replay']")
    assert "The person who runs it can show it to you" in browser.get("/replay").words


def test_many_users(desk: WebDesk) -> None:
    """The server of all users of a mail host does not go through the mail of one."""
    shown = [KeptValues("config.yaml", {}, user="anna", is_of_many=many).has_replay for many in (False, True)]
    assert shown == [True, False]


def of_texts(texts: tuple[str, ...]) -> Replayed:
    """An answer in which each text that a stranger may write is one of these."""
    months = tuple(Month(f"2026-0{number}", 10, 5) for number in range(1, 5))
    some = tuple(Mistake(text, 1e9, text, (Clue(f"subject:{text}", 1, 2, 1.0, 1.0),)) for text in texts)
    doubted = tuple(Doubted(text, text, is_spam=True) for text in texts)
    life = Lived("tidy", "You sort", 20, 90, 40, 20, 1e9, (), months, some, some[:10])
    return Replayed(130, 1e9, 1.1e9, 1, 7, doubted, (life, life._replace(words="You do not")))


def test_markup_stays_text(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subjects, names and words of hostile mail become no element and no attribute."""
    pages = []
    for texts in ((HARMLESS,) * len(MARKUP), MARKUP):
        answer = Snapshot(of_texts(texts), is_current=True)
        monkeypatch.setattr(KeptValues, "replay", lambda *_, answer=answer: (answer, answer))
        pages.append(desk.browser.get("/replay"))
    harmless, hostile = pages
    assert made_of(hostile.tree) == made_of(harmless.tree)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile.text and "<img" in hostile.words
    assert not any(one in hostile.text for one in ("\u202e", "\u2066", "\x1b", "\x07", "A" * 301))
    assert "7 older messages are left out." in hostile.words


def test_the_curve(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The months are a line for each life, with the same figures as a table; a few months are not drawn."""
    whole = of_texts((HARMLESS,))
    few = whole._replace(lives=tuple(life._replace(months=life.months[:2]) for life in whole.lives))
    for answer, lines in ((whole, 2), (few, 0)):
        found = Snapshot(answer, is_current=True)
        monkeypatch.setattr(KeptValues, "replay", lambda *_, found=found: (found, found))
        page = desk.browser.get("/replay").tree
        assert len(page.xpath("//svg//polyline")) == lines
        rows = [tuple(cell.text_content() for cell in row) for row in page.xpath("//figure//tbody/tr")]
        assert rows == [(month.name, "5 of 10", "5 of 10") for month in answer.months]


def test_many_mistakes(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many letters that it would have moved, the page names the first fifty, and says how many more there are."""
    found = Snapshot(of_texts(tuple(f"letter {number}" for number in range(72))), is_current=True)
    monkeypatch.setattr(KeptValues, "replay", lambda *_: (found, found))
    page = desk.browser.get("/replay")
    assert len(page.tree.xpath("//ol[@class='lines'][1]/li")) == 50
    assert "and 22 more:" in page.words
