"""Measure the cost of the pages: CPU per page, memory, and the time to start, over a made-up history of many messages.

Each page is requested over a Unix socket of `spamnb web`. Its CPU is that of the server's process, a mean over several
requests after the first, which compiles the template. The first is listed too. Some pages start work and do not wait
for it (Tune, Audit: all learned mail judged without itself; Health: the check-up). It is listed as "what it begins":
another process, with its own memory, which ends.

highest: the largest VmRSS during these requests (the kernel's VmHWM, reset before each). after: VmRSS after free memory
was returned.

A made-up word is in one message only, so the vocabulary is larger than that of real mail with as many messages. The
filter counts as one that moves mail.

    python benchmarks/web.py [--messages 58000] [--tokens 500000] [--keep DIRECTORY] [--json]
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import common
from footprint import kilobytes, made_up_lessons

from spamnb.acts import may_move, training
from spamnb.acts.moves import bases_now
from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir.messages import deliver

_LESSONS = 1500  # of made-up mail, of each kind
_BATCH = 500
_TRANSACTION = 5000
_YEAR = 365 * 86_400.0
_TIMES = 5
_IDLE = 2.5  # seconds after which free memory was returned
_PAUSE = 0.02  # seconds between two checks that started work has ended
_TO_UNDO = 1000  # actions
_NUMBERS = "numbers.json"  # numbers of the requested messages and actions, in a directory that is kept
_PAGES = (
    "",
    "?days=365",
    "history",
    "history?show=unsure",
    "history?show=corrected",
    "history?show=undone",
    "history?q=promo1",
    "history?q=nowhere+to+be+found",
    "m/{judged}",
    "m/{judged}?all=1",
    "m/{judged}/teachers",
    "m/{learned}",
    "m/{learned}/teachers",
    "undo",
    "undo?since={many}",
    "review",
    "words",
    "words?kind=text",
    "words?q=viagra",
    "senders",
    "senders/1",
    "try",
    "health",
    "tune",
    "audit",
)


class Figure(NamedTuple):
    """A measurement. first, then: CPU of a page, in ms. highest, after: its memory, in MB."""

    what: str
    first: float | None = None
    then: float | None = None
    highest: float | None = None
    after: float | None = None


def main() -> None:
    """Fill a ledger, and request the pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, default=58_000, help="judged messages (default: 58000)")
    parser.add_argument("--tokens", type=int, default=500_000, help="tokens that the filter knows (default: 500000)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep the ledger there, or use an existing one there")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    kept = tempfile.TemporaryDirectory() if options.keep is None else contextlib.nullcontext(options.keep)
    with kept as directory:
        Path(directory).mkdir(exist_ok=True)
        spamnb = common.Spamnb(Path(directory))
        numbers = Path(directory) / _NUMBERS
        if not numbers.exists():
            learn(spamnb, options.tokens)
            numbers.write_text(json.dumps(fill(spamnb, options.messages)))
        figures = list(measure(spamnb, Path(directory) / "web.sock", json.loads(numbers.read_text())))
    common.report([figure._asdict() for figure in figures], options.json)


def learn(spamnb: common.Spamnb, tokens: int) -> None:
    """Learn made-up mail, and words until that number of tokens is known."""
    with Ledger(str(spamnb.ledger)) as ledger, ledger.without_fsync():
        for label in Label:
            readings = (read(message(label.word, number)) for number in range(_LESSONS))
            while batch := list(itertools.islice(readings, _BATCH)):
                training.learn_batches(
                    ledger, [Batch.of(batch)], label, "trained by hand", time.time() - _YEAR, how=How.HAND
                )
        missing = max(0, tokens - int(ledger.lessons.totals()[6]))
        lessons = made_up_lessons(missing)
        while some := list(itertools.islice(lessons, _BATCH)):
            for label in Label:
                of_label = [reading for reading, its in some if its is label]
                training.learn_batches(
                    ledger, [Batch.of(of_label)], label, "trained by hand", time.time() - _YEAR, how=How.HAND
                )


def fill(spamnb: common.Spamnb, messages: int) -> dict[str, int]:
    """Record judgements of a year, two in a hundred corrected. Returns the numbers of two messages to look at."""
    choose, start, bases = random.Random(0), time.time() - _YEAR, bases_now()
    raw, base = message("spam", 900_000), next(bases)
    deliver(spamnb.inbox, raw, base)
    with Ledger(str(spamnb.ledger)) as ledger, ledger.without_fsync():
        inbox = ledger.locations.folder(ledger.locations.mailbox(str(spamnb.inbox.path))[0], "INBOX")
        for first in range(0, messages, _TRANSACTION):
            with ledger.transaction():
                for number in range(first, min(messages, first + _TRANSACTION)):
                    _judged(ledger, inbox, number, start + _YEAR * number / messages, choose)
        seen = read(raw)
        known = ledger.messages.ensure(seen.digest, seen.summary)
        ledger.messages.judged(known.id, Verdict.SPAM, 0.99, time.time())
        ledger.journal.judged(
            known.id, (inbox, base), Verdict.SPAM, 0.99, "stays, judged by hand", time.time(), how=How.MAILDIR
        )
        ledger.locations.put(inbox, base, known.id, "appeared", b"", "", time.time())
        may_move.begin_if_ready(ledger, Scoring(), Learning())
        learned = ledger.messages.find(read(message("spam", 5)).digest)
        assert learned is not None
        many = ledger.journal.since(0.0, ("learned",))[_TO_UNDO - 1].id
        return {"judged": known.id, "learned": learned.id, "many": many}


def _judged(ledger: Ledger, inbox: int, number: int, at: float, choose: random.Random) -> None:
    verdict = choose.choices(list(Verdict), (70, 27, 3))[0]
    probability = {Verdict.SPAM: 0.999, Verdict.HAM: 0.001, Verdict.UNSURE: 0.5}[verdict] + choose.uniform(
        -0.001, 0.001
    )
    kind = "spam" if verdict is Verdict.SPAM else "ham"
    digest = number.to_bytes(32)[::-1]
    known = ledger.messages.ensure(digest, f"A {kind} message, number {number} (sender{number % 5000}@host.example)")
    ledger.messages.came_from([(digest, f"sender{number % 5000}@host.example", "")])
    ledger.messages.judged(known.id, verdict, probability, at)
    ledger.journal.judged(
        known.id, (inbox, f"{number}.made.up"), verdict, probability, "stays, a benchmark", at, how=How.MAILDIR
    )


def measure(spamnb: common.Spamnb, path: Path, numbers: dict[str, int]) -> Iterator[Figure]:
    """Start the server some times, then request each page some times."""
    starts = []
    for _ in range(_TIMES):
        process = _start(spamnb, path)
        starts.append(cpu(process.pid))
        end(process)
    yield Figure("start", statistics.median(starts))
    process = _start(spamnb, path)
    try:
        for page in _PAGES:
            yield from _measured(process.pid, path, page, f"/{page.format(**numbers)}")
    finally:
        end(process)


def _measured(pid: int, path: Path, page: str, address: str) -> Iterator[Figure]:
    """Measure a page: the first request, the work that it starts, and the requests after that."""
    threads = threads_of(pid)
    forget_highest(pid)
    before = cpu(pid)
    ask(path, address)
    first = cpu(pid) - before
    if threads_of(pid) > threads:
        yield _begun(pid, f"/{page}: what it begins", threads)
    before = cpu(pid)
    for _ in range(_TIMES):
        ask(path, address)
    then = (cpu(pid) - before) / _TIMES
    yield Figure(f"/{page}", first, then, megabytes(pid, "VmHWM"), _idle(pid))


def _begun(pid: int, what: str, threads: int) -> Figure:
    """Measure what a page has started: CPU and memory of another process, until the server has its old threads."""
    before, highest = cpu_of_children(pid), 0.0
    while threads_of(pid) > threads:
        for child in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError, KeyError):  # the process has ended
                highest = max([highest, *(megabytes(int(one), "VmHWM") for one in child.read_text().split())])
        time.sleep(_PAUSE)
    return Figure(what, cpu_of_children(pid) - before, None, highest, megabytes(pid, "VmRSS"))


def cpu_of_children(pid: int) -> float:
    """Return the CPU milliseconds of the processes that a process has started and that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _start(spamnb: common.Spamnb, path: Path) -> "subprocess.Popen[bytes]":
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [*spamnb.command, "-q", "web", "--listen", str(path)], env=environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    common.until(path.exists, "the pages to be served")
    ask(path, "/static/favicon.svg")
    return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """End the server."""
    process.terminate()
    if process.wait(common.PATIENCE):
        raise RuntimeError("the server has failed")


def cpu(pid: int) -> float:
    """Return the CPU milliseconds of a process so far, including ended threads; the kernel counts nanoseconds."""
    return 1000 * time.clock_gettime(~pid << 3 | 2)  # CPUCLOCK_SCHED of a process, as clock_getcpuclockid(3) makes it


def threads_of(pid: int) -> int:
    """Return the number of threads of a process."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def forget_highest(pid: int) -> None:
    """Reset VmHWM to the process's present memory."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def megabytes(pid: int, what: str) -> float:
    """Return a line of a process's memory."""
    return kilobytes(Path(f"/proc/{pid}/status"))[what] * 1024 / 1e6


def _idle(pid: int) -> float:
    """Return the memory of the server when nobody has asked for a moment."""
    time.sleep(_IDLE)
    return megabytes(pid, "VmRSS")


def ask(path: Path, address: str, **headers: str) -> None:
    """Request a page on a Unix socket."""
    client = http.client.HTTPConnection("localhost")
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.connect(str(path))
    client.request("GET", address, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = client.getresponse()
    text = answer.read()
    client.close()
    if answer.status != 200:
        raise RuntimeError(f"{address}: {answer.status} {text[-500:]!r}")


if __name__ == "__main__":
    sys.exit(main())
