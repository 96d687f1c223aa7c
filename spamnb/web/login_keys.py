"""The key of the login: the path of the pages, the codes that are made with it, and the cookie for which one is given.

A code is good once, for a minute, and made by whoever can read the key's file. Code and cookie are an expiry (8 bytes,
seconds since the epoch), a nonce (16 bytes), and an HMAC-SHA256 of both (32 bytes), in base64url. A new key ends all
logins, and moves the pages to another path.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Literal

from spamnb.base import durable
from spamnb.base.errors import SpamnbError

CODE_SECONDS = 60
COOKIE_SECONDS = 30 * 86_400
_KEY_BYTES = 32
_NONCE_BYTES = 16
_PATH_BYTES = 15  # 24 letters and digits
_EXPIRY = struct.Struct(">Q")
_LENGTH = _EXPIRY.size + _NONCE_BYTES + hashlib.sha256().digest_size
_MOST_WRONG = 5
_WINDOW = 60.0  # seconds
Use = Literal["code", "cookie"]


class KeyFile:
    """The key in a file that only its owner can read; made when it is first asked for."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: tuple[tuple[int, int, int], bytes] | None = None

    def key(self) -> bytes:
        """The key of now: another process may have made a new one. Raises SpamnbError."""
        try:
            try:
                return self._read()
            except FileNotFoundError:
                self._make()
                return self._read()
        except OSError as fault:
            raise SpamnbError(
                f"cannot use {self.path}: {fault.strerror}; check the directory, and that the file is your own"
            ) from fault

    def renew(self) -> None:
        """Make a new key, which ends all logins. Raises OSError."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self._write(replace=True)

    def _make(self) -> None:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was first
            self._write(replace=False)

    def _write(self, *, replace: bool) -> None:
        with durable.draft(self.path, replace=replace) as part, open(part, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))

    def _read(self) -> bytes:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            state = status.st_ino, status.st_mtime_ns, status.st_size
            if self._known is None or self._known[0] != state:
                if status.st_mode & 0o077:
                    raise SpamnbError(f"others can read {self.path}: remove it, and log in again (spamnb web --open)")
                key = os.read(descriptor, _KEY_BYTES + 1)
                if len(key) != _KEY_BYTES:
                    raise SpamnbError(f"{self.path} holds no key: remove it, and log in again (spamnb web --open)")
                self._known = state, key
            return self._known[1]
        finally:
            os.close(descriptor)


def path(key: bytes) -> str:
    """The first part of the addresses of all pages: not to be guessed without the key (120 bits), which it hides.

    A browser sends the cookie to every server of this machine that is asked for this path, on any port (RFC 6265, 8.5).
    So nobody else is to know it.
    """
    return "k" + base64.b32encode(_mac(key, "path", b"")[:_PATH_BYTES]).decode("ascii").lower()


def make(key: bytes, use: Use, now: float) -> str:
    """A new code, or a new cookie's value."""
    seconds = CODE_SECONDS if use == "code" else COOKIE_SECONDS
    content = _EXPIRY.pack(int(now) + seconds) + secrets.token_bytes(_NONCE_BYTES)
    return base64.urlsafe_b64encode(content + _mac(key, use, content)).decode("ascii")


def nonce_of(key: bytes, use: Use, text: str, now: float) -> bytes | None:
    """The nonce of a code or a cookie that is genuine and not over; else None."""
    try:
        raw = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
    except ValueError:
        return None
    if len(raw) != _LENGTH:
        return None
    content, mac = raw[: _EXPIRY.size + _NONCE_BYTES], raw[_EXPIRY.size + _NONCE_BYTES :]
    if not hmac.compare_digest(mac, _mac(key, use, content)):
        return None
    return content[_EXPIRY.size :] if now < _EXPIRY.unpack(content[: _EXPIRY.size])[0] else None


def _mac(key: bytes, use: Use | Literal["path"], content: bytes) -> bytes:
    return hmac.digest(key, use.encode("ascii") + b"\0" + content, "sha256")


class Codes:
    """Takes each code once, and few wrong ones a minute. `now`: seconds since the epoch.

    A right code is taken also after wrong ones: it cannot be guessed (256 bits), and else anybody on the machine could
    keep the owner out.
    """

    def __init__(self, key: Callable[[], bytes], now: Callable[[], float]) -> None:
        self._key = key
        self._now = now
        self._lock = threading.Lock()
        self._used: deque[tuple[float, bytes]] = deque()
        self._wrong: deque[float] = deque(maxlen=_MOST_WRONG)

    def take(self, code: str) -> bool:
        """Whether a code is good; it is not again."""
        now = self._now()
        nonce = nonce_of(self._key(), "code", code, now)
        with self._lock:
            while self._used and self._used[0][0] <= now - 2 * CODE_SECONDS:
                self._used.popleft()
            if nonce is not None and all(nonce != used for _, used in self._used):
                self._used.append((now, nonce))
                return True
            return False

    def may_be_wrong(self) -> bool:
        """Count a wrong code; False where there were too many of them within a minute."""
        now = self._now()
        with self._lock:
            is_much = len(self._wrong) == _MOST_WRONG and now - _WINDOW < self._wrong[0] <= now
            if not is_much:
                self._wrong.append(now)
            return not is_much
