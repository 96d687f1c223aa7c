"""Mail by its origin."""

import pytest

from spamnb.acts import training
from spamnb.acts.undo import undo
from spamnb.base.label import How, Label, Verdict
from spamnb.ledger.history.lines import Wanted
from spamnb.ledger.history.senders import Came, Learned
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from tests.lessons import NO_MAILBOX


def learned(
    ledger: Ledger, name: str, sender: str, list_id: str = "", label: Label = Label.HAM, verdict: str = "spam"
) -> int:
    """A message that was judged, and learned then; its id."""
    known = ledger.messages.ensure(name.encode(), name)
    ledger.messages.judged(known.id, verdict, 0.99, 1.0)
    reading = Reading(name.encode(), name, {"a": 1}, Relations(sender, list_id))
    training.learn(ledger, reading, label, "a test", 2.0, how=How.HAND)
    return known.id


def test_by_sender(ledger: Ledger) -> None:
    """The sender of most mail comes first, with verdicts, labels and corrections."""
    news = [learned(ledger, f"issue {number}", "news@shop.example", "news.shop.example") for number in range(3)]
    learned(ledger, "offer", "promo@deals.example", label=Label.SPAM)
    first, second, third = ledger.senders.page(10)
    assert {first.name, second.name} == {"news@shop.example", "news.shop.example"}
    assert {first.is_list, second.is_list} == {True, False}
    assert (first.messages, first.judged_spam, first.learned_ham, first.corrected) == (3, 3, 3, 3)
    assert (third.name, third.learned_spam, third.corrected) == ("promo@deals.example", 1, 0)
    assert ledger.senders.page(10, after=second.place) == [third]
    assert ledger.senders.page(1, "DEALS") == [third]
    assert ledger.senders.messages(first.id, 2) == news[:0:-1]
    assert ledger.senders.get(third.id) == third
    assert ledger.senders.get(99) is None
    training.forget(ledger, [b"issue 0"], "a test", 3.0, how=How.HAND)
    assert ledger.senders.get(first.id).learned_ham == 2  # type: ignore[union-attr]
    assert ledger.verify() == []


@pytest.mark.parametrize("label", Label)
@pytest.mark.parametrize("verdict", Verdict)
def test_one_meaning_of_a_correction(ledger: Ledger, verdict: Verdict, label: Label) -> None:
    """A sender's corrections are those that the history and the figures count: unsure mail was called nothing."""
    learned(ledger, "m", "a@b.example", label=label, verdict=verdict)
    (sender,) = ledger.senders.page(1)
    assert sender.corrected == len(ledger.lines.page(9, Wanted(corrected=True)))
    (judged,) = ledger.figures.judged([0.0, 2.0])
    assert sender.corrected == judged.corrected == (verdict not in ("unsure", label.word))
    (action,) = ledger.journal.since(0.0)
    assert [outcome.fault for outcome in undo(ledger, NO_MAILBOX, [action])] == [None]
    (sender,) = ledger.senders.page(1)
    assert sender.corrected == len(ledger.lines.page(9, Wanted(corrected=True))) == 0
    assert ledger.verify() == []


def test_a_sender_is_one_line(ledger: Ledger) -> None:
    """A stranger's name is kept on one line, with a limited length."""
    learned(ledger, "m", "a\x1b[2J\udcff\n@" + "x" * 1000)
    (sender,) = ledger.senders.page(10)
    assert sender.name.isprintable()
    assert len(sender.name) == 200


def test_what_is_learned_of_an_address_and_a_list(ledger: Ledger) -> None:
    """Ham and spam of an address and a list are counted apart, and so are the addresses with ham."""
    assert ledger.senders.learned("ann@b.example", "talk.b.example") == (Learned(), Learned())
    learned(ledger, "one", "ann@b.example", "talk.b.example")
    learned(ledger, "two", "ann@b.example", label=Label.SPAM)
    learned(ledger, "three", "ben@b.example", "talk.b.example")
    assert ledger.senders.learned("ann@b.example", "talk.b.example") == (Learned(1, 1), Learned(2, 0))
    assert ledger.senders.learned("talk.b.example", "ann@b.example") == (Learned(), Learned())
    assert [ledger.senders.with_ham(most) for most in (1, 2, 20)] == [1, 2, 2], "lists do not count"
    training.forget(ledger, [b"three"], "a test", 3.0, how=How.HAND)
    assert ledger.senders.learned("ben@b.example", "talk.b.example") == (Learned(), Learned(1, 0))
    assert ledger.senders.with_ham(20) == 1


def test_what_came_and_was_opened(ledger: Ledger) -> None:
    """Mail since a time is counted by list, else by address; read, answered, moved and wanted mail was opened."""
    mailbox, *_ = ledger.locations.mailbox("/mail")
    inbox, archive = (ledger.locations.folder(mailbox, name) for name in ("INBOX", "Archive"))
    flags = ["", "S", "R", "F", "P"]
    for number in range(8):
        name, of_list = f"issue {number}", "news.shop.example" if number % 2 else ""
        known = ledger.messages.ensure(name.encode(), name)
        ledger.messages.judged(known.id, "ham", 0.1, float(number), "news@shop.example", of_list)
        ledger.locations.put(inbox, str(number), known.id, "appeared", b"", (flags + [""] * 3)[number], 0.0)
        if number == 5:
            ledger.locations.gone(inbox, [str(number)], 1.0)
            ledger.locations.put(archive, str(number), known.id, "appeared", b"", "", 1.0)
    of = {ledger.senders.get(id_).name: came for id_, came in ledger.senders.came(1.0, 100).items()}  # type: ignore[union-attr]
    assert of == {"news.shop.example": Came(4, 3, 1.0, 7.0), "news@shop.example": Came(3, 1, 2.0, 6.0)}
    assert ledger.senders.come_since("news.shop.example", 3.0, is_list=True) == 2
    assert ledger.senders.come_since("news@shop.example", 1.0, is_list=False) == 7 - 1
    assert ledger.senders.come_since("nobody@shop.example", 1.0, is_list=False) == 0
    assert sum(came.messages for came in ledger.senders.came(0.0, 2).values()) == 2
