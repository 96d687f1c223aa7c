"""Stop moving, by the circuit breaker or by a person; start again; and move what was withheld in the meantime.

While moving is stopped, the service still judges mail. Mail that it would have moved stays in the inbox, as a withheld
judgement. The ledger records both the stop and its end, so any process can set them while the service runs.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.acts.destination import JudgedMail, destination
from spamnb.acts.filing import Filing
from spamnb.acts.may_move import find_missing, stop_of
from spamnb.acts.ordered import is_near_order
from spamnb.base.errors import MaildirError
from spamnb.base.label import Role
from spamnb.config import Config
from spamnb.filter.judge import Filter
from spamnb.ledger.history.actions import Action, Cause
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.maildir.names import parse_name
from spamnb.rules.moving import Hindrance, Stop

_GONE = "it is no longer in the inbox"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A withheld message, after a second look.

    moves: the actions that moved its files out of the inbox; without any, why the message stays. failed: a file
    stays because of an error.
    """

    action: Action
    moves: tuple[int, ...]
    why: str
    failed: bool = False

    @property
    def moved(self) -> bool:
        """Tell whether the message has left the inbox now."""
        return bool(self.moves)


def pause(ledger: Ledger, until: float = math.inf) -> None:
    """Stop moving until that time, or until `resume`."""
    ledger.state.paused_until = until


def resume(ledger: Ledger, now: float) -> Stop | None:
    """Move mail again. Returns what had stopped it, or None. The breaker counts only verdicts from now on."""
    with ledger.transaction():
        stop = stop_of(ledger, now)
        ledger.state.resumed_at = now
        ledger.state.stopped_at = ledger.state.paused_until = None
    return stop


def move_withheld(
    ledger: Ledger,
    config: Config,
    now: Callable[[], float] = time.time,
    later: Callable[[Callable[[], object]], object] = lambda work: work(),
) -> Iterator[Reviewed]:
    """Move the withheld messages that the filter would move today; yields the result of each.

    It moves a message that is still in the inbox, was not read, marked, learned or rescued, and goes elsewhere by
    today's knowledge. The verdicts are not kept: they concern older mail, and would trip the breaker again. You may
    call this while the service runs. Raises LedgerError if the ledger can no longer be used. later: as for `undo.undo`.
    """
    filing = Filing(ledger, config, now)
    review = _Review(ledger, config, find_missing(ledger, config.scoring, config.learning), filing, now)
    for action in ledger.journal.withheld():
        yield review.of(action)
    later(filing.end)


@dataclass(frozen=True, slots=True)
class _Review:
    """The second look at withheld messages."""

    ledger: Ledger
    config: Config
    missing: str
    filing: Filing
    now: Callable[[], float]

    def of(self, action: Action) -> Reviewed:
        """Move the files of a withheld message that are in an inbox, if it still goes elsewhere."""
        why, moves = _GONE, list[int]()
        try:
            for location in self.ledger.locations.of_message(action.message):
                if location.gone_at is None and location.origin == "appeared":
                    moved = self._move(action, location)
                    if isinstance(moved, int):
                        moves.append(moved)
                    else:
                        why = moved
        except MaildirError as fault:
            return Reviewed(action, tuple(moves), str(fault), failed=True)
        return Reviewed(action, tuple(moves), why)

    def _move(self, action: Action, location: Location) -> int | str:
        """Move one file. Returns the action that moved it, or why it stays."""
        file = self.filing.find(location, action.digest)
        if file is None or file.mailbox.role_of(location.folder_name) is not Role.INBOX:
            return _GONE
        message = read(file.raw)
        judgement, flags = Filter.of(self.ledger.lessons, self.config).judge(message), parse_name(file.entry.name).flags
        is_near_copy = bool(self.missing) and is_near_order(self.ledger, self.config, message, judgement.verdict)
        with self.ledger.transaction():
            known = self.ledger.messages.get(action.message)
            mail = JudgedMail(known, message.relations, judgement, flags, is_near_copy)
            then = destination(self.ledger, self.config, file.mailbox, mail, Hindrance(self.missing, None), self.now())
            if then.goal is None:
                return then.why
            figure = "" if self.missing else f", probability {judgement.probability:.4f}"
            why = f"withheld before, {then.why}{figure}"
            judged = action.how, judgement.verdict, judgement.probability, then.goal
            intent = self.filing.intend(file, then.goal, Cause(why, self.now(), *judged))
        return self.filing.make(intent, file) or intent.action
