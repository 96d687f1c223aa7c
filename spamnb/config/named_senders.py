"""Patterns of senders and lists that a person allows or blocks: their spelling, and the mail that they match.

An address has an "@"; "*" stands for any letters and "?" for one: `*@example.org`, `news-*@example.org`. A pattern
without "@" is a domain or a List-Id, and includes subdomains: `example.org` matches `a@mail.example.org` and the list
`announce.example.org`. `*.example` matches a whole top level.

A stranger writes any List-Id, such as `gmail.com`. A pattern made of that would match the mail of all who write from
there. So a pattern of a list begins with "list:", matches lists alone, and names the whole List-Id:
`list:announce.example.org`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, NamedTuple

from spamnb.base.label import Label
from spamnb.base.patterns import lazy_pattern
from spamnb.config.readers import patterns_of

_ATOM = r"[^\s@<>()\[\],;:\"'/\\]+"
_PATTERN = lazy_pattern(rf"(?:{_ATOM}@)?{_ATOM}", re.ASCII)
_LIST = "list:"
_LETTER = lazy_pattern(r"[^*?.@]")
_LONGEST = 254  # characters: of an address (RFC 5321, 4.5.3.1)
_MOST_STARS = 5
_WILD = frozenset("*?")


def sender_pattern(written: str) -> str:
    """Return a pattern in lower case. Raises ValueError with the fault and what to write."""
    whole, shown = written.strip().lower(), repr(written[:60])
    pattern = whole.removeprefix(_LIST)
    domain = pattern.rpartition("@")[2]
    example = "an address (*@example.org), a domain (example.org) or a List-Id (list:talk.example.org)"
    if pattern.startswith("@"):
        raise ValueError(f"{shown} has nothing before '@'; write '*{pattern[:60]}', or the domain alone")
    is_written_so = pattern.isprintable() and _PATTERN.fullmatch(pattern) is not None
    is_written_so = is_written_so and (pattern == whole or "@" not in pattern)
    if len(pattern) > _LONGEST or not is_written_so or domain.startswith(".") or ".." in domain:
        raise ValueError(f"{shown} cannot be a sender; write {example}")
    if pattern.count("*") > _MOST_STARS:
        raise ValueError(f"{shown} has more than {_MOST_STARS} stars; write at most {_MOST_STARS}")
    if not _LETTER.search(pattern):
        raise ValueError(f"{shown} matches all mail; write {example}")
    if "@" not in pattern and "." not in pattern:
        raise ValueError(f"{shown} has neither '@' nor a dot; write {example}")
    return whole


def exact_pattern(name: str) -> str:
    """Return the pattern of an address or a domain, without wildcards; "" if no pattern names it.

    A stranger's address may hold wildcards: as a pattern it would match other senders too.

    >>> exact_pattern("Ann@example.org"), exact_pattern("*@example.org"), exact_pattern("list")
    ('ann@example.org', '', '')
    """
    if not _WILD.isdisjoint(name):
        return ""
    try:
        return sender_pattern(name)
    except ValueError:
        return ""


def list_pattern(list_id: str) -> str:
    """Return the pattern of a mailing list alone, without wildcards; "" if no pattern names it.

    >>> list_pattern("Talk.example.org"), list_pattern("*.example.org"), list_pattern("a@example.org")
    ('list:talk.example.org', '', '')
    """
    return exact_pattern(f"{_LIST}{list_id}")


def is_of_list(pattern: str) -> bool:
    """Return whether a pattern names a mailing list alone."""
    return pattern.startswith(_LIST)


KEYS = {Label.HAM: "allow", Label.SPAM: "block"}
"""The keys of `senders` in the configuration, by their label."""
_patterns = patterns_of(sender_pattern, "a list of senders, such as ['*@example.org', list.example.org]")


@dataclass(frozen=True, slots=True)
class Senders:
    """The senders whose mail is always ham, or always spam. If both match, it is ham: ham in Junk costs more."""

    allow: Annotated[tuple[str, ...], _patterns] = ()
    block: Annotated[tuple[str, ...], _patterns] = ()

    def named(self, senders: tuple[str, ...], list_id: str) -> tuple[Label, str] | None:
        """Return the label of mail from these senders and this list, all in lower case, and its pattern; or None.

        Mail is allowed if its list or all its senders are, and blocked if one of them is. "" is a sender that no
        pattern matches.
        """
        return self._named(_of_list(list_id), list(map(_of_sender, senders)))

    def named_by(self, pattern: str) -> tuple[Label, str] | None:
        """Return the same for mail that a pattern names: that of an address, a domain or a list."""
        if "@" in pattern:
            return self._named(_NOBODY, [_of_sender(pattern)])
        if is_of_list(pattern):
            return self._named(_of_list(pattern.removeprefix(_LIST)), [_NOBODY])
        return self._named(_of_sender(f"@{pattern}")._replace(addresses=()), [_NOBODY])

    def _named(self, of_list: "_Names", of_senders: Sequence["_Names"]) -> tuple[Label, str] | None:
        allowed = _first_match(self.allow, of_list) or _first_match_of_all(self.allow, of_senders)
        if allowed:
            return Label.HAM, allowed
        blocked = next(filter(None, (_first_match(self.block, names) for names in (of_list, *of_senders))), "")
        return (Label.SPAM, blocked) if blocked else None

    def is_chosen(self, pattern: str) -> bool:
        """Return whether this pattern is a person's choice, and not from the configuration."""
        return pattern not in (*self.allow, *self.block)


@dataclass(frozen=True, slots=True)
class SendersInForce(Senders):
    """The senders of a configuration, and a person's choices, which have lower priority."""

    chosen: Senders = Senders()

    def _named(self, of_list: "_Names", of_senders: Sequence["_Names"]) -> tuple[Label, str] | None:
        """Return what `Senders` says: by the configuration, or else by the choices."""
        return Senders._named(self, of_list, of_senders) or self.chosen._named(of_list, of_senders)


def _first_match(patterns: Sequence[str], names: "_Names") -> str:
    """Return the first pattern that matches; "" if none does."""
    return next((pattern for pattern in patterns if _matches(pattern, names)), "")


def _first_match_of_all(patterns: Sequence[str], senders: Sequence["_Names"]) -> str:
    """Return the first pattern that matches the first sender, if each has one that matches; otherwise ""."""
    found = ""
    for names in senders:
        if not (match := _first_match(patterns, names)):
            return ""
        found = found or match
    return found


def matches_sender(pattern: str, sender: str, list_id: str) -> bool:
    """Return whether a pattern matches the sender or the list of a message.

    >>> matches_sender("example.org", "a@mail.example.org", ""), matches_sender("example.org", "a@notexample.org", "")
    (True, False)
    >>> matches_sender("*@example.org", "a@example.org", ""), matches_sender("*@example.org", "a@b.example.org", "")
    (True, False)
    >>> matches_sender("list.example.org", "a@elsewhere.example", "list.example.org")
    True
    >>> matches_sender("list:list.example.org", "a@list.example.org", "a.list.example.org")
    False
    >>> matches_sender("bücher.example", "a@xn--bcher-kva.example", "")
    True
    """
    return _matches(pattern, _of_sender(sender)) or _matches(pattern, _of_list(list_id))


class _Names(NamedTuple):
    """The names that patterns may match, in each spelling. domains: with List-Ids among them, each behind a dot."""

    addresses: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


_NOBODY = _Names()


def _of_sender(address: str) -> _Names:
    """Return the names of a sender: the address and its domain."""
    addresses = _spellings(address)
    return _Names(addresses, tuple([f".{name.rpartition('@')[2]}" for name in addresses]))


def _of_list(list_id: str) -> _Names:
    """Return the names of a mailing list."""
    lists = _spellings(list_id)
    return _Names((), tuple([f".{name}" for name in lists]), lists)


def _spellings(name: str) -> tuple[str, ...]:
    """Return the spellings of a name: its domain in the letters of the DNS, and in those that people read.

    A name longer than any address matches nothing, so it is left out.

    >>> _spellings("a@bücher.example"), _spellings("a@example.org")
    (('a@xn--bcher-kva.example', 'a@bücher.example'), ('a@example.org',))
    """
    if not name or len(name) > _LONGEST:
        return ()
    if name.isascii() and "xn--" not in name:
        return (name,)
    local, at, domain = name.rpartition("@")
    labels = domain.split(".")
    both = [f"{local}{at}{'.'.join(map(recode, labels))}" for recode in (_in_the_dns, _for_people)]
    return tuple([spelling for spelling in both if len(spelling) <= _LONGEST])


def _in_the_dns(label: str) -> str:
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:  # such a name cannot exist: it is compared unchanged
        return label


def _for_people(label: str) -> str:
    try:
        return label.encode("ascii").decode("idna")
    except UnicodeError:  # it is for people already, or cannot exist
        return label


def _matches(pattern: str, names: _Names) -> bool:
    is_address = "@" in pattern
    if pattern.startswith(_LIST):
        pattern = pattern[len(_LIST) :]
        return _fits(pattern, names.lists) if "*" in pattern or "?" in pattern else pattern in names.lists
    if "*" in pattern or "?" in pattern:
        return _fits(pattern, names.addresses) if is_address else _fits(f"*.{pattern}", names.domains)
    if is_address:  # most have no star: 3,000 of them take 0.4 ms per message
        return pattern in names.addresses
    below = f".{pattern}"
    for name in names.domains:  # noqa: SIM110 - `any` takes twice as long
        if name.endswith(below):
            return True
    return False


def _fits(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a pattern with "*" and "?" matches one of the names as a whole.

    A bit of `reached` tells that the letters so far can be the pattern up to there. So any pattern takes the time of
    the name's length: 1,000 patterns take 1 ms for most names, and at most 0.1 s. Compiled as regular expressions they
    would match faster, but to compile them takes 0.2 s each time that the service wakes up for a user.
    """
    end = pattern[max(pattern.rfind("*"), pattern.rfind("?")) + 1 :]
    left = [name for name in names if name.endswith(end)]
    if not left:
        return False
    places = {"?": 0}
    stars, place = 0, 1
    for letter in pattern:
        if letter == "*":
            stars |= place
        else:
            places[letter] = places.get(letter, 0) | place
            place <<= 1
    any_letter = places.pop("?")
    places = {letter: at | any_letter for letter, at in places.items()}
    for name in left:
        reached = 1
        for here in map(places.get, name, repeat(any_letter)):
            reached = (reached & here) << 1 | reached & stars
        if reached >= place:
            return True
    return False
