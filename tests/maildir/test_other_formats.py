"""Mail that is not in a Maildir: what it is, and what helps."""

import os
from pathlib import Path

import pytest

from spamnb.base.errors import MaildirError
from spamnb.maildir.find_maildir import find_maildirs
from spamnb.maildir.folders import FolderUnavailableError, find_folders
from spamnb.maildir.other_formats import other_format

MBOX = b"From a@b.example Mon Jan  1 00:00:00 2024\nSubject: x\n\nhello\n\n"


def made(root: Path, *names: str, content: bytes = b"") -> Path:
    """Make files below a directory."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def fault_of(path: Path) -> str:
    """What `init` says about a path."""
    with pytest.raises(MaildirError) as raised:
        find_maildirs([str(path)])
    return str(raised.value)


def test_an_mbox_file(tmp_path: Path) -> None:
    """An mbox file is called by its name, with the ways to filter its mail."""
    path = made(tmp_path, "mbox", content=MBOX) / "mbox"
    said = fault_of(path)
    assert said.startswith(f"{path} is an mbox file, and spamnb watches Maildirs: ")
    assert "spamnb filter" in said and "spamnb train" in said
    with pytest.raises(FolderUnavailableError, match="is an mbox file"):
        find_folders(str(path), "auto")


def test_any_other_file(tmp_path: Path) -> None:
    """A file that is not an mbox is a file, and not a missing directory."""
    path = made(tmp_path, "letter", content=b"Subject: x\n\nhello\n") / "letter"
    assert fault_of(path) == f"{path} is a file: give the directory of your Maildir"


def test_a_directory_of_mbox_files(tmp_path: Path) -> None:
    """A directory of mbox files names some of them."""
    said = fault_of(made(tmp_path, "Inbox", "Sent", "b", "a", content=MBOX))
    assert "has mbox files (Inbox, Sent, a, …), and spamnb watches Maildirs: " in said


@pytest.mark.parametrize(
    "names",
    [
        ["mailboxes/INBOX/dbox-Mails/u.1", "mailboxes/INBOX/dbox-Mails/dbox.index.log"],
        ["storage/m.1", "storage/dovecot.map.index.log", "mailboxes/INBOX/dbox-Mails/dbox.index.log"],
        ["INBOX/dbox-Mails/u.1"],
        ["dbox-Mails/u.1"],
    ],
)
def test_dbox(tmp_path: Path, names: list[str]) -> None:
    """Dovecot's own formats are named: only Dovecot can read them."""
    said = fault_of(made(tmp_path, *names))
    assert "has mail in Dovecot's dbox, which only Dovecot can read: " in said
    assert "spamnb init --imap" in said


def test_what_is_not_known(tmp_path: Path) -> None:
    """A directory of anything else is not a Maildir, and an unreadable file or a link in it tells nothing."""
    made(tmp_path, "notes", content=b"From here to there")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(made(tmp_path / "elsewhere", "mbox", content=MBOX) / "mbox")
    assert fault_of(tmp_path).endswith("is not a Maildir: it has no folders with new/ and cur/ in them")
    assert fault_of(tmp_path / "nowhere").startswith("there is no directory ")
    assert other_format(str(tmp_path / "nowhere")) is None


def test_the_usual_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no usual place has a Maildir, but one has mail in another format, that is named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Mail").mkdir()
    with pytest.raises(MaildirError, match="found no Maildir in"):
        find_maildirs([], {})
    made(tmp_path / "mail", "inbox", content=MBOX)
    with pytest.raises(MaildirError, match=r"mail has mbox files \(inbox\)"):
        find_maildirs([], {})
