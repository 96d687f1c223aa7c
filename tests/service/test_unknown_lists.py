"""A young filter moves no mail of a list that it does not know; mail of discussion lists is surely spam, or stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.choices import choose
from spamnb.acts.training import learn
from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.delivery.judge import judge
from spamnb.identity.digests import identity
from spamnb.ledger.history.state import MissedSpam
from spamnb.mail.reading import read
from spamnb.rules import destination
from tests.service.desk import Desk, moving_desk

POST = b"List-Post: <mailto:club@club.example>\n"


def of_list(number: int, name: str = "club", *, kind: str = "spam") -> bytes:
    """Spam, or ham, that a list sends."""
    return b"List-Id: <%s.example>\n" % name.encode() + message(kind, number)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail."""
    with moving_desk(tmp_path) as found:
        yield found


def answer(desk: Desk, content: bytes) -> Verdict:
    """Return the answer about a message at its delivery."""
    return judge(desk.ledger, read(content), desk.config, desk.now()).delivered.verdict


def test_it_stays_until_all_mail_of_the_list_was_called_spam(desk: Desk) -> None:
    """The verdict is recorded, and the reason names the list. Five spam and no ham make the list known."""
    desk.deliver(message("spam", 100))
    assert desk.where(message("spam", 100)) == ["Junk"], "mail without a list"
    for content in map(of_list, range(101, 106)):
        assert answer(desk, content) is Verdict.UNSURE
        desk.deliver(content)
        assert desk.where(content) == ["INBOX"]
        desk.take(content, "INBOX", "Junk")
    known = desk.known(of_list(101))
    assert known is not None
    assert known.verdict == "spam"
    judged = next(one for one in reversed([*desk.ledger.journal.newest(50)]) if one.digest == identity(of_list(101)))
    assert "unsure: from a mailing list that you do not know yet" in judged.why
    sixth, other = of_list(106), of_list(107, "another")
    assert [answer(desk, each) for each in (sixth, other)] == [Verdict.SPAM, Verdict.UNSURE]
    desk.deliver(sixth)
    desk.deliver(other)
    assert (desk.where(sixth), desk.where(other)) == (["Junk"], ["INBOX"])


def test_it_stays_until_six_ham_of_the_list_are_learned(desk: Desk) -> None:
    """Spam that came over a list does not make the list known, if ham came over it too."""
    for number in range(200, 211):
        kind = "ham" if number < 205 else "spam"
        learn(desk.ledger, read(of_list(number, kind=kind)), Label.of(kind), "a test", desk.now(), how=How.HAND)
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["INBOX"]
    learn(desk.ledger, read(of_list(211, kind="ham")), Label.HAM, "a test", desk.now(), how=How.HAND)
    desk.deliver(of_list(102))
    assert desk.where(of_list(102)) == ["Junk"]


@pytest.mark.parametrize(("habit", "taught"), [(MissedSpam.IS_MOVED, Label.HAM), (MissedSpam.UNKNOWN, None)])
def test_it_is_kept_at_once_if_the_person_leaves_it(desk: Desk, habit: MissedSpam, taught: Label | None) -> None:
    """A person who moves later mail to Junk has passed it by. The usual doubt holds."""
    desk.ledger.state.missed_spam = habit
    desk.restart()
    first, later, unread = of_list(101), of_list(102), of_list(103)
    for content in (first, unread, later):
        desk.deliver(content)
    path = desk.paths(first, "INBOX")[0]
    path.rename(path.parent.parent / "cur" / f"{path.name.partition(':')[0]}:2,S")
    desk.work()
    assert desk.lesson(first) == (None, False)
    desk.take(later, "INBOX", "Junk")
    assert desk.lesson(first) == (taught, taught is not None)
    assert desk.lesson(unread) == (None, False)


def test_a_filter_that_knows_much_ham_moves_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once 200 ham are learned, mail of a list to which nobody can write is like other mail."""
    monkeypatch.setattr(destination, "_OLD", 40)
    monkeypatch.setattr(destination, "_SURELY_OF_LIST", 1.0)
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["Junk"]


@pytest.mark.parametrize(
    ("ham", "spam", "old", "goals"),
    [
        (0, 0, 40, ("INBOX", "Junk")),
        (6, 0, 40, ("Junk", "Junk")),
        (6, 0, 90, ("INBOX", "Junk")),
        (0, 5, 90, ("Junk", "Junk")),
    ],
)
def test_mail_of_a_discussion_list_is_surely_spam_or_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, ham: int, spam: int, old: int, goals: tuple[str, str]
) -> None:
    """Until the filter knows a list to which one may write, and much ham. A list that sends spam alone is excepted."""
    monkeypatch.setattr(destination, "_OLD", old)
    for kind, number in ("ham", ham), ("spam", spam):
        for each in range(200, 200 + number):
            content = POST + of_list(each, kind=kind)
            learn(desk.ledger, read(content), Label.of(kind), "a test", desk.now(), how=How.HAND)
    for content, least, goal in zip((POST + of_list(101), POST + of_list(102)), (1.0, 0.99), goals, strict=True):
        monkeypatch.setattr(destination, "_SURELY_OF_LIST", least)
        assert answer(desk, content) is (Verdict.SPAM if goal == "Junk" else Verdict.UNSURE)
        desk.deliver(content)
        assert desk.where(content) == [goal]


def test_a_list_that_the_person_blocks(desk: Desk) -> None:
    """A person who blocks a list does not wait until the filter knows more."""
    choose(desk.ledger, desk.account.context.config, "block", ["club.example"], "prompt", desk.now())
    assert answer(desk, of_list(101)) is Verdict.SPAM
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["Junk"]
