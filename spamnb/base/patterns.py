"""Regular expressions that are compiled at their first use.

The reader has more than a hundred, and one message uses half of them. Compiling all takes as long as reading fifty
messages.
"""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(source: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Return a pattern as `re.compile` does, compiled at its first use.

    >>> lazy_pattern(r"\\d+").findall("1 and 23")
    ['1', '23']
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))


class LazyPattern:
    """Behaves like the pattern that it becomes. It keeps each method after the first use."""

    def __init__(self, source: Any, flags: int) -> None:
        self._arguments = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)  # `re` itself keeps the pattern
        setattr(self, name, value)
        return value
