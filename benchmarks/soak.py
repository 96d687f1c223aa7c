"""Put the service under load: a burst, a day's mail, and training at the same time.

burst: this number of messages are renamed into new/ at once, as fast as they can be written.
day: messages are delivered as fast as the service sorts them, never more than 50 ahead of it. A day at 5 messages per
    second has 432,000; the row says which part of it was run.
beside training: spam is delivered at 10 messages per second while `spamnb train` and `untrain` run without end. The
    figure is how long it stays in the inbox, as in `latency.py`.

In the first two, one process of the real service does all the work. Its memory, descriptors and threads are sampled
each second. "MB per 10,000" is the slope of its resident memory over the messages of that phase, without the first
fifth. At the end, each message must be in one folder exactly once and unchanged, and `spamnb verify` must find the
counts right. The exit code is 1 if one of these fails, or if the service grows by more than 1 MB per 10,000 messages in
the day.

    python benchmarks/soak.py [--corpus CORPUS] [--burst 100000] [--messages 20000] [--seconds 30] [--json]

SQLite's cache of the ledger's pages grows with the ledger up to 16 MB, and the service with it: in a short run it seems
to grow. On a busy machine the default takes more than half an hour.
"""

import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import common
import numpy as np
from latency import made_up, mixed, spam_moved

from spamnb.acts.moves import bases_now
from spamnb.evaluation.corpus import Labelled
from spamnb.mail.parsing.header_block import without_envelope
from spamnb.maildir.messages import scan

_LESSONS = 500  # made-up messages of each kind: half are learned, and half delivered again and again
_A_DAY = 5 * 86_400
_AHEAD = 50
_STALLED = 120.0  # seconds without progress
_RATE = 10.0
_BESIDE = 50  # messages that are learned and forgotten
_MOST_GROWTH = 1.0  # MB per 10,000 messages
_MARK = b"Message-ID: <soak.%d@load.example>\n"


@dataclass(slots=True)
class Samples:
    """Samples of the service, each second: messages sorted so far, resident MB, open files, threads."""

    sorted: list[int] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def growth(self) -> float:
        """MB per 10,000 messages, by least squares, without the first fifth."""
        start = len(self.sorted) // 5
        messages, megabytes = np.array(self.sorted[start:]), np.array(self.megabytes[start:])
        if len(set(messages.tolist())) < 2:
            return 0.0
        return float(np.polyfit(messages / 10_000, megabytes, 1)[0])


class Mail:
    """Numbered messages, no two alike: those of a corpus repeatedly, each with its own Message-ID."""

    def __init__(self, messages: Sequence[Labelled]) -> None:
        self._contents = [without_envelope(Path(each.path).read_bytes()) for each in messages]

    def __getitem__(self, number: int) -> bytes:
        return _MARK % number + self._contents[number % len(self._contents)]


class Progress:
    """How many messages the service has sorted, by its log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._at = 0
        self._rest = b""
        self.sorted = 0

    def look(self) -> int:
        """Read the new part of the log."""
        with self._log.open("rb") as file:
            file.seek(self._at)
            text = self._rest + file.read()
            self._at = file.tell()
        *lines, self._rest = text.split(b"\n")
        self.sorted += sum(b": stays in INBOX, " in line or b": moved from INBOX to " in line for line in lines)
        return self.sorted


class Load:
    """Delivers to a running service, and watches it."""

    def __init__(self, spamnb: common.Spamnb, pid: int, mail: Mail) -> None:
        self._new, self._tmp = (spamnb.inbox.subdir(subdir) for subdir in ("new", "tmp"))
        self._process = f"/proc/{pid}"
        self._mail = mail
        self._bases = bases_now()
        self.progress = Progress(spamnb.log)
        self.delivered = 0

    def burst(self, number: int) -> dict[str, object]:
        """Deliver all messages at once."""
        samples, start, before = Samples(), time.perf_counter(), self.delivered
        for _ in range(number):
            self._deliver()
        seconds = time.perf_counter() - start
        self._wait(0, samples)
        return self._row("burst", before, start, samples) | {"delivered in s": seconds, "of a day %": None}

    def day(self, number: int) -> dict[str, object]:
        """Deliver messages as fast as they are sorted."""
        samples, start, before = Samples(), time.perf_counter(), self.delivered
        for _ in range(number):
            if self.delivered - self.progress.sorted >= _AHEAD:
                self._wait(_AHEAD // 2, samples)
            self._deliver()
        seconds = time.perf_counter() - start
        self._wait(0, samples)
        row = self._row("day", before, start, samples)
        return row | {"delivered in s": seconds, "of a day %": 100 * number / _A_DAY}

    def _deliver(self) -> None:
        """Deliver a message like a delivery agent, but without waiting for the disk."""
        base = next(self._bases)
        draft = os.path.join(self._tmp, base)
        with open(draft, "xb") as file:
            file.write(self._mail[self.delivered])
        os.rename(draft, os.path.join(self._new, base))
        self.delivered += 1

    def _wait(self, ahead: int, samples: Samples) -> None:
        """Wait until no more than `ahead` messages are unsorted, taking samples."""
        end = time.monotonic() + _STALLED
        before = self.progress.sorted
        while self.delivered - self.progress.look() > ahead:
            if self.progress.sorted > before:
                before, end = self.progress.sorted, time.monotonic() + _STALLED
            if time.monotonic() > end:
                raise TimeoutError(f"{self.progress.sorted} of {self.delivered} messages sorted, and no more")
            time.sleep(0.02 if ahead else 0.2)
            self._sample(samples)
        self._sample(samples)

    def _sample(self, samples: Samples) -> None:
        status = dict(line.split(":", 1) for line in Path(self._process, "status").read_text().splitlines())
        samples.sorted.append(self.progress.sorted)
        samples.megabytes.append(int(status["VmRSS"].split()[0]) * 1024 / 1e6)
        samples.threads.append(int(status["Threads"]))
        samples.descriptors.append(len(os.listdir(f"{self._process}/fd")))

    def _row(self, phase: str, before: int, start: float, samples: Samples) -> dict[str, object]:
        seconds = time.perf_counter() - start
        number = self.delivered - before
        return {
            "phase": phase,
            "messages": number,
            "seconds": seconds,
            "a second": number / seconds,
            "MB at first": samples.megabytes[0],
            "MB at last": samples.megabytes[-1],
            "MB at most": max(samples.megabytes),
            "MB per 10,000": samples.growth(),
            "files": f"{min(samples.descriptors)}-{max(samples.descriptors)}",
            "threads": f"{min(samples.threads)}-{max(samples.threads)}",
        }


def main() -> None:
    """Load the service, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--burst", type=int, default=100_000, help="messages at once")
    parser.add_argument("--messages", type=int, default=20_000, help="messages of the day")
    parser.add_argument("--seconds", type=float, default=30.0, help="seconds of mail beside training")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        if options.corpus:
            corpus = common.halves(common.warmed(options.corpus))
        else:
            corpus = common.halves(made_up(Path(directory), round(_RATE * options.seconds) + _LESSONS))
        spamnb.train(corpus.first)
        mail = Mail(corpus.second)
        rows = []
        with spamnb.service() as process:
            load = Load(spamnb, process.pid, mail)
            if options.burst:
                rows.append(load.burst(options.burst))
            if options.messages:
                rows.append(load.day(options.messages))
        faults = _misplaced(spamnb, mail, load.delivered) + _unverified(spamnb)
        faults += [
            f"the service grows by {row['MB per 10,000']:.2f} MB per 10,000 messages"
            for row in rows
            if row["phase"] == "day" and float(str(row["MB per 10,000"])) > _MOST_GROWTH
        ]
        if rows:
            common.report(rows, options.json)
        if options.seconds:
            common.report([_beside_training(corpus, options.seconds)], options.json)
    verdict = "\n".join(faults) or "each message is in one folder, exactly once and unchanged; the counts are right"
    print(verdict, file=sys.stderr)
    sys.exit(1 if faults else 0)


def _misplaced(spamnb: common.Spamnb, mail: Mail, delivered: int) -> list[str]:
    """Return messages that are not there exactly once and unchanged."""
    found: Counter[int] = Counter()
    changed = 0
    for folder in (spamnb.inbox, spamnb.junk):
        for entry in scan(folder):
            content = Path(entry.path(folder)).read_bytes()
            number = int(content[: content.index(b"@")].rpartition(b".")[2])
            found[number] += 1
            changed += content != mail[number]
    lost = [number for number in range(delivered) if not found[number]]
    twice = [number for number, times in found.items() if times > 1]
    faults = []
    if lost or twice:
        faults.append(f"{len(lost)} messages are lost {lost[:5]}, {len(twice)} exist twice {twice[:5]}")
    return faults + ([f"{changed} messages were changed"] if changed else [])


def _unverified(spamnb: common.Spamnb) -> list[str]:
    """Return what `spamnb verify` finds."""
    done = subprocess.run([*spamnb.command, "verify"], capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    return [f"verify: {output.strip()}"] if done.returncode or "not ended" in output else []


def _beside_training(corpus: common.Halves, seconds: float) -> dict[str, object]:
    """Measure how long spam stays in the inbox while another process learns and forgets."""
    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        spamnb.train(corpus.first)
        mail = mixed(corpus, round(_RATE * seconds), 0.5)
        with _training(spamnb, corpus.second[-_BESIDE:]) as runs:
            row = spam_moved("spam moved beside training", spamnb, mail, _RATE)
        return row | {"runs of train": next(runs)}


@contextmanager
def _training(spamnb: common.Spamnb, messages: Sequence[Labelled]) -> Iterator[Iterator[int]]:
    """Run `spamnb train` and `untrain` on the same messages, one after the other without end."""
    over, runs = threading.Event(), itertools.count()
    paths = [message.path for message in messages]

    def train() -> None:
        while not over.is_set():
            for command in (["train", "--spam"], ["untrain"]):
                subprocess.run([*spamnb.command, "-q", *command, *paths], capture_output=True, check=True)
            next(runs)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        yield runs
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    main()
