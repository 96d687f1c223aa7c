"""No mail stays unseen: hints that are late or lost, accounts that sleep, and death, in any order.

The watcher is the real one; what it has told is read when the machine says so, as where a thread, the kernel or the
whole process has to wait. The daily look, which sees all, is left out.
"""

import functools
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spamnb.config import Watch
from spamnb.host.service.sweeps import Sweeps
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from tests.dying import DeathError
from tests.lessons import learn, sample_lessons
from tests.profiles import daily
from tests.service.hosts.inn import names_of
from tests.service.hosts.late import Slow

NAMES = st.sampled_from(names_of(3))


@functools.cache
def taught_ledger() -> bytes:
    """A ledger that knows ham from spam; for all stories."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "ledger")
        with Ledger(str(path)) as ledger:
            learn(ledger, sample_lessons(10))
        return path.read_bytes()


class Unseen(RuleBasedStateMachine):
    """Three users of whom one may be awake, and what was delivered to them and decided by them."""

    watch: Watch = "auto"

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        directory = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.stack.enter_context(mock.patch.object(Sweeps, "_is_daily_look_due", lambda *_: False))
        taught = directory / "taught"
        taught.write_bytes(taught_ledger())
        self.desk = Slow(directory, taught, 3)
        self.desk.configure(f"service: {{watch: {self.watch}, poll_seconds: 5}}", "awake: 1")
        self.desk.start()
        self.desk.settle()
        self.desk.late.flows = False
        self.spam: list[tuple[str, bytes]] = []
        self.rescued: list[tuple[str, bytes]] = []
        self.folders = 0

    def teardown(self) -> None:
        """All is seen, if the service is let work."""
        try:
            self.all_is_seen()
        finally:
            self.desk.stop()
            self.stack.close()

    def changed(self, directory: str) -> None:
        """Let a directory have another time than before, however slow the kernel's clock ticks."""
        status = os.stat(directory)
        self.latest = max(getattr(self, "latest", 0) + 1, status.st_mtime_ns)
        os.utime(directory, ns=(status.st_atime_ns, self.latest))

    # --- what happens outside

    @rule(name=NAMES)
    def deliver(self, name: str) -> None:
        """Spam comes."""
        self.spam.append((name, self.desk.deliver(name)))
        self.changed(self.desk.folder(name).subdir("new"))

    @rule(name=NAMES)
    def make_folder(self, name: str) -> None:
        """A rule makes a folder, and delivers into it."""
        self.folders += 1
        folder = f"List{self.folders}"
        create_folder(str(self.desk.root(name)), "maildir++", folder)
        self.desk.deliver(name, "ham", folder)
        self.changed(self.desk.folder(name, folder).subdir("new"))

    @precondition(lambda self: any(content in self.desk.contents(name, "Junk") for name, content in self.spam))
    @rule()
    def rescue(self) -> None:
        """A person takes the oldest message out of Junk."""
        name, content = next(each for each in self.spam if each[1] in self.desk.contents(each[0], "Junk"))
        self.spam.remove((name, content))
        self.rescued.append((name, content))
        self.desk.move(name, content, "Junk", "Archive")
        self.changed(self.desk.folder(name, "Archive").subdir("cur"))

    # --- what happens inside

    @rule(number=st.integers(1, 4))
    def hint(self, number: int) -> None:
        """Some of what was told is read."""
        assert self.desk.roster is not None
        for hint in self.desk.late.let_through(number):
            self.desk.accounts.take(hint)

    @rule(number=st.integers(1, 3))
    def work(self, number: int) -> None:
        """The service goes through its loop."""
        for _ in range(number):
            self.desk.step()

    @rule(seconds=st.sampled_from([0.6, 3.0, 6.0, 61.0]))
    def pass_time(self, seconds: float) -> None:
        """Time passes."""
        self.desk.pass_time(seconds)

    @rule()
    def lose(self) -> None:
        """The kernel's queue is full."""
        self.desk.late.lose()

    # --- death

    @rule(at=st.integers(0, 60))
    def die(self, at: int) -> None:
        """The process is killed, mostly in the midst of something, and started again."""
        self.desk.dies_in = at
        try:
            while self.desk.dies_in is not None and self.desk.dies_in > 0:
                self.desk.ahead += 0.5
                self.desk.step()
        except DeathError:
            pass
        self.desk.dies_in = None
        self.desk.kill()
        self.start()

    @rule()
    def restart(self) -> None:
        """The service is ended in order, and started again."""
        self.desk.stop()
        self.start()

    def start(self) -> None:
        """Start it."""
        self.desk.start()
        self.desk.late.flows = False

    # --- what must hold

    @rule()
    def all_is_seen(self) -> None:
        """When the service may read all hints, and has looked at all stamps, it has seen everything."""
        self.desk.late.flows = True
        self.desk.pass_time(310.0)
        for name, content in self.spam:
            assert content in self.desk.contents(name, "Junk"), f"spam of {name} was not seen"
        for _ in range(2):
            self.desk.pass_time(61.0)  # all sleep
        self.desk.late.flows = False
        for name, content in self.rescued:
            assert self.desk.label(name, content) == 0, f"a decision of {name} was not seen"
        for name in self.desk.names:
            assert self.desk.unknown(name) == []

    @invariant()
    def none_is_lost(self) -> None:
        """Each message is there once."""
        for name in self.desk.names:
            ours = [content for whose, content in [*self.spam, *self.rescued] if whose == name]
            assert sorted(ours) == sorted(self.desk.everything(name))


class Polled(Unseen):
    """The same where nothing is told of."""

    watch = "polling"


_SHORT = settings(max_examples=daily(5), stateful_step_count=12, suppress_health_check=list(HealthCheck))
_LONG = settings(max_examples=200, stateful_step_count=40, derandomize=False, suppress_health_check=list(HealthCheck))

# The same stories each time; those at length look for others.
TestUnseen, TestPolled = Unseen.TestCase, Polled.TestCase
TestUnseen.settings = TestPolled.settings = _SHORT


@pytest.mark.slow
class TestUnseenAtLength(Unseen.TestCase):  # type: ignore[misc, name-defined]
    """The same with many more stories."""

    settings = _LONG


@pytest.mark.slow
class TestPolledAtLength(Polled.TestCase):  # type: ignore[misc, name-defined]
    """The same with many more stories."""

    settings = _LONG
