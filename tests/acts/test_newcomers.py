"""Whom one does not know, by the ledger, the configuration and the address book."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.acts import training
from spamnb.acts.newcomers import knows_enough, why_known
from spamnb.acts.undo import undo
from spamnb.base.label import How, Label
from spamnb.config import Config, Senders
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Addressees, Relations
from spamnb.rules.acquaintances import KNOWN_FIRST
from tests.lessons import NO_MAILBOX
from tests.profiles import daily

ANN = Relations("ann@b.example", "", "9.9.9")
LIST = Relations("ben@c.example", "talk.c.example", "c.example")
CONFIG = Config((), Path("ledger"))


def learn(ledger: Ledger, number: int, relations: Relations, label: Label = Label.HAM, *, weak: bool = False) -> None:
    """Learn a message."""
    reading = Reading(bytes([number]), f"message {number}", {"hello": 1}, relations)
    training.learn(ledger, reading, label, "a test", 1.0, how=How.HAND, weak=weak)


def book_of(directory: Path, *addresses: str) -> Path:
    """An address book."""
    path = directory / "book.vcf"
    path.write_text("".join(f"BEGIN:VCARD\nEMAIL:{address}\nEND:VCARD\n" for address in addresses))
    return path


def test_each_tie(ledger: Ledger, tmp_path: Path) -> None:
    """The sender of a message is known by lessons, sent mail, the address book, `senders`, and the list."""
    assert why_known(ledger, CONFIG, ANN) == ""
    named = replace(CONFIG, senders=Senders(allow=("b.example",), block=("c.example",)))
    assert why_known(ledger, named, ANN) == "you allow b.example"
    assert why_known(ledger, named, LIST) == "", "blocked"
    book = replace(CONFIG, address_book=book_of(tmp_path, "Ann@B.example"))
    assert why_known(ledger, book, ANN) == "this address is in your address book"
    ledger.lessons.add_sent({b"s": Addressees((ANN.as_recipient or 0,))})
    assert why_known(ledger, book, ANN) == "you have written to this address"
    learn(ledger, 1, ANN, weak=True)
    assert why_known(ledger, CONFIG, ANN) == "you have kept mail of this sender"
    learn(ledger, 2, LIST._replace(sender="cid@c.example"))
    assert why_known(ledger, CONFIG, LIST) == "you have kept mail of this list"
    learn(ledger, 3, LIST)
    assert why_known(ledger, CONFIG, LIST) == "you have called mail of this sender ham"
    learn(ledger, 4, LIST, Label.SPAM)
    assert why_known(ledger, CONFIG, LIST) == ""


def test_without_a_path(ledger: Ledger) -> None:
    """If the path of mail is not known, its address alone makes the sender known, by any lesson."""
    here = ANN._replace(path="")
    learn(ledger, 1, here, weak=True)
    assert why_known(ledger, CONFIG, here) == "you have kept mail of this address"
    assert why_known(ledger, CONFIG, ANN) == ""


def test_a_lesson_that_is_undone(ledger: Ledger) -> None:
    """After the lesson that made a sender known is undone, the sender is a newcomer again."""
    for relations in (ANN, LIST, ANN._replace(path="")):
        before = ledger.journal.newest_id()
        learn(ledger, 1, relations)
        assert why_known(ledger, CONFIG, relations)
        (action,) = ledger.journal.those([before + 1]).values()
        assert [one.fault for one in undo(ledger, NO_MAILBOX, [action])] == [None]
        assert why_known(ledger, CONFIG, relations) == ""
        assert ledger.verify() == []


def test_it_begins_with_enough_addresses(ledger: Ledger, tmp_path: Path) -> None:
    """Nobody is a newcomer until enough addresses are known: from ham, from sent mail, or from the address book."""
    addresses = [f"friend{number}@b.example" for number in range(KNOWN_FIRST)]
    assert not knows_enough(ledger, CONFIG)
    for number, address in enumerate(addresses):
        assert not knows_enough(ledger, CONFIG)
        learn(ledger, number, Relations(address, "", "9.9.9"), weak=True)
        learn(ledger, 100 + number, Relations("ann@b.example", f"list{number}.example", "9.9.9"), Label.SPAM)
    assert knows_enough(ledger, CONFIG)
    training.forget(ledger, [bytes([3])], "a test", 2.0, how=How.HAND)
    assert not knows_enough(ledger, CONFIG)
    for number, address in enumerate(addresses):
        ledger.lessons.add_sent({bytes([number]): Addressees((Relations(address).as_recipient or 0, 7), (number,))})
        assert knows_enough(ledger, CONFIG) == (number + 2 >= KNOWN_FIRST)
    ledger.lessons.drop_sent([bytes([number]) for number in range(KNOWN_FIRST)])
    for number in (KNOWN_FIRST - 1, KNOWN_FIRST):
        (tmp_path / str(number)).mkdir()
        book = book_of(tmp_path / str(number), *addresses[:number])
        assert knows_enough(ledger, replace(CONFIG, address_book=book)) == (number == KNOWN_FIRST)


LESSONS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["9.9.9", "b.example", ""]), st.sampled_from(Label), st.booleans()),
    max_size=8,
)


@settings(max_examples=daily(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LESSONS, st.sampled_from(["8.8.8", "evil.example"]))
def test_a_forged_from_is_nobody_one_knows(
    tmp_path_factory: pytest.TempPathFactory, lessons: list[tuple[int, str, Label, bool]], path: str
) -> None:
    """Whatever is learned of an address over other paths, a stranger who writes it into From stays a newcomer.

    Only if the person has written to the address, has it in the address book, or gets the list that is named, it helps.
    """
    directory = tmp_path_factory.mktemp("ledger")
    forged = ANN._replace(path=path)
    with Ledger(str(directory / "ledger")) as ledger:
        for number, known, label, weak in lessons:
            learn(ledger, number, ANN._replace(path=known), label, weak=weak)
        assert why_known(ledger, CONFIG, forged) == ""
        assert why_known(ledger, CONFIG, forged._replace(list_id="talk.c.example", answers=(1, 2))) == ""
        book = replace(CONFIG, address_book=book_of(directory, ANN.sender))
        assert why_known(ledger, book, forged) == "this address is in your address book"
