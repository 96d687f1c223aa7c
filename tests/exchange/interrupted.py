"""A log that runs something else at one of its calls."""

from collections.abc import Callable
from typing import Any

from spamnb.exchange.port import LessonLog


class Interrupted:
    """A log that runs something else at its `at`th call, counted from 0, and passes all calls on.

    is_after: that runs after the call and before its answer; else before the call.
    """

    def __init__(self, log: LessonLog, at: int, meanwhile: Callable[[], object], *, is_after: bool = True) -> None:
        self._log = log
        self._left = at
        self._meanwhile = meanwhile
        self._is_after = is_after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._log, name)

        def asked(*arguments: object) -> object:
            self._left -= 1
            if self._left == -1 and not self._is_after:
                self._meanwhile()
            answer = call(*arguments)
            if self._left == -1 and self._is_after:
                self._meanwhile()
            return answer

        return asked
