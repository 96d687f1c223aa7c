"""Patterns of senders and lists that a person allows or blocks: their spelling, and the mail that they match.

An address has an "@"; "*" stands for any letters and "?" for one: `*@example.org`, `news-*@example.org`. A pattern
without "@" is a domain or a List-Id, and includes subdomains: `example.org` matches `a@mail.example.org` and the list
`announce.example.org`. `*.example` matches a whole top level.
"""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from spamnb.base.label import Label
from spamnb.base.patterns import lazy_pattern
from spamnb.config.readers import patterns_of

_ATOM = r"[^\s@<>()\[\],;:\"'/\\]+"
_PATTERN = lazy_pattern(rf"(?:{_ATOM}@)?{_ATOM}", re.ASCII)
_LETTER = lazy_pattern(r"[^*?.@]")
_LONGEST = 254  # characters: of an address (RFC 5321, 4.5.3.1)


def sender_pattern(written: str) -> str:
    """Return a pattern in lower case. Raises ValueError with the fault and what to write."""
    pattern, shown = written.strip().lower(), repr(written[:60])
    domain = pattern.rpartition("@")[2]
    example = "an address (*@example.org), a domain (example.org) or a List-Id (list.example.org)"
    if pattern.startswith("@"):
        raise ValueError(f"{shown} has nothing before '@'; write '*{pattern[:60]}', or the domain alone")
    is_written_so = pattern.isprintable() and _PATTERN.fullmatch(pattern) is not None
    if len(pattern) > _LONGEST or not is_written_so or domain.startswith(".") or ".." in domain:
        raise ValueError(f"{shown} cannot be a sender; write {example}")
    if not _LETTER.search(pattern):
        raise ValueError(f"{shown} matches all mail; write {example}")
    if "@" not in pattern and "." not in pattern:
        raise ValueError(f"{shown} has neither '@' nor a dot; write {example}")
    return pattern


KEYS = {Label.HAM: "allow", Label.SPAM: "block"}
"""The keys of `senders` in the configuration, by their label."""
_patterns = patterns_of(sender_pattern, "a list of senders, such as ['*@example.org', list.example.org]")


@dataclass(frozen=True, slots=True)
class Senders:
    """The senders whose mail is always ham, or always spam. If both match, it is ham: lost ham costs more."""

    allow: Annotated[tuple[str, ...], _patterns] = ()
    block: Annotated[tuple[str, ...], _patterns] = ()

    def named(self, senders: tuple[str, ...], list_id: str) -> tuple[Label, str] | None:
        """Return the label of mail from these senders and this list, all in lower case, and its pattern; or None.

        Mail is allowed if all its senders are, and blocked if one is. "" is a sender that no pattern matches.
        """
        allowed = [_first_match(self.allow, sender, list_id) for sender in senders]
        if allowed and all(allowed):
            return Label.HAM, allowed[0]
        blocked = next(filter(None, (_first_match(self.block, sender, list_id) for sender in senders)), "")
        return (Label.SPAM, blocked) if blocked else None

    def is_chosen(self, pattern: str) -> bool:
        """Return whether this pattern is a person's choice, and not from the configuration."""
        return pattern not in (*self.allow, *self.block)


@dataclass(frozen=True, slots=True)
class SendersInForce(Senders):
    """The senders of a configuration, and a person's choices, which have lower priority."""

    chosen: Senders = Senders()

    def named(self, senders: tuple[str, ...], list_id: str) -> tuple[Label, str] | None:
        """Return the same as `Senders`: by the configuration, or else by the choices."""
        return Senders.named(self, senders, list_id) or self.chosen.named(senders, list_id)


def _first_match(patterns: Sequence[str], sender: str, list_id: str) -> str:
    """Return the first pattern that matches; "" if none does."""
    return next((pattern for pattern in patterns if matches_sender(pattern, sender, list_id)), "")


def matches_sender(pattern: str, sender: str, list_id: str) -> bool:
    """Return whether a pattern matches the sender or the list of a message.

    >>> matches_sender("example.org", "a@mail.example.org", ""), matches_sender("example.org", "a@notexample.org", "")
    (True, False)
    >>> matches_sender("*@example.org", "a@example.org", ""), matches_sender("*@example.org", "a@b.example.org", "")
    (True, False)
    >>> matches_sender("list.example.org", "a@elsewhere.example", "list.example.org")
    True
    >>> matches_sender("bücher.example", "a@xn--bcher-kva.example", "")
    True
    """
    if not (pattern.isascii() and sender.isascii() and list_id.isascii()):
        pattern, sender, list_id = map(_as_in_the_dns, (pattern, sender, list_id))
    is_address = "@" in pattern
    if "*" in pattern or "?" in pattern:
        expression = _expression(pattern)
        names = (sender,) if is_address else (sender.rpartition("@")[2], list_id)
        return any(expression.fullmatch(name) for name in names if name)
    if is_address:  # most have no star: 3,000 of them take 0.4 ms per message, and as expressions 120 ms
        return pattern == sender
    return f".{sender.rpartition('@')[2]}".endswith(below := f".{pattern}") or f".{list_id}".endswith(below)


@lru_cache(maxsize=1024)
def _as_in_the_dns(name: str) -> str:
    """Return a name with its domain in ASCII letters: mail has both spellings of a name such as `bücher.example`."""
    local, at, domain = name.rpartition("@")
    return f"{local}{at}{'.'.join(map(_label, domain.split('.')))}"


def _label(label: str) -> str:
    if label.isascii() or "*" in label or "?" in label:
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:  # such a name cannot exist: it is compared unchanged
        return label


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    exact = fnmatch.translate(pattern.replace("[", "[[]"))
    return re.compile(exact if "@" in pattern else rf"(?:.*\.)?{exact}", re.DOTALL)
