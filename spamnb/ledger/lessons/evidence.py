"""What lessons know of a message to be judged, in plain numbers.

Judging one message uses no numpy: importing it takes longer than all the rest (`benchmarks/prompt.py`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from spamnb.base.label import Label
from spamnb.bayes.estimate import OfClass
from spamnb.ledger.lessons.acquaintance import Seen, SignedBefore
from spamnb.mail.relations import Relations


class Evidence(NamedTuple):
    """The counts of some tokens.

    counts: of each token that a learned message holds, and perhaps of others: the messages with it, ham then spam, and
    its occurrences in them, ham then spam. totals: messages, tokens summed over messages, and occurrences, each ham
    then spam; vocabulary. change: the number of the last change of the lessons.
    """

    counts: Mapping[str, Sequence[int]]
    totals: Sequence[int]
    change: int

    @property
    def state(self) -> tuple[int, ...]:
        """Two equal states have the same counts of all tokens. Pruning has no number of a change, but other totals."""
        return *self.totals, self.change

    @property
    def is_taught(self) -> bool:
        """Whether messages of both classes were learned."""
        return self.totals[0] > 0 < self.totals[1]

    def of_class(self, label: Label) -> OfClass:
        """Return the totals of a class."""
        messages, token_messages, occurrences = self.totals[label:6:2]
        return OfClass(messages, token_messages, occurrences, self.totals[6])


class Evident(Protocol):
    """The part of lessons that judging one message needs."""

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """Return the counts of these tokens."""

    def seen(self, messages: Sequence[Relations]) -> list[Seen]:
        """Return what decisions and sent mail say of each of these messages."""

    def signed_before(self, message: Relations, without: bytes | None = None) -> SignedBefore:
        """Return the decisions about mail of who answers for a message.

        without: the identity of a message whose own lesson is left out.
        """


class NoEvidence:
    """The evidence before anything was learned."""

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """Return no counts."""
        return Evidence({}, (0,) * 7, 0)

    def seen(self, messages: Sequence[Relations]) -> list[Seen]:
        """Return nothing for each message."""
        return [Seen()] * len(messages)

    def signed_before(self, message: Relations, without: bytes | None = None) -> SignedBefore:
        """Return no decisions."""
        return SignedBefore()
