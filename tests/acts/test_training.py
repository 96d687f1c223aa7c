"""Learning and forgetting without a terminal."""

from contextlib import suppress

import pytest

from spamnb.acts import training
from spamnb.base.errors import LedgerBusyError
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from tests.dying import Fuse, burning

RESCUED = message("spam", 7)

RAW = message("spam", 1)
DIGEST = identity(RAW)


def test_from_bytes(ledger: Ledger) -> None:
    """A message is learned and forgotten by its bytes; what it was before is returned, and the history has it all."""
    assert training.learn_message(ledger, RAW, Label.HAM, "first", 1.0, how=How.HAND) == (DIGEST, None)
    assert training.learn_message(ledger, RAW, Label.HAM, "again", 2.0, how=How.HAND) is None
    assert training.learn_message(ledger, RAW, Label.SPAM, "corrected", 3.0, how=How.HAND) == (DIGEST, Label.HAM)
    assert training.forget(ledger, [DIGEST], "forgotten", 4.0, how=How.HAND) == 1
    assert training.forget(ledger, [DIGEST, b"never learned"], "forgotten", 5.0, how=How.HAND) == 0
    assert [(one.at, one.why, one.before, one.after) for one in ledger.journal.newest(9)] == [
        (4.0, "forgotten", Label.SPAM, None),
        (3.0, "corrected", Label.HAM, Label.SPAM),
        (1.0, "first", None, Label.HAM),
    ]
    assert ledger.lessons.totals().tolist() == [0] * 7


@pytest.mark.parametrize(
    ("label", "weak", "stays"), [(Label.SPAM, False, False), (Label.SPAM, True, True), (Label.HAM, False, True)]
)
def test_a_decision_for_spam_ends_a_rescue(ledger: Ledger, label: Label, weak: bool, stays: bool) -> None:
    """Mail that a person calls spam is no longer rescued, even if it was learned as spam before."""
    training.learn_message(ledger, RAW, label, "first", 1.0, weak=weak, how=How.HAND)
    known = ledger.messages.find(DIGEST)
    assert known is not None
    ledger.messages.rescued(known.id, 2.0)
    training.learn_message(ledger, RAW, label, "again", 3.0, weak=weak, how=How.HAND)
    assert ledger.messages.get(known.id).rescued_at == (2.0 if stays else None)


def test_called_spam_among_many_ends_a_rescue(ledger: Ledger) -> None:
    """A decision for many messages at once ends a rescue too."""
    known = ledger.messages.ensure(identity(RESCUED), "")
    ledger.messages.rescued(known.id, 2.0)
    training.learn_batches(ledger, [Batch.of([read(RESCUED)])], Label.SPAM, "trained", 3.0, how=How.HAND)
    assert ledger.messages.get(known.id).rescued_at is None


def test_called_spam_while_the_ledger_is_busy(ledger: Ledger) -> None:
    """A decision for spam is learned and ends the rescue, or does neither, wherever the ledger is busy."""

    def busy() -> None:
        raise LedgerBusyError("busy")

    for at in range(1, 20):
        raw = message("ham", at)
        training.learn_message(ledger, raw, Label.HAM, "rescued", 1.0, how=How.HAND)
        known = ledger.messages.find(identity(raw))
        assert known is not None
        ledger.messages.rescued(known.id, 2.0)
        with suppress(LedgerBusyError), burning(ledger, Fuse(at, busy, once=True), disk=False):
            training.learn_message(ledger, raw, Label.SPAM, "a mark", 3.0, how=How.HAND)
        lesson = ledger.lessons.find(known.digest)
        assert lesson is not None
        assert (ledger.messages.get(known.id).rescued_at is None) == (lesson.label is Label.SPAM), at
