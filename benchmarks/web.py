"""What the pages cost: CPU a page, memory, and the time to start, over a made-up history of many messages.

Each page is asked for over a Unix socket of `spamnb web`; its CPU is that of the server's process, a mean over several
requests after the first, which compiles the template. The first is listed too. A made-up word is in one message only,
so the vocabulary is larger, for as many messages, than that of real mail. The filter counts as one that moves mail.

    python benchmarks/web.py [--messages 58000] [--tokens 500000] [--json]
"""

import argparse
import http.client
import itertools
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

import common
from footprint import kilobytes, made_up_lessons

from spamnb import training
from spamnb.arming import Arming
from spamnb.cli.sample_mail import message
from spamnb.config import Learning, Scoring
from spamnb.label import Label, Verdict
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir.messages import deliver
from spamnb.moves import bases_now

_LESSONS = 1500  # of made-up mail, of each kind
_BATCH = 500
_TRANSACTION = 5000
_YEAR = 365 * 86_400.0
_TIMES = 5
_IDLE = 4.0  # seconds after which free memory was given back
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
    "m/{judged}?text=1&all=1",
    "m/{judged}/teachers",
    "m/{learned}",
    "m/{learned}/teachers",
    "undo",
    "review",
    "words",
    "words?q=viagra",
    "senders",
    "health",
)


def main() -> None:
    """Fill a ledger, and ask for the pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, default=58_000, help="judged messages (default: 58000)")
    parser.add_argument("--tokens", type=int, default=500_000, help="tokens that the filter knows (default: 500000)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        learn(spamnb, options.tokens)
        numbers = fill(spamnb, options.messages)
        figures = list(measure(spamnb, Path(directory) / "web.sock", numbers))
    common.report([{"what": what, "value": value, "unit": unit} for what, value, unit in figures], options.json)


def learn(spamnb: common.Spamnb, tokens: int) -> None:
    """Learn made-up mail, and words until so many tokens are known."""
    with Ledger(str(spamnb.ledger)) as ledger, ledger.hasty():
        for label in Label:
            readings = (read(message(label.word, number)) for number in range(_LESSONS))
            while batch := list(itertools.islice(readings, _BATCH)):
                training.learn_batches(ledger, [Batch.of(batch)], label, "trained by hand", time.time() - _YEAR)
        missing = max(0, tokens - int(ledger.lessons.totals()[6]))
        lessons = made_up_lessons(missing)
        while some := list(itertools.islice(lessons, _BATCH)):
            for label in Label:
                of_label = [reading for reading, its in some if its is label]
                training.learn_batches(ledger, [Batch.of(of_label)], label, "trained by hand", time.time() - _YEAR)


def fill(spamnb: common.Spamnb, messages: int) -> dict[str, int]:
    """Record judgements of a year, of which two in a hundred were corrected; the numbers of two messages to look at."""
    choose, start, bases = random.Random(0), time.time() - _YEAR, bases_now()
    raw, base = message("spam", 900_000), next(bases)
    deliver(spamnb.inbox, raw, base)
    with Ledger(str(spamnb.ledger)) as ledger, ledger.hasty():
        inbox = ledger.locations.folder(ledger.locations.mailbox(str(spamnb.inbox.path))[0], "INBOX")
        for first in range(0, messages, _TRANSACTION):
            with ledger.transaction():
                for number in range(first, min(messages, first + _TRANSACTION)):
                    _judged(ledger, inbox, number, start + _YEAR * number / messages, choose)
        seen = read(raw)
        known = ledger.messages.ensure(seen.digest, seen.summary)
        ledger.messages.judged(known.id, Verdict.SPAM, 0.99, time.time())
        ledger.journal.judged(known.id, (inbox, base), Verdict.SPAM, 0.99, "stays, judged by hand", time.time())
        ledger.locations.put(inbox, base, known.id, "appeared", b"", "", time.time())
        Arming(ledger, Scoring(), Learning()).missing()
        learned = ledger.messages.find(read(message("spam", 5)).digest)
        assert learned is not None
        return {"judged": known.id, "learned": learned.id}


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
    ledger.journal.judged(known.id, (inbox, f"{number}.made.up"), verdict, probability, "stays, a benchmark", at)


def measure(spamnb: common.Spamnb, path: Path, numbers: dict[str, int]) -> Iterator[tuple[str, float, str]]:
    """Start the server some times, then ask for each page some times."""
    starts = []
    for _ in range(_TIMES):
        begin = time.perf_counter()
        process = _start(spamnb, path)
        starts.append((time.perf_counter() - begin, _cpu(process.pid)))
        _end(process)
    yield "start until it listens", statistics.median(one[0] for one in starts), "s"
    yield "start, CPU", 1000 * statistics.median(one[1] for one in starts), "ms"
    process = _start(spamnb, path)
    try:
        for page in _PAGES:
            address = f"/{page.format(**numbers)}"
            yield f"/{page}: the first", 1000 * _cost(process.pid, path, address, 1), "ms"
            yield f"/{page}", 1000 * _cost(process.pid, path, address, _TIMES), "ms"
        time.sleep(_IDLE)
        status = kilobytes(Path(f"/proc/{process.pid}/status"))
        yield "memory, VmRSS, when nobody asks", status["VmRSS"] * 1024 / 1e6, "MB"
        yield "memory, VmHWM", status["VmHWM"] * 1024 / 1e6, "MB"
    finally:
        _end(process)


def _start(spamnb: common.Spamnb, path: Path) -> "subprocess.Popen[bytes]":
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [*spamnb.command, "-q", "web", "--listen", str(path)], env=environ | {"OPENBLAS_NUM_THREADS": "1"}
    )
    common.until(path.exists, "the pages to be served")
    _ask(path, "/static/favicon.svg")
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    if process.wait(common.PATIENCE):
        raise RuntimeError("the server has failed")


def _cost(pid: int, path: Path, address: str, times: int) -> float:
    """CPU seconds of the server for a request; the kernel counts its threads in nanoseconds."""
    before = _cpu(pid)
    for _ in range(times):
        _ask(path, address)
    return (_cpu(pid) - before) / times


def _cpu(pid: int) -> float:
    """CPU seconds of all threads of a process so far."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def _ask(path: Path, address: str) -> None:
    client = http.client.HTTPConnection("localhost")
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.connect(str(path))
    client.request("GET", address)
    answer = client.getresponse()
    text = answer.read()
    client.close()
    if answer.status != 200:
        raise RuntimeError(f"{address}: {answer.status} {text[-500:]!r}")


if __name__ == "__main__":
    sys.exit(main())
