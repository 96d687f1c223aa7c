"""The pages of all users of a mail host: who asks is said by the proxy, in a field of each request.

Who can connect to the socket may name anybody, so that is for the proxy alone; there is no other login. A field that is
missing, or comes twice (`connections.Parser`), names nobody. What is kept of a user between requests is reached by the
name alone, under which nobody else's is.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from spamnb.base.errors import SpamnbError
from spamnb.host.host import Host
from spamnb.web.http import HttpError, Request
from spamnb.web.kept import Recent
from spamnb.web.kept_values import KeptValues
from spamnb.web.visit import Site

MOST_KEPT = 256  # users; of each at most 0.5 MB, of most 0.03
_log = logging.getLogger(__name__)


class UsersOfHost:
    """Says whose pages a request is for. site: what those of all users have in common. field: names the user."""

    def __init__(self, site: Site, field: str, host: Callable[[], Host], kept: Callable[[str], KeptValues]) -> None:
        self._site = site
        self._field = field.lower()
        self._host = host
        self._kept = Recent(kept, MOST_KEPT)

    def __call__(self, request: Request) -> Site:
        """The pages of the user who asks. Raises HttpError."""
        asked = request.headers.get(self._field, "")
        if not asked:
            raise HttpError(403, "Nobody has said who asks.", "Tell who runs this mail server.")
        try:
            host = self._host()
            user = host.find(asked)
        except SpamnbError as fault:
            _log.error("%s", fault)
            raise HttpError(503, "The mail cannot be reached now.", "Try again in a few minutes.") from fault
        if user is None:
            raise HttpError(403, "You have no mailbox here that is filtered.", "Tell who runs this mail server.")
        config, name = host.config_of(user).config, user.name
        site = replace(self._site, config=lambda: config, kept=self._kept.of(name), owner=name, user=name)
        return replace(site, seal=self._site.seal.of(name))
