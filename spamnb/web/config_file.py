"""The configuration as it is now: read again when its file has changed."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from spamnb.config import Config, default_ledger_path, load

_State = tuple[int, int, int]


class ConfigFile:
    """Reads a configuration. is_needed: an error where its file is missing; else the defaults count."""

    def __init__(self, path: Path, environ: Mapping[str, str], *, is_needed: bool) -> None:
        self._path = path
        self._environ = environ
        self._is_needed = is_needed
        self._lock = threading.Lock()
        self._known: tuple[_State | None, Config] | None = None

    def read(self) -> Config:
        """The configuration. Raises ConfigError."""
        state = self._state()
        with self._lock:
            if self._known is None or self._known[0] != state:
                self._known = state, self._load(state)
            return self._known[1]

    def _load(self, state: _State | None) -> Config:
        if state is None and not self._is_needed:
            return Config(mailboxes=(), ledger=default_ledger_path(self._environ))
        return load(self._path, self._environ)

    def _state(self) -> _State | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
