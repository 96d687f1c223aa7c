"""Moving stopped, by the circuit breaker or by a person; started again; and what was withheld meanwhile.

While moving is stopped the service goes on judging: what it would have moved stays in the inbox, as a judgement that
was withheld. Both ends are in the ledger, so that any process can set them while the service runs.
"""

import functools
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.acts import arming
from spamnb.acts.moves import FindFolder, Mover, bases_now, known_folder, of_message
from spamnb.base.errors import MaildirError
from spamnb.base.label import Role, Verdict
from spamnb.config import Breaker, Config, Learning, Mailbox, Scoring
from spamnb.filter.judge import Filter
from spamnb.ledger.history.journal import Action
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.maildir.messages import locate
from spamnb.maildir.names import parse_name
from spamnb.rules import consequence, may_move

_log = logging.getLogger(__name__)
_GONE = "it is not in the inbox any more"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no mail is moved. Times are seconds since the epoch.

    tripped_at: when the circuit breaker stopped it. paused_until: until when a person has paused it (infinity: until it
    is resumed). None where that is not why.
    """

    tripped_at: float | None
    paused_until: float | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A message that was withheld, looked at again.

    moves: the actions that moved its files into the spam folder; where there is none, why it stays. failed: a file
    stays because something could not be done.
    """

    action: Action
    moves: tuple[int, ...]
    why: str
    failed: bool = False

    @property
    def moved(self) -> bool:
        """Whether it is in the spam folder now."""
        return bool(self.moves)


def stop_of(ledger: Ledger, now: float) -> Stop | None:
    """Why moving is stopped, or None where it is not."""
    tripped = ledger.state.stopped_at
    paused = may_move.paused_until(ledger.state.paused_until, now)
    return None if tripped is None and paused is None else Stop(tripped, paused)


def hindrance(
    ledger: Ledger, config: Config, now: float, missing: Callable[[Ledger, Scoring, Learning], str] = arming.missing
) -> tuple[str, bool]:
    """What the filter has to learn before it may move mail ("" for nothing), and whether moving is stopped.

    `missing`: an `arming.Remembered`, where many messages are asked about.
    """
    return missing(ledger, config.scoring, config.learning), stop_of(ledger, now) is not None


def stop_if_abnormal(ledger: Ledger, breaker: Breaker, now: float) -> bool:
    """Stop moving if an abnormal share of the newest verdicts is spam; whether it is stopped by that."""
    verdicts = ledger.messages.last_verdicts(breaker.window, ledger.state.resumed_at)
    if len(verdicts) < breaker.window:
        return False
    spam = verdicts.count(Verdict.SPAM)
    if not may_move.trips(spam, breaker, lambda: ledger.messages.usual(may_move.USUAL, breaker.window)):
        return False
    ledger.state.stopped_at = now
    _log.warning(
        "more than %.0f %% of the last %d messages look like spam: nothing is moved until `spamnb resume`."
        " Look at them with `spamnb history`, and correct what is wrong",
        100 * breaker.share,
        breaker.window,
    )
    return True


def pause(ledger: Ledger, until: float = math.inf) -> None:
    """Move nothing until that time, or until `resume`."""
    ledger.state.paused_until = until


def resume(ledger: Ledger, now: float) -> Stop | None:
    """Move mail again. Returns what had stopped it, or None. The breaker counts verdicts from now on only."""
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
    """Move the messages that were withheld, if they would be moved today; each with what came of it.

    A message is moved that still is in the inbox, not read, marked, learned or rescued, and that is spam by what the
    filter knows now. The verdicts are not kept: they are about mail that came before, and would open the breaker again.
    May be called while the service runs. Raises LedgerError where the ledger cannot be used any more. later: as for
    `undo.undo`.
    """
    folder_of = functools.cache(lambda folder: known_folder(ledger, folder))
    mover = Mover(ledger, now, bases_now(), folder_of)
    review = _Review(ledger, config, arming.missing(ledger, config.scoring, config.learning), folder_of, mover)
    mover.resolve()  # what an earlier call that was killed has left open would stand in the way
    for action in ledger.journal.withheld():
        yield review.of(action)
    later(lambda: mover.departures.touch_all(time.sleep))


@dataclass(frozen=True, slots=True)
class _Review:
    """The second look at what was withheld."""

    ledger: Ledger
    config: Config
    missing: str
    folder_of: FindFolder
    mover: Mover

    def of(self, action: Action) -> Reviewed:
        """Move the files of a message that was withheld that are in an inbox, if it still is spam."""
        why, moves = _GONE, list[int]()
        try:
            for place in self.ledger.locations.of_message(action.message):
                if place.gone_at is None and place.origin == "appeared":
                    moved = self._move(action, place)
                    if isinstance(moved, int):
                        moves.append(moved)
                    else:
                        why = moved
        except MaildirError as fault:
            return Reviewed(action, tuple(moves), str(fault), failed=True)
        return Reviewed(action, tuple(moves), why)

    def _move(self, action: Action, place: Location) -> int | str:
        """Move one file. Returns the action that has moved it, or why it stays."""
        mailbox, source = self._mailbox(place), self.folder_of(place.folder)
        entry = None if source is None else locate(source, place.base, place.flags)
        found = None if source is None else of_message(source, entry, action.digest)
        if mailbox is None or source is None or found is None:
            return _GONE
        entry, raw = found
        judgement = Filter(self.ledger.lessons, self.config.scoring, self.config.senders).judge(read(raw))
        name = parse_name(entry.name)
        then = consequence.consequence(
            judgement.verdict, name, None, self.missing, tripped=False, has_unsure_folder=False
        )
        if then.goal is not Verdict.SPAM:
            return then.why
        spam_folder = mailbox.spam_folder
        goal = self.folder_of(self.ledger.locations.folder(place.mailbox, spam_folder))
        if goal is None:
            raise MaildirError(f"there is no folder {spam_folder} in {mailbox.path}: start the service, which makes it")
        why = f"withheld before, {then.why}, probability {judgement.probability:.4f}"
        with self.ledger.transaction():
            lesson = self.ledger.lessons.find(action.digest)
            if (lesson and lesson.label is not None) or self.ledger.messages.get(action.message).rescued_at is not None:
                return "it was learned or rescued meanwhile"
            message = action.message, action.digest
            intent = self.mover.intend(message, source, entry, goal, why, how=action.how, judgement=judgement)
        return intent.action if self.mover.carry_out(intent, entry) else "it was moved or marked at this very moment"

    def _mailbox(self, place: Location) -> Mailbox | None:
        """The configured mailbox of a file that is in its inbox, or None."""
        root = self.ledger.locations.where(place.folder)[0]
        mailbox = next((one for one in self.config.mailboxes if str(one.path) == root), None)
        if mailbox is None or place.folder_name == mailbox.unsure_folder:
            return None
        return mailbox if mailbox.role_of(place.folder_name) is Role.INBOX else None
