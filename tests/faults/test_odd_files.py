"""Things in a Maildir that are no messages, have odd names, or change under our hands."""

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.mail import reading
from spamnb.maildir.folders import Folder
from spamnb.service.mailbox import folders as boxes
from tests.faults.conftest import Faulty
from tests.patience import until


def oddities(directory: Path, outside: Path) -> list[Path]:
    """Everything that may lie there and is no message."""
    outside.mkdir(exist_ok=True)
    (outside / "spam").write_bytes(message("spam", 680))
    made = [directory / f"170000000{number}.odd" for number in range(8)]
    os.mkfifo(made[0])
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/cwd/{os.path.relpath(made[1])}")
    made[2].symlink_to(outside / "spam")
    made[3].symlink_to(outside)
    made[4].symlink_to("nowhere")
    made[5].symlink_to(made[5].name)
    made[6].mkdir()
    if os.getuid() == 0:
        os.mknod(made[7], 0o20600, os.makedev(1, 7))  # /dev/full
    return made


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_messages_are_never_opened(site: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FIFOs, sockets, devices and links of every kind, old or new, are neither opened nor followed nor moved."""
    monkeypatch.chdir(tmp_path)
    site.teach()
    log = tmp_path / "opened"
    made = oddities(site.root / "cur", tmp_path / "outside")
    site.by = ["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", str(log)]
    site.start()
    for folder in ("INBOX", "Junk", "TrainSpam"):
        made += oddities(Path(site.folders[folder].subdir("new")), tmp_path / "outside")
    site.goes_on(681)
    trained = site.deliver(message("spam", 682), "TrainSpam")
    until(lambda: site.label(trained) == 1, "later mail learned after its dwell")
    assert site.process is not None
    children = Path(f"/proc/{site.process.pid}/task/{site.process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), 15)
    site.end()
    assert all(os.path.lexists(path) for path in made if path.name != "1700000007.odd" or os.getuid() == 0)
    opened = set(re.findall(r"170000000(\d)\.odd", log.read_text(errors="replace")))
    assert "new" in log.read_text(errors="replace"), "what is opened is written there"
    assert not opened, "not even the directory"
    assert ".odd" not in site.log()
    site.clean()


ODD_NAMES = [
    b"1700000000.a\nb",
    b"1700000000.a b  c",
    b"1700000000.\xff\xfe\xe9",
    b"1700000000.x:2,:2,",
    b"1700000000.x2:1,odd",
    b"1700000000.x3:",
    b"x" * 255,
    b"-rf",
    b"a\x1b[31m",
    b"'; DROP TABLE message; --",
    b"%s%n{}",
    b"~",
]


@pytest.mark.parametrize("subdir", ["new", "cur"])
def test_odd_names(site: Faulty, subdir: str) -> None:
    """Any name that a file can have is moved as it is; nothing of it reaches the log as control characters."""
    site.teach()
    site.start()
    for number, name in enumerate(ODD_NAMES):
        draft = site.root / "tmp" / "draft"
        draft.write_bytes(message("spam", 690 + number))
        os.rename(draft, os.path.join(os.fsencode(site.root), subdir.encode(), name))
    junk = os.path.join(os.fsencode(site.folders["Junk"].path), subdir.encode())
    until(lambda: len(os.listdir(junk)) == len(ODD_NAMES), "all moved")
    assert {name.partition(b":")[0] for name in os.listdir(junk)} == {name.partition(b":")[0] for name in ODD_NAMES}
    assert "\x1b" not in site.log()
    site.clean()


def test_hidden_files_are_no_messages(site: Faulty) -> None:
    """A name that begins with a dot is no message."""
    site.teach()
    site.start()
    (site.root / "new" / ".hidden").write_bytes(message("spam", 705))
    site.goes_on(706)
    assert (site.root / "new" / ".hidden").exists()
    until(lambda: site.log().count("moved from") == 1, "one moved")


def between_reading_and_moving(monkeypatch: pytest.MonkeyPatch, change) -> None:
    """Let something happen after a message was read, once."""
    tokenize, done = reading.tokenize, []

    def read_and_change(*arguments: Any) -> Any:
        if not done:
            done.append(1)
            change()
        return tokenize(*arguments)

    monkeypatch.setattr(reading, "tokenize", read_and_change)


def arriving(site: Faulty) -> Path:
    """A site that has begun, and new spam in it."""
    site.configure(dwell=0)
    site.teach()
    site.work()
    return site.path_of("INBOX", site.spam(710))


def test_replaced_after_reading(site: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is moved is what was judged: another message that has its name by then is judged in its own right."""
    path, ham = arriving(site), message("ham", 711)
    (site.root / "tmp" / "other").write_bytes(ham)
    between_reading_and_moving(monkeypatch, lambda: os.replace(site.root / "tmp" / "other", path))
    site.work()
    assert site.contents("INBOX") == [ham]
    assert site.contents("Junk") == []
    monkeypatch.undo()
    site.work()
    assert site.contents("INBOX") == [ham]
    assert site.label(ham) is None
    assert site.faults() == []


def test_changed_after_reading(site: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that somebody writes to while it is judged stays, whole."""
    path = arriving(site)
    between_reading_and_moving(monkeypatch, lambda: path.write_bytes(message("ham", 712)))
    site.work()
    site.work()
    assert site.everything() == [message("ham", 712)]
    assert site.contents("Junk") == []
    assert site.faults() == []


@pytest.mark.parametrize("to", ["nowhere", "Archive", "read"])
def test_gone_after_reading(site: Faulty, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    """A message that vanishes, or that a person moves or reads, while it is judged is left to them."""
    path = arriving(site)
    content = path.read_bytes()
    change = {
        "nowhere": path.unlink,
        "Archive": lambda: site.move(content, "INBOX", "Archive"),
        "read": lambda: path.rename(site.root / "cur" / f"{path.name}:2,S"),
    }[to]
    between_reading_and_moving(monkeypatch, change)
    site.work()
    site.work()
    assert site.contents("Junk") == []
    assert site.everything() == ([] if to == "nowhere" else [content])
    assert site.faults() == []


def test_grows_while_it_is_read(site: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is written in place, against the rules of Maildir, is lost in no part."""
    site.configure(dwell=0)
    site.teach()
    site.work()
    spam = message("spam", 715)
    path = site.root / "new" / "1700000000.growing"
    path.write_bytes(spam[:300])
    read, done = boxes.read_chunks, []

    def read_and_grow(which: str, within: Folder) -> Iterator[bytes]:
        yield from read(which, within)
        if not done:
            done.append(1)
            with path.open("ab") as more:
                more.write(spam[300:])

    monkeypatch.setattr(boxes, "read_chunks", read_and_grow)
    site.work()
    assert done
    site.work()
    assert site.everything() == [spam]
    assert site.faults() == []
