"""A young filter moves no mail of a list that it does not know."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.choices import choose
from spamnb.acts.training import learn
from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.delivery.judge import judge
from spamnb.mail.reading import read
from spamnb.rules import destination
from tests.service.desk import Desk


def of_list(number: int, name: str = "club") -> bytes:
    """Spam that a list sends."""
    return b"List-Id: <%s.example>\n" % name.encode() + message("spam", number)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail."""
    found = Desk(tmp_path, "mail")
    for kind in ("ham", "spam"):
        for number in range(40):
            learn(found.ledger, read(message(kind, number)), Label.of(kind), "a test", found.now(), how=How.HAND)
    found.restart(minimum_messages=20)
    yield found
    found.stop()
    found.ledger.close()


def answer(desk: Desk, content: bytes) -> Verdict:
    """Return the answer about a message at its delivery."""
    config = Config((Mailbox(desk.roots[0], desk.roles),), desk.directory / "ledger", learning=desk.learning)
    return judge(desk.ledger, read(content), config, desk.now()).delivered.verdict


def test_it_stays_until_mail_of_the_list_was_moved_to_junk(desk: Desk) -> None:
    """The verdict is recorded, and the reason names the list; mail without a list goes to Junk."""
    desk.deliver(message("spam", 100))
    assert desk.where(message("spam", 100)) == ["Junk"]
    first, second, other = of_list(101), of_list(102), of_list(103, "another")
    assert answer(desk, first) is Verdict.UNSURE
    desk.deliver(first)
    assert desk.where(first) == ["INBOX"]
    known = desk.known(first)
    assert known is not None
    assert known.verdict == "spam"
    (action,) = desk.ledger.journal.newest(1)
    assert "unsure: from a mailing list that you do not know yet" in action.why
    desk.take(first, "INBOX", "Junk")
    assert [answer(desk, each) for each in (second, other)] == [Verdict.SPAM, Verdict.UNSURE]
    desk.deliver(second)
    desk.deliver(other)
    assert (desk.where(second), desk.where(other)) == (["Junk"], ["INBOX"])


def test_a_filter_that_knows_much_ham_moves_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once 200 ham are learned, mail of a list is like other mail."""
    monkeypatch.setattr(destination, "_KNOWS_LISTS", 40)
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["Junk"]


def test_a_list_that_the_person_blocks(desk: Desk) -> None:
    """A person who blocks a list does not wait until the filter knows more."""
    choose(desk.ledger, desk.account.context.config, "block", ["club.example"], "prompt", desk.now())
    assert answer(desk, of_list(101)) is Verdict.SPAM
    desk.deliver(of_list(101))
    assert desk.where(of_list(101)) == ["Junk"]
