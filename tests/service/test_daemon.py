"""The service as a process: signals, reload, the service manager, and the users who may run it."""

import signal
import socket
import sqlite3
import threading
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox, load
from spamnb.config.writing import render
from spamnb.ledger.connection import Connection
from spamnb.ledger.ledger import Ledger
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from spamnb.service.watcher import Watcher
from tests.patience import PATIENCE, until
from tests.service.conftest import Site, in_thread


def test_stops_cleanly(site: Site) -> None:
    """SIGTERM ends the service with exit code 0."""
    site.start()
    assert site.end() == 0
    assert "stopped" in site.log()


def test_second_service_refuses(site: Site) -> None:
    """Two services over one ledger are refused, in one line that says what to do."""
    site.start()
    assert site.once() == 3
    assert "another spamnb service already works with" in site.log()


def test_reload(site: Site) -> None:
    """SIGHUP reads the configuration again; a faulty one is reported, and the old one stays in force."""
    site.teach()
    site.start()
    assert site.process is not None
    good = site.config.read_text()
    site.config.write_text("mailboxes: 3\n")
    site.process.send_signal(signal.SIGHUP)
    until(lambda: "the old one stays in force" in site.log(), "the fault reported")
    spam = site.deliver(message("spam", 920))
    until(lambda: spam in site.contents("Junk"), "spam moved under the old configuration")
    site.config.write_text(good + "scoring:\n  spam_cutoff: 1.0\n  ham_cutoff: 0.0\n")
    site.process.send_signal(signal.SIGHUP)
    until(lambda: "read the configuration again" in site.log(), "the new one read")
    undecided = site.deliver(message("spam", 921))
    until(lambda: "stays in INBOX, unsure" in site.log(), "judged by the new cutoffs")
    assert undecided in site.contents("INBOX")


def test_reload_while_others_have_the_ledger_open(site: Site) -> None:
    """A reload does not wait for others who have the ledger open, and does not examine it again."""
    site.teach()
    site.start()
    assert site.process is not None
    with Ledger(str(site.ledger)) as training, training.snapshot():
        training.lessons.totals()
        site.process.send_signal(signal.SIGHUP)
        until(lambda: site.log().count("watching") == 2, "working again")
        spam = site.deliver(message("spam", 927))
        until(lambda: spam in site.contents("Junk"), "spam moved all the while")
    assert "Waiting for it" not in site.log()


def test_start_while_others_have_the_ledger_open(site: Site) -> None:
    """A start does not wait for others who have a sound ledger open, however long they do."""
    site.teach()
    with Ledger(str(site.ledger), only_read=True) as export, export.snapshot():
        export.lessons.totals()
        site.start()
        spam = site.deliver(message("spam", 928))
        until(lambda: spam in site.contents("Junk"), "spam moved all the while")
    assert "Waiting for it" not in site.log()


def test_no_reload_is_lost(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes while the configuration is read makes it be read again."""
    loads = 0

    def read() -> Person:
        nonlocal loads
        loads += 1
        config = load(site.config)
        if loads in (2, 3):
            service.reload()  # after the file was read
        return Person(config)

    def each_pass(*_: float) -> None:
        if loads == 1:
            service.reload()
        else:
            service.stop()

    service = Daemon(read, Notifier({}))
    monkeypatch.setattr(Watcher, "next", each_pass)
    service.run()
    assert loads == 4


def test_tells_the_service_manager(site: Site) -> None:
    """READY comes once watching has begun, WATCHDOG at half the asked interval, STOPPING at the end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(site.directory / "notify"))
        manager.settimeout(PATIENCE)
        site.start(environ={"NOTIFY_SOCKET": str(site.directory / "notify"), "WATCHDOG_USEC": "400000"}, wait=False)
        states: list[str] = []
        while not any(state.startswith("READY=1") for state in states):
            states.append(manager.recv(4096).decode())
        assert "watching" in site.log()
        assert any("STATUS=watching 6 folders" in state for state in states)
        while states[-1] != "WATCHDOG=1":
            states.append(manager.recv(4096).decode())
        site.end()
        while states[-1] != "STOPPING=1":
            states.append(manager.recv(4096).decode())


def test_broken_configuration_ends_with_78(site: Site) -> None:
    """A faulty configuration ends the service with EX_CONFIG, so that it is not started again and again."""
    site.config.write_text("mailboxes:\n  - path: relative\n    rolles: {}\n")
    assert site.once() == 78
    assert "rolles" in site.log()
    assert "Traceback" not in site.log()


def test_missing_maildir(site: Site, tmp_path: Path) -> None:
    """A Maildir that is not there ends the service with a line that names it."""
    site.root.rename(tmp_path / "elsewhere")
    assert site.once() == 3
    assert str(site.root) in site.log()
    assert "Traceback" not in site.log()


def test_sees_what_the_command_line_teaches(site: Site) -> None:
    """Counts learned by another process are used by a running service at once."""
    site.start()
    spam = site.deliver(message("spam", 922))
    until(lambda: "stays in INBOX, unsure" in site.log(), "judged without lessons")
    site.teach()
    again = site.deliver(message("spam", 923))
    until(lambda: again in site.contents("Junk"), "judged with the new lessons")
    assert spam in site.contents("INBOX")


def test_waits_for_a_locked_ledger(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that another process holds for a while delays the service, and loses nothing."""
    asked = threading.Event()
    transaction = Connection.transaction

    def asking(connection: Connection) -> AbstractContextManager[None]:
        asked.set()
        return transaction(connection)

    site.teach()
    holder = sqlite3.connect(site.ledger, isolation_level=None, timeout=PATIENCE)
    with in_thread(site), closing(holder):
        holder.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(Connection, "transaction", asking)
        spam = site.deliver(message("spam", 924))
        assert asked.wait(PATIENCE), "the service meets the lock"
        assert spam in site.contents("INBOX")
        holder.execute("ROLLBACK")
        until(lambda: spam in site.contents("Junk"), "spam moved once the ledger was free")


def test_several_mailboxes(tmp_path: Path) -> None:
    """Several mailboxes in one configuration share one filter."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = Site(tmp_path / "a"), Site(tmp_path / "b")
    mailboxes = [Mailbox(path=site.root, roles=site.roles) for site in (one, two)]
    one.config.write_text(render(mailboxes, one.ledger) + "\nlearning:\n  dwell_seconds: 0.3\n")
    one.teach()
    one.start()
    try:
        spam, other = one.deliver(message("spam", 925)), two.deliver(message("spam", 926))
        until(lambda: spam in one.contents("Junk") and other in two.contents("Junk"), "spam moved in both")
    finally:
        one.end()
