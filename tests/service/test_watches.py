"""Watching many mailboxes."""

import threading
from pathlib import Path

import pytest

from spamnb.maildir.folders import create_folder
from spamnb.service.watcher import Hint, Watcher


@pytest.fixture
def roots(tmp_path: Path) -> list[str]:
    """Three mailboxes in one directory."""
    found = [str(tmp_path / "mail" / name) for name in ("anna", "bob", "carl")]
    for root in found:
        create_folder(root, "maildir++", "INBOX")
    return found


def next_hint(watcher: Watcher, path: Path) -> Hint:
    """The hint of a file that is made at this path."""
    path.write_bytes(b"")
    while (hint := watcher.next(10.0)) is not None:
        if hint.entry is not None:
            return hint
    pytest.fail("no hint came")


def test_mailboxes_in_one_directory_share_a_watch(roots: list[str], tmp_path: Path) -> None:
    """A directory of mailboxes is watched as one; an event names its own mailbox, and none comes of any other."""
    watcher, before = Watcher("inotify"), threading.active_count()
    watcher.start(roots)
    try:
        assert threading.active_count() - before <= 3
        assert not watcher.is_blind([f"{root}/new" for root in roots])
        create_folder(str(tmp_path / "mail" / "of-nobody"), "maildir++", "INBOX")
        (tmp_path / "mail" / "of-nobody" / "new" / "1.a").write_bytes(b"")
        for root in roots:
            hint = next_hint(watcher, Path(root, "new", "1.a"))
            assert (hint.root, hint.folder) == (root, root)
    finally:
        watcher.stop()


def test_many_directories_appear_at_once(roots: list[str], tmp_path: Path) -> None:
    """Directories that appear with others in them are told of without a word of the library's, and watching goes on."""
    watcher = Watcher("inotify")
    watcher.start(roots[:1])
    try:
        for number in range(100):
            create_folder(roots[0], "maildir++", f"Archive-{number}")
        assert next_hint(watcher, Path(roots[0], "new", "1.a")).root == roots[0]
    finally:
        watcher.stop()


def test_what_lies_beside_mailboxes_is_not_watched(roots: list[str], tmp_path: Path) -> None:
    """Where other directories lie beside the mailboxes, which may be large, each mailbox is watched by itself."""
    (tmp_path / "mail" / "archive").mkdir()
    watcher = Watcher("inotify")
    watcher.start(roots)
    try:
        assert watcher._observer is not None
        assert len(watcher._observer.emitters) == len(roots)
        assert next_hint(watcher, Path(roots[1], "cur", "1.a:2,S")).root == roots[1]
    finally:
        watcher.stop()


def test_a_mailbox_behind_a_link_is_watched_by_itself(roots: list[str], tmp_path: Path) -> None:
    """A watch follows no links, so a mailbox that is one has its own."""
    (tmp_path / "elsewhere").symlink_to(roots[2])
    moved = [roots[0], str(tmp_path / "elsewhere")]
    watcher = Watcher("inotify")
    watcher.start(moved)
    try:
        assert next_hint(watcher, Path(roots[2], "new", "1.a")).root == moved[1]
    finally:
        watcher.stop()
