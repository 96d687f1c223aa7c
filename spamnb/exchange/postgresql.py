"""The log in PostgreSQL. Nothing else in the program knows psycopg.

No wait for an answer is longer than some seconds, whatever the cause. A server that is stopped (SIGSTOP) closes no
connection, nor does a network that drops all packets, and then no time-out of the server ends. The server ends the
session of a host that is cut off inside a transaction, so that it holds its account no longer than that.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from selectors import DefaultSelector
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import Ready

from spamnb.base.errors import ExchangeAwayError, ExchangeError
from spamnb.base.wording import escaped
from spamnb.exchange.log_schema import STEPS, VERSION
from spamnb.exchange.port import LogAccount, LogRow
from spamnb.exchange.row_form import COLUMNS, FORGOTTEN, SELECTED, Written, read, written
from spamnb.ledger.lessons.port import LessonCopy

_T = TypeVar("_T")
_CONNECT_SECONDS = 5  # the end of a service waits at most this long
_SILENT_SECONDS = 15.0  # without an answer; longer than the server's own limits below
_LOOK_SECONDS = 0.2  # between two checks that an answer is still wanted
_UPGRADE = "SELECT pg_advisory_xact_lock(7598543902)"  # a number of our own: "snb log" on a telephone's keys
# With `synchronous_commit = off`, a reply would promise a row that a crash may still lose. Its number would then be
# used again, and hosts would miss another row.
_SESSION = """
    SELECT set_config('statement_timeout', '10s', false), set_config('lock_timeout', '5s', false),
        set_config('idle_in_transaction_session_timeout', '10s', false),
        CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"""
_LOCKED = "SELECT id, seq FROM account WHERE name = %s FOR UPDATE"
_SEND = f"""
    INSERT INTO lesson AS l (account, {COLUMNS})
    SELECT %(account)s, %(last)s + row, digest, nullif(label, {FORGOTTEN}), weak, at, how, why, %(host)s, tokenizer,
        CASE WHEN tokens <> '' THEN tokens
            ELSE (SELECT o.tokens FROM lesson AS o WHERE o.account = %(account)s AND o.digest = sent.digest) END,
        relations, summary
    FROM unnest(%(digest)b::bytea[], %(label)b::smallint[], %(weak)b::boolean[], %(at)b::float8[], %(how)b::text[],
        %(why)b::text[], %(tokenizer)b::smallint[], %(tokens)b::bytea[], %(relations)b::bytea[], %(summary)b::text[])
        WITH ORDINALITY
        AS sent (digest, label, weak, at, how, why, tokenizer, tokens, relations, summary, row)
    ON CONFLICT (account, digest) DO UPDATE SET
        (seq, label, weak, at, how, why, host) = (excluded.seq, excluded.label, excluded.weak, excluded.at,
        excluded.how, excluded.why, excluded.host)
        WHERE l.seq <= %(received)s OR (l.weak AND NOT excluded.weak) OR (l.weak = excluded.weak AND excluded.at > l.at)
    RETURNING seq"""  # noqa: S608 - no text from outside
# Never in the future: if a host's clock is ahead, ledgers made until that time would be removed.
_FORGET = "UPDATE account SET forgotten_at = least(%s, extract(epoch FROM clock_timestamp())::float8) WHERE id = %s"
# As JSON in both directions: for 5,000 accounts this process takes 6 ms; for an array and rows, by psycopg's Python,
# 26.
_ACCOUNTS = (
    "SELECT json_object_agg(name, json_build_array(seq,"
    " CASE WHEN forgotten_at > '-infinity' AND forgotten_at < 'infinity' THEN forgotten_at END)) FROM account"
    " WHERE name IN (SELECT json_array_elements_text(%s::json))"
)
# The account's id as a value, not by a join: the join reads and sorts all rows above the number, which takes 2.3 ms
# instead of 0.2 for the first 50 of 700.
_OF_ACCOUNT = "account = (SELECT id FROM account WHERE name = %s)"
_HAS = f"SELECT digest FROM lesson WHERE {_OF_ACCOUNT} AND digest = ANY(%b::bytea[])"  # noqa: S608
_RECEIVE = f"SELECT {SELECTED} FROM lesson WHERE {_OF_ACCOUNT} AND seq > %s ORDER BY seq LIMIT %s"  # noqa: S608


class PostgresLog:
    """The log in the database of this connection string (libpq's). give_up: tells if an answer is no longer wanted.

    Use it in one thread. Raises ExchangeAwayError if it cannot be reached, even at the start, and ExchangeError.
    """

    def __init__(self, database: str, give_up: Callable[[], bool] = lambda: False) -> None:
        self._db = _opened(database, give_up)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def identity(self) -> str:
        """Return which log this is. Raises ExchangeError if another version has made its tables."""
        with _plain_faults():
            found = self._all("SELECT version, made::text FROM spamnb LIMIT 2")
        if len(found) != 1:
            raise ExchangeError("the log does not say which one it is (table spamnb): restore it from a copy")
        version, made = found[0]
        _check_version(version)
        return str(made)

    def has(self, account: str, digests: Sequence[bytes]) -> set[bytes]:
        """Return the messages, of the given ones, that have a row in the log."""
        with _plain_faults():
            return {bytes(digest) for (digest,) in self._all(_HAS, account, list(digests))}

    def send(self, account: str, received: int, host: str, lessons: Sequence[LessonCopy]) -> None:
        """Write the lessons of an account that this host has learned: all of them, or none."""
        if not lessons:
            return
        columns = zip(Written._fields, map(list, zip(*map(written, lessons), strict=True)), strict=True)
        with _plain_faults(), self._db.transaction():
            id_, last = self._locked(account)
            values = {"account": id_, "last": last, "received": received, "host": escaped(host), **dict(columns)}
            numbers = self._db.execute(_SEND, values).fetchall()
            if numbers:
                self._db.execute("UPDATE account SET seq = %s WHERE id = %s", (max(numbers)[0], id_))

    def receive(self, account: str, since: int, most: int) -> list[LogRow]:
        """Return the first rows above a number, at most `most`, in the order of their numbers."""
        with _plain_faults():
            rows = self._all(_RECEIVE, account, since, most)
        return [read(account, row) for row in rows]

    def accounts(self, names: Collection[str]) -> dict[str, LogAccount]:
        """Return the accounts with these names; a name without an account is left out."""
        with _plain_faults():
            (found,) = self._all(_ACCOUNTS, json.dumps(list(names)))[0]
        return {name: LogAccount(*account) for name, account in (found or {}).items()}

    def forget(self, account: str, at: float) -> None:
        """Delete the rows of an account, and keep the time of that."""
        with _plain_faults(), self._db.transaction():
            id_, _ = self._locked(account)
            self._db.execute("DELETE FROM lesson WHERE account = %s", (id_,))
            self._db.execute(_FORGET, (at, id_))

    def _locked(self, account: str) -> tuple[int, int]:
        """Return the id of an account, made if it is new, and its last number. Nobody else may send in the meantime.

        It looks for the account first: an INSERT that meets a row still uses up a number of its sequence.
        """
        row = self._db.execute(_LOCKED, (account,)).fetchone()
        if row is None:
            self._db.execute("INSERT INTO account (name) VALUES (%s) ON CONFLICT DO NOTHING", (account,))
            row = self._db.execute(_LOCKED, (account,)).fetchone()
        if row is None:
            raise ExchangeAwayError("another host is creating this account: try again")
        return row[0], row[1]

    def _all(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, parameters, binary=True).fetchall()


def upgrade(database: str) -> tuple[int, int]:
    """Create the tables of the log, or bring them to this version. Returns the versions before (0: none) and after.

    Raises as `PostgresLog` does.
    """
    db = _opened(database, lambda: False)
    try:
        with _plain_faults(), db.transaction():
            db.execute(_UPGRADE)  # one host at a time
            row = db.execute("SELECT to_regclass('spamnb') IS NOT NULL").fetchone()
            is_there = row is not None and row[0]
            found = db.execute("SELECT version FROM spamnb").fetchone() if is_there else None
            before = 0 if found is None else int(found[0])
            if before > VERSION:
                _check_version(before)
            for step in STEPS[before:]:
                for statement in step.split(";"):
                    db.execute(statement)
            return before, VERSION
    finally:
        db.close()


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that stops waiting for an answer after some seconds, or if nobody wants it any longer."""

    give_up: Callable[[], bool] = staticmethod(lambda: False)

    def wait(self, gen: PQGen[_T], *_: Any, **__: Any) -> _T:
        """Do psycopg's work to the end. After a time-out the work cannot go on: the connection is closed."""
        try:
            wanted = next(gen)
            until = monotonic() + _SILENT_SECONDS
            with DefaultSelector() as selector:
                while True:
                    selector.register(self.pgconn.socket, wanted)
                    found = selector.select(_LOOK_SECONDS)
                    selector.unregister(self.pgconn.socket)
                    if found:
                        wanted = gen.send(Ready(found[0][1]))
                        until = monotonic() + _SILENT_SECONDS
                    elif monotonic() > until or self.give_up():
                        raise ExchangeAwayError(f"the database gives no answer for {_SILENT_SECONDS:.0f} seconds")
        except StopIteration as end:
            result: _T = end.value
            return result
        except psycopg.Error:
            raise
        except BaseException:
            self.close()
            raise


def _opened(database: str, give_up: Callable[[], bool]) -> _Connection:
    try:
        given = conninfo_to_dict(database)
    except psycopg.Error as fault:  # its words hold pieces of the string, perhaps of a password
        step = "write it as docs/exchange.md has it, and a password into a file"
        raise ExchangeError(f"exchange.database is not a connection string: {step}") from fault
    with _plain_faults():
        usual: dict[str, str | int] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "spamnb",
            "client_encoding": "UTF8",
        }
        more = {name: value for name, value in usual.items() if name not in given}
        # A prepared statement keeps the plan that was right for small tables. With it, a question about 5,000 accounts
        # takes 3,400 ms until PostgreSQL counts the rows again; with a new plan it takes 6.
        db = _Connection.connect(make_conninfo(database, **more), autocommit=True, prepare_threshold=None)
        try:
            db.give_up = give_up
            db.execute(_SESSION)
        except BaseException:
            db.close()
            raise
    return db


def _check_version(version: int) -> None:
    if version > VERSION:
        raise ExchangeError(
            f"the log was upgraded by a later spamnb (its version is {version}, this one knows up to {VERSION}):"
            " upgrade spamnb on this host; what it learns in the meantime is sent then"
        )
    if version < VERSION:
        raise ExchangeError(
            f"the log has version {version}, and this spamnb wants {VERSION}: spamnb exchange --upgrade"
        )


@contextmanager
def _plain_faults() -> Iterator[None]:
    """Turn psycopg's errors into ExchangeError, in words, without the values of the statement: those hold mail."""
    try:
        yield
    except psycopg.errors.UndefinedTable as fault:
        raise ExchangeError("the database has no tables of spamnb, make them: spamnb exchange --upgrade") from fault
    except psycopg.errors.InsufficientPrivilege as fault:
        raise ExchangeError(f"{_said(fault)}: grant that to the role of this host") from fault
    except psycopg.errors.NotNullViolation as fault:
        raise ExchangeError("the log no longer has a message's row, whose tokens it needs: try again") from fault
    except psycopg.errors.ReadOnlySqlTransaction as fault:
        raise ExchangeAwayError("the database is read-only, like a standby: name the one that can write") from fault
    except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as fault:
        raise ExchangeAwayError(f"the database is away: {_said(fault)}") from fault
    except psycopg.Error as fault:
        raise ExchangeError(f"the database refuses: {_said(fault)}") from fault


def _said(fault: psycopg.Error) -> str:
    """Return the text of a fault, without its details."""
    return escaped(fault.diag.message_primary or " ".join((str(fault).splitlines() or ["no reason"])[:1]))[:300]
