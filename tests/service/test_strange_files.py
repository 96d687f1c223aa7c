"""Files in new/ that are not messages: links, pipes, devices, and names or words that try to reach the terminal."""

import os
import socket
import stat
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver, scan
from tests.patience import until
from tests.service.conftest import Site
from tests.service.desk import Desk


def put_strange_files(new: Path, outside: Path) -> list[str]:
    """Names of what was put there."""
    (new / "link").symlink_to(outside)
    (new / "link-to-itself").symlink_to("link-to-itself")
    (new / "link-to-nowhere").symlink_to("nowhere")
    (new / "link-to-device").symlink_to("/dev/zero")
    (new / "directory").mkdir()
    os.mkfifo(new / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(new / "socket"))
    names = ["link", "link-to-itself", "link-to-nowhere", "link-to-device", "directory", "fifo", "socket"]
    try:
        os.mknod(new / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero, which has no end
    except PermissionError:
        return names
    return [*names, "device"]


@pytest.mark.parametrize("when", ["before the start", "while it watches"])
def test_what_is_no_file_is_left_alone(site: Site, tmp_path: Path, when: str) -> None:
    """Links, pipes, sockets, directories and devices in new/ are not opened, not moved, and hold up no mail."""
    outside = tmp_path / "outside.eml"
    outside.write_bytes(message("spam", 950))
    new = Path(site.folders["INBOX"].subdir("new"))
    site.teach()
    if when == "before the start":
        names = put_strange_files(new, outside)
        site.start()
    else:
        site.start()
        names = put_strange_files(new, outside)
    spam = site.deliver(message("spam", 951))
    until(lambda: spam in site.contents("Junk"), "spam moved all the same")
    assert site.end() == 0
    assert site.once() == 0
    assert sorted(os.listdir(new)) == sorted(names)
    assert site.contents("Junk") == [spam]
    assert outside.read_bytes() == message("spam", 950)
    assert "Traceback" not in site.log()


def test_nothing_from_a_stranger_reaches_the_log_as_it_stands(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """Escapes, line ends and NULs in names and subjects come to the log and to `history` as plain text on one line."""
    site.teach()
    site.start()
    subject = b"Subject: \x1b[2J\x1b]0;owned\x07 \xc2\x9b31m =?utf-8?q?a=0A=1B[1mforged=00?=\r\n"
    draft = Path(site.folders["INBOX"].subdir("tmp")) / "draft"
    draft.write_bytes(subject + message("spam", 952))
    os.rename(draft, os.fsencode(site.folders["INBOX"].subdir("new")) + b"/a\x1b[31m\nb\xff")
    until(lambda: "moved from INBOX to Junk" in site.log(), "spam moved")
    assert site.end() == 0
    assert site.spamnb("history") == 0
    shown = capfd.readouterr().out
    assert "forged" in site.log()
    assert "forged" in shown
    for text in (site.log(), shown):
        assert all(line.isprintable() for line in text.splitlines())
    assert not any(line.lstrip().startswith("forged") for line in site.log().splitlines())


def test_mail_of_from_lines_is_judged(site: Site) -> None:
    """A message of `From ` lines alone is judged, and stays whole."""
    site.teach()
    site.start()
    odd = site.deliver(b"From a@b Mon Jan  1 00:00:00 2024\n" * 100)
    until(lambda: site.log().count("stays in INBOX") + site.log().count("moved from INBOX") == 1, "judged")
    assert site.end() == 0
    assert site.everything() == [odd]


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"\0" * 2_000_000, b"\r\n\n"], ids=["empty", "zeros", "many", "blank"]
)
@pytest.mark.thorough
def test_what_a_power_cut_leaves_is_not_judged(site: Site, content: bytes) -> None:
    """An empty file and one of zero bytes are neither judged nor moved nor learned; the log says so once."""
    site.teach()
    site.start()
    left = [site.deliver(content), site.deliver(content, "Junk"), site.deliver(content, "TrainSpam")]
    until(lambda: site.log().count("is not judged: it is empty or holds only zero bytes") == 3, "all named")
    spam = site.deliver(message("spam", 953))
    until(lambda: spam in site.contents("Junk"), "spam moved all the same")
    assert site.end() == 0
    assert site.log().count("is not judged") == 3
    assert site.log().count("moved from") == 1
    assert site.label(content) is None
    assert site.contents("INBOX") == left[:1]
    assert site.everything() == sorted([*left, spam])


def test_what_comes_back_after_a_power_cut_is_judged(site: Site) -> None:
    """A file that was empty is judged once its content is there."""
    site.teach()
    site.work()
    site.deliver(b"")
    site.work()
    (left,) = Path(site.folders["INBOX"].subdir("new")).iterdir()
    spam = message("spam", 954)
    left.write_bytes(spam)
    site.work()
    assert site.contents("Junk") == [spam]


def test_a_link_in_the_place_of_the_spam_folder(tmp_path: Path) -> None:
    """Spam that comes in the moment after somebody has put a link in the place of Junk stays in the inbox."""
    desk = Desk(tmp_path, "Maildir")
    for label in Label:
        some = [read(message(label.word, number)) for number in range(30)]
        training.learn_batches(desk.ledger, [Batch.of(some)], label, "a test", 1.0, how=How.HAND)
    desk.deliver(message("spam", 100))
    assert desk.number("Junk") == 1
    other = create_folder(str(tmp_path / "other"), "maildir++", "Junk")
    desk.directory_of("Junk").rename(tmp_path / "aside")
    desk.directory_of("Junk").symlink_to(other.path)
    inbox = desk.folder("INBOX")
    deliver(inbox, message("spam", 101), next(desk.bases))
    (entry,) = scan(inbox)
    desk.account.look(str(desk.roots[0]), inbox.path, entry)
    assert (scan(other), scan(inbox)) == ([], [entry])
    desk.stop()
    desk.ledger.close()
