"""Searching the history for a text: step by step, from the newest message to the oldest.

No index: for a million messages one of trigrams (SQLite's FTS5) takes 112 MB, and 58 µs of each message that is
recorded, a sixth of what learning it takes. To look through as many without it takes 0.35 s (SQLite 3.40), so half of
them are looked through at a time.
"""

from typing import NamedTuple

from spamnb.ledger.connection import Connection

_LOOKED_AT = 500_000  # messages, in 0.18 s


class Found(NamedTuple):
    """Messages whose summary holds a text, by their ids, the newest first.

    before: where to search further, as `Search.messages` takes it; None where all were looked through.
    """

    messages: list[int]
    before: int | None


class Search:
    """Looks for messages."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def messages(self, text: str, most: int, before: int | None = None, *, looked_at: int = _LOOKED_AT) -> Found:
        """The newest messages with that text, whatever the case of its letters, and at most so many.

        Of those that are older than the message `before`; looked_at: how many ids are looked through.
        """
        (newest,) = self._db.row("SELECT coalesce(max(id), 0) FROM message")
        last = newest + 1 if before is None else min(before, newest + 1)
        first = max(0, last - looked_at)
        patterns = [pattern(spelling) for spelling in spellings(text)]
        like = " OR ".join(["summary LIKE ? ESCAPE '\\'"] * len(patterns))
        rows = self._db.all(
            f"SELECT id FROM message WHERE id >= ? AND id < ? AND ({like}) ORDER BY id DESC LIMIT ?",  # noqa: S608 - no text from outside
            (first, last, *patterns, most),
        )
        found = [row[0] for row in rows]
        if len(found) == most:
            return Found(found, found[-1])
        return Found(found, first if first > 1 else None)


def pattern(text: str) -> str:
    r"""What LIKE finds a text by, where the escape is a backslash: no character of it stands for another.

    >>> print(pattern("50%_"))
    %50\%\_%
    """
    for special in "\\%_":
        text = text.replace(special, f"\\{special}")
    return f"%{text}%"


def spellings(text: str) -> list[str]:
    """A text with small and with capital letters: SQLite knows which letters are the same in ASCII only."""
    return [text] if text.isascii() else sorted({text, text.lower(), text.upper(), text.title()})
