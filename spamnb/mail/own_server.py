"""Find the person's own mail server, by the Authentication-Results of mail that came from outside."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from spamnb.mail.authentication import authentication, server_of
from spamnb.mail.parsing.message import parse
from spamnb.mail.path import receiver_of, site_of
from spamnb.mail.relations import relations

_LEAST, _SHARE = 10, 0.9  # messages from outside; how many of them the server must have written a field for
_LEAST_USERS = 3


class Servers(NamedTuple):
    """The servers that wrote a field. delivered: messages that came from outside.

    topmost: how many messages have the topmost field of each server. own: the same of servers of the site that took the
    message, by its Received field. read: how many messages have a field of the server that was asked for.
    """

    delivered: int
    topmost: Counter[str]
    own: Counter[str]
    read: int

    @property
    def agreed(self) -> str | None:
        """The server of the own site that wrote the topmost field of nearly all messages; None without one."""
        [(name, number)] = self.own.most_common(1) or [("", 0)]
        return name if self.delivered >= _LEAST and number >= _SHARE * self.delivered else None


def servers_of(mail: Iterable[bytes], authserv_id: str = "") -> Servers:
    """Return the servers of some messages. authserv_id: the server that is asked for."""
    delivered = read = 0
    topmost, own = Counter[str](), Counter[str]()
    for raw in mail:
        message = parse(raw)
        found = relations(message)
        if not found.path:
            continue
        delivered += 1
        read += authentication(found.results, authserv_id, found.sender) is not None
        name, receiver = server_of("".join(found.results[:1])), receiver_of(message.by_name()["received"])
        topmost[name] += 1
        own[name] += bool(name) and (name == receiver or site_of(name) == site_of(receiver) != "")
    return Servers(delivered, topmost - Counter({"": delivered}), own, read)


def agreed_by(users: Iterable[Servers]) -> str | None:
    """Return the server on which nearly all users of a host agree; None without one, or for less than three users.

    users: the servers of each user's mail. Each user has one vote, since anyone can put any mail into the own mailbox.
    """
    votes = Counter(one.agreed for one in users if one.delivered >= _LEAST)
    [(name, number)] = votes.most_common(1) or [(None, 0)]
    return name if number >= max(_LEAST_USERS, _SHARE * votes.total()) else None
