"""What is wrong with one user of a host harms no other: a test for each thing that may be wrong."""

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerNewerError
from spamnb.cli.common.sample_mail import message
from spamnb.host.register import FilterState
from spamnb.identity.digests import identity
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.schema import VERSION
from spamnb.maildir.folders import create_folder
from spamnb.service.inotify import Inotify
from tests.faults.conftest import filled, mounted, read_only, without_privileges
from tests.faults.test_ledger import damage_an_index
from tests.service.hosts.inn import DAY, ROLES, Desk
from tests.service.test_strange_files import put_strange_files

pytestmark = pytest.mark.thorough  # 10 s of processor time

VICTIM, NEIGHBOUR = "u03@two.example", "u01@two.example"


class Trial:
    """One user of several is in trouble."""

    def __init__(self, desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
        self.desk = desk
        self._caplog = caplog
        self.root = desk.root(VICTIM)
        self.ledger = desk.ledger(VICTIM)
        self.others = [name for name in desk.names if name != VICTIM]

    def others_are_served(self) -> None:
        """Mail of all others is judged and moved, in less time than a fault of the one is waited for."""
        mail = self.desk.deliver_to_all(self.others)
        began = self.desk.running()
        self.desk.until(lambda: self.desk.are_moved(mail), "the mail of the others moved")
        assert self.desk.running() - began < 30.0  # seconds; a machine that is busy takes some of them

    def is_told(self, text: str, state: FilterState | None = FilterState.BROKEN, times: int = 1) -> None:
        """The fault of the one is logged once, however long it lasts, and is in the register."""
        self.desk.pass_time(1500.0)
        said = [record for record in self._caplog.records if text in record.getMessage()]
        assert len(said) == times, self._caplog.text
        row = self.desk.rows()[VICTIM]
        assert row.state is state
        assert text in row.fault
        assert row.fault_since is not None
        assert text in self.desk.account(VICTIM).fault
        assert not [name for name, row in self.desk.rows().items() if name != VICTIM and row.fault]

    @property
    def log(self) -> str:
        """What was logged."""
        return self._caplog.text

    def is_over(self) -> None:
        """What was put right is found out without a restart, and mail of meanwhile is judged."""
        late = self.desk.deliver(VICTIM)
        self.desk.pass_time(3700.0)
        assert late in self.desk.contents(VICTIM, "Junk")
        row = self.desk.rows()[VICTIM]
        assert (row.state, row.fault, row.fault_since) == (FilterState.MOVING, "", None)
        assert self.desk.account(VICTIM).fault == ""
        assert self.desk.faults(VICTIM) == []
        assert "should not happen" not in self._caplog.text


@pytest.fixture
def trial(desk: Desk, caplog: pytest.LogCaptureFixture) -> Trial:
    """Four users whose mail is filtered."""
    caplog.set_level("INFO", "spamnb")
    return Trial(desk, caplog)


def damage(ledger: Path) -> None:
    """Let SQLite make no sense of a file."""
    content = bytearray(ledger.read_bytes())
    content[1024 : 1024 + 64_000] = os.urandom(64_000)
    ledger.write_bytes(content)


def test_a_damaged_ledger_without_a_copy(trial: Trial) -> None:
    """Its user is not filtered until a person puts a ledger in its place; all others are."""
    sound = trial.ledger.read_bytes()
    damage(trial.ledger)
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.is_told("there is no sound copy of it")
    trial.ledger.write_bytes(sound)
    trial.is_over()


def test_a_damaged_ledger_with_a_copy(trial: Trial) -> None:
    """Its copy takes its place, and mail that comes from then on is judged."""
    trial.desk.pass_time(DAY)
    damage(trial.ledger)
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.desk.pass_time(30.0)
    assert "its copy of" in trial.log
    trial.is_over()


def test_a_ledger_that_is_deleted_while_it_is_in_use(trial: Trial) -> None:
    """Nothing more is written to it; its copy takes its place, and mail that comes from then on is judged."""
    trial.desk.pass_time(DAY)
    trial.desk.deliver(VICTIM)
    trial.desk.rest()
    assert VICTIM in trial.desk.awake
    trial.ledger.unlink()
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.desk.pass_time(30.0)
    assert trial.log.count("was deleted or replaced while it was in use") == 1
    assert "its copy of" in trial.log
    trial.is_over()


def test_a_ledger_that_is_upgraded_while_it_is_in_use(trial: Trial) -> None:
    """Nothing more is written to it, and its user is not filtered by a program that does not know it."""
    trial.desk.deliver(VICTIM)
    trial.desk.rest()
    assert VICTIM in trial.desk.awake
    set_version(trial.ledger, VERSION + 1)
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.is_told("was upgraded while it was in use")
    set_version(trial.ledger, VERSION)
    trial.is_over()


def test_a_later_program_is_installed(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a ledger is newer and a later program is installed, the service ends, so that the new one is started."""
    set_version(trial.ledger, VERSION + 1)
    monkeypatch.setattr(trial.desk.accounts, "_tools", replace(trial.desk.accounts._tools, is_replaced=lambda: True))
    trial.desk.deliver(VICTIM)
    with pytest.raises(LedgerNewerError, match="was written by a later spamnb"):
        trial.desk.rest()
    set_version(trial.ledger, VERSION)


def set_version(ledger: Path, version: int) -> None:
    """Write another version of the schema into a ledger."""
    with contextlib.closing(sqlite3.connect(ledger)) as writer:
        writer.execute(f"PRAGMA user_version = {version}")


def test_a_file_in_the_place_of_the_ledgers_directory(trial: Trial) -> None:
    """Its user is not filtered until the file is gone."""
    aside = trial.ledger.parent.with_name("aside")
    trial.ledger.parent.rename(aside)
    trial.ledger.parent.touch()
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.is_told("check the directory and its owner")
    trial.ledger.parent.unlink()
    aside.rename(trial.ledger.parent)
    trial.is_over()


@pytest.mark.parametrize("subdirs", [("cur",), ("new", "cur", "tmp")])
def test_no_inbox(trial: Trial, subdirs: tuple[str, ...]) -> None:
    """A mailbox without its inbox is not gone; it waits until that is back."""
    for subdir in subdirs:
        (trial.root / subdir).rename(trial.root / f"{subdir}-away")
    trial.others_are_served()
    trial.is_told("mount its disk if it is not mounted")
    for subdir in subdirs:
        (trial.root / f"{subdir}-away").rename(trial.root / subdir)
    trial.is_over()


def test_a_missing_directory(trial: Trial) -> None:
    """A folder that goes away and comes back is no fault; a Maildir that is gone has no account any more."""
    trial.root.rename(trial.root.with_name("away"))
    trial.others_are_served()
    trial.desk.pass_time(30.0)
    row = trial.desk.rows()[VICTIM]
    assert (row.state, row.fault) == (FilterState.GONE, "")
    assert trial.log.count("is gone; the ledger stays") == 1
    trial.root.with_name("away").rename(trial.root)
    trial.is_over()


@pytest.mark.parametrize("link", ["the Maildir", "the directory around it"])
def test_a_link_to_the_mail_of_a_neighbour(trial: Trial, link: str) -> None:
    """Behind a link nothing is looked at, and nothing of the neighbour's is known, moved or learned by the other."""
    own, others = trial.root, trial.desk.root(NEIGHBOUR)
    if link != "the Maildir":
        own, others = own.parent, others.parent
    own.rename(own.with_name("away"))
    own.symlink_to(others)
    trial.others_are_served()
    trial.is_told("is behind a symbolic link, which is not followed")
    assert trial.desk.judgements(VICTIM).count("judged") == 0
    assert trial.desk.judgements(VICTIM).count("moved") == 0
    own.unlink()
    own.with_name("away").rename(own)
    trial.is_over()
    assert trial.desk.judgements(VICTIM).count("moved") == 1


@pytest.mark.parametrize("where", ["new", "cur", "tmp", ".Junk", ".Junk/new", ".Junk/cur", ".Archive", ".Archive/cur"])
def test_a_link_to_a_folder_of_a_neighbour(trial: Trial, where: str) -> None:
    """Whatever a user puts in the place of a directory of the own: a neighbour's mail is neither known nor touched."""
    desk = trial.desk
    mail = [
        desk.deliver(NEIGHBOUR, kind, folder) for kind in ("ham", "spam") for folder in ("INBOX", "Archive", "Junk")
    ]
    desk.settle()
    before = {folder: sorted(desk.contents(NEIGHBOUR, folder)) for folder in ROLES}
    own, aside = trial.root / where, trial.root / "aside"
    own.rename(aside)
    own.symlink_to(desk.root(NEIGHBOUR) / where)
    trial.others = [name for name in trial.others if name != NEIGHBOUR]
    if where != "new":
        desk.deliver(VICTIM)
    trial.others_are_served()
    desk.pass_time(700.0)
    assert {folder: sorted(desk.contents(NEIGHBOUR, folder)) for folder in ROLES} == before
    with Ledger(str(trial.ledger)) as ledger:
        assert not [content for content in mail if ledger.messages.find(identity(content)) is not None]
    own.unlink()
    aside.rename(own)
    trial.is_over()


def test_strange_files(trial: Trial) -> None:
    """Pipes, devices, links, directories and names of any bytes in the inbox of one user hold up nobody's mail."""
    outside = trial.desk.directory / "outside"
    outside.write_bytes(message("spam", 950))
    strange = put_strange_files(trial.root / "new", outside)
    odd = [b"\xff\xfe\n\x1b[2J", b":1,:", b"x" * 255, "\u202e..".encode(), b"%n%s{local}"]
    spam = [message("spam", 960 + number) for number in range(len(odd))]
    for name, content in zip(odd, spam, strict=True):
        (trial.root / "tmp" / "draft").write_bytes(content)
        (trial.root / "tmp" / "draft").rename(Path(os.fsdecode(os.fsencode(trial.root / "new") + b"/" + name)))
    trial.others_are_served()
    trial.desk.pass_time(30.0)
    assert sorted(trial.desk.contents(VICTIM, "Junk")) == sorted(spam)
    assert {path.name for path in (trial.root / "new").iterdir()} == set(strange)
    assert not {sign for sign in trial.log if not sign.isprintable()} - {"\n"}
    trial.is_over()


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_maildir_of_another_user(trial: Trial) -> None:
    """What belongs to another user of the machine is not looked at."""
    os.chown(trial.root, 65534, 65534)
    trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.is_told("belongs to another user of this machine")
    os.chown(trial.root, 0, 0)
    trial.is_over()


def test_another_service_holds_the_ledger(trial: Trial) -> None:
    """Its user waits until the other one has ended; nobody waits for it beside that."""
    with only_service(str(trial.ledger)):
        trial.desk.deliver(VICTIM)
        trial.others_are_served()
        trial.is_told("another spamnb service already works with")
    trial.is_over()


def test_another_process_writes_the_ledger(trial: Trial) -> None:
    """Its user is tried again soon, and mail is judged once the ledger is free."""
    with contextlib.closing(sqlite3.connect(trial.ledger, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        spam = trial.desk.deliver(VICTIM)
        trial.others_are_served()
        assert trial.log.count("Another process is writing to the ledger") == 1
        assert spam in trial.desk.contents(VICTIM)
    trial.desk.pass_time(10.0)
    assert spam in trial.desk.contents(VICTIM, "Junk")
    trial.is_over()


@pytest.fixture(params=["ledger", "mail", "Junk"])
def small(desk_of: Callable[[int], Desk], request: pytest.FixtureRequest) -> Iterator[tuple[str, Path, Desk]]:
    """The ledger, the mail or the Junk of one user is on a disk of its own."""
    desk = desk_of(4)
    root = desk.root(VICTIM)
    where = {"ledger": desk.ledger(VICTIM).parent, "mail": root.parent, "Junk": root / ".Junk"}[request.param]
    held = {path.relative_to(where): path.read_bytes() for path in where.rglob("*") if path.is_file()}
    made = [path.relative_to(where) for path in where.rglob("*") if path.is_dir()]
    with mounted(where, "2m") as disk:
        disk.chmod(0o700)
        for path in made:
            (disk / path).mkdir(exist_ok=True, parents=True)
        for path, content in held.items():
            (disk / path).write_bytes(content)
        desk.start()
        desk.settle()
        yield request.param, disk, desk
        desk.stop()


def test_a_full_disk(small: tuple[str, Path, Desk], caplog: pytest.LogCaptureFixture) -> None:
    """Mail of a user whose disk or quota is full stays where it is, and is judged once there is space."""
    what, disk, desk = small
    trial = Trial(desk, caplog)
    spam = desk.deliver(VICTIM)
    with filled(disk):
        trial.others_are_served()
        if what == "ledger":
            trial.is_told("the free space")
        elif what == "Junk":
            trial.is_told("cannot move a message", FilterState.MOVING)
    desk.pass_time(700.0)
    assert spam in desk.contents(VICTIM, "Junk")
    trial.is_over()


def test_a_disk_that_takes_no_writing(small: tuple[str, Path, Desk], caplog: pytest.LogCaptureFixture) -> None:
    """Mail of a user whose disk has become read-only stays where it is, and is judged once it can be written."""
    what, disk, desk = small
    trial = Trial(desk, caplog)
    spam = desk.deliver(VICTIM)
    with read_only(disk):
        trial.others_are_served()
        desk.pass_time(700.0)
        assert spam in desk.contents(VICTIM)
        if what == "Junk":
            trial.is_told("cannot move a message", FilterState.MOVING)
    desk.pass_time(700.0)
    assert spam in desk.contents(VICTIM, "Junk")
    trial.is_over()


@pytest.mark.parametrize(("broken", "text"), [(filled, "the free space"), (read_only, "Read-only file system")])
@pytest.mark.parametrize("small", ["ledger"], indirect=True)
def test_a_broken_disk_at_a_start(
    small: tuple[str, Path, Desk],
    caplog: pytest.LogCaptureFixture,
    broken: Callable[[Path], contextlib.AbstractContextManager[None]],
    text: str,
) -> None:
    """A user whose ledger cannot be written at the start of the service waits for that alone."""
    _, disk, desk = small
    desk.stop()
    trial = Trial(desk, caplog)
    spam = desk.deliver(VICTIM)
    with broken(disk):
        desk.start()
        trial.others_are_served()
        trial.is_told(text)
    trial.is_over()
    assert spam in desk.contents(VICTIM, "Junk")


# --- folders and messages


def test_a_deleted_junk(trial: Trial) -> None:
    """A Junk that is deleted is made again, and spam that came before that is moved into the new one."""
    junk = trial.root / ".Junk"
    junk.rename(trial.root / "tmp" / "deleted")
    shutil.rmtree(trial.root / "tmp" / "deleted")
    spam = trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.desk.pass_time(30.0)
    assert spam in trial.desk.contents(VICTIM, "Junk")
    assert trial.log.count("made the folder Junk") == 1
    trial.is_over()


@pytest.mark.parametrize("what", ["a file", "a link"])
def test_something_in_the_place_of_junk(trial: Trial, what: str) -> None:
    """A user whose Junk cannot be made is not filtered until the thing in its place is gone."""
    junk = trial.root / ".Junk"
    junk.rename(trial.root / "tmp" / "junk")
    if what == "a file":
        junk.touch()
    else:
        junk.symlink_to(trial.root / "tmp" / "junk")
    spam = trial.desk.deliver(VICTIM)
    trial.others_are_served()
    trial.is_told("is in the way")
    assert spam in trial.desk.contents(VICTIM)
    junk.unlink()
    (trial.root / "tmp" / "junk").rename(junk)
    trial.is_over()
    assert spam in trial.desk.contents(VICTIM, "Junk")


def test_a_message_that_cannot_be_read(trial: Trial) -> None:
    """A message that cannot be read is named, keeps none of the others, and is judged within a day of its repair."""
    desk = trial.desk
    with without_privileges():
        spam = desk.deliver(VICTIM)
        (path,) = (trial.root / "new").iterdir()
        path.chmod(0)
        other = desk.deliver(VICTIM)
        trial.others_are_served()
        desk.rest()
        assert other in desk.contents(VICTIM, "Junk")
        trial.is_told("cannot read", FilterState.MOVING)
        path.chmod(0o600)
        desk.pass_time(DAY)
        assert spam in desk.contents(VICTIM, "Junk")
        trial.is_over()


def test_an_unreadable_message_that_is_deleted(trial: Trial) -> None:
    """A message that could not be read and is gone is no longer a fault."""
    desk = trial.desk
    desk.deliver(VICTIM)
    desk.settle()
    with without_privileges():
        desk.deliver(VICTIM)
        (path,) = (trial.root / "new").iterdir()
        path.chmod(0)
        trial.is_told("cannot read", FilterState.MOVING)
        path.unlink()
        desk.pass_time(DAY)
        trial.is_over()


@pytest.mark.parametrize("where", ["cur", "new", ".Archive/cur", ".Junk/new"])
def test_a_folder_that_cannot_be_listed(trial: Trial, where: str) -> None:
    """The mail of a folder that cannot be listed is unknown, not gone; the other folders of its user go on."""
    desk = trial.desk
    mail = [desk.deliver(VICTIM, "ham", folder) for folder in ("INBOX", "Archive", "Junk")]
    desk.settle()
    with without_privileges():
        (trial.root / where).chmod(0)
        desk.accounts.compare(desk.account(VICTIM))
        trial.others_are_served()
        trial.is_told("cannot", FilterState.BROKEN if where == "cur" else FilterState.MOVING)
        (trial.root / where).chmod(0o700)
        trial.is_over()
    assert set(mail) <= set(desk.everything(VICTIM))
    assert [desk.label(VICTIM, content) for content in mail] == [None, None, 1]


# --- damage that is met late


def test_damage_that_only_the_work_meets(trial: Trial) -> None:
    """Damage that no page shows ends the work with that ledger alone, and its copy takes its place."""
    desk = trial.desk
    ham = message("ham", 3)  # one that was learned
    (trial.root / "cur" / "1.learned:2,S").write_bytes(ham)
    desk.pass_time(DAY)
    with contextlib.closing(sqlite3.connect(trial.ledger, isolation_level=None)) as other:
        other.execute("UPDATE lesson SET tokens = x'00112233445566'")
    desk.move(VICTIM, ham, "INBOX", "Junk")
    trial.others_are_served()
    desk.pass_time(30.0)
    assert trial.log.count("the tokens of message") == 2, "once for the fault, once for the copy in its place"
    assert "its copy of" in trial.log
    trial.is_over()


def test_damage_that_the_copy_of_the_day_meets(trial: Trial) -> None:
    """Damage that the daily copy finds ends the work with that ledger alone, and the copy before it takes its place."""
    desk = trial.desk
    desk.pass_time(DAY)
    desk.deliver(VICTIM)  # so that there is something to copy
    desk.settle()
    damage_an_index(trial.ledger)
    trial.others_are_served()
    desk.pass_time(DAY)
    assert "was not copied, it is damaged" in trial.log
    assert "its copy of" in trial.log
    trial.is_over()


# --- watches


@pytest.mark.parametrize("why", ["the limit of inotify watches is reached", "has more than 400 directories"])
def test_watches_that_do_not_suffice(trial: Trial, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whose folders cannot all be watched is polled and listed as that; all others are watched."""
    desk = trial.desk
    add, more, is_full = Inotify.add, [trial.root / f".F{number}" for number in range(130)], [True]

    def refused(inotify: Inotify, path: str, mask: int) -> int:
        if is_full[0] and path.startswith(str(more[0])):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return add(inotify, path, mask)

    if "limit" in why:
        monkeypatch.setattr(Inotify, "add", refused)
        del more[1:]
    for folder in more:
        create_folder(str(trial.root), "maildir++", folder.name[1:])
    trial.others_are_served()
    desk.pass_time(15.0)
    spam = desk.deliver(VICTIM)
    desk.pass_time(15.0)
    assert spam in desk.contents(VICTIM, "Junk")
    desk.settle()
    desk.stop()
    desk.start()
    assert [name for name, row in desk.rows().items() if row.polled] == [VICTIM]
    assert [name for name in desk.names if not desk.watcher.is_watched(str(desk.root(name)))] == [VICTIM]
    assert trial.log.count(why) == 2, "once in each life of the service"
    is_full[0] = False
    for folder in more:
        shutil.rmtree(folder)
    desk.deliver(VICTIM)
    desk.settle()
    assert desk.watcher.is_watched(str(trial.root))
    assert not any(row.polled for row in desk.rows().values())
    trial.is_over()
