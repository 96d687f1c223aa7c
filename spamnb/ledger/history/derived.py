"""Tables of the history that are sums over `message`: SQLite's triggers keep them, whatever statement writes a message.

judged_quarter: messages by the quarter of an hour (UTC) in which they were judged, the verdict, and what a person has
decided since. All time zones in use today differ from UTC by whole quarters, so every local day is a sum of rows.

judged_probability: messages by the thousandth in which the probability of their verdict lies, the verdict, and what was
decided.

sender: where mail came from, by the address in From or by the list, with how it was judged and what it was learned as.

decided: 0 ham, 1 spam, -1 no decision of a person: a weak label is none.
"""

from typing import NamedTuple

QUARTER = 900  # seconds
THOUSANDTHS = 1000
UNDECIDED = -1

_DECIDED = "CASE WHEN {row}.weak THEN -1 ELSE coalesce({row}.label, -1) END"
_SENDER = {
    "messages": "1",
    "judged_ham": "({row}.verdict IS 'ham')",
    "judged_unsure": "({row}.verdict IS 'unsure')",
    "judged_spam": "({row}.verdict IS 'spam')",
    "learned_ham": "({row}.label IS 0)",
    "learned_spam": "({row}.label IS 1)",
    "corrected": "({row}.label IS NOT NULL AND NOT {row}.weak AND {row}.verdict IS NOT NULL"
    " AND {row}.verdict <> iif({row}.label = 1, 'spam', 'ham'))",
}


class _Sum(NamedTuple):
    """A table of numbers of judged messages: its columns but the number, and how each follows from a message."""

    table: str
    columns: tuple[str, ...]
    values: tuple[str, ...]

    def of(self, row: str) -> list[str]:
        """The values of the columns of a message."""
        return [value.format(row=row) for value in self.values]


_SUMS = (
    _Sum(
        "judged_quarter",
        ("quarter", "verdict", "decided"),
        (f"CAST({{row}}.judged_at / {QUARTER} AS INTEGER)", "{row}.verdict", _DECIDED),
    ),
    _Sum(
        "judged_probability",
        ("thousandth", "verdict", "decided"),
        (
            f"min(CAST({{row}}.probability * {THOUSANDTHS} AS INTEGER), {THOUSANDTHS - 1})",
            "{row}.verdict",
            _DECIDED,
        ),
    ),
)


def _added(row: str) -> str:
    """The statements that count a message."""
    sums = "".join(
        f"INSERT INTO {one.table} SELECT {', '.join(one.of(row))}, 1 WHERE {row}.judged_at IS NOT NULL"
        " ON CONFLICT DO UPDATE SET number = number + 1;"
        for one in _SUMS
    )
    return sums + _sender(row, "+")


def _taken(row: str) -> str:
    """The statements that take a message from the sums."""
    sums = ""
    for one in _SUMS:
        where = " AND ".join(f"{name} = {value}" for name, value in zip(one.columns, one.of(row), strict=True))
        where = f"{row}.judged_at IS NOT NULL AND {where}"
        sums += f"UPDATE {one.table} SET number = number - 1 WHERE {where};"  # noqa: S608
        sums += f"DELETE FROM {one.table} WHERE {where} AND number = 0;"  # noqa: S608
    return sums + _sender(row, "-")


def _sender(row: str, sign: str) -> str:
    changes = ", ".join(f"{name} = {name} {sign} {value.format(row=row)}" for name, value in _SENDER.items())
    return f"UPDATE sender SET {changes} WHERE id IN ({row}.sender, {row}.list);"  # noqa: S608


TABLES = (
    "CREATE TABLE judged_quarter (quarter INTEGER NOT NULL, verdict TEXT NOT NULL, decided INTEGER NOT NULL,"
    " number INTEGER NOT NULL, PRIMARY KEY (quarter, verdict, decided)) WITHOUT ROWID",
    "CREATE TABLE judged_probability (thousandth INTEGER NOT NULL, verdict TEXT NOT NULL, decided INTEGER NOT NULL,"
    " number INTEGER NOT NULL, PRIMARY KEY (thousandth, verdict, decided)) WITHOUT ROWID",
    "CREATE TABLE sender (id INTEGER PRIMARY KEY, is_list INTEGER NOT NULL CHECK (is_list IN (0, 1)),"
    f" name TEXT NOT NULL, {', '.join(f'{name} INTEGER NOT NULL DEFAULT 0' for name in _SENDER)},"
    " UNIQUE (is_list, name))",
    "CREATE INDEX sender_messages ON sender (messages)",
)
TRIGGERS = (
    "CREATE TRIGGER message_added AFTER INSERT ON message"
    f" WHEN new.judged_at IS NOT NULL OR new.sender IS NOT NULL BEGIN {_added('new')} END",
    "CREATE TRIGGER message_changed AFTER UPDATE OF judged_at, verdict, probability, label, weak, sender, list"
    " ON message WHEN coalesce(old.judged_at, new.judged_at, old.sender, new.sender, old.list, new.list) IS NOT NULL"
    f" BEGIN {_taken('old')} {_added('new')} END",
    f"CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN {_taken('old')}"  # noqa: S608 - no text from outside
    " DELETE FROM sender WHERE id IN (old.sender, old.list) AND messages = 0; END",
)


def proofs() -> list[tuple[str, str]]:
    """Of each table its name, and a statement that finds the rows which only it, or only the sum over messages, has."""
    found = []
    for one in _SUMS:
        summed = ", ".join(one.of("m"))
        wanted = f"SELECT {summed}, count(*) FROM message AS m WHERE judged_at IS NOT NULL GROUP BY {summed}"  # noqa: S608
        found.append((one.table, _differing(f"SELECT * FROM {one.table}", wanted)))  # noqa: S608
    sums = ", ".join(f"sum({value.format(row='m')})" for value in _SENDER.values())
    named = " UNION ALL ".join(
        f"SELECT {one} AS origin, verdict, label, weak FROM message WHERE {one} IS NOT NULL"  # noqa: S608
        for one in ("sender", "list")
    )
    wanted = f"SELECT origin, {sums} FROM ({named}) AS m GROUP BY origin"  # noqa: S608
    kept = f"SELECT id, {', '.join(_SENDER)} FROM sender WHERE messages <> 0"  # noqa: S608
    return [*found, ("sender", _differing(kept, wanted))]


def _differing(kept: str, wanted: str) -> str:
    return f"SELECT * FROM ({kept} EXCEPT {wanted}) UNION ALL SELECT * FROM ({wanted} EXCEPT {kept})"  # noqa: S608
