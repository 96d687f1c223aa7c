"""The files that messages were learned from at the prompt."""

import pytest

from spamnb.base.label import Label
from spamnb.ledger.history.trained import TrainedFile
from spamnb.ledger.ledger import Ledger
from tests.ledger.plans import plans
from tests.lessons import learn, lesson

MANY = 58_000


def digest(number: int) -> bytes:
    """The identity of a made-up message."""
    return number.to_bytes(32, "little")


def trained(ledger: Ledger, messages: int) -> None:
    """Messages that were learned from one file each."""
    with ledger.transaction():
        ledger._connection.executemany(
            "INSERT INTO message (digest, summary) VALUES (?, 'm')", ((digest(number),) for number in range(messages))
        )
        ledger.trained.record(Label.SPAM, ((digest(number), f"/mail/{number}") for number in range(messages)))


def test_of_messages(ledger: Ledger) -> None:
    """The files of messages are found by their identities, however many are asked for; others are not among them."""
    trained(ledger, 1200)
    ledger.trained.record(Label.HAM, [(digest(7), "/copy/7")])
    files = list(ledger.trained.of_messages([digest(7), digest(1199), digest(7), b"unknown"]))
    assert sorted(files) == [
        TrainedFile("/copy/7", digest(7), Label.HAM),
        TrainedFile("/mail/1199", digest(1199), Label.SPAM),
        TrainedFile("/mail/7", digest(7), Label.SPAM),
    ]
    assert len(list(ledger.trained.of_messages([digest(number) for number in range(1200)]))) == 1201
    assert list(ledger.trained.of_messages([])) == []


def test_called_otherwise(ledger: Ledger) -> None:
    """A file that was called another thing than its message is learned as is found."""
    learn(ledger, [lesson("a", 0, {"x": 1})])
    ledger.trained.record(Label.HAM, [(b"a", "/ham/a")])
    assert list(ledger.trained.labelled_differently()) == []
    ledger.trained.record(Label.SPAM, [(b"a", "/spam/a")])
    assert list(ledger.trained.labelled_differently()) == [TrainedFile("/spam/a", b"a", Label.SPAM)]


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [1, 600])
def test_looked_up_among_many(ledger: Ledger, asked: int) -> None:
    """Among 58,000 trained files those of a few messages are looked up, by indexes alone."""
    trained(ledger, MANY)
    digests = [digest(number) for number in range(asked)]
    steps = plans(ledger, lambda: list(ledger.trained.of_messages(digests)))
    assert steps == [
        [
            "SEARCH m USING COVERING INDEX sqlite_autoindex_message_1",
            "SEARCH f USING INDEX trained_file_message",
            "SEARCH d USING INTEGER PRIMARY KEY",
        ]
    ] * (1 + asked // 501)
