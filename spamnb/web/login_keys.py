"""The key of the login. The path of the pages, the codes and the cookies follow from it.

A code works once, within a minute; anybody who can read the key's file can make one. A browser gets a cookie for it.
Code and cookie are an expiry (8 bytes, seconds since the epoch), a nonce (16 bytes), and an HMAC-SHA256 of both (32
bytes), in base64url. A new key ends all logins, and moves the pages to a new path.
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
    """The key in a file that only its owner can read. It is made at its first use."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: tuple[tuple[int, int, int], bytes] | None = None

    def key(self) -> bytes:
        """Return the present key: another process may have made a new one. Raises SpamnbError."""
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
    """Return the first part of all addresses. Without the key nobody can guess it (120 bits), and it hides the key.

    A browser sends the cookie to every server of this machine for this path, on any port (RFC 6265, 8.5). So nobody
    else may know the path.
    """
    return "k" + base64.b32encode(_mac(key, "path", b"")[:_PATH_BYTES]).decode("ascii").lower()


def make(key: bytes, use: Use, now: float) -> str:
    """Return a new code, or the value of a new cookie."""
    seconds = CODE_SECONDS if use == "code" else COOKIE_SECONDS
    content = _EXPIRY.pack(int(now) + seconds) + secrets.token_bytes(_NONCE_BYTES)
    return base64.urlsafe_b64encode(content + _mac(key, use, content)).decode("ascii")


def nonce_of(key: bytes, use: Use, text: str, now: float) -> bytes | None:
    """Return the nonce of a code or a cookie that is genuine and not expired, or None."""
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
    """Takes each code once, and few wrong ones per minute. now: seconds since the epoch.

    It takes a right code even after wrong ones: nobody can guess a code (256 bits), and otherwise any user of the
    machine could keep the owner out.
    """

    def __init__(self, key: Callable[[], bytes], now: Callable[[], float]) -> None:
        self._key = key
        self._now = now
        self._lock = threading.Lock()
        self._used: deque[tuple[float, bytes]] = deque()
        self._wrong: deque[float] = deque(maxlen=_MOST_WRONG)

    def take(self, code: str) -> bool:
        """Return whether a code is valid, and use it up."""
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
        """Count a wrong code. Returns False if there were too many within a minute."""
        now = self._now()
        with self._lock:
            is_much = len(self._wrong) == _MOST_WRONG and now - _WINDOW < self._wrong[0] <= now
            if not is_much:
                self._wrong.append(now)
            return not is_much
