"""The journalled move: made, undone, interrupted at any call, and ended after that."""

import contextlib
import errno
import fcntl
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from spamnb.acts import moves, training
from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import BeingMovedError, FolderWithId, Mover, folder_of_id
from spamnb.base.errors import MaildirError, SpamnbError
from spamnb.base.label import How, Label, Verdict
from spamnb.identity.digests import delivery, identity
from spamnb.ledger.history.actions import Action, Cause
from spamnb.ledger.ledger import Ledger
from spamnb.maildir import departures, rename
from spamnb.maildir.folders import Folder
from spamnb.maildir.messages import Entry, scan
from spamnb.maildir.names import fresh_bases, parse_name
from tests.dying import killed_at
from tests.patience import until_files_are_later

MAIL = b"Message-ID: <1@host>\nSubject: a message\n\nIts body.\n" * 3
OTHER = b"Message-ID: <2@host>\nSubject: another one\n\nIts body.\n"
MTIME_NS = 1_234_567_890_123_456_789


BY_VERDICT = Cause("spam", 1000.0, How.MAILDIR, Verdict.SPAM, 0.99)
BY_HAND = Cause("spam", 1000.0)


class Site:
    """Folders on disk, as a ledger knows them."""

    def __init__(self, path: str, folders: dict[str, Folder]) -> None:
        self.path = path
        self.folders = folders
        self.ledger = Ledger(path)
        root = os.path.dirname(folders["INBOX"].path + "/")
        mailbox = self.ledger.locations.mailbox(root)[0]
        self.known = {
            name: FolderWithId(name, folder.path, self.ledger.locations.folder(mailbox, name))
            for name, folder in folders.items()
        }
        self.mover = self.make_mover(self.ledger)

    def make_mover(self, ledger: Ledger) -> Mover:
        """A mover over these folders."""
        clock = iter(range(1000, 10_000))
        bases = fresh_bases(lambda: 10**18, 7, "host")
        return Mover(ledger, lambda: float(next(clock)), bases, self.folder_of, MovedFile(None))

    def folder_of(self, folder: int) -> FolderWithId | None:
        """A folder by its id."""
        return next((known for known in self.known.values() if known.id == folder), None)

    def put(self, name: str, folder: str = "INBOX", content: bytes = MAIL, note: bool = True) -> Entry:
        """A message file, and what the ledger notes of it."""
        entry = Entry("cur" if ":" in name else "new", name)
        path = entry.path(self.folders[folder])
        Path(path).write_bytes(content)
        os.utime(path, ns=(MTIME_NS, MTIME_NS))
        if note:
            parsed = parse_name(name)
            message = self.ledger.messages.ensure(identity(content), "a message")
            self.ledger.locations.put(
                self.known[folder].id, parsed.key, message.id, "appeared", delivery(content), parsed.flags, 1.0
            )
        return entry

    def message(self) -> tuple[int, bytes]:
        """The ledger's id of the message, and its identity."""
        return self.ledger.messages.ensure(identity(MAIL), "a message").id, identity(MAIL)

    def move(self, entry: Entry, source: str = "INBOX", destination: str = "Junk") -> bool:
        """Move a file by the filter's verdict."""
        ends = self.known[source], entry, self.known[destination]
        intent = self.mover.intend(self.message(), *ends, BY_VERDICT)
        return self.mover.carry_out(intent, entry)

    def names(self, folder: str) -> list[str]:
        """The files of a folder, with `new/` or `cur/`."""
        return sorted(f"{entry.subdir}/{entry.name}" for entry in scan(self.folders[folder]))

    def actions(self) -> list[Action]:
        """Return the journal's lines about the message, the oldest first."""
        return self.ledger.journal.of_message(self.message()[0])

    def agrees(self) -> None:
        """Check that the ledger knows the place of each file and no other place, and that no move is open."""
        for name, folder in self.known.items():
            known = self.ledger.locations.files_in(folder.id)
            assert known.keys() == {parse_name(entry.name).key for entry in scan(self.folders[name])}, name
        assert self.ledger.journal.intents() == []


@pytest.fixture
def site(tmp_path: Path, maildir: Callable[..., dict[str, Folder]]) -> Iterator[Site]:
    """An inbox, a spam folder and an archive."""
    made = Site(str(tmp_path / "ledger"), maildir("Junk", "Archive"))
    yield made
    made.ledger.close()


@pytest.fixture
def far_site(tmp_path: Path, far_directory: Path, maildir: Callable[..., dict[str, Folder]]) -> Iterator[Site]:
    """The same with the spam folder on another file system."""
    folders = maildir("Archive") | {"Junk": maildir("Junk", root=far_directory)["Junk"]}
    made = Site(str(tmp_path / "ledger"), folders)
    yield made
    made.ledger.close()


# Moving and undoing.


def test_move(site: Site) -> None:
    """A move takes content, flags and modification time along, and the ledger knows the new place and the old."""
    entry = site.put("1.host,S=150:2,F")
    assert site.move(entry)
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["cur/1.host,S=150:2,F"])
    path = Path(site.folders["Junk"].subdir("cur"), "1.host,S=150:2,F")
    assert path.read_bytes() == MAIL
    assert path.stat().st_mtime_ns == MTIME_NS
    placed = site.ledger.locations.get(site.known["Junk"].id, "1.host,S=150")
    assert placed is not None
    assert (placed.origin, placed.flags, placed.content) == ("filter", "F", delivery(MAIL))
    assert [(action.state, action.why) for action in site.actions()] == [("done", "spam")]
    site.agrees()


def test_new_stays_new(site: Site) -> None:
    """A message in `new/` is moved into `new/`: nobody has seen it yet."""
    site.move(site.put("1.host"))
    assert site.names("Junk") == ["new/1.host"]


def test_uid_is_dropped(site: Site) -> None:
    """A synchroniser's UID belongs to the old folder and is dropped; size fields are kept."""
    site.move(site.put("1.host,S=150,U=7,W=160:2,"))
    assert site.names("Junk") == ["cur/1.host,S=150,W=160:2,"]
    site.agrees()


def test_keywords_are_translated(site: Site) -> None:
    """Keywords go along by their name; one that the new folder does not know is dropped."""
    Path(site.folders["INBOX"].subdir("dovecot-keywords")).write_text("0 $Junk\n1 todo\n")
    Path(site.folders["Junk"].subdir("dovecot-keywords")).write_text("3 $junk\n")
    site.move(site.put("1.host:2,ab"))
    assert site.names("Junk") == ["cur/1.host:2,d"]


def test_taken_name(site: Site) -> None:
    """If the name is taken the message gets a different one, and nothing is replaced."""
    site.put("1.host,S=5:2,", "Junk", OTHER)
    site.move(site.put("1.host,S=5:2,"))
    assert len(site.names("Junk")) == 2
    contents = {Path(entry.path(site.folders["Junk"])).read_bytes() for entry in scan(site.folders["Junk"])}
    assert contents == {MAIL, OTHER}
    assert all(",S=5" in name for name in site.names("Junk"))
    site.agrees()


def test_taken_name_that_the_ledger_does_not_know(site: Site) -> None:
    """A file that appeared under the wanted name a moment ago is not replaced either."""
    site.put("1.host:2,", "Junk", OTHER, note=False)
    site.move(site.put("1.host:2,"))
    assert Path(site.folders["Junk"].subdir("cur"), "1.host:2,").read_bytes() == OTHER
    assert site.ledger.locations.get(site.known["Junk"].id, site.actions()[-1].destination_base) is not None


def test_vanished(site: Site) -> None:
    """A message that vanished between the look and the rename is not moved, and the journal says so."""
    entry = site.put("1.host")
    os.unlink(entry.path(site.folders["INBOX"]))
    assert not site.move(entry)
    assert [action.state for action in site.actions()] == ["failed"]


def test_flags_changed_meanwhile(site: Site) -> None:
    """A message that a synchroniser renamed between the look and the rename is found again and moved."""
    entry = site.put("1.host")
    os.rename(entry.path(site.folders["INBOX"]), Path(site.folders["INBOX"].subdir("cur"), "1.host,U=3:2,a"))
    assert site.move(entry)
    assert site.names("Junk") == ["cur/1.host:2,"]
    site.agrees()


@pytest.mark.parametrize("flag", "DFPRST")
def test_read_meanwhile(site: Site, flag: str) -> None:
    """A message that a person reads or marks between the look and the rename stays in its place."""
    entry = site.put("1.host")
    os.rename(entry.path(site.folders["INBOX"]), Path(site.folders["INBOX"].subdir("cur"), f"1.host:2,{flag}"))
    assert not site.move(entry)
    assert site.names("INBOX") == [f"cur/1.host:2,{flag}"]
    assert [action.state for action in site.actions()] == ["failed"]
    site.agrees()


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("flag", "DFPRST")
def test_a_decision_about_a_message_that_is_read_meanwhile(site: Site, flag: str, is_killed: bool) -> None:
    """A message that a person has decided on goes, although it is read or marked before the rename, or after a kill."""
    entry = site.put("1.host")
    intent = site.mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND)
    os.rename(entry.path(site.folders["INBOX"]), Path(site.folders["INBOX"].subdir("cur"), f"1.host:2,{flag}"))
    assert site.mover.resolve() == 1 if is_killed else site.mover.carry_out(intent, entry)
    assert site.names("Junk") == [f"cur/1.host:2,{flag}"]
    site.agrees()


def second_name(site: Site, entry: Entry) -> Path:
    """The name that a mail server gives to a message's file in the archive."""
    name = Path(site.folders["Archive"].subdir("cur")) / "3.server:2,"
    os.link(entry.path(site.folders["INBOX"]), name)
    return name


def test_moved_by_a_server_meanwhile(site: Site) -> None:
    """A message to which a mail server gave a second name a moment ago is left to the server."""
    entry = site.put("1.host")
    second_name(site, entry)
    assert not site.move(entry)
    assert site.names("INBOX") == ["new/1.host"]
    assert site.names("Junk") == []
    assert [action.state for action in site.actions()] == ["failed"]


def test_moved_by_a_server_at_the_same_instant(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that gets its second name between our look and our rename is put back for the server to take."""
    entry = site.put("1.host")

    def server_first(*where: Any, **named: Any) -> str:
        monkeypatch.setattr(moves, "move", rename.move)
        second_name(site, entry)
        return rename.move(*where, **named)

    monkeypatch.setattr(moves, "move", server_first)
    assert not site.move(entry)
    assert site.names("INBOX") == ["new/1.host"]
    assert site.names("Junk") == []
    assert [action.state for action in site.actions()] == ["failed"]


def test_second_name_that_stays(site: Site) -> None:
    """A second name that a message has had for a while, as in a backup, does not hold it."""
    entry = site.put("1.host")
    second_name(site, entry)
    site.mover = Mover(site.ledger, lambda: time.time() + 60, iter(()), site.folder_of, MovedFile(None))
    assert site.move(entry)
    assert site.names("Junk") == ["new/1.host"]


def test_no_destination(site: Site) -> None:
    """A destination that is gone is an error that names it; the message stays, and no move is left open."""
    entry = site.put("1.host")
    for subdir in ("new", "cur", "tmp"):
        os.rmdir(site.folders["Junk"].subdir(subdir))
    with pytest.raises(MaildirError, match=r"\.Junk"):
        site.move(entry)
    assert site.names("INBOX") == ["new/1.host"]
    assert [action.state for action in site.actions()] == ["failed"]


def test_durability_fails(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If only the fsync after the rename fails, the ledger follows the file."""
    entry = site.put("1.host")

    def fails(path: str) -> None:
        raise OSError(errno.EIO, "the disk is failing")

    monkeypatch.setattr(rename, "sync", fails)
    assert site.move(entry)
    site.agrees()


def test_durability_fails_far(far_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across file systems too a message is never left doubled by a disk that cannot make it durable."""
    site = far_site
    entry = site.put("1.host")
    true, calls = rename.sync, []

    def fails_at_the_second(path: str) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.EIO, "the disk is failing")
        true(path)

    monkeypatch.setattr(rename, "sync", fails_at_the_second)
    assert site.move(entry)
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    site.agrees()


def test_undo(site: Site) -> None:
    """An undone move brings the message back with the flags it has now, and is marked as undone."""
    site.move(site.put("1.host"))
    (moved,) = site.actions()
    junk = site.folders["Junk"]
    os.rename(Path(junk.subdir("new"), "1.host"), Path(junk.subdir("cur"), "1.host:2,S"))
    site.mover.undo_move(moved)
    assert (site.names("INBOX"), site.names("Junk")) == (["cur/1.host:2,S"], [])
    assert [(action.state, action.why) for action in site.actions()] == [("undone", "spam"), ("done", "undo of 1")]
    placed = site.ledger.locations.get(site.known["INBOX"].id, "1.host")
    assert placed is not None
    assert (placed.origin, placed.content) == ("undo", delivery(MAIL))
    site.agrees()


def test_undo_of_undo(site: Site) -> None:
    """An undo is a move and can be undone: then the first move counts again."""
    site.move(site.put("1.host"))
    site.mover.undo_move(site.actions()[0])
    site.mover.undo_move(site.actions()[1])
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    assert [action.state for action in site.actions()] == ["done", "undone", "done"]
    site.agrees()


def test_undo_when_the_old_name_is_taken(site: Site) -> None:
    """An undo replaces no file that has come to the old place since."""
    site.move(site.put("1.host"))
    site.put("1.host", content=OTHER)
    site.mover.undo_move(site.actions()[0])
    contents = {Path(entry.path(site.folders["INBOX"])).read_bytes() for entry in scan(site.folders["INBOX"])}
    assert contents == {MAIL, OTHER}
    site.agrees()


def test_undo_too_late(site: Site) -> None:
    """A message that has left its destination is not moved back, and the error says why."""
    entry = site.put("1.host")
    site.move(entry)
    (moved,) = site.actions()
    os.rename(Path(site.folders["Junk"].subdir("new"), "1.host"), Path(site.folders["Archive"].subdir("cur"), "2.host"))
    with pytest.raises(SpamnbError, match="no longer in Junk"):
        site.mover.undo_move(moved)
    assert site.names("Archive") == ["cur/2.host"]
    del site.known["Junk"]
    with pytest.raises(SpamnbError, match="a folder of that move is gone"):
        site.mover.undo_move(moved)


def test_a_place_the_filter_emptied(site: Site) -> None:
    """A place that the filter emptied is not one that a person took a message from; an undo's place may be."""
    site.move(site.put("1.host"))
    assert [placed.folder_name for placed in site.ledger.locations.of_message(site.message()[0])] == ["Junk"]
    site.mover.undo_move(site.actions()[0])
    site.ledger.locations.gone(site.known["INBOX"].id, ["1.host"], 2000.0)
    assert [placed.folder_name for placed in site.ledger.locations.of_message(site.message()[0])] == ["INBOX"]


def test_find_a_folder(site: Site, tmp_path: Path) -> None:
    """A folder of the ledger is found on the disk while it exists."""
    root = str(tmp_path / "Maildir")
    folder = site.ledger.locations.folder(site.ledger.locations.mailbox(root)[0], "Junk")
    assert folder_of_id(site.ledger, folder, {}) == FolderWithId("Junk", site.folders["Junk"].path, folder)
    os.rename(root, root + ".away")
    assert folder_of_id(site.ledger, folder, {}) is None


# Ending what was interrupted.


def intend(site: Site, entry: Entry) -> int:
    """An intent that follows from a verdict, and then the crash."""
    ends = site.known["INBOX"], entry, site.known["Junk"]
    return site.mover.intend(site.message(), *ends, BY_VERDICT).action


def state(site: Site, action: int) -> str:
    """Return the state of an action."""
    found = site.ledger.journal.get(action)
    assert found is not None
    return found.state


def test_resolve_before_the_rename(site: Site) -> None:
    """Killed before the rename, the move is made at the next start."""
    action = intend(site, site.put("1.host"))
    assert site.mover.resolve() == 1
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    assert state(site, action) == "done"
    site.agrees()
    assert site.mover.resolve() == 0


def test_resolve_after_the_rename(site: Site) -> None:
    """After a kill behind the rename, the move is marked as done, with the present flags of the message."""
    action = intend(site, site.put("1.host"))
    os.rename(
        Path(site.folders["INBOX"].subdir("new"), "1.host"), Path(site.folders["Junk"].subdir("cur"), "1.host:2,S")
    )
    site.mover.resolve()
    placed = site.ledger.locations.get(site.known["Junk"].id, "1.host")
    assert placed is not None
    assert (placed.origin, placed.flags, placed.content) == ("filter", "S", delivery(MAIL))
    assert state(site, action) == "done"
    site.agrees()


def test_resolve_keeps_the_delivery_of_a_place_left_long_ago(site: Site) -> None:
    """Even if the old place was recorded as left before, the new place keeps the delivery."""
    intend(site, site.put("1.host"))
    os.rename(Path(site.folders["INBOX"].subdir("new"), "1.host"), Path(site.folders["Junk"].subdir("new"), "1.host"))
    site.ledger.locations.gone(site.known["INBOX"].id, ["1.host"], 2.0)
    site.mover.resolve()
    placed = site.ledger.locations.get(site.known["Junk"].id, "1.host")
    assert placed is not None
    assert placed.content == delivery(MAIL)


def test_resolve_both_files(site: Site) -> None:
    """A complete copy at the destination ends the move: the source is removed."""
    action = intend(site, site.put("1.host"))
    site.put("1.host", "Junk", note=False)
    site.mover.resolve()
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    assert state(site, action) == "done"
    site.agrees()


def test_resolve_neither_file(site: Site) -> None:
    """A message that another program has taken in between is left to it."""
    entry = site.put("1.host")
    action = intend(site, entry)
    os.rename(entry.path(site.folders["INBOX"]), Path(site.folders["Archive"].subdir("cur"), "9.host:2,S"))
    site.mover.resolve()
    assert site.names("Archive") == ["cur/9.host:2,S"]
    assert state(site, action) == "failed"
    assert site.ledger.journal.intents() == []


@pytest.mark.parametrize("info", ["", ":2,", ":2,S"])
def test_resolve_a_stranger_at_the_destination(site: Site, info: str) -> None:
    """Another message under the wanted name is not taken for ours, and stays."""
    action = intend(site, site.put("1.host:2,"))
    site.put("1.host" + info, "Junk", OTHER)
    site.mover.resolve()
    contents = {Path(entry.path(site.folders["Junk"])).read_bytes() for entry in scan(site.folders["Junk"])}
    assert contents == {MAIL, OTHER}
    assert site.names("INBOX") == []
    assert state(site, action) == "done"
    site.agrees()


def test_resolve_only_a_stranger(site: Site) -> None:
    """If the message is gone and a different one has the wanted name, the ledger keeps them apart."""
    entry = site.put("1.host")
    action = intend(site, entry)
    os.unlink(entry.path(site.folders["INBOX"]))
    site.put("1.host", "Junk", OTHER)
    site.mover.resolve()
    assert state(site, action) == "failed"
    placed = site.ledger.locations.get(site.known["Junk"].id, "1.host")
    assert placed is not None
    assert placed.content == delivery(OTHER)


def test_resolve_read_meanwhile(site: Site) -> None:
    """A message that a person read while the filter was down stays in its place."""
    entry = site.put("1.host")
    action = intend(site, entry)
    os.rename(entry.path(site.folders["INBOX"]), Path(site.folders["INBOX"].subdir("cur"), "1.host:2,S"))
    site.mover.resolve()
    assert site.names("INBOX") == ["cur/1.host:2,S"]
    assert state(site, action) == "failed"
    site.agrees()


@pytest.mark.parametrize("away", ["INBOX", "Junk"])
def test_resolve_waits_for_a_folder(site: Site, away: str) -> None:
    """While a folder is away, or is another mailbox's, the intent stays open; it is ended when the folder is back."""
    action = intend(site, site.put("1.host"))
    folder = site.known.pop(away)
    assert site.mover.resolve() == 0
    assert state(site, action) == "intent"
    site.known[away] = folder
    assert site.mover.resolve() == 1
    assert state(site, action) == "done"
    site.agrees()


def test_resolve_goes_on_past_a_folder_that_cannot_be_listed(site: Site) -> None:
    """An intent that cannot be ended yet does not keep the others from their end."""
    stuck = site.mover.intend(
        site.message(), site.known["Archive"], site.put("2.host", "Archive"), site.known["Junk"], BY_HAND
    ).action
    action = intend(site, site.put("1.host"))
    new = site.folders["Archive"].subdir("new")
    os.rename(new, new + ".away")
    assert site.mover.resolve() == 1
    assert (state(site, stuck), state(site, action)) == ("intent", "done")
    os.rename(new + ".away", new)
    assert site.mover.resolve() == 1
    site.agrees()


def test_ended_by_another_process(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks an intent looks open; a move that another process has ended counts as made."""
    monkeypatch.setattr(fcntl, "fcntl", no_locks)
    entry = site.put("1.host")
    intent = site.mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND)
    with Ledger(site.path) as other:
        site.make_mover(other).resolve()
    assert site.mover.carry_out(intent, entry)
    assert state(site, intent.action) == "done"
    site.agrees()


def no_locks(*_: object) -> None:
    """A file system that has none."""
    raise OSError(errno.ENOLCK, "no locks here")


@contextlib.contextmanager
def moving_in_another_process(site: Site) -> Iterator[tuple[int, int]]:
    """A process that has written its intent and waits for a byte before the move; with its number."""
    entry = site.put("1.host")
    (told, tell), (wait, go) = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours runs
        child = os.fork()
    if child == 0:
        code = 1
        try:
            true = moves.move

            def held(*where: Any, **named: Any) -> str:
                os.write(tell, b".")
                os.read(wait, 1)
                return true(*where, **named)

            with Ledger(site.path) as ledger, mock.patch.object(moves, "move", held):
                moving(site, ledger, entry)
            code = 0
        finally:
            os._exit(code)
    os.close(tell)  # so that a child that has failed is not waited for
    try:
        assert os.read(told, 1) == b"."
        yield child, go
    finally:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(child, os.WNOHANG) == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        for end in (told, wait, go):
            os.close(end)


def test_resolve_leaves_a_living_process_its_own(far_site: Site) -> None:
    """An intent of another process that lives is not ended for it: the message is moved once, by that process."""
    site = far_site
    with moving_in_another_process(site) as (child, go):
        assert site.mover.resolve() == 0
        assert (site.names("INBOX"), site.names("Junk")) == (["new/1.host"], [])
        assert site.mover.is_being_moved_in(site.known["Junk"].id, "1.host")
        os.write(go, b".")
        assert os.waitpid(child, 0)[1] == 0
    assert site.mover.resolve() == 0
    assert not site.mover.is_being_moved_in(site.known["Junk"].id, "1.host")
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    site.agrees()


def test_one_file_is_moved_by_one_process(far_site: Site) -> None:
    """A file that one process is moving is refused to a second mover, and has one place in the end."""
    site = far_site
    with moving_in_another_process(site) as (child, go):
        with pytest.raises(BeingMovedError, match="another process is moving"):
            site.move(Entry("new", "1.host"), destination="Archive")
        os.write(go, b".")
        assert os.waitpid(child, 0)[1] == 0
    assert (site.names("INBOX"), site.names("Junk"), site.names("Archive")) == ([], ["new/1.host"], [])
    site.agrees()


def test_an_intent_is_ended_once(far_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If two processes find an intent without an owner, one ends it, and the other leaves it alone."""
    site = far_site
    entry = site.put("1.host")
    with Ledger(site.path) as dead:
        site.make_mover(dead).intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND)
    true = moves.move

    def meanwhile(*where: Any, **named: Any) -> str:
        monkeypatch.setattr(moves, "move", true)
        with Ledger(site.path) as other:
            assert site.make_mover(other).resolve() == 0
        return true(*where, **named)

    monkeypatch.setattr(moves, "move", meanwhile)
    assert site.mover.resolve() == 1
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    site.agrees()


def test_resolve_after_the_other_process_died(far_site: Site) -> None:
    """As soon as the other process is gone, however it ended, what it has left open is ended."""
    site = far_site
    with moving_in_another_process(site) as (child, _):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert site.mover.resolve() == 1
    assert (site.names("INBOX"), site.names("Junk")) == ([], ["new/1.host"])
    site.agrees()


def test_only_its_own_drafts_are_removed(far_site: Site) -> None:
    """Files of other programs and other moves in `tmp/` stay, also while their owner lives."""
    site = far_site
    tmp = Path(site.folders["Junk"].subdir("tmp"))
    others = ["move.abcdefgh.part", "1.host", "deliver.xyz.part", f"{rename._draft_prefix('2.host')}x.part"]
    for name in others:
        (tmp / name).touch()
    own = tmp / f"{rename._draft_prefix('1.host')}y.part"
    own.touch()
    with moving_in_another_process(site) as (child, _):
        site.mover.resolve()
        assert own.exists()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert site.mover.resolve() == 1
    assert sorted(os.listdir(tmp)) == sorted(others)


def test_resolve_reads_the_state_last(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An intent that its owner ended between our listing and our look at the owner is not made a second time."""
    entry = site.put("1.host")
    intent = site.mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND)
    listed = site.ledger.journal.intents()
    assert site.mover.carry_out(intent, entry)
    site.mover.undo_move(site.actions()[0])
    monkeypatch.setattr(site.ledger.journal, "intents", lambda: listed)
    assert site.mover.resolve() == 0
    assert (site.names("INBOX"), site.names("Junk")) == (["new/1.host"], [])


def test_a_name_that_is_listed_and_cannot_be_opened(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a listed name cannot be opened, the move is given up with an error, and ended later."""
    entry = site.put("1.host")
    intent = site.mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND)

    def denied(path: str, _: Folder) -> Iterator[bytes]:
        raise FileNotFoundError(errno.ENOENT, "a stale handle", path)

    with monkeypatch.context() as stale:
        stale.setattr(moves, "read_chunks", denied)
        with pytest.raises(MaildirError, match="gone whenever it is opened"):
            site.mover.carry_out(intent, entry)
    assert site.names("INBOX") == ["new/1.host"]


# What an IMAP server sees.

OLD_NS = 1_000_000_000_000_000_000


def age_cur(site: Site, folder: str) -> str:
    """The folder's `cur/`, in which nothing has happened for years."""
    cur = site.folders[folder].subdir("cur")
    os.utime(cur, ns=(OLD_NS, OLD_NS))
    return cur


@pytest.mark.parametrize("where", ["site", "far_site"])
def test_cur_is_touched(request: pytest.FixtureRequest, where: str) -> None:
    """When a message leaves `new/`, by a move or an undo, the mtime of that folder's `cur/` changes."""
    site: Site = request.getfixturevalue(where)
    cur = age_cur(site, "INBOX")
    site.move(site.put("1.host"))
    assert os.stat(cur).st_mtime_ns != OLD_NS
    cur = age_cur(site, "Junk")
    site.mover.undo_move(site.actions()[0])
    assert os.stat(cur).st_mtime_ns != OLD_NS


def test_touched_within_the_clocks_grain(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mtime changes even if the clock has not advanced since the last change."""
    cur = age_cur(site, "INBOX")
    true = os.utime

    def coarse(path: str, ns: tuple[int, int] = (OLD_NS, OLD_NS), **how: Any) -> None:
        true(path, ns=ns, **how)

    entry = site.put("1.host")
    monkeypatch.setattr(os, "utime", coarse)
    site.move(entry)
    assert os.stat(cur).st_mtime_ns != OLD_NS


def test_a_refused_touch_is_no_fault(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is moved even if the mtime of `cur/` may not be changed."""
    entry = site.put("1.host")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "utime", refused)
    assert site.move(entry)
    site.mover.departures.touch_all(lambda seconds: None)
    site.agrees()


def test_resolve_touches(site: Site) -> None:
    """Killed between the rename and the touch, the touch is made at the next start."""
    intend(site, site.put("1.host"))
    os.rename(Path(site.folders["INBOX"].subdir("new"), "1.host"), Path(site.folders["Junk"].subdir("new"), "1.host"))
    cur = age_cur(site, "INBOX")
    site.mover.resolve()
    assert os.stat(cur).st_mtime_ns != OLD_NS


@pytest.mark.parametrize(("is_rescued", "label"), [(True, None), (False, Label.HAM), (False, Label.SPAM)])
def test_wanted_since(site: Site, is_rescued: bool, label: Label | None) -> None:
    """A move that was left open is not made of mail that a person has rescued, or called ham, since it was decided."""
    entry = site.put("1.host")
    site.mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_VERDICT)
    if is_rescued:
        site.ledger.messages.rescued(site.message()[0], 2.0)
    if label is not None:
        training.learn_message(site.ledger, MAIL, label, "by hand", 2.0, how=How.HAND)
    assert site.mover.resolve() == 1
    stays = label is not Label.SPAM
    assert (site.names("INBOX"), site.names("Junk")) == ((["new/1.host"], []) if stays else ([], ["new/1.host"]))
    assert [one.state for one in site.actions() if one.kind == "moved"] == ["failed" if stays else "done"]
    site.agrees()


@pytest.mark.parametrize("way", [[], ["Junk"], ["Junk", "Archive"]], ids=lambda way: " and ".join(way) or "none")
def test_taken_back_before_the_start(site: Site, way: list[str]) -> None:
    """A message that was moved before the kill, and that is back under its old name, is not moved again."""
    entry, now = site.put("1.host"), time.time()
    dying = Ledger(site.path)
    mover = Mover(dying, lambda: now, iter(()), site.folder_of, MovedFile(None))
    folders = site.known["INBOX"], entry, site.known["Junk"]
    mover.intend(site.message(), *folders, BY_VERDICT._replace(at=now))
    dying.close()
    path, stays = Path(entry.path(site.folders["INBOX"])), bool(way)
    until_files_are_later(Path(site.path).parent)
    for folder in [*way, "INBOX"] if stays else []:
        path = path.rename(Path(site.folders[folder].subdir("new"), "1.host"))
    assert site.mover.resolve() == 1
    assert (site.names("INBOX"), site.names("Junk")) == ((["new/1.host"], []) if stays else ([], ["new/1.host"]))
    site.agrees()


def test_touched_again(site: Site) -> None:
    """`cur/` is touched three times more, the last time five seconds after the last message has left."""
    now = [1000.0]
    site.mover = Mover(site.ledger, lambda: now[0], iter(()), site.folder_of, MovedFile(None))
    site.move(site.put("1.host"))
    assert touches(site, now) == 3
    site.mover.undo_move(site.actions()[0])
    now[0] += 0.5
    site.mover.departures.touch()
    assert touches(site, now) == 2
    assert now[0] == 1010.0


def test_an_end_is_not_long(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends touches `cur/` for a second, and not for longer."""
    monkeypatch.setattr(departures, "_END_SECONDS", 1.0)
    now = [1000.0]
    site.mover = Mover(site.ledger, lambda: now[0], iter(()), site.folder_of, MovedFile(None))
    site.move(site.put("1.host"))
    cur = age_cur(site, "INBOX")
    site.mover.departures.touch_all(lambda seconds: now.append(now.pop() + seconds))
    assert now[0] == 1001.0
    assert os.stat(cur).st_mtime_ns != OLD_NS


def touches(site: Site, now: list[float]) -> int:
    """How often the folders are touched again, each time when it is due and not before."""
    number = 0
    while (due := site.mover.departures.due()) is not None:
        left = [age_cur(site, name) for name in ("INBOX", "Junk")]
        site.mover.departures.touch()
        assert {os.stat(cur).st_mtime_ns for cur in left} == {OLD_NS}, "too early"
        now[0] = due
        site.mover.departures.touch()
        assert {os.stat(cur).st_mtime_ns for cur in left} != {OLD_NS}
        number += 1
    return number


# Killed at each call.


@pytest.fixture(params=["renameat2", "link", "rename"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three ways to rename."""

    def no_flags(source: str, destination: str, **_: object) -> None:
        raise OSError(errno.EINVAL, "no flags here")

    def no_link(source: str, destination: str, **_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if request.param != "renameat2":
        monkeypatch.setattr(rename, "_rename_flagged", no_flags)
    if request.param == "rename":
        monkeypatch.setattr(os, "link", no_link)


def all_contents(site: Site) -> list[bytes]:
    """Return the contents of all folders."""
    found = []
    for folder in site.folders.values():
        for entry in scan(folder):
            path = Path(entry.path(folder))
            assert path.stat().st_mtime_ns == MTIME_NS
            found.append(path.read_bytes())
    return found


def kill_at_each_call(site: Site, work: Callable[[Site, Ledger, Entry], None], prepare: Callable[[Site], Entry]) -> int:
    """Kill the work before each of its calls in turn; after each kill no message is lost, and the rest is repaired.

    Returns at how many calls it was killed.
    """
    at = 0
    killed = True
    while killed:
        at += 1
        entry = prepare(site)
        killed = killed_at(at, site.path, lambda ledger, entry=entry: work(site, ledger, entry))  # type: ignore[misc]
        assert set(all_contents(site)) == {MAIL}, f"after call {at}"
        site.mover.resolve()
        assert all_contents(site) == [MAIL], f"after call {at}"
        assert [os.listdir(folder.subdir("tmp")) for folder in site.folders.values()] == [[], [], []], f"call {at}"
        site.agrees()
        for folder in site.folders.values():
            for entry in scan(folder):
                assert parse_name(entry.name).flags == "F"
    return at - 1


def fresh(site: Site) -> Entry:
    """Check that the message is in the inbox, and nowhere else."""
    for name, folder in site.folders.items():
        for entry in scan(folder):
            os.unlink(entry.path(folder))
        bases = list(site.ledger.locations.files_in(site.known[name].id))
        site.ledger.locations.gone(site.known[name].id, bases, 1.0)
    return site.put("1.host,S=150:2,F")


def moving(site: Site, ledger: Ledger, entry: Entry) -> None:
    """Move the message to the spam folder."""
    mover = site.make_mover(ledger)
    mover.carry_out(mover.intend(site.message(), site.known["INBOX"], entry, site.known["Junk"], BY_HAND), entry)


def moved(site: Site) -> Entry:
    """Check that the message is in the spam folder, and that the filter put it there."""
    site.move(fresh(site))
    return Entry("", "")


def undoing(site: Site, ledger: Ledger, entry: Entry) -> None:
    """Take the last move back."""
    site.make_mover(ledger).undo_move(site.actions()[-1])


@pytest.mark.usefixtures("way")
def test_killed_while_moving(site: Site) -> None:
    """Killed at any call of a move, the message exists exactly once after the next start, and the ledger agrees."""
    assert kill_at_each_call(site, moving, fresh) >= 10


@pytest.mark.thorough
def test_killed_while_moving_far(far_site: Site) -> None:
    """Killed at any call of a move across file systems, the message exists exactly once after the next start."""
    assert kill_at_each_call(far_site, moving, fresh) >= 15


def test_killed_while_undoing(site: Site) -> None:
    """Killed at any call of an undo, the move that it undoes is marked as undone exactly when the message is back."""

    def check(one: Site) -> Entry:
        if actions := one.actions():
            undone = actions[-1].why.startswith("undo of") and actions[-1].state == "done"
            assert bool(one.names("INBOX")) == undone
            assert actions[-2 if undone else -1].state == ("undone" if undone else "done")
        return moved(one)

    assert kill_at_each_call(site, undoing, check) >= 10
    check(site)
