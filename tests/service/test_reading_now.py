"""A message that ends the process is met once, and the mail beside it is filtered."""

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.service.reading_now import Interrupted, ReadingNow, remember
from tests.patience import until
from tests.service.conftest import Site

# A service whose reader ends the process, or waits for ever, at one message.
DEADLY = """
import os, signal, sys, time
import spamnb.mail.reading as reading
from spamnb.cli.main import entry_point

parse = reading.parse

def deadly(raw, limits):
    if b"X-Deadly" in raw:
        {end}
    return parse(raw, limits)

reading.parse = deadly
entry_point()
"""
ABORT, KILL = "os.abort()", "os.kill(os.getpid(), signal.SIGKILL)"
SEGMENTATION = "import ctypes; ctypes.string_at(0)"


def start(site: Site, end: str) -> None:
    """Start a service that ends at a deadly message."""
    with mock.patch.object(site, "program", DEADLY.format(end=end)):
        site.start(wait=False)


def deadly(number: int) -> bytes:
    return b"X-Deadly: yes\n" + message("spam", number)


@pytest.fixture
def taught(site: Site) -> Iterator[Site]:
    """A site whose filter knows ham from spam, and whose inbox is known to be empty."""
    site.teach()
    site.work()
    yield site


@pytest.mark.thorough
@pytest.mark.parametrize(("end", "lives"), [(ABORT, 1), (SEGMENTATION, 1), (KILL, 2)])
def test_a_message_that_ends_the_process(taught: Site, end: str, lives: int) -> None:
    """A message is skipped at the next start after a fault, and at the second one after a kill.

    From then on all other mail is judged and moved; the message stays where it is, is told of, and is read again when a
    person wants that.
    """
    site = taught
    culprit = site.deliver(deadly(800))
    for _ in range(lives):
        start(site, end)
        assert site.ended() < 0
    spam = site.deliver(message("spam", 801))
    start(site, end)
    until(lambda: spam in site.contents("Junk"), "other mail moved")
    assert "is no longer read: the service crashed while it read this message" in site.log()
    assert site.contents("INBOX") == [culprit]
    site.end()
    assert site.faults() == []
    site.start()
    late = site.deliver(message("spam", 802))
    until(lambda: late in site.contents("Junk"), "other mail moved")
    assert site.contents("INBOX") == [culprit]
    with Ledger(str(site.ledger)) as ledger:
        assert len(ledger.state.skipped) == 1
        ledger.state.skipped = ()
    site.end()
    site.work()
    assert culprit in site.contents("Junk")


def test_a_kill_is_no_fault_of_a_message(taught: Site) -> None:
    """A message that was being read during a kill is read again, and then no longer suspected."""
    site = taught
    mail = site.deliver(deadly(803))
    start(site, KILL)
    assert site.ended() == -9
    site.start()
    until(lambda: mail in site.contents("Junk"), "judged by a reader that does not die")
    site.end()
    with Ledger(str(site.ledger)) as ledger:
        assert (ledger.state.skipped, ledger.state.suspected) == ((), ())


def test_an_end_in_order_leaves_nothing(taught: Site) -> None:
    """After an ordered stop nothing is recorded as being read."""
    site = taught
    site.start()
    spam = site.deliver(message("spam", 804))
    until(lambda: spam in site.contents("Junk"), "spam moved")
    site.end()
    reading = ReadingNow()
    reading.open(str(site.ledger))
    assert reading.left == {}
    reading.close()


@pytest.fixture
def stem(tmp_path: Path) -> str:
    return str(tmp_path / "service")


def test_each_thread_has_a_place(stem: str) -> None:
    """All messages that several threads read at one time are recorded; those read to the end are not."""
    reading, threads = ReadingNow(), []
    reading.open(stem)
    assert reading.left == {}
    begun, over = threading.Barrier(4), threading.Event()

    def work(number: int) -> None:
        reading.begin("anna", f"{number}.host")
        begun.wait()
        over.wait()

    for number in range(3):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
    reading.begin("bob", "read")
    reading.end()
    begun.wait()
    after = ReadingNow()
    after.open(stem)
    after.close()
    over.set()
    for thread in threads:
        thread.join()
    reading.close()
    met = [Interrupted("anna", f"{number}.host", is_cause=False) for number in range(3)]
    assert {name: sorted(each) for name, each in after.left.items()} == {"anna": met}


@pytest.mark.parametrize("what", ["x" * 255, "\udcff" * 255, 'a"\\\0b', ""])
def test_any_name_can_be_written(stem: str, what: str) -> None:
    """A file may have any name that a file system allows."""
    reading, account = ReadingNow(), "u" * 254
    reading.open(stem)
    reading.begin(account, what)
    after = ReadingNow()
    after.open(stem)
    assert after.left == {account: [Interrupted(account, what, is_cause=False)]}
    reading.close()
    after.close()


@pytest.mark.parametrize("content", [b"\xff" * 9000, b'["0x1", 3, "a"]', b"[" * 5000, b'["zz", "a", "b"]'])
def test_files_that_hold_something_else(stem: str, content: bytes) -> None:
    """A file that another program wrote has no meaning, and does not keep the service from its work."""
    Path(f"{stem}.reading").write_bytes(content)
    reading = ReadingNow()
    reading.open(stem)
    assert reading.left == {}
    reading.close()


def test_files_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """If the files cannot be made, the service says so and works without them."""
    reading = ReadingNow()
    with caplog.at_level(logging.WARNING, "spamnb"):
        reading.open(str(tmp_path / "missing" / "service"))
        assert reading.left == {}
    assert "cannot record which message" in caplog.text
    reading.begin("anna", "a")
    reading.end()
    reading.close()
    (tmp_path / "service.reading").symlink_to(tmp_path / "elsewhere")
    reading.open(str(tmp_path / "service"))
    assert reading.left == {}
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_met_twice_is_skipped(tmp_path: Path) -> None:
    """A suspected message is skipped when it is met again; a different one is not."""
    with Ledger(str(tmp_path / "ledger")) as ledger:
        for what in ("a", "b", "a"):
            remember(ledger, [Interrupted("", what, is_cause=False)])
        remember(ledger, [Interrupted("", "c", is_cause=True)])
        assert (ledger.state.skipped, ledger.state.suspected) == (("a", "c"), ("b",))


def test_private(stem: str) -> None:
    """The files can be read by their owner alone."""
    reading = ReadingNow()
    reading.open(stem)
    reading.close()
    assert {os.stat(stem + end).st_mode & 0o777 for end in (".reading", ".fault")} == {0o600}
