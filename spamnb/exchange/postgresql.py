"""The log in PostgreSQL. Nothing else of the program knows psycopg.

No answer is waited for longer than some seconds, whatever the matter is: a server that is stopped (SIGSTOP) or behind a
network that drops all packets closes no connection, and no time-out of its own ends. And a host that is cut off in the
middle of a transaction holds its account no longer than that, since the server ends such a session.
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
from spamnb.exchange.port import Account, Told
from spamnb.exchange.row_form import COLUMNS, FORGOTTEN, SELECTED, Written, read, written
from spamnb.ledger.lessons.port import Kept

_T = TypeVar("_T")
_CONNECT_SECONDS = 5  # the end of a service waits as long, at most
_SILENT_SECONDS = 15.0  # without an answer; longer than the server's own limits below
_LOOK_SECONDS = 0.2  # between two looks whether an answer is still wanted
_UPGRADE = "SELECT pg_advisory_xact_lock(7598543902)"  # a number of our own: "snb log" on a telephone's keys
# A reply after `synchronous_commit = off` would say that a row is kept which a crash may lose, and its place is given
# again then, so that hosts would miss another row.
_SESSION = """
    SELECT set_config('statement_timeout', '10s', false), set_config('lock_timeout', '5s', false),
        set_config('idle_in_transaction_session_timeout', '10s', false),
        CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"""
_LOCKED = "SELECT id, seq FROM account WHERE name = %s FOR UPDATE"
_TELL = f"""
    INSERT INTO lesson AS l (account, {COLUMNS})
    SELECT %(account)s, %(last)s + row, digest, nullif(label, {FORGOTTEN}), weak, at, how, why, %(host)s, tokenizer,
        CASE WHEN tokens <> '' THEN tokens
            ELSE (SELECT o.tokens FROM lesson AS o WHERE o.account = %(account)s AND o.digest = told.digest) END,
        relations, summary
    FROM unnest(%(digest)b::bytea[], %(label)b::smallint[], %(weak)b::boolean[], %(at)b::float8[], %(how)b::text[],
        %(why)b::text[], %(tokenizer)b::smallint[], %(tokens)b::bytea[], %(relations)b::bytea[], %(summary)b::text[])
        WITH ORDINALITY
        AS told (digest, label, weak, at, how, why, tokenizer, tokens, relations, summary, row)
    ON CONFLICT (account, digest) DO UPDATE SET
        (seq, label, weak, at, how, why, host) = (excluded.seq, excluded.label, excluded.weak, excluded.at,
        excluded.how, excluded.why, excluded.host)
        WHERE l.seq <= %(heard)s OR (l.weak AND NOT excluded.weak) OR (l.weak = excluded.weak AND excluded.at > l.at)
    RETURNING seq"""  # noqa: S608 - no text from outside
# Never in the future: where the clock of a host is ahead, ledgers would be removed that are made until then.
_FORGET = "UPDATE account SET forgotten_at = least(%s, extract(epoch FROM clock_timestamp())::float8) WHERE id = %s"
# As JSON there and back: for 5,000 accounts this process takes 6 ms; for an array and rows, by psycopg's Python, 26 ms.
_ACCOUNTS = (
    "SELECT json_object_agg(name, json_build_array(seq,"
    " CASE WHEN forgotten_at > '-infinity' AND forgotten_at < 'infinity' THEN forgotten_at END)) FROM account"
    " WHERE name IN (SELECT json_array_elements_text(%s::json))"
)
# The account's number as a value, and not by a join: by that all rows above the place are read and sorted, which takes
# 2.3 ms for the first 50 of 700, and not 0.2.
_OF_ACCOUNT = "account = (SELECT id FROM account WHERE name = %s)"
_HAS = f"SELECT digest FROM lesson WHERE {_OF_ACCOUNT} AND digest = ANY(%b::bytea[])"  # noqa: S608
_HEAR = f"SELECT {SELECTED} FROM lesson WHERE {_OF_ACCOUNT} AND seq > %s ORDER BY seq LIMIT %s"  # noqa: S608


class PostgresLog:
    """The log in the database of this connection string (libpq's). give_up: whether no answer is wanted any more.

    To be used in one thread. Raises ExchangeAwayError where it cannot be reached, also at once, and ExchangeError.
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
        """Which log this is. Raises ExchangeError where its tables are not those of this version."""
        with _plain_faults():
            found = self._all("SELECT version, made::text FROM spamnb LIMIT 2")
        if len(found) != 1:
            raise ExchangeError("the log does not say which one it is (table spamnb): put it back from a copy")
        version, made = found[0]
        _check_version(version)
        return str(made)

    def has(self, account: str, digests: Sequence[bytes]) -> set[bytes]:
        """Those of the messages of which it has a row."""
        with _plain_faults():
            return {bytes(digest) for (digest,) in self._all(_HAS, account, list(digests))}

    def tell(self, account: str, heard: int, host: str, lessons: Sequence[Kept]) -> None:
        """Write the lessons of an account that this host has learned; all of them, or none."""
        if not lessons:
            return
        columns = zip(Written._fields, map(list, zip(*map(written, lessons), strict=True)), strict=True)
        with _plain_faults(), self._db.transaction():
            number, last = self._locked(account)
            values = {"account": number, "last": last, "heard": heard, "host": escaped(host), **dict(columns)}
            places = self._db.execute(_TELL, values).fetchall()
            if places:
                self._db.execute("UPDATE account SET seq = %s WHERE id = %s", (max(places)[0], number))

    def hear(self, account: str, since: int, most: int) -> list[Told]:
        """The first rows above a place, and at most so many, in the order of their places."""
        with _plain_faults():
            rows = self._all(_HEAR, account, since, most)
        return [read(account, row) for row in rows]

    def accounts(self, names: Collection[str]) -> dict[str, Account]:
        """Those of the accounts that there are."""
        with _plain_faults():
            (found,) = self._all(_ACCOUNTS, json.dumps(list(names)))[0]
        return {name: Account(*account) for name, account in (found or {}).items()}

    def forget(self, account: str, at: float) -> None:
        """Delete the rows of an account, and keep when that was."""
        with _plain_faults(), self._db.transaction():
            number, _ = self._locked(account)
            self._db.execute("DELETE FROM lesson WHERE account = %s", (number,))
            self._db.execute(_FORGET, (at, number))

    def _locked(self, account: str) -> tuple[int, int]:
        """The number of an account, which is made where it is new, and its last place; nobody else may tell now.

        It is looked for first: an INSERT that meets a row takes a number of its sequence all the same.
        """
        row = self._db.execute(_LOCKED, (account,)).fetchone()
        if row is None:
            self._db.execute("INSERT INTO account (name) VALUES (%s) ON CONFLICT DO NOTHING", (account,))
            row = self._db.execute(_LOCKED, (account,)).fetchone()
        if row is None:
            raise ExchangeAwayError("the account is not there yet that another host makes: try again")
        return row[0], row[1]

    def _all(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, parameters, binary=True).fetchall()


def upgrade(database: str) -> tuple[int, int]:
    """Make the tables of the log, or bring them to this version. Returns the versions before (0: none) and after.

    Raises as `PostgresLog` does.
    """
    db = _opened(database, lambda: False)
    try:
        with _plain_faults(), db.transaction():
            db.execute(_UPGRADE)  # one host after the other
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
    """A connection that waits for no answer longer than some seconds, and for none that nobody wants any more."""

    give_up: Callable[[], bool] = staticmethod(lambda: False)

    def wait(self, gen: PQGen[_T], *_: Any, **__: Any) -> _T:
        """Do what psycopg does to the end. It can be done no further after a time-out: the connection is closed."""
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
    except psycopg.Error as fault:  # whose words have pieces of it, which may be of a password
        step = "write it as docs/exchange.md has it, and a password into a file"
        raise ExchangeError(f"exchange.database is no connection string: {step}") from fault
    with _plain_faults():
        usual: dict[str, str | int] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "spamnb",
            "client_encoding": "UTF8",
        }
        more = {name: value for name, value in usual.items() if name not in given}
        # A statement that is prepared keeps the plan that was right for small tables: 5,000 accounts are asked about by
        # one within 3,400 ms, until PostgreSQL counts the rows anew, and within 6 by a new plan.
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
            " upgrade spamnb on this host; what it learns meanwhile is told then"
        )
    if version < VERSION:
        raise ExchangeError(
            f"the log has version {version}, and this spamnb wants {VERSION}: spamnb exchange --upgrade"
        )


@contextmanager
def _plain_faults() -> Iterator[None]:
    """What psycopg raises as ExchangeError, in words, without what a statement was given: that holds mail."""
    try:
        yield
    except psycopg.errors.UndefinedTable as fault:
        raise ExchangeError("the database has no tables of spamnb, make them: spamnb exchange --upgrade") from fault
    except psycopg.errors.InsufficientPrivilege as fault:
        raise ExchangeError(f"{_said(fault)}: grant that to the role of this host") from fault
    except psycopg.errors.NotNullViolation as fault:
        raise ExchangeError("the log has no row of a message any more, whose tokens it needs: tell it again") from fault
    except psycopg.errors.ReadOnlySqlTransaction as fault:
        raise ExchangeAwayError("the database only reads, as a standby does: name the one that can write") from fault
    except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as fault:
        raise ExchangeAwayError(f"the database is away: {_said(fault)}") from fault
    except psycopg.Error as fault:
        raise ExchangeError(f"the database refuses: {_said(fault)}") from fault


def _said(fault: psycopg.Error) -> str:
    """What a fault says, without its details."""
    return escaped(fault.diag.message_primary or " ".join((str(fault).splitlines() or ["no reason"])[:1]))[:300]
