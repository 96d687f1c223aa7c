"""A host whose watcher is late: what it has told is read when the test says so, and the process may die at any look
at the clock.
"""

from spamnb.config import Watch
from spamnb.host.host import Host
from spamnb.service.watcher import Hint
from tests.dying import DeathError
from tests.service.hosts.inn import Desk
from tests.service.hosts.prompt import Prompt


class Late(Prompt):
    """A watcher of which no more is read than is let through, unless it flows."""

    def __init__(self, how: Watch, most: int | None) -> None:
        super().__init__(how, most)
        self.flows = True
        self.waiting: list[Hint | int] = []

    def tell(self, hint: Hint | int) -> None:
        """Let what was told wait to be read."""
        self.waiting.append(hint)

    def let_through(self, number: int) -> list[Hint]:
        """Read so many."""
        self.listen()
        some, self.waiting = self.waiting[:number], self.waiting[number:]
        for told in some:
            if isinstance(told, int):
                self.told = told
        return [hint for hint in some if isinstance(hint, Hint)]

    def lose(self, *, is_told: bool = True) -> None:
        """What waits to be read is lost; what was asked is answered nevertheless. is_told: by the kernel."""
        self.listen()
        self.waiting = [hint for hint in self.waiting if isinstance(hint, int)]
        self.overflowed = self.overflowed or is_told

    def read(self, seconds: float) -> list[Hint]:
        """What was let through."""
        self.listen()
        return self.let_through(len(self.waiting) if self.flows else 0)


class Slow(Desk):
    """A host whose watcher is late."""

    dies_in: int | None = None  # after so many looks at the clock

    def new_watcher(self, host: Host) -> Late:
        """A late one."""
        return Late(host.template.service.watch, 400)

    @property
    def late(self) -> Late:
        """The watcher."""
        assert isinstance(self.watcher, Late)
        return self.watcher

    def running(self) -> float:
        """Of a clock that is never set, and at which the process may die."""
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise DeathError
        return super().running()
