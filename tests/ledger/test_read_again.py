"""Learned messages that are read again: the tokens of a former tokenizer give way to those of today alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

import pytest

from spamnb.base.label import How, Label
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.port import Lessons, Relabel
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.mail.tokens.tokenizer import VERSION

HAM, SPAM = Label
FORMER, TODAY = {"a": 2, "b": 1}, {"b": 3, "c": 1}
_KNOWN = Relations("anna@home.example", path="home.example")


def reading(number: int, tokens: Mapping[str, int]) -> Reading:
    """A message as one tokenizer has read it; all of them are of one sender."""
    return Reading(bytes([number]), f"message {number}", {**tokens, f"only{number}": 1}, _KNOWN)


@contextmanager
def former_tokenizer() -> Iterator[None]:
    """Lessons inside have the tokens of an earlier tokenizer."""
    with mock.patch("spamnb.ledger.lessons.sqlite.store.VERSION", VERSION - 1):
        yield


@pytest.fixture
def upgraded(ledger: Ledger) -> Ledger:
    """A ledger with two lessons of before, the second weak, and one of today."""
    with former_tokenizer():
        ledger.lessons.learn([reading(1, FORMER)], HAM, "a test", 1.0, how=How.HAND)
        ledger.lessons.learn([reading(2, FORMER)], SPAM, "silence", 2.0, how=How.SILENCE, weak=True)
    ledger.lessons.learn([reading(3, TODAY)], HAM, "a test", 3.0, how=How.MOVE)
    return ledger


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger in which the same was learned with the tokens of today alone."""
    with Ledger(str(tmp_path_factory.mktemp("fresh") / "ledger.sqlite")) as ledger:
        ledger.lessons.learn([reading(1, TODAY)], HAM, "a test", 1.0, how=How.HAND)
        ledger.lessons.learn([reading(2, TODAY)], SPAM, "silence", 2.0, how=How.SILENCE, weak=True)
        ledger.lessons.learn([reading(3, TODAY)], HAM, "a test", 3.0, how=How.MOVE)
        yield ledger


def exported(ledger: Ledger) -> str:
    """Return the export of a ledger, which is sound."""
    assert ledger.verify() == []
    return "".join(ledger.lessons.export())


def test_the_counts_are_those_of_the_tokens_of_today(upgraded: Ledger, fresh: Ledger) -> None:
    """Read again, lessons count as if no other tokenizer had been; their labels stay, and their order."""
    before = upgraded.lessons.changes(0)
    batch = Batch.of([reading(number, TODAY) for number in (3, 2, 1, 2, 9)])
    assert upgraded.lessons.batcher().read_again([batch, Batch.of([])]) == 2
    assert exported(upgraded) == exported(fresh)
    assert upgraded.lessons.changes(0) == before
    assert upgraded.lessons.stats() == (3.0, {VERSION})
    assert upgraded.lessons.batcher().read_again([batch]) == 0


def test_what_is_computed_of_the_counts_is_computed_again(upgraded: Ledger) -> None:
    """The number of the last change rises, by which others see that the counts are different."""
    before = upgraded.lessons.last_change()
    upgraded.lessons.batcher().read_again([Batch.of([reading(1, TODAY)])])
    assert upgraded.lessons.last_change() > before
    upgraded.record_lessons()
    assert [action.digest for action in upgraded.journal.since(0.0)] == [bytes([number]) for number in (3, 2, 1)]


def test_what_was_known_then_is_known_still(upgraded: Ledger) -> None:
    """A lesson keeps what was known of its sender when it was learned: nothing of the first, and more of the third."""
    upgraded.lessons.batcher().read_again([Batch.of([reading(number, TODAY) for number in (1, 2, 3)])])
    counts = upgraded.lessons.counts(["known:correspondent"])
    assert counts.messages.tolist() == [[1], [1]]


def test_those_that_are_left(upgraded: Ledger) -> None:
    """Which messages have tokens of another tokenizer is known, in the order of their identities; not the forgotten."""
    assert upgraded.lessons.learned_with_other_tokenizer() == [b"\1", b"\2"]
    assert (
        upgraded.lessons.learned_with_other_tokenizer(b"\1")
        == upgraded.lessons.learned_with_other_tokenizer(b"\1", 1)
        == [b"\2"]
    )
    upgraded.lessons.forget([b"\1"], "a test", 4.0, how=How.HAND)
    assert upgraded.lessons.learned_with_other_tokenizer() == [b"\2"]
    assert upgraded.lessons.batcher().read_again([Batch.of([reading(1, TODAY)])]) == 0


@pytest.mark.parametrize("is_read_again", [False, True])
def test_corrections_are_exact(upgraded: Ledger, is_read_again: bool) -> None:
    """A lesson that is relabelled, forgotten or learned again moves exactly the tokens that it counts with."""
    if is_read_again:
        upgraded.lessons.batcher().read_again([Batch.of([reading(2, TODAY)])])
    kept = exported(upgraded)
    upgraded.lessons.learn([reading(1, TODAY)], SPAM, "moved", 4.0, how=How.MOVE)
    assert upgraded.lessons.counts(["a", "c"]).messages.tolist()[0] == [0, 1]
    assert bytes([1]) in upgraded.lessons.learned_with_other_tokenizer()
    back = Relabel(b"\1", SPAM, False, HAM, False, "undone", How.HAND)
    assert upgraded.lessons.relabel([back], 5.0) == [True]
    assert exported(upgraded) == kept
    upgraded.lessons.forget([b"\1", b"\2", b"\3"], "a test", 6.0, how=How.HAND)
    assert upgraded.lessons.totals().tolist() == [0] * 7
    assert upgraded.verify() == []


def test_only_what_is_read_by_another_tokenizer(lessons: Lessons) -> None:
    """Lessons of the present tokenizer are not read again, in either store."""
    lessons.learn([reading(1, FORMER)], HAM, "a test", 1.0, how=How.HAND)
    assert lessons.learned_with_other_tokenizer() == []
    assert lessons.batcher().read_again([Batch.of([reading(1, TODAY)])]) == 0
    assert lessons.counts(["a", "c"]).messages.tolist() == [[1, 0], [0, 0]]
