"""Moving a message so that no crash can lose it."""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import MaildirError
from spamnb.maildir import rename
from spamnb.maildir.folders import Folder, FolderUnavailableError, create_folder
from spamnb.maildir.messages import deliver, scan
from spamnb.maildir.rename import finish, move, rename_noreplace
from tests.dying import Fuse, kill, killed

CONTENT = b"Subject: x\n\n" + bytes(range(256)) * 768  # more than one chunk of the copy
MTIME_NS = 1_234_567_890_123_456_789


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename, "_CHUNK", 128 << 10)


def no_renameat2(source: str, destination: str, **_: object) -> None:
    raise OSError(errno.EINVAL, "no flags here")


def no_link(source: str, destination: str, **_: object) -> None:
    raise OSError(errno.EPERM, "no links here")


@pytest.fixture(params=["renameat2", "link", "rename"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the three ways to rename."""
    if request.param != "renameat2":
        monkeypatch.setattr(rename, "_rename_flagged", no_renameat2)
    if request.param == "rename":
        monkeypatch.setattr(os, "link", no_link)
    return str(request.param)


@pytest.fixture
def inbox(tmp_path: Path) -> Folder:
    return create_folder(str(tmp_path / "mail"), "maildir++", "INBOX")


@pytest.fixture
def junk(tmp_path: Path) -> Folder:
    return create_folder(str(tmp_path / "mail"), "maildir++", "Junk")


@pytest.fixture
def far(far_directory: Path) -> Folder:
    """A folder on another file system."""
    return create_folder(str(far_directory), "maildir++", "Junk")


@pytest.fixture
def message(inbox: Folder) -> str:
    path = deliver(inbox, CONTENT, "1.M2P3.host")
    os.chmod(path, 0o640)
    os.utime(path, ns=(MTIME_NS, MTIME_NS))
    return path


def is_intact(path: str) -> bool:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        return file.read() == CONTENT and status.st_mtime_ns == MTIME_NS and stat.S_IMODE(status.st_mode) == 0o640


def files(folder: Folder) -> list[str]:
    return [entry.path(folder) for entry in scan(folder)]


def test_rename_noreplace(tmp_path: Path, way: str) -> None:
    """The file changes its name, of any bytes, and nothing else."""
    source, destination = str(tmp_path / "caf\udce9"), str(tmp_path / "new\nname:2,S")
    Path(source).write_bytes(b"x")
    rename_noreplace(source, destination)
    assert os.listdir(tmp_path) == ["new\nname:2,S"]


def test_rename_never_replaces(tmp_path: Path, way: str) -> None:
    """A file or a dangling link that has the destination's name stays, and so does the source."""
    source = tmp_path / "source"
    source.write_bytes(b"source")
    (tmp_path / "file").write_bytes(b"file")
    (tmp_path / "link").symlink_to("nowhere")
    for destination in ("file", "link"):
        with pytest.raises(FileExistsError):
            rename_noreplace(str(source), str(tmp_path / destination))
    assert source.read_bytes() == b"source"
    assert (tmp_path / "file").read_bytes() == b"file"
    assert (tmp_path / "link").is_symlink()


def test_rename_of_nothing(tmp_path: Path, way: str) -> None:
    """A source that vanished is a FileNotFoundError in each way of renaming."""
    with pytest.raises(FileNotFoundError):
        rename_noreplace(str(tmp_path / "gone"), str(tmp_path / "x"))


def test_other_faults_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is not taken for an old kernel."""

    def full(source: str, destination: str, **_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(rename, "_rename_flagged", full)
    with pytest.raises(OSError, match="full"):
        rename_noreplace(str(tmp_path / "a"), str(tmp_path / "b"))


def test_move_keeps_everything(message: str, junk: Folder, way: str) -> None:
    """A move keeps content, mtime and mode, and makes nothing else."""
    path = move(message, junk, "cur", "1.M2P3.host:2,S")
    assert path == os.path.join(junk.subdir("cur"), "1.M2P3.host:2,S")
    assert is_intact(path)
    assert files(junk) == [path]
    assert not os.path.exists(message)
    assert os.listdir(junk.subdir("tmp")) == []


def test_move_across_file_systems(message: str, inbox: Folder, far: Folder, way: str) -> None:
    """A copy to another file system keeps content, owner, mtime and mode, and then the source goes."""
    owner = os.geteuid() or 54_321
    os.chown(message, owner, -1)
    path = move(message, far, "new", "1.M2P3.host")
    assert is_intact(path)
    assert os.stat(path).st_uid == owner
    assert files(far) == [path]
    assert files(inbox) == []
    assert os.listdir(far.subdir("tmp")) == []


def test_move_to_a_taken_name(message: str, far: Folder, junk: Folder, way: str) -> None:
    """A taken name is left alone on either file system, the source stays, and no draft is left."""
    for folder in (junk, far):
        other = deliver(folder, b"other", "1.M2P3.host")
        with pytest.raises(FileExistsError):
            move(message, folder, "new", "1.M2P3.host")
        assert Path(other).read_bytes() == b"other"
        assert is_intact(message)
        assert os.listdir(folder.subdir("tmp")) == []


def test_move_from_a_vanished_source(message: str, far: Folder, junk: Folder) -> None:
    """A source that vanished raises FileNotFoundError and leaves nothing behind."""
    for folder in (junk, far):
        with pytest.raises(FileNotFoundError):
            move(message + "gone", folder, "new", "x")
        assert files(folder) == []


def test_move_to_a_vanished_folder(message: str, junk: Folder) -> None:
    """A destination that is not there is unavailable, which is not the same as a vanished message."""
    os.rmdir(junk.subdir("cur"))
    with pytest.raises(FolderUnavailableError):
        move(message, junk, "cur", "x:2,")
    assert is_intact(message)


@pytest.mark.parametrize("replaced", [".Junk", ".Junk/cur"])
@pytest.mark.parametrize("is_far", [False, True])
def test_no_link_is_followed(
    message: str, junk: Folder, far: Folder, tmp_path: Path, way: str, replaced: str, is_far: bool
) -> None:
    """If a symbolic link replaces the destination, nothing is moved through it or written there."""
    folder = far if is_far else junk
    other = create_folder(str(tmp_path / "other"), "maildir++", "Junk")
    in_the_way, target = (Path(each.path).parent / replaced for each in (folder, other))
    shutil.rmtree(in_the_way)
    in_the_way.symlink_to(target)
    with pytest.raises(FolderUnavailableError, match=f"{in_the_way}'?, a symbolic link, is in the way"):
        move(message, folder, "cur", "x:2,")
    assert is_intact(message)
    assert [path for path in Path(other.path).rglob("*") if path.is_file() and path.name != "maildirfolder"] == []


def test_no_link_above_the_folder_is_followed(message: str, tmp_path: Path) -> None:
    """A folder in a folder is not reached by a link in the other's place; the root itself may be one."""
    root = tmp_path / "by-a-link"
    root.symlink_to(tmp_path / "mail")
    folder = create_folder(str(root), "fs", "Old/Junk")
    message = move(message, folder, "cur", "1.host:2,S")
    assert is_intact(str(tmp_path / "mail/Old/Junk/cur/1.host:2,S"))
    (root / "Old").rename(root / "Aside")
    (root / "Old").symlink_to("Aside")
    with pytest.raises(FolderUnavailableError, match=r"Old'?, a symbolic link"):
        move(str(root / "Aside/Junk/cur/1.host:2,S"), folder, "cur", "2.host:2,S")


@pytest.mark.parametrize("is_far", [False, True])
def test_no_link_above_the_source_is_followed(
    message: str, junk: Folder, far: Folder, tmp_path: Path, way: str, is_far: bool
) -> None:
    """Where a symbolic link has taken the place of a directory above the source, nothing is moved from behind it."""
    inbox = Path(message).parent.parent
    folder = Folder("INBOX", str(inbox), levels=1)
    inbox.rename(tmp_path / "aside")
    inbox.symlink_to(tmp_path / "aside")
    with pytest.raises(NotADirectoryError):
        move(
            message,
            far if is_far else create_folder(str(tmp_path / "other"), "fs", "Junk"),
            "cur",
            "x:2,",
            within=folder,
        )
    assert is_intact(message)


def test_a_link_comes_at_the_rename(
    message: str, junk: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something that replaces the destination after our look gets nothing: the opened folder does."""
    other = create_folder(str(tmp_path / "other"), "maildir++", "Junk")
    flagged = rename._rename_flagged

    def too_late(source: str, destination: str, **where: int | None) -> None:
        os.rename(junk.path, tmp_path / "aside")
        os.symlink(other.path, junk.path)
        flagged(source, destination, **where)

    monkeypatch.setattr(rename, "_rename_flagged", too_late)
    move(message, junk, "cur", "x:2,")
    assert files(other) == []
    assert is_intact(str(tmp_path / "aside/cur/x:2,"))


def test_a_source_folder_removed_after_the_move(message: str, junk: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a client removes once its last message has left does not make the move look failed."""
    durable = rename.sync

    def removed_behind_us(path: str | int) -> None:
        if path == os.path.dirname(message):
            os.rmdir(path)
        durable(path)

    monkeypatch.setattr(rename, "sync", removed_behind_us)
    assert is_intact(move(message, junk, "cur", "x:2,"))


def test_a_source_taken_by_another_hand(
    message: str, far: Folder, inbox: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a client renames the source during the copy, the copy is removed: one message, one file."""
    renamed = os.path.join(inbox.subdir("cur"), "1.M2P3.host:2,S")
    unlink = os.unlink

    def client_is_first(path: str, **where: int | None) -> None:
        if path == message:
            os.rename(message, renamed)
        unlink(path, **where)

    monkeypatch.setattr(os, "unlink", client_is_first)
    with pytest.raises(FileNotFoundError):
        move(message, far, "new", "1.M2P3.host")
    assert files(far) == []
    assert is_intact(renamed)


def lost_answers(monkeypatch: pytest.MonkeyPatch, *calls: str) -> None:
    """A call is carried out, and the answer is lost: it is made again, as NFS does, and finds it done."""
    for name in calls:
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, call=call, **how: (call(*args, **how), call(*args, **how)))


@pytest.mark.parametrize("calls", [("unlink",), ("link",), ("link", "unlink")])
def test_lost_answers(message: str, junk: Folder, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...]) -> None:
    """A call that NFS repeats after a lost answer neither loses nor doubles the message."""
    monkeypatch.setattr(rename, "_rename_flagged", no_renameat2)
    lost_answers(monkeypatch, *calls)
    assert is_intact(move(message, junk, "new", "1.M2P3.host"))
    assert not os.path.exists(message)
    assert len(files(junk)) == 1


def test_lost_answer_across(message: str, far: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds if the message was copied to a different file system."""
    lost_answers(monkeypatch, "unlink")
    assert is_intact(move(message, far, "new", "1.M2P3.host"))
    assert not os.path.exists(message)


def test_written_while_it_is_copied(message: str, far: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that still grows after its copy stays, complete."""
    final = rename.rename_noreplace

    def writer_goes_on(source: str, destination: str, **where: int | None) -> None:
        final(source, destination, **where)
        with open(message, "ab") as file:
            file.write(b"and the rest")

    monkeypatch.setattr(rename, "rename_noreplace", writer_goes_on)
    with pytest.raises(MaildirError, match="still being written"):
        move(message, far, "new", "1.M2P3.host")
    assert files(far) == []
    assert Path(message).read_bytes() == CONTENT + b"and the rest"


def test_a_full_disk_leaves_no_draft(message: str, far: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that fails half way is removed, and the source stays."""

    def full(file: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="full"):
        move(message, far, "new", "1.M2P3.host")
    assert is_intact(message)
    assert os.listdir(far.subdir("tmp")) == []


def test_special_files_are_not_copied(inbox: Folder, far: Folder) -> None:
    """A FIFO does not travel to another file system, and does not stop us."""
    fifo = os.path.join(inbox.subdir("new"), "fifo")
    os.mkfifo(fifo)
    with pytest.raises(MaildirError):
        move(fifo, far, "new", "fifo")


def test_a_left_draft_is_not_in_the_way(message: str, far: Folder) -> None:
    """A draft of a killed process stays unchanged."""
    left = Path(far.subdir("tmp")) / f"move.P{os.getpid()}Q0"
    left.write_bytes(b"left")
    assert is_intact(move(message, far, "new", "x"))
    assert left.read_bytes() == b"left"


def test_finish_refuses_what_is_no_copy(message: str, inbox: Folder, junk: Folder, tmp_path: Path) -> None:
    """Two different messages, or one file under one name, are not a move to be finished."""
    other = deliver(junk, CONTENT[:-1] + b"!", "1.M2P3.host")
    with pytest.raises(MaildirError, match="not a copy"):
        finish(message, other, inbox, junk)
    (tmp_path / "link").symlink_to(inbox.path)
    spelled_otherwise = Folder("INBOX", str(tmp_path / "link"))
    destination = os.path.join(spelled_otherwise.subdir("new"), os.path.basename(message))
    with pytest.raises(MaildirError, match="one file"):
        finish(message, destination, inbox, spelled_otherwise)
    assert is_intact(message)


def test_finish_follows_no_link(message: str, inbox: Folder, junk: Folder, tmp_path: Path) -> None:
    """A link that has taken the place of the source's folder does not lead to a file that is removed."""
    copy = deliver(junk, CONTENT, "1.M2P3.host")
    (tmp_path / "mail" / "Old").symlink_to(inbox.path)
    linked = Folder("Old", str(tmp_path / "mail" / "Old"), levels=1)
    with pytest.raises(OSError, match="Old"):
        finish(os.path.join(linked.subdir("new"), os.path.basename(message)), copy, linked, junk)
    assert is_intact(message)


# A child process moves a message, and is killed just before its system call number N; with N beyond the last it lives.
# Each call that can change or order anything on the disk counts.


def move_with(fuse: Fuse, source: str, folder: Folder, name: str) -> None:
    """In a child process: move the message, each system call by way of the fuse."""
    with contextlib.ExitStack() as stack:
        for called in ["open", "read", "write", "fchmod", "utime", "fsync", "close", "link", "unlink", "rename"]:
            stack.enter_context(mock.patch.object(os, called, fuse.through(getattr(os, called))))
        stack.enter_context(mock.patch.object(rename, "_rename_flagged", fuse.through(rename._rename_flagged)))
        move(source, folder, "cur", name)


def kill_at_each_step(source: str, folder: Folder) -> Iterator[list[str]]:
    """Move the same message again and again, killed one system call later each time; yields which of source
    and destination exist after each kill, and at last after the move that was not killed."""
    destination = os.path.join(folder.subdir("cur"), "1.M2P3.host:2,S")
    is_killed = True
    step = 0
    while is_killed:
        step += 1
        for path in (source, destination):
            Path(path).unlink(missing_ok=True)
        Path(source).write_bytes(CONTENT)
        os.chmod(source, 0o640)
        os.utime(source, ns=(MTIME_NS, MTIME_NS))
        fuse = Fuse(step, kill)
        is_killed = killed(lambda fuse=fuse: move_with(fuse, source, folder, os.path.basename(destination)))
        yield [path for path in (source, destination) if os.path.lexists(path)]
    assert step > 5


@pytest.mark.parametrize("way", ["renameat2", "rename"], indirect=True)
def test_killed_move_has_one_file(message: str, junk: Folder, way: str) -> None:
    """Killed at any system call of a move by rename, the message exists exactly once, intact."""
    for left in kill_at_each_step(message, junk):
        (path,) = left
        assert is_intact(path)
    assert path != message


@pytest.mark.parametrize("way", ["link"], indirect=True)
def test_killed_move_by_link_has_one_file_or_one_file_twice(
    message: str, inbox: Folder, junk: Folder, way: str
) -> None:
    """Without renameat2 a kill may leave both names of one file; `finish` makes it one name."""
    both = 0
    for left in kill_at_each_step(message, junk):
        if len(left) == 2:
            both += 1
            assert os.path.samefile(*left)
            finish(left[0], left[1], inbox, junk)
        (path,) = (path for path in left if os.path.exists(path))
        assert is_intact(path)
    assert both == 1
    assert path != message


@pytest.mark.thorough
def test_killed_move_across_keeps_the_source(message: str, inbox: Folder, far: Folder, way: str) -> None:
    """Killed at any system call of a copy, the source stays until the destination is complete."""
    both = 0
    for left in kill_at_each_step(message, far):
        assert left
        assert all(is_intact(path) for path in left)
        if len(left) == 2:
            both += 1
            finish(left[0], left[1], inbox, far)
            assert not os.path.exists(message)
            assert is_intact(left[1])
    assert both >= 1
    assert left[0] != message
