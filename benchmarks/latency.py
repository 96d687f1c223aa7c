"""Measure how long spam stays in the inbox: from its rename into new/ until it has left INBOX and is in Junk.

The real service watches its own Maildir, with a filter that has learned the first half of a corpus (without one,
made-up mail). Messages come at an even pace, ham and spam mixed, each written in tmp/, made durable, and renamed into
new/. Only messages unlike all the others are delivered: the service rightly puts off a message that the ledger knows,
for the dwell.

This process sees an arrival in Junk by inotify, so it costs the service next to nothing. The row "watching" is the cost
of that alone: the same rename, made by this process itself. Spam that the filter does not call spam stays in the inbox:
it counts as delivered ("of"), and has no time.

    python benchmarks/latency.py [--corpus CORPUS] [--rate 10] [--seconds 30] [--spam 0.5] [--json]
"""

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import common
import numpy as np
from watchdog.events import FileCreatedEvent, FileMovedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from spamnb.acts.moves import bases_now
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.evaluation.corpus import Labelled
from spamnb.identity.digests import identity
from spamnb.maildir.folders import Folder

_LESSONS = 200  # made-up messages of each kind that are learned
_FLOOR = 100  # own renames
_AFTER = 5.0  # seconds that the last message may take


class Arrivals(FileSystemEventHandler):
    """Records when each file came to a folder, by its inode: a rename keeps the inode, whatever the new name is."""

    def __init__(self) -> None:
        self.sources: dict[int, str] = {}
        self.came: dict[int, float] = {}
        self.changed = threading.Condition()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Record an event, in watchdog's thread. A file counts when its source name is gone, too."""
        path = event.dest_path if isinstance(event, FileMovedEvent) else event.src_path
        now = time.perf_counter()
        try:
            inode = os.stat(path).st_ino
        except FileNotFoundError:
            return
        source = self.sources.get(inode)
        if source is None or inode in self.came:
            return
        while os.path.lexists(source):
            time.sleep(0.0005)
            now = time.perf_counter()
        with self.changed:
            self.came[inode] = now
            self.changed.notify_all()


class Sender:
    """A delivery agent that records when it renamed."""

    def __init__(self, folder: Folder, arrivals: Arrivals) -> None:
        self._folder = folder
        self._arrivals = arrivals
        self._bases = bases_now()
        self.sent: dict[int, float] = {}

    def send(self, content: bytes) -> int:
        """Deliver a message. Returns its inode."""
        base = next(self._bases)
        draft, final = (os.path.join(self._folder.subdir(subdir), base) for subdir in ("tmp", "new"))
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            inode = os.fstat(file.fileno()).st_ino
        self._arrivals.sources[inode] = final
        self.sent[inode] = time.perf_counter()
        os.rename(draft, final)
        return inode


def main() -> None:
    """Deliver, wait, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--rate", type=float, default=10.0, help="messages per second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--spam", type=float, default=0.5, metavar="SHARE", help="share of the delivered messages")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        if options.corpus:
            corpus = common.halves(common.warmed(options.corpus))
        else:
            corpus = common.halves(made_up(Path(directory), round(options.rate * options.seconds) + _LESSONS))
        spamnb.train(corpus.first)
        rows = [
            spam_moved(
                "spam moved", spamnb, mixed(corpus, round(options.rate * options.seconds), options.spam), options.rate
            ),
            _row("watching", _floor(Path(directory)), _FLOOR, None),
        ]
    common.report(rows, options.json)


def spam_moved(what: str, spamnb: common.Spamnb, mail: Sequence[tuple[Label, bytes]], rate: float) -> dict[str, object]:
    """Start the service, deliver messages (label, content) at a rate per second; return how long the spam stayed."""
    with spamnb.service(), _arriving(spamnb.junk) as arrivals:
        sender = Sender(spamnb.inbox, arrivals)
        spam = _deliver(sender, mail, rate)
        with arrivals.changed:
            arrivals.changed.wait_for(lambda: spam <= arrivals.came.keys(), _AFTER)
    moved = [arrivals.came[inode] - sender.sent[inode] for inode in spam if inode in arrivals.came]
    return _row(what, moved, len(spam), len(arrivals.came) - len(moved))


def made_up(directory: Path, number: int) -> list[Labelled]:
    """Make up messages, alternately ham and spam: `number` of each kind."""
    made = []
    for place in range(2 * number):
        label = Label(place % 2)
        path = directory / f"{label.word}{place}.eml"
        path.write_bytes(message(label.word, place))
        made.append(Labelled(str(path), path.name, label))
    return made


def mixed(corpus: common.Halves, number: int, share: float) -> list[tuple[Label, bytes]]:
    """Choose messages of the second half, evenly, that are unlike each other and all of the first half."""
    known = {identity(Path(each.path).read_bytes()) for each in corpus.first}
    waiting: tuple[list[bytes], list[bytes]] = ([], [])
    for each in reversed(corpus.second):
        raw = Path(each.path).read_bytes()
        if (digest := identity(raw)) not in known:
            known.add(digest)
            waiting[each.label].append(raw)
    labels = [Label(int((place + 1) * share) - int(place * share)) for place in range(number)]
    for label in Label:
        if (needed := labels.count(label)) > len(waiting[label]):
            raise SystemExit(f"{needed} {label.word} messages are needed, the second half has {len(waiting[label])}")
    return [(label, waiting[label].pop()) for label in labels]


def _deliver(sender: Sender, mail: Sequence[tuple[Label, bytes]], rate: float) -> set[int]:
    """Deliver at an even pace. Returns the inodes of the spam."""
    spam = set()
    start = time.perf_counter()
    for place, (label, content) in enumerate(mail):
        time.sleep(max(0.0, start + place / rate - time.perf_counter()))
        inode = sender.send(content)
        if label is Label.SPAM:
            spam.add(inode)
    return spam


def _floor(directory: Path) -> list[float]:
    """Return the seconds from an own rename until our watch has reported it."""
    folder = Folder("floor", str(directory / "floor"))
    for subdir in ("tmp", "new", "cur"):
        os.makedirs(folder.subdir(subdir))
    with _arriving(folder) as arrivals:
        # The source is checked after the arrival, as above: here it is the draft.
        times = []
        for number in range(_FLOOR):
            draft, final = (os.path.join(folder.subdir(subdir), str(number)) for subdir in ("tmp", "new"))
            Path(draft).touch()
            inode = os.stat(draft).st_ino
            arrivals.sources[inode] = draft
            start = time.perf_counter()
            os.rename(draft, final)
            with arrivals.changed:
                arrivals.changed.wait_for(lambda inode=inode: inode in arrivals.came, _AFTER)  # type: ignore[misc]
            times.append(arrivals.came[inode] - start)
    return times


@contextmanager
def _arriving(folder: Folder) -> Iterator[Arrivals]:
    """Watch only `new/` and `cur/`: inotify holds back a rename out of a watched place, to find its other half."""
    arrivals, observer = Arrivals(), Observer()
    for subdir in ("new", "cur"):
        observer.schedule(arrivals, folder.subdir(subdir), event_filter=[FileCreatedEvent, FileMovedEvent])
    observer.start()
    try:
        yield arrivals
    finally:
        observer.stop()
        observer.join()


def _row(what: str, seconds: Sequence[float], of: int, ham_moved: int | None) -> dict[str, object]:
    times = np.array(seconds or [np.nan]) * 1000
    row: dict[str, object] = {"what": what, "count": len(seconds), "of": of, "ham moved": ham_moved}
    for name, share in (("p50 ms", 50), ("p90 ms", 90), ("p99 ms", 99), ("max ms", 100)):
        row[name] = float(np.percentile(times, share))
    return row


if __name__ == "__main__":
    main()
