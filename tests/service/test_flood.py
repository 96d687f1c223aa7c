"""A flood of first letters, by which somebody hides one: the page and a letter tell it, and what it may hide."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.flooded import flood_now
from spamnb.cli.common.sample_mail import message
from spamnb.config import Service
from spamnb.ledger.ledger import Ledger
from tests.service.desk import DAY, Desk, moving_desk
from tests.service.test_letters import go_to, letters, look, next_period, parsed

BANK = "service@bank.example"


def judged(ledger: Ledger, number: int, at: float, sender: str, list_id: str = "", verdict: str = "ham") -> None:
    """A message that the filter has judged."""
    known = ledger.messages.ensure(f"{number} {at}".encode(), f"letter {number} ({sender})")
    ledger.messages.judged(known.id, verdict, 0.1, at, sender, list_id)


def past(ledger: Ledger, now: float, days: int = 60, a_day: int = 10) -> None:
    """Messages of each day: one of five is of somebody new, one of ten is the bank's."""
    for number in range(days * a_day):
        sender = BANK if number % 10 == 9 else f"new{number}@a.example" if number % 5 == 0 else "ann@b.example"
        judged(ledger, number, now - (days + 4) * DAY + number * DAY / a_day, sender)


def bomb(ledger: Ledger, since: float, number: int, hidden_at: int = -1, name: str = "shop") -> None:
    """Confirmations of this number of strangers in an hour; at one place a letter of the bank, if you say where."""
    for each in range(number):
        at = since + 3000.0 * each / number
        sender = BANK if each == hidden_at else f"no-reply@{name}{each}.example"
        judged(
            ledger,
            10_000 + each,
            at,
            sender,
            f"list.{name}{each}.example" if each % 3 == 0 and each != hidden_at else "",
        )


@pytest.mark.parametrize(("number", "a_day"), [(50, 10), (200, 10), (2000, 10), (200, 150)])
def test_a_flood(ledger: Ledger, number: int, a_day: int) -> None:
    """It is found with all its letters, and so is the one letter of somebody known, also by a person with much mail."""
    now = 1e9
    past(ledger, now, days=20 if a_day > 100 else 60, a_day=a_day)
    bomb(ledger, now - 5000, number, hidden_at=number // 2)
    found = flood_now(ledger, now)
    assert found is not None
    assert found.first == number - 1
    assert [ledger.messages.get(one.message).summary for one in found.known] == [
        f"letter {10_000 + number // 2} ({BANK})"
    ]
    assert flood_now(ledger, now + 4 * DAY) is None


def busy(ledger: Ledger, now: float) -> None:
    """A hundred messages in an hour, of people one knows, with one in five of somebody new."""
    for number in range(100):
        sender = f"guest{number}@c.example" if number % 5 == 0 else "ann@b.example"
        judged(ledger, 20_000 + number, now - 3000 + 20 * number, sender)


def conference(ledger: Ledger, now: float) -> None:
    """Forty first letters in a day, beside a few of people one knows."""
    for number in range(40):
        judged(ledger, 20_000 + number, now - DAY + 2000 * number, f"guest{number}@c.example")


def holiday(ledger: Ledger, now: float) -> None:
    """A week's mail at once: it is judged within a minute."""
    for number in range(400):
        sender = f"guest{number}@c.example" if number % 4 == 0 else "ann@b.example"
        judged(ledger, 20_000 + number, now - 60 + number / 10, sender)


def new_list(ledger: Ledger, now: float) -> None:
    """The first hour of a list of discussion: each message is of another writer."""
    for number in range(60):
        judged(ledger, 20_000 + number, now - 3000 + 20 * number, f"poster{number}@c.example", "talk.c.example")


def spam(ledger: Ledger, now: float) -> None:
    """A hundred spam of strangers in an hour, which the filter has found."""
    for number in range(100):
        judged(ledger, 20_000 + number, now - 3000 + 20 * number, f"pills{number}@c.example", verdict="spam")


@pytest.mark.parametrize("day", [busy, conference, holiday, new_list, spam])
def test_no_flood(ledger: Ledger, day: object) -> None:
    """A busy hour, a conference, a holiday's mail at once, a new list, and much spam make none."""
    past(ledger, 1e9)
    day(ledger, 1e9)  # type: ignore[operator]
    assert flood_now(ledger, 1e9) is None


def test_the_first_days(ledger: Ledger) -> None:
    """For a ledger of some days everybody is a stranger, and nothing is a flood."""
    bomb(ledger, 1e9 - 5000, 200)
    assert flood_now(ledger, 1e9) is None
    past(ledger, 1e9, days=8)
    assert flood_now(ledger, 1e9) is None


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, a filter that moves mail, and a person who wants letters."""
    with moving_desk(tmp_path) as found:
        found.service = Service(statement="monthly")
        found.restart()
        look(found)
        yield found


def test_a_letter_tells_it(desk: Desk) -> None:
    """One letter per flood names the time, the number, and the letter of somebody known; it is no stranger's letter."""
    next_period(desk)
    past(desk.ledger, desk.now())
    began = desk.now() - 4000
    bomb(desk.ledger, began, 100, hidden_at=50)
    for _ in range(2):
        look(desk)
    (letter,) = letters(desk, "INBOX")
    found = parsed(letter)
    assert found["Subject"] == "spamnb: a flood of first letters"
    text = found.get_content().replace("\n", " ")
    assert "99 first letters of strangers came between" in text
    assert f"letter 10050 ({BANK})" in text
    for hour in range(1, 30):
        bomb(desk.ledger, began + 3000 * hour, 100, name=f"site{hour}.")
    for _ in range(12):
        go_to(desk, desk.now() + DAY / 3)
        look(desk)
    assert len(letters(desk)) == 1, "it went on for a day, and its beginning is not looked at any more"
    desk.deliver(message("ham", 900))
    assert desk.where(message("ham", 900)) == ["INBOX"], "nothing is moved because of a flood"
