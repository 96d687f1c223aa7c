"""Looking up in the ledger what is known of tokens and of messages, to judge one message; without numpy."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.known import NEVER, Known, Seen, asked, known
from spamnb.ledger.lessons.sqlite.count_block import TOKENS, counts_in
from spamnb.ledger.lessons.sqlite.kind_codes import encode
from spamnb.mail.relations import Relations

_CHUNK = 500  # parameters a statement; SQLite's own limit was 999 before 3.32
# CROSS JOIN: SQLite goes through what is asked, as it comes; for `text IN (SELECT …)` it would sort that first, in a
# table of its own, which takes a fifth more.
_IDS = "SELECT asked.key, token.id FROM {asked} CROSS JOIN token ON text = asked.value"
_BLOCKS = "SELECT block, numbers FROM {asked} CROSS JOIN counts ON block = asked.value"
_SEEN = "SELECT known.value, ham, spam, sent FROM {asked} CROSS JOIN known ON known.value = asked.value"
TOTALS = (
    "ham_messages, spam_messages, ham_token_messages, spam_token_messages,"
    " ham_occurrences, spam_occurrences, vocabulary"
)


def look_up(db: Connection, select: str, keys: Sequence[str] | Sequence[int]) -> list[Any]:
    """The rows of a statement whose table `{asked}` holds the keys, which are distinct, in its column `value`.

    Its column `key` holds the place of each.

    As one JSON text, since a statement with as many parameters as there are keys would be prepared for each number of
    them, and kept: 12 MB in a service (`benchmarks/mailboxes.py`).
    """
    as_json = json.dumps(keys, ensure_ascii=False)
    if "\\u0000" in as_json:  # QUIRK: SQLite ends a text of JSON there
        one = select.format(asked="(SELECT ? AS key, ? AS value) AS asked")
        return [row for place, key in enumerate(keys) for row in db.all(one, (place, key))]
    return db.all(select.format(asked="json_each(?) AS asked"), (as_json,)) if keys else []


def look_up_ids(db: Connection, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Those of the texts, as they are on disk, that are in the dictionary: the place of each, and its id."""
    return look_up(db, _IDS, texts)


def look_up_counts(db: Connection, tokens: Sequence[str]) -> list[tuple[int, str, tuple[int, int, int, int]]]:
    """Those of the tokens that are in the dictionary: id, text and counts, as `Evidence` has them."""
    ids = look_up_ids(db, list(map(encode, tokens)))
    blocks = dict(look_up(db, _BLOCKS, sorted({id_ // TOKENS for _, id_ in ids})))
    return [
        (id_, tokens[place], counts_in(blocks[id_ // TOKENS], id_ % TOKENS))
        for place, id_ in ids
        if id_ // TOKENS in blocks
    ]


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


def total(db: Connection, columns: str) -> Sequence[int]:
    """The totals of the counts. Raises LedgerError where they are gone."""
    row: Sequence[int] | None = db.row(f"SELECT {columns} FROM total")  # noqa: S608 - of the ledger's own modules
    if row is None:
        raise LedgerDamagedError("The ledger is damaged, its totals are gone: restore a copy of it, or train again")
    return row


def look_up_seen(db: Connection, values: Iterable[int]) -> dict[int, Seen]:
    """In how many messages each hash is; those in none are left out."""
    rows = look_up(db, _SEEN, list(dict.fromkeys(values)))
    return {row[0]: Seen(*row[1:]) for row in rows}


class SqliteEvidence:
    """What a ledger knows of a message that is to be judged, as `Evident` has it."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """The counts of these tokens."""
        with self._db.snapshot():  # counts and totals of one moment: a class has the messages of its tokens
            rows = look_up_counts(self._db, tokens)
            return Evidence({text: counts for _, text, counts in rows}, total(self._db, TOTALS))

    def known(self, messages: Sequence[Relations]) -> list[frozenset[Known]]:
        """What decisions and sent mail say of each of these messages."""
        seen = look_up_seen(self._db, all_asked(messages))
        return [known(one, lambda value: seen.get(value, NEVER)) for one in messages]


def all_asked(messages: Iterable[Relations]) -> list[int]:
    """The hashes that decide what is known of these messages."""
    return [value for one in messages for value in asked(one)]
