"""What a filter has learned."""

import pytest

from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import read


@pytest.fixture
def lessons() -> MemoryLessons:
    """Lessons of letters and spam."""
    learned = MemoryLessons()
    for label in Label:
        learned.learn([read(message(label.word, n)) for n in range(25)], label, "filed", 1.0, how=How.HAND)
    return learned
