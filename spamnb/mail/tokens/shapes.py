"""The shape of a name or an identifier: it shows the program that made it, whatever it made this time."""

import string
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern

_RUN = lazy_pattern(r"([^u0-9])\1+")  # not in `uuid` and `h12`: a shape has no other u and digits
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LETTERS_AND_DIGITS = lazy_pattern(f"({_UUID})|[A-Za-z0-9]{{8,}}")
_HEXADECIMAL = frozenset(string.hexdigits)
_SHAPE = str.maketrans(
    dict.fromkeys(string.ascii_lowercase, "a")
    | dict.fromkeys(string.ascii_uppercase, "A")
    | dict.fromkeys(string.digits, "d")
)


def shape(text: str) -> str:
    """Replace letters by `a` and `A`, digits by `d`, and each run by one character.

    >>> shape("anna.lind_1984"), shape("Anna LIND")
    ('a.a_d', 'Aa A')
    """
    return _RUN.sub(r"\1", text.translate(_SHAPE))


def id_shape(text: str) -> str:
    """Return the shape of an identifier, with special names for its random pieces.

    A UUID is `uuid`. Hexadecimal digits are `h` with their number in eights; other mixed letters and digits are `x`.

    >>> id_shape("d2f1a8c4-1b2c-4d5e-8f90-a1b2c3d4e5f6"), id_shape("20261102.4f0a9bc2.Mail"), id_shape("CAF7xQ2sLk.9")
    ('uuid', 'd.h1.Aa', 'x.d')
    """
    characters = text.translate(_SHAPE)
    pieces = []
    end = 0
    for match in _LETTERS_AND_DIGITS.finditer(text):
        run = match[0]
        if run.isalpha() or run.isdecimal():
            continue
        pieces.append(characters[end : match.start()])
        end = match.end()
        if match[1]:
            pieces.append("uuid")
        else:
            pieces.append(f"h{len(run) // 8}" if _HEXADECIMAL.issuperset(run) else "x")
    pieces.append(characters[end:])
    return _RUN.sub(r"\1", "".join(pieces))


@lru_cache(maxsize=2048)  # the same names occur again and again in a mailbox
def short_shape(text: str) -> str:
    """Return the shape of the first 20 characters."""
    return shape(text[:20])
