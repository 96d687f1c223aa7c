"""What can be chosen of a sender: that its mail is ham, or spam; and what is said of it already."""

from collections.abc import Iterable
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.config.named_senders import KEYS, sender_pattern
from spamnb.ledger.history.senders import MOST_NAME, Sender

_WILD = frozenset("*?")  # a stranger's address may hold them: as a pattern it would name others too


class Said(NamedTuple):
    """What is said of the mail of a sender, whatever the filter thinks. is_chosen: not by the configuration."""

    label: Label
    pattern: str
    is_chosen: bool

    @property
    def key(self) -> str:
        """The key of `senders` in the configuration that says such a thing."""
        return KEYS[self.label]


class Offer(NamedTuple):
    """What can be chosen of a pattern, and what is said of its mail now (None: nothing). kind: what the pattern is."""

    pattern: str
    kind: str
    said: Said | None


def said_of(config: Config, address: str, list_id: str) -> Said | None:
    """What is said of mail of an address and a list, each of which may be "". config: with the choices."""
    named = config.senders.named(address, list_id)
    return None if named is None else Said(*named, config.senders.is_chosen(named[1]))


def offers(config: Config, senders: Iterable[Sender]) -> list[Offer]:
    """What can be chosen of the address and the list of a message; nothing of what cannot be named exactly."""
    found: dict[str, Offer] = {}
    for sender in senders:
        domain = "" if sender.is_list else sender.name.rpartition("@")[2]
        for pattern, kind in ((sender.name, "list" if sender.is_list else "address"), (domain, "domain")):
            if _names_exactly(pattern):
                said = said_of(config, *((pattern, "") if "@" in pattern else ("", pattern)))
                found.setdefault(pattern, Offer(pattern, kind, said))
    return list(found.values())


def _names_exactly(pattern: str) -> bool:
    """Whether a name is a pattern that names it and no other: not one that the ledger has cut, nor with a star."""
    if len(pattern) >= MOST_NAME or not _WILD.isdisjoint(pattern):
        return False
    try:
        return sender_pattern(pattern) == pattern
    except ValueError:
        return False
