"""A filter that knows enough waits until its person has sorted the inbox once, and learns from what was left there."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.acts.undo import since, undo
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.lessons.port import Lesson
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


def lesson_of(desk: Desk, content: bytes) -> Lesson:
    found = desk.ledger.lessons.find(identity(content))
    assert found is not None
    return found


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
    waits = "it takes 3 messages in the inbox for spam, and waits four days at most until you sort the inbox"
    assert action.why.endswith(f"nothing is moved yet: {waits}")
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


def test_it_waits_for_five_in_a_row(desk: Desk) -> None:
    """If the person leaves mail that the filter would move, the five newest with a known fate must be spam again."""
    later = [message("spam", number) for number in range(105, 115)]
    for content in later[:6]:
        desk.deliver(content)
    for content in later[:4]:
        desk.take(content, "INBOX", "Junk")
    mark(desk, later[4], "S")
    desk.take(later[5], "INBOX", "Junk")
    assert desk.lesson(later[4]) == (Label.HAM, True)
    for content in later[6:9]:
        desk.deliver(content)
        desk.take(content, "INBOX", "Junk")
    desk.deliver(later[9])
    assert desk.where(later[9]) == ["INBOX"], "four in a row are not enough, although eight were moved"
    desk.take(later[9], "INBOX", "Junk")
    desk.deliver(NEW)
    assert desk.where(NEW) == ["Junk"]


def test_it_begins_at_once_if_nothing_that_it_would_move_is_left(desk: Desk) -> None:
    """Mail that was deleted, or that a person has called spam, needs no sorting."""
    mark(desk, OLD, "T")
    desk.take(READ, "INBOX", "Trash")
    desk.take(LATER, "INBOX", "Junk")
    desk.deliver(NEW)
    assert desk.where(NEW) == ["Junk"]


def test_it_waits_four_days_at_most(desk: Desk) -> None:
    """A person who never sorts the inbox gets a filter that moves mail four days later."""
    first, second, third = (message("spam", number) for number in (105, 106, 107))
    desk.deliver(first)
    desk.ahead += 4 * DAY
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
    assert (lesson_of(desk, READ).why, lesson_of(desk, READ).how) == (LEFT_BEHIND, How.KEPT)
    desk.take(READ, "INBOX", "Junk")
    assert desk.lesson(READ) == (Label.SPAM, False), "a decision replaces it"


def test_read_mail_is_kept_as_soon_as_later_mail_is_moved_to_junk(tmp_path: Path) -> None:
    """Before moving begins, whatever the filter thinks of the mail: it does not wait for three days."""
    desk = Desk(tmp_path, "mail")
    desk.restart(minimum_messages=20)
    letters = [message("ham", number) for number in range(25)]
    for content in letters:
        desk.deliver(content)
    desk.deliver(OLD)
    desk.deliver(message("ham", 25))
    for content in (*letters[:22], message("ham", 25)):
        mark(desk, content, "S")
    assert desk.ledger.lessons.totals()[0] == 0
    desk.take(OLD, "INBOX", "Junk")
    assert [desk.lesson(one) for one in letters] == [(Label.HAM, True)] * 22 + [(None, False)] * 3
    assert desk.lesson(message("ham", 25)) == (None, False), "it came later than the spam"
    desk.stop()
    desk.ledger.close()


def test_mail_that_was_left_behind_is_doubted_until_the_filter_knows_enough(desk: Desk) -> None:
    """Spam that a person has read and left is not learned as ham, although later spam is moved."""
    teach(desk, "spam", range(40, 90))  # so much that twenty ham are too few
    mark(desk, READ, "S")
    desk.take(LATER, "INBOX", "Junk")
    assert desk.lesson(READ) == (None, False)
    teach(desk, "ham", range(20, 25))
    desk.deliver(NEW)
    desk.work()
    assert desk.lesson(READ) == (Label.HAM, True), "it would move such mail now"


def test_mail_of_before_teaches_after_it_has_begun(desk: Desk) -> None:
    """What it called spam, and what a person read and left then, is ham as soon as later mail is moved to Junk."""
    wanted, after = message("ham", 300), message("spam", 106)
    desk.deliver(wanted)
    desk.ahead += 5 * DAY
    desk.deliver(NEW)
    desk.deliver(message("spam", 105))
    assert desk.where(message("spam", 105)) == ["Junk"]
    desk.ledger.state.paused_until = desk.now() + DAY
    desk.deliver(after)
    mark(desk, READ, "S")
    mark(desk, wanted, "S")
    assert desk.lesson(READ) == (None, False), "it is doubted"
    desk.take(after, "INBOX", "Junk")
    assert [lesson_of(desk, one).why for one in (READ, wanted)] == [LEFT_BEHIND, "read and kept"]


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


def test_an_empty_mailbox_has_a_filter_that_moves_mail_on_the_second_day(tmp_path: Path) -> None:
    """A person gets 20 letters and ten spam per day, reads all in the evening, and moves the spam to Junk."""
    desk = Desk(tmp_path, "mail")
    desk.restart(minimum_messages=20)
    moved = []
    for day in range(2):
        letters = [message("ham", number) for number in range(20 * day, 20 * day + 20)]
        spam = [message("spam", number) for number in range(10 * day, 10 * day + 10)]
        mail = [*letters, *spam]
        random.Random(day).shuffle(mail)
        for content in mail:
            desk.deliver(content)
        moved.append(sum(desk.where(content) == ["Junk"] for content in spam))
        assert [desk.where(content) for content in letters] == [["INBOX"]] * 20
        for content in mail:
            if desk.where(content) == ["INBOX"]:
                mark(desk, content, "S")
        for content in spam:
            if desk.where(content) == ["INBOX"]:
                desk.take(content, "INBOX", "Junk")
        desk.ahead += DAY
    assert moved[0] == 0
    assert moved[1] > 0
    desk.stop()
    desk.ledger.close()
