"""One command for all users of a mail host: `backup`, `restore` and `verify` with --all; and `users rename`."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from spamnb.host import letting_go
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, read
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import Run
from tests.dying import Fuse, kill, killed
from tests.faults.conftest import filled, mounted
from tests.host.conftest import Site
from tests.lessons import learn, sample_lessons
from tests.registers import put

ODD = ("anna@a.example", "o'neil@a.example", "-x@b.example", "jörg@b.example", "a#b$c%d~!&*@b.example")


@pytest.fixture
def host(home: Path) -> Host:
    """A host whose users have odd letters in their names; of one only the ledger and the row are left."""
    site = Site(home)
    for name in ODD:
        local, _, domain = name.partition("@")
        site.maildir(f"{domain}/{local}/Maildir")
    made = site.host()
    put(
        made,
        *(AccountRow(name, f"/m/{name}", FilterState.MOVING) for name in (*ODD, "gone@a.example", "new@a.example")),
    )
    for number, name in enumerate((*ODD, "gone@a.example"), 1):
        with Ledger(str(made.ledger_of(name))) as ledger:
            learn(ledger, sample_lessons(number))
    return made


@pytest.fixture
def on_host(host: Host, run: Run) -> Run:
    """Run a command over it."""
    return lambda *arguments, **named: run("--config", host.path, *arguments, **named)


def learned(host: Host) -> dict[str, int]:
    """How much ham each user has learned who has a ledger."""
    found = {}
    for name in (*ODD, "gone@a.example", "new@a.example"):
        if os.path.exists(path := str(host.ledger_of(name))):
            with Ledger(path, only_read=True) as ledger:
                found[name] = int(ledger.lessons.totals()[0])
    return found


def test_all_there_and_back(host: Host, on_host: Run, tmp_path: Path) -> None:
    """All ledgers are copied into a directory, whatever letters a name has; what was lost since comes back."""
    before = learned(host)
    assert sum(before.values()) == 21
    directory = tmp_path / "disk" / "copies"
    result = on_host("backup", "--all", str(directory))
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"copied the ledgers of 6 users to {directory}: ")
    assert (directory / "a.example" / "o'neil" / "ledger.sqlite.gz").is_file()
    result = on_host("verify", "--all")
    assert (result.code, result.out) == (0, "The counts of 6 ledgers are the sums of 21 ham and 21 spam messages.\n")
    for number, name in enumerate(ODD):
        if number % 2:
            host.ledger_of(name).unlink()
        else:
            with Ledger(str(host.ledger_of(name))) as ledger:
                learn(ledger, sample_lessons(9))
    result = on_host("restore", "--all", str(directory))
    assert (result.code, result.err) == (0, "")
    assert "restored the ledgers of 6 users" in result.out
    assert "The old ones of 4 users are kept" in result.out
    assert learned(host) == before


def test_on_after_a_fault(host: Host, on_host: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of one user stops nobody else; a table names the user and the fault, and the exit code says it."""
    monkeypatch.setattr(letting_go, "_ANSWER_SECONDS", 0.05)
    directory, before = tmp_path / "copies", learned(host)
    with Ledger(str(host.ledger_of(ODD[1]))) as ledger:
        ledger._connection.execute("UPDATE total SET ham_messages = 7")
    for command in (("backup", "--all", str(directory)), ("verify", "--all")):
        result = on_host(*command)
        assert result.code == 3
        assert "failed for 1 user of 6" in result.err
        assert f"  {ODD[1]}  " in result.err
        assert "totals" in result.err
    assert sum(len(files) for *_, files in os.walk(directory)) == 5
    result = on_host("backup", "--all", str(directory))
    assert (result.code, result.err.count("exists already: replace it with --force")) == (3, 5)
    assert "failed for 6 users of 6" in result.err
    assert on_host("backup", "--all", "--force", str(directory)).err.count("exists already") == 0
    with only_service(str(host.ledger_of(ODD[0]))):
        result = on_host("restore", "--all", str(directory))
    assert result.code == 75, "all faults say: try again"
    assert f"{ODD[0]}  the service is at work with the ledger" in result.err
    assert "restored the ledgers of 4 users" in result.out
    assert {name: number for name, number in learned(host).items() if name != ODD[1]} == {
        name: number for name, number in before.items() if name != ODD[1]
    }


def test_on_a_full_disk(host: Host, on_host: Run, tmp_path: Path) -> None:
    """On a full disk each user is named with the step, no half copy is left, and the ledgers stay as they are."""
    before = learned(host)
    with mounted(tmp_path / "disk") as disk:
        with filled(disk):
            result = on_host("backup", "--all", str(disk / "copies"))
        assert (result.code, result.err.count("free ")) == (3, 6)
        assert not [file for *_, files in os.walk(disk / "copies") for file in files]
    assert learned(host) == before


def test_wrong_calls(host: Host, on_host: Run, run: Run, tmp_path: Path) -> None:
    """Without a host, a directory or copies, and with one user named, it says what to give."""
    for arguments, said in (
        (("backup", "--all"), "--all needs a directory"),
        (("backup", "--all", "-"), "--all needs a directory"),
        (("backup", "--all", str(host.directory / "copies")), "is among the ledgers"),
        (("restore", "--all", str(tmp_path / "no")), "there is no directory"),
        (("restore", "--all", str(tmp_path)), "has no copies from `spamnb backup --all`"),
        (("--user", ODD[0], "verify", "--all"), "give one of the two"),
    ):
        result = on_host(*arguments)
        assert (result.code, said in result.err) == (64, True), arguments
    (tmp_path / "one.yaml").write_text("ledger: /l\nmailboxes: [{path: /m, roles: {INBOX: inbox, Junk: spam}}]\n")
    result = run("--config", tmp_path / "one.yaml", "verify", "--all")
    assert (result.code, "is the configuration of one person" in result.err) == (64, True)


# --- renaming ----------------------------------------------------------------------------------------------------

OLD, NEW = ODD[1], "neil o@a.example".replace(" ", "-")


@contextlib.contextmanager
def watched(host: Host) -> Iterator[str]:
    """The ledger of the old name has copies, and knows the Maildir."""
    path = str(host.ledger_of(OLD))
    with Ledger(path) as ledger:
        ledger.locations.mailbox(str(host.mail.fill(OLD)))
    roll(path, 2e9, 3)
    yield path


def mailboxes(host: Host) -> list[str]:
    """What the ledger of the new name knows as its Maildirs."""
    with Ledger(str(host.ledger_of(NEW)), only_read=True) as ledger:
        return ledger.locations.mailboxes()


@pytest.mark.parametrize("has_moved", [True, False], ids=["the mail is moved", "the mail is not moved yet"])
@pytest.mark.parametrize("has_begun", [True, False], ids=["the service has begun", "no service"])
def test_rename(host: Host, on_host: Run, has_moved: bool, has_begun: bool) -> None:
    """The lessons and the copies go to the new name; a ledger that has learned nothing there makes room."""
    with watched(host) as path:
        if has_moved:
            host.mail.fill(OLD).parent.rename(host.mail.fill(NEW).parent)
        if has_begun:
            with only_service(str(host.ledger_of(NEW))), Ledger(str(host.ledger_of(NEW))) as ledger:
                ledger.locations.mailbox(str(host.mail.fill(NEW)))
        result = on_host("users", "rename", OLD, NEW)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"renamed {OLD} to {NEW}: the ledger, with its copies\n")
    assert ("Move the mail to" in result.out) is not has_moved
    assert not os.path.exists(os.path.dirname(path))
    with Ledger(str(host.ledger_of(NEW))) as ledger:
        assert ledger.verify() == []
        assert ledger.lessons.totals()[0] == 2
    assert mailboxes(host) == [str(host.mail.fill(NEW))]
    assert len([*(host.ledger_of(NEW).parent / "copies").iterdir()]) == 1
    assert OLD not in {row.name for row in read(host.directory)}
    result = on_host("users", "rename", OLD, NEW)
    assert (result.code, "has no ledger" in result.err) == (64, True)


def test_rename_onto_a_user(host: Host, on_host: Run) -> None:
    """A user who has learned something is never replaced; neither is anybody renamed to a name that nobody can have."""
    before = learned(host)
    for new, said in (
        (ODD[0], "has learned something: `spamnb users forget"),
        ("../x@a.example", "cannot be a user"),
        (OLD, "two different names"),
    ):
        result = on_host("users", "rename", OLD, new)
        assert (result.code, said in result.err) == (64, True), new
    assert on_host("users", "rename", OLD).code == 64
    assert learned(host) == before


def test_rename_while_somebody_is_at_work(host: Host, on_host: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the service does not let go, or a command reads, nothing is renamed; the exit code says: try again."""
    monkeypatch.setattr(letting_go, "_ANSWER_SECONDS", 0.05)
    monkeypatch.setattr("spamnb.host.renaming._BUSY_SECONDS", 0.05)
    before = learned(host)
    with only_service(str(host.ledger_of(OLD))):
        assert on_host("users", "rename", OLD, NEW).code == 75
    with Ledger(str(host.ledger_of(OLD)), only_read=True):
        assert on_host("users", "rename", OLD, NEW).code == 75
    assert learned(host) == before
    assert on_host("users", "rename", OLD, NEW).code == 0


def test_rename_killed(host: Host, on_host: Run) -> None:
    """After a kill at any call, the next call ends what was begun, and no lesson is lost."""
    with watched(host):
        pass
    for at in range(1, 40):
        fuse = Fuse(at, kill)

        def dying(fuse: Fuse = fuse) -> None:
            with contextlib.ExitStack() as stack:
                for call in ("rename", "fsync", "unlink", "rmdir", "mkdir"):
                    stack.enter_context(mock.patch.object(os, call, fuse.through(getattr(os, call))))
                on_host("users", "rename", OLD, NEW)

        was_killed = killed(dying)
        if was_killed:
            assert on_host("users", "rename", OLD, NEW).code in (0, 64)
        assert mailboxes(host) == [str(host.mail.fill(NEW))]
        with Ledger(str(host.ledger_of(NEW))) as ledger:
            assert (ledger.verify(), int(ledger.lessons.totals()[0])) == ([], 2)
        assert on_host("users", "rename", NEW, OLD).code == 0
        if not was_killed:
            break
    assert at > 2
