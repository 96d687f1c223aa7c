"""Look up tokens and messages in the ledger, to judge one message; without numpy."""

import json
from collections.abc import Sequence

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.acquaintance import Seen, SignedBefore
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.sqlite.count_block import TOKENS, counts_in
from spamnb.ledger.lessons.sqlite.kind_codes import encode
from spamnb.ledger.queries import look_up
from spamnb.mail.relations import Relations

# CROSS JOIN: SQLite takes the asked values in their order. For `text IN (SELECT …)` it would first sort them in a table
# of its own, which takes a fifth more.
_IDS = "SELECT asked.key, token.id FROM {asked} CROSS JOIN token ON text = asked.value"
_BLOCKS = "SELECT block, numbers FROM {asked} CROSS JOIN counts ON block = asked.value"
_SEEN = """
    SELECT
        EXISTS (SELECT 1 FROM lesson WHERE sender_over_path = ?1 AND label = 0 AND weak = 0 AND digest IS NOT ?2),
        EXISTS (SELECT 1 FROM lesson WHERE sender_over_path = ?1 AND label = 1 AND weak = 0 AND digest IS NOT ?2),
        EXISTS (SELECT 1 FROM json_each(?3) AS asked CROSS JOIN sent ON answer = asked.value),
        EXISTS (SELECT 1 FROM lesson WHERE sender_over_path = ?1 AND label = 0 AND weak = 1 AND digest IS NOT ?2),
        EXISTS (SELECT 1 FROM recipient WHERE address = ?4)"""
_SIGNED = """
    SELECT
        (SELECT count(*) FROM lesson WHERE signed_by = ?1 AND label = 0 AND weak = 0 AND digest IS NOT ?2),
        (SELECT count(*) FROM lesson WHERE signed_by = ?1 AND label = 1 AND weak = 0 AND digest IS NOT ?2)"""
TOTALS = (
    "ham_messages, spam_messages, ham_token_messages, spam_token_messages,"
    " ham_occurrences, spam_occurrences, vocabulary"
)


def look_up_ids(db: Connection, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return the place and id of each text, in its form on disk, that is in the dictionary."""
    return look_up(db, _IDS, texts)


def look_up_counts(db: Connection, tokens: Sequence[str]) -> list[tuple[int, str, tuple[int, int, int, int]]]:
    """Return the id, text and counts, as in `Evidence`, of each token that is in the dictionary."""
    ids = look_up_ids(db, list(map(encode, tokens)))
    blocks = dict(look_up(db, _BLOCKS, sorted({id_ // TOKENS for _, id_ in ids})))
    return [
        (id_, tokens[place], counts_in(blocks[id_ // TOKENS], id_ % TOKENS))
        for place, id_ in ids
        if id_ // TOKENS in blocks
    ]


def total(db: Connection, columns: str) -> Sequence[int]:
    """Return the totals of the counts. Raises LedgerError if they are gone."""
    return whole(db.row(f"SELECT {columns} FROM total"))  # noqa: S608 - of the ledger's own modules


def whole(row: Sequence[int] | None) -> Sequence[int]:
    """Return columns of the totals' only row. Raises LedgerError if the row is gone."""
    if row is None:
        raise LedgerDamagedError("The ledger is damaged: its totals are gone. Restore a copy of it, or train again")
    return row


def look_up_seen(db: Connection, relations: Relations, without: bytes | None = None) -> Seen:
    """Return what is kept about the sender of a message; `without` the lesson of that identity."""
    answers = json.dumps(relations.answers)
    asked = (relations.sender_over_path, without, answers, relations.as_recipient)
    return Seen(*map(bool, db.row(_SEEN, asked)))


def look_up_signed(db: Connection, relations: Relations, without: bytes | None = None) -> SignedBefore:
    """Return the decisions about mail of who answers for a message; `without` the lesson of that identity."""
    holder = relations.signed_by
    return SignedBefore() if holder is None else SignedBefore(*db.row(_SIGNED, (holder, without)))


class SqliteEvidence:
    """The ledger's evidence for judging a message, as in `Evident`."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def evidence(self, tokens: Sequence[str]) -> Evidence:
        """Return the counts of these tokens."""
        with self._db.snapshot():  # counts and totals of one moment: a class has the messages of its tokens
            rows = look_up_counts(self._db, tokens)
            *totals, change = total(self._db, f"{TOTALS}, change")
            return Evidence({text: counts for _, text, counts in rows}, totals, change)

    def seen(self, messages: Sequence[Relations]) -> list[Seen]:
        """Return what decisions and sent mail say of each of these messages."""
        return [look_up_seen(self._db, each) for each in messages]

    def signed_before(self, message: Relations, without: bytes | None = None) -> SignedBefore:
        """Return the decisions about mail of who answers for a message."""
        return look_up_signed(self._db, message, without)
