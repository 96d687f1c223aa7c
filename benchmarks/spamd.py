"""Measure the service when `spamc` asks it: duration and cost of a call, and agreement with `spamnb score`.

The service has learned the first half of a corpus, and is asked about messages of the second half.

call: `spamc -c` and bogofilter's own process, alternately, each from its start to its exit, message by message.
cost: CPU of the service per request, of all its threads, over those calls.
parts: in this process, CPU for reading a message, and for all other work for CHECK: judging it by the ledger, and
    remembering the verdict; and the number of reads of the ledger's file for that.
agreement: the verdict on each message of the second half, by `spamc -c` (its exit code) and by `spamnb score`.
memory: the service's memory by the kernel, after 1,000 requests and after all of them. An own client asks, since
    starting spamc takes longer than the answer.
host: in this process, CPU for CHECK, including reading. In one case each message belongs to another of 100 users of a
    mail host, whose ledgers of 300 lessons are opened for it and closed. In the other, all belong to one person, whose
    ledger stays open.
both: `spamc -c` at a steady rate, while mail is delivered into the Maildir at another rate, half of it spam: the
    duration of a call, and how long the spam stays in the inbox.

    python benchmarks/spamd.py CORPUS [--calls 500] [--requests 10000] [--rate 50] [--seconds 30] [--json]
"""

import itertools
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import common
import latency
import numpy as np

from spamnb.config import load
from spamnb.evaluation.corpus import Labelled
from spamnb.host.host import load_host
from spamnb.host.shares import Share
from spamnb.mail.intake import take
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import create_folder
from spamnb.spamd.peers import Peer
from spamnb.spamd.protocol import Command, SpamdRequest
from spamnb.spamd.requests import Requests

_USERS, _LESSONS = 100, 300
_DELIVERED = 10.0  # messages per second beside the requests
_TICKS = os.sysconf("SC_CLK_TCK")


class Asked:
    """The service on a socket."""

    def __init__(self, spamnb: common.Spamnb, directory: Path) -> None:
        self.path = str(directory / "spamd.sock")
        config = Path(spamnb.command[-1])
        config.write_text(config.read_text() + f"\nspamd:\n  listen: [{self.path}]\n")

    def spamc(self, message: bytes) -> bool:
        """Return whether `spamc -c` says spam."""
        done = subprocess.run(["spamc", "-U", self.path, "-x", "-c"], input=message, capture_output=True, check=False)
        if done.returncode > 1:
            raise RuntimeError(f"spamc ended with {done.returncode}")
        return done.returncode == 1

    def check(self, message: bytes) -> bytes:
        """Return the answer to CHECK, without a process."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path)
            client.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(message) + message)
            return b"".join(iter(lambda: client.recv(4096), b""))


def main() -> None:
    """Measure, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=50.0, metavar="N", help="calls per second beside the delivery")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()

    corpus = common.halves(common.warmed(options.corpus))
    with tempfile.TemporaryDirectory() as directory:
        spamnb, other = common.Spamnb(Path(directory)), _bogofilter(Path(directory))
        for each in (spamnb, other):
            if each is not None:
                each.train(corpus.first)
        asked = Asked(spamnb, Path(directory))
        with spamnb.service() as service:
            figures = _calls(asked, other, corpus.second[: options.calls], service.pid)
            figures += _parts(spamnb, corpus.second[: options.calls])
            figures += _agreement(asked, spamnb, corpus.second)
            figures += _memory(asked, corpus.second, options.requests, service.pid)
        figures += _host(Path(directory) / "host", corpus)
        figures += _both(asked, spamnb, corpus, options.rate, options.seconds)
    common.report([{"what": what, "value": value, "unit": unit} for what, value, unit in figures], options.json)


Figures = list[tuple[str, object, str]]


def _bogofilter(directory: Path) -> "common.Bogofilter | None":
    if common.Bogofilter not in common.contenders():
        return None
    (directory / "bogofilter").mkdir()
    return common.Bogofilter(directory / "bogofilter")


def _calls(asked: Asked, other: "common.Bogofilter | None", messages: Sequence[Labelled], service: int) -> Figures:
    contents = [Path(each.path).read_bytes() for each in messages]
    for content in contents[:20]:
        asked.spamc(content)
    ours, theirs, before = [], [], _cpu(service)
    for content in contents:
        ours.append(_timed(partial(asked.spamc, content)))
        if other is not None:
            theirs.append(_timed(partial(subprocess.run, other.command, input=content, check=False)))
    cpu = (_cpu(service) - before) / len(contents)
    return [
        *_times("spamc -c", ours),
        *(_times("bogofilter", theirs) if theirs else []),
        ("CPU of the service per request", 1000 * cpu, "ms"),
    ]


def _parts(spamnb: common.Spamnb, messages: Sequence[Labelled]) -> Figures:
    requests = Requests(load(Path(spamnb.command[-1])))
    asked = [SpamdRequest(Command.CHECK, (1, 5), message=Path(each.path).read_bytes()) for each in messages]

    def read(request: SpamdRequest) -> object:
        return LazyReading(take([request.message])).reading

    def answer(request: SpamdRequest) -> object:
        return requests.answer(request, Peer(os.getuid()))

    _cpu_of(answer, asked)
    reads = _reads()
    all_of_it = [_cpu_of(answer, asked) for _ in range(5)]
    reads = (_reads() - reads) / (5 * len(asked))
    reading = statistics.median(_cpu_of(read, asked) for _ in range(5))
    requests.close()
    return [
        ("CPU for reading a message", 1000 * reading, "ms"),
        ("CPU for judging and remembering it", 1000 * (statistics.median(all_of_it) - reading), "ms"),
        ("reads of the ledger's file per message", reads, ""),
    ]


def _cpu_of(work: Callable[[SpamdRequest], object], asked: Sequence[SpamdRequest]) -> float:
    """Return the seconds of CPU per request."""
    before = time.process_time()
    for each in asked:
        work(each)
    return (time.process_time() - before) / len(asked)


def _host(directory: Path, corpus: common.Halves) -> Figures:
    directory.mkdir()
    one = common.Spamnb(directory)
    one.train(corpus.first[:_LESSONS])
    config, users = directory / "host.yaml", [f"user{number}" for number in range(_USERS)]
    path, ledger = f"{directory}/vmail/{{user}}/Maildir", f"{directory}/state/{{user}}/ledger.sqlite"
    config.write_text(f"mailboxes: [{{path: '{path}', roles: {{INBOX: inbox, Junk: spam}}}}]\nledger: '{ledger}'\n")
    for user in users:
        create_folder(path.format(user=user), "maildir++", "INBOX")
        os.makedirs(os.path.dirname(ledger.format(user=user)), mode=0o700)
        shutil.copy(one.ledger, ledger.format(user=user))
    asked = [
        SpamdRequest(Command.CHECK, (1, 5), user, Path(each.path).read_bytes())
        for each, user in zip(corpus.second, itertools.cycle(users), strict=False)
    ]
    figures: Figures = []
    hot, cold = Requests(load(Path(one.command[-1]))), Requests(load_host(config, share=Share()))
    for what, requests in (("a ledger that stays open", hot), ("the user's ledger, opened for it", cold)):
        answer = partial(requests.answer, peer=Peer(os.getuid()))
        _cpu_of(answer, asked[:_USERS])
        figures.append((f"CPU for CHECK by {what}", 1000 * _cpu_of(answer, asked), "ms"))
        requests.close()
    return figures


def _reads() -> int:
    """Return the number of system calls by which this process has read (proc(5), io)."""
    return int(Path("/proc/self/io").read_text().partition("syscr:")[2].split()[0])


def _agreement(asked: Asked, spamnb: common.Spamnb, messages: Sequence[Labelled]) -> Figures:
    scored = common.scored(spamnb, messages)
    by_spamc = [asked.spamc(Path(each.path).read_bytes()) for each in messages]
    differ = sum(is_spam != (one.verdict.value == "spam") for is_spam, one in zip(by_spamc, scored, strict=True))
    return [("messages asked about", len(messages), ""), ("verdicts that differ from spamnb score", differ, "")]


def _memory(asked: Asked, messages: Sequence[Labelled], requests: int, service: int) -> Figures:
    contents = itertools.cycle([Path(each.path).read_bytes() for each in messages])
    figures: Figures = []
    start = time.perf_counter()
    for number in range(1, requests + 1):
        if not asked.check(next(contents)).startswith(b"SPAMD/1.1 0 EX_OK"):
            raise RuntimeError("a request was not answered")
        if number in (1000, requests):
            figures.append((f"memory after {number} requests", _memory_of(service), "MB"))
    rate = requests / (time.perf_counter() - start)
    return [*figures, ("requests per second, one after the other", rate, "")]


def _both(asked: Asked, spamnb: common.Spamnb, corpus: common.Halves, rate: float, seconds: float) -> Figures:
    """Measure both at once; requests and deliveries have different messages."""
    contents = itertools.cycle([Path(each.path).read_bytes() for each in corpus.first])
    times: list[float] = []
    threads: list[threading.Thread] = []

    def call(content: bytes) -> None:
        times.append(_timed(partial(asked.spamc, content)))

    def keep_asking() -> None:
        common.until(lambda: os.path.exists(asked.path), "the socket")
        start = time.perf_counter()
        for place in range(round(rate * seconds)):
            time.sleep(max(0.0, start + place / rate - time.perf_counter()))
            threads.append(threading.Thread(target=call, args=[next(contents)]))
            threads[-1].start()

    asking = threading.Thread(target=keep_asking)
    asking.start()
    mail = latency.mixed(corpus, round(_DELIVERED * seconds), 0.5)
    row = latency.spam_moved("", spamnb, mail, _DELIVERED)
    asking.join()
    for thread in threads:
        thread.join()
    figures = _times(f"spamc -c, {rate:g} per second beside {_DELIVERED:g} delivered", times)
    return [*figures, *((f"spam moved at the same time, {name}", value, "") for name, value in list(row.items())[1:])]


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _times(what: str, seconds: Sequence[float]) -> Figures:
    return [
        (f"{what}: median", 1000 * statistics.median(seconds), "ms"),
        (f"{what}: 99 %", 1000 * float(np.percentile(seconds, 99)), "ms"),
    ]


def _cpu(process: int) -> float:
    """Return the seconds of CPU that a process has taken (proc(5), stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_of(process: int) -> float:
    """Return MB; a page that several processes share counts in part."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


if __name__ == "__main__":
    main()
