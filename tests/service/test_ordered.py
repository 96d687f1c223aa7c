"""What a person orders goes to Junk from the first evening, before the filter knows anything."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.choices import choose
from spamnb.acts.may_move import stop_of
from spamnb.acts.ordered import moved_by_order, order_about
from spamnb.acts.undo import since, undo
from spamnb.acts.withheld import move_withheld, pause, resume
from spamnb.base.label import How, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.delivery.judge import judge, remember
from spamnb.identity.digests import identity
from spamnb.mail.reading import read
from tests.service.conftest import Site
from tests.service.desk import Desk, untaught_desk

TEXT = " ".join(f"offer{chr(97 + number)}{chr(98 + number)}" for number in range(24))


def mail(number: int, text: str = TEXT, sender: str = "shop@offers.example", field: str = "") -> bytes:
    """A message, with another field if you name one."""
    header = f"{field}From: {sender}\nSubject: message {number}\nMessage-ID: <{number}@offers.example>\n"
    return f"{header}Date: Mon, 2 Nov 2026 08:00:00 +0000\n\n{text}\n".encode()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox with a filter that has learned nothing, and needs twenty ham."""
    with untaught_desk(tmp_path) as found:
        yield found


def why(desk: Desk) -> str:
    """Return the reason of the newest act."""
    (action,) = desk.ledger.journal.newest(1)
    return action.why


def test_a_blocked_sender(desk: Desk) -> None:
    """Mail of a sender whom the person blocks goes to Junk, and stays in the inbox after the person takes that back."""
    config = desk.config
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
    assert [outcome.fault for outcome in undo(desk.ledger, desk.config, moved, desk.now)] == [None]
    desk.work()
    assert desk.where(mail(2)) == ["INBOX"]


def ordered_mail(desk: Desk) -> list[bytes]:
    """Return mail of a blocked sender, a second copy, and a near-copy. The person has ordered all of it to Junk."""
    choose(desk.ledger, desk.config, "block", ["shop@blocked.example"], "prompt", desk.now())
    desk.deliver(mail(1))
    desk.take(mail(1), "INBOX", "Junk")
    again = b"Received: from relay.example by mail.example; Mon, 2 Nov 2026 09:00:00 +0000\n" + mail(1)
    return [mail(2, "ok", "shop@blocked.example"), again, mail(3, f"{TEXT} random", "other@else.example")]


@pytest.mark.parametrize("is_tripped", [True, False], ids=["breaker", "pause"])
def test_while_moving_is_stopped(desk: Desk, *, is_tripped: bool) -> None:
    """A stop holds, whoever has ordered a move. `resume --move` then moves all that the person has ordered."""
    ordered, other = ordered_mail(desk), mail(4, "see you tomorrow", "ann@friends.example")
    if is_tripped:
        desk.ledger.state.stopped_at = desk.now()
    else:
        pause(desk.ledger)
    for content in (*ordered, other):
        desk.deliver(content)
        assert desk.where(content) == ["INBOX"]
    assert [action.digest for action in desk.ledger.journal.withheld()] == [identity(content) for content in ordered]
    assert resume(desk.ledger, desk.now()) is not None and stop_of(desk.ledger, desk.now()) is None
    config = desk.ledger.choices.over(desk.config)
    assert [one.moved for one in move_withheld(desk.ledger, config, desk.now)] == [True] * 3
    desk.work()
    assert [desk.where(content) for content in ordered] == [["Junk"]] * 3
    assert desk.where(other) == ["INBOX"]
    assert desk.ledger.journal.withheld() == []


def test_withheld_mail_that_the_person_moves(desk: Desk) -> None:
    """A second copy that the person moves to Junk by hand no longer counts as withheld."""
    _, again, _ = ordered_mail(desk)
    pause(desk.ledger)
    desk.deliver(again)
    assert len(desk.ledger.journal.withheld()) == 1
    desk.take(again, "INBOX", "Junk")
    assert desk.ledger.journal.withheld() == []


def test_several_mailboxes(tmp_path: Path) -> None:
    """An order in one mailbox holds in all mailboxes of the ledger; each message goes to its own mailbox's Junk."""
    with untaught_desk(tmp_path, "one", "two") as desk:
        for content in ordered_mail(desk):
            desk.deliver(content, root=1)
            assert (desk.where(content, root=0), desk.where(content, root=1)) == ([], ["Junk"])


def test_at_delivery(desk: Desk) -> None:
    """Mail of a blocked sender is spam for mail software too; a rule that files it counts as the filter's move."""
    content, *_ = ordered_mail(desk)
    judged = judge(desk.ledger, read(content), desk.config, desk.now())
    assert (judged.delivered.verdict, judged.hindrance.missing) == (Verdict.SPAM, "")
    remember(desk.ledger, identity(content), judged, "spamnb filter", How.PIPE, desk.now())
    desk.deliver(content, "Junk")
    assert desk.lesson(content) == (None, False)
    assert judge(desk.ledger, read(mail(9, "ok")), desk.config, desk.now()).delivered.verdict is Verdict.UNSURE
    pause(desk.ledger)
    assert judge(desk.ledger, read(content), desk.config, desk.now()).delivered.verdict is Verdict.UNSURE


def test_what_is_said_of_it(desk: Desk) -> None:
    """One sentence says that the filter moves it on an order, before and after. The reason has no figure."""
    *_, near = ordered_mail(desk)
    told = "a near-copy of a message that a person called spam"
    before, after = "The filter moves it on your order, though it knows little yet", "The filter moved it on your order"
    assert order_about(desk.ledger, desk.config, read(near), Verdict.UNSURE) == f"{before}: {told}."
    desk.deliver(near)
    assert why(desk) == told
    assert order_about(desk.ledger, desk.config, read(near), Verdict.UNSURE) == f"{after}: {told}."
    assert order_about(desk.ledger, desk.config, read(mail(9, "see you tomorrow")), Verdict.UNSURE) == ""
    (moved,) = (one for one in since(desk.ledger, -1e10) if one.digest == identity(near))
    list(undo(desk.ledger, desk.config, [moved], desk.now))
    assert moved_by_order(desk.ledger, identity(near)) == ""


def test_at_the_prompt(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` and `audit` say it too. As long as the filter knows little, both call its verdict a first guess."""
    first, near = mail(1), mail(2, f"{TEXT} random", "other@else.example")
    site.deliver(first)
    site.work()
    site.move(first, "INBOX", "Junk")
    site.work()
    site.deliver(near)
    site.work()
    assert sorted(site.contents("Junk")) == sorted([first, near])
    told = "The filter moved it on your order: a near-copy of a message that a person called spam."
    guess = "The filter has learned too little to be sure: this is a first guess."
    file = site.directory / "near.eml"
    file.write_bytes(near)
    assert site.spamnb("explain", str(file)) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [guess, told]
    assert site.spamnb("explain", "--json", str(file)) == 0
    assert json.loads(capsys.readouterr().out)["ordered"] == told
    for number, kind, raw in ((1, "ham", message("ham", 1)), (2, "spam", mail(10, TEXT[:90], "x@shops.example"))):
        other = site.directory / f"{number}.eml"
        other.write_bytes(raw)
        assert site.spamnb("train", f"--{kind}", str(other)) == 0
    assert site.spamnb("train", "--ham", str(file)) == 0
    assert site.spamnb("audit") == 0
    said = capsys.readouterr().out
    assert f"   {told}\n" in said and "a first guess says" in said and "probability" not in said
