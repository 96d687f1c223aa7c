"""The server: sockets, waitress, and its end.

waitress gives limits of size, and a few threads; limits of time and number are in `connections`. It makes no socket of
its own, so that a unit without a network can serve one that it was handed.
"""

import http.client
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from waitress import create_server, wasyncore  # type: ignore[import-untyped]  # it has no types

from spamnb.base import durable, memory
from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.sockets import Listener, inherited
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.web import connections, login_keys
from spamnb.web.access import DEFAULT, Access, Door, check_modes, is_held_by, listen
from spamnb.web.application import Application, StartResponse
from spamnb.web.background import Later
from spamnb.web.http import MAX_BODY, as_line
from spamnb.web.kept_values import KeptValues
from spamnb.web.pages import first_routes, other_routes, routes_of_a_host
from spamnb.web.rendering import NAVIGATION, Pages
from spamnb.web.routes import Router
from spamnb.web.upload import MOST_BYTES
from spamnb.web.users_of_a_host import UsersOfHost
from spamnb.web.visit import Site

_log = logging.getLogger(__name__)
_LIMITS: dict[str, Any] = {
    "threads": 4,
    "connection_limit": 2 * connections.MOST,
    "max_request_header_size": 16_384,
    "max_request_body_size": MOST_BYTES,
    "inbuf_overflow": MAX_BODY,  # what is longer waits on the disk: anybody on the machine can send it
    "clear_untrusted_proxy_headers": True,
    "ident": None,
    "expose_tracebacks": False,
    "asyncore_use_poll": True,
}
KEY = "web.key"
_LOOK_SECONDS = 1.0  # how long the loop waits before it looks whether it is to end
_END_SECONDS = 5.0  # requests that are being answered have so long
_ASK_SECONDS = 5.0  # one that is started by its socket takes half a second
_LONGEST_LINE = 200  # bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """How the pages are served. idle_exit: seconds without a request after which the server ends; None: never.

    user_header: the field by which a proxy says who asks, of all users of a host; "": they are one person's pages.
    """

    listen: str = ""
    names: tuple[str, ...] = ()
    is_read_only: bool = False
    behind_proxy: bool = False
    idle_exit: float | None = None
    user_header: str = ""


class Memory:
    """The C library's memory: shared by all threads, of which each would keep its own, and given back after requests.

    81 MB become 66 by the one, and 61 by the other (benchmarks/web.py). Another C library is left as it is.
    """

    def __init__(self) -> None:
        self._is_trimmed = True
        memory.share_arenas()

    def idle_for(self, seconds: float) -> None:
        """Give back what is free, once, when nobody has asked for so long."""
        if seconds < _LOOK_SECONDS:
            self._is_trimmed = False
        elif not self._is_trimmed:
            memory.give_back()
            self._is_trimmed = True


def key_file(whose: Config | Host) -> login_keys.KeyFile:
    """The key of the login, beside the ledger, or beside the register of a host, for its overview."""
    if isinstance(whose, Host):
        return login_keys.KeyFile(f"{whose.register}.{KEY}")  # a name which no user's directory can have
    return login_keys.KeyFile(os.path.join(os.path.dirname(whose.ledger), KEY))


def login_key(read_config: Callable[[], Config | Host]) -> Callable[[], bytes]:
    """The key as it is now. While the configuration cannot be read, that of the last one: who is logged in sees why."""
    known: list[login_keys.KeyFile] = []

    def key() -> bytes:
        try:
            file = key_file(read_config())
        except ConfigError:
            if not known:
                raise
        else:
            if not known or known[0].path != file.path:
                known[:] = [file]
        return known[0].key()

    return key


def login_address(whose: Config | Host, port: int, now: float) -> str:
    """An address that logs a browser in, once, within a minute."""
    key = key_file(whose).key()
    return f"http://127.0.0.1:{port}/{login_keys.path(key)}/login?code={login_keys.make(key, 'code', now)}"


def login_file(whose: Config | Host, port: int, now: float) -> str:
    """The path of a file that leads to such an address: a browser's arguments can be read by all users of a machine."""
    path = key_file(whose).path.removesuffix(".key") + "-login.html"
    address = login_address(whose, port, now)
    with durable.draft(path) as part, open(part, "w", encoding="ascii") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    return path


def port_in_use(settings: Settings, environ: Mapping[str, str]) -> int | None:
    """The port to be listened on, if a server of this user, or the service manager, listens there already."""
    if environ.get("LISTEN_FDS") or settings.listen.startswith("/"):
        return None
    port = (settings.listen or DEFAULT).rpartition(":")[2]
    return int(port) if port.isdigit() and is_held_by(int(port), frozenset({0, os.geteuid()})) else None


def is_spamnb(port: int) -> bool:
    """Whether what listens on a port of this machine answers as these pages do to who does not know their path."""
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=_ASK_SECONDS)
    try:
        asking.request("GET", "/")
        return asking.getresponse().read(_LONGEST_LINE).startswith(as_line(404, "").body.rstrip())
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


class Activity:
    """When the last request came; wraps an application. `now`: a clock that is never set back, in seconds."""

    def __init__(self, application: Application, now: Callable[[], float] = time.monotonic) -> None:
        self._application = application
        self._now = now
        self._lock = threading.Lock()
        self._at_work = 0
        self._last = now()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        with self._lock:
            self._at_work += 1
        try:
            return self._application(environ, start_response)
        finally:
            with self._lock:
                self._at_work -= 1
                self._last = self._now()

    def idle_for(self) -> float:
        """Seconds since the last request ended; 0 while one is answered."""
        with self._lock:
            return 0.0 if self._at_work else self._now() - self._last


class PageServer:
    """Serves the pages until it is closed. Raises SpamnbError where its sockets are not to be had.

    read_config: the configuration as it is now. environ: where the service manager says which sockets it hands over.
    owner: whose pages these are. user: of a mail host, whose mail they show. host: the mail host as it is now, if these
    are the pages of its users, or without a `user_header` its overview. now: seconds since the epoch.
    """

    def __init__(
        self,
        settings: Settings,
        read_config: Callable[[], Config],
        config_path: str,
        environ: Mapping[str, str],
        *,
        owner: str = "",
        user: str = "",
        host: Callable[[], Host] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.listeners = inherited(environ, example=DEFAULT) or [
            listen(settings.listen or DEFAULT, behind_proxy=settings.behind_proxy)
        ]
        try:
            check_modes(self.listeners)
            access = Access(_door(settings, self.listeners), login_key(host or read_config), now)
            self._later = Later()
            kept, apart = partial(KeptValues, config_path, environ), self._later.apart
            is_overview = host is not None and not settings.user_header
            router = Router(routes_of_a_host()) if is_overview else Router(first_routes(), other_routes)
            site = Site(
                read_config,
                config_path,
                access,
                Pages(router.has_page, NAVIGATION[:1] if is_overview else NAVIGATION),
                now,
                kept(apart, user),
                settings.is_read_only,
                owner,
                user,
                environ=environ,
                host=host if is_overview else None,
            )
            site_of = None
            if host is not None and settings.user_header:
                of_one = lambda name: kept(apart.for_one_of_many(), name, is_of_many=True)  # noqa: E731
                site_of = UsersOfHost(site, settings.user_header, host, of_one)
            self.activity = Activity(Application(site, router, self._later, site_of))
            self._idle_exit = math.inf if settings.idle_exit is None else settings.idle_exit
            self._is_closing = False
            self._map: dict[int, object] = {}
            sockets = [listener.socket for listener in self.listeners]
            self._server = create_server(self.activity, map=self._map, sockets=sockets, **_LIMITS)
            connections.serve(self._map, once=settings.user_header)
        except BaseException:
            _close(self.listeners)
            raise

    @property
    def port(self) -> int | None:
        """The port, where it is one that is listened on."""
        return next((listener.port for listener in self.listeners if listener.port is not None), None)

    def run(self) -> None:
        """Serve until `close`, or until nobody has asked for long."""
        used = Memory()
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of each request that waits a moment
        try:
            while not self._is_closing and (idle := self.activity.idle_for()) < self._idle_exit:
                used.idle_for(idle)
                connections.tend(self._map)
                wasyncore.loop(timeout=_LOOK_SECONDS, map=self._map, use_poll=True, count=1)
        finally:
            self._server.task_dispatcher.shutdown(timeout=_END_SECONDS)
            wasyncore.close_all(self._map, ignore_all=True)
            self._later.wait()
            _close(self.listeners)

    def close(self) -> None:
        """End soon; from any thread, or a signal's handler."""
        self._is_closing = True


def _door(settings: Settings, listeners: Sequence[Listener]) -> Door:
    """How these pages are reached. Those who come by a Unix socket were let in by its file's mode."""
    ports = {listener.port for listener in listeners}
    if settings.user_header and ports != {None}:
        raise UsageError(
            "--user-header needs a Unix socket, which the proxy alone can reach: write ListenStream=/run/…"
        )
    if len(ports) > 1:
        raise UsageError("one socket, or several Unix sockets, are served at once: start another server for the others")
    private = all(listener.is_unix and not listener.mode & 0o077 for listener in listeners)  # its owner's, and root's
    return Door(ports.pop(), frozenset(name.lower() for name in settings.names), private)


def _close(listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        listener.close()
