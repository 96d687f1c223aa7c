"""The exchange in the service: its thread, real services that share lessons, and that no mail has to wait for it."""

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from spamnb.acts.training import learn
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Exchange
from spamnb.exchange import exchanging, postgresql
from spamnb.exchange.connecting import connected
from spamnb.exchange.exchanging import Exchanging
from spamnb.exchange.port import LessonLog
from spamnb.exchange.rounds import Round
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.service.account import SharingUser
from spamnb.service.measurements import Measurements
from tests.exchange.cluster import Cluster, made_log, run, why_not
from tests.exchange.learned import ALL, by_the_ledger, by_the_log, files_with, letter_with
from tests.exchange.test_log import lesson
from tests.patience import PATIENCE, until
from tests.service.conftest import Site

pytestmark = pytest.mark.thorough  # a database for each

HAM, SPAM = Label


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The ledger of Anna."""
    return tmp_path / "anna" / "ledger"


def teach(path: Path, number: int, label: Label = HAM, at: float = 1.0) -> bytes:
    """Learn a made-up message, and return its identity."""
    reading = read(message(label.word, number))
    with Ledger(str(path)) as ledger:
        learn(ledger, reading, label, "moved to a folder", at, how=How.MOVE)
    return reading.digest


def label(path: Path, digest: bytes) -> Label | None:
    """Return the label of a message."""
    with Ledger(str(path)) as ledger:
        found = ledger.lessons.find(digest)
        return None if found is None else found.label


def accounts(*paths: Path) -> list[SharingUser]:
    """Accounts of users, each with a ledger."""
    return [SharingUser(path.parent.name, str(path), path.parent.name) for path in paths]


@contextmanager
def keeping_up(
    database: str, *kept: SharingUser, host: str = "mx1", running: Callable[[], float] = time.monotonic
) -> Iterator[Measurements]:
    """The thread of a service over these accounts; with its measurements."""
    measurements = Measurements()
    settings = Exchange(database=database, host=host, seconds=0.02)
    with Exchanging(settings, lambda: kept, measurements, lambda account: None, running):
        yield measurements


def all_sent(measured: Measurements) -> None:
    """Wait for the first exchange of all accounts."""
    until(lambda: bool(measured.exchanged_at), "all to be sent")


@contextmanager
def calls(name: str) -> Iterator[mock.Mock]:
    """How often the thread calls a function of its module: `call_count`."""
    with mock.patch.object(exchanging, name, wraps=getattr(exchanging, name)) as counted:
        yield counted


def test_all_accounts_of_two_hosts_are_kept_up(tmp_path: Path, database: str) -> None:
    """Each host learns what the other learns, for each user apart, and makes no ledger that is missing."""
    users = ["anna", "bert", "carl"]
    here, there = ([tmp_path / host / user / "ledger" for user in users] for host in ("one", "two"))
    for path in (*here, *there[:2]):
        with Ledger(str(path)):
            pass
    with keeping_up(database, *accounts(*here)), keeping_up(database, *accounts(*there), host="mx2"):
        learned = [teach(path, number, Label(number % 2)) for number, path in enumerate(here)]
        until(lambda: label(there[0], learned[0]) is HAM, "anna's lesson")
        until(lambda: label(there[1], learned[1]) is SPAM, "bert's lesson")
        assert label(there[1], learned[0]) is None
        changed = teach(there[0], 7, SPAM)
        until(lambda: label(here[0], changed) is SPAM, "a lesson on the way back")
    assert not there[2].exists()
    with connected(database) as log:
        assert by_the_ledger(Ledger(str(here[0]))) == by_the_log(log.receive("anna", 0, ALL))


def test_a_ledger_is_opened_only_where_there_is_something_to_do(path: Path, database: str) -> None:
    """A ledger is opened only after news or a change of its files, or after an hour."""
    learned = teach(path, 1)
    opened: list[str] = []

    def counted(ledger: str, **more: float) -> Ledger:
        opened.append(ledger)
        return Ledger(ledger, **more)

    def opened_after(number: int = 5) -> int:
        """How often a ledger was opened while the accounts were looked at so often."""
        before, enough = len(opened), passes.call_count + number + 1  # one may be under way
        until(lambda: passes.call_count >= enough, "the accounts to be looked at")
        return len(opened) - before

    clock = time.monotonic
    ahead = 0.0
    with (
        mock.patch.object(exchanging, "Ledger", counted),
        mock.patch.object(exchanging, "_SLICE_SECONDS", PATIENCE),
        calls("news_of") as passes,
        keeping_up(database, *accounts(path), running=lambda: clock() + ahead),
    ):
        assert opened_after() <= 6
        assert opened_after() == 0
        teach(path, 2)
        assert opened_after() > 0
        with connected(database) as log:
            log.send("anna", 99, "mx2", [row.copy for row in log.receive("anna", 0, 1)])
        assert opened_after() > 0
        ahead = 3601.0
        assert opened_after(3) > 0
    assert label(path, learned) is HAM


def test_the_database_is_away(path: Path, own: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """The log says once that the database is away, and once that it is back; then waiting lessons are sent."""
    caplog.set_level(logging.INFO)
    database = made_log(own)
    own.stop()
    learned = teach(path, 1)
    with (
        mock.patch.object(exchanging, "_FIRST_PATIENCE", 0.05),
        calls("connected") as attempts,
        keeping_up(database, *accounts(path)) as measured,
    ):
        until(lambda: "Lessons wait to be sent" in caplog.text, "a word of it")
        until(lambda: attempts.call_count > 3, "several attempts, of which nothing is to be said")
        own.start()
        until(lambda: "the database is back" in caplog.text, "the database to be back")
        all_sent(measured)
        own.kill()
        until(lambda: caplog.text.count("Lessons wait to be sent") == 2, "a word of that too")
        own.start()
        until(lambda: caplog.text.count("the database is back") == 2, "the database to be back")
    assert caplog.text.count("Lessons wait to be sent") == 2
    with connected(database) as log:
        assert [row.copy.lesson.digest for row in log.receive("anna", 0, ALL)] == [learned]


@pytest.mark.parametrize("moment", ["connected", "connecting"])
def test_a_silent_server_does_not_hold_up_the_end(
    path: Path, own: Cluster, moment: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The service ends in time even if the server answers neither a question nor a connection."""
    caplog.set_level(logging.WARNING)
    assert postgresql._CONNECT_SECONDS <= exchanging._END_SECONDS / 2
    database = made_log(own)
    teach(path, 1)
    if moment == "connecting":
        own.signal(signal.SIGSTOP)
    with (
        mock.patch.object(postgresql, "_SILENT_SECONDS", 100 * PATIENCE),  # who waits for that does not end in time
        mock.patch.object(exchanging, "_END_SECONDS", PATIENCE),
        calls("connected" if moment == "connecting" else "news_of") as asked,
        keeping_up(database, *accounts(path)) as measured,
    ):
        if moment == "connected":
            all_sent(measured)
            own.signal(signal.SIGSTOP)
            asked.reset_mock()
        until(lambda: asked.call_count > 0, "the server to be asked")
    own.signal(signal.SIGCONT)
    assert "does not end" not in caplog.text


def test_one_account_does_not_stop_the_others(tmp_path: Path, database: str, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged ledger, a ledger in use and a damaged row are faults of their own accounts alone."""
    caplog.set_level(logging.WARNING)  # a command of another test may have set a higher one
    paths = [tmp_path / user / "ledger" for user in ("damaged", "busy", "row", "well")]
    digests = [teach(path, number) for number, path in enumerate(paths)]
    paths[0].write_bytes(b"no ledger" * 1000)
    with connected(database) as log:
        log.send("row", 0, "mx2", [lesson(1)])
        run(database, "UPDATE lesson SET how = 'by magic'")
        with Ledger(str(paths[1])) as ledger, ledger.transaction():
            with calls("news_of") as passes, keeping_up(database, *accounts(*paths)) as measured:
                until(lambda: log.has("well", digests) == {digests[3]}, "the account that is well")
                until(lambda: log.has("row", digests) == {digests[2]}, "what is sent before it is received")
                until(lambda: caplog.text.count("lessons of this account") == 2, "a word of two accounts")
                before = passes.call_count
                until(lambda: passes.call_count > before + 2, "all accounts to be looked at again")
                assert caplog.text.count("lessons of this account") == 2
                assert not measured.exchanged_at
            assert log.has("busy", digests) == set()
        with keeping_up(database, *accounts(*paths)):
            until(lambda: log.has("busy", digests) == {digests[1]}, "the account that was busy")


def test_a_long_history_leaves_others_their_turn(tmp_path: Path, database: str) -> None:
    """While a ledger receives thousands of lessons, other accounts get turns, each after one slice."""
    many, few = tmp_path / "anna" / "ledger", tmp_path / "bert" / "ledger"
    for number in range(120):
        teach(many, number, Label(number % 2))
    with (
        mock.patch.object(exchanging, "_SLICE_SECONDS", 0.0),
        calls("exchange") as rounds,
        keeping_up(database, *accounts(many)),
    ):
        until(lambda: rounds.call_count > 2, "rounds without time, in which nothing can be done: that is no fault")
    with keeping_up(database, *accounts(many)) as measured:
        all_sent(measured)
    new = tmp_path / "new" / "anna" / "ledger"
    with Ledger(str(new)):
        pass
    other = teach(few, 1)
    looks = count()  # at the clock, by which alone time passes: on a slow machine nothing could be done in a slice
    received: list[int] = []  # by anna's ledger, each time when it is bert's turn
    real = exchanging.exchange

    def noted(ledger: Ledger, log: LessonLog, account: str, *more: Any) -> Round:
        if account == "bert":
            with Ledger(str(new)) as receiving:
                received.append(receiving.state.received)
        return real(ledger, log, account, *more)

    with (
        mock.patch.object(exchanging, "_SLICE_SECONDS", 0.02),
        mock.patch.object(exchanging, "exchange", noted),
        mock.patch("spamnb.exchange.rounds._RECEIVED_TOGETHER", 1),
        keeping_up(
            database, SharingUser("anna", str(new)), *accounts(few), host="mx2", running=lambda: next(looks) / 1000
        ),
        connected(database) as log,
    ):
        until(lambda: log.has("bert", [other]) == {other}, "the other account")
        with Ledger(str(new)) as ledger:
            until(lambda: sum(ledger.lessons.totals().tolist()[:2]) == 120, "all of the first")
    assert received[0] < 120


def test_a_fault_of_the_program_does_not_end_it(path: Path, database: str, caplog: pytest.LogCaptureFixture) -> None:
    """After an unforeseen error the thread logs its traceback and goes on."""
    teach(path, 1)
    faults = iter([ZeroDivisionError("unforeseen")])

    def failing(*arguments: object, **more: object) -> object:
        for fault in faults:
            raise fault
        return real(*arguments, **more)  # type: ignore[arg-type]

    real = exchanging.exchange
    with (
        mock.patch.object(exchanging, "_FIRST_PATIENCE", 0.05),
        mock.patch.object(exchanging, "exchange", failing),
        keeping_up(database, *accounts(path)) as measured,
    ):
        all_sent(measured)
    assert "unforeseen" in caplog.text


def test_metrics(path: Path, database: str) -> None:
    """The metrics count lessons sent and received, and have the time of the last full exchange, if there is one."""
    assert not [one for one in Measurements().metrics(0) if "exchange" in one.name]
    teach(path, 1)
    with keeping_up(database, *accounts(path)) as measured:
        all_sent(measured)
    found = {metric.name: metric for metric in measured.metrics(0) if "exchange" in metric.name}
    samples = found["spamnb_exchanged_lessons_total"].samples  # type: ignore[union-attr]
    assert samples == {(("way", "sent"),): 1.0, (("way", "received"),): 1.0}
    assert set(found) == {"spamnb_exchanged_lessons_total", "spamnb_last_exchange_timestamp_seconds"}


def test_what_waits_is_measured(tmp_path: Path, database: str) -> None:
    """The service counts the lessons of all accounts that wait to be sent, even while the database is away."""
    paths = [tmp_path / user / "ledger" for user in ("anna", "bert", "new")]
    for number in range(2):
        teach(paths[number], number)
    with keeping_up("host=/nowhere dbname=none", *accounts(*paths)) as measured:
        until(lambda: measured.unsent == 2, "the lessons to be counted")
        assert any(each.name == "spamnb_unsent_lessons" for each in measured.of_host(0))
    with keeping_up(database, *accounts(*paths)) as measured:
        until(lambda: bool(measured.exchanged_at) and measured.unsent == 0, "the lessons to be sent")
    assert all(each.name != "spamnb_unsent_lessons" for each in Measurements().of_host(0))


# --- real services ------------------------------------------------------------------------------------------------


@pytest.fixture
def sites(tmp_path: Path, database: str) -> Iterator[list[Site]]:
    """Two hosts of one user, which share lessons."""
    made = [Site(tmp_path / host) for host in ("one", "two")]
    for number, site in enumerate(made, 1):
        site.configure(f"exchange: {{database: {database}, host: mx{number}, user: anna, seconds: 1}}")
    yield made
    for site in made:
        site.kill()


def learned(site: Site) -> int:
    """Return the number of learned messages."""
    with Ledger(str(site.ledger)) as ledger:
        return sum(ledger.lessons.totals().tolist()[:2])


def test_two_services_share(sites: list[Site], database: str) -> None:
    """If a user moves a message on one host, the other host learns it, and its history names the first host."""
    one, two = sites
    one.teach()
    for site in sites:
        site.start()
    spam = one.deliver(message("spam", 900))
    two.deliver(spam)
    until(lambda: one.contents("Junk") == [spam], "the filter to move it")
    until(lambda: learned(two) == 50, "the other host to receive all lessons")
    until(lambda: "took over" in two.log(), "the other host to say so")
    new = two.deliver(message("spam", 901))
    until(lambda: two.contents("Junk") == [new], "the other host to move mail by what it has received")
    one.move(spam, "Junk", "INBOX")
    until(lambda: two.label(spam) == HAM, "the correction")
    with Ledger(str(two.ledger)) as ledger:
        assert next(ledger.journal.newest(1)).why.endswith("(on mx1)")
    for site in sites:
        assert site.end() == 0
        assert site.faults() == []
        assert "Traceback" not in site.log()


def test_a_forgotten_user_leaves_no_word(
    sites: list[Site], postgres: Cluster, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service, and a command that asks, remove the ledger and all copies, and leave the mail where it is.

    The tables, and the files of each host that asks, keep no word, subject or sender; then the service begins anew.
    """
    one, two = sites
    word, letter = "xylophonequux", one.directory / "letter.eml"
    letter.write_bytes(letter_with(word))
    one.teach()
    assert one.spamnb("train", "--ham", str(letter)) == 0
    letter.unlink()
    one.start()
    spam = one.deliver(message("spam", 900))
    until(lambda: one.contents("Junk") == [spam], "the filter to move it")
    before = one.everything()
    with connected(database) as log:
        until(lambda: len(log.receive("anna", 0, ALL)) == 51, "all to be sent")
        assert two.spamnb("exchange") == 0
        for site in sites:
            roll(str(site.ledger), time.time(), 7)
            assert len(files_with(site.directory, word)) > 1, "the search finds it where it is"
        assert word in postgres.dumped(database)
        log.forget("anna", time.time())
        until(lambda: "the ledger is removed" in one.log(), "the ledger to be removed")
        capsys.readouterr()
        assert two.spamnb("exchange") == 0
        assert "the ledger and its copies are removed" in capsys.readouterr().err
        until(lambda: "will not be moved" in one.log().partition("the ledger is removed")[2], "a new beginning")
        with Ledger(str(one.ledger)) as ledger:
            assert ledger.lessons.totals().tolist()[:2] == [0, 0]
            assert ledger.messages.find(read(spam).digest) is None or not list(ledger.journal.newest(9))
        assert log.receive("anna", 0, ALL) == []
    assert one.everything() == before
    assert [files_with(site.directory, word) for site in sites] == [[], []]
    assert not two.ledger.exists()
    assert word not in postgres.dumped(database)
    assert one.end() == 0
    assert "Traceback" not in one.log()


@pytest.mark.parametrize("more", ["", "exchange: {database: 'host=/nowhere', user: anna}"])
def test_one_person_without_an_exchange_imports_nothing_of_it(tmp_path: Path, more: str) -> None:
    """A service that shares nothing loads neither psycopg nor the exchange, but its part; one that shares does."""
    site = Site(tmp_path)
    site.configure(more)
    script = (
        "import sys; from spamnb.cli.main import main\n"
        f"code = main(['--config', {str(site.config)!r}, 'run'])\n"
        "print(code, any(name.startswith(('spamnb.exchange.exchanging', 'psycopg')) for name in sys.modules))"
    )
    with site.log_file.open("wb") as log:
        service = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=log, text=True)
    until(lambda: "watching" in site.log(), "the service to watch")
    if more:
        until(lambda: "Lessons wait to be sent" in site.log() or why_not() != "", "the exchange")
    service.send_signal(signal.SIGTERM)
    said, _ = service.communicate(timeout=PATIENCE)
    assert said == f"0 {bool(more)}\n"
