"""The server: sockets, waitress, and its end.

waitress gives limits of size, and a few threads; limits of time and number are in `connections`. It makes no socket of
its own, so that a unit without a network can serve one that it was handed.
"""

import contextlib
import ctypes
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from waitress import create_server, wasyncore  # type: ignore[import-untyped]  # it has no types

from spamnb.base import durable
from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.sockets import Listener, inherited
from spamnb.config import Config
from spamnb.web import connections, login_keys
from spamnb.web.access import DEFAULT, Access, Door, check_modes, is_held_by, listen
from spamnb.web.application import Application, StartResponse
from spamnb.web.background import Later
from spamnb.web.http import MAX_BODY
from spamnb.web.kept_values import KeptValues
from spamnb.web.pages import first_routes, other_routes, routes_of_a_host
from spamnb.web.rendering import NAVIGATION, Pages
from spamnb.web.routes import Router
from spamnb.web.visit import Site

_log = logging.getLogger(__name__)
_LIMITS: dict[str, Any] = {
    "threads": 4,
    "connection_limit": 2 * connections.MOST,
    "max_request_header_size": 16_384,
    "max_request_body_size": MAX_BODY,
    "clear_untrusted_proxy_headers": True,
    "ident": None,
    "expose_tracebacks": False,
    "asyncore_use_poll": True,
}
KEY = "web.key"
_M_ARENA_MAX = -8
_LOOK_SECONDS = 1.0  # how long the loop waits before it looks whether it is to end
_END_SECONDS = 5.0  # requests that are being answered have so long


@dataclass(frozen=True, slots=True)
class Settings:
    """How the pages are served. idle_exit: seconds without a request after which the server ends; None: never.

    others: the configurations of which an administrator sees sums."""

    listen: str = ""
    names: tuple[str, ...] = ()
    is_read_only: bool = False
    behind_proxy: bool = False
    idle_exit: float | None = None
    others: tuple[str, ...] = ()


class Memory:
    """The C library's memory: shared by all threads, of which each would keep its own, and given back after requests.

    81 MB become 66 by the one, and 61 by the other (benchmarks/web.py). Another C library is left as it is.
    """

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim: Callable[[int], object] = getattr(library, "malloc_trim", lambda _: None)
        self._is_trimmed = True
        with contextlib.suppress(AttributeError):
            library.mallopt(_M_ARENA_MAX, 1)

    def idle_for(self, seconds: float) -> None:
        """Give back what is free, once, when nobody has asked for so long."""
        if seconds < _LOOK_SECONDS:
            self._is_trimmed = False
        elif not self._is_trimmed:
            self._trim(0)
            self._is_trimmed = True


def key_file(config: Config) -> login_keys.KeyFile:
    """The key of the login, beside the ledger."""
    return login_keys.KeyFile(os.path.join(os.path.dirname(config.ledger), KEY))


def login_key(read_config: Callable[[], Config]) -> Callable[[], bytes]:
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


def login_address(config: Config, port: int, now: float) -> str:
    """An address that logs a browser in, once, within a minute."""
    key = key_file(config).key()
    return f"http://127.0.0.1:{port}/{login_keys.path(key)}/login?code={login_keys.make(key, 'code', now)}"


def login_file(config: Config, port: int, now: float) -> str:
    """The path of a file that leads to such an address: a browser's arguments can be read by all users of a machine."""
    path = os.path.join(os.path.dirname(config.ledger), "web-login.html")
    address = login_address(config, port, now)
    with durable.draft(path) as part, open(part, "w", encoding="ascii") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    return path


def port_in_use(settings: Settings, environ: Mapping[str, str]) -> int | None:
    """The port to be listened on, if a server of this user, or the service manager, listens there already."""
    if environ.get("LISTEN_FDS") or settings.listen.startswith("/"):
        return None
    port = (settings.listen or DEFAULT).rpartition(":")[2]
    return int(port) if port.isdigit() and is_held_by(int(port), frozenset({0, os.geteuid()})) else None


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
    owner: whose pages these are. now: seconds since the epoch.
    """

    def __init__(
        self,
        settings: Settings,
        read_config: Callable[[], Config],
        config_path: str,
        environ: Mapping[str, str],
        *,
        owner: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self.listeners = inherited(environ, example=DEFAULT) or [
            listen(settings.listen or DEFAULT, behind_proxy=settings.behind_proxy)
        ]
        try:
            check_modes(self.listeners)
            self._later = Later()
            router = Router(routes_of_a_host()) if settings.others else Router(first_routes(), other_routes)
            site = Site(
                read_config,
                config_path,
                Access(_door(settings, self.listeners), login_key(read_config), now),
                Pages(router.has_page, NAVIGATION[:1] if settings.others else NAVIGATION),
                now,
                KeptValues(config_path, environ, self._later.apart),
                settings.is_read_only,
                owner,
                environ,
                settings.others,
            )
            self.activity = Activity(Application(site, router, self._later))
            self._idle_exit = math.inf if settings.idle_exit is None else settings.idle_exit
            self._is_closing = False
            self._map: dict[int, object] = {}
            sockets = [listener.socket for listener in self.listeners]
            self._server = create_server(self.activity, map=self._map, sockets=sockets, **_LIMITS)
            connections.serve(self._map)
        except BaseException:
            _close(self.listeners)
            raise

    @property
    def port(self) -> int | None:
        """The port, where it is one that is listened on."""
        return next((listener.port for listener in self.listeners if listener.port is not None), None)

    def run(self) -> None:
        """Serve until `close`, or until nobody has asked for long."""
        memory = Memory()
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of each request that waits a moment
        try:
            while not self._is_closing and (idle := self.activity.idle_for()) < self._idle_exit:
                memory.idle_for(idle)
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
    if len(ports) > 1:
        raise UsageError("one socket, or several Unix sockets, are served at once: start another server for the others")
    private = all(listener.is_unix and not listener.mode & 0o077 for listener in listeners)  # its owner's, and root's
    return Door(ports.pop(), frozenset(name.lower() for name in settings.names), private)


def _close(listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        listener.close()
