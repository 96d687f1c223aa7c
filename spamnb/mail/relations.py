"""Find out who wrote a message, over which path, and what it answers; and to whom the person has written.

From, List-Id and References are a stranger's words. The path is not (see `spamnb.mail.path`). So an address counts as
known only together with the path over which its mail has come.

Mail in Sent that came over a path, or from an unknown place, was delivered there: a stranger may write to `you+Sent@`.
Mail programs put sent messages there without Received fields. Their From may be the person's own address, which is not
a secret, so it is not checked.

Authentication-Results (RFC 8601) tells more, but only to those who know the name of the person's own server. So the
fields are kept unread here (see `spamnb.mail.own_results`). A lesson keeps who has signed its message, by the server at
the top, whoever that is. A stranger who is believed there wins nothing: the server vouches for less mail then.

All of this is kept as hashes of 8 bytes: an integer of SQLite, an eighth of the size of addresses. They need no key,
since the summaries beside them in the ledger name senders in plain text. With a million of them kept, a stranger's
value agrees with one by chance with probability 5e-14. Tests pin the hashes.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.authentication import authentication, server_at
from spamnb.mail.holders import holder_of
from spamnb.mail.own_results import own_results
from spamnb.mail.parsing.message import Message
from spamnb.mail.parsing.shown_addresses import shown_addresses
from spamnb.mail.path import path_of, peer

_HASH_BYTES = 8
_MOST_REFERS = 20  # Message-IDs: the last ones of References are the nearest
_MOST_RECIPIENTS = 50  # of one sent message; a message with more is an announcement
_LIST_CHARS, _REFERENCES_CHARS = 500, 4000
_READ = frozenset({"list-id", "received", "references", "in-reply-to", "list-unsubscribe", "list-post"})
_ID = lazy_pattern(r"<([^<>\s]{3,250})>")
_AUTOMATIC = frozenset({"bulk", "auto_reply", "junk", "list"})  # values of Precedence
_AUTOMATIC_FIELDS = ("x-autoreply", "x-autorespond", "x-vacation", "x-failed-recipients")


class Relations(NamedTuple):
    """What a message says about its writer; empty if it says nothing.

    sender: the first address in From, in lower case. others: its further addresses, and "" for what is in doubt (see
    `shown_addresses`). list_id: of the mailing list (RFC 2919). path: see `path_of`. answers: hashes; each says that
    this sender answers a message of In-Reply-To or References. results, are_results_below: see `OwnResults`.
    is_newsletter: it offers to unsubscribe (RFC 2369). is_discussion: one may write to its list (List-Post there).
    """

    sender: str = ""
    list_id: str = ""
    path: str = ""
    answers: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    are_results_below: bool = False
    is_newsletter: bool = False
    is_discussion: bool = False

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
    def site(self) -> str:
        """Return the site of the sender, if its mail came over a path; "" for addresses that strangers share."""
        holder = holder_of(self.sender) if self.sender_over_path is not None else ""
        return "" if "@" in holder else holder

    @property
    def signed_by(self) -> int | None:
        """Return the hash of who answers for this message; None if the server at the top does not vouch for From."""
        server = server_at(self.results)
        if not server or not self.sender or self.others:
            return None
        found = authentication(self.results, server, self.sender, are_below=self.are_results_below)
        holder = holder_of(self.sender) if found is not None and found.is_aligned else ""
        return _hashed("holder", holder) if holder else None

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


class Reply(NamedTuple):
    """What a message of the person answers.

    to: its recipients, in lower case. message_ids: of the messages that it answers; empty if it answers none.
    """

    to: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()

    def answers(self, message: Message) -> bool:
        """Tell whether the person answers this message, and writes to its only sender."""
        own_id = _ids(message.first("message-id"))[:1]
        authors = _in_lower_case(message.authors)
        return len(authors) == 1 and authors[0] in self.to and not {*own_id}.isdisjoint(self.message_ids)


def relations(message: Message) -> Relations:
    """Return the relations of a message."""
    fields: dict[str, list[str]] = {}
    for name, value in message.fields:
        if name in _READ:
            fields.setdefault(name, []).append(value)
    results = own_results(message.fields)
    sender, *others = _in_lower_case(message.authors) or ("",)
    is_known = sender and not others
    referred = dict.fromkeys([*_ids(_first(fields, "references")), *_ids(_first(fields, "in-reply-to"))])
    return Relations(
        sender=sender,
        list_id=_list_id(_first(fields, "list-id")),
        path=path_of(fields.get("received", ())),
        answers=tuple([_answer(each, sender) for each in list(referred)[-_MOST_REFERS:]]) if is_known else (),
        others=tuple(others),
        results=results.values,
        are_results_below=results.are_below,
        is_newsletter="list-unsubscribe" in fields,
        is_discussion="<" in _first(fields, "list-post"),  # NO: nobody may write there
    )


def addressees(message: Message) -> Addressees:
    """Return to whom a message of the person went, except to the person.

    Returns nobody if the message was delivered, or if a program wrote it: everybody who writes to the person gets a
    vacation notice.
    """
    fields = message.by_name()
    others = _written_to(message, fields)
    own_id = _ids(_first(fields, "message-id"))[:1]
    return Addressees(
        tuple([_recipient(other) for other in others]),
        tuple([_answer(each, other) for each in own_id for other in others]),
    )


def reply(message: Message) -> Reply:
    """Return what a message of the person answers; nothing if `addressees` returns nobody.

    In-Reply-To names that message. Without it, the last of References does: the others are earlier in the thread.
    """
    fields = message.by_name()
    to = _written_to(message, fields)
    answered = _ids(_first(fields, "in-reply-to")) or _ids(_first(fields, "references"))[-1:]
    return Reply(tuple(to), tuple(answered)) if to else Reply()


def _written_to(message: Message, fields: Mapping[str, list[str]]) -> list[str]:
    """Return the addresses that a message of the person went to, sorted; none as for `addressees`."""
    if peer(fields.get("received", ())) is not None or _is_automatic(fields, message):
        return []
    written = shown_addresses([value for name in ("to", "cc", "bcc") for value in fields.get(name, ())])
    others = sorted({*_in_lower_case(written)} - {*_in_lower_case(message.authors), ""})
    return others if len(others) <= _MOST_RECIPIENTS else []


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
