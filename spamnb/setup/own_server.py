"""Propose the name of the person's own mail server, by the newest mail."""

from collections.abc import Iterator, Sequence

from spamnb.base.errors import MailError
from spamnb.bulk.sources import Source
from spamnb.mail.own_server import servers_of
from spamnb.setup.proposal import Proposal

_NEWEST = 100  # messages to look at


def own_server(proposals: Sequence[Proposal]) -> str | None:
    """Return the `authserv_id` to propose, by the newest messages of all folders; None if they do not agree."""
    sources = [source for one in proposals for some in one.messages.values() for source in some[-_NEWEST:]]
    newest = sorted(sources, key=lambda source: source.where.rpartition("/")[2])[-_NEWEST:]
    return servers_of(_contents(newest)).agreed


def _contents(sources: Sequence[Source]) -> Iterator[bytes]:
    for source in sources:
        try:
            yield source.read()
        except MailError:
            continue
