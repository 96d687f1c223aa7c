"""Both units as services: start, deliver, watchdog, reload, stop, restart."""

import time

import pytest

from tests.patience import until
from tests.systemd.unit import WATCHDOG, Unit


def test_moves_spam(unit: Unit) -> None:
    """The unit, set up as the documents say, is enabled and moves spam from the inbox to Junk, which it has made."""
    assert unit.systemctl("is-enabled") == "enabled"
    ham = unit.deliver("ham")
    unit.wait_moved(unit.deliver("spam"))
    assert unit.holds("", ham)


def test_ready_when_watching(unit: Unit) -> None:
    """`systemctl start` returns once the folders are watched: later deliveries are moved."""
    unit.systemctl("stop")
    since = unit.now()
    unit.systemctl("start")
    spam = unit.deliver("spam")
    watching = next(entry for entry in unit.journal(since) if "watching" in entry["MESSAGE"])
    assert int(watching["__MONOTONIC_TIMESTAMP"]) <= int(unit.show("ActiveEnterTimestampMonotonic")) + 100_000
    assert unit.show("ActiveState") == "active"
    unit.wait_moved(spam)


def test_status(unit: Unit) -> None:
    """The status says what is watched, and says it again after other work."""
    watching = "watching 2 folders in 1 mailbox"
    assert unit.show("StatusText") == watching
    unit.systemctl("stop")
    spam = unit.deliver("spam")
    unit.systemctl("start")
    unit.wait_moved(spam)
    until(lambda: unit.show("StatusText") == watching, "the status as before")


def test_open_files(unit: Unit) -> None:
    """In its sandbox too the service may open as many files as its manager allows, not only 1,024."""
    limits = unit.machine.run("cat", f"/proc/{unit.pid()}/limits").stdout.splitlines()
    soft, hard = next(map(int, line.split()[3:5]) for line in limits if line.startswith("Max open files"))
    assert int(unit.show("LimitNOFILESoft")) < soft == hard


def test_hang(unit: Unit) -> None:
    """The watchdog kills and restarts a service that hangs, and mail from the meantime is moved."""
    before, since = unit.pid(), unit.now()
    unit.signal("STOP")
    stopped = time.monotonic()
    spam = unit.deliver("spam")
    until(lambda: unit.pid() not in {0, before}, "the service to be started again", limit=WATCHDOG + 20)
    took = time.monotonic() - stopped
    unit.wait_moved(spam)
    assert took < WATCHDOG + 10
    assert any("Watchdog timeout" in entry["MESSAGE"] for entry in unit.manager_says(since))


def test_no_false_alarm(unit: Unit) -> None:
    """A service that has nothing to do keeps its watchdog quiet."""
    before = unit.pid()
    end = time.monotonic() + 2.5 * WATCHDOG
    until(lambda: time.monotonic() > end, "time to pass")
    assert unit.pid() == before


@pytest.mark.parametrize("by", ["reload", "SIGHUP"])
def test_reload(unit: Unit, by: str) -> None:
    """A reload puts the changed configuration in force; a faulty one is reported, and the old one stays."""
    before = unit.pid()

    def reload() -> str:
        since = unit.now()
        if by == "reload":
            unit.systemctl("reload")
        else:
            unit.signal("HUP")
        return since

    unit.configure(instead="mailboxes: 3\n")
    since = reload()
    until(lambda: unit.said("the old one stays in force", since), "the fault reported")
    assert unit.said(f"{unit.config}:1", since)
    until(lambda: "the old one stays in force" in unit.show("StatusText"), "the fault in the status")
    unit.wait_moved(unit.deliver("spam"))

    unit.configure("\nscoring: {spam_cutoff: 1.0, ham_cutoff: 0.0}\n")
    since = reload()
    until(lambda: unit.said("read the configuration again", since), "the new one read")
    until(lambda: unit.show("StatusText") == "watching 2 folders in 1 mailbox", "no fault in the status")
    undecided = unit.deliver("spam")
    until(lambda: unit.said("stays in INBOX, unsure", since), "judged by the new cutoffs")
    assert unit.holds("", undecided)
    assert (unit.show("ActiveState"), unit.pid()) == ("active", before)


def test_fields_of_the_journal(unit: Unit) -> None:
    """With `service.log: json` the journal has what each line is about in fields, from the sandbox too."""
    since = unit.now()
    unit.configure("\nservice: {log: json}\n")
    unit.systemctl("reload")
    until(lambda: unit.said("read the configuration again", since), "the configuration read again")
    spam = unit.deliver("spam")
    unit.wait_moved(spam)
    until(lambda: [one for one in unit.journal(since) if one.get("SPAMNB_EVENT") == "moved"], "the fields")
    moved = next(one for one in unit.journal(since) if one.get("SPAMNB_EVENT") == "moved")
    assert (moved["SPAMNB_VERDICT"], moved["SPAMNB_TO"], moved["PRIORITY"]) == ("spam", "Junk", "6")
    assert moved["SYSLOG_IDENTIFIER"] == "spamnb"
    assert "moved from INBOX to Junk" in moved["MESSAGE"]
    unit.restore()


def test_reload_with_a_maildir_that_is_not_there(unit: Unit) -> None:
    """A new configuration that cannot be worked with is reported, and the old one stays in force."""
    before, since = unit.pid(), unit.now()
    unit.configure(instead=unit.good.replace("/Maildir", "/Nowhere"))
    unit.systemctl("reload")
    until(lambda: unit.said("the old one stays in force", since), "the fault reported")
    assert unit.said("/Nowhere", since)
    unit.wait_moved(unit.deliver("spam"))
    until(lambda: unit.show("ActiveState") == "active", "the end of the reload")
    assert unit.pid() == before


def test_stop(unit: Unit) -> None:
    """A stop ends the service with exit code 0 within seconds; later mail is moved after the next start."""
    since, began = unit.now(), time.monotonic()
    unit.systemctl("stop")
    assert time.monotonic() - began < 5
    assert unit.said("stopped", since)
    assert (unit.show("Result"), unit.show("ExecMainCode"), unit.show("ExecMainStatus")) == ("success", "1", "0")
    spam = unit.deliver("spam")
    unit.systemctl("start")
    unit.wait_moved(spam)


def test_killed(unit: Unit) -> None:
    """A killed service is started again, and mail from the meantime is moved."""
    before = unit.pid()
    unit.signal("KILL")
    spam = unit.deliver("spam")
    until(lambda: unit.pid() not in {0, before}, "the service to be started again")
    unit.wait_moved(spam)


def test_faulty_configuration(unit: Unit) -> None:
    """A faulty configuration ends the start with one line about the fault, without another try."""
    unit.systemctl("stop")
    unit.configure(instead="mailboxes: 3\n")
    since = unit.now()
    unit.systemctl("start", check=False)
    assert (unit.show("ActiveState"), unit.show("SubState")) == ("failed", "failed")
    assert (unit.show("ExecMainStatus"), unit.show("NRestarts")) == ("78", "0")
    lines = [entry["MESSAGE"] for entry in unit.journal(since) if entry.get("SYSLOG_IDENTIFIER") == "spamnb"]
    assert len(lines) == 1
    assert f"{unit.config}:1" in lines[0]


def test_same_ledger_as_the_command_line(unit: Unit) -> None:
    """The user's own commands see the acts of the service."""
    unit.wait_moved(unit.deliver("spam"))
    assert "Junk" in unit.spamnb("history", "--limit", "3")
    assert "are the sum of" in unit.spamnb("verify")


def test_lingers(user_unit: Unit) -> None:
    """The user's unit runs on after the session in which it was set up."""
    user_unit.restore()
    sessions = user_unit.machine.run("loginctl", "list-sessions", "--no-legend").stdout.splitlines()
    assert not [line for line in sessions if user_unit.user in line and "manager" not in line]
    assert user_unit.machine.path(f"/var/lib/systemd/linger/{user_unit.user}").exists()
    assert user_unit.show("ActiveState") == "active"
