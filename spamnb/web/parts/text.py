"""The text of a message on a page: the first lines at once, the rest after a click. Deciding words are marked."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.filter.judge import Explanation
from spamnb.filter.marks import Piece, marked
from spamnb.mail.excerpt import Excerpt

MOST: Final = 10_000  # characters of a text
_AT_ONCE, _BACK = 400, 40  # characters; and how far back it looks for a space, so that it cuts no word
_LINE_END = lazy_pattern(r"[\n\r\x0b\x0c\x85\u2028\u2029]")

Row = list[Piece]


class Text(NamedTuple):
    """The rows of a text in pieces: the first ones, shown at once, and the rest. has_marks: a word is marked."""

    first: list[Row]
    rest: list[Row]
    is_cut: bool
    has_marks: bool


def text_of(head: Excerpt, explanation: Explanation | None) -> Text:
    """Return the text of a message. explanation: of its verdict, or None."""
    pieces = [Piece(head.text)] if explanation is None else marked(head.text, explanation)
    first, rest = _cut(pieces, _end_of_first(head.text))
    return Text(_rows(first), _rows(rest), head.is_cut, any(piece.side is not None for piece in pieces))


def _end_of_first(text: str) -> int:
    """Return the place at which the first part of a text ends."""
    if len(text) <= _AT_ONCE:
        return len(text)
    return (
        max(text.rfind(" ", _AT_ONCE - _BACK, _AT_ONCE), text.rfind("\n", _AT_ONCE - _BACK, _AT_ONCE)) + 1 or _AT_ONCE
    )


def _cut(pieces: Iterable[Piece], at: int) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces before a place and those after it. It does not cut a marked word."""
    first: list[Piece] = []
    rest: list[Piece] = []
    for piece in pieces:
        here = 0 if rest else max(at, 0)
        if piece.side is None and 0 < here < len(piece.text):
            first.append(Piece(piece.text[:here]))
            rest.append(Piece(piece.text[here:]))
        else:
            (first if here > 0 else rest).append(piece)
        at -= len(piece.text)
    return first, rest


def _rows(pieces: Sequence[Piece]) -> list[Row]:
    rows: list[Row] = [[]]
    for piece in pieces:
        lines = _LINE_END.split(piece.text) if piece.side is None else [piece.text]
        for number, line in enumerate(lines):
            if number:
                rows.append([])
            if line:
                rows[-1].append(piece._replace(text=line))
    return rows if pieces else []
