"""The history as a page: a day, the mail in Junk that is least sure, and whole addresses in a search."""

from datetime import datetime, timedelta

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.history.lines import Wanted
from tests.service.desk import DAY
from tests.web.desk import WebDesk


def numbers(desk: WebDesk, path: str) -> list[int]:
    """The messages of the lines of a page, in their order."""
    links = desk.browser.get(path).tree.xpath("//li[@data-row]//span[@class='which']/a/@href")
    return [int(link.rpartition("/")[2]) for link in links]


def judge(desk: WebDesk, *contents: bytes, probability: float, days: float = 0.0) -> list[int]:
    """Spam in Junk, which the filter moved there with that probability so many days ago; its numbers."""
    found = []
    for content in contents:
        desk.deliver(content)
        assert desk.where(content) == ["Junk"]
        found.append(desk.number_of(content))
        desk.ledger._connection.execute(
            "UPDATE action SET probability = ?, at = at - ? WHERE message = ? AND kind = 'moved'",
            (probability, days * DAY, found[-1]),
        )
    return found


def test_a_day(desk: WebDesk) -> None:
    """The history begins at the day that one chooses, has that day as its heading, and goes on with older days."""
    seen = []
    for number in range(3):
        desk.go_to_noon()
        desk.deliver(content := message("ham", 100 + number))
        seen.append((desk.number_of(content), datetime.fromtimestamp(desk.now()).date()))
    assert numbers(desk, "/history")[:3] == [number for number, _ in reversed(seen)]
    for place, (_, day) in enumerate(seen):
        page = desk.browser.get(f"/history?day={day}")
        assert page.tree.xpath("//input[@name='day']/@value") == [str(day)]
        expected = [number for number, _ in reversed(seen[: place + 1])]
        assert numbers(desk, f"/history?day={day}")[: place + 1] == expected
        headings = page.tree.xpath("//section[@class='day']/h2/text()")
        assert headings[0] == (f"{day:%A}", "Yesterday", "Today")[place]
    later = seen[-1][1] + timedelta(days=9)
    assert numbers(desk, f"/history?day={later}") == numbers(desk, "/history")
    assert numbers(desk, "/history?day=1999-12-31&show=moved") == []
    assert "Nothing in the history matches that." in desk.browser.get("/history?day=1999-12-31").words


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "9999-12-31", "0001-01-01"])
def test_no_such_day(desk: WebDesk, day: str) -> None:
    """A day that cannot be is a fault of the address, and not of the pages."""
    assert desk.browser.get(f"/history?day={day}").status in (200, 400)


def test_the_least_sure_in_junk(desk: WebDesk) -> None:
    """Spam in Junk is listed with the least sure first, without what has left it, is decided, or is a month old."""
    sure, unsure, doubtful = judge(desk, *(message("spam", number) for number in (100, 101, 102)), probability=0.999)
    for number, probability in ((unsure, 0.96), (doubtful, 0.951)):
        desk.ledger._connection.execute("UPDATE action SET probability = ? WHERE message = ?", (probability, number))
    judge(desk, message("spam", 103), probability=0.95, days=31)
    taken, decided = message("spam", 104), message("spam", 105)
    judge(desk, taken, decided, probability=0.95)
    desk.take(taken, "Junk", "Archive")
    training.learn_message(desk.ledger, decided, Label.SPAM, "by hand", desk.now(), how=How.HAND)
    desk.deliver(message("ham", 106))
    assert numbers(desk, "/history?show=junk") == [doubtful, unsure, sure]
    page = desk.browser.get("/history?show=junk")
    assert page.tree.xpath("//a[@aria-current='true']/text()") == ["In Junk"]
    assert page.tree.xpath("//h1/text()") == ["In Junk, least sure first"]
    assert page.tree.xpath(f"//form[@action='m/{doubtful}/teach']//input[@name='label']/@value") == ["ham"]
    desk.browser.post(f"/m/{doubtful}/teach", label="ham", back="history?show=junk")
    assert numbers(desk, "/history?show=junk") == [unsure, sure]
    assert numbers(desk, "/history?show=junk&q=nobody") == []
    assert "Nothing more in Junk matches that." in desk.browser.get("/history?show=junk&q=nobody").words


def test_spam_that_a_rule_has_filed(desk: WebDesk) -> None:
    """Spam that a rule has filed into Junk by the verdict at delivery is in that list too; spam in the inbox is not."""
    spam = message("spam", 100)
    told = EarlyVerdict("spam", 0.97, 3.0, "spamnb filter", How.PIPE, desk.now())
    desk.ledger.early_verdicts.remember(identity(spam), told)
    desk.deliver(spam, "Junk")
    desk.deliver(message("spam", 101), flags="S")
    assert numbers(desk, "/history?show=junk") == [desk.number_of(spam)]


def test_more_of_junk(desk: WebDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is more than a page of it, a link leads on, until the end."""
    from spamnb.web.pages import history

    monkeypatch.setattr(history, "_ON_A_PAGE", 2)
    made = [*judge(desk, *(message("spam", number) for number in range(100, 105)), probability=0.96)]
    found, path = [], "history?show=junk"
    while path:
        page = desk.browser.get(f"/{path}")
        found += numbers(desk, f"/{path}")
        path = next(iter(page.tree.xpath("//nav[@class='pager']/a/@href")), "")
    assert found == made


def test_a_whole_address(desk: WebDesk) -> None:
    """A search finds a message by any part of its sender's address, also by a part that its line cuts off."""
    sender = b"somebody.with.a.rather.long.name@a-department.of-some-large-company.example"
    head, _, rest = message("ham", 100).partition(b"\n")
    assert head.startswith(b"From: ")
    desk.deliver(content := b"From: " + sender + b"\n" + rest)
    number = desk.number_of(content)
    (line,) = desk.ledger.lines.page(10, Wanted(text="large-company"))
    assert (line.action.message, "large-company" in line.action.summary) == (number, False)
    assert numbers(desk, "/history?q=Large-Company.example") == [number]
    assert numbers(desk, "/history?q=large-company.example.org") == []
