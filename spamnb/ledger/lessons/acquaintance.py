"""Whom one knows: what a person's decisions and sent mail say of who has written a message.

A lesson keeps the sender over the path, and a sent message the answers that it may get (`mail.relations`). What is
known is looked up among them, so that it is exact to forget. Only decisions count: what is learned weakly makes nobody
known.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from spamnb.label import Label


class Acquaintance(StrEnum):
    """What is known of who has written a message: it may be both.

    answer: it answers a message that the person has sent, and comes from somebody to whom that was written. Who has
    read that message elsewhere, in a list's archive or a mailbox that was broken into, can forge this.
    correspondent: ham of this sender has come over this path, and no spam.

    FIGURES
    """

    ANSWER = "answer"
    CORRESPONDENT = "correspondent"


class Seen(NamedTuple):
    """What is kept of the sender of a message: whether their mail over its path was called ham, and spam, and whether
    the person has sent them what it answers.
    """

    ham: bool = False
    spam: bool = False
    answered: bool = False

    def after(self, label: Label) -> "Seen":
        """The same, once mail of that sender over that path was called so."""
        return self._replace(**{label.word: True})

    @property
    def known(self) -> frozenset[Acquaintance]:
        """What that says of the message."""
        known = {Acquaintance.ANSWER} if self.answered else set()
        if self.ham and not self.spam:
            known.add(Acquaintance.CORRESPONDENT)
        return frozenset(known)


def tokens_of(known: Iterable[Acquaintance]) -> list[str]:
    """The tokens that a message has for what is known of it. No message can write them itself.

    >>> tokens_of({Acquaintance.CORRESPONDENT})
    ['known:correspondent']
    """
    return [f"known:{each}" for each in sorted(known)]
