"""Moving stopped, by the circuit breaker or by a person; started again; and what was withheld meanwhile.

While moving is stopped the service goes on judging: what it would have moved stays in the inbox, as a judgement that
was withheld. Both ends are notes in the ledger, so that any process can set them while the service runs.
"""

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.config import Config, Mailbox, Role
from spamnb.errors import MaildirError
from spamnb.filter import Filter, Judgement
from spamnb.ledger.files import Placed
from spamnb.ledger.journal import Action
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import identity
from spamnb.mail.intake import take
from spamnb.mail.reading import read
from spamnb.maildir.mailbox import Entry, locate, read_chunks
from spamnb.maildir.names import parse_name
from spamnb.moves import Mover, Spot, bases_now, find_spot
from spamnb.policy import (
    BREAKER_NOTE,
    PAUSE_NOTE,
    RESUMED_NOTE,
    Goal,
    consequence,
    missing_lessons,
    paused_until,
)

_GONE = "it is not in the inbox any more"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no mail is moved. Times are seconds since the epoch.

    tripped_at: when the circuit breaker stopped it, or None. paused_until: until when a person has paused it (infinity:
    until it is resumed), or None.
    """

    tripped_at: float | None
    paused_until: float | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A message that was withheld, looked at again.

    moved: it is in the spam folder now; else why it stays. failed: it stays because something could not be done.
    """

    action: Action
    moved: bool
    why: str
    failed: bool = False


def stop_of(ledger: Ledger, now: float) -> Stop | None:
    """Why moving is stopped, or None where it is not."""
    tripped, paused = ledger.note(BREAKER_NOTE), paused_until(ledger.note(PAUSE_NOTE), now)
    return None if tripped is None and paused is None else Stop(None if tripped is None else float(tripped), paused)


def pause(ledger: Ledger, until: float = math.inf) -> None:
    """Move nothing until that time, or until `resume`."""
    ledger.set_note(PAUSE_NOTE, str(until))


def resume(ledger: Ledger, now: float) -> Stop | None:
    """Move mail again. Returns what had stopped it, or None. The breaker counts verdicts from now on only."""
    with ledger.transaction():
        stop = stop_of(ledger, now)
        ledger.set_note(RESUMED_NOTE, str(now))
        ledger.set_note(BREAKER_NOTE, None)
        ledger.set_note(PAUSE_NOTE, None)
    return stop


def move_withheld(ledger: Ledger, config: Config, now: Callable[[], float] = time.time) -> Iterator[Reviewed]:
    """Move the messages that were withheld, if they would be moved today; each with what came of it.

    A message is moved that lies where it was delivered, in the inbox, and is not read, marked, learned or rescued; and
    that is spam by what the filter knows now. The verdicts are not kept: they are about mail that came before, and
    would open the breaker again. May be called while the service runs. Raises LedgerError where the ledger cannot be
    used any more.
    """
    totals = ledger.learned.totals().tolist()
    missing = missing_lessons(totals[0], totals[1], config.learning)
    spot = functools.cache(lambda folder: find_spot(ledger, folder))
    review = _Review(ledger, config, missing, spot, Mover(ledger, now, bases_now(), spot))
    review.mover.resolve()  # what an earlier call that was killed has left open would stand in the way
    for action in ledger.journal.withheld():
        yield review.of(action)
    review.mover.departures.touch_all(time.sleep)


@dataclass(frozen=True, slots=True)
class _Review:
    """The second look at what was withheld."""

    ledger: Ledger
    config: Config
    missing: str
    spot: Callable[[int], Spot | None]
    mover: Mover

    def of(self, action: Action) -> Reviewed:
        """Move what lies in an inbox of the message that was withheld, if it is spam still."""
        why, moved = _GONE, False
        try:
            for placed in self.ledger.files.of_message(action.message):
                if placed.gone_at is None and placed.origin == "appeared":
                    why = self._move(action, placed)
                    moved = moved or not why
        except MaildirError as fault:
            return Reviewed(action, moved, str(fault), failed=True)
        return Reviewed(action, moved, why)

    def _move(self, action: Action, placed: Placed) -> str:
        """Move one file. Returns why it stays, or "" where it was moved."""
        mailbox = self._mailbox(placed)
        source = self.spot(placed.folder)
        entry = None if source is None else locate(source.folder, placed.base, placed.flags)
        if mailbox is None or source is None or entry is None:
            return _GONE
        judgement = self._judged(source, entry, action)
        if judgement is None:
            return _GONE
        name = parse_name(entry.name)
        then = consequence(judgement.verdict, name, None, self.missing, tripped=False, has_unsure_folder=False)
        if then.goal is not Goal.SPAM:
            return then.why
        why = f"withheld before, {then.why}, probability {judgement.probability:.4f}"
        goal = self._spam_folder(placed.mailbox, mailbox)
        with self.ledger.transaction():
            known = self.ledger.messages.get(action.message)
            if known.label is not None or known.rescued_at is not None:
                return "it was learned or rescued meanwhile"
            intent = self.mover.intend(action.message, source, entry, goal, why, judgement=judgement)
        return "" if self.mover.carry_out(intent, entry) else "it was moved or marked at this very moment"

    def _mailbox(self, placed: Placed) -> Mailbox | None:
        """The mailbox of a file that lies in an inbox of the configuration."""
        root = self.ledger.files.where(placed.folder)[0]
        mailbox = next((one for one in self.config.mailboxes if str(one.path) == root), None)
        if mailbox is None or placed.folder_name == mailbox.unsure_folder:
            return None
        return mailbox if mailbox.role_of(placed.folder_name) is Role.INBOX else None

    def _judged(self, source: Spot, entry: Entry, action: Action) -> Judgement | None:
        """What the filter says of a file today; None where it is gone, or another message."""
        raw = b""
        with contextlib.suppress(FileNotFoundError):
            raw = take(read_chunks(entry.path(source.folder)))
        if identity(raw) != action.digest:
            return None
        return Filter(self.ledger.learned, self.config.scoring).judge(read(raw))

    def _spam_folder(self, mailbox: int, configured: Mailbox) -> Spot:
        name = configured.spam_folder
        goal = self.spot(self.ledger.files.folder(mailbox, name))
        if goal is None:
            raise MaildirError(f"there is no folder {name} in {configured.path}: start the service, which makes it")
        return goal
