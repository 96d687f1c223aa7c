"""A person's acts on the pages: each happens in the mailbox once, and can be undone."""

import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts import training, withheld
from spamnb.acts.answers import ON_A_PAGE
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.port import Relabel
from spamnb.mail.excerpt import excerpt
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations
from spamnb.maildir.folders import find_folders
from spamnb.rules.acquaintances import KNOWN_FIRST
from spamnb.web import action_ids
from tests.ledger.test_choices import choose, in_force
from tests.lessons import Taught, learn
from tests.web.desk import Answer, Browser, WebDesk, all_routes

HAM, SPAM = Label
LETTER, OFFER = message("ham", 100), message("spam", 100)


def undo_of(answer: Answer) -> list[str]:
    """The actions that the button in the flash takes back."""
    return answer.tree.xpath("//*[@role='status']//input[@name='id']/@value")


def test_not_spam(desk: WebDesk) -> None:
    """A message that was moved to Junk is brought back and learned as ham by one button, and by one taken back."""
    desk.deliver(OFFER)
    assert desk.where(OFFER) == ["Junk"]
    number = desk.number_of(OFFER)
    page = desk.browser.get("/history")
    assert page.tree.xpath(f"//form[@action='m/{number}/teach']//input[@name='label']/@value") == ["ham"]
    after = desk.browser.follow(desk.browser.post(f"/m/{number}/teach", label="ham", back="history?show=spam"))
    assert after.path == "/history"
    assert "Learned as ham, moved to INBOX" in after.words
    assert (desk.where(OFFER), desk.label(OFFER)) == (["INBOX"], (HAM, False))
    desk.work()
    assert desk.where(OFFER) == ["INBOX"]
    assert "You corrected 1 verdict." in desk.browser.get("/").words
    undone = desk.browser.follow(desk.browser.post("/undo", id_=undo_of(after), back="history"))
    assert (desk.where(OFFER), desk.label(OFFER)) == (["Junk"], (None, False))
    assert "You corrected" not in desk.browser.get("/").words
    again = desk.browser.follow(desk.browser.post("/undo", id_=undo_of(undone), back="history"))
    assert "back" in again.words
    assert (desk.where(OFFER), desk.label(OFFER)) == (["INBOX"], (HAM, False))
    desk.work()
    assert desk.where(OFFER) == ["INBOX"]
    assert desk.ledger.lessons.verify() == []


def test_the_move_alone_is_undone(desk: WebDesk) -> None:
    """The page of a message that the filter has moved takes the move back, and nothing is learned from that."""
    desk.deliver(OFFER)
    page = desk.browser.get(f"/m/{desk.number_of(OFFER)}")
    (button,) = page.tree.xpath("//div[contains(@class, 'card')]//button[text()='Undo the move only']")
    desk.browser.post("/undo", id_=button.xpath("../input[@name='id']/@value"))
    desk.work()
    assert (desk.where(OFFER), desk.label(OFFER)) == (["INBOX"], None)
    assert "Undo the move only" not in desk.browser.get(f"/m/{desk.number_of(OFFER)}").words


def test_spam(desk: WebDesk) -> None:
    """A message in the inbox is moved to Junk and learned as spam by one button; pressed twice, it is learned once."""
    desk.deliver(LETTER)
    number = desk.number_of(LETTER)
    for _ in range(2):
        assert desk.browser.post(f"/m/{number}/teach", label="spam").status == 303
    assert (desk.where(LETTER), desk.label(LETTER)) == (["Junk"], (SPAM, False))
    learned = [one for one in desk.ledger.journal.of_message(number) if one.kind == "learned"]
    assert [(one.after, one.why, one.how) for one in learned] == [(SPAM, ON_A_PAGE, How.HAND)]
    desk.work()
    assert desk.where(LETTER) == ["Junk"]


def test_gone_and_learned(desk: WebDesk) -> None:
    """A message whose file is gone keeps the tokens that it was learned with: its page says why."""
    path = desk.deliver(LETTER, "Archive", "S")
    desk.browser.post(f"/m/{desk.number_of(LETTER)}/teach", label="ham")
    path.unlink()
    desk.work()
    number = desk.number_of(LETTER)
    page = desk.browser.get(f"/m/{number}")
    assert "Its file is gone: these are the words that the filter learned from it" in page.words
    assert desk.browser.post(f"/m/{number}/teach", label="spam").status == 303
    assert desk.label(LETTER) == (SPAM, False)


def test_gone_and_never_learned(desk: WebDesk) -> None:
    """A message that is gone and was never learned cannot be; the page says so, and nothing is changed."""
    path = desk.deliver(LETTER)
    path.unlink()
    desk.work()
    number = desk.number_of(LETTER)
    page = desk.browser.get(f"/m/{number}")
    assert "no longer in a watched folder" in page.words
    assert "Spam: learn it" in page.words and "move it" not in page.words, "there is no file to move"
    last = desk.ledger.journal.newest_id()
    answer = desk.browser.post(f"/m/{number}/teach", label="spam")
    assert (answer.status, "nothing was learned" in answer.words) == (409, True)
    assert desk.ledger.journal.newest_id() == last


def test_forget(desk: WebDesk) -> None:
    """A person can forget a lesson."""
    desk.deliver(LETTER)
    number = desk.number_of(LETTER)
    desk.browser.post(f"/m/{number}/teach", label="ham")
    assert "Forgotten" in desk.browser.follow(desk.browser.post(f"/m/{number}/forget")).words
    assert desk.label(LETTER) == (None, False)
    assert desk.browser.post(f"/m/{number}/forget").status == 409


def test_unsure_says_both(desk: WebDesk) -> None:
    """A message that is neither can be called either, on its own line."""
    desk.ledger.messages.judged(
        desk.ledger.messages.ensure(b"x" * 16, "half (a@b.example)").id, "unsure", 0.5, desk.now()
    )
    folder = desk.ledger.locations.folder(desk.ledger.locations.mailbox(str(desk.roots[0]))[0], "INBOX")
    number = desk.ledger.messages.ensure(b"x" * 16, "").id
    desk.ledger.journal.judged(number, (folder, "x"), "unsure", 0.5, "a test", desk.now(), how=How.MAILDIR)
    page = desk.browser.get("/history?show=unsure")
    assert page.tree.xpath(f"//form[@action='m/{number}/teach']//input[@name='label']/@value") == ["ham", "spam"]


def test_take_back_all_since(desk: WebDesk) -> None:
    """Everything since an act is shown before it is taken back; what happens while one looks is left out."""
    offers = [message("spam", number) for number in range(100, 104)]
    for offer in offers:
        desk.deliver(offer)
        desk.ahead += 60
    first = next(one for one in desk.ledger.journal.of_message(desk.number_of(offers[1])) if one.kind == "moved")
    desk.paths(offers[3], "Junk")[0].unlink()
    page = desk.browser.get(f"/undo?since={first.id}")
    assert "2 moves" in page.words and "lesson" not in page.words
    assert "1 more cannot be undone" in page.words and "no longer in Junk" in page.words
    starts = page.tree.xpath("//a[starts-with(text(), 'Start from here')]/@href")
    lines = page.tree.xpath("//ol[@class='lines acted']/li")
    assert (len(starts), len(lines)) == (2, 3), "from the oldest one on is what the page shows already"
    assert "1 move" in desk.browser.get("/" + starts[-1]).words
    desk.deliver(message("spam", 110))
    form = {name: page.tree.xpath(f"//input[@name='{name}']/@value")[0] for name in ("since", "upto", "back", "moves")}
    after = desk.browser.follow(desk.browser.post("/undo", **form))
    assert "1 could not be undone" in after.words
    assert [desk.where(offer) for offer in offers] == [["Junk"], ["INBOX"], ["INBOX"], []]
    assert desk.where(message("spam", 110)) == ["Junk"]
    assert desk.browser.post("/undo", **form).status == 409


def test_take_back_from_an_hour_on(desk: WebDesk) -> None:
    """The history has the hours of each day; each leads to the undo of all since then, and of no more."""
    offers = [message("spam", number) for number in range(100, 103)]
    desk.ahead -= desk.now() % 3600 - 600
    for offer in offers:
        desk.deliver(offer)
        desk.ahead += 3600
    page = desk.browser.get("/history?show=moved")
    hours = page.tree.xpath("//a[@class='tick']/@href")
    assert [int(link.rpartition("=")[2]) % 3600 for link in hours] == [0, 0, 0]
    assert [len(hour.xpath(".//li[@data-row]")) for hour in page.tree.xpath("//div[@class='hour']")] == [1, 1, 1]
    preview = desk.browser.get(f"/{hours[1]}")
    assert "2 moves" in preview.words
    form = {name: preview.tree.xpath(f"//input[@name='{name}']/@value")[0] for name in ("at", "upto", "back", "moves")}
    desk.browser.follow(desk.browser.post("/undo", **form))
    assert [desk.where(offer) for offer in offers] == [["Junk"], ["INBOX"], ["INBOX"]]
    page = desk.browser.get("/history?show=undone")
    (line, *_) = page.tree.xpath("//li[contains(@class, 'undone')]")
    (link,) = line.xpath(".//b/following-sibling::a")
    undoing = desk.ledger.journal.get(int(link.get("href").rpartition("#a")[2]))
    assert undoing is not None and undoing.takes_back == int(line.get("id")[1:])
    assert desk.browser.get("/" + link.get("href").partition("#")[0]).tree.xpath(f"//li[@id='a{undoing.id}']")
    for path in desk.roots[0].glob(".Junk/*/*"):
        path.unlink()
    words = desk.browser.get(f"/undo?at={int(desk.now()) - 86_400}").words
    assert "There is nothing to undo" not in words and "1 more cannot be undone" in words
    assert "There is nothing to undo" in desk.browser.get(f"/undo?at={int(desk.now()) + 60}").words


def test_undo_the_last_hour_and_today(desk: WebDesk) -> None:
    """One button of the history leads to an undo of the last hour, or of today: moves and lessons have a box each."""
    desk.go_to_noon()
    old, moved, taught = message("spam", 100), message("spam", 101), message("ham", 102)
    desk.deliver(old)
    desk.ahead += 2 * 3600
    desk.deliver(moved)
    desk.deliver(taught)
    desk.browser.post(f"/m/{desk.number_of(taught)}/teach", label="ham")
    links = desk.browser.get("/history").tree.xpath("//div[@class='heading']//a/@href")
    assert links == ["undo"]
    assert _boxes(desk.browser.get("/undo?span=today")) == {"moves": ("2 moves", True), "lessons": ("1 lesson", False)}
    page = desk.browser.get("/undo")
    assert page.tree.xpath("//a[@aria-current='true' and not(ancestor::nav)]/text()") == ["The last hour"]
    assert _boxes(page) == {"moves": ("1 move", True), "lessons": ("1 lesson", False)}
    assert desk.browser.post("/undo", **_fields(page)).status == 400, "nothing is ticked"
    assert desk.browser.post("/undo", **_fields(page), lessons=1).status == 303
    assert (desk.label(taught), desk.where(moved)) == ((None, False), ["Junk"])
    page = desk.browser.get("/undo?span=hour")
    assert _boxes(page) == {"moves": ("1 move", True)}
    assert desk.browser.post("/undo", **_fields(page), moves=1).status == 303
    assert (desk.where(moved), desk.where(old)) == (["INBOX"], ["Junk"])
    assert desk.browser.post("/undo", **_fields(page), moves=1).status == 409, "it is undone by now"
    page = desk.browser.get("/undo?span=hour")
    assert "There is nothing to undo since" in page.words and not _boxes(page)
    for query in ("span=nonsense", "at=99999999999999", "since=0"):
        assert desk.browser.get(f"/undo?{query}").status == 404, query


def _boxes(page: Answer) -> dict[str, tuple[str, bool]]:
    """The boxes of Undo, by their names: what each says, and whether it is ticked."""
    return {
        box.get("name"): (box.getparent().xpath("string(.//b)"), box.get("checked") is not None)
        for box in page.tree.xpath("//main//input[@type='checkbox']")
    }


def _fields(page: Answer) -> dict[str, str]:
    """Return the fields that the form of Undo sends beside its boxes."""
    return {field.get("name"): field.get("value") for field in page.tree.xpath("//main//form//input[@type='hidden']")}


def test_a_persons_own_moves_are_not_ticked(desk: WebDesk) -> None:
    """What a person has moved on a page belongs to the lessons, and is not ticked; the filter's moves are."""
    desk.go_to_noon()
    desk.ahead += 2 * 3600
    missed, caught = message("ham", 101), message("spam", 102)
    for content in (missed, caught):
        desk.deliver(content)
    desk.browser.post(f"/m/{desk.number_of(missed)}/teach", label="spam")
    assert (desk.where(missed), desk.where(caught)) == (["Junk"], ["Junk"])
    page = desk.browser.get("/undo")
    assert _boxes(page) == {"moves": ("1 move", True), "lessons": ("1 lesson, 1 move", False)}
    desk.browser.post("/undo", **_fields(page), moves=1)
    assert (desk.where(missed), desk.where(caught)) == (["Junk"], ["INBOX"])
    desk.browser.post("/undo", **_fields(page), lessons=1)
    assert (desk.label(missed), desk.where(missed)) == ((None, False), ["INBOX"])


def test_undo_lessons_alone(desk: WebDesk) -> None:
    """An hour without a move has no box for moves; an answer that taught nothing is counted."""
    desk.ahead += 2 * 3600
    for number in range(3):
        training.learn(desk.ledger, read(message("ham", 100 + number)), HAM, "a test", desk.now(), how=How.HAND)
    desk.ledger.record_lessons()
    page = desk.browser.get("/undo")
    assert _boxes(page) == {"lessons": ("3 lessons", False)}
    known = desk.ledger.messages.ensure(b"m", "a letter").id
    desk.ledger.journal.settled(known, "a test", desk.now(), desk.ledger.journal.newest_id())
    choose(desk.ledger, "block", "*@shop.example", desk.now())
    later = desk.browser.get("/undo")
    assert _boxes(later)["lessons"] == ("3 lessons, 1 answer", False)
    assert _boxes(later)["choices"] == ("1 choice", False)
    after = desk.browser.follow(desk.browser.post("/undo", **_fields(page), lessons=1, choices=1))
    assert after.words.startswith("3 forgotten")
    assert in_force(desk.ledger) == [("block", "*@shop.example")], "it was made after the page was shown"


def test_lessons_of_init_are_apart(desk: WebDesk) -> None:
    """The lessons of `init` have a box of their own, and no box but that of the moves is ticked."""
    desk.ahead += 2 * 3600
    some = Batch.of([read(message("ham", number)) for number in range(100, 103)])
    training.learn_batches(desk.ledger, [some], HAM, "was in a ham folder at the start", desk.now(), how=How.SEEN)
    desk.browser.post(f"/m/{desk.number_of(message('ham', 100))}/teach", label="spam")
    page = desk.browser.get("/undo")
    assert _boxes(page) == {"lessons": ("1 lesson", False), "init": ("2 lessons of spamnb init", False)}
    assert "1 more cannot be undone: the message was learned again since" in page.words
    desk.browser.post("/undo", **_fields(page), lessons=1)
    assert desk.label(message("ham", 100)) == (HAM, False), "it is as init has learned it"
    page = desk.browser.follow(desk.browser.post("/undo", **_fields(desk.browser.get("/undo")), init=1))
    assert page.words.startswith("3 forgotten")


def learn_a_thousand(desk: WebDesk) -> int:
    """The filter learns 1,000 messages; the first of these actions."""
    before = desk.ledger.journal.newest_id()
    some = [Reading(number.to_bytes(16, "big"), "a summary", {"word": 1}) for number in range(1000)]
    training.learn_batches(desk.ledger, [Batch.of(some)], HAM, "a test", desk.now(), how=How.HAND)
    return before + 1


@pytest.mark.thorough
def test_many_are_undone_and_done_again(desk: WebDesk) -> None:
    """The page after an act lists all its actions, however many, and its button undoes all of them."""
    first = learn_a_thousand(desk)
    page = desk.browser.follow(desk.browser.post("/undo", since=first, upto=desk.ledger.journal.newest_id(), lessons=1))
    assert page.words.startswith("1000 forgotten Do it again")
    ids = undo_of(page)
    assert sum(map(len, ids)) < 100, "they are written short"
    page = desk.browser.follow(desk.browser.post("/undo", id_=ids))
    assert page.words.startswith("1000 learned back as ham")
    assert desk.ledger.lessons.counts(["word"]).messages.tolist() == [[1000], [0]]


def test_more_than_an_address_can_say(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If not all actions fit in the address, the page says how many are left out, and that History has them."""
    first = learn_a_thousand(desk)
    monkeypatch.setattr(action_ids, "MOST", 600)
    page = desk.browser.follow(desk.browser.post("/undo", since=first, upto=desk.ledger.journal.newest_id(), lessons=1))
    assert page.words.startswith("600 forgotten and 400 more: see History")


@pytest.mark.parametrize("written", ["1-999999999999999", "2-1", "1-", "-1", "1-2-3", "1..2", "1-4000.5001-5002"])
def test_an_address_of_no_act(desk: WebDesk, written: str) -> None:
    """An address that names actions in no way that the pages write is refused, however many they would be."""
    assert desk.browser.get(f"/history?did={written}").status == 400
    assert desk.browser.post("/undo", id_=written).status == 400


@given(st.sets(st.integers(1, 3000)) | st.sets(st.integers(1, 10**9), max_size=2000))
def test_runs(ids: set[int]) -> None:
    """Ids are written as runs, the lowest first, up to the limit; reading gives the same ids."""
    text, left_out = action_ids.written(ids)
    told = action_ids.read(text) if text else []
    assert told == sorted(ids)[: len(told)]
    assert len(told) + left_out == len(ids)
    assert len(text) <= 3000
    assert left_out == 0 or len(text) > 2900


def test_nothing_to_take_back(desk: WebDesk) -> None:
    """An action that is not in the history cannot be taken back, and the page says what to do."""
    assert desk.browser.get("/undo?since=999999").status == 404
    assert desk.browser.post("/undo", id_=999999).status == 404
    assert desk.browser.post("/undo").status == 409
    assert desk.browser.post("/undo", id_="x").status == 400


def test_pause_and_resume(desk: WebDesk) -> None:
    """Moving is stopped and started again; every page shows the stop, and withheld mail can be moved."""
    assert "Moving has stopped" not in desk.browser.get("/history").words
    desk.browser.post("/pause", span="1h")
    desk.deliver(OFFER)
    assert desk.where(OFFER) == ["INBOX"]
    assert "Moving is paused until" in desk.browser.get("/history").words
    after = desk.browser.follow(desk.browser.post("/resume", move=1))
    assert desk.where(OFFER) == ["Junk"]
    assert "paused" not in after.words and "Moved to Junk" in after.words


def test_what_the_service_moves_meanwhile(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves by the service during a person's act are not shown as the person's, nor undone with it."""
    new, moved = message("spam", 101), withheld.move_withheld

    def move_withheld(*asked: Any, **named: Any) -> Iterator[withheld.Reviewed]:
        desk.deliver(new)
        yield from moved(*asked, **named)

    monkeypatch.setattr(withheld, "move_withheld", move_withheld)
    desk.browser.post("/pause")
    desk.deliver(OFFER)
    after = desk.browser.follow(desk.browser.post("/resume", move=1))
    assert (desk.where(OFFER), desk.where(new)) == (["Junk"], ["Junk"])
    assert len(undo_of(after)) == 1
    desk.browser.post("/undo", id_=undo_of(after))
    assert (desk.where(OFFER), desk.where(new)) == (["INBOX"], ["Junk"])


def test_the_breaker_is_open(desk: WebDesk) -> None:
    """If the filter has stopped by itself, every page says so first, with the next step."""
    desk.ledger.state.stopped_at = desk.now()
    words = desk.browser.get("/").words
    assert words.startswith("Moving has stopped (")
    assert "Move again" in words
    desk.browser.post("/resume")
    assert "Moving has stopped" not in desk.browser.get("/").words


def test_one_answer_is_not_told_twice(desk: WebDesk) -> None:
    """An answer is one line in the history, on the first page, the message's page and Undo; so is its undo."""
    desk.ahead += 2 * 3600
    desk.deliver(LETTER)
    number = desk.number_of(LETTER)
    said = desk.browser.follow(desk.browser.post(f"/m/{number}/teach", label="spam"))
    for path in ("/", "/history", f"/m/{number}"):
        assert _told(desk, 2, path) == ["you: spam, moved to Junk", "filter: stays in INBOX"], path
    assert _told(desk, 2, "/undo") == ["you: spam, moved to Junk"]
    assert _told(desk, 2, "/history?show=moved") == ["you: spam, moved to Junk"]
    assert _told(desk, 2, "/history?show=learned")[0] == "you: spam, moved to Junk"
    line = desk.browser.get("/history").tree.xpath("//li[@data-row]")[0]
    assert line.xpath(".//form[@action='undo']/input[@name='id']/@value") == undo_of(said)
    undone = desk.browser.follow(desk.browser.post("/undo", id_=undo_of(said), back="history"))
    assert _told(desk, 3) == [
        *("you: undo, moved back to INBOX, no longer learned", "you: spam, moved to Junk", "filter: stays in INBOX")
    ]
    desk.browser.post("/undo", id_=undo_of(undone), back="history")
    assert _told(desk, 2)[0] == "you: done again, spam, moved to Junk"
    desk.browser.post(f"/m/{number}/forget")
    assert _told(desk, 1) == ["you: forgotten"]


def test_who_did_it(desk: WebDesk) -> None:
    """A line says whether a person did the act in a mail program, or the filter by itself."""
    desk.deliver(OFFER)
    desk.take(OFFER, "Junk", "INBOX")
    assert _told(desk, 2) == ["you: ham", "filter: moved to Junk"]
    desk.deliver(trained := message("spam", 140), "TrainSpam")
    assert _told(desk, 1) == ["you: spam, moved to Junk"]
    desk.deliver(message("spam", 141), "Junk")
    assert _told(desk, 1) == ["filter: weakly spam, because it was there first"]
    answer = desk.browser.get("/history").tree.xpath("//li[@data-row][2]//form[@action='undo']/input/@value")[-1]
    desk.browser.post("/undo", id_=answer)
    assert (desk.where(trained), desk.label(trained)) == (["TrainSpam"], (None, False))


def test_what_silence_in_junk_has_taught(desk: WebDesk) -> None:
    """A line says whether mail in Junk is weakly spam because somebody left it there, or because nobody looks."""
    reasons = {How.SILENCE: "because you left it there", How.KEPT: "because nobody looks there"}
    for number, (how, why) in enumerate(reasons.items(), 142):
        raw = message("spam", number)
        training.learn_message(desk.ledger, raw, Label.SPAM, "a test", desk.now(), how=how, weak=True)
        assert _told(desk, 1) == [f"filter: weakly spam, {why}"]


def test_who_has_forgotten_it(desk: WebDesk) -> None:
    """A person may forget a lesson that the filter learned by itself, and the filter may forget one too."""
    for number in (141, 142):
        desk.deliver(message("spam", number), "Junk")
    desk.browser.post(f"/m/{desk.number_of(message('spam', 141))}/forget")
    assert _told(desk, 1) == ["you: forgotten"]
    lesson = desk.ledger.lessons.find(read(message("spam", 142)).digest)
    assert lesson is not None
    change = Relabel(lesson.digest, lesson.label, lesson.weak, None, True, "a test", lesson.how)  # as `reconsider` does
    training.relabel(desk.ledger, [change], desk.now())
    assert _told(desk, 1) == ["filter: forgotten"]


@pytest.mark.thorough
@pytest.mark.parametrize("show", ["", "moved", "learned"])
def test_an_act_is_on_one_page(desk: WebDesk, show: str) -> None:
    """An act whose actions are on two pages of the history is shown on the first alone, in any search."""
    letters = [message("ham", 100 + number) for number in range(40)]
    for letter in letters:
        desk.deliver(letter)
    says = {f"say.{desk.number_of(letter)}": "spam" for letter in letters}
    desk.browser.post("/review", **says)
    told, path = [], f"/history?show={show}"
    while path:
        page = desk.browser.get(path)
        lines = page.tree.xpath("//li[@data-row]")
        told += [
            line.xpath("string(.//span[@class='which']/a)")
            for line in lines
            if "you: spam, moved" in line.text_content()
        ]
        path = "".join(f"/{link}" for link in page.tree.xpath("//a[@rel='next']/@href"))
    assert len(told) == 40


def test_a_choice_in_the_history(desk: WebDesk) -> None:
    """A choice is a line of the history, without a way to a message, and is taken back as any act."""
    number = choose(desk.ledger, "block", "*@shop.example", desk.now())
    for path in ("/", "/history", f"/undo?since={number}"):
        page = desk.browser.get(path)
        assert (page.status, "block *@shop.example" in page.words) == (200, True), path
        assert not page.tree.xpath("//a[contains(@href, 'm/0')]")
    assert _boxes(page)["choices"] == ("1 choice", False)
    for query in ("q=shop.EX", "show=chosen"):
        assert _told(desk, 2, f"/history?{query}") == ["you: chosen"], query
    desk.browser.post("/undo", id_=[str(number)], back="history")
    assert in_force(desk.ledger) == []
    assert "no longer chosen" in desk.browser.get("/history").words
    desk.browser.post("/undo", id_=[str(desk.ledger.journal.newest_id())], back="history")
    assert in_force(desk.ledger) == [("block", "*@shop.example")]
    assert _told(desk, 3) == ["you: done again, chosen", "you: undo, no longer chosen", "you: chosen"]


def _told(desk: WebDesk, most: int, path: str = "/history") -> list[str]:
    """Return the acts in the newest lines of a page, the newest first."""
    spans = desk.browser.get(path).tree.xpath("//ol[starts-with(@class, 'lines')]//span[@class='how']")
    return [str(span.xpath("string()")).split(" · ")[0] for span in spans[:most]]


def test_an_answer_is_taken_back_and_given_again(desk: WebDesk) -> None:
    """Only an undone answer makes the page say that a question will come again; a redone one does not."""
    message = desk.ledger.messages.ensure(b"m", "a letter").id
    answer = desk.ledger.journal.settled(message, "a test", desk.now(), desk.ledger.journal.newest_id())
    desk.browser.post("/undo", id_=[str(answer)], back="history")
    assert _told(desk, 2) == ["you: undo, ask again", "you: do not ask again"]
    page = desk.browser.follow(desk.browser.post("/undo", id_=[str(answer + 1)], back="history"))
    assert _told(desk, 1) == ["you: done again, do not ask again"]
    assert "Do it again" not in page.words, "it is done again"


def test_search_and_show(desk: WebDesk) -> None:
    """The history can be searched by subject and sender, limited by kind, and read in pages without gaps."""
    for number in range(100, 130):
        desk.deliver(message("spam" if number % 3 else "ham", number))
    found = []
    path = "/history"
    while True:
        page = desk.browser.get(path)
        found += page.tree.xpath("//li[@data-row]/@id")
        if not (rest := page.tree.xpath("//a[@rel='next']/@href")):
            break
        path = f"/{rest[0]}"
    assert found == [f"a{one.action.id}" for one in desk.ledger.lines.page(1000)]
    sender = desk.ledger.messages.get(desk.number_of(message("spam", 101))).summary.split("(")[1].rstrip(")")
    assert len(desk.browser.get(f"/history?q={sender}").tree.xpath("//li[@data-row]")) == 1
    assert "Nothing in the history matches" in desk.browser.get("/history?q=%25%25").words
    moved = desk.browser.get("/history?show=moved")
    assert len(moved.tree.xpath("//li[@data-row]")) == 20
    assert moved.tree.xpath("//*[@class='chips']//a[@aria-current]/text()") == ["Moved"]
    desk.browser.post(f"/m/{desk.number_of(message('spam', 101))}/teach", label="ham")
    assert len(desk.browser.get("/history?show=corrected").tree.xpath("//li[@data-row]")) == 1


def test_json(desk: WebDesk) -> None:
    """Overview, history and a message are there for programs too."""
    import json

    desk.deliver(OFFER)
    number = desk.number_of(OFFER)
    overview = json.loads(desk.browser.get("/overview.json").text)
    assert (overview["ham"], overview["spam"], overview["last_30_days"]["spam"]) == (30, 30, 1)
    history = json.loads(desk.browser.get("/history.json").text)
    assert history["actions"][0]["kind"] == "moved"
    one = json.loads(desk.browser.get(f"/m/{number}.json").text)
    assert (one["verdict"], one["learned_as"]) == ("spam", None)


def test_all_routes_say_what_they_are() -> None:
    """No two pages have one address."""
    keys = [(route.method, route.pattern) for route in all_routes()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("page", ["/m/999999", "/m/0", "/m/", "/nothing", "/m/1/x", "/..", "/static/x", "/%00"])
def test_pages_that_are_not_there(desk: WebDesk, page: str) -> None:
    """An address without a page shows a page that says so."""
    answer = desk.browser.get(page)
    assert answer.status == 404
    assert answer.tree.xpath("//nav//a")


def test_two_mailboxes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """If a person has several mailboxes, each line names its own, and one can be chosen."""
    desk = WebDesk(tmp_path_factory.mktemp("two"), "home", "work")
    try:
        desk.put("spam", "INBOX", 0)
        desk.work()
        page = desk.browser.get("/history")
        assert page.tree.xpath("//select[@name='mailbox']/option/@value") == ["", "home", "work"]
        assert "home" in page.tree.xpath("//li[@data-row]")[0].text_content()
        assert desk.browser.get("/history?mailbox=home").tree.xpath("//li[@data-row]")
        assert not desk.browser.get("/history?mailbox=work").tree.xpath("//li[@data-row]")
    finally:
        desk.stop()
        desk.ledger.close()


def test_a_browser_of_each_kind(desk: WebDesk) -> None:
    """Read-only pages show the same, without buttons."""
    desk.deliver(OFFER)
    browser = Browser(desk.application(read_only=True))
    assert not browser.get("/history").tree.xpath("//button[@data-say]")
    assert desk.browser.get("/history").tree.xpath("//button[@data-say]")


def test_numbers_of_what_was_done(desk: WebDesk) -> None:
    """The outcome of several answers has the number of each kind of act, even if it is 1."""
    letters = [message("ham", 100), message("spam", 101)]
    for letter in letters:
        desk.deliver(letter)
    says = {f"say.{desk.number_of(letter)}": "spam" for letter in letters}
    after = desk.browser.follow(desk.browser.post("/review", **says))
    assert "2 learned as spam, 1 moved to Junk" in after.words


def test_a_long_text(desk: WebDesk) -> None:
    """A message shows 400 characters at once, to the end of a word, and the rest by a click without a script."""
    words = " ".join(f"word{number}" for number in range(200))
    date = format_datetime(datetime(2026, 1, 27, 20).astimezone())
    letter = f"From: a@b.example\nDate: {date}\nSubject: long\n\n{words}\n".encode()
    desk.deliver(letter)
    page = desk.browser.get(f"/m/{desk.number_of(letter)}")
    first, rest = page.tree.xpath("//div[@class='text']")
    assert 380 < len(first.text_content().strip()) <= 400
    assert " ".join(f"{first.text_content()} {rest.text_content()}".split()) == words
    assert rest.getparent().tag == "details" and "word199" in rest.text_content()
    assert "From a@b.example written 27 January" in page.words


def test_the_words_that_decided(desk: WebDesk) -> None:
    """The deciding words are marked in the text, differently for spam and ham, with their numbers."""
    desk.deliver(OFFER)
    page = desk.browser.get(f"/m/{desk.number_of(OFFER)}").tree
    marks = page.xpath("//div[@class='text']//mark")
    assert {mark.get("class") for mark in marks} == {"spam"}
    assert all(re.fullmatch(r"in \d+ spam, (no|\d+) ham", mark.get("title")) for mark in marks)
    text = page.xpath("string(//div[@class='text'])")
    assert text.split() == excerpt(OFFER, 10_000).text.split(), "nothing of it is lost"
    legend = page.xpath("//p[starts-with(., 'Marked words')]/mark")
    assert [(mark.get("class"), mark.text) for mark in legend] == [("spam", "point to spam"), ("ham", "point to ham")]


def test_a_line_without_end(desk: WebDesk) -> None:
    """A text of one line is shown to its end, as far as any text is."""
    words = " ".join(f"word{number}" for number in range(1000))
    letter = f"From: a@b.example\nSubject: long\n\n{words}\n".encode()
    desk.deliver(letter)
    assert "word999" in desk.browser.get(f"/m/{desk.number_of(letter)}").words


def test_the_order_of_a_message(desk: WebDesk) -> None:
    """A message's page has verdict, buttons, From and date, text, reasons, history, and last, folded, its teachers."""
    desk.deliver(OFFER)
    page = desk.browser.get(f"/m/{desk.number_of(OFFER)}").tree
    said, text = page.xpath("//div[@class='card said']")[0], page.xpath("//div[@class='text']")[0]
    (sent,) = page.xpath("//p[@class='sent']")
    assert said.xpath(".//button[@data-say='ham']")
    order = list(page.iter())
    headings = page.xpath("//main//h2")
    assert [heading.text for heading in headings] == ["Why", "Its history", "Where its words were learned"]
    places = [order.index(one) for one in (said, sent, text, *headings)]
    assert places == sorted(places)
    fold = headings[-1].getparent().getparent()
    assert (fold.tag, fold.get("open")) == ("details", None)


def test_a_spam_that_was_caught(desk: WebDesk) -> None:
    """The page of a spam in Junk says once where it is and how sure its verdict was, and recommends no button."""
    desk.deliver(OFFER)
    page = desk.browser.get(f"/m/{desk.number_of(OFFER)}")
    assert "99.9 % sure when it came: ■ spam." in page.words.replace("■", "■ ").replace("\u00a0", " ")
    assert page.words.count("It is in Junk, unread.") == 1
    assert page.words.count("moved to Junk") == 1 and "moved by the filter" not in page.words
    assert not page.tree.xpath("//main//button[@class='main']")
    bars = [float(bar.get("width")) for bar in page.tree.xpath("//table[@class='clues']//rect")]
    assert (max(bars), min(bars) >= 1) == (100, True)
    assert page.tree.xpath("//main//button[@data-say='ham']")


def test_where_two_files_are(desk: WebDesk) -> None:
    """If two files of a message are in one folder, its page names the folder once."""
    for _ in range(2):
        desk.deliver(OFFER, "Archive")
    words = desk.browser.get(f"/m/{desk.number_of(OFFER)}").words
    assert words.count("It is in Archive, unread.") == 1


@pytest.mark.parametrize(
    "date", ["", "now", "99 Foo 2026 99:99", "1 Jan 1 00:00:00 +9999", "1 Jan 99999 1:1 +0000", "\x00"]
)
def test_a_date_that_cannot_be_read(desk: WebDesk, date: str) -> None:
    """A message whose date cannot be read has a page without a date."""
    letter = f"From: a@b.example\nDate: {date}\nSubject: strange\n\nhello {date}\n".encode()
    desk.deliver(letter)
    page = desk.browser.get(f"/m/{desk.number_of(letter)}")
    assert (page.status, "written" in page.tree.xpath("string(//p[@class='sent'])")) == (200, False)


def test_mail_of_a_newcomer(desk: WebDesk) -> None:
    """The page of a message says whether its sender is known. In the folder for newcomers it may be ham or spam."""
    content = message("ham", 100).replace(b"@friends.example", b"@else.example")
    for number in range(KNOWN_FIRST):
        letter = Reading(bytes([number]), "hello", {"hello": 1}, Relations(f"friend{number}@b.example"))
        learn(desk.ledger, [Taught(letter, Label.HAM)])
    desk.stop()
    desk.apart = {"newcomers_folder": "New"}
    desk.start()
    desk.deliver(content)
    assert desk.where(content) == ["New"]
    number = desk.number_of(content)
    assert "You do not know its sender yet." in desk.browser.get(f"/m/{number}").words
    assert "1 of newcomers" in desk.browser.get("/").words
    labels = f"//form[@action='m/{number}/teach']//input[@name='label']/@value"
    assert desk.browser.get("/history").tree.xpath(labels) == ["ham", "spam"]
    desk.browser.post(f"/m/{number}/teach", label="ham")
    assert (desk.where(content), desk.label(content)) == (["INBOX"], (Label.HAM, False))
    assert "You know its sender: " in desk.browser.get(f"/m/{number}").words


def test_folders_are_offered(desk: WebDesk) -> None:
    """If a first letter was unsure, the first page offers a folder for such mail. One button makes it, one ends it."""
    said = "1 first letter of somebody new was unsure in the last 30 days."
    assert said not in desk.browser.get("/").words
    desk.deliver(b"From: who@else.example\nMessage-ID: <1@else.example>\n\nxyzzy\n")
    page = desk.browser.get("/")
    assert said in page.words
    (form,) = page.tree.xpath("//div[@class='offer soft small']//form")
    assert form.xpath("string(.//button)") == "Make the folder New"
    fields = {one.get("name"): one.get("value") for one in form.xpath(".//input")}
    after = desk.browser.follow(desk.browser.post("/choose", **fields))
    assert "Chosen: First letters go to New" in after.words and said not in after.words
    assert "New" in {folder.name for folder in find_folders(str(desk.roots[0]), "auto")}
    assert desk.ledger.choices.over(desk.config).mailboxes[0].newcomers_folder == "New"
    tune = Browser(desk.application(at_once=True))
    tune.get("/tune")
    assert "First letters go to New, chosen" in tune.get("/tune").words
    desk.browser.post("/choose/forget", value="newcomers_folder")
    assert desk.ledger.choices.over(desk.config).mailboxes[0].newcomers_folder is None
    assert "offer" not in Browser(desk.application(read_only=True)).get("/").tree.xpath("//form/@class")
