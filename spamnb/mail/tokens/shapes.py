"""The shape of a name or an identifier: which program made it, whatever it made this time."""

import string
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern

_RUN = lazy_pattern(r"(.)\1+")
_SHAPE = str.maketrans(
    dict.fromkeys(string.ascii_lowercase, "a")
    | dict.fromkeys(string.ascii_uppercase, "A")
    | dict.fromkeys(string.digits, "d")
)


def shape(text: str) -> str:
    """Letters as `a` and `A`, digits as `d`, and each run as one.

    >>> shape("anna.lind_1984"), shape("Anna LIND")
    ('a.a_d', 'Aa A')
    """
    return _RUN.sub(r"\1", text.translate(_SHAPE))


@lru_cache(maxsize=2048)  # a mailbox meets the same names again and again
def short_shape(text: str) -> str:
    """The shape of the first 20 characters."""
    return shape(text[:20])
