"""Three hosts with four users, while everything breaks that can break: in the end all ledgers agree with the log."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from spamnb.exchange.connecting import connected, upgrade
from spamnb.exchange.port import Log, news_of
from spamnb.exchange.rounds import exchange
from spamnb.ledger.ledger import Ledger
from tests.documents import ROOT
from tests.exchange import cluster
from tests.exchange.host import USERS
from tests.exchange.learned import ALL, by_the_ledger, by_the_log
from tests.exchange.relay import Relay
from tests.patience import PATIENCE

_HOSTS = ("mx1", "mx2", "mx3")


class Host:
    """A host in a process of its own, behind a network of its own."""

    def __init__(self, directory: Path, relay: Relay, database: str, name: str) -> None:
        self.name = name
        self.relay = relay
        self.directory = directory
        self._database = f"{database} host={relay.directory}"  # the last one counts
        self._process: subprocess.Popen[bytes] | None = None
        self._seeds = count(1000 * int(name[-1]))

    def start(self) -> None:
        """Start the process, or start it again."""
        self.directory.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.exchange.host"]
        named = [str(self.directory), self._database, self.name, str(next(self._seeds))]
        self._process = subprocess.Popen([*command, *named], cwd=ROOT)

    def end(self, by: signal.Signals) -> int:
        """End the process, and return its exit code."""
        assert self._process is not None
        self._process.send_signal(by)
        return self._process.wait(PATIENCE)

    def ledger(self, user: str) -> str:
        """The ledger of a user."""
        return str(self.directory / user / "ledger")

    def said(self) -> str:
        """Return its log."""
        return (self.directory / "log").read_text()

    @property
    def is_begun(self) -> bool:
        """Whether it has done its first act."""
        return (self.directory / "acts").exists()

    def acts(self) -> int:
        """Return how many acts it has done."""
        return (self.directory / "acts").stat().st_size


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    """A cluster that may be killed."""
    if why := cluster.why_not():
        pytest.skip(why)
    with cluster.running() as running:
        yield running


def run(seconds: float, acts: int, seed: int, postgres: cluster.Cluster, directory: Path) -> Counter[str]:
    """Run the trial for this time, and until the hosts have done enough; return what was done."""
    chance = random.Random(seed)
    database = postgres.database()
    upgrade(database)
    done: Counter[str] = Counter()
    with ExitStack() as stack:
        hosts = []
        for name in _HOSTS:
            (sockets := postgres.directory / name).mkdir()
            relay = stack.enter_context(Relay(sockets, postgres.directory))
            hosts.append(Host(directory / name, relay, database, name))
        for host in hosts:
            host.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end or sum(host.acts() for host in hosts if host.is_begun) <= acts:
            assert time.monotonic() < end + 10 * PATIENCE, "the hosts do too little"
            time.sleep(chance.uniform(0.2, 1.5))
            what = chance.choice(["host", "cut", "cut", "silent", "server", "stopped"])
            done[what] += 1
            disturb(what, chance, postgres, chance.choice(hosts))
        for host in hosts:
            assert host.end(signal.SIGTERM) in (0, -signal.SIGTERM), "which may come before it has begun"
            done["acts"] += host.acts()
            done["away"] += host.said().count("the database is away") + host.said().count("no answer")
            assert "Traceback" not in host.said(), host.said()
        compare(hosts, database, done)
    return done


def disturb(what: str, chance: random.Random, postgres: cluster.Cluster, host: Host) -> None:
    """Break something, and repair it after a while."""
    pause = chance.uniform(0.1, 4.0)
    match what:
        case "host":
            host.end(signal.SIGKILL)
            host.start()
        case "cut":
            host.relay.cut()
        case "silent":
            host.relay.silent(True)
            time.sleep(pause)
            host.relay.silent(False)
        case "server":
            postgres.kill()
            time.sleep(pause / 4)
            postgres.start()
        case "stopped":
            postgres.signal(signal.SIGSTOP)
            time.sleep(pause)
            postgres.signal(signal.SIGCONT)


def compare(hosts: list[Host], database: str, done: Counter[str]) -> None:
    """Check after two rounds of each host that all ledgers of a user hold what a plain loop over the log gives."""
    with connected(database) as log:
        for user in USERS:
            for _ in range(2):
                for host in hosts:
                    keep_up(host, user, log)
            wanted = by_the_log(log.receive(user, 0, ALL))
            done["lessons"] += len(wanted.lessons)
            for host in hosts:
                with Ledger(host.ledger(user)) as ledger:
                    assert by_the_ledger(ledger) == wanted, f"{user} on {host.name}"
                    done["received"] += sum("(on mx" in action.why for action in ledger.journal.newest(ALL))


def keep_up(host: Host, user: str, log: Log) -> None:
    """Make a round."""
    with Ledger(host.ledger(user)) as ledger:
        assert exchange(ledger, log, user, host.name, news_of(log, [user])[user]).is_over


@pytest.mark.real_system
def test_whatever_breaks_all_agree(place: cluster.Cluster, tmp_path: Path) -> None:
    """After twenty seconds of kills, partitions, a silent server and contradicting lessons all ledgers agree."""
    done = run(20, 200, 1, place, tmp_path)
    assert done["acts"] > 200, done
    assert done["lessons"] > 100, done
    assert done["received"] > 100, done
    assert done["away"] > 1, done


@pytest.mark.slow
def test_whatever_breaks_for_ten_minutes(place: cluster.Cluster, tmp_path: Path) -> None:
    """After ten minutes of the same all ledgers agree."""
    done = run(600, 10_000, 2, place, tmp_path)
    assert done["acts"] > 10_000, done
    assert done["lessons"] > 900, done
