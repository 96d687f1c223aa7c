"""mutt and notmuch, with the recipes of docs/mail-server.md."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import termios
import time

import pytest

from spamnb.identity import charsets
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests.delivery.conftest import BROKEN, HAM, SPAM, Home
from tests.patience import PATIENCE

pytestmark = pytest.mark.real_system
DOCUMENT = "docs/mail-server.md"


def lesson(home: Home, content: bytes) -> str | None:
    """Return the label of a message."""
    with Ledger(str(home.path / "ledger.sqlite"), only_read=True) as ledger:
        found = ledger.lessons.find(identity(content))
        return None if found is None or found.label is None else found.label.word


def in_mutt(home: Home, keys: str) -> None:
    """Open the inbox in mutt on a terminal, press keys, and leave it; its screen is not read."""
    if shutil.which("mutt") is None:
        pytest.skip("needs mutt (Debian: mutt)")
    options = f"set folder={home.path}/Maildir mbox_type=Maildir delete=yes\n"
    rules = home.write(".muttrc", options + home.recipe("mutt"))
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    command = ["mutt", "-F", str(rules), "-f", f"{home.path}/Maildir", "-e", f'push "{keys}<sync-mailbox><exit>"']
    environ = {"HOME": str(home.path), "PATH": os.environ["PATH"], "TERM": "vt100", "LC_ALL": "C.UTF-8"}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, close_fds=True)
    os.close(theirs)
    end = time.monotonic() + PATIENCE
    try:
        while running.poll() is None and time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    os.read(ours, 1 << 16)
                except OSError:  # its end of the terminal is closed
                    break
        assert running.wait(PATIENCE) == 0
    finally:
        running.kill()
        running.wait()
        os.close(ours)


@pytest.mark.parametrize(("key", "label", "folder"), [("S", "spam", ".Junk"), ("H", "ham", ".Archive")])
def test_mutt(home: Home, key: str, label: str, folder: str) -> None:
    """A key teaches the message, and moves it."""
    (home.path / "Maildir/cur/1700000001.M1P1.home:2,S").write_bytes(SPAM)
    in_mutt(home, key)
    assert lesson(home, SPAM) == label
    assert [identity(content) for content in home.mail(folder)] == [identity(SPAM)]
    assert home.mail() == []
    home.run(str(home.program), "untrain", str(next((home.path / "Maildir" / folder).glob("[cn][ue][rw]/*"))))


def test_mutt_shows_all_labels_of_a_charset_alike(home: Home) -> None:
    """mutt shows the same letters under all labels that are one charset for a message's identity."""
    lines = charsets._lines(charsets._AROUND_ASCII) + charsets._lines(charsets._OTHERS)
    letters = bytes(range(0xA0, 0x100)) + b" \x82\xa0 \x93\xfa \x1b$BF|\x1b(B \x1b$)C\x0eF|\x0f"
    part = b'--b\nContent-Type: text/plain; charset="%s"\nContent-Transfer-Encoding: 8bit\n\n>>%s<<\n'
    parts = b"".join(part % (label, letters) for _, *labels in lines for label in labels)
    head = b"From: a@b.example\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    (home.path / "Maildir/cur/1700000001.M1P1.home:2,S").write_bytes(head + parts + b"--b--\n")
    shown = home.path / "shown"
    in_mutt(home, f"<enter-command>set pipe_decode=yes wait_key=no<enter><pipe-message>cat >{shown}<enter>")
    texts = iter(re.findall(rb">>(.*?)<<", shown.read_bytes(), re.DOTALL))
    by_name = {name: {label: next(texts) for label in labels} for name, *labels in lines}
    assert next(texts, None) is None
    assert [name for name, texts in by_name.items() if len({*texts.values()}) > 1] == []
    assert len({*by_name[b"koi8_r"].values(), *by_name[b"cp1251"].values(), *by_name[b"us_ascii"].values()}) == 3


def new_in_notmuch(home: Home, *contents: bytes) -> "subprocess.CompletedProcess[bytes]":
    """Index new mail with the hook."""
    if shutil.which("notmuch") is None:
        pytest.skip("needs notmuch (Debian: notmuch)")
    mail = home.path / "Maildir"
    for number, content in enumerate(contents):
        (mail / "new" / f"170000000{number}.M1P1.home").write_bytes(content)
    configuration = f"[database]\npath={mail}\n[user]\nprimary_email=you@home.example\n[new]\ntags=new\n"
    home.write(".notmuch-config", configuration)
    home.write("Maildir/.notmuch/hooks/post-new", home.recipe("notmuch"), 0o755)
    return home.run("notmuch", "new")


def tags(home: Home, content: bytes) -> set[str]:
    """The tags of a message."""
    name = content.partition(b"Message-ID: <")[2].partition(b">")[0].decode()
    found = json.loads(home.run("notmuch", "search", "--format=json", "--output=tags", f"id:{name}").stdout)
    return set(found)


def test_notmuch(home: Home) -> None:
    """New spam has the tag spam, and other new mail is in the inbox."""
    assert new_in_notmuch(home, SPAM, HAM).returncode == 0
    assert tags(home, SPAM) - {"unread"} == {"spam"}
    assert tags(home, HAM) == {"inbox", "unread"}


@pytest.mark.parametrize("how", BROKEN)
def test_notmuch_with_a_broken_filter(home: Home, how: str) -> None:
    """If the filter is broken all new mail is in the inbox."""
    home.break_it(how)
    assert new_in_notmuch(home, SPAM).returncode == 0
    assert tags(home, SPAM) == {"inbox", "unread"}
