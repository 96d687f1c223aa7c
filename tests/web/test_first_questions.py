"""The questions about mail from before the filter, on the first page and on Audit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spamnb.base.label import Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.review.first_lessons import sifted
from spamnb.review.misfiled import misfiled
from spamnb.service.awake_account import record_existing
from spamnb.setup.learn_folders import learn_folders
from tests.cli.conftest import maildir
from tests.web.desk import Answer, Browser, pages_of

_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}
_HAM, _SPAM = ([message(kind, number) for number in range(60)] for kind in ("ham", "spam"))


class Begun(NamedTuple):
    """A mailbox after `spamnb init --learn` without a terminal, with spam among the ham; and its pages."""

    config: Config
    browser: Browser

    def lesson(self, content: bytes) -> tuple[Label | None, bool]:
        """Return what a message teaches, and whether weakly."""
        with Ledger(str(self.config.ledger)) as ledger:
            lesson = ledger.lessons.find(read(content).digest)
            assert lesson is not None
            return lesson.label, lesson.weak

    def number_in_junk(self) -> int:
        """Return how many files are in Junk."""
        return len(list(self.config.mailboxes[0].path.glob(".Junk/*/17*")))

    def page(self, path: str = "/audit") -> Answer:
        """Return a page, once the work beside it is done."""
        self.browser.get(path)
        return self.browser.get(path)


@pytest.fixture
def begin(tmp_path: Path) -> Callable[[int], Begun]:
    """Begin with a number of messages in Junk, five spam in the inbox and three in Archive."""

    def begun(junk: int) -> Begun:
        inbox, archive = [*_HAM[:30], *_SPAM[50:55]], [*_HAM[30:], *_SPAM[55:58]]
        root = maildir(tmp_path / "Maildir", INBOX=inbox, Archive=archive, Junk=_SPAM[:junk])
        config = Config((Mailbox(root, _ROLES),), tmp_path / "state" / "ledger.sqlite")
        learn_folders(config)
        record_existing(config)
        return Begun(config, Browser(pages_of(lambda: config, at_once=True)))

    return begun


def _boxes(page: Answer) -> list[Any]:
    return list(page.tree.xpath("//form[@action='first']//input[@type='checkbox']"))


def _values(page: Answer, *, only_ticked: bool = False) -> list[str]:
    return [box.get("value") for box in _boxes(page) if not only_ticked or box.get("checked") is not None]


@pytest.mark.parametrize("path", ["/", "/audit"])
def test_what_looks_like_spam_is_asked_about(begin: Callable[[int], Begun], path: str) -> None:
    """The first page and Audit ask about mail that the sift doubts, with a tick for each that is very like spam."""
    page = begin(30).page(path)
    assert "8 messages outside of Junk look like spam." in page.words
    assert len(_boxes(page)) == len(_values(page, only_ticked=True)) == 8
    assert page.words.count("99.9 % spam · Archive") == 3


@pytest.mark.parametrize("rows", [10, 3])
def test_one_list_and_one_number(begin: Callable[[int], Begun], monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Mail that `init` has doubted is in this list only, and the number is that of `init`, however many are shown."""
    monkeypatch.setattr("spamnb.review.first_questions.ROWS", rows)
    monkeypatch.setattr("spamnb.review.first_questions.SCREENS", 1)
    begun = begin(30)
    with Ledger(str(begun.config.ledger)) as ledger:
        assert len(sifted(ledger)) == 8
        assert misfiled(ledger, begun.config) == []
    for path in ("/", "/audit"):
        page = begun.page(path)
        assert "8 messages outside of Junk look like spam." in page.words
        assert "in the wrong folder" not in page.words
    begun.browser.post("/first", label="spam", asked=_values(page), spam=_values(page)[:1])
    assert "7 messages outside of Junk look like spam." in begun.page().words


def test_an_answer_is_a_decision(begin: Callable[[int], Begun]) -> None:
    """Ticked messages become spam by a decision, and stay in their places; the rest is asked about again."""
    begun = begin(30)
    page = begun.page()
    asked = _values(page)
    after = begun.browser.follow(begun.browser.post("/first", label="spam", asked=asked, spam=asked[:-1], back="audit"))
    assert "7 learned as spam" in after.words
    assert _values(after) == asked[-1:]
    assert begun.number_in_junk() == 30
    taught = [begun.lesson(content) for content in _SPAM[50:58]]
    assert taught.count((Label.SPAM, False)) == 7
    (undo,) = after.tree.xpath("//form[contains(@action, 'undo')]//input[@name='id']/@value")
    begun.browser.post("/undo", id=undo)
    assert sorted(_values(begun.page())) == sorted(asked)
    assert (Label.SPAM, False) not in [begun.lesson(content) for content in _SPAM[50:58]]


def test_mail_moves_after_a_question(begin: Callable[[int], Begun]) -> None:
    """For an hour, the page after an answer offers to move what was called spam; after an undo it does not."""
    begun = begin(30)
    asked = _values(begun.page())
    begun.browser.post("/first", label="spam", asked=asked, spam=asked[:2])
    begun.browser.post("/first", label="spam", asked=asked, spam=asked[2:4])
    page = begun.page("/")
    assert "4 messages that you called spam are not in Junk yet." in page.words
    moved = begun.browser.follow(begun.browser.post("/first/move", back="audit"))
    assert "4 moved to Junk" in moved.words and "not in Junk yet" not in moved.words
    assert begun.number_in_junk() == 34
    (undo,) = moved.tree.xpath("//form[contains(@action, 'undo')]//input[@name='id']/@value")
    begun.browser.post("/undo", id=undo)
    assert begun.number_in_junk() == 30
    assert "not in Junk yet" not in begun.page("/").words


def test_what_is_not_ticked_is_ham_only_by_its_button(begin: Callable[[int], Begun]) -> None:
    """The other button learns what has no tick as ham, and leaves what has one."""
    begun = begin(30)
    asked = _values(begun.page())
    after = begun.browser.follow(begun.browser.post("/first", label="ham", asked=asked, spam=asked[1:], back="audit"))
    assert "Learned as ham" in after.words
    assert _values(after) == asked[1:]
    assert [begun.lesson(content) for content in _SPAM[50:58]].count((Label.HAM, False)) == 1
    for label in ("spam", "ham"):  # the form of a page that is out of date
        assert begun.browser.post("/first", label=label, asked=asked[0], spam=asked[:1]).location == "/"
    assert [begun.lesson(content) for content in _SPAM[50:58]].count((Label.HAM, False)) == 1
    assert begun.browser.post("/first", asked=asked).status == 400


def test_with_little_in_junk_the_most_unusual_are_asked_about(begin: Callable[[int], Begun]) -> None:
    """With next to nothing in Junk the page asks about ten messages that are least like the others, and ticks none."""
    begun = begin(2)
    page = begun.page("/")
    assert "Junk holds 2 messages, too few to tell what else is spam. These look least like your other" in page.words
    assert (len(_boxes(page)), _values(page, only_ticked=True)) == (10, [])
    spam = [box.get("value") for box in _boxes(page) if "deals" in box.getparent().text_content()]
    begun.browser.post("/first", label="spam", asked=_values(page), spam=spam)
    assert len(spam) > 5
    assert "These look most like spam." in begun.page().words


def test_other_lessons_are_not_asked_about(begin: Callable[[int], Begun]) -> None:
    """A message with such a question is in no finding of Audit; mail that a person has decided on has no question."""
    begun = begin(30)
    page = begun.page()
    assert not page.tree.xpath("//form[@data-review]")
    number = _values(page)[0]
    begun.browser.post(f"/m/{number}/teach", label="spam")
    assert number not in _values(begun.page())


def test_pages_that_only_show(begin: Callable[[int], Begun]) -> None:
    """Pages that change nothing show the questions without their buttons."""
    config = begin(30).config
    page = Begun(config, Browser(pages_of(lambda: config, at_once=True, read_only=True))).page()
    assert len(_boxes(page)) == 8
    assert not page.tree.xpath("//button[@type='submit']")
