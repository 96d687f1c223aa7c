"""Regular expressions that are compiled at their first use.

The reader has more than a hundred, of which one message uses half: all together take as long to compile as fifty
messages to be read.
"""

import re
from typing import Any, AnyStr, cast


def lazy_pattern(source: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """As `re.compile`, at the first use.

    >>> lazy_pattern(r"\\d+").findall("1 and 23")
    ['1', '23']
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))


class LazyPattern:
    """Behaves as the pattern that it becomes; its methods are kept once they were asked for."""

    def __init__(self, source: Any, flags: int) -> None:
        self._arguments = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._arguments), name)  # which `re` itself keeps
        setattr(self, name, value)
        return value
