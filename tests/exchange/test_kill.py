"""After `kill -9` of a host at any moment of a round nothing is lost, and nothing is learned twice."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from spamnb.acts.training import learn
from spamnb.base.label import How, Label
from spamnb.exchange.connecting import connected
from spamnb.ledger.ledger import Ledger
from tests.dying import Fuse, burning, kill, killed
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
        self._before = directory / "before"
        with Ledger(str(self._before / "ledger")) as ledger:
            for number in range(4):
                teach(ledger, number, Label(number % 2), 1.0)
            teach(ledger, 1, None, 2.0)
            learn(ledger, reading(1, other=3), HAM, "learned again", 3.0, how=How.KEPT, weak=True)
        with Ledger(str(directory / "theirs")) as theirs, connected(database) as log:
            for number in range(1, 6):
                teach(theirs, number, HAM, 5.0 - number)
            a_round(theirs, log, "theirs", "mx2")
            self._theirs = [row.kept for row in log.receive("theirs", 0, ALL)]
        self.again()

    def again(self) -> None:
        """Make everything anew, in a different account of the log."""
        self._account = f"user{next(self._numbers)}"
        self._path = self.directory / self._account / "ledger"
        shutil.copytree(self._before, self._path.parent)
        with connected(self._database) as log:
            log.send(self._account, 0, "mx2", self._theirs)

    def work(self) -> None:
        """A round, as the service makes it."""
        with Ledger(str(self._path), busy_seconds=0.2) as ledger, connected(self._database) as log:
            a_round(ledger, log, self._account)

    def burn(self, at: int) -> Callable[[], None]:
        """Make a round in which the process dies at the `at`th statement that it gives to SQLite."""

        def work() -> None:
            ledger = Ledger(str(self._path), busy_seconds=0.2)
            with burning(ledger, Fuse(at, kill)), connected(self._database) as log:
                a_round(ledger, log, self._account)

        return work

    def check(self) -> tuple[Learned, Counter[tuple[object, ...]]]:
        """Check that after one more round the ledger and its history agree with the log."""
        self.work()
        with Ledger(str(self._path)) as ledger, connected(self._database) as log:
            learned = by_the_ledger(ledger)
            assert learned == by_the_log(log.receive(self._account, 0, ALL))
            done = Counter(
                (action.digest, action.before, action.after, action.why, action.how)
                for action in ledger.journal.newest(ALL)
            )
        shutil.rmtree(self._path.parent)
        return learned, done


@pytest.fixture
def death(tmp_path: Path, database: str) -> Iterator[Death]:
    """A round that is going to be killed."""
    yield Death(tmp_path, database)


def test_killed_at_any_statement(death: Death) -> None:
    """A round that dies at any statement of the ledger is completed by the next; nothing is learned twice."""
    wanted = death.check()
    assert max(wanted[1].values()) == 1
    for at in count(1):
        death.again()
        if not killed(death.burn(at)):
            break
        assert death.check() == wanted, f"killed at statement {at}"
    assert at > 30


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_killed_at_any_call(death: Death, tmp_path: Path) -> None:
    """A round that dies before any call that changes a file or writes to the database is completed by the next one."""
    wanted = death.check()
    death.again()
    made = calls(death.work, tmp_path / "calls", ",sendto,connect")
    assert death.check() == wanted
    assert made["sendto"] > 5
    deaths = 0
    for call, number in made.items():
        for at in range(1, number + 1):
            death.again()
            deaths += killed_before(death.work, call, at)
            assert death.check() == wanted, f"killed at {call} {at} of {number}"
    assert deaths > 50
