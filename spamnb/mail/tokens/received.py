"""Turn the Received fields into tokens: the hosts of the way, and who handed the message over."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv6Address

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.path import MOST_RECEIVED, is_public, site_of
from spamnb.mail.tokens.shapes import short_shape
from spamnb.mail.tokens.urls import IPV4, hosts

_TOPMOST = "received"  # the prefix of its tokens
_FIELD_CHARS = 1000
_TOP_CHARS = 20
_NAMES = lazy_pattern(r"[a-z0-9][a-z0-9.-]{3,100}")
_IPV6 = lazy_pattern(r"[\[(](?:ipv6:)?([0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7})[\])]")
_LOOKED_UP = lazy_pattern(r"\((?:[\w.-]{1,64}@)?([a-z0-9_.-]{2,200})\.? \[")  # of sendmail and Postfix
_HELO = lazy_pattern(r"[( ]helo[= ]([^\s()]{1,200})")  # of Exim and qmail, which write the looked-up name first
_DIGITS = lazy_pattern(r"[0-9]+")


def received_tokens(values: Sequence[str]) -> Iterator[str]:
    """Yield the tokens of the fields. The user's own server wrote the topmost; those below it may be forged."""
    yield f"received-number:{min(len(values), 8)}"
    fields = [value[:_FIELD_CHARS].lower() for value in values[:MOST_RECEIVED]]
    for position, field in enumerate(fields):
        prefix = _TOPMOST if position == 0 else "received-claimed"
        way = _before_recipient(field)
        dotted = " ".join([piece for piece in way.split() if "." in piece])  # testing the others takes longer than this
        for name in dict.fromkeys(_NAMES.findall(dotted)):
            if "." in name:
                yield from _server(prefix, name)
        if ":" in (before_date := way.partition(";")[0]):
            for address in dict.fromkeys(_IPV6.findall(before_date)):
                yield from _ipv6(prefix, address)
    first = next((field for field in fields if field.startswith("from ")), "")
    yield from _peer(first.partition(" by ")[0])


def _before_recipient(field: str) -> str:
    """Return a field up to `for`, after which an address of the user follows. A stranger wrote the text before `by`.

    >>> _before_recipient("from a.example by b.example for <anna.lind@home.example>; mon")
    'from a.example by b.example'
    >>> _before_recipient("from a.example (waits for x@y.example) by b.example")
    'from a.example (waits for x@y.example) by b.example'
    """
    before, _, recipient = field.rpartition(" for ")
    return before if "@" in recipient and " by " not in recipient else field


@lru_cache(maxsize=2048)  # for the reason of `hosts`
def _server(prefix: str, name: str) -> tuple[str, ...]:
    """Return the tokens of a server's name or address in a Received field; none for other texts with a full stop."""
    if name.rpartition(".")[2].isalpha():
        return hosts(prefix, name)
    if IPV4.fullmatch(name):
        a, b, c, _ = name.split(".")
        networks = (f"{prefix}-ip:{a}.{b}", f"{prefix}-ip:{a}.{b}.{c}")
        return (*networks, f"{prefix}-ip:{name}") if prefix == _TOPMOST else networks
    return ()


@lru_cache(maxsize=2048)
def _ipv6(prefix: str, written: str) -> tuple[str, ...]:
    """Return the networks of an address, of 32 and 48 bits; the rest belongs to a machine, or changes (RFC 8981)."""
    try:
        a, b, c, *_ = IPv6Address(written).exploded.split(":")
    except ValueError:
        return ()
    return (f"{prefix}-ip:{a}:{b}", f"{prefix}-ip:{a}:{b}:{c}")


@lru_cache(maxsize=2048)
def _peer(said: str) -> tuple[str, ...]:
    """Return what a Received field says of the machine that handed the message over, if its address is public.

    It says what that machine called itself (HELO), and the name that the server looked up for its address, forged or
    not.
    """
    if not is_public(said):
        return ()
    first = said.split(" ", 2)[1]
    helo, name = first, ""
    if announced := _HELO.search(said):
        helo, name = announced[1], "" if first.startswith("[") else first
    if in_brackets := _LOOKED_UP.search(said):
        name = in_brackets[1]
    label = name.partition(".")[0]
    return (
        f"helo-shape:{_host_shape(helo)}",
        f"rdns:{_agreement(name, helo)}",
        f"rdns-shape:{short_shape(label) or 'none'}",
        f"rdns-digits:{len(_DIGITS.findall(label))}",
    )


def _host_shape(host: str) -> str:
    """Return the shape of the first label, and the last label unchanged.

    >>> _host_shape("mail-12.example.org"), _host_shape("localhost"), _host_shape("[192.0.2.1]")
    ('a-d.org', 'a', 'd')
    """
    label, _, parents = host.strip("[]").partition(".")
    top = parents.rpartition(".")[2]
    return f"{short_shape(label)}.{top[:_TOP_CHARS]}" if top.isalpha() else short_shape(label)


def _agreement(name: str, helo: str) -> str:
    """Return how the looked-up name agrees with the machine's name for itself."""
    if name in ("", "unknown"):
        return name or "none"
    if name == helo:
        return "helo"
    return "site" if site_of(name) == site_of(helo) != "" else "other"
