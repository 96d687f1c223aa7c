"""The choices that a page offers about a sender (its mail is ham, or spam), and the present choice."""

from collections.abc import Iterable
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.config.named_senders import KEYS, exact_pattern
from spamnb.ledger.history.senders import MOST_NAME, Sender


class FixedLabel(NamedTuple):
    """The fixed label of a sender's mail, whatever the filter thinks. is_chosen: by a choice, not the configuration."""

    label: Label
    pattern: str
    is_chosen: bool

    @property
    def key(self) -> str:
        """The key of `senders` in the configuration for this label."""
        return KEYS[self.label]


class Offer(NamedTuple):
    """A pattern to choose about, and its present label, or None. kind: an address, a list or a domain."""

    pattern: str
    kind: str
    said: FixedLabel | None


def fixed_label_of(config: Config, addresses: tuple[str, ...], list_id: str) -> FixedLabel | None:
    """Return the fixed label of mail from these addresses and a list; each may be "". config: with the choices."""
    named = config.senders.named(addresses, list_id)
    return None if named is None else FixedLabel(*named, config.senders.is_chosen(named[1]))


def offers(config: Config, senders: Iterable[Sender]) -> list[Offer]:
    """Return the choices about a message's address, domain and list, for each that a pattern can name exactly."""
    found: dict[str, Offer] = {}
    for sender in senders:
        domain = "" if sender.is_list else sender.name.rpartition("@")[2]
        for pattern, kind in ((sender.name, "list" if sender.is_list else "address"), (domain, "domain")):
            if _names_exactly(pattern):
                said = fixed_label_of(config, *(((pattern,), "") if "@" in pattern else (("",), pattern)))
                found.setdefault(pattern, Offer(pattern, kind, said))
    return list(found.values())


def _names_exactly(pattern: str) -> bool:
    """Return whether a name, as a pattern, matches only itself: the ledger has not cut it, and it has no wildcard."""
    return 0 < len(pattern) < MOST_NAME and exact_pattern(pattern) == pattern
