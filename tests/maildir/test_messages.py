"""Listing, finding, reading and delivering messages."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.errors import MaildirError
from spamnb.maildir import messages
from spamnb.maildir.folders import Folder, FolderUnavailableError, create_folder
from spamnb.maildir.messages import Entry, deliver, locate, read_bytes, read_chunks, scan


@pytest.fixture
def inbox(tmp_path: Path) -> Folder:
    return create_folder(str(tmp_path / "mail"), "maildir++", "INBOX")


def put(folder: Folder, subdir: str, name: str) -> str:
    path = os.path.join(folder.subdir(subdir), name)
    with open(path, "xb") as file:
        file.write(b"Subject: x\n\n")
    return path


ODD_NAMES = ["caf\udce9:2,S", "with space", "new\nline:2,", "a:2,S:2,", "no info", ":2,", "x,S=12,U=3:2,Sa"]


def test_scan_names_any_bytes(inbox: Folder) -> None:
    """Every file name is returned unchanged, and leads to the file."""
    for name in ODD_NAMES:
        put(inbox, "cur", name)
    put(inbox, "new", "fresh")
    found = scan(inbox)
    assert set(found) == {Entry("new", "fresh"), *(Entry("cur", name) for name in ODD_NAMES)}
    assert all(os.path.exists(entry.path(inbox)) for entry in found)


def test_scan_lists_regular_files_only(inbox: Folder) -> None:
    """Dot-files, directories, links and FIFOs are not messages, and tmp/ is not read."""
    target = put(inbox, "cur", "real:2,")
    put(inbox, "cur", ".hidden")
    put(inbox, "tmp", "unfinished")
    os.mkdir(os.path.join(inbox.subdir("cur"), "directory"))
    os.symlink(target, os.path.join(inbox.subdir("cur"), "link"))
    os.mkfifo(os.path.join(inbox.subdir("new"), "fifo"))
    assert scan(inbox) == [Entry("cur", "real:2,")]


@pytest.mark.parametrize("missing", ["new", "cur", ""])
def test_a_vanished_folder_is_unknown(inbox: Folder, missing: str) -> None:
    """A folder that is gone or half gone is unavailable, never empty."""
    shutil.rmtree(os.path.join(inbox.path, missing))
    with pytest.raises(FolderUnavailableError, match="unknown"):
        scan(inbox)
    with pytest.raises(FolderUnavailableError):
        locate(inbox, "x")


def test_a_linked_cur_is_not_followed(inbox: Folder, tmp_path: Path) -> None:
    """A cur/ that was replaced by a symbolic link is not listed."""
    os.rename(inbox.subdir("cur"), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", inbox.subdir("cur"))
    with pytest.raises(FolderUnavailableError):
        scan(inbox)


def test_no_link_above_a_folder_is_followed(inbox: Folder, tmp_path: Path) -> None:
    """Mail is neither listed nor read behind a link in the place of a directory that a user can replace."""
    path, folder = put(inbox, "cur", "x:2,S"), Folder("INBOX", inbox.path, levels=1)
    assert scan(folder) == [Entry("cur", "x:2,S")]
    assert b"".join(read_chunks(path, folder)) == b"Subject: x\n\n"
    os.rename(inbox.path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", inbox.path)
    assert scan(inbox) == [Entry("cur", "x:2,S")]
    with pytest.raises(FolderUnavailableError, match="unknown until"):
        scan(folder)
    with pytest.raises(MaildirError, match="cannot read"):
        list(read_chunks(path, folder))


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("subdir", ["new", "cur"])
def test_locate_by_base_name(inbox: Folder, subdir: str, name: str) -> None:
    """A message is found in new/ or cur/ by its base name, whatever its flags."""
    put(inbox, "cur", "other:2,S")
    put(inbox, subdir, name)
    assert locate(inbox, name.partition(":")[0]) == Entry(subdir, name)


def test_locate_compares_whole_base_names(inbox: Folder) -> None:
    """A base name that is only the beginning of another does not match."""
    put(inbox, "cur", "12:2,S")
    assert locate(inbox, "1") is None


def test_locate_looks_twice(inbox: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that the first reading missed during a rename is found by the second."""
    put(inbox, "cur", "1:2,S")
    readings: list[str] = []
    whole = messages._messages

    def first_reading_misses(folder: Folder, subdir: str) -> Iterator[str]:
        readings.append(subdir)
        return whole(folder, subdir) if len(readings) > 2 else iter(())

    monkeypatch.setattr(messages, "_messages", first_reading_misses)
    assert locate(inbox, "1") == Entry("cur", "1:2,S")
    assert readings == ["new", "cur", "new", "cur"]


@pytest.mark.parametrize("flags", ["S", "", "RS"])
def test_locate_needs_no_listing_for_a_name_that_is_still_there(
    inbox: Folder, monkeypatch: pytest.MonkeyPatch, flags: str
) -> None:
    """A message that has the flags it had before is found without a listing; with others, by one."""
    put(inbox, "cur", "1:2,S")
    put(inbox, "new", "2")
    assert locate(inbox, "1", flags) == Entry("cur", "1:2,S")
    monkeypatch.setattr(messages, "_messages", lambda folder, subdir: iter(()))
    assert locate(inbox, "1", flags) == (Entry("cur", "1:2,S") if flags == "S" else None)
    assert locate(inbox, "2", flags) == Entry("new", "2")


def test_locate_takes_no_link_for_a_message(inbox: Folder) -> None:
    """A name that is not a regular file is not found."""
    os.symlink(put(inbox, "cur", "other:2,S"), os.path.join(inbox.subdir("new"), "1"))
    os.mkfifo(os.path.join(inbox.subdir("cur"), "1:2,S"))
    assert locate(inbox, "1", "S") is None


def test_read_up_to_the_limit(inbox: Folder) -> None:
    """At most `limit` bytes are read, and the whole size is returned."""
    path = put(inbox, "cur", "x")
    assert read_bytes(path, 1000) == (b"Subject: x\n\n", 12)
    assert read_bytes(path, 7) == (b"Subject", 12)
    assert read_bytes(path, 0) == (b"", 12)


def test_a_vanished_file_is_normal(inbox: Folder) -> None:
    """A file that is gone raises FileNotFoundError, so that the caller can look for it again."""
    with pytest.raises(FileNotFoundError):
        read_bytes(os.path.join(inbox.subdir("cur"), "gone"), 10)


def test_special_files_are_not_read(inbox: Folder) -> None:
    """A link, a FIFO (without waiting for its writer) and a directory are refused."""
    target = put(inbox, "cur", "x")
    link, fifo = (os.path.join(inbox.subdir("cur"), name) for name in ("link", "fifo"))
    os.symlink(target, link)
    os.mkfifo(fifo)
    for path in (link, fifo, inbox.path):
        with pytest.raises(MaildirError):
            read_bytes(path, 10)


@pytest.mark.parametrize("grows", [False, True])
def test_a_file_that_is_too_long_for_mail(inbox: Folder, monkeypatch: pytest.MonkeyPatch, grows: bool) -> None:
    """A file of more than 64 MB is refused before the reading, or during it if the file grows."""
    path = put(inbox, "cur", "x")
    os.truncate(path, (64 << 20) + (0 if grows else 1))
    read = 0
    with pytest.raises(MaildirError, match="longer than 64 MB"):
        for chunk in read_chunks(path):
            read += len(chunk)
            if grows and read < 1 << 20:
                os.truncate(path, 1 << 40)
    assert read == (64 << 20 if grows else 0)


def test_deliver(inbox: Folder) -> None:
    """A delivered message is complete and private in new/, and nothing is left in tmp/."""
    path = deliver(inbox, b"Subject: hello\n\n", "1.M2P3.host")
    assert scan(inbox) == [Entry("new", "1.M2P3.host")]
    assert read_bytes(path, 100)[0] == b"Subject: hello\n\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(inbox.subdir("tmp")) == []


def test_deliver_never_replaces(inbox: Folder) -> None:
    """A second delivery under one base name fails and leaves the first message alone."""
    path = deliver(inbox, b"first", "1")
    with pytest.raises(FileExistsError):
        deliver(inbox, b"second", "1")
    assert read_bytes(path, 100)[0] == b"first"
    assert os.listdir(inbox.subdir("tmp")) == []
