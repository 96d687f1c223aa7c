"""Three hosts with four users, while everything breaks that can break: in the end all ledgers agree with the log."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from spamnb.exchange.connecting import connected
from spamnb.ledger.ledger import Ledger
from tests.documents import ROOT
from tests.exchange.cluster import Cluster, made_log, run
from tests.exchange.host import USERS
from tests.exchange.learned import ALL, a_round, by_the_ledger, by_the_log
from tests.patience import PATIENCE

_SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = '{}'"


class Host:
    """A host in a process of its own. Its name is that of its sessions too."""

    def __init__(self, directory: Path, database: str) -> None:
        self.name = directory.name
        self.directory = directory
        self.database = database
        self._seeds = count(1000 * int(self.name[-1]))
        directory.mkdir()
        self.start()

    def start(self) -> None:
        """Start the process, or start it again."""
        command = [sys.executable, "-m", "tests.exchange.host", str(self.directory)]
        self._process = subprocess.Popen([*command, self.database, str(next(self._seeds))], cwd=ROOT)

    def end(self, by: signal.Signals) -> int:
        """End the process, and return its exit code."""
        self._process.send_signal(by)
        return self._process.wait(PATIENCE)

    def sessions(self, number: signal.Signals) -> None:
        """Send a signal to the server's end of each of its connections."""
        for (session,) in run(self.database, _SESSIONS.format(self.name)):
            with suppress(ProcessLookupError):
                os.kill(session, number)

    def said(self) -> str:
        """Return its log."""
        return (self.directory / "log").read_text()

    def acts(self) -> int:
        """Return how many acts it has done."""
        acts = self.directory / "acts"
        return acts.stat().st_size if acts.exists() else 0


def trial(seconds: float, acts: int, seed: int, postgres: Cluster, directory: Path) -> Counter[str]:
    """Run the trial for this time, and until the hosts have done enough; return what was done."""
    chance = random.Random(seed)
    database = made_log(postgres)
    done: Counter[str] = Counter()
    hosts = [Host(directory / name, database) for name in ("mx1", "mx2", "mx3")]
    end = time.monotonic() + seconds
    while time.monotonic() < end or sum(host.acts() for host in hosts) <= acts:
        assert time.monotonic() < end + 10 * PATIENCE, "the hosts do too little"
        time.sleep(chance.uniform(0.2, 1.5))
        disturb(chance, postgres, chance.choice(hosts))
    for host in hosts:
        assert host.end(signal.SIGTERM) in (0, -signal.SIGTERM), "which may come before it has begun"
        done["acts"] += host.acts()
        done["away"] += host.said().count("the database is away") + host.said().count("no answer")
        assert "Traceback" not in host.said(), host.said()
    compare(hosts, database, done)
    return done


def disturb(chance: random.Random, postgres: Cluster, host: Host) -> None:
    """Break something, and repair it after a while."""
    pause = chance.uniform(0.1, 4.0)
    match chance.choice(["host", "cut", "cut", "silent", "server", "stopped"]):
        case "host":
            host.end(signal.SIGKILL)
            host.start()
        case "cut":
            host.sessions(signal.SIGTERM)
        case "silent":
            host.sessions(signal.SIGSTOP)
            time.sleep(pause)
            postgres.signal(signal.SIGCONT)
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
            for host in 2 * hosts:
                with Ledger(str(host.directory / user / "ledger")) as ledger:
                    assert a_round(ledger, log, user, host.name).is_over
            wanted = by_the_log(log.receive(user, 0, ALL))
            done["lessons"] += len(wanted.lessons)
            for host in hosts:
                with Ledger(str(host.directory / user / "ledger")) as ledger:
                    assert by_the_ledger(ledger) == wanted, f"{user} on {host.name}"
                    done["received"] += sum("(on mx" in action.why for action in ledger.journal.newest(ALL))


@pytest.mark.parametrize(
    ("seconds", "acts", "lessons"),
    [
        pytest.param(12, 200, 100, marks=pytest.mark.real_system),
        pytest.param(600, 10_000, 900, marks=pytest.mark.slow),
    ],
)
def test_whatever_breaks_all_agree(own: Cluster, tmp_path: Path, seconds: int, acts: int, lessons: int) -> None:
    """After kills, partitions, a silent server and contradicting lessons all ledgers agree."""
    done = trial(seconds, acts, 1, own, tmp_path)
    assert done["acts"] > acts, done
    assert done["lessons"] > lessons, done
    assert done["received"] > 100, done
    assert done["away"] > 1, done
