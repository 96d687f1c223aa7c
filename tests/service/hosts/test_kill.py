"""`kill -9` before every system call of a host's service that changes anything on the disk (strace).

The service starts, wakes each of two users of whom one may be awake, moves spam, learns a correction, is told of new
mail, lets all sleep, writes the register, and ends.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.host.register import FilterState
from spamnb.ledger.ledger import Ledger
from tests.service.conftest import LESSONS
from tests.service.hosts.inn import Desk
from tests.traced import calls, killed_before

pytestmark = [
    pytest.mark.real_disk,  # being durable is among what they die at
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]
_RESCUED, _SPAM, _LATE = 1000, 1003, 1009  # made-up spam that is not alike: a rescue makes its like unsure
_RARE = ("renameat2", "rename", "fsync", "fdatasync", "unlink", "ftruncate")


class Death:
    """Two users, to each of whom spam has come, who have each rescued a message, and who get mail meanwhile."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.outbox = desk.directory / "outbox"
        self.outbox.mkdir()
        desk.configure(users="awake: 1", dwell=0)
        desk.start()
        desk.settle()
        self.rescued = self._deliver(_RESCUED)
        desk.settle()
        desk.stop()
        for name, content in self.rescued.items():
            assert content in desk.contents(name, "Junk")
            desk.move(name, content, "Junk", "Archive")
        self.spam, self.late = self._deliver(_SPAM), self._deliver(_LATE)
        for name, content in self.late.items():
            folder = desk.folder(name)
            path = next(path for path in Path(folder.subdir("new")).iterdir() if path.read_bytes() == content)
            path.rename(self.outbox / f"{name}.{path.name}")
        self.before = desk.directory.with_name(f"{desk.directory.name}-before")
        shutil.copytree(desk.directory, self.before, symlinks=True)

    def _deliver(self, number: int) -> dict[str, bytes]:
        return {name: self.desk.deliver(name, number=number) for name in self.desk.names}

    def again(self) -> None:
        """All as it was before, with the times of the directories."""
        for name in ("vmail", "lib", "outbox"):
            shutil.rmtree(self.desk.directory / name)
            shutil.copytree(self.before / name, self.desk.directory / name, symlinks=True)

    def work(self) -> None:
        """The service from its start to its end, to which mail comes."""
        self.desk.start()
        self.desk.settle()
        self.deliver()
        self.desk.settle()
        self.desk.stop()

    def deliver(self) -> None:
        """Deliver what was not delivered yet."""
        for path in sorted(self.outbox.iterdir()):
            name, _, base = path.name.partition(".example.")
            path.rename(Path(self.desk.folder(f"{name}.example").subdir("new"), base))

    def check(self) -> None:
        """After the next start each message is in its place once, each lesson learned once, and the register right."""
        self.desk.start()
        self.deliver()
        self.desk.settle()
        rows = self.desk.rows()
        self.desk.stop()
        for name in self.desk.names:
            spam, late, rescued = self.spam[name], self.late[name], self.rescued[name]
            assert sorted(self.desk.contents(name, "Junk")) == sorted([spam, late]), name
            assert self.desk.contents(name, "Archive") == [rescued], name
            assert self.desk.everything(name) == sorted([spam, late, rescued]), name
            assert self.desk.label(name, rescued) == Label.HAM
            assert self.desk.faults(name) == []
            with Ledger(str(self.desk.ledger(name))) as ledger:
                done = [each for each in ledger.journal.newest(100) if each.state == "done"]
                ham, spam_learned, *_ = ledger.lessons.totals()
            kinds = Counter(each.kind for each in done)
            assert (kinds["moved"], kinds["learned"]) == (3, 2 * LESSONS + 1), name
            row = rows[name]
            assert (row.state, row.fault, row.ham, row.spam) == (FilterState.MOVING, "", ham, spam_learned)
        assert rows.keys() == set(self.desk.names)


def points(death: Death, log: Path) -> Iterator[tuple[str, int]]:
    """Every call of a run, by name and number."""
    death.again()
    for call, number in calls(death.work, log).items():
        for at in range(1, number + 1):
            yield call, at


def kill_at(death: Death, call: str, at: int) -> bool:
    """Die there, start again, and look; whether there was such a call, whose number depends on the time a little."""
    death.again()
    died = killed_before(death.work, call, at)
    try:
        death.check()
    except AssertionError as fault:
        raise AssertionError(f"killed before {call} {at}: {fault}") from fault
    return died


@pytest.fixture
def death(desk_of: Callable[[int], Desk]) -> Death:
    """A host of two users."""
    return Death(desk_of(2))


@pytest.mark.parametrize(("step", "rare_step"), [(400, 48), pytest.param(150, 16, marks=pytest.mark.thorough)])
def test_killed_at_some_system_calls(death: Death, tmp_path: Path, step: int, rare_step: int) -> None:
    """Killed before any of some system calls, nothing is lost, nothing is learned twice, and the register is right."""
    every = list(points(death, tmp_path / "log"))
    assert {"renameat2", "fdatasync", "pwrite64", "openat", "ftruncate"} <= {call for call, _ in every}
    rare = [point for point in every if point[0] in _RARE]
    for call, at in {*rare[::rare_step], *every[::step]}:
        kill_at(death, call, at)


@pytest.mark.slow
def test_killed_at_every_system_call(death: Death, tmp_path: Path) -> None:
    """Killed before any system call that changes anything, it is the same."""
    every = list(points(death, tmp_path / "log"))
    died = sum(kill_at(death, call, at) for call, at in every)
    assert died > 0.8 * len(every) > 600
