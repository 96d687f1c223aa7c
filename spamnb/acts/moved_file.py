"""The file that tells another program of moves, such as one that keeps an account at a provider in step.

The file is made after a move. The other program waits for it, removes it, and then carries the moves on. So a move that
comes while the program works leads to one more run, and a thousand moves lead to few. Nothing is started here: a
program that fails or hangs cannot delay mail.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

_log = logging.getLogger(__name__)
# A link is not followed, and a FIFO that nobody reads is an error instead of a wait.
_HOW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class MovedFile:
    """The file at a path; None if the configuration names none. count: called when a fault is logged."""

    def __init__(self, path: Path | None, count: Callable[[], object] = lambda: None) -> None:
        self._path = path
        self._count = count
        self._fault = ""  # the last one, which lasts

    def make(self) -> None:
        """Make the file, unless it is there. A fault is logged once while it lasts."""
        if self._path is None:
            return
        before, self._fault = self._fault, ""
        try:
            os.close(os.open(self._path, _HOW, 0o600))
        except OSError as fault:
            step = "correct `moved_file` under `service`, or the rights of its directory"
            self._fault = f"{self._path} cannot be made after a move ({fault.strerror}): {step}"
            if self._fault != before:
                _log.warning("%s", self._fault)
                self._count()
