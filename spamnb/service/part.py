"""A part of the service that one can do without; the heart knows no more of it than this.

The command `run` says which parts there are. Each works in the loop, between hints of new mail, or in a thread of its
own beside it.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from spamnb.service.account import SharingUser
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import ReadingNow
from spamnb.service.served import Served


class PartTools(NamedTuple):
    """What the service gives to its parts.

    now: gives seconds since the epoch. wake: lets the loop ask all parts again; any thread may call it.
    """

    now: Callable[[], float]
    measurements: Measurements
    reading: ReadingNow
    wake: Callable[[], object]


class Part:
    """A part, as the loop meets it. It does nothing but what its own class says."""

    def __init__(self, tools: PartTools) -> None:
        self._tools = tools

    def use(self, served: Served) -> None:
        """Begin, or go on with another configuration. Raises SpamnbError if it cannot, and then changes nothing."""

    @property
    def is_wanted(self) -> bool:
        """Whether the configuration gives work in the loop to the part."""
        return False

    @property
    def status(self) -> str:
        """What the service says of it when it begins, such as `answering on 127.0.0.1:783`; "" for nothing."""
        return ""

    def beside(
        self, accounts: Callable[[], Sequence[SharingUser]], forgotten: Callable[[SharingUser], object]
    ) -> AbstractContextManager[object]:
        """Work beside the loop until the block ends: then the service reads its configuration again, or stops.

        accounts: returns the accounts that the service works for. forgotten: takes one whose user another host has
        forgotten, and has the ledger closed and removed. Any thread may call both.
        """
        return nullcontext()

    def jobs(self, awake: AwakeAccount) -> Sequence[ServiceJob]:
        """Return repeated jobs beside the mail of one person, whose account has just woken; not for a mail host."""
        return ()

    def due_in(self) -> float:
        """Return the seconds until the next call of `work`."""
        return math.inf

    def work(self) -> None:
        """Do what is due. Raises SpamnbError if the part has ended: then the service ends, and is started again."""

    def close(self) -> None:
        """Finish what was begun, and end."""


MakePart = Callable[[PartTools], Part]
