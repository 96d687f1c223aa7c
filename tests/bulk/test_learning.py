"""Learning many messages: the counts are those of learning one by one, however the messages come."""

from array import array
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from spamnb.base.label import How, Label
from spamnb.bulk import learning
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import Reading, read

READINGS = [read(message(Label(number % 2).word, number)) for number in range(60)]


def exported(ledger: Ledger) -> str:
    """Return the export of a ledger, which is sound."""
    assert ledger.verify() == []
    return "".join(ledger.lessons.export())


def batches(readings: list[Reading]) -> list[Batch]:
    """The messages in batches of seven; of the odd ones, as another process has sent them, the hashes say nothing."""
    found = [Batch.of(readings[start : start + 7]) for start in range(0, len(readings), 7)]
    for number in range(1, len(found), 2):
        tokens = found[number].tokens
        other = tokens._replace(hashes=array("q", [7] * len(tokens.vocabulary)), hashed_by=1)
        found[number] = found[number]._replace(tokens=other)
    return found


def test_the_counts_are_those_of_messages_learned_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learned in bulk, twice, and while another process learns and forgets, messages have the counts of each alone."""
    monkeypatch.setattr(learning, "_LEAST", 2)
    monkeypatch.setattr(learning, "_WAITED", -1.0)
    with Ledger(str(tmp_path / "one by one")) as alone, Ledger(str(tmp_path / "together")) as together:
        for one in READINGS:
            alone.lessons.learn([one], Label.SPAM, "a test", 1.0, how=How.HAND)
        with Ledger(str(tmp_path / "together")) as other:

            def arriving() -> Iterator[tuple[Batch, learning.LeftOut]]:
                for number, batch in enumerate(batches(READINGS) + batches(READINGS[:20])):
                    if number == 3:
                        other.lessons.learn(READINGS[-3:], Label.SPAM, "a test", 1.0, how=How.HAND)
                    if number == 5:
                        other.lessons.learn(READINGS[-4:], Label.HAM, "a test", 1.0, how=How.HAND)
                    yield batch, []

            done = list(learning.learn(together, arriving(), Label.SPAM, "a test", lambda: 1.0))
        assert len(done) == 6
        assert sum(one.seen for one in done) == 80
        assert exported(together) == exported(alone)


def test_a_new_token_follows_the_one_that_was_met_before(tmp_path: Path) -> None:
    """Tokens get their ids in the order in which messages hold them, so that a message's new tokens are neighbours."""
    readings = [Reading(bytes([n]), "", {f"{word}{n}": 1 for word in "cab"}) for n in range(3)]
    with Ledger(str(tmp_path / "ledger")) as ledger:
        ledger.lessons.batcher().learn(
            [Batch.of(readings[:2]), Batch.of(readings[2:])], Label.HAM, "a test", 1.0, how=How.HAND
        )
        texts = ledger.lessons.texts(range(1, 10))
    assert list(dict(sorted(texts.items())).values()) == ["c0", "a0", "b0", "c1", "a1", "b1", "c2", "a2", "b2"]


@pytest.mark.parametrize(("seconds", "sizes"), [(0.0, [32, 8]), (0.1, [16, 16, 8])])
def test_a_transaction_is_of_what_was_read_meanwhile(seconds: float, sizes: list[int]) -> None:
    """If batches come slowly, a transaction has few; if they are ready, many."""
    one = Batch.of([])
    ticks = count()
    some = learning._transactions(iter([(one, [])] * 40), lambda: next(ticks) * seconds)
    assert [len(of) for of in some] == sizes
