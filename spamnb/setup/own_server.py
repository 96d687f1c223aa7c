"""Propose the name of the person's own mail server, by the Authentication-Results of the newest mail."""

from collections import Counter
from collections.abc import Iterable, Sequence

from spamnb.base.errors import MailError
from spamnb.bulk.sources import Source
from spamnb.mail.authentication import server_of
from spamnb.mail.parsing.message import parse
from spamnb.mail.relations import receiver_of, relations, site_of
from spamnb.setup.proposal import Proposal

_NEWEST = 100  # messages to look at
_LEAST, _SHARE = 10, 0.9  # messages that came from outside; how many of them the server must have written a field for


def own_server(proposals: Sequence[Proposal]) -> str | None:
    """Return the `authserv_id` to propose, by the newest messages of all folders; None if they do not agree."""
    sources = [source for one in proposals for some in one.messages.values() for source in some[-_NEWEST:]]
    newest = sorted(sources, key=lambda source: source.where.rpartition("/")[2])[-_NEWEST:]
    return agreed_server(_contents(newest))


def agreed_server(mail: Iterable[bytes]) -> str | None:
    """Return the server that wrote the topmost field of nearly all mail from outside; None without one.

    The server must be of the site that took the message, by the Received field.
    """
    named, delivered = Counter[str](), 0
    for raw in mail:
        message = parse(raw)
        found = relations(message)
        if found.path:
            delivered += 1
            name, receiver = server_of("".join(found.results[:1])), receiver_of(message.by_name()["received"])
            if name and (name == receiver or site_of(name) == site_of(receiver) != ""):
                named[name] += 1
    [(name, number)] = named.most_common(1) or [("", 0)]
    return name if delivered >= _LEAST and number >= _SHARE * delivered else None


def _contents(sources: Iterable[Source]) -> Iterable[bytes]:
    for source in sources:
        try:
            yield source.read()
        except MailError:
            continue
