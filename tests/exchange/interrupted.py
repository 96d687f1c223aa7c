"""A log at one of whose questions something else happens."""

from collections.abc import Callable
from typing import Any

from spamnb.exchange.port import Log


class Interrupted:
    """A log that does something else at its `at`th question, counted from 0; all else is asked as it is.

    is_heard: the question was heard then, and its answer waits; else the question waits.
    """

    def __init__(self, log: Log, at: int, meanwhile: Callable[[], None], *, is_heard: bool = True) -> None:
        self._log = log
        self._left = at
        self._meanwhile = meanwhile
        self._is_heard = is_heard

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._log, name)

        def asked(*arguments: object) -> object:
            self._left -= 1
            if self._left == -1 and not self._is_heard:
                self._meanwhile()
            answer = call(*arguments)
            if self._left == -1 and self._is_heard:
                self._meanwhile()
            return answer

        return asked
