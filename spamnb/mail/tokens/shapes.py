"""The shape of a name or an identifier: which program made it, whatever it made this time."""

import string
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern

_RUN = lazy_pattern(r"(.)\1+")
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LETTERS_AND_DIGITS = lazy_pattern(f"({_UUID})|[A-Za-z0-9]{{8,}}")
_HEXADECIMAL = frozenset(string.hexdigits)
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


def id_shape(text: str) -> str:
    """The shape of an identifier, whose random pieces have a name of their own.

    A UUID is `uuid`, hexadecimal digits `h` with their number in eights, other letters and digits mixed `x`.

    >>> id_shape("d2f1a8c4-1b2c-4d5e-8f90-a1b2c3d4e5f6"), id_shape("20261102.4f0a9bc2.Mail"), id_shape("CAF7xQ2sLk.9")
    ('uuid', 'd.h1.Aa', 'x.d')
    """
    shapes = []
    end = 0
    for run in _LETTERS_AND_DIGITS.finditer(text):
        shapes += [shape(text[end : run.start()]), "uuid" if run[1] else _run_shape(run[0])]
        end = run.end()
    return "".join([*shapes, shape(text[end:])])


def _run_shape(run: str) -> str:
    if run.isalpha() or run.isdecimal():
        return shape(run)
    return f"h{len(run) // 8}" if _HEXADECIMAL.issuperset(run) else "x"


@lru_cache(maxsize=2048)  # a mailbox meets the same names again and again
def short_shape(text: str) -> str:
    """The shape of the first 20 characters."""
    return shape(text[:20])
