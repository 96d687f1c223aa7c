"""Messages of the inbox that a person may call wanted, while the filter knows too little ham."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.answers import Answer, Answers, Question
from spamnb.acts.not_yet import not_yet
from spamnb.acts.wanted import wanted_questions
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from tests.service.desk import Desk, untaught_desk

LETTERS = [message("ham", number) for number in range(5)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox whose filter has learned nothing."""
    with untaught_desk(tmp_path) as made:
        yield made


def test_what_is_asked_about(desk: Desk) -> None:
    """It asks about read mail first, the newest first; not about filed, learned, deleted or answered-for mail."""
    config = desk.config
    unread, *read_ = LETTERS
    desk.deliver(message("ham", 10), "Archive", "S")
    desk.deliver(junk := message("ham", 12), flags="S")
    desk.take(junk, "INBOX", "Junk")
    for content in (*read_, unread):
        desk.deliver(content, flags="S" if content is not unread else None)
        desk.ahead += 60.0
    desk.deliver(message("ham", 11), flags="ST")

    def asked(most: int = 20) -> list[bytes]:
        found = [one.digest for one in wanted_questions(desk.ledger, config, most)]
        contents = {identity(content): content for content in LETTERS}
        return [contents[digest] for digest in found]

    assert asked() == [*read_[::-1], unread]
    assert asked(2) == read_[:1:-1]
    found = not_yet(desk.ledger, config, time.time(), "20 more ham messages to learn")
    assert found is not None and found.questions == 0, "first the person shows some spam"
    for number in range(100, 104):
        training.learn_message(desk.ledger, message("spam", number), Label.SPAM, "a test", time.time(), how=How.HAND)
    found = not_yet(desk.ledger, config, time.time(), "20 more ham messages to learn")
    assert found is not None and (found.questions, found.way) == (5, "To begin sooner")
    Answers(desk.ledger, config).give(Question(identity(read_[-1]), "", Label.HAM, None), Answer.NEVER)
    assert asked(2) == read_[-2:-4:-1]
