"""Measure the cost of a mail host: one service for thousands of mailboxes.

The benchmark makes a host with this number of users. Each has six folders and one of four ledgers of 300 lessons: the
first 1,200 messages of a corpus in its order. The rest of the corpus is delivered, each message to another user. The
service is its own process. A pipe reads from its log when a message is judged and placed.

start: until the service watches; processor time including imports. asleep: memory when no user has had mail. idle:
processor time without mail, in percent of a core. cold: each message is for a user who is asleep; hot: for one of 32
who are awake; written, fsyncs: for a cold message. offered: more mail than the service can judge. storm: one user gets
a burst, others a little mail at the same time. renames: a program changes 8,000 flags of one user per second, others
get a little mail at the same time. costly: one user gets the messages that take longest to read, others a little mail
at the same time. first: users with six messages each are seen for the first time. recording: two users with thousands
are seen for the first time, four ledgers are broken, others get a little mail at the same time. daily: the daily look.
restart: after kill -9, with nothing new. shards: two services, twice as much mail.

If fsync takes milliseconds, it decides how long mail waits. So its median is printed; a directory on tmpfs has none.
"must" is the limit for a host of 1,000 or 5,000 users. The exit status is 1 if a figure is above its limit. All rows
take half an hour, and 1.5 MB of the directory per user.

    python benchmarks/host.py CORPUS [--users 1000] [--directory /dev/shm] [--realtime] [--rows start cold …] [--json]
"""

import itertools
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import common

sys.path.insert(0, str(Path(__file__).parents[1]))  # the costly messages are the tests'
from spamnb.acts import may_move
from spamnb.acts.moves import bases_now
from spamnb.acts.training import learn_message
from spamnb.base.label import How
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Labelled
from spamnb.host.register import line_of, path_of, read, write
from spamnb.host.shares import Share
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from tests.mail.hostile import MESSAGES

_FOLDERS = ("INBOX", "Junk", "Sent", "Drafts", "Trash", "Archive")
_LEDGERS, _LESSONS = 4, 300
_AWAKE = 64
_TICKS = os.sysconf("SC_CLK_TCK")
_PLACED = re.compile(rb"(u\d+@\S+): (?:ham|spam|unsure) [01]\.\d{4} ")
_MESSAGE_ID = re.compile(rb"^message-id:.*\n(?:[ \t].*\n)*", re.IGNORECASE | re.MULTILINE)
_UNTIL_ASLEEP = 75.0  # seconds: an account sleeps after sixty without mail
_CALL = re.compile(r"\b(fsync|fdatasync|pwrite64)\(.*= (\d+)$", re.MULTILINE)
_AFTER = 60.0  # seconds that the last message may take
_COSTLY = ("text-and-sheet", "noise-in-html", "text-and-links", "returns")  # 0.15 s each: `tests/mail/hostile.py`

# The limits: with up to 1,000 users, and with more.
_MOST: dict[str, tuple[float, float]] = {
    "start to watching, CPU s": (1.0, 1.5),
    "asleep, MB": (55.0, 75.0),
    "memory at work, MB": (200.0, 220.0),
    "idle, % of a core": (1.0, 1.0),
    "restart after kill -9, CPU s": (2.0, 2.0),
    "cold: CPU ms per message": (13.0, 13.0),
    "cold, 50/s: p50, ms": (20.0, 20.0),
    "cold, 50/s: p99, ms": (120.0, 120.0),
    "cold: fsyncs per message": (8.0, 8.0),
    "cold: KB written per message": (250.0, 250.0),
    "hot: CPU ms per message": (7.0, 7.0),
    "hot, 50/s: p50, ms": (20.0, 20.0),
    "hot, 50/s: p99, ms": (120.0, 120.0),
    "beside a storm: p99, ms": (300.0, 300.0),
    "beside renames: p99, ms": (300.0, 300.0),
    "beside costly messages: p99, ms": (300.0, 300.0),
    "beside recording: p99, ms": (150.0, 150.0),
    "first recording, CPU ms per user": (20.0, 20.0),
    "daily look, CPU ms per user": (120.0, 120.0),
    "two shards, 200/s: p99, ms": (200.0, 200.0),
}
_LEAST = {"all cold, as many as can be, messages/s": 90.0}

_CONFIG = """\
mailboxes:
  - path: {directory}/vmail/{{domain}}/{{local}}/Maildir
    layout: maildir++
    roles: {{INBOX: inbox, Junk: spam, Sent: sent, Drafts: neutral, Trash: neutral}}
ledger: {directory}/lib/{{domain}}/{{local}}/ledger.sqlite
service: {{copies: 2}}
breaker: false
"""

_RENAMES = """
import os, sys, time
os.chdir(sys.argv[1])
names = ":2,S", ":2,FS"
while True:
    for number in range(1000):
        os.rename(f"{number}.known{names[0]}", f"{number}.known{names[1]}")
        if number % 100 == 0:
            time.sleep(0.01)
    names = names[::-1]
"""


class Host:
    """A mail host in a directory: its users by number, their inboxes, and the service."""

    def __init__(self, directory: Path, users: int, corpus: Sequence[Labelled], *, realtime: bool) -> None:
        self.directory = directory
        self.users = users
        self.config = directory / "config.yaml"
        self._realtime = realtime
        self._bases = bases_now()
        self._lock = threading.Lock()  # mail is delivered in two threads
        self.taught = [directory / f"taught{number}" for number in range(_LEDGERS)]
        for number, path in enumerate(self.taught):
            _teach(path, corpus[number * _LESSONS : (number + 1) * _LESSONS])
        self.mail = itertools.cycle([Path(each.path).read_bytes() for each in corpus[_LEDGERS * _LESSONS :]])
        self.config.write_text(_CONFIG.format(directory=directory))
        self._numbers = itertools.count()
        for _ in range(users):
            self.add()

    def home(self, user: int) -> Path:
        """Return the home of a user, where the Maildir is."""
        return self.directory / "vmail" / "example.org" / f"u{user}"

    def root(self, user: int) -> Path:
        """Return the Maildir of a user."""
        return self.home(user) / "Maildir"

    def ledger(self, user: int) -> Path:
        """Return the ledger of a user."""
        return self.directory / "lib" / "example.org" / f"u{user}" / "ledger.sqlite"

    @property
    def register(self) -> Path:
        """The directory of the register."""
        return self.directory / "lib"

    def add(self, mail: int = 0) -> None:
        """Add a user, with a ledger, and this number of read messages in the inbox."""
        user, new = next(self._numbers), self.directory / "new"
        for folder in _FOLDERS:
            create_folder(str(new / "Maildir"), "maildir++", folder)
        for _ in range(mail):
            (new / "Maildir" / "cur" / f"{next(self._bases)}:2,S").write_bytes(next(self.mail))
        self.ledger(user).parent.mkdir(parents=True, mode=0o700)
        shutil.copy(self.taught[user % _LEDGERS], self.ledger(user))
        self.home(user).parent.mkdir(parents=True, exist_ok=True)
        new.rename(self.home(user))

    def deliver(self, user: int) -> float:
        """Deliver the next message like a delivery agent. Returns when it was renamed."""
        with self._lock:
            content = next(self.mail)
        return self.put(user, content)

    def put(self, user: int, content: bytes) -> float:
        """Deliver this message. Returns when it was renamed."""
        inbox = Folder("INBOX", str(self.root(user)))
        with self._lock:
            base = next(self._bases)
        draft, final = (os.path.join(inbox.subdir(subdir), base) for subdir in ("tmp", "new"))
        # A different message each time: a known one would wait for a person's act.
        Path(draft).write_bytes(b"Message-ID: <%s@x>\n" % base.encode() + _MESSAGE_ID.sub(b"", content, count=1))
        now = time.perf_counter()
        os.rename(draft, final)
        return now

    @contextmanager
    def service(self, shard: str = "1-of-1") -> Iterator["Service"]:
        """Run the service; yields it when it watches."""
        command = [sys.executable, "-m", "spamnb", "--config", str(self.config), "run", "--shard", shard]
        service = Service(["chrt", "-r", "1", *command] if self._realtime else command)
        try:
            service.until_it_watches()
            yield service
        finally:
            service.end()


class Service:
    """The service as a process, and its log. placed: when each user's mail was placed, in order."""

    def __init__(self, command: Sequence[str]) -> None:
        self._began = time.perf_counter()
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        self.placed: dict[str, list[float]] = {}
        self.number = 0
        self.watches = threading.Event()
        self.lines: list[bytes] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id of the service itself."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            now = time.perf_counter()
            if (found := _PLACED.search(line)) is not None:
                self.placed.setdefault(found[1].decode(), []).append(now)
                self.number += 1
            else:
                self.lines.append(line)
                if b" watching " in line or b" polling " in line:
                    self.watches.set()

    def until_it_watches(self) -> None:
        """Wait until it watches."""
        if not self.watches.wait(common.PATIENCE):
            raise TimeoutError(b"".join(self.lines[-5:]).decode())

    def until_placed(self, number: int) -> None:
        """Wait until that number of messages were judged and placed."""
        end = time.monotonic() + _AFTER
        while self.number < number and time.monotonic() < end:
            time.sleep(0.01)

    def until_quiet(self) -> None:
        """Wait until it uses no processor time."""
        before = -1.0
        while (now := self.cpu()) - before > 0.01:
            before = now
            time.sleep(1.0)

    def cpu(self) -> float:
        """Return the seconds of processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def megabytes(self) -> float:
        """Return its memory: PSS."""
        return self._fields("smaps_rollup")["Pss"] / 1000

    def _fields(self, account: str) -> dict[str, int]:
        lines = (line.split() for line in Path(f"/proc/{self.pid}/{account}").read_text().splitlines())
        return {line[0].rstrip(":"): int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}

    def end(self, by: int = signal.SIGTERM) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.send_signal(by)
            self._process.wait(common.PATIENCE)
        self._reader.join()
        if self._process.stderr is not None:
            self._process.stderr.close()


Figures = Iterator[tuple[str, object]]


# --- the measurements


def start(host: Host) -> Figures:
    """Measure the first start, which sees all users for the first time, and a second one, with nothing new."""
    with host.service() as service:
        yield "first start, CPU s", service.cpu()
        service.until_quiet()
        yield "all seen, CPU ms per user", 1000 * service.cpu() / host.users
        yield "memory after that, MB", service.megabytes()
    with host.service() as service:
        yield "start to watching, CPU s", service.cpu()
        service.until_quiet()
        time.sleep(_UNTIL_ASLEEP)
        yield "asleep, MB", service.megabytes()
        before, began, at = service.cpu(), time.perf_counter(), time.time()
        time.sleep(660.0)  # two sweeps over all stamps, and some daily looks
        yield "idle, % of a core", 100 * (service.cpu() - before) / (time.perf_counter() - began)
    yield "looked after in that time", sum((row.looked_after_at or 0.0) > at for row in read(host.register))


def restart(host: Host) -> Figures:
    """Measure a start after kill -9."""
    with host.service() as service:
        service.until_quiet()
        service.end(signal.SIGKILL)
    with host.service() as service:
        service.until_quiet()
        yield "restart after kill -9, CPU s", service.cpu()


def cold(host: Host) -> Figures:
    """Deliver fifty messages per second, each for a user who is asleep."""
    with host.service() as service:
        service.until_quiet()
        before = service.cpu()
        number = min(2000, 2 * host.users)
        sent = _paced(host, itertools.cycle(range(host.users)), number, 50.0)
        service.until_placed(number)
        used = service.cpu() - before
        yield "cold: CPU ms per message", 1000 * used / number
        yield from _times("cold, 50/s", service, sent)
        yield "memory at work, MB", service.megabytes()
        yield from _disk(host, service)


def hot(host: Host) -> Figures:
    """Do the same for thirty-two users, who stay awake."""
    with host.service() as service:
        service.until_quiet()
        _paced(host, iter(range(32)), 32, 50.0)
        service.until_placed(32)
        before = service.cpu()
        sent = _paced(host, itertools.cycle(range(32)), 1000, 50.0)
        service.until_placed(1032)
        yield "hot: CPU ms per message", 1000 * (service.cpu() - before) / 1000
        yield from _times("hot, 50/s", service, sent)


def offered(host: Host) -> Figures:
    """Deliver more than the service can judge, for users who are asleep."""
    with host.service() as service:
        service.until_quiet()
        number = min(3000, 3 * host.users)
        began = time.perf_counter()
        _paced(host, itertools.cycle(range(host.users)), number, 400.0)
        service.until_placed(number)
        yield "all cold, as many as can be, messages/s", number / (time.perf_counter() - began)


def storm(host: Host) -> Figures:
    """Give one user a burst, and others twenty messages per second at the same time."""
    with host.service() as service:
        service.until_quiet()
        burst = threading.Thread(target=_paced, args=(host, itertools.repeat(0), 3000, 172.0))
        burst.start()
        others = itertools.cycle(range(1, host.users))
        sent = _paced(host, others, 300, 20.0)
        burst.join()
        service.until_placed(3300)
        yield from _times("beside a storm", service, sent)


def renames(host: Host) -> Figures:
    """Change 8,000 flags of one user per second, as an IMAP server may; give others twenty messages per second."""
    cur = Path(Folder("INBOX", str(host.root(0))).subdir("cur"))
    for number in range(1000):
        (cur / f"{number}.known:2,S").write_bytes(next(host.mail))
    with host.service() as service:
        service.until_quiet()
        before, began = service.cpu(), time.perf_counter()
        with subprocess.Popen([sys.executable, "-c", _RENAMES, str(cur)]) as program:
            try:
                sent = _paced(host, itertools.cycle(range(1, host.users)), 300, 20.0)
                service.until_placed(300)
            finally:
                program.terminate()
        yield "renames: CPU, % of a core", 100 * (service.cpu() - before) / (time.perf_counter() - began)
        yield from _times("beside renames", service, sent)


def costly(host: Host) -> Figures:
    """Give one user five costly messages per second, and others twenty messages per second at the same time."""
    with host.service() as service:
        service.until_quiet()
        worst = itertools.cycle([MESSAGES[name][0]() for name in _COSTLY])

        def send() -> None:
            for _ in range(75):
                host.put(0, next(worst))
                time.sleep(0.2)

        flood = threading.Thread(target=send)
        flood.start()
        sent = _paced(host, itertools.cycle(range(1, host.users)), 300, 20.0)
        flood.join()
        service.until_placed(375)
        yield from _times("beside costly messages", service, sent)


def first(host: Host) -> Figures:
    """Add users with six messages, who are seen for the first time while the service runs."""
    with host.service() as service:
        service.until_quiet()
        before, new = service.cpu(), 200
        for _ in range(new):
            host.add(6)
        time.sleep(15.0)  # the service waits ten seconds until nothing more is copied into a new Maildir
        service.until_quiet()
        yield "first recording, CPU ms per user", 1000 * (service.cpu() - before) / new


def recording(host: Host) -> Figures:
    """Add two users with much mail, who are seen for the first time; break four ledgers; give others mail as well."""
    for number in range(4):
        host.ledger(number).write_bytes(b"no ledger at all" * 100)
    with host.service() as service:
        service.until_quiet()
        for number in (6000, 3000):
            host.add(number)
        sent = _paced(host, itertools.cycle(range(4, host.users)), 600, 20.0)
        service.until_placed(600)
        yield "recorded meanwhile", sum(b"recorded" in line for line in service.lines)
        yield from _times("beside recording", service, sent)


def daily(host: Host) -> Figures:
    """Measure the daily look at two hundred users, each with a lesson since the last copy."""
    number, began = min(200, host.users), time.time()
    rows = read(host.register)
    due = [replace(row, looked_after_at=0.0) for row in rows[:number]]
    write(path_of(host.register, Share()), map(line_of, due + rows[number:]))
    plain = host.config.read_text()
    host.config.write_text(plain.replace("{copies: 2}", "{copies: 2, reconcile_seconds: 10}"))
    with host.service() as service:
        service.until_quiet()
        before, end = service.cpu(), time.monotonic() + 10 * _AFTER
        while sum((row.looked_after_at or 0.0) > began for row in read(host.register)) < number:
            if time.monotonic() > end:
                raise TimeoutError("not all users had their daily look")
            time.sleep(1.0)
        yield "daily look, CPU ms per user", 1000 * (service.cpu() - before) / number
    host.config.write_text(plain)


def shards(host: Host) -> Figures:
    """Run two services, with two hundred messages per second."""
    with host.service("1-of-2") as one, host.service("2-of-2") as two:
        one.until_quiet()
        two.until_quiet()
        number = min(4000, 4 * host.users)
        sent = _paced(host, itertools.cycle(range(host.users)), number, 200.0)
        end = time.monotonic() + _AFTER
        while one.number + two.number < number and time.monotonic() < end:
            time.sleep(0.01)
        one.placed |= two.placed
        yield from _times("two shards, 200/s", one, sent)


ROWS: dict[str, Callable[[Host], Figures]] = {
    row.__name__: row
    for row in (start, restart, cold, hot, offered, storm, renames, costly, first, daily, shards, recording)
}


# --- the tools


def _paced(host: Host, users: Iterator[int], number: int, rate: float) -> list[tuple[int, float]]:
    """Deliver messages at an even pace. Returns to whom, and when."""
    sent, began = [], time.perf_counter()
    for each in range(number):
        time.sleep(max(0.0, began + each / rate - time.perf_counter()))
        user = next(users)
        sent.append((user, host.deliver(user)))
    return sent


def _times(what: str, service: Service, sent: Sequence[tuple[int, float]]) -> Figures:
    """Return how long each of these messages took: the users' last ones, which are judged in their order."""
    waited, missing = [], 0
    of_user: dict[int, list[float]] = {}
    for user, at in sent:
        of_user.setdefault(user, []).append(at)
    for user, times in of_user.items():
        placed = service.placed.get(f"u{user}@example.org", [])[-len(times) :]
        missing += len(times) - len(placed)
        waited += [1000 * (after - before) for before, after in zip(times, placed, strict=False)]
    waited.sort()
    yield f"{what}: p50, ms", statistics.median(waited)
    yield f"{what}: p99, ms", waited[int(len(waited) * 0.99)]
    yield f"{what}: longest, ms", waited[-1]
    yield f"{what}: not judged", missing


def _disk(host: Host, service: Service) -> Figures:
    """Count how often a cold message waits for the disk, and what it writes into ledger and register.

    All users have one of four ledgers, so their pages are full at the same message: a twentieth more means nothing.
    """
    if shutil.which("strace") is None:
        return
    time.sleep(_UNTIL_ASLEEP)  # an account that falls asleep copies the log of its ledger: that is of earlier messages
    number, before = 50, service.number
    command = ["strace", "-f", "-e", "trace=fsync,fdatasync,pwrite64", "-p", str(service.pid)]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stderr=said) as strace:
        time.sleep(1.0)
        _paced(host, iter(range(host.users - number, host.users)), number, 20.0)
        service.until_placed(before + number)
        time.sleep(_UNTIL_ASLEEP)
        strace.send_signal(signal.SIGINT)
        strace.wait()
        said.seek(0)
        calls = _CALL.findall(said.read())
    yield "cold: fsyncs per message", sum(call != "pwrite64" for call, _ in calls) / number
    yield "cold: KB written per message", sum(int(size) for call, size in calls if call == "pwrite64") / number / 1000


def _teach(path: Path, lessons: Sequence[Labelled]) -> None:
    with Ledger(str(path)) as ledger:
        for each in lessons:
            raw = Path(each.path).read_bytes()
            learn_message(ledger, raw, each.label, "trained by hand", time.time(), how=How.HAND)
        may_move.begin_if_ready(ledger, Scoring(), Learning())  # this is done once per ledger, and takes 12 ms


def _fsync_ms(directory: Path) -> float:
    took = []
    with (directory / "fsync").open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(b"x")
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


def main() -> None:
    """Make the host, measure each row, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--directory", metavar="DIR", help="where the host is made (default: a temporary directory)")
    parser.add_argument("--realtime", action="store_true", help="run the service at real-time priority (root)")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    options = parser.parse_args()

    corpus = common.warmed(options.corpus)
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        host = Host(Path(name), options.users, corpus, realtime=options.realtime)
        rows: list[dict[str, object]] = [
            _row("users", options.users, options.users),
            _row("fsync, ms", _fsync_ms(Path(name)), options.users),
        ]
        for row in options.rows:
            rows += [_row(what, value, options.users) for what, value in ROWS[row](host)]
            print(f"{row}: done", file=sys.stderr)
    if not options.json:
        print(f"{platform.python_implementation()} {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    common.report(rows, options.json)
    sys.exit(any(row["kept"] is False for row in rows))


def _row(what: str, value: object, users: int) -> dict[str, object]:
    """Return a row: a figure, its limit, and whether the figure keeps it; None for both without a limit."""
    most, least = _MOST.get(what), _LEAST.get(what)
    if not isinstance(value, float) or (most is None and least is None):
        return {"what": what, "value": value, "must": None, "kept": None}
    if most is None:
        return {"what": what, "value": value, "must": least, "kept": value >= (least or 0.0)}
    must = most[users > 1000]
    return {"what": what, "value": value, "must": must, "kept": value <= must}


if __name__ == "__main__":
    main()
