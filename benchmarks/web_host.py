"""Measure the cost of a mail host's pages: all users ask one server, and the administrator asks for the overview.

The benchmark makes a host with this number of users, each with a ledger of 300 lessons and 20 verdicts. Eight
connections of a proxy ask at once: each user for six pages, whose parts are computed in the background.

cpu: ms of the server's process per page. beside: s of the processes that it has started, in all. threads, highest: the
largest number, and memory in MB. after: the memory when nobody asks any longer.

    python benchmarks/web_host.py [--users 1000] [--json]
"""

import argparse
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import common
from web import ask, cpu, cpu_of_children, end, forget_highest, megabytes, threads_of

from spamnb.acts import training
from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.host.host import load_host
from spamnb.host.register import AccountRow, FilterState, line_of, path_of, write
from spamnb.host.shares import Share
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir.folders import create_folder

_LESSONS, _VERDICTS = 150, 20  # of each kind
_PAGES = ("/", "/history", "/review", "/tune", "/audit", "/health")
_AT_ONCE = 8
_IDLE = 2.5  # seconds after which free memory was returned
_PAUSE = 0.05
_TIMES = 5
_FIELD = "X_Remote_User"  # as `ask` takes it
_CONFIG = """\
mailboxes:
  - path: {directory}/vmail/{{domain}}/{{local}}/Maildir
    roles: {{INBOX: inbox, Junk: spam}}
ledger: {directory}/lib/{{domain}}/{{local}}/ledger.sqlite
"""


class Figure(NamedTuple):
    """A measurement."""

    what: str
    cpu: float
    pages_a_second: float | None = None
    beside: float | None = None
    threads: int | None = None
    highest: float | None = None
    after: float | None = None


def main() -> None:
    """Make a host, and request its pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=1000, help="default: 1000")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        config = directory / "config.yaml"
        config.write_text(_CONFIG.format(directory=directory))
        users = list(_users(directory, options.users))
        figures = [*_pages_of(config, users), *_overview(config, users)]
    common.report([figure._asdict() for figure in figures], options.json)


def _users(directory: Path, number: int) -> Iterator[str]:
    taught = directory / "taught"
    with Ledger(str(taught)) as ledger:
        for label in Label:
            batch = Batch.of([read(message(label.word, one)) for one in range(_LESSONS)])
            training.learn_batches(ledger, [batch], label, "a benchmark", time.time(), how=How.HAND)
        for kind, one in itertools.product(("ham", "spam"), range(_LESSONS, _LESSONS + _VERDICTS // 2)):
            seen = read(message(kind, one))
            known = ledger.messages.ensure(seen.digest, seen.summary)
            ledger.messages.judged(known.id, Verdict(kind), 0.001 if kind == "ham" else 0.999, time.time())
    for one in range(number):
        local, domain = f"u{one}", f"d{one % 20}.example"
        for folder in ("INBOX", "Junk"):
            create_folder(str(directory / "vmail" / domain / local / "Maildir"), "maildir++", folder)
        (directory / "lib" / domain / local).mkdir(parents=True)
        shutil.copy(taught, directory / "lib" / domain / local / "ledger.sqlite")
        yield f"{local}@{domain}"


@contextlib.contextmanager
def _served(config: Path, *arguments: str) -> Iterator[tuple[int, Path]]:
    """Start the server. Yields its process, and its socket."""
    path = config.with_name("web.sock")
    command = [sys.executable, "-m", "spamnb", "-q", "--config", str(config), "web", "--listen", str(path), *arguments]
    process = subprocess.Popen(command, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    common.until(path.exists, "the pages to be served")
    try:
        yield process.pid, path
    finally:
        end(process)


def _pages_of(config: Path, users: Sequence[str]) -> Iterator[Figure]:
    """Let all users ask for all pages, twice."""
    arguments = ("--behind-proxy", "--user-header", "X-Remote-User", "--allow-host", "localhost")
    with _served(config, *arguments) as (pid, path), ThreadPoolExecutor(_AT_ONCE) as proxies:
        for each in ("first", "again"):
            forget_highest(pid)
            before, began, start = cpu(pid), cpu_of_children(pid), time.monotonic()
            with _most_threads(pid) as most:
                asked = itertools.product(_PAGES, users)
                list(proxies.map(lambda one: ask(path, one[0], Host="localhost", **{_FIELD: one[1]}), asked))
            pages = len(users) * len(_PAGES)
            what, rate = f"{len(users)} users, {pages} pages, {each}", pages / (time.monotonic() - start)
            mean, highest = (cpu(pid) - before) / pages, megabytes(pid, "VmHWM")
            time.sleep(_IDLE)
            beside = (cpu_of_children(pid) - began) / 1000
            yield Figure(what, mean, rate, beside, most[0], highest, megabytes(pid, "VmRSS"))


@contextlib.contextmanager
def _most_threads(pid: int) -> Iterator[list[int]]:
    """Yield the largest number of threads in that time."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(_PAUSE):
            most[0] = max(most[0], threads_of(pid))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        over.set()
        looking.join()


def _overview(config: Path, users: Sequence[str]) -> Iterator[Figure]:
    """Let the administrator ask for the worst 200 users and for all."""
    judged = {"ham": 1200, "unsure": 5, "spam": 700}
    rows = (
        AccountRow(user, f"/m/{user}", FilterState.MOVING, ham=300, spam=200, judged=judged, judged_at=time.time())
        for user in users
    )
    write(path_of(load_host(config, {}).directory, Share()), map(line_of, rows))
    with _served(config, "--overview") as (pid, path):
        for page in ("/", "/?all=1"):
            ask(path, page, Host="localhost")
            forget_highest(pid)
            before = cpu(pid)
            for _ in range(_TIMES):
                ask(path, page, Host="localhost")
            mean, highest = (cpu(pid) - before) / _TIMES, megabytes(pid, "VmHWM")
            yield Figure(f"overview of {len(users)} users, {page}", mean, highest=highest)


if __name__ == "__main__":
    sys.exit(main())
