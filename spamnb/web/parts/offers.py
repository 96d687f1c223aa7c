"""The choices that a page offers about a sender (its mail is ham, or spam), and the present choice."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.config.named_senders import KEYS, exact_pattern, list_pattern
from spamnb.ledger.history.senders import MOST_NAME, Sender
from spamnb.mail.path import site_of


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
    """A pattern to choose about, and its present label, or None. kind: an address, a list or a domain; name: of it."""

    pattern: str
    kind: str
    name: str
    said: FixedLabel | None


def fixed_label_of(config: Config, addresses: tuple[str, ...], list_id: str) -> FixedLabel | None:
    """Return the fixed label of mail from these addresses and a list; each may be "". config: with the choices."""
    return _fixed(config, config.senders.named(addresses, list_id))


def _fixed(config: Config, named: tuple[Label, str] | None) -> FixedLabel | None:
    return None if named is None else FixedLabel(*named, config.senders.is_chosen(named[1]))


def offers(config: Config, senders: Iterable[Sender], authors: Collection[str]) -> list[Offer]:
    """Return the choices about a message's address, domain and list, for each that a pattern can name exactly.

    A stranger may write any List-Id. So it offers a list only if one of the authors has its site. authors: the domain
    of From, and those that have signed, by the person's own server.
    """
    found: dict[str, Offer] = {}
    for sender in senders:
        if sender.is_list:
            named = [("list", sender.name)] if any(_has_list(author, sender.name) for author in authors) else []
        else:
            named = [("address", sender.name), ("domain", sender.name.rpartition("@")[2])]
        for kind, name in named:
            pattern = list_pattern(name) if kind == "list" else exact_pattern(name)
            # the ledger has not cut the name, and it has no wildcard
            if 0 < len(name) < MOST_NAME and pattern.endswith(name):
                offer = Offer(pattern, kind, name, _fixed(config, config.senders.named_by(pattern)))
                found.setdefault(pattern, offer)
    return list(found.values())


def _has_list(author: str, list_id: str) -> bool:
    """Tell whether a list is of the site of a domain, or below the domain."""
    site = site_of(list_id)
    return (site != "" and site == site_of(author)) or f".{list_id}".endswith(f".{author}")
