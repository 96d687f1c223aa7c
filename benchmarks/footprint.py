"""Measure the footprint of spamnb: memory of the service, time of a short command, and bytes of the ledger.

ledger: a corpus is learned in its order. The bytes are the file's after a checkpoint, with and without those of an
empty ledger, per learned message; then the growth over the last tenth alone, when most words are already known; then
those of a daily copy, which is compressed. memory: the same ledger is filled with made-up words up to 500,000 tokens.
The service is started on it, 50 messages are delivered and judged, and the kernel reports the memory of the process.
PSS counts a page that n processes share as 1/n of a page. time: the whole process, from start to exit, with that large
ledger; medians of 15 runs, alternately. An interpreter that does nothing is the lower limit.

    python benchmarks/footprint.py CORPUS [--tokens 500000] [--runs 15] [--json]
"""

import contextlib
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import common

from spamnb.acts import training
from spamnb.acts.moves import bases_now
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.evaluation.corpus import Labelled
from spamnb.ledger.copies import copy as copies
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import Reading, read
from spamnb.maildir.messages import deliver

_BATCH = 100  # messages per transaction
_WORDS_A_LESSON = 400
_DELIVERED = 50
_PACE = 20.0  # messages per second


def main() -> None:
    """Measure the three, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--tokens", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()

    messages = common.warmed(options.corpus)
    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        figures = _ledger(spamnb, messages)
        figures += _memory(spamnb, options.tokens)
        figures += _times(spamnb, messages[-1].path, options.runs)
    common.report([{"what": what, "value": value, "unit": unit} for what, value, unit in figures], options.json)


def _ledger(spamnb: common.Spamnb, messages: Sequence[Labelled]) -> list[tuple[str, float, str]]:
    """Learn a corpus in its order."""
    empty = learn(spamnb, [])
    last_tenth = len(messages) - len(messages) // 10
    before = learn(spamnb, _read(messages[:last_tenth]))
    learned_before = learned_messages(spamnb)
    after = learn(spamnb, _read(messages[last_tenth:]))
    learned = learned_messages(spamnb)
    copy = spamnb.ledger.with_name("copy.sqlite.gz")
    copies.write(str(spamnb.ledger), str(copy))
    return [
        ("ledger: learned messages", learned, ""),
        ("ledger: empty", empty, "bytes"),
        ("ledger: per message", after / learned, "bytes"),
        ("ledger: per message, without the empty", (after - empty) / learned, "bytes"),
        ("ledger: per message of the last tenth", (after - before) / (learned - learned_before), "bytes"),
        ("ledger: one daily copy, per message", copy.stat().st_size / learned, "bytes"),
    ]


def _read(messages: Sequence[Labelled]) -> Iterator[tuple[Reading, Label]]:
    for each in messages:
        yield read(Path(each.path).read_bytes()), each.label


def learn(spamnb: common.Spamnb, lessons: Iterable[tuple[Reading, Label]]) -> int:
    """Learn in transactions of a few messages. Returns the ledger's bytes when everything is in the one file."""
    waiting = iter(lessons)
    with Ledger(str(spamnb.ledger)) as ledger:
        while batch := list(islice(waiting, _BATCH)):
            for label in Label:
                readings = (reading for reading, its_label in batch if its_label is label)
                training.learn_batches(
                    ledger, [Batch.of(readings)], label, "trained by hand", time.time(), how=How.HAND
                )
    with contextlib.closing(sqlite3.connect(spamnb.ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return spamnb.ledger.stat().st_size


def learned_messages(spamnb: common.Spamnb) -> int:
    """Return the number of messages that the ledger has learned."""
    with Ledger(str(spamnb.ledger)) as ledger:
        return int(ledger.lessons.totals()[:2].sum())


def _memory(spamnb: common.Spamnb, tokens: int) -> list[tuple[str, float, str]]:
    """Fill the ledger with words, and measure the service at work."""
    with Ledger(str(spamnb.ledger)) as ledger:
        missing = max(0, tokens - int(ledger.lessons.totals()[6]))
    learn(spamnb, made_up_lessons(missing))
    with Ledger(str(spamnb.ledger)) as ledger:
        vocabulary = int(ledger.lessons.totals()[6])
    with spamnb.service() as process:
        bases = bases_now()
        for number in range(_DELIVERED):
            deliver(spamnb.inbox, message(Label(number % 2).word, number), next(bases))
            time.sleep(1 / _PACE)
        common.until(lambda: _judged(spamnb) >= _DELIVERED, f"{_DELIVERED} messages to be judged")
        status = kilobytes(Path(f"/proc/{process.pid}/status"))
        shared = kilobytes(Path(f"/proc/{process.pid}/smaps_rollup"))
    return [
        ("memory: tokens in the ledger", vocabulary, ""),
        ("memory: service, VmRSS", status["VmRSS"] * 1024 / 1e6, "MB"),
        ("memory: service, VmHWM", status["VmHWM"] * 1024 / 1e6, "MB"),
        ("memory: service, PSS", shared["Pss"] * 1024 / 1e6, "MB"),
    ]


def made_up_lessons(tokens: int) -> Iterator[tuple[Reading, Label]]:
    """Yield lessons of both kinds with that number of tokens together, no token twice; always the same."""
    choose = random.Random(0)
    words: dict[str, None] = {}
    while len(words) < tokens:
        words[f"{choose.getrandbits(48):012x}"] = None
    waiting = iter(words)
    number = 0
    while taken := list(islice(waiting, _WORDS_A_LESSON)):
        summary = "made-up words (nobody@example.org)"
        yield Reading(number.to_bytes(32), summary, dict.fromkeys(taken, 1)), Label(number % 2)
        number += 1


def _judged(spamnb: common.Spamnb) -> int:
    done = subprocess.run([*spamnb.command, "status", "--json"], capture_output=True, check=True)
    return sum(json.loads(done.stdout)["judged"].values())


def kilobytes(account: Path) -> dict[str, int]:
    """Return the fields in kB of a file below /proc."""
    fields = (line.split() for line in account.read_text().splitlines())
    return {field[0].rstrip(":"): int(field[1]) for field in fields if len(field) == 3 and field[2] == "kB"}


def _times(spamnb: common.Spamnb, file: str, runs: int) -> list[tuple[str, float, str]]:
    """Return the seconds of whole processes, run alternately."""
    commands = {
        "time: python -c pass": [sys.executable, "-c", "pass"],
        "time: spamnb --help": [*spamnb.command, "--help"],
        "time: spamnb score FILE": [*spamnb.command, "score", file],
    }
    seconds: dict[str, list[float]] = {what: [] for what in commands}
    for _ in range(runs):
        for what, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, check=False)
            seconds[what].append(time.perf_counter() - start)
            if done.returncode > 2:  # codes up to 2 are the verdict
                raise RuntimeError(f"{what} failed: {done.stderr!r}")
    return [(what, statistics.median(times), "s") for what, times in seconds.items()]


if __name__ == "__main__":
    main()
