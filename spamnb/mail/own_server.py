"""Find the site of the person's own mail server, by the Authentication-Results of mail that came from outside."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from spamnb.mail.authentication import NAMELESS, authentication, is_nameless, server_of
from spamnb.mail.own_results import own_machines
from spamnb.mail.parsing.message import parse
from spamnb.mail.path import receiver_of, site_of
from spamnb.mail.relations import relations

_LEAST, _SHARE = 10, 0.9  # messages from outside; how many of them the server must have written a field for
_LEAST_USERS = 3


class Servers(NamedTuple):
    """The sites whose servers wrote a field. delivered: messages that came from outside.

    topmost: how many messages have the topmost field of each site. own: the same, if a machine of this site took the
    message, by its Received field. read: how many messages have a field of the site that was asked for.
    """

    delivered: int
    topmost: Counter[str]
    own: Counter[str]
    read: int

    @property
    def agreed(self) -> str | None:
        """The own site whose servers wrote the topmost field of nearly all messages; None without one."""
        [(site, number)] = self.own.most_common(1) or [("", 0)]
        return site if self.delivered >= _LEAST and number >= _SHARE * self.delivered else None


def servers_of(mail: Iterable[bytes], authserv_id: str = "") -> Servers:
    """Return the servers of some messages. authserv_id: the site that is asked for, or a server there."""
    delivered = read = 0
    topmost, own = Counter[str](), Counter[str]()
    for raw in mail:
        message = parse(raw)
        found = relations(message)
        if not (found.path or found.results):
            continue
        delivered += 1
        results = authentication(found.results, authserv_id, found.sender, are_below=found.are_results_below)
        read += results is not None
        received = message.by_name()["received"]
        takers = own_machines(received).sites | {receiver_of(received)}
        site = _site(found.results, takers)
        topmost[site] += 1
        own[site] += site in takers
    return Servers(delivered, topmost - Counter({"": delivered}), own - Counter({"": delivered}), read)


def _site(results: Sequence[str], takers: Collection[str]) -> str:
    """Return the site whose server wrote the topmost field, or its name if it has no site; "" without one.

    A field without a name is Microsoft's, if a machine of Microsoft took the message.
    """
    server = server_of(results[0]) if results else None
    if server == "":
        return NAMELESS if any(map(is_nameless, takers)) else ""
    return site_of(server) or server if server else ""


def agreed_by(users: Iterable[Servers]) -> str | None:
    """Return the site on which nearly all users of a host agree; None without one, or for less than three users.

    users: the servers of each user's mail. Each user has one vote, since anyone can put any mail into the own mailbox.
    """
    votes = Counter(one.agreed for one in users if one.delivered >= _LEAST)
    [(site, number)] = votes.most_common(1) or [(None, 0)]
    return site if number >= max(_LEAST_USERS, _SHARE * votes.total()) else None
