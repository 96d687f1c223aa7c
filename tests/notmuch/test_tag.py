"""A tag in notmuch teaches: the real notmuch indexes the Maildir, and the service asks it."""

import itertools
import logging
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerBusyError
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.notmuch import tag
from spamnb.notmuch.checks import of_notmuch
from spamnb.notmuch.part import TagInNotmuch
from spamnb.notmuch.tag import NotmuchTag
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.log import LogOnce
from tests import warm
from tests.documents import block
from tests.patience import PATIENCE, until
from tests.service.conftest import Site

pytestmark = pytest.mark.skipif(shutil.which("notmuch") is None, reason="needs notmuch (Debian: notmuch)")

_OFTEN = "tag._SECONDS = tag._AGAIN_SECONDS = 0.1"
_HURRIED = f"from spamnb.notmuch import tag; {_OFTEN}; {warm.HURRIED}"


DOCUMENT = "docs/mail-server.md"


class Indexed:
    """A site whose mail notmuch indexes."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = site
        site.parts = (TagInNotmuch,)
        configuration = site.directory / "notmuch-config"
        # As many people have it: spam is left out of searches, and flags are not written to file names.
        configuration.write_text(
            f"[database]\npath={site.root}\n[user]\nprimary_email=anna@home.example\n[new]\ntags=new\n"
            "[search]\nexclude_tags=spam;deleted\n[maildir]\nsynchronize_flags=false\n"
        )
        monkeypatch.setenv("NOTMUCH_CONFIG", str(configuration))
        site.teach()
        site.configure(block(DOCUMENT, "notmuch-tag"))
        self.run("new")
        site.work()

    def run(self, *arguments: str) -> str:
        """Call notmuch, which must succeed."""
        command = ["notmuch", *arguments]
        return subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE, text=True).stdout

    def deliver(self, kind: str, number: int, folder: str = "INBOX") -> bytes:
        """Deliver a message, which the service judges and notmuch indexes."""
        content = self.site.deliver(message(kind, number), folder)
        self.site.work()
        self.run("new")
        return content

    def tag(self, change: str, *contents: bytes) -> None:
        """Change the tags of messages, and let the service look."""
        self.run("tag", change, "--", " or ".join(map(named, contents)))
        self.site.work()

    def lesson(self, content: bytes) -> tuple[int | None, bool]:
        """Return the label of a message, and whether it is weak."""
        with Ledger(str(self.site.ledger)) as ledger:
            known = ledger.messages.find(identity(content))
            return (None, False) if known is None else (known.label, bool(known.weak))


def named(content: bytes) -> str:
    """The query for a message."""
    return f"id:{content.partition(b'Message-ID: <')[2].partition(b'>')[0].decode()}"


@pytest.fixture
def indexed(site: Site, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    """A site that has learned of both kinds, and whose mail notmuch indexes."""
    return Indexed(site, monkeypatch)


def test_a_tag_is_learned_and_taken_back(indexed: Indexed) -> None:
    """Ham that gets the tag is learned as spam, by a decision; as ham if it loses the tag; its file stays."""
    ham = indexed.deliver("ham", 700)
    indexed.tag("+spam", ham)
    assert indexed.lesson(ham) == (Label.SPAM, False)
    indexed.tag("-spam", ham)
    assert indexed.lesson(ham) == (Label.HAM, False)
    indexed.tag("+spam", ham)
    assert indexed.lesson(ham) == (Label.SPAM, False)
    assert indexed.site.contents("INBOX") == [ham]


def test_the_verdict_as_a_tag(indexed: Indexed) -> None:
    """Spam in Junk that a hook gives the tag teaches nothing; if a person takes the tag away, it is ham."""
    spam = indexed.deliver("spam", 701)
    assert indexed.site.contents("Junk") == [spam]
    indexed.tag("+spam", spam)
    assert indexed.lesson(spam) == (None, False)
    indexed.tag("-spam", spam)
    assert indexed.lesson(spam) == (Label.HAM, False)


def test_the_hook(indexed: Indexed) -> None:
    """The hook gives the tag to new mail in Junk and to no other, and that teaches nothing."""
    hook = indexed.site.root / ".notmuch/hooks/post-new"
    hook.parent.mkdir()
    hook.write_text(block(DOCUMENT, "notmuch-junk"))
    hook.chmod(0o755)
    spam, ham = indexed.deliver("spam", 750), indexed.deliver("ham", 751)
    found = [
        indexed.run("search", "--exclude=false", "--output=tags", "--", named(each)).split() for each in (spam, ham)
    ]
    assert found == [["spam"], ["inbox", "unread"]]
    indexed.site.work()
    assert indexed.lesson(spam) == indexed.lesson(ham) == (None, False)


def test_other_tags(indexed: Indexed) -> None:
    """A different tag teaches nothing, nor does it that notmuch sees a file for the first time."""
    ham, spam = indexed.deliver("ham", 702), indexed.deliver("spam", 703)
    indexed.tag("+later", ham, spam)
    indexed.tag("-later", ham, spam)
    assert indexed.lesson(ham) == indexed.lesson(spam) == (None, False)


def test_mail_that_is_not_judged(indexed: Indexed) -> None:
    """Mail in another folder without a verdict is learned weakly; in a neutral folder it teaches nothing."""
    filed, thrown = indexed.deliver("ham", 704, "Archive"), indexed.deliver("ham", 705, "Trash")
    indexed.tag("+spam", filed, thrown)
    assert indexed.lesson(filed) == (Label.SPAM, True)
    assert indexed.lesson(thrown) == (None, False)


def test_tagged_before_the_first_look(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail that had the tag before the first look teaches when it loses the tag, and not before."""
    ham = site.deliver(message("ham", 706))
    indexed = Indexed(site, monkeypatch)
    indexed.run("tag", "+spam", "--", named(ham))
    with Ledger(str(site.ledger)) as ledger:
        ledger.state.notmuch_seen = None
    site.work()
    assert indexed.lesson(ham) == (None, False)
    indexed.tag("-spam", ham)
    assert indexed.lesson(ham) == (Label.HAM, False)


def test_different_messages_that_notmuch_shows_as_one(indexed: Indexed) -> None:
    """If a stranger has used a message's Message-ID, the tag of both teaches nothing."""
    ham = indexed.deliver("ham", 707)
    header, _, body = ham.partition(b"\n\n")
    forged = indexed.site.deliver(header + b"\n\nCheap pills, only today: " + body)
    indexed.site.work()
    indexed.run("new")
    assert len(indexed.run("search", "--output=files", "--", named(ham)).splitlines()) == 2
    indexed.tag("+spam", ham)
    assert indexed.lesson(ham) == indexed.lesson(forged) == (None, False)


def test_two_files_of_one_message(indexed: Indexed) -> None:
    """A message with two equal files is learned once."""
    ham = indexed.deliver("ham", 708)
    indexed.deliver("ham", 708, "Archive")
    indexed.tag("+spam", ham)
    assert indexed.lesson(ham) == (Label.SPAM, False)


def test_a_file_that_notmuch_does_not_know_yet(indexed: Indexed) -> None:
    """A tag teaches after `notmuch new`, if the message was moved before that."""
    ham = indexed.deliver("ham", 709)
    indexed.site.move(ham, "INBOX", "Archive", "S")
    indexed.tag("+spam", ham)
    assert indexed.lesson(ham)[0] != Label.SPAM
    indexed.run("new")
    indexed.site.work()
    assert indexed.lesson(ham)[0] == Label.SPAM


def test_an_odd_message_id(indexed: Indexed) -> None:
    """A Message-ID with quotes, brackets and words of queries names its message alone."""
    other = indexed.deliver("ham", 710)
    head, _, rest = message("ham", 711).partition(b"Message-ID: <")
    odd = indexed.site.deliver(head + b'Message-ID: <a"b)or(*"@x.example>' + rest.partition(b">")[2])
    indexed.site.work()
    indexed.run("new")
    indexed.run("tag", "+spam", "--", "tag:new and not " + named(other))
    indexed.site.work()
    assert (indexed.lesson(odd), indexed.lesson(other)) == ((Label.SPAM, False), (None, False))


def test_too_many_at_once(indexed: Indexed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is learned of very many messages that get the tag at once; the next one teaches again."""
    caplog.set_level(logging.INFO, "spamnb")
    monkeypatch.setattr(tag, "_MOST", 2)
    mail = [indexed.deliver("ham", 720 + number) for number in range(3)]
    indexed.tag("+spam", *mail)
    assert [indexed.lesson(each) for each in mail] == [(None, False)] * 3
    assert "3 messages got the tag spam in notmuch" in caplog.text
    indexed.tag("-spam", mail[0])
    assert indexed.lesson(mail[0]) == (Label.HAM, False)


def _without_the_program(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(indexed.site.directory))
    return lambda: monkeypatch.setenv("PATH", path)


def _with_a_damaged_database(indexed: Indexed, _: pytest.MonkeyPatch) -> Callable[[], None]:
    (version,) = Path(indexed.site.root, ".notmuch/xapian").glob("iam*")
    content = version.read_bytes()
    version.write_bytes(b"of a version to come")

    def mend() -> None:
        version.write_bytes(content)

    return mend


def _without_a_configuration(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    monkeypatch.setenv("NOTMUCH_CONFIG", "/nowhere")
    return lambda: monkeypatch.setenv("NOTMUCH_CONFIG", str(indexed.site.directory / "notmuch-config"))


@pytest.mark.parametrize("break_it", [_without_the_program, _with_a_damaged_database, _without_a_configuration])
def test_notmuch_does_not_answer(
    indexed: Indexed,
    monkeypatch: pytest.MonkeyPatch,
    break_it: Callable[[Indexed, pytest.MonkeyPatch], Callable[[], None]],
) -> None:
    """Without an answer of notmuch mail is judged as before, `doctor` says what to do, and later the tag teaches."""
    ham = indexed.deliver("ham", 712)
    indexed.run("tag", "+spam", "--", named(ham))
    mend = break_it(indexed, monkeypatch)
    spam = indexed.site.deliver(message("spam", 713))
    indexed.site.work()
    assert indexed.site.contents("Junk") == [spam]
    (found,) = of_notmuch(load(indexed.site.config, {}))
    assert (found.state, "notmuch" in found.means, "notmuch new" in found.next) == ("warning", True, True)
    mend()
    indexed.site.work()
    assert indexed.lesson(ham) == (Label.SPAM, False)


def test_doctor(indexed: Indexed, tmp_path: Path) -> None:
    """`doctor` counts the messages with the tag, and names a mailbox that notmuch does not index."""
    ham = indexed.deliver("ham", 714)
    indexed.tag("+spam", ham)
    (found,) = of_notmuch(load(indexed.site.config, {}))
    assert (found.state, found.means) == ("ok", "1 message in notmuch have the tag spam")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    indexed.run("config", "set", "database.path", str(elsewhere))
    indexed.run("new")
    _, found = of_notmuch(load(indexed.site.config, {}))
    assert (found.state, f"notmuch indexes {elsewhere}" in found.means) == ("warning", True)


def test_a_database_that_was_made_anew(indexed: Indexed) -> None:
    """If notmuch has made its database anew, its tags are known again, and teach nothing by that."""
    ham, other = indexed.deliver("ham", 715), indexed.deliver("ham", 716)
    indexed.tag("+spam", ham)
    shutil.rmtree(indexed.site.root / ".notmuch")
    indexed.run("new")
    indexed.site.work()
    assert indexed.lesson(ham) == (Label.SPAM, False)
    indexed.tag("+spam", other)
    assert indexed.lesson(other) == (Label.SPAM, False)


def test_nothing_is_written(indexed: Indexed) -> None:
    """The service leaves notmuch's database unchanged."""
    ham = indexed.deliver("ham", 717)
    indexed.run("tag", "+spam", "--", named(ham))
    database = Path(indexed.site.root, ".notmuch")
    before = {path: path.read_bytes() for path in database.rglob("*") if path.is_file()}
    indexed.site.work()
    assert indexed.lesson(ham) == (Label.SPAM, False)
    assert {path: path.read_bytes() for path in database.rglob("*") if path.is_file()} == before


def test_a_fault_that_lasts(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says once that notmuch does not answer, and once that it answers again; mail is judged all the time."""
    ham = indexed.deliver("ham", 719)
    indexed.run("tag", "+spam", "--", named(ham))
    indexed.site.program = _HURRIED
    mend = _with_a_damaged_database(indexed, monkeypatch)
    indexed.site.start()
    numbers = itertools.count(760)

    def is_told(words: str) -> bool:
        content = indexed.site.deliver(message("ham", next(numbers)))  # the service asks notmuch after it
        indexed.site.wait_until_judged(content)
        return words in indexed.site.log()

    until(lambda: is_told("The tag spam teaches nothing until notmuch answers"), indexed.site.log)
    for _ in range(3):
        is_told("")
    assert indexed.site.log().count("The tag spam teaches nothing") == 1
    mend()
    until(lambda: is_told("notmuch answers again"), indexed.site.log)
    assert indexed.lesson(ham) == (Label.SPAM, False)
    assert indexed.site.end() == 0


def test_a_ledger_that_is_held_for_a_moment(indexed: Indexed) -> None:
    """If the ledger cannot be written when a message gets the tag, it is learned when the ledger is back."""
    ham = indexed.deliver("ham", 711)
    indexed.run("tag", "+spam", "--", named(ham))
    config = load(indexed.site.config, {})
    with (
        Ledger(str(config.ledger), busy_seconds=0.1) as ledger,
        closing(sqlite3.connect(config.ledger, isolation_level=None)) as other,
    ):
        account = AwakeAccount(Context(config, ledger, time.time), LogOnce(logging.getLogger("test")))
        account.compare()
        other.execute("BEGIN IMMEDIATE")
        account.take_jobs([NotmuchTag(account, "spam")])
        with pytest.raises(LedgerBusyError):  # the account rests, and has new jobs when it is awake again
            account.finish_jobs()
        other.execute("ROLLBACK")
        account.take_jobs([NotmuchTag(account, "spam")])
        account.finish_jobs()
        account.close()
    assert indexed.lesson(ham) == (Label.SPAM, False)


def test_beside_a_writer(indexed: Indexed) -> None:
    """The running service learns while another program has notmuch's database locked, and takes it back."""
    ham = indexed.deliver("ham", 718)
    indexed.site.program = _HURRIED
    indexed.site.start()
    numbers = itertools.count(730)

    def is_learned(label: Label) -> bool:
        content = indexed.site.deliver(message("ham", next(numbers)))  # the service asks notmuch after it
        indexed.site.wait_until_judged(content)
        return indexed.lesson(ham) == (label, False)

    indexed.run("tag", "+spam", "--", named(ham))
    writer = subprocess.Popen(
        ["notmuch", "tag", "--batch"], stdin=subprocess.PIPE
    )  # has the lock until it is told more
    try:
        until(lambda: is_learned(Label.SPAM), indexed.site.log)
    finally:
        writer.communicate(timeout=PATIENCE)
    indexed.run("tag", "-spam", "--", named(ham))
    until(lambda: is_learned(Label.HAM), indexed.site.log)
    assert indexed.site.end() == 0
    assert "learned as spam, tagged as spam in notmuch" in indexed.site.log()
    assert "warning" not in indexed.site.log()
