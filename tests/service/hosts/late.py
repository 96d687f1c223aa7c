"""A host whose watcher is late: what it has told is read when the test says so, and the process may die at any look
at the clock.
"""

import os
import time
from pathlib import Path

from spamnb.config import Watch
from spamnb.host.host import Host
from spamnb.maildir.folders import Directory
from spamnb.service.watcher import Hint, Watcher
from tests.dying import DeathError
from tests.patience import PATIENCE
from tests.service.hosts.inn import MARK, Desk


class Late(Watcher):
    """A watcher of which no more is read than is let through, unless it flows."""

    def __init__(self, how: Watch, most: int | None, mark: Path) -> None:
        super().__init__(how, most)
        self.flows = True
        self.waiting: list[Hint | int] = []
        self._arrived: list[Hint | int] = []
        self._mark = mark
        self._answered = 0

    def start(self) -> None:
        """Begin to watch."""
        super().start()
        self._mark.mkdir(exist_ok=True)
        self.watch(MARK, [Directory(str(self._mark))])

    def tell(self, hint: Hint | int) -> None:
        """Called in watchdog's thread."""
        self._arrived.append(hint)

    def wait(self) -> None:
        """Let all that was told of what has happened by now wait to be read."""
        if not self.is_watched(MARK):
            return
        os.mkdir(self._mark / str(time.monotonic_ns()))
        end, is_marked = time.monotonic() + PATIENCE, False
        while not is_marked or self._answered < self._asked:
            assert time.monotonic() < end, "the watcher does not answer"
            while self._arrived:
                hint = self._arrived.pop(0)
                if isinstance(hint, Hint) and hint.root == MARK:
                    is_marked = True
                    continue
                self._answered = hint if isinstance(hint, int) else self._answered
                self.waiting.append(hint)
            time.sleep(0.0001)

    def let_through(self, number: int) -> list[Hint]:
        """Read so many."""
        self.wait()
        some, self.waiting = self.waiting[:number], self.waiting[number:]
        for told in some:
            if isinstance(told, int):
                self.told = told
        return [hint for hint in some if isinstance(hint, Hint)]

    def lose(self, *, is_told: bool = True) -> None:
        """What waits to be read is lost; what was asked is answered nevertheless. is_told: by the kernel."""
        self.wait()
        self.waiting = [hint for hint in self.waiting if isinstance(hint, int)]
        self.overflowed = self.overflowed or is_told

    def read(self, seconds: float) -> list[Hint]:
        """What was let through."""
        self.wait()
        return self.let_through(len(self.waiting) if self.flows else 0)


class Slow(Desk):
    """A host whose watcher is late."""

    dies_in: int | None = None  # after so many looks at the clock

    def new_watcher(self, host: Host) -> Watcher:
        """A late one."""
        return Late(host.template.service.watch, 400, self.directory / "mark")

    @property
    def late(self) -> Late:
        """The watcher."""
        assert isinstance(self.watcher, Late)
        return self.watcher

    def heard(self) -> list[Hint]:
        """What is let through."""
        return self.late.read(0.0)

    def running(self) -> float:
        """Of a clock that is never set, and at which the process may die."""
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise DeathError
        return super().running()
