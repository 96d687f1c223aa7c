"""Saying once what goes on for long: a fault that lasts is one line in the log, not one at each look."""

import logging
from collections.abc import Hashable


class Once:
    """What was said, and of what. A fault is said again when its words change, or after it was over."""

    def __init__(self, log: logging.Logger, level: int = logging.WARNING) -> None:
        self._log = log
        self._level = level
        self._said: dict[Hashable, str] = {}

    def say(self, of: Hashable, words: str) -> None:
        """Say what is wrong with something, unless that was the last that was said of it."""
        if self._said.get(of) != words:
            self._said[of] = words
            self._log.log(self._level, "%s", words)

    def over(self, of: Hashable) -> bool:
        """Nothing is wrong with it any more. Returns whether something had been said of it."""
        return self._said.pop(of, None) is not None

    def __contains__(self, of: object) -> bool:
        return of in self._said
