"""Tasks of a person in a real browser, whose clicks are counted."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.reading import read
from spamnb.web.parts.hills import WIDTH, x_of
from tests.patience import until
from tests.web.chromium import Chromium, Window, browser, driven, fresh
from tests.web.story import of_a_shop

__all__ = ["browser", "driven", "fresh"]  # fixtures
pytestmark = pytest.mark.real_system


class Clicks:
    """A person who begins at the overview; all clicks are counted.

    What is worked out beside a page is waited for: with scripts the page shows it by itself, without it is loaded again
    by a key.
    """

    def __init__(self, window: Window, *, has_scripts: bool) -> None:
        self.page = window.page
        self.has_scripts = has_scripts
        self.number = 0
        window.go("")

    def __call__(self, role: str, name: str, *, within: str = "main") -> None:
        """Click on the first that is called so, or begins so."""
        self.number += 1
        found = self.page.locator(within).get_by_role(role, name=re.compile(rf"{re.escape(name)}(?![\w.@])"))
        found.first.click()

    def menu(self, name: str, path: str = "") -> None:
        """Go to a page of the menu. path: if it is not the name."""
        self.number += 1
        self.page.locator("nav").get_by_role("link", name=name).click()
        self.page.wait_for_url(f"**/{path or name.lower()}")
        until(self._is_whole, f"the page {name}")

    def _is_whole(self) -> bool:
        is_read = "body:has(#keys)"  # which stands behind all else: no part of a page that comes in
        if self.page.locator(f"{is_read}:not(:has([data-again], [data-unfinished]))").count():
            return True
        if not self.has_scripts:
            self.page.reload()
        return False


@pytest.fixture(params=[True, False], ids=["with scripts", "without"])
def clicks(request: pytest.FixtureRequest, fresh: Chromium) -> Iterator[Clicks]:
    """A person at a desk, with scripts and without."""
    with fresh.window(java_script_enabled=request.param) as window:
        yield Clicks(window, has_scripts=request.param)
        window.is_clean()


def test_bring_back_a_message(fresh: Chromium, clicks: Clicks) -> None:
    """Three clicks at most bring a message back from Junk, and call it ham."""
    offer = message("spam", 100)
    fresh.desk.deliver(offer)
    clicks.menu("History")
    clicks("button", "Not spam")
    assert "Learned as ham, moved to INBOX" in clicks.page.locator("[role=status]").inner_text()
    assert (fresh.desk.where(offer), clicks.number <= 3) == (["INBOX"], True)


def _summary(fresh: Chromium, content: bytes) -> str:
    known = fresh.desk.ledger.messages.find(read(content).digest)
    assert known is not None
    return known.summary


def test_learn_five_reviewed_ones(fresh: Chromium, clicks: Clicks) -> None:
    """Five messages that wait for Review are answered and learned by seven clicks at most."""
    fresh.desk.ahead = -60.0
    for number in range(5):
        fresh.desk.deliver(of_a_shop(number))
    clicks.menu("Not sure", "review")
    assert clicks.page.locator("h1").inner_text() == "Not sure about 5"
    for row in range(5):
        clicks("radio", "Ham", within=f"li[data-row] >> nth={row}")
    clicks.number += 1
    clicks.page.locator("[data-save]").click()
    assert "5 learned as ham" in clicks.page.locator("[role=status]").first.inner_text()
    assert {fresh.desk.label(of_a_shop(number)) for number in range(5)} == {(Label.HAM, False)}
    assert clicks.number <= 7


def test_undo_an_hour(fresh: Chromium, clicks: Clicks) -> None:
    """Three clicks at most undo all moves of the last hour, and the page before the last click shows its effect."""
    fresh.desk.ahead = -60.0
    offer = message("spam", 100)
    fresh.desk.deliver(offer)
    clicks.menu("History")
    clicks("link", "Undo …")
    assert "1 move" in clicks.page.locator("main").inner_text()
    clicks("button", "Undo the ticked acts")
    assert (fresh.desk.where(offer), clicks.number <= 3) == (["INBOX"], True)


def test_take_over_a_cutoff(fresh: Chromium, clicks: Clicks) -> None:
    """Another cutoff is in force by three clicks at most."""
    clicks.menu("How strict", "tune")
    if clicks.has_scripts:
        clicks.number += 1
        hills = clicks.page.locator(".hills")
        scale = float(hills.locator("svg").bounding_box()["width"]) / WIDTH
        hills.click(position={"x": x_of(0.99) * scale, "y": 5})
    else:
        clicks("link", "0.99")
    clicks("button", "Use 0.99 from now on")
    assert "The limit in force is 0.99" in clicks.page.locator("main").inner_text()
    assert fresh.desk.ledger.choices.over(fresh.desk.config).scoring.spam_cutoff == 0.99
    assert clicks.number <= 3


@pytest.mark.parametrize("way", ["row", "senders", "message", "form"])
def test_block_a_sender(fresh: Chromium, clicks: Clicks, way: str) -> None:
    """A sender is blocked by two clicks in a row of Senders, and by three from its page, from a message, or by form."""
    letter = message("ham", 100)
    fresh.desk.deliver(letter)
    address = _summary(fresh, letter).rpartition("(")[2].rstrip(")")
    if way == "message":
        clicks.page.reload()
        clicks("link", _summary(fresh, letter))
        clicks.number += 1
        clicks.page.locator("summary", has_text="Allow or block its sender").click()
        clicks("button", "Block")
    else:
        clicks.menu("Senders")
    if way == "row":
        clicks("button", "Block", within=f"tr:has-text('{address}')")
    if way == "senders":
        clicks("link", address)
        clicks("button", "Block")
    if way == "form":
        clicks.number += 1
        clicks.page.locator("summary", has_text="Allowed and blocked").click()
        clicks.page.locator("#value").fill(address)
        clicks("button", "Block", within="#chosen")
    assert f"block {address}" in clicks.page.locator("[role=status]").inner_text()
    assert [choice.value for choice in fresh.desk.ledger.choices.standing()] == [address]
    assert clicks.number <= (2 if way == "row" else 3)


@pytest.mark.parametrize("way", ["file", "text"])
def test_try_a_message(fresh: Chromium, clicks: Clicks, tmp_path: Path, way: str) -> None:
    """A message is tried by three clicks at most on the pages, from its file or pasted, and nothing is recorded."""
    file, last = tmp_path / "a message.eml", fresh.desk.ledger.journal.newest_id()
    file.write_bytes(message("spam", 100))
    clicks.menu("Try")
    clicks.number += 1
    if way == "file":
        with clicks.page.expect_file_chooser() as files:
            clicks.page.locator("#file").click()
        files.value.set_files(file)
    else:
        clicks.page.locator("#text").click()
        clicks.page.keyboard.insert_text(file.read_text("utf-8"))
    clicks("button", "Try it")
    assert "spam" in clicks.page.locator("#verdict").inner_text()
    assert (fresh.desk.ledger.journal.newest_id(), clicks.number <= 3) == (last, True)


def test_find_mislabelled_mail(fresh: Chromium, clicks: Clicks) -> None:
    """Mail that is filed wrongly is found by two clicks at most, and put right by two more."""
    wrong = message("spam", 100)
    training.learn(fresh.desk.ledger, read(wrong), Label.HAM, "a test", fresh.desk.now(), how=How.HAND)
    clicks.menu("Wrong folder?", "audit")
    assert clicks.page.locator("h1").inner_text() == "1 probably in the wrong folder"
    assert clicks.number <= 2
    clicks("radio", "Spam")
    clicks.number += 1
    clicks.page.locator("[data-save]").click()
    assert fresh.desk.label(wrong) == (Label.SPAM, False)


@pytest.mark.parametrize("page", ["", "audit"])
def test_answer_what_init_doubts(fresh: Chromium, page: str) -> None:
    """One click says that mail which `init` doubts is spam, and one more moves it; a phone and axe have no trouble."""
    doubted = [message("spam", 100), message("spam", 101)]
    for content in doubted:
        fresh.desk.deliver(content, "Archive")
        learned = training.learn(fresh.desk.ledger, read(content), Label.HAM, "a test", 1.0, how=How.SEEN)
        assert learned is not None
    sift = [Relabel(read(one).digest, Label.HAM, False, None, True, "a test", How.HAND) for one in doubted]
    training.relabel(fresh.desk.ledger, sift, 1.0)
    with fresh.window(viewport={"width": 360, "height": 800}) as window:
        window.go("audit")
        window.go(page)
        assert window.violations() == []
        assert window.sideways() == 0
        window.page.get_by_role("button", name="The ticked ones are spam").click()
        assert {fresh.desk.label(one) for one in doubted} == {(Label.SPAM, False)}
        assert [fresh.desk.where(one) for one in doubted] == [["Archive"]] * 2
        window.page.get_by_role("button", name="Move the 2 to Junk").click()
        assert "2 moved to Junk" in window.page.locator("[role=status]").first.inner_text()
        assert [fresh.desk.where(one) for one in doubted] == [["Junk"]] * 2
        window.is_clean()


def test_save_by_a_key(fresh: Chromium) -> None:
    """The answers of Review and Audit are saved by a key."""
    fresh.desk.ahead = -60.0
    fresh.desk.deliver(of_a_shop(1))
    with fresh.window() as window:
        window.go("review")
        window.page.keyboard.press("j")
        window.page.keyboard.press("s")
        with window.page.expect_navigation():
            window.page.keyboard.press("Control+Enter")
        assert fresh.desk.label(of_a_shop(1)) == (Label.SPAM, False)
        window.is_clean()
