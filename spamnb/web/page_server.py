"""The server of the pages: its sockets, waitress, and its end.

waitress gives limits of size, and a few threads. Limits of time and number are in `connections`. waitress opens no
socket itself, so a unit without a network can serve a socket from systemd.
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
from spamnb.web.access import DEFAULT, Access, ServerAddress, check_modes, is_held_by, listen
from spamnb.web.application import Application, StartResponse
from spamnb.web.background import Background
from spamnb.web.http import MAX_BODY, as_line
from spamnb.web.kept_values import KeptValues
from spamnb.web.pages import first_routes, other_routes, routes_of_a_host
from spamnb.web.rendering import NAVIGATION, Pages
from spamnb.web.routes import Router
from spamnb.web.turns import take_turns
from spamnb.web.upload import MOST_BYTES
from spamnb.web.users_of_a_host import UsersOfHost
from spamnb.web.visit import Site

_log = logging.getLogger(__name__)
_LIMITS: dict[str, Any] = {
    "threads": 4,
    "connection_limit": 2 * connections.MOST,
    "max_request_header_size": 16_384,
    "max_request_body_size": MOST_BYTES,
    "inbuf_overflow": MAX_BODY,  # a longer one waits on the disk: any user of the machine can send it
    "clear_untrusted_proxy_headers": True,
    "ident": None,
    "expose_tracebacks": False,
    "asyncore_use_poll": True,
}
KEY = "web.key"
_LOOK_SECONDS = 1.0  # between two looks whether the loop must end
_END_SECONDS = 5.0  # for requests that are being answered at the end
_ASK_SECONDS = 5.0  # a server that starts by its socket takes half a second
_LONGEST_LINE = 200  # bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """How to serve the pages. idle_exit: seconds without a request after which the server ends; None: never.

    user_header: the field in which a proxy names the user of a host who asks; "": they are one person's pages.
    """

    listen: str = ""
    names: tuple[str, ...] = ()
    is_read_only: bool = False
    behind_proxy: bool = False
    idle_exit: float | None = None
    user_header: str = ""


class Memory:
    """The C library's memory. All threads share it, instead of one part per thread. After requests it is given back.

    Sharing makes 66 MB of 81, and giving back makes 61 (benchmarks/web.py). Another C library is left alone.
    """

    def __init__(self) -> None:
        self._is_trimmed = True
        memory.share_arenas()

    def idle_for(self, seconds: float) -> None:
        """Give back free memory, once, after a while without a request."""
        if seconds < _LOOK_SECONDS:
            self._is_trimmed = False
        elif not self._is_trimmed:
            memory.give_back()
            self._is_trimmed = True


def key_file(whose: Config | Host) -> login_keys.KeyFile:
    """Return the key of the login: beside the ledger, or for a host's overview beside the register."""
    if isinstance(whose, Host):
        return login_keys.KeyFile(str(whose.directory / f"register.{KEY}"))  # no user's directory can have this name
    return login_keys.KeyFile(os.path.join(os.path.dirname(whose.ledger), KEY))


def login_key(read_config: Callable[[], Config | Host]) -> Callable[[], bytes]:
    """Return a function for the present key. While the configuration is faulty it keeps the last key, so that a
    logged-in browser shows the fault.
    """
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
    """Return an address that logs a browser in, once, within a minute."""
    key = key_file(whose).key()
    return f"http://127.0.0.1:{port}/{login_keys.path(key)}/login?code={login_keys.make(key, 'code', now)}"


def login_file(whose: Config | Host, port: int, now: float) -> str:
    """Write a file that leads to such an address, and return its path: all users can read a browser's arguments."""
    path = key_file(whose).path.removesuffix(".key") + "-login.html"
    address = login_address(whose, port, now)
    with durable.draft(path) as part, open(part, "w", encoding="ascii") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    return path


def port_in_use(settings: Settings, environ: Mapping[str, str]) -> int | None:
    """Return the port to listen on, if a server of this user or the service manager listens there already."""
    if environ.get("LISTEN_FDS") or settings.listen.startswith("/"):
        return None
    port = (settings.listen or DEFAULT).rpartition(":")[2]
    return int(port) if port.isdigit() and is_held_by(int(port), frozenset({0, os.geteuid()})) else None


def is_spamnb(port: int) -> bool:
    """Return whether the server on a port answers like these pages to a client that does not know their path."""
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=_ASK_SECONDS)
    try:
        asking.request("GET", "/")
        return asking.getresponse().read(_LONGEST_LINE).startswith(as_line(404, "").body.rstrip())
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


class Activity:
    """Wraps an application, and knows when the last request ended. now: a clock that is never set back, in seconds."""

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
        """Return the seconds since the last request ended; 0 during a request."""
        with self._lock:
            return 0.0 if self._at_work else self._now() - self._last


class PageServer:
    """Serves the pages until it is closed. Raises SpamnbError if it cannot open its sockets.

    read_config: returns the present configuration. environ: names the sockets from the service manager. owner: the
    name on the pages. user: the mail host's user whose mail they show, or "". host: returns the present mail host, for
    the pages of its users, or without a `user_header` for its overview. now: seconds since the epoch.
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
            access = Access(_server_address(settings, self.listeners), login_key(host or read_config), now)
            self._background = Background()
            kept, processes = partial(KeptValues, config_path, environ), self._background.processes
            is_overview = host is not None and not settings.user_header
            router = Router(routes_of_a_host()) if is_overview else Router(first_routes(), other_routes)
            site = Site(
                read_config,
                config_path,
                access,
                Pages(router.has_page, NAVIGATION[:1] if is_overview else NAVIGATION),
                now,
                kept(processes, user),
                settings.is_read_only,
                owner,
                user,
                environ=environ,
                host=host if is_overview else None,
            )
            site_of = None
            if host is not None and settings.user_header:
                of_one = lambda name: kept(processes.for_one_of_many(), name, is_of_many=True)  # noqa: E731
                site_of = UsersOfHost(site, settings.user_header, host, of_one)
            self.activity = Activity(Application(site, router, self._background, site_of))
            self._idle_exit = math.inf if settings.idle_exit is None else settings.idle_exit
            self._is_closing = False
            self._map: dict[int, object] = {}
            sockets = [listener.socket for listener in self.listeners]
            self._server = create_server(self.activity, map=self._map, sockets=sockets, **_LIMITS)
            connections.serve(self._map, once=settings.user_header)
            if settings.user_header:
                take_turns(self._server.task_dispatcher, settings.user_header, _LIMITS["threads"])
        except BaseException:
            _close(self.listeners)
            raise

    @property
    def port(self) -> int | None:
        """The port, or None for a Unix socket."""
        return next((listener.port for listener in self.listeners if listener.port is not None), None)

    def run(self) -> None:
        """Serve until `close`, or until the time `idle_exit` passes without a request."""
        used = Memory()
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns at each request that waits a moment
        try:
            while not self._is_closing and (idle := self.activity.idle_for()) < self._idle_exit:
                used.idle_for(idle)
                connections.close_slow(self._map)
                wasyncore.loop(timeout=_LOOK_SECONDS, map=self._map, use_poll=True, count=1)
        finally:
            self._server.task_dispatcher.shutdown(timeout=_END_SECONDS)
            wasyncore.close_all(self._map, ignore_all=True)
            self._background.wait()
            _close(self.listeners)

    def close(self) -> None:
        """End soon. Any thread or a signal's handler may call this."""
        self._is_closing = True


def _server_address(settings: Settings, listeners: Sequence[Listener]) -> ServerAddress:
    """Return how a browser reaches the pages. For a Unix socket, its file's mode lets clients in."""
    ports = {listener.port for listener in listeners}
    if settings.user_header and ports != {None}:
        raise UsageError("--user-header needs a Unix socket, which only the proxy can reach: write ListenStream=/run/…")
    if len(ports) > 1:
        raise UsageError("a server has one port, or several Unix sockets: start another server for the others")
    private = all(listener.is_unix and not listener.mode & 0o077 for listener in listeners)  # only owner and root
    return ServerAddress(ports.pop(), frozenset(name.lower() for name in settings.names), private)


def _close(listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        listener.close()
