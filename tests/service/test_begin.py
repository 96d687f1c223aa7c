"""A filter that knows enough waits until its person has sorted the inbox once, and learns from what was left there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.acts.undo import since, undo
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.mail.reading import read
from spamnb.rules.weak_lessons import LEFT_BEHIND
from tests.lessons import NO_MAILBOX
from tests.service.desk import DAY, Desk

OLD, READ, LATER, NEW = (message("spam", number) for number in (101, 102, 103, 104))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox with three messages that the filter has called spam, when it learns the twentieth ham."""
    found = Desk(tmp_path, "mail")
    found.restart(minimum_messages=20)
    teach(found, "ham", range(19))
    teach(found, "spam", range(40))
    for content in (OLD, READ, LATER):
        found.deliver(content)
    teach(found, "ham", range(19, 20))
    yield found
    found.stop()
    found.ledger.close()


def teach(desk: Desk, kind: str, numbers: range) -> None:
    for number in numbers:
        learn(desk.ledger, read(message(kind, number)), Label.of(kind), "a test", desk.now(), how=How.HAND)


def mark(desk: Desk, content: bytes, flags: str) -> None:
    """A person sets flags on a message in the inbox."""
    path = desk.paths(content, "INBOX")[0]
    path.rename(path.parent.parent / "cur" / f"{path.name.partition(':')[0]}:2,{flags}")
    desk.work()


def test_it_waits_while_mail_that_it_would_move_is_in_the_inbox(desk: Desk) -> None:
    """It says how many messages there are, and for how long at most it waits."""
    desk.deliver(NEW)
    assert desk.where(NEW) == ["INBOX"]
    (action,) = desk.ledger.journal.newest(1)
    assert "it would move 3 messages in the inbox, and waits two days at most until you sort the inbox" in action.why
    assert desk.ledger.state.begun_with is None


def test_it_begins_when_five_later_messages_were_moved_to_junk(desk: Desk) -> None:
    """A person who moves an older message has perhaps not looked at the newer ones."""
    later = [message("spam", number) for number in range(105, 111)]
    for content in later[:4]:
        desk.deliver(content)
    for content in (LATER, *later[:4]):
        desk.take(content, "INBOX", "Junk")
    desk.deliver(later[4])
    assert desk.where(later[4]) == ["INBOX"]
    desk.take(later[4], "INBOX", "Junk")
    desk.deliver(later[5])
    assert desk.where(later[5]) == ["Junk"]
    desk.restart()
    desk.deliver(NEW)
    assert desk.where(NEW) == ["Junk"]


def test_it_begins_at_once_if_nothing_that_it_would_move_is_left(desk: Desk) -> None:
    """Mail that was deleted, or that a person has called spam, needs no sorting."""
    mark(desk, OLD, "T")
    desk.take(READ, "INBOX", "Trash")
    desk.take(LATER, "INBOX", "Junk")
    desk.deliver(NEW)
    assert desk.where(NEW) == ["Junk"]


def test_it_waits_two_days_at_most(desk: Desk) -> None:
    """A person who never sorts the inbox gets a filter that moves mail two days later."""
    first, second, third = (message("spam", number) for number in (105, 106, 107))
    desk.deliver(first)
    desk.ahead += 2 * DAY
    desk.deliver(second)
    assert desk.where(second) == ["INBOX"], "the newest mail before it is the clock"
    desk.deliver(third)
    assert desk.where(third) == ["Junk"]


def test_mail_that_was_left_behind_is_weak_ham(desk: Desk) -> None:
    """A read message is ham if its person has moved later mail to Junk; an unread message is not, nor a newer one."""
    mark(desk, READ, "S")
    desk.deliver(NEW)
    mark(desk, NEW, "S")
    assert desk.lesson(READ) == (None, False)
    desk.take(LATER, "INBOX", "Junk")
    assert [desk.lesson(one) for one in (OLD, READ, NEW)] == [(None, False), (Label.HAM, True), (None, False)]
    lesson = desk.ledger.lessons.find(identity(READ))
    assert lesson is not None
    assert (lesson.why, lesson.how) == (LEFT_BEHIND, How.KEPT)
    desk.take(READ, "INBOX", "Junk")
    assert desk.lesson(READ) == (Label.SPAM, False), "a decision replaces it"


def test_mail_that_was_left_behind_is_learned_once(desk: Desk) -> None:
    """A person who undoes this lesson does not get it again."""
    mark(desk, READ, "S")
    desk.deliver(NEW)
    desk.take(LATER, "INBOX", "Junk")
    action = next(one for one in since(desk.ledger, -1e10) if one.digest == identity(READ) and one.kind == "learned")
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, [action], desk.now)] == [None]
    desk.work()
    assert desk.lesson(READ)[0] is None


def test_mail_that_comes_later_is_not_left_behind(desk: Desk) -> None:
    """Mail that stays in the inbox because a person has paused the filter, long after it began, teaches nothing."""
    desk.deliver(NEW)
    for content in (OLD, READ, LATER, NEW):
        desk.take(content, "INBOX", "Junk")
    desk.deliver(message("ham", 200))
    assert desk.ledger.state.begun_with == 20
    desk.ahead += 3 * DAY
    desk.ledger.state.paused_until = desk.now() + DAY
    paused, after = message("spam", 105), message("spam", 106)
    desk.deliver(paused)
    desk.deliver(after)
    mark(desk, paused, "S")
    desk.take(after, "INBOX", "Junk")
    assert desk.lesson(paused) == (None, False)


def test_kept_mail_that_is_not_to_be_learned(desk: Desk) -> None:
    """With `learning.kept` false, mail that was left behind teaches nothing."""
    desk.restart(kept=False)
    mark(desk, READ, "S")
    desk.deliver(NEW)
    desk.take(LATER, "INBOX", "Junk")
    assert desk.lesson(READ) == (None, False)
