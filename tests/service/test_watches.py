"""Watching the directories of many mailboxes."""

import fcntl
import logging
import os
import shutil
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.maildir.folders import Directory, Layout, create_folder, find_directories, find_folders
from spamnb.maildir.messages import Entry
from spamnb.service import inotify
from spamnb.service.inotify import CannotWatchError, Inotify
from spamnb.service.watcher import Hint, Watcher
from tests.patience import PATIENCE, until


def made(*roots: Path, layout: Layout = "maildir++", names: tuple[str, ...] = ("INBOX", "Junk")) -> list[str]:
    """Mailboxes with these folders."""
    for root in roots:
        for name in names:
            create_folder(str(root), layout, name)
    return [str(root) for root in roots]


@pytest.fixture
def watching() -> Iterator[Watcher]:
    """A watcher that has been started."""
    watcher = Watcher("auto")
    watcher.start()
    yield watcher
    watcher.stop()


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A mailbox."""
    (root,) = made(tmp_path / "mail")
    return root


def watch(watcher: Watcher, root: str) -> bool:
    """Watch a mailbox as the service does."""
    return watcher.watch(root, find_directories(root, "auto"))


_NUMBERS = iter(range(10**9))


def hints(watcher: Watcher, inbox: str, root: str | None = None) -> list[Hint]:
    """All hints of what was done so far: those before the one of a file that is made now in a watched inbox."""
    name, found = f"{next(_NUMBERS)}.mark", []
    Path(inbox, "cur", name).touch()
    while (hint := watcher.next(PATIENCE)) != Hint(root or inbox, inbox, Entry("cur", name)):
        assert hint is not None, "no hint came"
        found.append(hint)
    return found


def instances() -> int:
    """How many instances of inotify this process has."""
    names = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sum("inotify" in os.readlink(name) for name in names if os.path.islink(name))


def test_any_number_of_mailboxes_by_one_instance(tmp_path: Path) -> None:
    """Many mailboxes take one instance of inotify and two threads, and each event names its own mailbox."""
    roots = made(*(tmp_path / str(number) for number in range(100)))
    threads, watcher = threading.active_count(), Watcher("inotify")
    watcher.start()
    try:
        assert all(watch(watcher, root) for root in roots)
        assert instances() == 1
        assert threading.active_count() - threads <= 2
        assert not watcher.polling
        for root in roots:
            Path(root, ".Junk", "new", "1.a").touch()
        assert hints(watcher, roots[0]) == [Hint(root, f"{root}/.Junk", Entry("new", "1.a")) for root in roots]
    finally:
        watcher.stop()
    assert instances() == 0
    for root in roots:
        assert os.listdir(f"{root}/tmp") == [], "no file of a probe is left"


def test_what_gives_no_hint(watching: Watcher, root: str) -> None:
    """Files that are read, written, removed, hidden, in `tmp/`, or a server's own give no hint."""
    kept = Path(root, "new", "1.a")
    kept.write_bytes(b"x")
    watch(watching, root)
    kept.read_bytes()
    list(Path(root, "new").iterdir())
    kept.write_bytes(b"y")
    kept.unlink()
    for name in ("tmp/2.b", "cur/.hidden", "dovecot.index.log", "dovecot-uidlist.lock"):
        Path(root, name).touch()
    Path(root, "cur", "no-message").mkdir()
    Path(root, "tmp", "2.b").rename(Path(root).parent / "2.b")
    assert hints(watching, root) == []


@pytest.mark.parametrize("how", ["made", "renamed", "linked"])
@pytest.mark.parametrize("subdir", ["new", "cur"])
def test_a_file_appears(watching: Watcher, root: str, how: str, subdir: str) -> None:
    """However a file comes into `new` or `cur`, there is one hint of it, whatever its name is."""
    watch(watching, root)
    draft, target = Path(root, "tmp", "1"), Path(root, ".Junk", subdir, os.fsdecode(b"1.\xff\xc3\xa4"))
    draft.touch()
    {"made": target.touch, "renamed": lambda: draft.rename(target), "linked": lambda: target.hardlink_to(draft)}[how]()
    assert hints(watching, root) == [Hint(root, f"{root}/.Junk", Entry(subdir, target.name))]


def test_a_list_of_keywords(watching: Watcher, root: str) -> None:
    """A new list of keywords gives a hint: letters that files have may have got a meaning."""
    watch(watching, root)
    lock = Path(root, ".Junk", "dovecot-keywords.lock")
    lock.touch()
    assert hints(watching, root) == []
    lock.rename(Path(root, ".Junk", "dovecot-keywords"))
    assert hints(watching, root) == [Hint(root)]


def becomes_a_folder(path: Path) -> None:
    for subdir in ("", "tmp", "cur", "new"):
        (path / subdir).mkdir()


def is_removed(path: Path) -> None:
    shutil.rmtree(path)


def is_replaced(path: Path) -> None:
    create_folder(str(path.parent / "elsewhere"), "fs", "INBOX")
    path.rename(path.parent / "former")
    (path.parent / "elsewhere").rename(path)


def is_renamed(path: Path) -> None:
    path.rename(path.with_name(".Other"))


def loses_new(path: Path) -> None:
    (path / "new").rmdir()
    (path / "new").mkdir()


@pytest.mark.parametrize(
    ("name", "happens"),
    [
        (".Archive", becomes_a_folder),
        (".Junk", is_removed),
        (".Junk", is_replaced),
        (".Junk", is_renamed),
        (".Junk", loses_new),
    ],
)
def test_a_folder_changes(watching: Watcher, root: str, name: str, happens: Callable[[Path], None]) -> None:
    """A folder that comes, goes, or becomes a different directory gives a hint, and is then watched."""
    watch(watching, root)
    happens(Path(root, name))
    assert set(hints(watching, root)) == {Hint(root)}
    watch(watching, root)
    assert set(hints(watching, root)) <= {Hint(root)}
    folders = [folder.path for folder in find_folders(root, "maildir++")]
    for folder in folders:
        Path(folder, "new", "1.a").touch()
    assert hints(watching, root) == [Hint(root, folder, Entry("new", "1.a")) for folder in folders]


@pytest.mark.parametrize("order", [("new", "cur"), ("cur", "new")])
def test_a_folder_becomes_one_slowly(watching: Watcher, root: str, order: tuple[str, str]) -> None:
    """A directory gives a hint when it becomes a folder, however long that takes."""
    watch(watching, root)
    for part in ("", *order):
        Path(root, ".Archive", part).mkdir()
        assert hints(watching, root) == [Hint(root)]
        watch(watching, root)
    Path(root, ".Archive", "cur", "1.a").touch()
    assert hints(watching, root) == [Hint(root, f"{root}/.Archive", Entry("cur", "1.a"))]


def test_the_root_is_another_directory(watching: Watcher, root: str, tmp_path: Path) -> None:
    """A mailbox that is moved, removed or replaced gives a hint, and a new one in its place is watched."""
    other, former = made(tmp_path / "other")[0], str(tmp_path / "former")
    (beside,) = made(tmp_path / "beside")
    watch(watching, root)
    watch(watching, beside)
    os.rename(root, former)
    assert hints(watching, beside) == [Hint(root)]
    assert watch(watching, root), "nothing is there that could not be watched"
    Path(former, "new", "1.a").touch()
    assert hints(watching, beside) == [], "it is no mailbox any more"
    os.rename(other, root)
    watch(watching, root)
    assert hints(watching, root) == []
    shutil.rmtree(root)
    assert set(hints(watching, beside)) == {Hint(root)}


def test_links(watching: Watcher, root: str, tmp_path: Path) -> None:
    """A mailbox may be behind a link, which may come to lead elsewhere; below it no link is followed."""
    (other,) = made(tmp_path / "other")
    link = tmp_path / "link"
    link.symlink_to(root)
    shutil.rmtree(f"{root}/.Junk")
    Path(root, ".Junk").symlink_to(f"{other}/.Junk")
    directories = [Directory(str(link)), *map(Directory, [f"{link}/.Junk"]), Directory(str(link), "cur")]
    assert watching.watch(str(link), directories)
    Path(other, ".Junk", "sub").mkdir()
    assert hints(watching, str(link)) == []
    link.unlink()
    link.symlink_to(other)
    watch(watching, str(link))
    Path(root, "new", "1.a").touch()
    Path(other, "new", "2.b").touch()
    assert hints(watching, str(link)) == [Hint(str(link), str(link), Entry("new", "2.b"))]


def test_no_longer_watched(watching: Watcher, root: str, tmp_path: Path) -> None:
    """A mailbox or directory that is no longer to be watched gives no hint."""
    (beside,) = made(tmp_path / "beside")
    watch(watching, beside)
    watch(watching, root)
    watching.watch(root, [Directory(root, "new")])
    for name in ("cur/1.a", ".Junk/new/1.a", "new/1.a"):
        Path(root, name).touch()
    assert hints(watching, beside) == [Hint(root, root, Entry("new", "1.a"))]
    watching.unwatch(root)
    Path(root, "new", "2.b").touch()
    assert hints(watching, beside) == []


@pytest.mark.parametrize("is_other_gone", [True, False])
def test_a_mailbox_gets_another_name(watching: Watcher, root: str, tmp_path: Path, *, is_other_gone: bool) -> None:
    """A renamed mailbox stays watched under its new name when the old name, which had the same watches, is given up."""
    (beside,) = made(tmp_path / "beside")
    renamed = str(tmp_path / "renamed")
    watch(watching, beside)
    watch(watching, root)
    Path(root).rename(renamed)
    watch(watching, renamed)
    if is_other_gone:
        watching.unwatch(root)
    else:
        made(Path(root))
        watch(watching, root)
    hints(watching, beside)  # those of the renaming
    Path(renamed, "new", "1.a").touch()
    assert hints(watching, beside) == [Hint(renamed, renamed, Entry("new", "1.a"))]


def test_directories_of_no_mailbox(watching: Watcher, root: str, tmp_path: Path) -> None:
    """Other directories may be watched too, under any name."""
    domain = tmp_path / "users"
    domain.mkdir()
    watch(watching, root)
    watching.watch("users", [Directory(str(domain))])
    (domain / "new").mkdir()
    (domain / "list.txt").touch()
    assert hints(watching, root) == [Hint("users")]


def test_more_directories_than_one_may_have(root: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A mailbox with too many directories is polled, reported once, and watched again once it has fewer."""
    caplog.set_level(logging.WARNING)
    (beside,) = made(tmp_path / "beside")
    watcher = Watcher("inotify", most=6)
    watcher.start()
    try:
        Path(root, ".Seventh").mkdir()
        assert [watch(watcher, root) for _ in range(2)] == [False, False]
        assert watcher.polling
        assert watch(watcher, beside)
        Path(root, "new", "1.a").touch()
        assert hints(watcher, beside) == []
        assert caplog.messages == [f"polling the folders instead of watching them: {root} has more than 6 directories"]
        Path(root, ".Seventh").rmdir()
        assert watch(watcher, root)
        assert not watcher.polling
        assert hints(watcher, root) == []
    finally:
        watcher.stop()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that tells of nothing: the probe asks for other events than it causes."""
    monkeypatch.setattr(inotify, "_PROBE_MASK", inotify.MOVE_SELF)
    monkeypatch.setattr(inotify, "_PROBE_SECONDS", 0.05)


def test_no_events_come(
    silent: None, watching: Watcher, root: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a new file gives no event, all mailboxes of that file system are polled, which is reported once."""
    caplog.set_level(logging.WARNING)
    assert not watch(watching, root)
    (beside,) = made(tmp_path / "beside")
    assert not watch(watching, beside)
    assert watching.polling
    assert caplog.messages == [
        f"polling the folders instead of watching them: no events come from {root} (a network file system?)"
    ]
    assert os.listdir(f"{root}/tmp") == []


def test_no_events_come_and_they_are_demanded(silent: None, root: str) -> None:
    """With `watch: inotify`, missing events are an error with a next step."""
    watcher = Watcher("inotify")
    watcher.start()
    try:
        with pytest.raises(CannotWatchError, match=r"no events come from .*; or set service\.watch to auto"):
            watch(watcher, root)
    finally:
        watcher.stop()


@pytest.mark.parametrize("happens", ["missing", "a link", "taken"])
def test_a_probe_that_cannot_be_made(silent: None, watching: Watcher, root: str, tmp_path: Path, happens: str) -> None:
    """Without a `tmp/` in which a file can be made nothing is tried, and nothing made elsewhere; it is watched."""
    tmp, elsewhere = Path(root, "tmp"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    probe = tmp / f"spamnb-probe.{os.getpid()}"
    if happens == "taken":
        probe.touch()
    else:
        tmp.rmdir()
    if happens == "a link":
        tmp.symlink_to(elsewhere)
    assert watch(watching, root)
    assert os.listdir(elsewhere) == []
    assert (happens == "taken") == probe.exists()


def test_polling(root: str) -> None:
    """With polling nothing is watched, and nothing is made in a mailbox."""
    watcher, threads = Watcher("polling"), threading.active_count()
    watcher.start()
    assert not watch(watcher, root)
    assert watcher.polling
    assert threading.active_count() == threads
    assert watcher.read(0.0) == []
    watcher.stop()


def test_all_that_is_there(watching: Watcher, root: str) -> None:
    """All hints that are there can be read at once, in their order, without waiting; a wake ends the waiting."""
    watch(watching, root)
    for number in range(100):
        Path(root, "new", str(number)).touch()
    found: list[Hint] = []
    while len(found) < 100:
        found += watching.read(10.0)
    assert [hint.entry.name for hint in found if hint.entry is not None] == [str(number) for number in range(100)]
    assert watching.read(0.0) == []
    watching.wake()
    assert watching.read(60.0) == []


@pytest.mark.thorough
def test_the_queue_overflows(watching: Watcher, root: str) -> None:
    """When the kernel loses events the watcher says so, until that is set back; and it goes on."""
    watch(watching, root)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    new = Path(root, "new", "1.a"), Path(root, "new", "2.b")
    assert watching._emitter is not None
    with watching._emitter._lock:  # the thread that reads is held
        for number in range(2 * limit + 1):  # it may have read a full queue before it waits
            new[number % 2].touch()
            new[number % 2].unlink()
    until(lambda: watching.next(PATIENCE) == Hint(""), "a hint that hints were lost")
    assert watching.overflowed
    watching.overflowed = False
    hints(watching, root)
    assert not watching.overflowed


def test_very_many_files_at_once(watching: Watcher, root: str, tmp_path: Path) -> None:
    """A thousand files give few hints and one that the folders have changed; another mailbox keeps its hint."""
    (beside,) = made(tmp_path / "beside")
    watch(watching, root)
    watch(watching, beside)
    assert watching._emitter is not None
    with watching._emitter._lock:  # the thread that reads is held
        for number in range(1000):
            Path(root, "cur", f"{number}.a").touch()
        Path(beside, "new", "1.b").touch()
    found = hints(watching, beside) + hints(watching, beside)  # the mark of the first may be read with all these
    assert Hint(beside, beside, Entry("new", "1.b")) in found
    assert Hint(root) in found
    assert found.count(Hint(root)) <= 2
    assert len(found) < 300


def test_asked_during_a_storm(watching: Watcher, root: str) -> None:
    """A question is answered while a program changes flags without a pause."""
    watch(watching, root)
    Path(root, "cur", "1.a:2,").touch()
    program = "import os, sys\nwhile True: os.rename(sys.argv[1], sys.argv[2]); os.rename(sys.argv[2], sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", program, f"{root}/cur/1.a:2,", f"{root}/cur/1.a:2,S"]) as storm:
        try:
            for _ in range(20):
                assert watching.next(PATIENCE) is not None, "no hint came"
            asked = watching.ask()
            while watching.told < asked:
                before = watching.told
                hint = watching.next(PATIENCE)
                assert hint is not None or watching.told > before, "no answer came"
        finally:
            storm.terminate()


def test_an_event_that_is_read_at_once(
    watching: Watcher, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that comes as soon as the kernel watches gives a hint, though we have not yet written down for what."""
    (beside,) = made(tmp_path / "beside")
    watch(watching, beside)
    add = inotify.Inotify.add

    def filled(self: inotify.Inotify, path: str, mask: int) -> int:
        watch = add(self, path, mask)
        if path == f"{root}/.Junk/new":
            Path(path, "1.a").touch()
            until(lambda: fcntl.ioctl(self.descriptor, termios.FIONREAD, bytes(4)) == bytes(4), "the event read")
        return watch

    monkeypatch.setattr(inotify.Inotify, "add", filled)
    for _ in range(20):
        watch(watching, root)
        assert hints(watching, root) == [Hint(root, f"{root}/.Junk", Entry("new", "1.a"))]
        watching.unwatch(root)
        Path(root, ".Junk", "new", "1.a").unlink()
        hints(watching, beside)  # what has ended is read


def test_it_begins_again(root: str) -> None:
    """A stopped watcher can be started again, and watches what it is asked to watch."""
    watcher = Watcher("inotify")
    for _ in range(2):
        watcher.start()
        try:
            watch(watcher, root)
            assert hints(watcher, root) == []
        finally:
            watcher.stop()


@pytest.fixture(scope="module")
def lasting() -> Iterator[Watcher]:
    """One watcher for many stories."""
    watcher = Watcher("inotify")
    watcher.start()
    yield watcher
    watcher.stop()


_OPERATIONS = (
    "make a directory",
    "make new",
    "make cur",
    "remove",
    "remove new",
    "rename",
    "replace",
    "replace by a link",
    "keywords",
)


def operate(root: Path, layout: Layout, operation: str, choice: int) -> bool:
    """Change a directory below a root; whether there was anything to do."""
    dotted = layout == "maildir++"
    names = [f".{name}" if dotted else name for name in "abc"]
    levels = [root] if dotted else [root, *(path for path in root.rglob("[abc]") if is_directory(path))]
    parent = levels[choice % len(levels)]
    path = parent / names[choice // len(levels) % 3]
    other = parent / names[choice // len(levels) // 3 % 3]
    aside = root.parent / f"aside{next(_NUMBERS)}"
    if operation == "make a directory" and not os.path.lexists(path):
        path.mkdir()
    elif operation in ("make new", "make cur") and is_directory(path) and not (path / operation[5:]).exists():
        (path / operation[5:]).mkdir()
    elif operation == "remove" and is_directory(path):
        shutil.rmtree(path)
    elif operation == "remove new" and is_directory(path) and (path / "new").exists():
        shutil.rmtree(path / "new")
    elif operation == "rename" and is_directory(path) and not os.path.lexists(other):
        path.rename(other)
    elif operation == "replace" and is_directory(path):
        path.rename(aside)
        shutil.copytree(aside, path, symlinks=True)
    elif operation == "replace by a link" and is_directory(path):
        path.rename(aside)
        path.symlink_to(aside)
    elif operation == "keywords" and is_directory(path):
        (path / "dovecot-keywords.lock").touch()
        (path / "dovecot-keywords.lock").rename(path / "dovecot-keywords")
    else:
        return False
    return True


def is_directory(path: Path) -> bool:
    """Whether a real directory is there."""
    return path.is_dir() and not path.is_symlink()


@given(
    st.sampled_from(["maildir++", "fs"]),
    st.lists(
        st.lists(st.tuples(st.sampled_from(_OPERATIONS), st.integers(0, 100)), min_size=1, max_size=4), max_size=8
    ),
)
def test_stories(
    lasting: Watcher, tmp_path_factory: pytest.TempPathFactory, layout: Layout, story: list[list[tuple[str, int]]]
) -> None:
    """After any change of folders, watching again gives a hint for each later file."""
    root = tmp_path_factory.mktemp("story") / "mail"
    (inbox,) = made(root, names=("INBOX",))
    assert lasting.watch(inbox, find_directories(inbox, layout))
    for chapter in story:
        changed = [operate(root, layout, operation, choice) for operation, choice in chapter]
        found = hints(lasting, inbox)
        assert not any(changed) or Hint(inbox) in found
        assert lasting.watch(inbox, find_directories(inbox, layout))
        hints(lasting, inbox)
        delivered = []
        for folder in find_folders(inbox, layout):
            for subdir in ("new", "cur"):
                name = f"{next(_NUMBERS)}.mail"
                Path(folder.path, subdir, name).touch()
                delivered.append(Hint(inbox, folder.path, Entry(subdir, name)))
        assert hints(lasting, inbox) == delivered
    lasting.unwatch(inbox)


def test_asked_while_the_last_answer_is_given(watching: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question asked while the previous one is being answered is answered too."""
    read, numbers = Inotify.read, list[int]()

    def reads(of: Inotify) -> Iterator[tuple[int, int, bytes]]:
        events = list(read(of))
        if len(numbers) < 5:
            numbers.append(watching.ask())
        return iter(events)

    monkeypatch.setattr(Inotify, "read", reads)
    watching.ask()
    while len(numbers) < 5 or watching.told < numbers[-1]:
        before = watching.told
        watching.next(PATIENCE)
        assert watching.told > before, "no answer came"
