"""How statements ask for many keys at once, and for a text within a column.

There is no index for a text: for a million messages one of trigrams (SQLite's FTS5) takes 112 MB, and 58 µs of each
message that is recorded, a sixth of what learning it takes. To look through as many by LIKE takes 0.35 s, by `instr` of
the text in lower case 0.89 s (SQLite 3.40).
"""

import json
from collections.abc import Sequence
from typing import Any

from spamnb.ledger.connection import Connection

_CHUNK = 500  # parameters a statement; SQLite's own limit was 999 before 3.32


def look_up(db: Connection, select: str, keys: Sequence[str] | Sequence[int]) -> list[Any]:
    """The rows of a statement whose table `{asked}` holds the keys, which are distinct, in its column `value`.

    Its column `key` holds the place of each.

    As one JSON text, since a statement with as many parameters as there are keys would be prepared for each number of
    them, and kept: 12 MB in a service of one person with 64 mailboxes.
    """
    as_json = json.dumps(keys, ensure_ascii=False)
    if "\\u0000" in as_json:  # QUIRK: SQLite ends a text of JSON there
        one = select.format(asked="(SELECT ? AS key, ? AS value) AS asked")
        return [row for place, key in enumerate(keys) for row in db.all(one, (place, key))]
    return db.all(select.format(asked="json_each(?) AS asked"), (as_json,)) if keys else []


def look_up_bound(db: Connection, select: str, keys: Sequence[object]) -> list[Any]:
    """The rows of a statement that ends with the name of a column, where that column holds one of the keys.

    For what JSON has not, such as bytes; by two statements.
    """
    rows: list[Any] = []
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        size = 1 if len(chunk) == 1 else _CHUNK
        marks = ",".join("?" * size)
        rows += db.all(f"{select} IN ({marks})", [*chunk, *[chunk[0]] * (size - len(chunk))])
    return rows


def contains(column: str, text: str) -> tuple[str, list[str]]:
    r"""A condition that a column holds a text, whatever the case of its letters, and the condition's parameters.

    No character of the text stands for another. SQLite knows which letters are the same in ASCII only, so other texts
    are looked for with small and with capital letters.

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
