"""Who may ask for what: the socket, the name and the path of the pages, the login, and the origin of a form.

The pages listen only on a Unix socket, or on a port of the loopback interface. Whether others can reach them is for a
proxy to decide, which asks by a Unix socket.

Why pages on a person's own machine need all four:

- Any web page can make a browser ask 127.0.0.1, and read the answer by a name server that changes its address (DNS
  rebinding). So these pages first check that the request has one of their own names.
- Every user of the machine can connect to its ports. So there is a login, by a code that only the owner can make. A
  Unix socket has its file's mode instead.
- A browser treats all ports of a machine alike, and would send the cookie to other users' servers. So the cookie is
  for a path that follows from the key, and only logged-in browsers know the path. The path is in no log, in no
  argument of a process, and in no Referer, which these pages forbid. The command prints it, but not into the journal.
  Other servers can set cookies for all paths, of any form.
- A browser sends the cookie with forms of other pages too. SameSite=Strict keeps it from other sites, but another port
  of this machine is the same site. So a form must have the same origin, by Sec-Fetch-Site (Fetch Metadata), or, if a
  browser does not send that, by Origin (RFC 6454).

The address of a client proves nothing: behind a proxy, all requests come from the proxy.
"""

import contextlib
import errno
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.sockets import Listener, is_loopback, open_listener
from spamnb.web import login_keys
from spamnb.web.http import HttpError, Request

PORT = 7726  # SPAM on the keys of a telephone
DEFAULT = f"127.0.0.1:{PORT}"
_BACKLOG = 64
_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LAST_PORT = 65_535
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How a browser reaches the pages. port: of a loopback address; None for a Unix socket.

    names: further host names to answer to. is_private: only the owner and root can connect.
    """

    port: int | None
    names: frozenset[str] = frozenset()
    is_private: bool = False

    @property
    def has_login(self) -> bool:
        """Whether a request needs a cookie."""
        return self.port is not None

    @property
    def cookie(self) -> str:
        """The cookie's name. It has the port, since cookies do not."""
        return f"spamnb_{self.port}"

    def serves_host(self, host: str) -> bool:
        """Return whether the pages answer to this host name."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name, port = match["name"].lower(), int(match["port"] or 80)
        if not 0 < port <= _LAST_PORT:
            return False
        if name in self.names:
            return True
        if self.port is None:
            return self.is_private and not self.names
        return name in _LOOPBACK and port == self.port


class Access:
    """Lets requests in or refuses them. key: the present key of the login. now: seconds since the epoch."""

    def __init__(self, address: ServerAddress, key: Callable[[], bytes], now: Callable[[], float]) -> None:
        self.address = address
        self.codes = login_keys.Codes(key, now)
        self._key = key
        self._now = now

    def check_host(self, request: Request) -> None:
        """Raise HttpError if the request has a host name that is not one of these pages."""
        host = request.headers.get("host", "")
        if not self.address.serves_host(host):
            match = _HOST.fullmatch(host)
            hint = f"--allow-host {match['name'] if match else 'NAME'}"
            raise HttpError(
                421,
                "This host name is not allowed here.",
                f"To allow it, start the pages with: spamnb web {hint}",
            )

    @property
    def base(self) -> str:
        """The beginning of all addresses: "/", or with a login a path that follows from its key.

        Raises SpamnbError if the key cannot be read.
        """
        return f"/{login_keys.path(self._key())}/" if self.address.has_login else "/"

    def below_base(self, request: Request) -> Request:
        """Return the request with its path below the base. Raises HttpError for any other path."""
        base = self.base
        if not hmac.compare_digest(request.path[: len(base)].encode(), base.encode()):
            raise HttpError(404, "There is no page at this address.", "To open the pages: spamnb web --open")
        return replace(request, path=request.path[len(base) - 1 :])

    def check_origin(self, request: Request) -> None:
        """Raise HttpError for a form that is not from one of these pages."""
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            is_own = site == "same-origin"
        else:
            origin = urlsplit(request.headers.get("origin", ""))
            is_own = bool(origin.netloc) and origin.netloc.lower() == request.headers.get("host", "").lower()
        if not is_own:
            raise HttpError(403, "Another page sent this form.", "Nothing was changed. Use the buttons here.")

    def is_logged_in(self, request: Request) -> bool:
        """Return whether the request has a valid cookie."""
        if not self.address.has_login:
            return True
        key, now = self._key(), self._now()
        sent = (pair.strip().partition("=") for pair in request.headers.get("cookie", "").split(";"))  # RFC 6265, 5.4
        return any(
            name == self.address.cookie and login_keys.nonce_of(key, "cookie", value, now) is not None
            for name, _, value in sent
        )

    def new_cookie(self) -> tuple[str, str]:
        """Return the header that logs a browser in."""
        value = login_keys.make(self._key(), "cookie", self._now())
        return self._cookie_header(value, login_keys.COOKIE_SECONDS)

    def no_cookie(self) -> tuple[str, str]:
        """Return the header that makes a browser forget its login."""
        return self._cookie_header("", 0)

    def _cookie_header(self, value: str, seconds: int) -> tuple[str, str]:
        text = f"{self.address.cookie}={value}; HttpOnly; SameSite=Strict; Path={self.base}; Max-Age={seconds}"
        return "Set-Cookie", text


def is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Return whether a link of another site led here, so that the browser did not send the cookie."""
    return headers.get("sec-fetch-site") in ("cross-site", "same-site")


def listen(address: str, *, behind_proxy: bool) -> Listener:
    """Listen on a path, or on an address such as `127.0.0.1:7726`. Raises SpamnbError if that fails.

    behind_proxy: the group of the Unix socket's file may connect.
    """
    if address.startswith("/"):
        hints = {0: "write a path in a directory that you may write to"}
        return open_listener(address, mode=0o660 if behind_proxy else 0o600, backlog=_BACKLOG, hints=hints)
    if behind_proxy:
        raise UsageError(f"--behind-proxy needs a Unix socket: --listen /run/…, not {address}")
    host, port = _parsed(address)
    another = f"stop the program that uses it, or choose another port (--listen 127.0.0.1:{port + 1})"
    hints = {0: "choose another port (--listen)", errno.EADDRINUSE: another}
    return open_listener(f"{host}:{port}", backlog=_BACKLOG, hints=hints)


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or not 0 <= int(port) <= _LAST_PORT or not host:
        raise UsageError(f"{address!r} is not an address: write {DEFAULT}, or the full path of a Unix socket")
    host = "127.0.0.1" if host == "localhost" else host
    if not is_loopback(host):
        raise UsageError(
            f"{address} can be reached from outside, and these pages show mail: write {DEFAULT}, or put a proxy with a"
            " login before a Unix socket (--listen /run/… --behind-proxy)"
        )
    return host, int(port)


def check_modes(listeners: Sequence[Listener]) -> None:
    """Raise SpamnbError for a Unix socket that every user of the machine can connect to, since it has no login."""
    for listener in listeners:
        if listener.path is not None and listener.path[:1] in ("", "\0"):
            raise SpamnbError("the socket from systemd has no file: write ListenStream=/run/…")
        if listener.path is not None and listener.mode & 0o007:
            raise SpamnbError(f"every user of this machine can connect to {listener.path}: write SocketMode=0660")


def is_held_by(port: int, users: frozenset[int]) -> bool:
    """Return whether only these users, by number, listen on a port of this machine (proc(5))."""
    holders = set()
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            for line in file.readlines()[1:]:
                _, local, _, state, _, _, _, user, *_ = line.split()
                if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                    holders.add(int(user))
    return bool(holders) and holders <= users
