"""After `kill -9` of a host at any moment of a round nothing is lost, and nothing is learned twice."""

import shutil
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.base.label import How, Label
from spamnb.exchange.connecting import connected
from spamnb.ledger.ledger import Ledger
from tests.exchange.learned import ALL, Learned, a_round, by_the_ledger, by_the_log
from tests.exchange.test_rounds import reading, teach
from tests.traced import calls, killed_before

HAM, SPAM = Label


class Death:
    """A ledger with lessons to send, and a log with lessons for it; both are made anew for each death."""

    def __init__(self, directory: Path, database: str) -> None:
        self.directory = directory
        self._database = database
        self._numbers = count()
        with Ledger(str(directory / "before" / "ledger")) as ledger:
            for number in range(4):
                teach(ledger, number, Label(number % 2), 1.0)
            teach(ledger, 1, None, 2.0)
            learn(ledger, reading(1, other=3), HAM, "learned again", 3.0, how=How.KEPT, weak=True)
        with Ledger(str(directory / "theirs" / "ledger")) as theirs, connected(database) as log:
            for number in range(1, 6):
                teach(theirs, number, HAM, 5.0 - number)
            a_round(theirs, log, "theirs")
            self._theirs = [row.copy for row in log.receive("theirs", 0, ALL)]

    def again(self) -> None:
        """Make everything anew, in a different account of the log."""
        self._account = f"user{next(self._numbers)}"
        self._path = self.directory / self._account / "ledger"
        shutil.copytree(self.directory / "before", self._path.parent)
        with connected(self._database) as log:
            log.send(self._account, 0, "theirs", self._theirs)

    def work(self) -> None:
        """A round, as the service makes it."""
        with Ledger(str(self._path), busy_seconds=0.2) as ledger, connected(self._database) as log:
            a_round(ledger, log, self._account, "mx1")

    def check(self) -> tuple[Learned, Counter[tuple[object, ...]]]:
        """Check that after one more round the ledger and its history agree with the log."""
        self.work()
        with Ledger(str(self._path)) as ledger, connected(self._database) as log:
            learned = by_the_ledger(ledger)
            assert learned == by_the_log(log.receive(self._account, 0, ALL))
            done = Counter(
                (each.digest, each.before, each.after, each.why, each.how) for each in ledger.journal.newest(ALL)
            )
        shutil.rmtree(self._path.parent)
        return learned, done


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_killed_at_any_call(tmp_path: Path, database: str) -> None:
    """A round killed before any change of a file or the database is completed by the next; nothing is learned twice."""
    death = Death(tmp_path, database)
    death.again()
    made = calls(death.work, tmp_path / "calls", ",sendto,connect")
    wanted = death.check()
    assert max(wanted[1].values()) == 1
    assert made["sendto"] > 5
    deaths = 0
    for call, number in made.items():
        for at in range(1, number + 1):
            death.again()
            deaths += killed_before(death.work, call, at)
            assert death.check() == wanted, f"killed at {call} {at} of {number}"
    assert deaths > 50
