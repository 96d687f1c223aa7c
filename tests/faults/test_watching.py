"""The limits of inotify: watches, instances, and its queue; and a very full folder."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder, find_directories
from tests.faults.conftest import Faulty
from tests.patience import PATIENCE, until


def with_limit(sysctl: str, value: int) -> list[str]:
    """A command that runs another one in a user name space with that limit; skips where there are none."""
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        f'echo {value} >/proc/sys/user/{sysctl}; exec "$@"',
        "-",
    ]
    if subprocess.run([*words, "true"], capture_output=True, check=False).stderr:
        pytest.skip("needs user name spaces")
    return words


@pytest.mark.parametrize("watches", [0, 1, 3, 10, 17])
def test_no_watches_left(site: Faulty, watches: int) -> None:
    """Where not every folder can be watched all of them are polled, and the log names the limit to raise."""
    site.configure("service:\n  poll_seconds: 0.5\n")
    site.teach()
    site.by = with_limit("max_inotify_watches", watches)
    site.start()
    until(lambda: "polling 6 folders" in site.log(), "the start")
    assert "raise the sysctl fs.inotify.max_user_watches" in site.log()
    site.goes_on(720)
    ham = site.deliver(message("spam", 721), "TrainHam")
    until(lambda: site.label(ham) == 0, "the last folder looked at too")
    site.clean()


def test_no_watches_left_for_a_new_folder(site: Faulty) -> None:
    """Where a folder that is new cannot be watched all of them are polled from then on."""
    site.configure("service:\n  poll_seconds: 0.5\n")
    site.teach()
    directories = len(list(find_directories(str(site.root), "auto")))
    site.by = with_limit("max_inotify_watches", directories + 1)
    site.start()
    assert "watching 6 folders" in site.log()
    for name in ("One", "Two", "Three"):
        site.folders[name] = create_folder(str(site.root), "maildir++", name)
    until(lambda: "raise the sysctl fs.inotify.max_user_watches" in site.log(), "the fault said")
    ham = site.deliver(message("ham", 722))
    until(lambda: "stays in INBOX, ham" in site.log(), "judged")
    site.move(ham, "INBOX", "Three")
    until(lambda: site.label(ham) == 0, "learned from the folder that is not watched")
    assert site.log().count("max_user_watches") == 1
    site.clean()


_TWO = """
import sys
from spamnb.maildir.folders import find_directories
from spamnb.service.watcher import Watcher
watcher, patience, (one, other) = Watcher("auto"), float(sys.argv[1]), sys.argv[2:]
watcher.start()
assert watcher.watch(one, find_directories(one, "auto"))
for _ in range(2):
    assert not watcher.watch(other, find_directories(other, "auto"))
assert watcher.polling
open(f"{other}/new/1.a", "x").close()
open(f"{one}/new/1.a", "x").close()
assert watcher.next(patience).root == one, "what can only be watched in part is not watched"
watcher.unwatch(one)
assert watcher.watch(other, find_directories(other, "auto"))
assert not watcher.polling
open(f"{other}/new/2.b", "x").close()
assert watcher.next(patience).root == other
watcher.stop()
"""


def test_watches_for_one_of_two(tmp_path: Path) -> None:
    """Where the watches last for one of two mailboxes it is watched, and the other one as soon as they last for it."""
    roots = [create_folder(str(tmp_path / name), "maildir++", "INBOX").path for name in ("one", "other")]
    command = [*with_limit("max_inotify_watches", 5), sys.executable, "-c", _TWO, str(PATIENCE / 2), *roots]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("raise the sysctl fs.inotify.max_user_watches") == 1


def test_no_instances_left(site: Faulty) -> None:
    """Without an inotify instance the folders are polled, and the log names the limit to raise."""
    site.configure("service:\n  poll_seconds: 0.5\n")
    site.teach()
    site.by = with_limit("max_inotify_instances", 0)
    site.start()
    until(lambda: "polling 6 folders" in site.log(), "the start")
    assert "raise the sysctl fs.inotify.max_user_instances" in site.log()
    site.goes_on(723)
    site.clean()


def test_inotify_demanded(site: Faulty) -> None:
    """Where inotify is demanded and not to be had, the service ends with 3 and the limit to raise."""
    site.configure("service:\n  watch: inotify\n")
    site.by = with_limit("max_inotify_watches", 10)
    site.start(wait=False)
    assert site.ended() == 3
    assert "max_user_watches; or set service.watch to auto" in site.log().splitlines()[-1]


def say(capsys: pytest.CaptureFixture[str], figures: str) -> None:
    """Show what was measured to whoever runs this by hand."""
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")


def burst(site: Faulty, count: int, start: int) -> None:
    """Deliver by hard links to few files: as fast as the disk can."""
    drafts = []
    for number in range(count):
        draft = site.root / "tmp" / f"{start + number}.burst"
        draft.write_bytes(b"X-Number: %d\n" % number + message("spam" if number % 2 else "ham", 10_000 + number))
        drafts.append(draft)
    for draft in drafts:
        draft.rename(site.root / "new" / draft.name)


@pytest.mark.slow
def test_queue_overflows(site: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 20,000 messages that come at once, while the service is held, each is judged once and lies in its place."""
    import signal

    site.configure("service:\n  reconcile_seconds: 3600\nbreaker: false\n")
    site.teach()
    site.start()
    assert site.process is not None
    site.process.send_signal(signal.SIGSTOP)
    burst(site, 20_000, 1_700_000_000)
    begun = time.monotonic()
    site.process.send_signal(signal.SIGCONT)

    def judged() -> int:
        with Ledger(str(site.ledger)) as ledger:
            return sum(number for verdict, number in ledger.messages.numbers().items() if verdict != "not judged")

    until(lambda: time.sleep(1) or judged() >= 20_000, "all judged", 15 * PATIENCE)  # type: ignore[func-returns-value]
    say(capsys, f"20,000 messages judged in {time.monotonic() - begun:.0f} s")
    overflowed = "queue of events was full" in site.log()
    site.end()
    assert overflowed
    lying = Counter(
        content.split(b"X-Number: ")[1].split(b"\n")[0] for name in ("INBOX", "Junk") for content in site.contents(name)
    )
    assert len(lying) == 20_000
    assert set(lying.values()) == {1}
    assert len(site.contents("Junk")) > 9_000
    assert judged() == 20_000
    site.clean()


@pytest.mark.slow
def test_a_very_full_folder(site: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """200,000 messages that lie in the inbox at the first start are noted, not moved, and take no memory each."""
    site.teach()
    for number in range(200_000):
        (site.root / "cur" / f"{1_600_000_000 + number}.M1P1.full:2,S").write_bytes(
            b"Message-ID: <%d@full>\n\nx" % number
        )
    for words in ("first", "second"):
        begun = time.monotonic()
        site.start(wait=False)
        starts = 1 if words == "first" else 2
        until(lambda starts=starts: site.log().count("watching 6") == starts, "the start", 15 * PATIENCE)  # type: ignore[misc]
        took = time.monotonic() - begun
        assert site.process is not None
        status = Path(f"/proc/{site.process.pid}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
        say(capsys, f"{words} start with 200,000 messages: {took:.0f} s, {peak} MB at most")
        site.goes_on(724 + len(words))
        assert peak < 512, "the unit's limit"
        site.end()
    assert len(os.listdir(site.root / "cur")) == 200_000
    site.clean()
