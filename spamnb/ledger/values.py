"""The values that the columns of a ledger may hold, beyond what SQLite itself refuses.

SQLite keeps a value of any type in a column of any type. So a changed copy may hold a value that none of our statements
writes: a text for a number, an infinite time, a word that is not a verdict. A column's allowed values follow from its
type in the schema, and from the few rules below. Text must be UTF-8, which only reading it shows.
"""

import contextlib
import struct
from collections.abc import Iterator
from itertools import chain
from typing import get_args

from spamnb.base.errors import LedgerDamagedError, LedgerError
from spamnb.base.label import JUDGED_BY, LEARNED_BY, How, Origin, Role, Verdict
from spamnb.ledger.connection import Connection
from spamnb.ledger.history import state
from spamnb.ledger.history.actions import ActionState, Kind
from spamnb.ledger.history.choices import ChoiceKind, ChosenBy
from spamnb.ledger.lessons.export_format import MOST_TOTAL
from spamnb.ledger.sqlite_errors import damage

_OF_VALUES = (ArithmeticError, LookupError, TypeError, ValueError, struct.error)
_TIMES = "BETWEEN -6e10 AND 2.5e11"  # seconds since the epoch: the years 68 to 9892, which every calendar can print
_LARGEST = 2 * MOST_TOTAL  # a sum: lessons may come on top of the largest import
_LONGEST = 1 << 16  # bytes of a text or a blob: a path has at most 4 KB, a reason a few hundred letters
_LONGEST_LESSON = 1 << 20  # bytes: a message has at most 4,000 tokens, of 12 bytes each before they are packed
_TYPES = {
    "INTEGER": f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN 0 AND {_LARGEST}",
    "REAL": f"typeof({{0}}) = 'real' AND {{0}} {_TIMES}",
    "TEXT": f"typeof({{0}}) = 'text' AND length(CAST({{0}} AS BLOB)) <= {_LONGEST}",
    "BLOB": f"typeof({{0}}) = 'blob' AND length({{0}}) <= {_LONGEST}",
}
_QUOTED = """quote(CASE WHEN typeof("{0}") IN ('text', 'blob') THEN substr("{0}", 1, 60) ELSE "{0}" END)"""
_ANY_INTEGER = "typeof({0}) = 'integer'"
_PROBABILITY = "typeof({0}) = 'real' AND {0} BETWEEN 0 AND 1"


def _one_of(*words: str) -> str:
    return f"{{0}} IN ({', '.join(repr(str(word)) for word in words)})"


_VERDICT = _one_of(*Verdict)
_RULES = {
    ("action", "kind"): _one_of(*get_args(Kind)),
    ("action", "state"): _one_of(*get_args(ActionState)),
    ("action", "verdict"): _VERDICT,
    ("action", "probability"): _PROBABILITY,
    ("action", "before"): "{0} IN (0, 1)",
    ("action", "after"): "{0} IN (0, 1)",
    ("action", "how"): _one_of(*How),
    ("action", "goal"): _one_of(*(role for role in Role if role.is_goal)),
    ("choice", "by"): _one_of(*get_args(ChosenBy)),
    ("choice", "kind"): _one_of(*get_args(ChoiceKind)),
    ("choice", "number"): _PROBABILITY,
    ("counts", "block"): "{0} BETWEEN 0 AND 134217727",  # of ids of 32 bits
    ("directory", "device"): _ANY_INTEGER,
    ("directory", "inode"): _ANY_INTEGER,
    ("early_verdict", "verdict"): _VERDICT,
    ("early_verdict", "how"): _one_of(*JUDGED_BY[1:]),
    ("early_verdict", "probability"): _PROBABILITY,
    ("file", "gone_by"): "{0} = 'filter'",
    ("file", "origin"): _one_of(*get_args(Origin)),
    ("folder", "sent_read"): "{0} IN (0, 1)",
    ("lesson", "how"): _one_of(*LEARNED_BY),
    ("import", "tokens"): "typeof({0}) = 'blob'",  # unpacking checks its size
    ("lesson", "sender_over_path"): _ANY_INTEGER,
    ("lesson", "tokens"): f"typeof({{0}}) = 'blob' AND length({{0}}) <= {_LONGEST_LESSON}",
    ("message", "probability"): _PROBABILITY,
    ("message", "verdict"): _VERDICT,
    ("recipient", "address"): _ANY_INTEGER,
    ("sent", "answer"): _ANY_INTEGER,
    (
        "state",
        "value",
    ): f"typeof({{0}}) = 'text' AND length(CAST({{0}} AS BLOB)) <= {state.LONGEST}",
    ("token", "id"): "typeof({0}) = 'integer' AND {0} BETWEEN 1 AND 4294967295",
    ("total", "last_token"): "typeof({0}) = 'integer' AND {0} BETWEEN 0 AND 4294967295",
}


def damage_behind(db: Connection, fault: BaseException | None) -> LedgerDamagedError | None:
    """Return the error to raise instead of a fault that an odd value may have caused, if the ledger holds one."""
    if not isinstance(fault, _OF_VALUES):
        return None
    with contextlib.suppress(LedgerError):
        for odd in chain.from_iterable(odd_values(db)):
            return LedgerDamagedError(damage(db.path, odd))
    return None


def damage_in(path: str, fault: Exception) -> LedgerDamagedError | None:
    """Return the error to raise instead of a fault, if the ledger at that path holds an odd value; or None.

    Raises LedgerError if the ledger cannot be read.
    """
    with contextlib.closing(Connection(path, only_read=True)) as db:
        return damage_behind(db, fault)


def odd_values(db: Connection) -> Iterator[list[str]]:
    """Yield the columns with values that spamnb never writes, table by table; nothing if all is well."""
    for (table,) in db.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
        yield list(_odd_in(db, table))
    yield list(state.odd_values(db))


def _odd_in(db: Connection, table: str) -> Iterator[str]:
    columns = db.all("SELECT name, type FROM pragma_table_info(?)", (table,))
    rules = [(name, _rule(table, name, kind)) for name, kind in columns]
    # All columns in one pass; only if a value is wrong, it asks in which column.
    if db.row(f'SELECT 1 FROM "{table}" WHERE NOT ({" AND ".join(rule for _, rule in rules)}) LIMIT 1'):  # noqa: S608
        for name, rule in rules:
            found = db.row(f'SELECT {_QUOTED.format(name)} FROM "{table}" WHERE NOT {rule} LIMIT 1')  # noqa: S608
            if found is not None:
                yield f"{table}.{name} holds {_shown(found[0])}, which is not an allowed value"
        return  # a text that is too long must not be read
    texts = " || ".join(f'ifnull("{name}", 0)' for name, kind in columns if kind == "TEXT")
    try:
        for _ in db.rows(f'SELECT {texts or 1} FROM "{table}"'):  # noqa: S608
            pass
    except LedgerDamagedError:
        yield f"{table} holds a text that is not UTF-8"


def _rule(table: str, name: str, kind: str) -> str:
    """Return the condition that a column holds an allowed value; a column of an unknown type may hold any value."""
    rule = _RULES.get((table, name)) or _TYPES.get(kind, "1")
    quoted = f'"{name}"'
    return f"({quoted} IS NULL OR {rule.format(quoted)})"


def _shown(quoted: str) -> str:
    return quoted if len(quoted) <= 40 else f"{quoted[:40]}…"
