"""Lessons, and what a ledger says about them."""

from collections.abc import Mapping

from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import Lesson


def lesson(name: str, label: int, tokens: Mapping[str, int], at: float = 1.0) -> Lesson:
    """A lesson on the message of that name."""
    return Lesson(name.encode(), label, tokens, 1, name, "a test", at)


def known(ledger: Ledger, token: str) -> list[int]:
    """Ham and spam messages with the token, and its occurrences in them."""
    counts = ledger.learned.counts([token])
    return [*counts.messages[:, 0].tolist(), *counts.occurrences[:, 0].tolist()]
