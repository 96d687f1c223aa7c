"""What lessons know of a message that is to be judged, in plain numbers.

To judge one message takes no numpy, whose import takes longer than all the rest (`benchmarks/prompt.py`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from spamnb.base.label import Label
from spamnb.bayes.estimate import OfClass
from spamnb.ledger.lessons.acquaintance import Acquaintance
from spamnb.mail.relations import Relations


class Evidence(NamedTuple):
    """The counts of some tokens.

    counts: of each token that a learned message holds, and of others perhaps: messages with it, ham then spam, and its
    occurrences in them, alike.
    totals: messages, tokens summed over messages, and occurrences, each ham then spam; vocabulary.
    """

    counts: Mapping[str, Sequence[int]]
    totals: Sequence[int]

    @property
    def is_taught(self) -> bool:
        """Whether messages of both classes were learned."""
        return self.totals[0] > 0 < self.totals[1]

    def of_class(self, label: Label) -> OfClass:
        """The totals of a class."""
        messages, token_messages, occurrences = self.totals[label:6:2]
        return OfClass(messages, token_messages, occurrences, self.totals[6])


class Evident(Protocol):
    """Lessons, as far as one message is judged by them."""

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """The counts of these tokens."""

    def known(self, messages: Sequence[Relations]) -> list[frozenset[Acquaintance]]:
        """What decisions and sent mail say of each of these messages."""


class NoEvidence:
    """What is known where nothing was learned yet."""

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """No counts."""
        return Evidence({}, (0,) * 7)

    def known(self, messages: Sequence[Relations]) -> list[frozenset[Acquaintance]]:
        """Nothing of each message."""
        return [frozenset()] * len(messages)
