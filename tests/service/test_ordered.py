"""What a person orders goes to Junk from the first evening, before the filter knows anything."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.choices import choose
from spamnb.acts.undo import since, undo
from spamnb.identity.digests import identity
from tests.service.desk import Desk

TEXT = " ".join(f"offer{chr(97 + number)}{chr(98 + number)}" for number in range(24))


def mail(number: int, text: str = TEXT, sender: str = "shop@offers.example", field: str = "") -> bytes:
    """A message, with another field if you name one."""
    header = f"{field}From: {sender}\nSubject: message {number}\nMessage-ID: <{number}@offers.example>\n"
    return f"{header}Date: Mon, 2 Nov 2026 08:00:00 +0000\n\n{text}\n".encode()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox with a filter that has learned nothing, and needs twenty ham."""
    found = Desk(tmp_path, "mail")
    found.restart(minimum_messages=20)
    yield found
    found.stop()
    found.ledger.close()


def why(desk: Desk) -> str:
    """Return the reason of the newest act."""
    (action,) = desk.ledger.journal.newest(1)
    return action.why


def test_a_blocked_sender(desk: Desk) -> None:
    """Mail of a sender whom the person blocks goes to Junk, and stays in the inbox after the person takes that back."""
    config = desk.account.context.config
    choose(desk.ledger, config, "block", ["shop@offers.example"], "prompt", desk.now())
    desk.deliver(mail(1))
    assert desk.where(mail(1)) == ["Junk"]
    assert "by your choice: shop@offers.example" in why(desk)
    choose(desk.ledger, config, "allow", ["shop@offers.example"], "prompt", desk.now())
    desk.deliver(mail(2))
    assert desk.where(mail(2)) == ["INBOX"]


def test_a_second_copy(desk: Desk) -> None:
    """A message that the person has moved to Junk goes there when it comes again, however short it is."""
    received = "Received: from relay.example by mail.example; Mon, 2 Nov 2026 09:00:00 +0000\n"
    for number, text in ((1, TEXT), (2, "ok")):
        content, again = mail(number, text), mail(number, text, field=received)
        desk.deliver(content)
        desk.take(content, "INBOX", "Junk")
        desk.deliver(again)
        assert desk.where(again) == ["Junk"]
        assert why(desk).startswith("a person called this message spam")


def test_a_near_copy(desk: Desk) -> None:
    """A message of another sender with nearly the same words goes to Junk, and the reason says why."""
    desk.deliver(mail(1))
    desk.deliver(mail(2))
    assert desk.where(mail(2)) == ["INBOX"], "nobody has called the first one spam"
    desk.take(mail(1), "INBOX", "Junk")
    near = mail(3, f"{TEXT} random", "other@else.example")
    desk.deliver(near)
    assert desk.where(near) == ["Junk"]
    assert why(desk).startswith("a near-copy of a message that a person called spam")
    assert desk.lesson(near) == (None, False), "the filter does not learn from its own move"


@pytest.mark.parametrize(
    "other",
    [
        mail(2, "ok"),
        mail(2, ""),
        mail(2, " ".join(TEXT.split()[:15])),
        mail(2, TEXT + " " + TEXT.replace("offer", "other")),
        mail(2, field="List-Id: <club.example>\n"),
    ],
    ids=["tiny", "empty", "a part", "much more", "over a list"],
)
def test_what_is_not_a_near_copy(desk: Desk, other: bytes) -> None:
    """A text of a few words, one that shares too few words, and mail of a list stay in the inbox."""
    for content in (mail(1), mail(3, "ok"), mail(4, "")):
        desk.deliver(content)
        desk.take(content, "INBOX", "Junk")
    desk.deliver(other)
    assert desk.where(other) == ["INBOX"]


def test_mail_of_somebody_known(desk: Desk) -> None:
    """A near-copy from a sender of whom the person has kept mail stays."""
    letter = mail(5, "see you tomorrow", "ann@friends.example")
    desk.deliver(letter)
    desk.take(letter, "INBOX", "Archive")
    desk.deliver(mail(1))
    desk.take(mail(1), "INBOX", "Junk")
    near = mail(2, sender="ann@friends.example")
    desk.deliver(near)
    assert desk.where(near) == ["INBOX"]


def test_ham_with_the_same_words(desk: Desk) -> None:
    """After a person has taken one of two near-copies out of Junk, the next one stays."""
    desk.deliver(mail(1))
    desk.take(mail(1), "INBOX", "Junk")
    desk.deliver(mail(2))
    desk.take(mail(2), "Junk", "INBOX")
    for content in (mail(2), mail(3, sender="other@else.example")):
        desk.deliver(content)
        assert "Junk" not in desk.where(content)


def test_a_move_by_mistake(desk: Desk) -> None:
    """If a person moves a wanted message to Junk and back, its near-copies stay."""
    desk.deliver(mail(1))
    desk.take(mail(1), "INBOX", "Junk")
    desk.take(mail(1), "Junk", "INBOX")
    desk.deliver(mail(2, sender="other@else.example"))
    assert desk.where(mail(2, sender="other@else.example")) == ["INBOX"]


def test_it_can_be_undone(desk: Desk) -> None:
    """An undone move brings the message back, and it is not moved again."""
    desk.deliver(mail(1))
    desk.take(mail(1), "INBOX", "Junk")
    desk.deliver(mail(2))
    moved = [one for one in since(desk.ledger, -1e10) if one.digest == identity(mail(2)) and one.kind == "moved"]
    assert [outcome.fault for outcome in undo(desk.ledger, desk.account.context.config, moved, desk.now)] == [None]
    desk.work()
    assert desk.where(mail(2)) == ["INBOX"]


def test_a_pause_holds(desk: Desk) -> None:
    """While a person has paused the filter, nothing is moved, whoever has ordered it."""
    choose(desk.ledger, desk.account.context.config, "block", ["shop@offers.example"], "prompt", desk.now())
    desk.ledger.state.paused_until = math.inf
    desk.deliver(mail(1))
    assert desk.where(mail(1)) == ["INBOX"]
