"""Mail that comes and is never opened: the page of senders names who sends it, and offers a choice."""

import pytest

from spamnb.cli.common.sample_mail import message
from tests.service.desk import DAY
from tests.web.desk import WebDesk
from tests.web.test_acts import undo_of
from tests.web.test_choices import offered

SHOP = "news@shop.example"
OFF = b"List-Unsubscribe: <mailto:off@shop.example>, <https://shop.example/off?you>\n"


def issue(number: int, fields: bytes = OFF) -> bytes:
    """A message of a shop."""
    head = f"From: {SHOP}\n".encode() + fields
    return head + b"\n".join(line for line in message("ham", number).split(b"\n") if not line.startswith(b"From:"))


def three_months(desk: WebDesk, opened: int | None = None) -> None:
    """Every six days an issue comes that nobody opens, except one if you say so, and a letter that is read."""
    for number in range(12):
        desk.deliver(issue(200 + number), flags="S" if number == opened else None)
        desk.deliver(message("ham", 300 + number), flags="S")
        desk.ahead += 6 * DAY


def test_who_sends_it(desk: WebDesk) -> None:
    """The sender is named with the number, and goes to Junk from now on by one choice, which an undo ends."""
    three_months(desk)
    page = desk.browser.get("/senders")
    assert f"Came, never opened {SHOP} 12 since" in page.words
    said = desk.browser.post("/choose", kind="block", value=SHOP, back="senders")
    after = desk.browser.follow(said)
    assert "Came, never opened" not in after.words
    assert "0 messages came since" in after.words
    desk.deliver(issue(400))
    assert desk.where(issue(400)) == ["Junk"]
    assert "1 message came since" in desk.browser.get("/senders").words
    desk.browser.post("/undo", id_=undo_of(after), back="senders")
    assert f"Came, never opened {SHOP} 12 since" in desk.browser.get("/senders").words


def test_into_the_newsletters(desk: WebDesk) -> None:
    """With a folder for newsletters the choice may be that folder; then the sender is named no more."""
    desk.stop()
    desk.apart = {"newsletters_folder": "Lists"}
    desk.start()
    for number in range(12):
        desk.deliver(issue(200 + number, b""))
        desk.deliver(message("ham", 300 + number), flags="S")
        desk.ahead += 6 * DAY
    page = desk.browser.get("/senders")
    assert ("newsletters", SHOP) in offered(page)
    said = desk.browser.post("/choose", kind="newsletters", value=SHOP, back="senders")
    assert "Came, never opened" not in desk.browser.follow(said).words
    desk.deliver(issue(400, b""))
    assert desk.where(issue(400, b"")) == ["Lists"]


def test_one_was_opened(desk: WebDesk) -> None:
    """A sender of whom one message was opened is not named."""
    three_months(desk, opened=3)
    assert "Came, never opened" not in desk.browser.get("/senders").words


@pytest.mark.parametrize("fields", [b"", b"List-Unsubscribe: none\n", b"List-Unsubscribe: <javascript:alert(1)>\n"])
def test_no_address_to_unsubscribe(desk: WebDesk, fields: bytes) -> None:
    """Without an address of mail or the web, the page of a sender says nothing of it."""
    desk.deliver(issue(200, fields))
    (row,) = desk.ledger.senders.page(5, SHOP)
    assert "unsubscribe" not in desk.browser.get(f"/senders/{row.id}").words


def test_where_to_unsubscribe(desk: WebDesk) -> None:
    """The page of a sender shows the addresses of its newest message as text, and never as a link."""
    desk.deliver(issue(200))
    desk.deliver(issue(201, b'List-Unsubscribe: <https://shop.example/"onclick="x>\n'))
    (row,) = desk.ledger.senders.page(5, SHOP)
    page = desk.browser.get(f"/senders/{row.id}")
    assert 'you can unsubscribe at https://shop.example/"onclick="x.' in page.words
    assert not page.tree.xpath("//a[contains(@href, 'shop.example/')]")
    assert not page.tree.xpath("//*[@onclick]")
