"""The pages of all users of a mail host. The proxy names the user in a field of each request.

A client of the socket may name any user, so only the proxy may connect; there is no other login. A field that is
missing, or comes twice (`connections.Parser`), names nobody. The name is that of a login, so it counts as written or in
lower case. Values that are kept between requests are stored by the user's name, so no user gets those of another.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from spamnb.base.errors import SpamnbError
from spamnb.host.host import Host
from spamnb.web.background_values import Recent
from spamnb.web.http import HttpError, Request
from spamnb.web.kept_values import KeptValues
from spamnb.web.visit import Site

MOST_KEPT = 256  # users, each with at most 0.5 MB, and most with 0.03
_log = logging.getLogger(__name__)


class UsersOfHost:
    """Finds the user of a request. site: the common part of all users' pages. field: its header field for the user."""

    def __init__(self, site: Site, field: str, host: Callable[[], Host], kept: Callable[[str], KeptValues]) -> None:
        self._site = site
        self._field = field.lower()
        self._host = host
        self._kept = Recent(kept, MOST_KEPT)

    def __call__(self, request: Request) -> Site:
        """Return the pages of the user who asks. Raises HttpError."""
        asked = _as_text(request.headers.get(self._field, ""))
        if not asked:
            raise HttpError(403, "The request does not name a user.", "Tell the person who runs this mail server.")
        try:
            host = self._host()
            user = host.find(asked, by_login=True)
        except SpamnbError as fault:
            _log.error("%s", fault)
            raise HttpError(503, "The mail cannot be reached now.", "Try again in a few minutes.") from fault
        if user is None:
            raise HttpError(403, "You have no filtered mailbox here.", "Tell the person who runs this mail server.")
        config, name = host.config_of(user).config, user.name
        site = replace(self._site, config=lambda: config, kept=self._kept.of(name), owner=name, user=name)
        return replace(site, seal=self._site.seal.of(name))


def _as_text(value: str) -> str:
    """Return the value of a field as UTF-8; WSGI gives each byte as one letter (PEP 3333). "" for other bytes."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return ""
