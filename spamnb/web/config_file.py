"""The present configuration: read again when its file has changed."""

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from spamnb.base.errors import ConfigError, UsageError
from spamnb.config import Config, default_ledger_path
from spamnb.host.host import Host, load_host, load_user

_log = logging.getLogger(__name__)
_State = tuple[int, int, int]


class ConfigFile:
    """Reads a configuration, or that of a mail host's user. is_needed: a missing file is an error; otherwise the
    defaults count.
    """

    def __init__(self, path: Path, environ: Mapping[str, str], user: str = "", *, is_needed: bool) -> None:
        self._path = path
        self._environ = environ
        self._user = user
        self._is_needed = is_needed
        self._lock = threading.Lock()
        self._known: tuple[_State | None, Config] | None = None

    def read(self) -> Config:
        """Return the configuration. Raises ConfigError, and like `load_user`."""
        if self._user:  # this user may have a file of their own
            return self._load(None)
        state = _state(self._path)
        with self._lock:
            if self._known is None or self._known[0] != state:
                self._known = state, self._load(state)
            return self._known[1]

    def _load(self, state: _State | None) -> Config:
        if state is None and not (self._is_needed or self._user):
            return Config(mailboxes=(), ledger=default_ledger_path(self._environ))
        return load_user(self._path, self._environ, self._user).config


class HostFile:
    """Reads the configuration of a mail host. While it is faulty, the last good one counts, as in the service."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self._path = path
        self._environ = environ
        self._lock = threading.Lock()
        self._known: tuple[_State | None, Host] | None = None

    def read(self) -> Host:
        """Return the host. Before the first good configuration it raises like `load_host`."""
        state = _state(self._path)
        with self._lock:
            if self._known is None:
                self._known = state, load_host(self._path, self._environ)
            elif self._known[0] != state:
                self._known = state, self._again(self._known[1])
            return self._known[1]

    def _again(self, before: Host) -> Host:
        try:
            return load_host(self._path, self._environ)
        except (ConfigError, UsageError) as fault:
            _log.error("%s; the old configuration counts until that is corrected", fault)
            return before


def _state(path: Path) -> _State | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
