"""The log in PostgreSQL: its tables, refused rows, and a server that is away, silent or killed."""

import signal
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import psycopg
import pytest

from spamnb.base.errors import ExchangeAwayError, ExchangeError
from spamnb.base.label import How, Label
from spamnb.exchange import connecting, log_schema, postgresql
from spamnb.exchange.connecting import connected, upgrade
from spamnb.exchange.port import LogAccount
from spamnb.exchange.postgresql import PostgresLog
from tests.exchange.cluster import Cluster, made_log, run, why_not
from tests.exchange.test_log import digest, lesson
from tests.patience import PATIENCE
from tests.table import over_rows

pytestmark = pytest.mark.thorough  # a database for each


@pytest.fixture
def log(database: str) -> Iterator[PostgresLog]:
    """A log with its tables."""
    with connected(database) as opened:
        yield opened


def fault_of(database: str, ask: Callable[[Any], object]) -> str:
    """Return the error text of an act that must fail."""
    with connected(database) as log, pytest.raises(ExchangeError) as raised:
        ask(log)
    return str(raised.value)


# --- tables -------------------------------------------------------------------------------------------------------


def test_tables_are_made_once(postgres: Cluster) -> None:
    """Several hosts may make the tables at once: one makes them, and the others find them."""
    database = postgres.database()
    with ThreadPoolExecutor(4) as hosts:
        made = list(hosts.map(upgrade, [database] * 4))
    assert sorted(made) == [(0, log_schema.VERSION), *[(log_schema.VERSION, log_schema.VERSION)] * 3]
    before = run(database, "SELECT version, made FROM spamnb")
    assert upgrade(database) == (log_schema.VERSION, log_schema.VERSION)
    assert run(database, "SELECT version, made FROM spamnb") == before
    assert len(before) == 1


def test_a_step_is_added(database: str) -> None:
    """A later version's step upgrades the tables; hosts of the earlier version then refuse the log."""
    today, later = log_schema.VERSION, log_schema.VERSION + 1
    step = f"ALTER TABLE lesson ADD more text; UPDATE spamnb SET version = {later}"
    with connected(database) as log:
        log.send("anna", 0, "mx1", [lesson(1)])
        made = log.identity()
        with mock.patch.multiple(postgresql, STEPS=(*log_schema.STEPS, step), VERSION=later):
            wants = f"version {today}, and this spamnb wants {later}: spamnb exchange --upgrade"
            with pytest.raises(ExchangeError, match=wants):
                log.identity()
            assert upgrade(database) == (today, later)
            assert log.identity() == made
            log.send("anna", 0, "mx1", [lesson(2)])
        with pytest.raises(ExchangeError, match=r"by a later spamnb .* upgrade spamnb on this host"):
            log.identity()
    with pytest.raises(ExchangeError, match="later spamnb"):
        upgrade(database)


def test_a_step_that_fails_changes_nothing(postgres: Cluster) -> None:
    """Tables are made completely or not at all."""
    database = postgres.database()
    steps = (*log_schema.STEPS, "SELECT no_such_thing")
    with mock.patch.object(postgresql, "STEPS", steps), pytest.raises(ExchangeError):
        upgrade(database)
    assert run(database, "SELECT relname FROM pg_class WHERE relname IN ('account', 'lesson', 'spamnb')") == []


def test_ways_of_learning_are_of_a_version() -> None:
    """A new value of `How` needs a new version of the log; hosts that do not know it refuse the log."""
    sent = [str(how) for how in How if how not in ("maildir", "spamd", "pipe", "import")]
    assert (log_schema.VERSION, sent) == (2, ["move", "keyword", "kept", "silence", "seen", "hand", "tell"])


def test_without_tables(postgres: Cluster) -> None:
    """For an empty database the error says how to make the tables."""
    assert "spamnb exchange --upgrade" in fault_of(postgres.database(), lambda log: log.identity())


def test_an_account_that_is_sent_again_takes_no_number(log: PostgresLog, database: str) -> None:
    """Sending to an existing account uses up no account number."""
    for at in range(5):
        log.send("anna", at, "mx1", [lesson(1, at=float(at))])
    log.send("bert", 0, "mx1", [lesson(1)])
    assert run(database, "SELECT name, id FROM account ORDER BY id") == [("anna", 1), ("bert", 2)]


def test_two_hosts_send_at_once(database: str) -> None:
    """Places are in the order in which rows become visible, even if several hosts send at once."""

    def send(host: int) -> None:
        with connected(database) as log:
            for number in range(30):
                log.send("anna", 0, f"mx{host}", [lesson(1 + (number + host) % 20, at=float(number))])

    with ThreadPoolExecutor(4) as hosts:
        sending = [hosts.submit(send, host) for host in range(4)]
        with connected(database) as log:
            seen, rows = 0, {}
            while not all(each.done() for each in sending) or log.receive("anna", seen, 1):
                for row in log.receive("anna", seen, 7):
                    seen = row.number
                    rows[row.copy.lesson.digest] = row
            for each in sending:
                each.result()
            assert sorted(rows.values()) == log.receive("anna", 0, 1000)
            assert log.accounts(["anna"]) == {"anna": LogAccount(seen)}


# --- what other hosts have written --------------------------------------------------------------------------------


_DAMAGE = (
    r"tokens = '\x00'; tokens = substr(tokens, 1, length(tokens) - 3); relations = '\x01'; label = 7; at = 'NaN'; "
    "at = '-Infinity'; at = 1e12; how = 'import'; how = 'by magic'; digest = ''; tokenizer = -1"
)


@over_rows("change", _DAMAGE.split("; "))
def test_damaged_rows_are_refused(log: PostgresLog, database: str, change: str) -> None:
    """A row that no host can have written is refused; the error names its place, its account and the next step."""
    run(database, "DELETE FROM account")
    log.send("anna", 0, "mx1", [lesson(1), lesson(2)])
    run(database, f"UPDATE lesson SET {change} WHERE seq = 2")
    with pytest.raises(ExchangeError, match=r"row 2 of anna in the log is damaged \(.+\): delete that row"):
        log.receive("anna", 0, 50)
    assert [row.number for row in log.receive("anna", 0, 1)] == [1]


@over_rows(
    "tokens",
    [
        *b"\x01a 0\x01a 70000:from\x01a x\x01a 1\x01a\x00 1\x01\xff 1\x01\xed\xa0\x80".split(),
        b"1\x01" + b"a" * 1001,
        b"1" + b"".join(b"\x01%d" % number for number in range(70_000)),
        b"1" * 100_000,
        b"1" + b"\x01" * 9_000_000,
    ],
)
def test_tokens_that_are_none_are_refused(log: PostgresLog, database: str, tokens: bytes) -> None:
    """Tokens that no ledger can hold are refused, as are tokens that unpack to more than a message may have."""
    log.send("anna", 0, "mx1", [lesson(1)])
    run(database, f"UPDATE lesson SET tokens = '\\x{zlib.compress(tokens).hex()}'")
    with pytest.raises(ExchangeError, match="row 1 of anna"):
        log.receive("anna", 0, 50)


def test_texts_of_other_hosts_are_shown_as_text(log: PostgresLog, database: str) -> None:
    """Texts of a row reach a terminal printable, and no longer than a line."""
    log.send("anna", 0, "mx\x1b[2J", [lesson(1)])
    run(database, r"UPDATE lesson SET why = E'\x1b[2J', summary = repeat('x', 100000) || E'\n'")
    (row,) = log.receive("anna", 0, 50)
    assert (row.host, row.copy.lesson.why) == (r"mx\x1b[2J", r"\x1b[2J")
    assert len(row.copy.lesson.summary) == 1000


def test_what_is_no_time_forgets_nobody(log: PostgresLog, database: str) -> None:
    """If another program has written an impossible time of forgetting, the user does not count as forgotten."""
    log.forget("anna", 1.0)
    for wrong in ("NaN", "Infinity", "-Infinity"):
        run(database, f"UPDATE account SET forgotten_at = '{wrong}'")
        assert log.accounts(["anna"]) == {"anna": LogAccount(0, None)}


@pytest.mark.parametrize("change", ["DELETE FROM spamnb", "INSERT INTO spamnb SELECT * FROM spamnb"])
def test_a_log_that_does_not_say_which_it_is(database: str, change: str) -> None:
    """A log with no identity, or with two, is refused."""
    run(database, change)
    assert "does not say which one it is" in fault_of(database, lambda log: log.identity())


def test_a_row_of_any_size(log: PostgresLog, database: str) -> None:
    """A row larger than any lesson is refused, and no more of it is fetched than a lesson can have."""
    log.send("anna", 0, "mx1", [lesson(1)])
    run(database, "UPDATE lesson SET summary = repeat('x', 9000000), why = summary, host = summary")
    assert len(log.receive("anna", 0, 50)) == 1
    run(database, "UPDATE lesson SET tokens = tokens || convert_to(repeat('x', 9000000), 'UTF8')")
    ((*_, tokens, _, summary),) = log._all(postgresql._RECEIVE, "anna", 0, 50)
    assert (len(tokens), len(summary)) == (1 << 20, 1000)
    with pytest.raises(ExchangeError, match=r"too many"):
        log.receive("anna", 0, 50)


def test_faults_hold_no_mail(database: str) -> None:
    """The error for a row that the database refuses quotes nothing of that row."""
    run(database, "ALTER TABLE lesson ADD CONSTRAINT short CHECK (length(summary) < 3)")
    with connected(database) as log, pytest.raises(ExchangeError) as raised:
        log.send("anna", 0, "mx1", [lesson(1)])
    assert "short" in str(raised.value)
    assert "message 1" not in str(raised.value)


def test_rights_that_are_missing(postgres: Cluster, database: str) -> None:
    """If the role may not read or write, the error names the missing right."""
    run(database, "DROP ROLE IF EXISTS mx9", "CREATE ROLE mx9 LOGIN")
    of_host = database.replace("user=postgres", "user=mx9")
    assert "grant that to the role" in fault_of(of_host, lambda log: log.identity())
    run(database, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO mx9")
    assert "grant that" in fault_of(of_host, lambda log: log.send("anna", 0, "mx9", [lesson(1)]))
    run(database, "DROP OWNED BY mx9", "DROP ROLE mx9")


def test_a_standby_is_sent_nothing(database: str) -> None:
    """For a host that sends, a read-only database is away."""
    run(database, "ALTER DATABASE " + database.rpartition("=")[2] + " SET default_transaction_read_only = on")
    said = fault_of(database, lambda log: log.send("anna", 0, "mx1", [lesson(1)]))
    assert "read-only" in said


# --- away, silent, killed -----------------------------------------------------------------------------------------


def test_nobody_is_there() -> None:
    """The error for an unreachable database, or for an invalid connection string, comes at once and has the reason."""
    if why := why_not():
        pytest.skip(why)
    with pytest.raises(ExchangeAwayError, match=r"the database is away: .*No such file"):
        connected("host=/nowhere dbname=x")
    for wrong in ("host=/nowhere password=my secret", "postgresql://anna:secret@[db/log", "password='secret"):
        with pytest.raises(ExchangeError, match=r"exchange\.database is not a connection string") as raised:
            connected(wrong)
        assert "secret" not in str(raised.value)
    with pytest.raises(ExchangeAwayError, match="service"):
        connected("service=no_such_service_of_spamnb")


def test_without_psycopg() -> None:
    """If psycopg is not installed, the error says how to install it."""
    with mock.patch.dict("sys.modules", {"spamnb.exchange.postgresql": None}):
        for ask in (connecting.connected, connecting.upgrade):
            with pytest.raises(ExchangeError, match="apt-get install python3-psycopg"):
                ask("host=/nowhere")


def test_a_server_that_is_killed(own: Cluster) -> None:
    """If the server is killed, the call fails; after its return the log still has all that was sent before."""
    database = made_log(own)
    with connected(database) as log:
        log.send("anna", 0, "mx1", [lesson(1)])
        own.kill()
        with pytest.raises(ExchangeAwayError, match="away"):
            log.receive("anna", 0, 50)
        with pytest.raises(ExchangeAwayError, match="away"):
            log.accounts(["anna"])
    with pytest.raises(ExchangeAwayError):
        connected(database)
    own.start()
    with connected(database) as log:
        assert [row.copy.lesson.digest for row in log.receive("anna", 0, 50)] == [digest(1)]


def test_a_silent_server(own: Cluster) -> None:
    """A stopped server closes no connection; no call waits for it longer than some seconds."""
    database = made_log(own)
    stopping = False
    with (
        mock.patch.object(postgresql, "_SILENT_SECONDS", 0.5),
        mock.patch.object(postgresql, "_CONNECT_SECONDS", 2),
        connected(database, lambda: stopping) as log,
    ):
        own.signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(ExchangeAwayError, match="no answer"):
            log.send("anna", 0, "mx1", [lesson(1)])
        with pytest.raises(ExchangeAwayError):
            log.identity()
        with pytest.raises(ExchangeAwayError, match="timeout"):
            connected(database)
        assert time.monotonic() - began < PATIENCE
        own.signal(signal.SIGCONT)
    with (
        mock.patch.object(postgresql, "_SILENT_SECONDS", 10 * PATIENCE),
        connected(database, lambda: stopping) as log,
    ):
        assert log.receive("anna", 0, 50) == []
        own.signal(signal.SIGSTOP)
        stopping = True
        began = time.monotonic()
        with pytest.raises(ExchangeAwayError):
            log.identity()
        assert time.monotonic() - began < PATIENCE, "who ends waits for nothing"
        own.signal(signal.SIGCONT)


def test_a_host_that_is_cut_off_holds_nobody_up(database: str) -> None:
    """A host that falls silent inside a transaction loses its connection, so others can send."""
    session = postgresql._SESSION.replace("session_timeout', '10s'", "session_timeout', '300ms'")
    with (
        mock.patch.object(postgresql, "_SESSION", session),
        connected(database) as cut_off,
        connected(database) as other,
    ):
        cut_off._db.execute("BEGIN")
        cut_off._locked("anna")
        other.send("anna", 0, "mx2", [lesson(1, Label.SPAM)])
        assert len(other.receive("anna", 0, 50)) == 1
        with pytest.raises(ExchangeAwayError):
            cut_off.receive("anna", 0, 50)


def test_who_waits_too_long_for_another_host(database: str) -> None:
    """A call waits only some seconds for an account that another session holds."""
    session = postgresql._SESSION.replace("'lock_timeout', '5s'", "'lock_timeout', '200ms'")
    with mock.patch.object(postgresql, "_SESSION", session), connected(database) as log:
        log.send("anna", 0, "mx1", [lesson(1)])
        with psycopg.connect(database) as holder:
            holder.execute("SELECT * FROM account FOR UPDATE")
            with pytest.raises(ExchangeAwayError, match="lock"):
                log.send("anna", 0, "mx1", [lesson(2)])
        log.send("anna", 0, "mx1", [lesson(2)])
        assert len(log.receive("anna", 0, 50)) == 2


def test_what_was_sent_outlives_a_crash(database: str) -> None:
    """Even if the database answers before its log is on disk, this program waits for the disk."""
    run(database, "ALTER DATABASE " + database.rpartition("=")[2] + " SET synchronous_commit = off")
    with connected(database) as log:
        assert log._db.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_some_rows_are_received_without_reading_the_others(log: PostgresLog, database: str) -> None:
    """To return the next rows the database reads no others, however many there are."""
    log.send("anna", 0, "mx1", [lesson(number) for number in range(250)])
    explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {postgresql._RECEIVE}"
    run(database, "ANALYZE lesson")
    ((plans,),) = log._all(explained, "anna", 20, 5)
    nodes = [plans[0]["Plan"]]
    for node in nodes:
        nodes += node.get("Plans", [])
    assert {node["Actual Rows"] for node in nodes} <= {1, 5}


def test_no_plan_outlives_what_it_was_made_for(log: PostgresLog) -> None:
    """A connection that asked often while the tables were small does not keep the plan for small tables."""
    for _ in range(12):
        log.accounts(["anna"])
        log.receive("anna", 0, 1)
        log.has("anna", [b"x"])
    assert log._all("SELECT count(*) FROM pg_prepared_statements") == [(0,)]


def test_nobody_is_forgotten_in_the_future(log: PostgresLog) -> None:
    """If a host's clock is ahead, its user is forgotten now, and lessons learned later stay."""
    log.forget("anna", time.time() + 1e6)
    at = log.accounts(["anna"])["anna"].forgotten_at
    assert at is not None
    assert abs(at - time.time()) < 60
