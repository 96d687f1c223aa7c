"""What ledgers of tests have learned."""

from collections.abc import Iterator

from spamnb.cli.sample_mail import message
from spamnb.ledger.lesson import Lesson, lesson
from spamnb.mail.reading import read


def sample_lessons(number: int) -> Iterator[Lesson]:
    """So many made-up ham and as many spam messages."""
    for label, kind in enumerate(("ham", "spam")):
        for each in range(number):
            yield lesson(read(message(kind, each)), label, "trained", 1.0)
