"""Find out who wrote a message, over which path, and what it answers; and to whom the person has written.

From, List-Id and References are a stranger's words. The path is not: the person's own servers wrote the Received fields
(RFC 5321, 4.4) at the top. Read from the top, the first field about another machine says which outside server delivered
the message. All fields below may be forged. So an address counts as known only together with the path over which its
mail has come.

Fields about moves inside the machine are ignored: those without `from`, with a loopback address, or by LMTP, which is
not offered to strangers (RFC 2033, 5). So are those about mail that the person has fetched. A server that met strangers
behind a loopback address would relay their mail to all the world, since all servers relay for loopback by default.

Any other private address says nothing. It may be a server of one's own. But if the server is in a container or behind a
translation of addresses, everybody has that address, and a stranger wrote the field below. The name of such an address
says nothing either: that of a container's host is often the server's own. Such mail has no path, and its sender is not
known. This costs nothing on csdmc2010. (1−ROCA)% online, mean of four orders, is 0.0193 if fields with private
addresses are ignored, and 0.0193 if they end the path. It is 0.0198 if loopback addresses end it too, the same as
without any path.

Mail in Sent that came over a path, or from an unknown place, was delivered there: a stranger may write to `you+Sent@`.
Mail programs put sent messages there without Received fields. Their From may be the person's own address, which is not
a secret, so it is not checked.

Authentication-Results (RFC 8601) tells more, but only to those who know the name of the person's own server. So the
fields are kept unread here, down to the Received field below the one of the own server: a stranger wrote all others.

All of this is kept as hashes of 8 bytes: an integer of SQLite, an eighth of the size of addresses. They need no key,
since the summaries beside them in the ledger name senders in plain text. With a million of them kept, a stranger's
value agrees with one by chance with probability 5e-14. Since they are in the ledger, the public networks are written
out here: `ipaddress` changes them from one Python to the next. Tests pin the hashes.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.message import Message
from spamnb.mail.parsing.shown_addresses import shown_addresses

_HASH_BYTES = 8
MOST_RECEIVED = 12  # Received fields to look at, from the top
_MOST_REFERS = 20  # Message-IDs: the last ones of References are the nearest
_MOST_RECIPIENTS = 50  # of one sent message; a message with more is an announcement
_LIST_CHARS, _FIELD_CHARS, _REFERENCES_CHARS = 500, 1000, 4000
_MOST_RESULTS = 10  # Authentication-Results fields
_READ = frozenset({"list-id", "received", "references", "in-reply-to", "list-unsubscribe"})
_ID = lazy_pattern(r"<([^<>\s]{3,250})>")
_IP = lazy_pattern(
    r"(?<![\w.:-])(?:ipv6:)?(?:(?:::ffff:)?\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:-])"
)
_WITH = lazy_pattern(r"\swith\s+([a-z0-9]+)")
_INSIDE = ("lmtp", "pop3", "imap")  # protocols: the last delivery, and fetching from a server that had it before
# A name that the server looked up itself, before the address: `(mail.example.org [192.0.2.1])`, and Exim's
# `from mail.example.org ([192.0.2.1] helo=`. Not sendmail's `from mail.example.org ([192.0.2.1])`, which is a claim,
# nor its `(mail.example.org [192.0.2.1] (may be forged))`.
_NAMED = lazy_pattern(
    r"\((?:[\w.-]{1,64}@)?([a-z0-9_.-]{3,200}?)\.? \[[0-9a-f:.]+\]\)"
    r"|\Afrom ([a-z0-9_.-]{3,200}) \(\[[0-9a-f:.]+\] helo="
)
_SHORT = 3  # letters of a second level under which names are registered: co.uk, com.au
_AUTOMATIC = frozenset({"bulk", "auto_reply", "junk", "list"})  # values of Precedence
_AUTOMATIC_FIELDS = ("x-autoreply", "x-autorespond", "x-vacation", "x-failed-recipients")


class Relations(NamedTuple):
    """What a message says about its writer; empty if it says nothing.

    sender: the first address in From, in lower case. others: its further addresses, and "" for what is in doubt (see
    `shown_addresses`). list_id: of the mailing list (RFC 2919). path: see `path_of`. answers: hashes; each says that
    this sender answers a message of In-Reply-To or References. results: the values of Authentication-Results that the
    person's own server may have written, the topmost first. is_newsletter: it offers to unsubscribe (RFC 2369).
    """

    sender: str = ""
    list_id: str = ""
    path: str = ""
    answers: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    is_newsletter: bool = False

    @property
    def senders(self) -> tuple[str, ...]:
        """Return all addresses of From; "" among them if a mail program may show a different address."""
        return self.sender, *self.others

    @property
    def sender_over_path(self) -> int | None:
        """Return the hash of the sender over this path; None if one of them is not known, or not the only one."""
        is_known = self.sender and self.path and not self.others
        return _hashed("address", self.sender, self.path) if is_known else None

    @property
    def as_recipient(self) -> int | None:
        """Return the hash of the sender as in `Addressees.recipients`; None if it is not known, or not the only one."""
        return _recipient(self.sender) if self.sender and not self.others else None


class Addressees(NamedTuple):
    """To whom a message of the person went, as hashes.

    recipients: their addresses. answers: the answers that they may send, as in `Relations.answers`.
    """

    recipients: tuple[int, ...] = ()
    answers: tuple[int, ...] = ()


def relations(message: Message) -> Relations:
    """Return the relations of a message."""
    fields: dict[str, list[str]] = {}
    for name, value in message.fields:
        if name in _READ:
            fields.setdefault(name, []).append(value)
    sender, *others = _in_lower_case(message.authors) or ("",)
    is_known = sender and not others
    referred = dict.fromkeys([*_ids(_first(fields, "references")), *_ids(_first(fields, "in-reply-to"))])
    return Relations(
        sender=sender,
        list_id=_list_id(_first(fields, "list-id")),
        path=path_of(fields.get("received", ())),
        answers=tuple([_answer(each, sender) for each in list(referred)[-_MOST_REFERS:]]) if is_known else (),
        others=tuple(others),
        results=_results(message.fields, fields.get("received", ())),
        is_newsletter="list-unsubscribe" in fields,
    )


def addressees(message: Message) -> Addressees:
    """Return to whom a message of the person went, except to the person.

    Returns nobody if the message was delivered, or if a program wrote it: everybody who writes to the person gets a
    vacation notice.
    """
    fields = message.by_name()
    if _peer(fields.get("received", ())) is not None or _is_automatic(fields, message):
        return Addressees()
    written = shown_addresses([value for name in ("to", "cc", "bcc") for value in fields.get(name, ())])
    others = sorted({*_in_lower_case(written)} - {*_in_lower_case(message.authors), ""})
    own_id = _ids(_first(fields, "message-id"))[:1]
    if len(others) > _MOST_RECIPIENTS:
        return Addressees()
    return Addressees(
        tuple([_recipient(other) for other in others]),
        tuple([_answer(each, other) for each in own_id for other in others]),
    )


def path_of(received: Sequence[str]) -> str:
    """Return which outside server delivered a message, by its Received fields, the topmost first; "" if none says it.

    It is the server's site, if its name was looked up; else its network. If several public addresses are in the field,
    one may be what the server called itself. Together they are the path, so that the server cannot pass for another.

    >>> path_of(["from mx (localhost [127.0.0.1]) by mx.example.org", "from hello (a.b.example [9.9.9.7]) by mx"])
    'b.example'
    >>> path_of(["from [8.8.8.8] (unknown [9.9.9.7]) by mx.example.org", "from b.example (a.b.example [9.9.9.7]) by c"])
    '8.8.8 9.9.9'
    >>> path_of(["from hello (unknown [172.17.0.1]) by mx", "from b.example (a.b.example [9.9.9.7]) by mx"])
    ''
    """
    return _path(tuple(received[: MOST_RECEIVED + 1]))


@lru_cache(maxsize=1)  # a message's tokens and its relations need the same path
def _path(received: tuple[str, ...]) -> str:
    peer = _peer(received)
    if peer is None:
        return ""
    networks = list(dict.fromkeys(map(_network, _IP.findall(peer))))
    if not all(networks):  # one of them is private, and a stranger may have claimed the other
        return ""
    names = [in_brackets or of_exim for in_brackets, of_exim in _NAMED.findall(peer)]
    site = site_of(names[0]) if len(networks) == 1 and len(names) == 1 else ""
    return site or " ".join(networks)


def receiver_of(received: Sequence[str]) -> str:
    """Return the person's own server that took a message from another machine, in lower case; "" if none says it.

    >>> receiver_of(["from mx (localhost [127.0.0.1]) by store", "from x (a.b.example [9.9.9.7]) by MX.example.org; 1"])
    'mx.example.org'
    """
    border = _border(received)
    if border is None:
        return ""
    host = received[border[0]][:_FIELD_CHARS].lower().partition(" by ")[2].split(maxsplit=1)
    return host[0].rstrip(";") if host else ""


def is_public(said: str) -> bool:
    """Tell whether a field's text about the other machine, in lower case, has public addresses and no others."""
    networks = [_network(written) for written in _IP.findall(said)]
    return bool(networks) and all(networks)


def _results(fields: Sequence[tuple[str, str]], received: Sequence[str]) -> tuple[str, ...]:
    """Return the values of Authentication-Results above the second Received field about another machine."""
    border = _border(received)
    if border is None:
        return ()
    found, above = list[str](), 0
    for name, value in fields:
        above += name == "received"
        if above > border[0] + 1 or len(found) == _MOST_RESULTS:
            break
        if name == "authentication-results":
            found.append(value)
    return tuple(found)


def _peer(received: Sequence[str]) -> str | None:
    """Return the first field's text about another machine, in lower case; None if all moves were inside one."""
    border = _border(received)
    if border is not None:
        return border[1]
    return None if len(received) <= MOST_RECEIVED else ""


def _border(received: Sequence[str]) -> tuple[int, str] | None:
    """Return the place of the first field about another machine, and its text in lower case; None without one."""
    for place, field in enumerate(received[:MOST_RECEIVED]):
        said, _, by = field[:_FIELD_CHARS].lower().partition(" by ")
        if said.startswith("from") and (" by " in by or not (_is_inside(by) or _is_local(said))):
            return place, said  # a second `by` comes from a stranger's name for his machine
    return None


def _is_inside(by: str) -> bool:
    """Tell whether a protocol that strangers cannot use handed it over; they choose the address after `for`."""
    protocol = _WITH.search(by.partition(" for ")[0])
    return protocol is not None and protocol[1].startswith(_INSIDE)


def _is_local(said: str) -> bool:
    """Tell whether it was handed over on one machine: all addresses are its loopback."""
    written = _IP.findall(said)
    return bool(written) and all(map(_is_loopback, written))


@lru_cache(maxsize=1)
def _not_public() -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of IANA's special registries (RFC 6890) that are not reachable everywhere, IPv4 and IPv6."""
    of_4 = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
    of_4 += " 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3"
    of_6 = "::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1"  # public addresses begin with 2 or 3
    return tuple(map(ip_network, f"{of_4} {of_6}".split()))


@lru_cache(maxsize=4096)  # most mail comes over few servers; `ipaddress` takes 15 µs
def _network(written: str) -> str:
    """Return the network of a public address, of 24 or 48 bits; "" for any other address."""
    found = _ip(written)
    if found is None or any(found in network for network in _not_public()):
        return ""
    return ".".join(str(found).split(".")[:3]) if found.version == 4 else ":".join(found.exploded.split(":")[:3])


@lru_cache(maxsize=256)
def _is_loopback(written: str) -> bool:
    """Tell whether it is an address of the machine itself."""
    found = _ip(written)
    return found is not None and found.is_loopback


def _ip(written: str) -> IPv4Address | IPv6Address | None:
    """Read an address as servers write it: `ipv6:` before it (RFC 5321, 4.1.3), or an IPv4 address mapped into IPv6."""
    try:
        return ip_address(written.removeprefix("ipv6:").removeprefix("::ffff:"))
    except ValueError:
        return None


def site_of(host: str) -> str:
    """Return the registered domain of a host, as its labels suggest: the last two, or three of `a.example.co.uk`."""
    labels = host.strip(".").split(".")
    if len(labels) < 2 or labels[-1].isdigit():
        return ""
    return ".".join(labels[-3 if len(labels[-1]) == 2 and len(labels[-2]) <= _SHORT else -2 :])


def _answer(message_id: str, sender: str) -> int:
    """Return the hash of an answer by this sender to that message."""
    return _hashed("answer", message_id, sender)


def _recipient(address: str) -> int:
    """Return the hash of an address to which the person has written."""
    return _hashed("recipient", address)


def _hashed(kind: str, *of: str) -> int:
    """Return texts and their kind as a hash: a signed whole number of 64 bits, never 0."""
    digest = blake2b("\0".join([kind, *of]).encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def _in_lower_case(addresses: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([address.lower() for address in addresses]))


def _first(fields: Mapping[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[0]


def _ids(value: str) -> list[str]:
    """Return the Message-IDs in a field; the last ones if there are very many."""
    return _ID.findall(value[-_REFERENCES_CHARS:])


def _list_id(value: str) -> str:
    inner = value.rpartition("<")[2].partition(">")[0] if "<" in value else value
    return inner.strip().lower()[:_LIST_CHARS]


def _is_automatic(fields: Mapping[str, list[str]], message: Message) -> bool:
    """Tell whether a program wrote it: a vacation notice (RFC 3834), a receipt, a report."""
    submitted = _first(fields, "auto-submitted").strip().lower()
    return (
        submitted not in ("", "no")
        or _first(fields, "precedence").strip().lower() in _AUTOMATIC
        or any(name in fields for name in _AUTOMATIC_FIELDS)
        or any("multipart/report" in path for path in message.structure)
    )
