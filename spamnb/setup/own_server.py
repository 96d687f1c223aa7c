"""Propose the site of the person's own mail server, or that of a mail host, by the newest mail."""

from collections.abc import Iterator, Sequence

from spamnb.base.errors import MaildirError, MailError
from spamnb.bulk.sources import Source
from spamnb.checkup.server_checks import newest
from spamnb.host.host import Host, User
from spamnb.mail.own_server import Servers, agreed_by, servers_of
from spamnb.setup.proposal import Proposal

_NEWEST = 100  # messages to look at
_USERS, _OF_EACH = 50, 20  # of a mail host


def own_server(proposals: Sequence[Proposal]) -> str | None:
    """Return the `authserv_id` to propose, on which the newest messages of all folders agree; None if they do not."""
    sources = [source for one in proposals for some in one.messages.values() for source in some[-_NEWEST:]]
    newest = sorted(sources, key=lambda source: source.where.rpartition("/")[2])[-_NEWEST:]
    return servers_of(_contents(newest)).agreed


def server_of_host(host: Host, users: Sequence[User]) -> str | None:
    """Return the `authserv_id` to propose, by the newest mail in the inbox of some users; None if they do not agree."""
    some = users[:: -(-len(users) // _USERS) or 1]
    return agreed_by(found for user in some if (found := _servers(host, user)) is not None)


def _servers(host: Host, user: User) -> Servers | None:
    try:
        return servers_of(newest(host.config_of(user).config, _OF_EACH))
    except MaildirError:  # the mailbox cannot be listed
        return None


def _contents(sources: Sequence[Source]) -> Iterator[bytes]:
    for source in sources:
        try:
            yield source.read()
        except MailError:
            continue
