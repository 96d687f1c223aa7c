"""The tables of the ledger, and how a ledger of an earlier version becomes one of this version.

Lessons (`ledger.lessons`): `lesson`, `token`, `counts`, `total`, `import`, `sent`, `recipient`. `token` is the
dictionary: the text of each token, as `lessons.sqlite.kind_codes` writes it, and its id in lessons. Tokens have no
other index. `counts` holds the counts of the ids, 32 ids per row (`count_block`). It is derived, and so is `total`:
each is a sum over the learned messages and the `import`s, and `verify` computes it again. total.last_token: the highest
id that a token has got. total.change: the number of the last change of a lesson or of the imports; lesson.change: the
number of the change that made the lesson. lesson.weak: the label was learned without a person's decision; any decision
replaces it. lesson.takes_back: a value of its learner, not used here. import.takes_back: the same, of the one who has
taken the import back; then this row is left without its tokens. It is NULL while the import counts.
lesson.sender_over_path, sent.answer, recipient.address: hashes by which senders are known (`mail.relations`).
lesson.signed_by: the hash of who answers for the message, if it was signed. A message that the person has sent has a
row in `sent` for each possible answer, or one row with 0; and a row in `recipient` for each recipient.

This host's history (`ledger.history`): all other tables. No statement names tables of both parts. `message` has a row
for each message that was seen, judged or learned, and for each import. label, weak and learned_at repeat its lesson, as
of the last recorded action. File names are blobs, since a Maildir's names may be any bytes.

message.rescued_at: since when a person wants the message out of spam; it is never moved again. message.header_digest:
only Message-ID, Date and From; messages that agree in it may be one message that was changed on its way.

directory: which folder a directory was at the last look; a renamed folder stays the same directory.

file.origin "waiting": the same delivery is in spam; when that one leaves, it is decided what the file means.

file.gone_by: "filter" if the filter itself moved the file away; NULL if another program did, or if it is there.

mailbox.spam_seen_at: when a person has last looked into its spam folder. folder.missing_since: since when it is
missing; its files count as gone after a time. folder.sent_read: its mail was read as mail that the person has sent.

early_verdict: verdicts that were given before their message was delivered; asker: who asked, as text.

lesson.how, action.how, early_verdict.how: `base.label.How`, which statements read; why and asker are only for people.

state: what the ledger remembers of itself and of the service, by name (`history/state.py`).

tally: how often each kind of action was done, up to the action that `State.tallied` names.

trained_file: a file that a message was learned from at the prompt, and its label; the file may no longer exist.

message.sender, message.list: the address in From, and the mailing list, if they are known. `sender` has a row for each,
with the verdicts and labels of its mail. These numbers are sums over `message`; triggers keep them, whatever statement
writes a message, and `verify` computes them again. corrected: as in `history/corrections.py`. The index message_judged
holds everything for the figures of a span of time (`history/figures.py`).

choice: a person's choice on a page, at the prompt or by a move, beside the configuration. kind "allow", "block": the
senders or lists of a pattern (`config/named_senders.py`); "inbox", "newsletters": the same, and where their mail goes;
"ham_cutoff", "spam_cutoff": a number; since version 3 "newcomers_folder", "newsletters_folder": a name, as a pattern.
by: where. An action of kind "chosen" names it, and has its time; no choice is ever changed. A choice is in force if its
action was not undone; for one pattern, the newest of "allow" and "block" and the newest of "inbox" and "newsletters",
and for a cutoff or a folder the newest. To withdraw a choice, undo its action.

action.message: NULL in an action of kind "chosen", which has a choice; except if the choice was made about a message.

action.kind "settled": a person has answered what the message is, and is not asked again. action.answer: the "settled"
action that this one belongs to; that action names itself.

action.goal: the role of the folder to which a verdict has moved the message; NULL for any other action.

action.takes_back: the action that this one undoes. action.owner: the process that carries out an open intent.
action.state "withheld": a judgement whose move was stopped by the circuit breaker or a pause.

A new word of a closed list, here or in `ledger/values.py`, needs a step too: the version before would call it damage. A
later version adds a step to `_STEPS`, changes no existing one, and is tested on a ledger that the version before it has
left (`tests/upgrade`). So the statements are written out here, without text from other modules. Until a writer has made
the step, readers use the ledger without it: `_TO_READ` gives them its new tables, empty, and its new columns.
"""

import contextlib
import functools
import sqlite3
from collections.abc import Callable, Iterator
from itertools import chain

from spamnb.base.errors import LedgerError, LedgerNewerError
from spamnb.ledger.file.parts import newest_of

_LESSONS = """
    CREATE TABLE lesson (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, summary TEXT NOT NULL, change INTEGER NOT NULL UNIQUE,
        label INTEGER CHECK (label IN (0, 1)), weak INTEGER NOT NULL CHECK (weak IN (0, 1)),
        learned_at REAL NOT NULL, why TEXT NOT NULL,
        how TEXT NOT NULL CHECK (how IN ('move', 'keyword', 'kept', 'silence', 'seen', 'hand', 'tell', 'import')),
        takes_back INTEGER,
        tokenizer INTEGER NOT NULL, tokens BLOB NOT NULL, sender_over_path INTEGER
    );
    CREATE INDEX lesson_sender ON lesson (sender_over_path, label) WHERE sender_over_path IS NOT NULL AND NOT weak;
    CREATE INDEX lesson_tokenizer ON lesson (tokenizer) WHERE label IS NOT NULL;
    CREATE TABLE token (text TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE counts (block INTEGER PRIMARY KEY, numbers BLOB NOT NULL);
    CREATE TABLE total (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL,
        ham_token_messages INTEGER NOT NULL, spam_token_messages INTEGER NOT NULL,
        ham_occurrences INTEGER NOT NULL, spam_occurrences INTEGER NOT NULL,
        vocabulary INTEGER NOT NULL, change INTEGER NOT NULL, last_token INTEGER NOT NULL
    );
    INSERT INTO total VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    CREATE TABLE sent (digest BLOB NOT NULL, answer INTEGER NOT NULL, PRIMARY KEY (digest, answer)) WITHOUT ROWID;
    CREATE INDEX sent_answer ON sent (answer);
    CREATE TABLE import (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL, summary TEXT NOT NULL, change INTEGER NOT NULL UNIQUE,
        learned_at REAL NOT NULL, why TEXT NOT NULL, takes_back INTEGER,
        ham_messages INTEGER NOT NULL, spam_messages INTEGER NOT NULL, tokens BLOB NOT NULL
    )"""
_HISTORY = """
    CREATE TABLE sender (
        id INTEGER PRIMARY KEY, is_list INTEGER NOT NULL CHECK (is_list IN (0, 1)), name TEXT NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0, judged_ham INTEGER NOT NULL DEFAULT 0,
        judged_unsure INTEGER NOT NULL DEFAULT 0, judged_spam INTEGER NOT NULL DEFAULT 0,
        learned_ham INTEGER NOT NULL DEFAULT 0, learned_spam INTEGER NOT NULL DEFAULT 0,
        corrected INTEGER NOT NULL DEFAULT 0,
        UNIQUE (is_list, name)
    );
    CREATE INDEX sender_messages ON sender (messages);
    CREATE TABLE message (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, header_digest BLOB, summary TEXT NOT NULL,
        judged_at REAL, verdict TEXT, probability REAL, rescued_at REAL,
        label INTEGER CHECK (label IN (0, 1)), weak INTEGER NOT NULL DEFAULT 0 CHECK (weak IN (0, 1)), learned_at REAL,
        sender INTEGER REFERENCES sender, list INTEGER REFERENCES sender
    );
    CREATE INDEX message_sender ON message (sender) WHERE sender IS NOT NULL;
    CREATE INDEX message_list ON message (list) WHERE list IS NOT NULL;
    CREATE INDEX message_header ON message (header_digest) WHERE header_digest IS NOT NULL;
    CREATE INDEX message_judged ON message (judged_at, verdict, probability, label, weak) WHERE judged_at IS NOT NULL;
    CREATE INDEX message_weak ON message (learned_at, label) WHERE weak;
    CREATE TABLE early_verdict (
        digest BLOB PRIMARY KEY, verdict TEXT NOT NULL, probability REAL NOT NULL, log_odds REAL NOT NULL,
        asker TEXT NOT NULL, how TEXT NOT NULL CHECK (how IN ('spamd', 'pipe')), at REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX early_verdict_at ON early_verdict (at);
    CREATE TABLE mailbox (
        id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, started_at REAL, spam_seen_at REAL
    );
    CREATE TABLE folder (
        id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL REFERENCES mailbox, name TEXT NOT NULL,
        missing_since REAL, sent_read INTEGER NOT NULL DEFAULT 0 CHECK (sent_read IN (0, 1)),
        UNIQUE (mailbox, name)
    );
    CREATE TABLE directory (
        device INTEGER NOT NULL, inode INTEGER NOT NULL, folder INTEGER NOT NULL REFERENCES folder,
        PRIMARY KEY (device, inode)
    ) WITHOUT ROWID;
    CREATE TABLE file (
        folder INTEGER NOT NULL REFERENCES folder, base BLOB NOT NULL, message INTEGER NOT NULL REFERENCES message,
        origin TEXT NOT NULL, content BLOB NOT NULL, flags TEXT NOT NULL, since REAL NOT NULL,
        gone_at REAL, gone_by TEXT,
        PRIMARY KEY (folder, base)
    ) WITHOUT ROWID;
    CREATE INDEX file_message ON file (message, since);
    CREATE INDEX file_gone ON file (gone_at) WHERE gone_at IS NOT NULL;
    CREATE INDEX file_waiting ON file (folder) WHERE origin = 'waiting' AND gone_at IS NULL;
    CREATE TABLE trained_directory (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
    CREATE TABLE trained_file (
        directory INTEGER NOT NULL REFERENCES trained_directory, name BLOB NOT NULL,
        message INTEGER NOT NULL REFERENCES message, label INTEGER NOT NULL CHECK (label IN (0, 1)),
        PRIMARY KEY (directory, name)
    ) WITHOUT ROWID;
    CREATE INDEX trained_file_message ON trained_file (message);
    CREATE TABLE choice (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, pattern TEXT, number REAL, by TEXT NOT NULL,
        CHECK ((pattern IS NULL) <> (number IS NULL))
    );
    CREATE TABLE action (
        id INTEGER PRIMARY KEY, at REAL NOT NULL, message INTEGER REFERENCES message,
        choice INTEGER REFERENCES choice, kind TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL,
        how TEXT CHECK (how IS NOT NULL OR verdict IS NULL) CHECK (how IN ('maildir', 'spamd', 'pipe',
            'move', 'keyword', 'kept', 'silence', 'seen', 'hand', 'tell', 'import')),
        takes_back INTEGER REFERENCES action, answer INTEGER REFERENCES action,
        verdict TEXT, probability REAL,
        before INTEGER, before_weak INTEGER, after INTEGER, after_weak INTEGER,
        source INTEGER REFERENCES folder, source_base BLOB,
        destination INTEGER REFERENCES folder, destination_base BLOB,
        owner TEXT,
        CHECK (message IS NOT NULL OR choice IS NOT NULL)
    );
    CREATE INDEX action_message ON action (message);
    CREATE INDEX action_choice ON action (choice) WHERE choice IS NOT NULL;
    CREATE INDEX action_answer ON action (answer) WHERE answer IS NOT NULL;
    CREATE INDEX action_at ON action (at);
    CREATE INDEX action_taken_back ON action (takes_back) WHERE takes_back IS NOT NULL;
    CREATE INDEX action_intent ON action (state) WHERE state = 'intent';
    CREATE INDEX action_withheld ON action (state) WHERE state = 'withheld';
    CREATE INDEX action_kind ON action (kind, at) WHERE kind <> 'judged';
    CREATE TABLE tally (
        kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (kind, first, second)
    ) WITHOUT ROWID;
    CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"""
_COUNTED = """
    UPDATE sender SET messages = messages {sign} 1,
        judged_ham = judged_ham {sign} ({message}.verdict IS 'ham'),
        judged_unsure = judged_unsure {sign} ({message}.verdict IS 'unsure'),
        judged_spam = judged_spam {sign} ({message}.verdict IS 'spam'),
        learned_ham = learned_ham {sign} ({message}.label IS 0),
        learned_spam = learned_spam {sign} ({message}.label IS 1),
        corrected = corrected {sign} (NOT {message}.weak AND ({message}.verdict IS 'spam' AND {message}.label IS 0
            OR {message}.verdict IS 'ham' AND {message}.label IS 1))
    WHERE id IN ({message}.sender, {message}.list);"""
_ADDED, _TAKEN = _COUNTED.format(sign="+", message="new"), _COUNTED.format(sign="-", message="old")
_SENDERS = f"""
    CREATE TRIGGER message_added AFTER INSERT ON message WHEN coalesce(new.sender, new.list) IS NOT NULL
    BEGIN {_ADDED} END;
    CREATE TRIGGER message_changed AFTER UPDATE OF verdict, label, weak, sender, list ON message
    WHEN coalesce(old.sender, old.list, new.sender, new.list) IS NOT NULL
    BEGIN {_TAKEN} {_ADDED} END;
    CREATE TRIGGER message_removed AFTER DELETE ON message WHEN coalesce(old.sender, old.list) IS NOT NULL
    BEGIN {_TAKEN} DELETE FROM sender WHERE id IN (old.sender, old.list) AND messages = 0; END"""  # noqa: S608 - no text from outside
# Weak lessons make a sender known too, and so do the recipients of sent mail, which is read again for that.
_ACQUAINTANCES = """
    DROP INDEX lesson_sender;
    CREATE INDEX lesson_sender ON lesson (sender_over_path, label, weak) WHERE sender_over_path IS NOT NULL;
    CREATE TABLE recipient (
        digest BLOB NOT NULL, address INTEGER NOT NULL, PRIMARY KEY (digest, address)
    ) WITHOUT ROWID;
    CREATE INDEX recipient_address ON recipient (address);
    UPDATE folder SET sent_read = 0"""
# A verdict alone no longer tells to which folder it has led.
_GOALS = """
    ALTER TABLE action ADD COLUMN goal TEXT;
    UPDATE action SET goal = verdict WHERE kind = 'moved' AND takes_back IS NULL"""
# A decision counts for all mail for which the same holder answers. Lessons of before do not say who that is.
_SIGNED = """
    ALTER TABLE lesson ADD COLUMN signed_by INTEGER;
    CREATE INDEX lesson_signed ON lesson (signed_by, label, weak) WHERE signed_by IS NOT NULL"""
_STEPS = (
    f"{_LESSONS};{_HISTORY};{_SENDERS}",
    f"{_ACQUAINTANCES};{_GOALS}",
    _SIGNED,
)  # step n makes version n + 1 out of version n; steps are only ever added
# By version: what the next step adds, and a reader of such a ledger lacks. It is of its connection alone.
_TO_READ = {
    1: """
    CREATE TEMP TABLE recipient (digest BLOB NOT NULL, address INTEGER NOT NULL);
    CREATE TEMP VIEW action AS
        SELECT *, iif(kind = 'moved' AND takes_back IS NULL, verdict, NULL) AS goal FROM main.action""",
    2: "CREATE TEMP VIEW lesson AS SELECT *, NULL AS signed_by FROM main.lesson",
}

_MARK = "INSERT INTO state VALUES ('mark', lower(hex(randomblob(16))))"  # `State.mark`

VERSION = len(_STEPS)
APPLICATION_ID = 0x736E6232  # "snb2": file(1) and SQLite call this a file format's mark
_MODES, _WAL = slice(18, 20), 2  # in a database's first bytes: how it is written and read (the format, section 1.3.4)
_STATISTICS = {"sqlite_stat1", "sqlite_stat4"}


@contextlib.contextmanager
def moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Read everything inside as of one moment: another process may be making the ledger."""
    connection.execute("BEGIN")
    yield
    connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: str) -> None:
    """Raise LedgerError for a database of another program, or of another version; write nothing.

    Call it within `moment`.
    """
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    version = version_of(connection)
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (tables or mark):
        raise LedgerError(f"{path} is a database of another program: set `ledger` in the configuration to another path")
    if version > VERSION:
        copy = newest_of(path, VERSION)
        back = f"or go back to a copy from before: spamnb restore {copy}" if copy else "there is no copy from before it"
        raise LedgerNewerError(
            f"{path} was written by a later spamnb (its version is {version}, this one knows up to {VERSION}):"
            f" upgrade spamnb, {back}"
        )


def differences(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Return what a ledger lacks of the tables and indexes of its version, and its parts that are none of these.

    Another program's trigger or view would change what our statements do. Call it within `moment`.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as new:
        _run_steps(new, 0, version_of(connection))
        wanted = _parts(new)
    found = _parts(connection)
    lacking = [f"its {kind} {name} is not as it should be" for kind, name, *_ in sorted(wanted - found)]
    names = {(kind, name) for kind, name, *_ in wanted}
    foreign = sorted((kind, name) for kind, name, *_ in found if (kind, name) not in names)
    return lacking, [f"the {kind} {name}" for kind, name in foreign]


def _parts(connection: sqlite3.Connection) -> set[tuple[str, str, str, str]]:
    """Return type, name, table and text of each part; without the statistics that SQLite may keep for itself."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    parts = {(str(kind), str(name), str(table), " ".join(str(sql).split())) for kind, name, table, sql in rows}
    return {part for part in parts if part[0] != "table" or part[1] not in _STATISTICS}


def migrate(connection: sqlite3.Connection, copy: Callable[[], object]) -> None:
    """Bring a ledger to this version in one transaction; make a new one if there is none.

    copy: copies the ledger of an earlier version, which nobody else writes at that moment; if it raises, nothing is
    changed.
    """
    if version_of(connection) >= VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    former = version_of(connection)  # another process may have been first
    if 0 < former < VERSION:
        copy()
    _run_steps(connection, former, VERSION)
    if not former:
        connection.execute(_MARK)
    if former < VERSION:
        _name_version(connection)
    connection.execute("COMMIT")


def _name_version(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def new_file() -> bytes:
    """Return the content of a new ledger's file, in WAL mode: to copy it takes a third of the time of making its parts.

    Raises AttributeError if this Python's SQLite cannot give a database as bytes.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        new.deserialize(_unmarked(_STEPS))
        new.execute(_MARK)
        content = bytearray(new.serialize())
    content[_MODES] = _WAL, _WAL
    return bytes(content)


@functools.lru_cache(maxsize=1)
def _unmarked(steps: tuple[str, ...]) -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        _run_steps(new, 0, len(steps))
        _name_version(new)
        return new.serialize()


def adapt_reader(connection: sqlite3.Connection) -> int:
    """Let a connection that only reads work with a ledger of an earlier version. Returns the version of the ledger."""
    version = version_of(connection)
    lacking = [script for step, script in _TO_READ.items() if 0 < version <= step]
    if lacking:
        connection.execute("PRAGMA query_only = OFF")
        for statement in chain.from_iterable(map(_statements, lacking)):
            connection.execute(statement)
        connection.execute("PRAGMA query_only = ON")
    return version


def _run_steps(connection: sqlite3.Connection, former: int, version: int) -> None:
    for script in _STEPS[former:version]:
        for statement in _statements(script):  # one by one: executescript would commit first
            connection.execute(statement)


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; a trigger is one statement, with those inside it."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger; 0 for a new file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
