"""Measure how often a mail program that waits in IMAP IDLE hears of spam before the filter has moved it.

A real Dovecot serves a Maildir, and the real service watches it, with a filter that has learned the first half of a
corpus. One session waits in IDLE as a phone does: after each EXISTS it ends IDLE, fetches the header of what is new,
and waits again. 200 spam and 20 ham messages of the second half come in mixed order.

Each row is one way to deliver, at one pace. paces: "apart", a message every 6 to 7 s; "close", every 0.8 to 1.6 s;
"stream", ten per second on average, at random times; "bursts", 20 at once, then 2 s of silence. ways: "new/", a rename
into the folder; "lmtp", Dovecot's LMTP server; "lda", dovecot-lda.

spam: messages that the filter moved. EXISTS: how many of these the server told the session of. shown: how many of
these the session could still fetch; late: how many of those had left the inbox before. ham told: from delivery to
EXISTS. spam gone: from delivery until the message is in Junk.

    python benchmarks/idle.py CORPUS [--dovecot 2.3] [--ways new/ lmtp lda] [--paces apart close stream bursts]
        [--settings 'maildir_very_dirty_syncs = yes'] [--load PROCESSES] [--json]

As root: Dovecot runs as `nobody`. With `--dovecot 2.4` it runs in a tree of Debian 13, which mmdebstrap makes.
"""

import contextlib
import itertools
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import common
import latency
import numpy as np
from watchdog.events import FileCreatedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from spamnb.base.label import Label
from tests.imap.conftest import Host, hosts
from tests.imap.dovecot import NEW, OLD, Dovecot
from tests.imap.phone import NUMBER, Phone, by_rename, numbered
from tests.imap.test_sieve import LMTP, Way, by_lda, by_lmtp
from tests.systemd import tree

_MESSAGES, _SPAM = 220, 200
_LAST = _MESSAGES  # the number of the message that ends the session
_DONE = re.compile(r": (?:stays in INBOX, |moved from INBOX to Junk$)", re.MULTILINE)  # a line of the log per message
_HEAD = 4096  # bytes of a file that hold the field, whatever the server has put before it


class Arrivals(FileSystemEventHandler):
    """When each message came to a folder, by its number."""

    def __init__(self) -> None:
        self.came: dict[int, float] = {}

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Record an arrival, in watchdog's thread."""
        now = time.perf_counter()
        path = event.dest_path if isinstance(event, FileMovedEvent) else event.src_path
        with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
            if found := NUMBER.search(file.read(_HEAD)):
                self.came.setdefault(int(found[1]), now)


def main() -> None:
    """Deliver in each way at each pace, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--dovecot", choices=(OLD, NEW), default=OLD)
    parser.add_argument("--ways", nargs="+", choices=_WAYS, default=list(_WAYS))
    parser.add_argument("--paces", nargs="+", choices=_PACES, default=list(_PACES))
    parser.add_argument("--settings", default="", metavar="TEXT", help="more of Dovecot's configuration")
    parser.add_argument("--load", type=int, default=0, metavar="PROCESSES", help="that compute all the time beside it")
    options = parser.parse_args()

    corpus = common.halves(common.warmed(options.corpus))
    mixed = latency.mixed(corpus, _MESSAGES, _SPAM / _MESSAGES)
    mail = [(label, content.replace(b"\r\n", b"\n")) for label, content in mixed]
    random.Random(1).shuffle(mail)
    rows = []
    with tempfile.TemporaryDirectory() as directory, _dovecot(options.dovecot, Path(directory)) as dovecot:
        taught = common.Spamnb(Path(directory))
        taught.train(corpus.first)
        with hosts(taught.ledger, dovecot) as make, _load(options.load):
            for way, pace in itertools.product(options.ways, options.paces):
                host = make(more=f"{LMTP}{options.settings}\n")
                rows.append({"way": way, "pace": pace, **_figures(host, mail, _WAYS[way], _PACES[pace]())})
                host.close()
    common.report(rows, options.json)


@contextlib.contextmanager
def _dovecot(version: str, directory: Path) -> Iterator[Dovecot]:
    if version == OLD:
        yield Dovecot()
        return
    place = directory / "debian"
    directory.chmod(0o755)
    tree.unpack(tree.debian(), place)
    yield Dovecot(place)
    shutil.rmtree(place)


@contextlib.contextmanager
def _load(processes: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _figures(host: Host, mail: Sequence[tuple[Label, bytes]], way: Way, pauses: Iterator[float]) -> dict[str, object]:
    """Deliver the mail while a session waits; return a row."""
    host.configure("breaker: false\n")
    host.start(environ={"PYTHONUNBUFFERED": "1"})  # with an environment of its own, it is a new Python
    phone = Phone(host.client(), _LAST)
    phone.start()
    phone.wait()
    sent: dict[int, float] = {}
    with way(host) as deliver, _arriving(host) as arrivals:
        for number, (_, content) in enumerate(mail):
            time.sleep(next(pauses))
            sent[number] = time.perf_counter()
            deliver(numbered(content, number))
        common.until(lambda: len(_DONE.findall(host.log())) == len(mail), "the service to be done")
        kept = len(host.contents("INBOX")) + 1  # with the last message
        deliver(numbered(next(content for label, content in mail if label is Label.HAM), _LAST))
        phone.join(common.PATIENCE)
    ham, spam = ([number for number, (label, _) in enumerate(mail) if label is which] for which in Label)
    moved = arrivals.came.keys() & set(spam)
    shown = moved & phone.heard.keys()
    return {
        "spam": len(moved),
        "EXISTS": phone.told - kept,
        "shown": len(shown),
        "late": sum(phone.heard[number] > arrivals.came[number] for number in shown),
        "ham": len(ham),
        **_percentiles("ham told", [phone.heard[number] - sent[number] for number in ham if number in phone.heard]),
        **_percentiles("spam gone", [arrivals.came[number] - sent[number] for number in moved]),
    }


@contextlib.contextmanager
def _arriving(host: Host) -> Iterator[Arrivals]:
    """Watch Junk."""
    arrivals, observer = Arrivals(), Observer()
    for subdir in ("new", "cur"):
        path = host.folders["Junk"].subdir(subdir)
        observer.schedule(arrivals, path, event_filter=[FileCreatedEvent, FileMovedEvent])
    observer.start()
    try:
        yield arrivals
    finally:
        observer.stop()
        observer.join()


def _percentiles(name: str, seconds: Sequence[float]) -> dict[str, object]:
    times = np.array(seconds or [np.nan]) * 1000
    return {f"{name} {word} ms": float(np.percentile(times, share)) for word, share in (("p50", 50), ("p99", 99))}


def _evenly(low: float, high: float) -> Iterator[float]:
    choice = random.Random(2)
    while True:
        yield choice.uniform(low, high)


def _stream() -> Iterator[float]:
    choice = random.Random(2)
    while True:
        yield choice.expovariate(10.0)


def _bursts() -> Iterator[float]:
    return itertools.cycle([2.0, *[0.0] * 19])


_WAYS: dict[str, Way] = {"new/": by_rename, "lmtp": by_lmtp, "lda": by_lda}
_PACES: dict[str, Callable[[], Iterator[float]]] = {
    "apart": partial(_evenly, 6.0, 7.0),
    "close": partial(_evenly, 0.8, 1.6),
    "stream": _stream,
    "bursts": _bursts,
}


if __name__ == "__main__":
    main()
