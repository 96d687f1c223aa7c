"""The words of these pages, and which of them the reader leaves out.

They are always the same: `Cheap pills` is what a stranger wants to show, `Dear friend` is to pass for honest text.
"""

import re

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.tokens.html import read_html
from spamnb.mail.tokens.text import normalise

_WORDS = ("cheap", "pills", "dear", "friend")
_LETTERS = re.compile(r"[^\W\d_]+")


def words_in(text: str) -> set[str]:
    """Return which of the words are in a text, with whatever letters beside them."""
    letters = "".join(_LETTERS.findall(normalise(text)[0].casefold()))
    return {word for word in _WORDS if word in letters}


def left_out(page: str) -> set[str]:
    """Return which of the words are in neither reading of a page."""
    read = read_html(page, DEFAULT_LIMITS)
    return {*_WORDS} - words_in(f"{read.visible}\n{read.certain}")
