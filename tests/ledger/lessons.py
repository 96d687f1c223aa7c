"""Lessons, and what a ledger says about them."""

from collections.abc import Mapping

from spamnb.base.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from tests.lessons import Taught, learn, set_label

__all__ = ["known", "learn", "lesson", "set_label"]


def lesson(name: str, label: int, tokens: Mapping[str, int], at: float = 1.0) -> Taught:
    """A lesson on the message of that name."""
    return Taught(Reading(name.encode(), name, tokens), Label(label), at)


def known(ledger: Ledger, token: str) -> list[int]:
    """Ham and spam messages with the token, and its occurrences in them."""
    counts = ledger.lessons.counts([token])
    return [*counts.messages[:, 0].tolist(), *counts.occurrences[:, 0].tolist()]
