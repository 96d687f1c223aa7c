"""Whom and what one knows: what a person's decisions and sent mail say of the sender, thread and list of a message.

Each lesson and each sent message keeps the hashes that it makes known (`mail.relations`), and how many of them name
each hash is counted, as tokens are: so it is exact to forget, and `verify` proves it. Only decisions count: what is
learned weakly makes nothing known.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.mail.relations import Relations

_PREFIX = "known:"


class Known(StrEnum):
    """What is known of a message: it may be several of these.

    answer: it answers a message that the person has sent, and comes from somebody to whom that was written. Who has
    read that message elsewhere, in a list's archive or a mailbox that was broken into, can forge this.
    thread: it names a message that the person has sent, or called ham. Those of a list are public.
    correspondent: the sender is known, the path is too, and no spam came from there. The path is known where ham of
    this sender has come over it, or it is that of the sender's own domain.
    list: ham of this list has come over this path, and no spam.
    """

    ANSWER = "answer"
    THREAD = "thread"
    CORRESPONDENT = "correspondent"
    LIST = "list"


# Which become tokens. (1−ROCA)% online, csdmc2010, mean of index order and three shuffles: 0.0198 without, 0.0193 with
# `correspondent` (0.0195 where two messages must have come over the path), 0.0193 with `thread` beside it, 0.0197 with
# `list` too (0.0202 with `list` alone). `thread` is none, since it adds nothing, and whoever reads a list's archive can
# name one: 88.8 instead of 92.1 % of such spam would be caught (benchmarks/attacks.py). No corpus has sent mail to
# measure `answer` with. Tokens for a known sender over another path (0.0192), and for mail of nobody known (0.0194 with
# all), would speak against first letters.
_TOKENS = (Known.ANSWER, Known.CORRESPONDENT)


class Seen(NamedTuple):
    """In how many messages a hash is: of those that a person has called ham or spam, and of those that they sent."""

    ham: int = 0
    spam: int = 0
    sent: int = 0


NEVER = Seen()


def asked(relations: Relations) -> list[int]:
    """The hashes that decide what is known of a message."""
    of = relations
    values = (*of.refers, *of.answers, of.address, of.address_over_path, of.list_over_path)
    return [value for value in values if value]


def known(relations: Relations, seen: Callable[[int], Seen]) -> frozenset[Known]:
    """What is known of a message; `seen` gives what is known of each of `asked`, `NEVER` for the others."""
    of, found = relations, set()
    if any(one.ham or one.sent for one in map(seen, of.refers)):
        found.add(Known.THREAD)
    if any(seen(value).sent for value in of.answers):
        found.add(Known.ANSWER)
    address, over_path, over_list = seen(of.address), seen(of.address_over_path), seen(of.list_over_path)
    is_vouched = over_path.ham > 0 or (of.is_from_home and (address.ham or address.sent) > 0)
    if is_vouched and not over_path.spam:
        found.add(Known.CORRESPONDENT)
    if over_list.ham and not over_list.spam:
        found.add(Known.LIST)
    return frozenset(found)


def tokens_of(found: Iterable[Known]) -> list[str]:
    """The tokens that a message has for what is known of it. No message can write them itself.

    >>> tokens_of({Known.CORRESPONDENT, Known.THREAD})
    ['known:correspondent']
    """
    return [f"{_PREFIX}{one}" for one in _TOKENS if one in found]


def is_known(found: Iterable[Known]) -> bool:
    """Whether a message belongs to a known thread or comes from a correspondent: silence says nothing against it."""
    return not {Known.ANSWER, Known.THREAD, Known.CORRESPONDENT}.isdisjoint(found)


class Keeps(NamedTuple):
    """What a lesson or a sent message adds to the counts: hashes, and to which column of `Seen` (0, 1, 2)."""

    values: Sequence[int]
    column: int


def of_lesson(packed: bytes, label: Label | None, weak: bool) -> Keeps:
    """What a lesson makes known, of what is kept of its message; of spam only the sender and the list over the path."""
    if label is None or weak or not packed:
        return Keeps((), 0)
    values = unpack(packed)[2 * label :]
    return Keeps([value for value in values if value], int(label))


def of_sent(packed: bytes) -> Keeps:
    """What a sent message makes known."""
    return Keeps(unpack(packed), 2)


def pack(values: Sequence[int]) -> bytes:
    """Hashes as bytes, eight each; none where all are 0."""
    return struct.pack(f"<{len(values)}q", *values) if any(values) else b""


def unpack(packed: bytes) -> tuple[int, ...]:
    """The hashes again. Trailing bytes, by damage, are left out."""
    number = len(packed) // 8
    return struct.unpack_from(f"<{number}q", packed)


class Changes:
    """What lessons and sent messages change in the counts of hashes, on top of those that are kept."""

    def __init__(self, kept: Mapping[int, Seen]) -> None:
        self._kept = kept
        self.by: dict[int, list[int]] = {}  # the change of each column, by the hash

    def add(self, keeps: Keeps, sign: int) -> None:
        """Add what a message makes known, or take it back (sign -1)."""
        for value in keeps.values:
            self.by.setdefault(value, [0, 0, 0])[keeps.column] += sign

    def seen(self, value: int) -> Seen:
        """In how many messages a hash is after these changes."""
        kept, by = self._kept.get(value, NEVER), self.by.get(value)
        return kept if by is None else Seen(kept.ham + by[0], kept.spam + by[1], kept.sent + by[2])
