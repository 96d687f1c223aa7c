"""The tables of the ledger, and how a ledger of an earlier version becomes one of this version.

`token` is the dictionary: the text of each token, and the id by which messages keep it. `count` holds the counts of
each id, and is derived, as is `total`: each is a sum over the learned messages and the `import`s, and `verify`
computes it again. File names are blobs, since a Maildir's names may be any bytes.

An import has a row in `message` for its name in the journal, without label or tokens; its digest is the import's.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

from spamnb.errors import LedgerError

# Step n makes version n + 1 out of version n. Steps are only ever added.
_STEPS = (
    """
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        summary TEXT NOT NULL,
        seen_at REAL NOT NULL,
        judged_at REAL, verdict TEXT, probability REAL,
        label INTEGER CHECK (label IN (0, 1)), learned_at REAL, learned_why TEXT,
        tokenizer INTEGER, tokens BLOB,
        CHECK (label IS NULL OR tokens IS NOT NULL)
    );
    CREATE INDEX message_learned ON message (learned_at) WHERE label IS NOT NULL;
    CREATE INDEX message_judged ON message (judged_at) WHERE judged_at IS NOT NULL;
    CREATE TABLE token (
        id INTEGER PRIMARY KEY,
        text TEXT NOT NULL UNIQUE,
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL,
        ham_occurrences INTEGER NOT NULL, spam_occurrences INTEGER NOT NULL
    );
    CREATE TABLE total (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL,
        ham_token_messages INTEGER NOT NULL, spam_token_messages INTEGER NOT NULL,
        ham_occurrences INTEGER NOT NULL, spam_occurrences INTEGER NOT NULL,
        vocabulary INTEGER NOT NULL
    );
    INSERT INTO total VALUES (1, 0, 0, 0, 0, 0, 0, 0);
    CREATE TABLE mailbox (
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        started_at REAL
    );
    CREATE TABLE folder (
        id INTEGER PRIMARY KEY,
        mailbox INTEGER NOT NULL REFERENCES mailbox,
        name TEXT NOT NULL,
        UNIQUE (mailbox, name)
    );
    CREATE TABLE file (
        folder INTEGER NOT NULL REFERENCES folder,
        base BLOB NOT NULL,
        message INTEGER NOT NULL REFERENCES message,
        origin TEXT NOT NULL,
        content BLOB NOT NULL,
        flags TEXT NOT NULL,
        since REAL NOT NULL,
        gone_at REAL,
        PRIMARY KEY (folder, base)
    ) WITHOUT ROWID;
    CREATE INDEX file_message ON file (message);
    CREATE TABLE action (
        id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        message INTEGER NOT NULL REFERENCES message,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        why TEXT NOT NULL,
        before INTEGER, after INTEGER,
        source INTEGER REFERENCES folder, source_base BLOB,
        destination INTEGER REFERENCES folder, destination_base BLOB
    );
    CREATE INDEX action_message ON action (message);
    CREATE INDEX action_open ON action (state) WHERE state = 'intent';
    CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    # Nothing that version 1 knows is changed: a service that still runs with the former program goes on rightly.
    """
    CREATE TABLE import (
        action INTEGER PRIMARY KEY REFERENCES action,
        message INTEGER NOT NULL REFERENCES message,
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL,
        tokens BLOB NOT NULL
    );
    """,
    # Each text is kept once, not in a table and its index: a third of the file. A service that still runs with the
    # former program finds no counts any more: it ends, and the unit starts the new one.
    """
    ALTER TABLE token RENAME TO former;
    CREATE TABLE token (text TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE count (
        token INTEGER PRIMARY KEY,
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL,
        ham_occurrences INTEGER NOT NULL, spam_occurrences INTEGER NOT NULL
    );
    INSERT INTO token SELECT text, id FROM former ORDER BY text;
    INSERT INTO count
        SELECT id, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM former ORDER BY id;
    DROP TABLE former;
    """,
)

# What each step would have made, as far as it is read: a ledger that is only looked at is not changed.
_VIEWS = (
    "",
    """
    CREATE TEMP VIEW import AS SELECT 0 AS action, 0 AS message, 0 AS ham_messages, 0 AS spam_messages, x'' AS tokens
        WHERE false;
    """,
    """
    CREATE TEMP VIEW token AS SELECT text, id FROM main.token;
    CREATE TEMP VIEW count AS
        SELECT id AS token, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM main.token;
    """,
)

VERSION = len(_STEPS)
APPLICATION_ID = 0x73706E62  # "spnb": what file(1) and SQLite call a file format's mark


@contextlib.contextmanager
def moment(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is read inside is of one moment: another process may be making or upgrading the ledger."""
    connection.execute("BEGIN")
    yield
    connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: str) -> None:
    """Raise LedgerError for a database of another program, or of a later version; writes nothing.

    To be asked in one moment.
    """
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    version = version_of(connection)
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (tables or mark):
        raise LedgerError(f"{path} is a database of another program: set `ledger` in the configuration to another path")
    if version > VERSION:
        raise LedgerError(
            f"{path} was written by a later spamnb (its version is {version}, this one knows up to {VERSION}):"
            " upgrade spamnb"
        )


def migrate(connection: sqlite3.Connection, prepare: Callable[[], None]) -> bool:
    """Bring a ledger to this version in one transaction; make a new one where there is none.

    `prepare` is called before anything of an earlier version is changed, when nobody else can write: a second
    process that wants to upgrade waits, and finds it done. Returns whether it was an earlier version.
    """
    if version_of(connection) >= VERSION:
        return False
    connection.execute("BEGIN IMMEDIATE")
    former = version_of(connection)  # another process may have been first
    if 0 < former < VERSION:
        prepare()
    for script in _STEPS[former:]:
        _run(connection, script)
    if former < VERSION:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    return 0 < former < VERSION


def view(connection: sqlite3.Connection) -> int:
    """Let a ledger of an earlier version, which is only read, be read as one of this version; the one it is of.

    To be asked in one moment.
    """
    version = version_of(connection)
    for script in _VIEWS[version:]:
        _run(connection, script)
    return version


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):  # one by one: executescript would commit first
        connection.execute(statement)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a ledger; 0 for a new file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
