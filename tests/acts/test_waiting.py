"""What a filter waits for that has not begun to move mail."""

import pytest

from spamnb.acts.may_move import begin_if_ready
from spamnb.acts.training import learn
from spamnb.acts.waiting import Cause, Waiting, nothing_learned, waiting
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from tests.acts.test_may_move import teach

LEARNING, DAY = Learning(), 86_400.0


class Inbox:
    """Made-up messages that were judged in the inbox of a ledger, one per second."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._number = ledger, 0
        self._folder = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")

    def get(self, verdict: str, flags: str = "") -> int:
        """A message comes, and gets this verdict and these flags. Returns its number."""
        self._number += 1
        at = float(self._number)
        known = self._ledger.messages.ensure(identity(_content(self._number)), "")
        self._ledger.locations.put(self._folder, str(self._number), known.id, "appeared", b"", flags, at)
        self._ledger.messages.judged(known.id, verdict, 0.5, at)
        return self._number

    def is_learned(self, number: int, label: Label, *, weak: bool = False) -> None:
        """A person moves the message, or it is learned weakly."""
        learn(self._ledger, read(_content(number)), label, "a test", 1000.0, weak=weak, how=How.MOVE)


def _content(number: int) -> bytes:
    return message("spam", 500 + number)


@pytest.fixture
def inbox(ledger: Ledger) -> Inbox:
    """The inbox of the ledger."""
    return Inbox(ledger)


def test_nothing_is_learned(ledger: Ledger) -> None:
    """A new filter waits for 20 ham and 5 spam."""
    new = Waiting(Cause.LESSONS, 0, 0, 20, 5, confirmed_needed=5)
    assert waiting(ledger, LEARNING) == nothing_learned(LEARNING) == new
    assert (new.ham_missing, new.spam_missing, new.enough_ham_at) == (20, 5, None)


def test_kept_mail_says_when_it_counts(ledger: Ledger, inbox: Inbox) -> None:
    """Read mail in the inbox counts three days after it came; deleted or unread mail, or learned mail, does not."""
    teach(ledger, "ham", range(17), Label.HAM)
    for verdict, flags in (("ham", "S"), ("unsure", ""), ("spam", "S"), ("ham", "ST"), ("unsure", "RS")):
        inbox.get(verdict, flags)
    inbox.is_learned(inbox.get("ham", "S"), Label.HAM, weak=True)
    found = waiting(ledger, LEARNING)
    assert found is not None
    assert found.kept_at == (1 + 3 * DAY, 3 + 3 * DAY, 5 + 3 * DAY)
    assert (found.ham_missing, found.enough_ham_at) == (2, 3 + 3 * DAY)
    unkept = waiting(ledger, Learning(kept=False))
    assert unkept is not None
    assert unkept.kept_at == ()


def test_mail_that_the_filter_doubts_is_not_promised(ledger: Ledger, inbox: Inbox) -> None:
    """If enough is learned for a doubt, but too little ham beside the spam, what it called spam may never count."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(90), Label.SPAM)
    inbox.get("spam", "S")
    inbox.get("ham", "S")
    found = waiting(ledger, LEARNING)
    assert found is not None
    assert (found.cause, found.ham_needed, found.kept_at) == (Cause.LESSONS, 23, (2 + 3 * DAY,))


def test_other_hosts_come_first(ledger: Ledger) -> None:
    """As long as lessons of other hosts are missing, numbers and proofs say nothing."""
    ledger.state.to_receive = 3
    found = waiting(ledger, LEARNING)
    assert found is not None
    assert found.cause is Cause.HOSTS


def test_what_is_in_the_way(ledger: Ledger, inbox: Inbox) -> None:
    """First numbers, then the proof on learned ham, then the person, who sorts the inbox; then nothing."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(20), Label.SPAM)
    inbox.get("spam")
    for doubted in (None, 2):
        found = waiting(ledger, LEARNING, doubted)
        assert found is not None
        assert (found.cause, found.doubted, found.unsorted) == (Cause.PROOF, doubted, 1)
    found = waiting(ledger, LEARNING, 0)
    assert found is not None
    assert (found.cause, found.latest_at) == (Cause.SORTING, 1 + 4 * DAY)
    begin_if_ready(ledger, Scoring(), LEARNING)
    later = [inbox.get("spam") for _ in range(6)]
    for number, moved in enumerate(later[1:5]):
        found = waiting(ledger, LEARNING)
        assert found is not None
        assert (found.cause, found.confirmed, found.confirmed_needed) == (Cause.SORTING, number, 5)
        inbox.is_learned(moved, Label.SPAM)
    inbox.is_learned(later[0], Label.HAM, weak=True)
    found = waiting(ledger, LEARNING)
    assert found is not None
    assert (found.confirmed, found.unsorted) == (4, 2)
    inbox.is_learned(later[5], Label.SPAM)
    assert waiting(ledger, LEARNING) is None
    assert begin_if_ready(ledger, Scoring(), LEARNING) == ""
    assert ledger.state.begun_at == 7.0
    assert waiting(ledger, LEARNING) is None


def test_a_copy_of_mail_that_was_moved_before_confirms_nothing(ledger: Ledger, inbox: Inbox) -> None:
    """The person has said nothing since it came."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(20), Label.SPAM)
    inbox.get("spam")
    begin_if_ready(ledger, Scoring(), LEARNING)
    inbox.is_learned(inbox.get("spam"), Label.SPAM)
    assert ledger.messages.fates(1.0, 5) == [True]
    copy = ledger.messages.find(identity(_content(2)))
    assert copy is not None
    ledger.messages.judged(copy.id, "spam", 0.99, 2000.0)
    assert ledger.messages.fates(1.0, 5) == []


def test_nothing_to_sort(ledger: Ledger, inbox: Inbox) -> None:
    """If nothing that it called spam is in the inbox, a filter that knows enough begins with the next message."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(20), Label.SPAM)
    inbox.get("ham")
    assert waiting(ledger, LEARNING, 0) is None
    begin_if_ready(ledger, Scoring(), LEARNING)
    assert waiting(ledger, LEARNING) is None
