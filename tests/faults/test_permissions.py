"""Files and folders that the service may not use; as an unprivileged user, since modes mean nothing to root."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from tests.faults.conftest import Faulty
from tests.patience import until


@pytest.fixture
def site() -> Iterator[Faulty]:
    """A site that belongs to nobody, and whose service runs as nobody."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as directory:
        made = Faulty(Path(directory))
        made.configure("service:\n  reconcile_seconds: 1\n")
        made.teach()
        made.as_nobody = True
        made.chown_to_nobody()
        yield made
        made.kill()


def deliver(site: Faulty, content: bytes, mode: int = 0o600, owner: int = 65534, folder: str = "INBOX") -> bytes:
    """Deliver with a mode and an owner."""
    base = next(site.bases)
    draft = Path(site.folders[folder].subdir("tmp")) / base
    draft.write_bytes(content)
    os.chown(draft, owner, owner)
    draft.chmod(mode)
    draft.rename(Path(site.folders[folder].subdir("new")) / base)
    return content


@pytest.mark.parametrize(("mode", "owner"), [(0, 65534), (0o600, 0)], ids=["no rights", "root's"])
def test_unreadable_message(site: Faulty, mode: int, owner: int) -> None:
    """A message that cannot be read is said once, keeps none of the others, and is judged once it can be read."""
    site.start()
    spam = deliver(site, message("spam", 650), mode, owner)
    until(lambda: "cannot read" in site.log(), "the fault said")
    other = deliver(site, message("spam", 651))
    until(lambda: other in site.contents("Junk"), "the other one moved")
    site.compared()
    assert site.log().count("cannot read") == 1
    path = site.path_of("INBOX", spam)
    os.chown(path, 65534, 65534)
    path.chmod(0o600)
    until(lambda: spam in site.contents("Junk"), "moved, now that it can be read")
    site.clean()


def test_unreadable_message_at_the_start(site: Faulty) -> None:
    """Messages that cannot be read do not keep the service from its start."""
    deliver(site, message("spam", 652), 0)
    site.start()
    assert site.log().count("cannot read") == 1
    new = deliver(site, message("spam", 653))
    until(lambda: new in site.contents("Junk"), "new spam moved")
    site.clean()


def test_junk_not_writable(site: Faulty) -> None:
    """Spam that may not be put into Junk stays, is said once, and is moved when it may be."""
    site.start()
    for subdir in ("new", "cur"):
        os.chmod(site.folders["Junk"].subdir(subdir), 0o500)
    spam = deliver(site, message("spam", 654))
    until(lambda: "cannot move a message" in site.log(), "the fault said")
    site.compared()
    assert site.log().count("cannot move a message") == 1
    assert "cannot be ended" not in site.log()
    assert spam in site.contents("INBOX")
    for subdir in ("new", "cur"):
        os.chmod(site.folders["Junk"].subdir(subdir), 0o700)
    until(lambda: spam in site.contents("Junk"), "moved")
    site.clean()


@pytest.mark.parametrize("folder", ["Archive", "Junk"])
def test_unreadable_cur(site: Faulty, folder: str) -> None:
    """A folder whose messages cannot be listed is said once; the others go on, and so does it when it can be."""
    site.start()
    ham = deliver(site, message("ham", 655))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    cur = site.folders[folder].subdir("cur")
    os.chmod(cur, 0)
    moved = site.move(ham, "INBOX", folder)
    os.chown(moved, 65534, 65534)
    until(lambda: "cannot list" in site.log(), "the fault said")
    spam = deliver(site, message("spam", 656))
    until(lambda: spam in site.contents("Junk"), "spam moved into new/")
    site.compared()
    assert site.log().count("cannot list") == 1
    os.chmod(cur, 0o700)
    until(lambda: site.label(ham) == (0 if folder == "Archive" else 1), "learned")
    site.clean()


def test_unreadable_inbox(site: Faulty) -> None:
    """An inbox whose cur/ cannot be listed is said once, and new mail is judged when it can be."""
    site.start()
    os.chmod(site.root / "cur", 0)
    until(lambda: "cannot" in site.log(), "the fault said")
    assert site.process is not None
    site.process.send_signal(signal.SIGHUP)  # which makes it compare the folders, as far as it can
    until(lambda: site.log().count("watching") == 2, "the folders compared again")
    assert site.is_up()
    assert site.log().count("cannot") <= 2
    os.chmod(site.root / "cur", 0o700)
    new = deliver(site, message("spam", 657))
    until(lambda: new in site.contents("Junk"), "spam moved")
    site.clean()
