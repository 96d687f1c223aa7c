"""mbsync between the Maildir that the filter works on and a second mailbox, in both directions."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name
from tests.imap.conftest import LAYOUTS, Host, new_mail
from tests.patience import PATIENCE, until
from tests.service.conftest import Site

pytestmark = pytest.mark.skipif(shutil.which("mbsync") is None, reason="needs mbsync (Debian: isync)")

_CHANNEL = """
Channel mail
Far :far:
Near :near:
Patterns * !TrainSpam !TrainHam
Create Both
Expunge Both
Sync All
SyncState {home}/state/
"""


def maildir_store(name: str, root: Path, layout: str) -> str:
    """A Maildir as mbsync's configuration describes it."""
    if layout == "fs":
        return f"MaildirStore {name}\nPath {root}/\nInbox {root}\nSubFolders Verbatim\n\n"
    return f"MaildirStore {name}\nInbox {root}\nSubFolders Maildir++\n\n"


class Pair:
    """The filter's mailbox and the other one; `sync` brings both to the same state."""

    def __init__(self, near: Site, configuration: str, run: Callable[..., subprocess.CompletedProcess[bytes]]) -> None:
        self.near = near
        self.home = near.directory
        (self.home / "state").mkdir()
        (self.home / "mbsyncrc").write_text(configuration + _CHANNEL.format(home=self.home))
        self._run = run

    def sync(self) -> None:
        """Run mbsync; it has nothing to complain about."""
        done = self._run("mbsync", "-c", str(self.home / "mbsyncrc"), "mail")
        said = done.stderr.decode().replace("*** IMAP Warning *** Password is being sent in the clear\n", "")
        assert (done.returncode, said) == (0, "")

    def uids(self, folder: str) -> list[str]:
        """The UIDs in the names of a folder's files."""
        names = [parse_name(entry.name).base for entry in scan(self.near.folders[folder])]
        return [part for name in names for part in name.split(",") if part.startswith("U=")]


def paired(near: Site, near_layout: str, far: Site, far_layout: str) -> Pair:
    """Two Maildirs that mbsync has brought to the same state."""

    def run(*command: str) -> subprocess.CompletedProcess[bytes]:
        environ = os.environ | {"HOME": str(near.directory)}
        return subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, env=environ)

    pair = Pair(near, maildir_store("near", near.root, near_layout) + maildir_store("far", far.root, far_layout), run)
    pair.sync()
    return pair


def lies_in(site: Site, content: bytes) -> list[str]:
    """Return the folders of a message, one for each file, whatever header mbsync has added to it."""
    return [name for name in site.folders for found in site.contents(name) if identity(found) == identity(content)]


def flags(site: Site, folder: str, content: bytes) -> str:
    """The flags of a message in a folder."""
    where = site.folders[folder]
    (found,) = [
        parse_name(entry.name).flags
        for entry in scan(where)
        if identity(Path(entry.path(where)).read_bytes()) == identity(content)
    ]
    return found


def take(site: Site, content: bytes, source: str, destination: str, info: str) -> None:
    """Move as a mail program on the Maildir does: a new name, without what mbsync had put into the old one."""
    where = site.folders[source]
    (path,) = [
        path for entry in scan(where) if identity((path := Path(entry.path(where))).read_bytes()) == identity(content)
    ]
    path.rename(Path(site.folders[destination].subdir("cur")) / f"{next(site.bases)}:2,{info}")


@pytest.fixture
def sites(tmp_path: Path, taught: Path) -> Iterator[Callable[[str, str], tuple[Site, Site]]]:
    """Makes two Maildirs; the service works on the first."""
    made: list[Site] = []

    def make(near: str, far: str) -> tuple[Site, Site]:
        for name, layout in (("near", near), ("far", far)):
            (tmp_path / name).mkdir()
            made.append(Site(tmp_path / name, layout))
        shutil.copy(taught, made[0].ledger)
        return made[0], made[1]

    yield make
    if made[0].process is not None:
        made[0].end()
    assert made[0].faults() == []


@pytest.mark.parametrize(("near_layout", "far_layout"), [LAYOUTS, LAYOUTS[::-1]])
def test_two_maildirs(sites: Callable[[str, str], tuple[Site, Site]], near_layout: str, far_layout: str) -> None:
    """Rounds of delivery, filter, person and mbsync leave each message once on both sides, in the same folder."""
    near, far = sites(near_layout, far_layout)
    pair = paired(near, near_layout, far, far_layout)
    near.start()
    expected: dict[bytes, str] = {}
    for round_ in range(2 if near_layout == "maildir++" else 1):
        spam, wrong, ham, missed, here = (
            (far if number < 4 else near).deliver(message(kind, 2000 + 20 * round_ + number))
            for number, kind in enumerate(("spam", "spam", "ham", "ham", "spam"))
        )
        pair.sync()
        until(
            lambda junk=(spam, wrong, here): all(lies_in(near, content) == ["Junk"] for content in junk),  # type: ignore[misc]
            lambda: f"spam moved: {near.log()}",
        )
        near.wait_until_judged(ham, missed)
        pair.sync()
        assert [lies_in(far, content) for content in (spam, wrong, here)] == [["Junk"]] * 3
        take(far, wrong, "Junk", "INBOX", "FS")  # by a web mailer, say
        take(near, missed, "INBOX", "Junk", "S")
        pair.sync()
        until(lambda wrong=wrong: near.label(wrong) == 0, "the rescue learned")  # type: ignore[misc]
        until(lambda missed=missed: near.label(missed) == 1, "the missed spam learned")  # type: ignore[misc]
        pair.sync()
        expected |= {spam: "Junk", wrong: "INBOX", ham: "INBOX", missed: "Junk", here: "Junk"}
        for content, folder in expected.items():
            assert (lies_in(near, content), lies_in(far, content)) == ([folder], [folder])
        assert flags(near, "INBOX", wrong) == flags(far, "INBOX", wrong) == "FS"
        for folder in ("INBOX", "Junk"):
            assert max(Counter(pair.uids(folder)).values()) == 1
            assert len(pair.uids(folder)) == len(near.contents(folder)), "each file has a UID"
    assert len(near.everything()) == len(far.everything()) == len(expected)


def test_imap_and_a_maildir(make_host: Callable[..., Host]) -> None:
    """The filter works on a Maildir that mbsync keeps in step with an IMAP account: its moves and ours arrive."""
    host = make_host()
    client = host.client()
    server, local = host.folders, host.directory / "Local"
    account = f"IMAPStore far\nHost 127.0.0.1\nPort {host.port}\nUser anna\nPass secret\n"
    account += "SSLType None\nAuthMechs LOGIN\n\n"
    pair = Pair(host, account + maildir_store("near", local, "fs"), host.as_owner)
    local.mkdir()
    host.own(local, host.directory / "state")
    pair.sync()
    host.root, host.layout = local, "fs"
    host.look_again()
    host.configure(dwell=5.0)  # as it is by default: mbsync takes a second or two from folder to folder
    host.start()
    spam, wrong, ham, missed = (new_mail(kind) for kind in ("spam", "spam", "ham", "ham"))
    for content in (spam, wrong, ham, missed):
        client.put("INBOX", content)
    pair.sync()
    host.wait_for(spam, "moved INBOX Junk")
    host.wait_for(wrong, "moved INBOX Junk")
    host.wait_until_judged(ham, missed)
    pair.sync()
    assert (len(client.uids("Junk")), len(client.uids("INBOX"))) == (2, 2)
    client.mark(wrong, "Junk", "\\Seen \\Flagged")
    client.move(wrong, "Junk", "INBOX")
    client.move(ham, "INBOX", "Archive")
    client.move(missed, "INBOX", "Junk")
    pair.sync()
    host.wait_for(wrong, "moved INBOX Junk", "learned ham")
    host.wait_for(ham, "learned ham")
    host.wait_for(missed, "learned spam")
    pair.sync()
    assert host.story(spam) == ["moved INBOX Junk"]
    places = {spam: "Junk", wrong: "INBOX", ham: "Archive", missed: "Junk"}
    for content, folder in places.items():
        assert host.where(content) == [folder]
        assert len(client.uids(folder, content)) == 1
    assert sum(len(client.uids(name)) for name in server) == len(places)
    assert client.look_at(wrong, "INBOX")["flags"] >= {"\\Seen", "\\Flagged"}
    assert flags(host, "INBOX", wrong) == "FS"
