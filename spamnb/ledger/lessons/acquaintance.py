"""Whom one knows: what a person's decisions and sent mail say about the sender of a message.

A lesson keeps the sender over the path, and a sent message its recipients and the answers that it may get
(`mail.relations`). The knowledge is looked up among them, so that forgetting is exact. For the tokens only decisions
and answers count. All else only says who is a newcomer (`rules/acquaintances.py`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple, Self

from spamnb.base.label import Label
from spamnb.mail.relations import Relations

_HASH_BYTES = 8  # of the hashes of `mail.relations`


class Acquaintance(StrEnum):
    """How the sender of a message is known; both may be true.

    answer: it answers a message that the person has sent, and comes from a recipient of that message. Someone who has
    read that message elsewhere, in a list's archive or a mailbox that was broken into, can forge this. correspondent:
    ham of this sender has come over this path, and no spam.

    Each is a token. `python benchmarks/correspondents.py csdmc2010`, means of four orders, 2026-11-23. A tenth of the
    messages that ham answers were made the person's own, since no corpus has sent mail:

    - (1−ROCA)% online: 0.0147 without both, 0.0147 with `answer`, 0.0144 with `correspondent`, 0.0144 with both.
    - 1,613 ham from correspondents: 3.75 are unsure without, 0.5 with; of 123 answers none is in doubt either way,
      and their mean probability of spam falls from 0.00022 to 0.00012.
    - 1,292 ham from unknown senders: 0.5 are called spam and 38.75 unsure. If each answered the person's mail, this
      would be 0.25 and 33; if it came from a correspondent, 0.25 and 30.75. An answer from a new address gains this.
    - Forged: of 1,378 spam 1,312 are caught; as answers 1,291, as a correspondent's 1,275, as both 1,259.

    Other knowledge is left out, because it improved no verdict beside both; measured when both had 0.0192. It was: that
    a message names any message of the person's or any ham (0.0192; of spam that names public ones 88.8 instead of 92.1
    % were caught); a list over the path of its ham (0.0195); and a sender, written to or called ham, over the path of
    the own domain (0.0192: 2.5 more ham are known). The Enron sets have no header fields to measure it by.
    """

    ANSWER = "answer"
    CORRESPONDENT = "correspondent"


class Seen(NamedTuple):
    """The record about the sender of a message.

    ham, spam: a person has called mail of this sender over this path so. answered: the message answers one of the
    person's. kept: there is weak ham of this sender over this path. written_to: the person has written to this address.
    """

    ham: bool = False
    spam: bool = False
    answered: bool = False
    kept: bool = False
    written_to: bool = False

    def after(self, label: Label) -> "Seen":
        """Return what is known after mail of that sender over that path got this label."""
        return self._replace(ham=True) if label is Label.HAM else self._replace(spam=True)

    @property
    def known(self) -> frozenset[Acquaintance]:
        """Return what this says of the message."""
        known = {Acquaintance.ANSWER} if self.answered else set()
        if self.ham and not self.spam:
            known.add(Acquaintance.CORRESPONDENT)
        return frozenset(known)


class SignedBefore(NamedTuple):
    """How many decisions call mail ham and spam for which the same holder answers (`Relations.signed_by`).

    It is apart from `Seen`, since few messages need it: those that look like spam and for which a server vouches.
    """

    ham: int = 0
    spam: int = 0


def tokens_of(known: Iterable[Acquaintance]) -> list[str]:
    """Return the tokens that a message gets for what is known of its sender. No message can write them itself.

    >>> tokens_of({Acquaintance.CORRESPONDENT})
    ['known:correspondent']
    """
    return [f"known:{each}" for each in sorted(known)]


class KeptRelations(NamedTuple):
    """What a lesson keeps of the relations of its message, as hashes; None for what they do not say.

    signed_by: who answers for the message.
    """

    sender_over_path: int | None = None
    signed_by: int | None = None

    @classmethod
    def of(cls, relations: Relations) -> Self:
        """Return what is kept of these relations."""
        return cls(relations.sender_over_path, relations.signed_by)


def packed(kept: KeptRelations) -> bytes:
    """Return what a lesson keeps of the relations of its message, in the form for another store.

    Hashes are never 0, so 0 stands for None.

    >>> packed(KeptRelations(-2)).hex(), packed(KeptRelations()), packed(KeptRelations(None, 3)).hex()
    ('fffffffffffffffe', b'', '00000000000000000000000000000003')
    >>> unpacked(packed(KeptRelations(-2, 3)))
    KeptRelations(sender_over_path=-2, signed_by=3)
    """
    hashes = kept if kept.signed_by is not None else kept[: kept.sender_over_path is not None]
    return b"".join((each or 0).to_bytes(_HASH_BYTES, "big", signed=True) for each in hashes)


def unpacked(relations: bytes) -> KeptRelations:
    """Return what `packed` has packed. Raises ValueError for other bytes."""
    if len(relations) not in (0, _HASH_BYTES, 2 * _HASH_BYTES):
        raise ValueError(f"{len(relations)} bytes are not relations")
    starts = range(0, len(relations), _HASH_BYTES)
    hashes = [int.from_bytes(relations[start : start + _HASH_BYTES], "big", signed=True) for start in starts]
    return KeptRelations(*(each or None for each in hashes))
