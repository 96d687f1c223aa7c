"""The pages Words, Senders and Health."""

from pathlib import Path

import pytest

from spamnb.base.label import How, Label
from spamnb.checkup.finding import Finding, ok, warning
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Senders
from spamnb.config.writing import render
from spamnb.mail.reading import Reading
from spamnb.maildir.messages import deliver
from tests.web.desk import Browser, WebDesk, pages_of

NOON = 1_800_000_000.0  # the begin of a minute


def test_telling_words(desk: WebDesk) -> None:
    """Each class has its telling words, ham left as everywhere, with their messages; a kind can be chosen."""
    page = desk.browser.get("/words")
    ham, spam = page.tree.xpath("//section[@class='card']")
    words = {word for word in ("prescription", "guaranteed") if word in spam.text_content()}
    assert words and not any(word in ham.text_content() for word in words)
    assert "friends.example" in ham.text_content()
    senders = desk.browser.get("/words?kind=sender")
    kinds = {one.text for one in senders.tree.xpath("//section//th[@scope='row']//span")}
    assert "the sender" in kinds
    assert not {"in the subject,", "a link to"} & kinds


def test_the_order_of_words(desk: WebDesk) -> None:
    """Words come before shapes, without the same words at a place; a bar is as long as the word guides the filter."""
    rows = desk.browser.get("/words").tree.xpath("//section[@class='card'][2]//tbody/tr")
    kinds = ["".join(row.xpath("th//span/text()")) for row in rows]
    shapes = [place for place, kind in enumerate(kinds) if "shape" in kind]
    assert shapes and max(place for place, kind in enumerate(kinds) if not kind) < min(shapes)
    assert not any("at the beginning" in kind or "at the end" in kind for kind in kinds)
    assert "letters and digits" in rows[shapes[0]].text_content()
    lengths = [float(row.xpath("string(.//rect/@width)")) for row in rows]
    assert max(lengths) == 100
    assert len(set(lengths)) > 3
    words = lengths[: shapes[0]]
    assert words == sorted(words, reverse=True)


def test_an_amount(desk: WebDesk) -> None:
    """An amount is shown as an example of its shape, with a link to the token."""
    desk.ledger.lessons.learn(
        [Reading(b"amount", "an amount", {"$dd,ddd": 1})], Label.SPAM, "a test", NOON, how=How.HAND
    )
    (row,) = desk.browser.get("/words?q=$dd,ddd").tree.xpath("//table//th[@scope='row']")
    assert " ".join(row.text_content().split()) == "an amount like $54,000"
    assert row.xpath(".//@href") == ["words?q=%24dd%2Cddd"]


def test_look_up(desk: WebDesk) -> None:
    """A word is found wherever it occurs, with words that begin with it, and the messages that taught it."""
    page = desk.browser.get("/words?q=Lunch")
    rows = page.tree.xpath("//table//th[@scope='row']")
    assert [" ".join(row.text_content().split()) for row in rows] == ["in the subject, lunch"]
    (load,) = page.tree.xpath("//@data-load")
    taught = desk.browser.get("/" + load)
    assert "Lunch on" in taught.text
    assert "subject:lunch" in desk.browser.get("/words?q=subject:lun").words
    assert "No learned message has it" in desk.browser.get("/words?q=zebra").words
    assert "learned messages has this word" in desk.browser.get("/words/teachers?q=zebra").words


def test_a_token_that_ends_in_a_blank(desk: WebDesk) -> None:
    """A token is found with the blanks at its ends, by which links name it; blanks that a person types do not count."""
    ending, word = Reading(b"ending", "an ending", {"4: of ": 1}), Reading(b"word", "a word", {"4: of": 1})
    desk.ledger.lessons.learn([ending], Label.HAM, "a test", NOON, how=How.HAND)
    (load,) = desk.browser.get("/words?q=4:%20of%20").tree.xpath("//@data-load")
    assert "an ending" in desk.browser.get("/" + load).text
    desk.ledger.lessons.learn([word], Label.HAM, "a test", NOON, how=How.HAND)
    (load,) = desk.browser.get("/words?q=4:%20of").tree.xpath("//@data-load")
    taught = desk.browser.get("/" + load).text
    assert "a word" in taught and "an ending" not in taught
    assert desk.browser.get("/words?q=%20Lunch%20").tree.xpath("//table//th[@scope='row']")


def number_of(desk: WebDesk, name: str) -> int:
    """A sender's number."""
    (found,) = desk.ledger.senders.page(1, name)
    return found.id


def test_senders(desk: WebDesk) -> None:
    """The sender of most mail comes first, with its verdicts and choices about it; a text finds senders."""
    desk.deliver(message("spam", 100))
    page = desk.browser.get("/senders")
    numbers = [int(cell.text) for cell in page.tree.xpath("//table//tr/td[1]")]
    assert numbers == sorted(numbers, reverse=True)
    found = desk.browser.get("/senders?q=promo100@")
    (row,) = found.tree.xpath("//tbody/tr")
    assert [cell.text_content().strip() for cell in row.xpath("td")[:2]] == ["1", "1 spam"]
    assert row.xpath(".//*[local-name()='rect']/@class") == ["bar spam"]
    buttons = [" ".join(button.text_content().split()) for button in row.xpath(".//button")]
    address = row.xpath("th")[0].text_content().strip()
    assert buttons == [f"Allow: {address}", f"Block: {address}"]
    blocked = desk.browser.follow(desk.browser.post("/choose", kind="block", value=address, back="senders?q=promo100@"))
    (row,) = blocked.tree.xpath("//tbody/tr")
    assert row.xpath("th/span")[0].text_content().strip() == "blocked"
    assert f"Forget that: {address}" in " ".join(row.text_content().split())
    assert "The history has no mail of such a sender" in desk.browser.get("/senders?q=zebra").words


def test_pages_of_senders(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages follow one another without a gap or an overlap."""
    monkeypatch.setattr("spamnb.web.pages.senders._ON_A_PAGE", 10)
    names, path = [], "/senders"
    while path:
        page = desk.browser.get(path)
        names += page.tree.xpath("//tbody/tr/th/a/bdi/text()")
        path = next((f"/{one}" for one in page.tree.xpath("//p[@class='pager']/a/@href")), "")
    assert len(names) == len(set(names)) == len(desk.ledger.senders.page(1000))


def test_the_configurations_lists(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows the configuration's senders, and where to change them."""
    config = Config((), desk.directory / "ledger", senders=Senders(allow=("friends.example",)))
    monkeypatch.setattr(type(desk), "config", property(lambda _: config))
    page = desk.browser.get("/senders?q=anna@friends")
    assert "ham by the configuration: friends.example" in page.tree.xpath("//tbody/tr")[0].text_content()
    assert "config.yaml" in page.words


def test_teach_all(desk: WebDesk) -> None:
    """All mail of a sender is taught at once, as the preview says; its undo restores everything."""
    contents = [message("spam", 100), message("spam", 100).replace(b"<spam.100@", b"<spam.other@")]
    for content in contents:
        desk.deliver(content)
    assert {folder for content in contents for folder in desk.where(content)} == {"Junk"}
    sender = number_of(desk, "promo100@")
    page = desk.browser.get(f"/senders/{sender}")
    assert "As ham: the filter would learn 2, and move 2." in page.words
    assert "As spam: the filter would learn 2, and move 0." in page.words
    ids = page.tree.xpath("(//form[contains(@action, 'teach')])[1]/input[@name='id']/@value")
    after = desk.browser.follow(desk.browser.post(f"/senders/{sender}/teach", label="ham", id=ids))
    assert [desk.label(content) for content in contents] == [(Label.HAM, False)] * 2
    assert [desk.where(content) for content in contents] == [["INBOX"]] * 2
    assert "As ham: the filter would learn 0, and move 0." in after.words
    undo = after.tree.xpath("//form[contains(@action, 'undo')]//input[@name='id']/@value")
    desk.browser.post("/undo", id=undo)
    assert [desk.label(content) for content in contents] == [(None, False)] * 2
    assert [desk.where(content) for content in contents] == [["Junk"]] * 2


def test_only_what_was_shown(desk: WebDesk) -> None:
    """Messages of a different sender, too many messages, and a label other than ham or spam are refused."""
    desk.deliver(message("spam", 100))
    sender, number = number_of(desk, "promo100@"), desk.number_of(message("spam", 100))
    before = desk.ledger.journal.newest_id()
    assert desk.browser.post(f"/senders/{sender}/teach", label="ham", id=[number, 1]).status == 400
    assert desk.browser.post(f"/senders/{sender}/teach", label="eggs", id=number).status == 400
    assert desk.browser.post(f"/senders/{sender}/teach", label="ham").status == 400
    assert desk.browser.post("/senders/9999/teach", label="ham", id=number).status == 404
    assert desk.ledger.journal.newest_id() == before


def test_many_are_taught_only_when_said_again(desk: WebDesk) -> None:
    """From twenty messages on the page asks again before it teaches, with their folders."""
    letters = [message("ham", 100).replace(b"<ham.100@", b"<ham.100.%d@" % number) for number in range(20)]
    for letter in letters:
        deliver(desk.folder("INBOX"), letter, next(desk.bases))
    desk.work()
    desk.take(letters[0], "INBOX", "Archive")
    address = desk.ledger.messages.get(desk.number_of(letters[0])).summary.rpartition("(")[2].rstrip(")")
    sender = number_of(desk, address)
    ids = desk.browser.get(f"/senders/{sender}").tree.xpath(
        "(//form[contains(@action, 'teach')])[2]//input[@name='id']/@value"
    )
    last = desk.ledger.journal.newest_id()
    asked = desk.browser.post(f"/senders/{sender}/teach", label="spam", id=ids)
    assert (asked.status, desk.ledger.journal.newest_id()) == (200, last)
    assert f"{len(ids)} messages" in asked.words and "in INBOX" in asked.words and "1 message in Archive" in asked.words
    form = asked.tree.xpath("//main//form")[0]
    fields = {name: form.xpath(f".//input[@name='{name}']/@value") for name in ("label", "sure", "id")}
    assert desk.browser.post(f"/senders/{sender}/teach", **fields).status == 303
    assert {desk.label(letter) for letter in letters} == {(Label.SPAM, False)}
    assert {folder for letter in letters for folder in desk.where(letter)} == {"Junk"}


def test_what_cannot_be_taught(desk: WebDesk) -> None:
    """A message that is gone and was never learned is shown, and is not among those that are taught."""
    desk.deliver(message("spam", 100))
    desk.paths(message("spam", 100), "Junk")[0].unlink()
    desk.work()
    page = desk.browser.get(f"/senders/{number_of(desk, 'promo100@')}")
    assert "gone: you cannot teach it" in page.words
    assert not page.tree.xpath("//form[contains(@action, 'teach')]")


def test_health(desk: WebDesk, tmp_path: Path) -> None:
    """The first visit begins the check; the next shows what was found, with the next step, and the configuration."""
    file = tmp_path / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    browser = Browser(pages_of(lambda: desk.config, lambda: NOON, config_path=str(file), at_once=True))
    assert "The filter checks" in browser.get("/health").words
    page = browser.get("/health")
    assert not page.tree.xpath("//*[@data-again]")
    assert [one.text for one in page.tree.xpath("//li[contains(@class, 'finding')]//b")][-1]
    states = [one.get("class").split()[1] for one in page.tree.xpath("//li[contains(@class, 'finding')]")]
    assert states == sorted(states, key=["fault", "warning", "ok"].index)
    assert "not running: nothing is judged or learned now spamnb run" in page.words
    assert "spam_cutoff: 0.95" in page.tree.xpath("string(//details/pre)")
    assert f"You can change that in {file}" in page.words
    assert "Your choices" not in page.words
    desk.browser.post("/choose", kind="spam_cutoff", value="0.97")
    desk.browser.post("/choose", kind="block", value="*@shop.example")
    page = browser.get("/health")
    assert "spam_cutoff: 0.97" in page.words
    assert "Your choices: 1 blocked, spam from 0.97 up." in page.words
    assert browser.get("/health").tree.findtext(".//title") != "Being checked · spamnb"
    asked = browser.follow(browser.post("/health/check"))
    assert (asked.status, asked.tree.findtext(".//title")) == (200, "Being checked · spamnb")
    assert browser.get("/health").tree.findtext(".//title") != "Being checked · spamnb"


def test_a_check_stands_for_its_minute(desk: WebDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check is repeated in the next minute; a long check belongs to the minute of its end."""
    at = [NOON]
    config = tmp_path / "config.yaml"
    config.write_text(render(desk.config.mailboxes, desk.config.ledger))
    browser = Browser(pages_of(lambda: desk.config, lambda: at[0], config_path=str(config), at_once=True))
    lasting = [150.0]

    def checked(*_: object, **__: object) -> list[Finding]:
        at[0] += lasting[0]
        return [ok("one", "right")]

    monkeypatch.setattr("spamnb.checkup.checkup.checkup", checked)
    titles = [browser.get("/health").tree.findtext(".//title") for _ in range(2)]
    assert titles == ["Being checked · spamnb", "All is well · spamnb"]
    lasting[0] = 0.0
    at[0] += 29.0
    assert browser.get("/health").tree.findtext(".//title") == "All is well · spamnb"
    at[0] += 2.0
    assert browser.get("/health").tree.findtext(".//title") == "Being checked · spamnb"
    assert browser.get("/health").tree.findtext(".//title") == "All is well · spamnb"


def test_only_commands_are_copied(desk: WebDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that can be typed unchanged can be copied; other advice cannot."""
    config = tmp_path / "config.yaml"
    config.write_text(render(desk.config.mailboxes, desk.config.ledger))
    found = [warning("one", "is wrong", "first this, then: spamnb x", "spamnb x"), warning("two", "is wrong", "think")]
    monkeypatch.setattr("spamnb.checkup.checkup.checkup", lambda *_, **__: found)
    browser = Browser(pages_of(lambda: desk.config, lambda: NOON, config_path=str(config), at_once=True))
    browser.get("/health")
    assert browser.get("/health").tree.xpath("//@data-copy") == ["spamnb x"]
