"""Statements that ask for many keys at once, or for a text within a column.

Text has no index. For a million messages an index of trigrams (SQLite's FTS5) takes 112 MB. It takes 58 µs per recorded
message, a sixth of the time of learning it. Searching that many by LIKE takes 0.35 s, and 0.89 s by `instr` of the text
in lower case (SQLite 3.40).
"""

import json
from collections.abc import Sequence
from typing import Any

from spamnb.ledger.connection import Connection

_CHUNK = 500  # parameters per statement; SQLite's own limit was 999 before 3.32


def look_up(db: Connection, select: str, keys: Sequence[str] | Sequence[int]) -> list[Any]:
    """Return the rows of a statement; its table `{asked}` holds the distinct keys, in the column `value`.

    Its column `key` holds the place of each key. The keys are one JSON text. A statement with a parameter per key would
    be prepared for each number of keys, and kept: 12 MB in a service of one person with 64 mailboxes.
    """
    as_json = json.dumps(keys, ensure_ascii=False)
    if "\\u0000" in as_json:  # QUIRK: SQLite ends a text of JSON there
        one = select.format(asked="(SELECT ? AS key, ? AS value) AS asked")
        return [row for place, key in enumerate(keys) for row in db.all(one, (place, key))]
    return db.all(select.format(asked="json_each(?) AS asked"), (as_json,)) if keys else []


def look_up_bound(db: Connection, select: str, keys: Sequence[object]) -> list[Any]:
    """Return the rows of a statement that ends with a column's name, if that column holds one of the keys.

    For values that JSON does not have, such as bytes; uses two statements.
    """
    rows: list[Any] = []
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        size = 1 if len(chunk) == 1 else _CHUNK
        marks = ",".join("?" * size)
        rows += db.all(f"{select} IN ({marks})", [*chunk, *[chunk[0]] * (size - len(chunk))])
    return rows


def contains(column: str, text: str) -> tuple[str, list[str]]:
    r"""Return a condition that a column contains a text, ignoring the case of letters, and the condition's parameters.

    No character of the text is a wildcard. SQLite ignores case only in ASCII, so other texts are searched in small and
    in capital letters.

    >>> contains("name", "50 %")[1] == [r"%50 \%%"]
    True
    """
    spellings = [text] if text.isascii() else sorted({text, text.lower(), text.upper(), text.title()})
    condition = " OR ".join([f"{column} LIKE ? ESCAPE '\\'"] * len(spellings))
    return f"({condition})", [_pattern(spelling) for spelling in spellings]


def _pattern(text: str) -> str:
    for special in "\\%_":
        text = text.replace(special, f"\\{special}")
    return f"%{text}%"
