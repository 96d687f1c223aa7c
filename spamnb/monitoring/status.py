"""What the filter knows, and whether it works."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from spamnb.acts import may_move
from spamnb.acts.not_yet import NotYet, not_yet
from spamnb.base.wording import clock, clock_near, escaped
from spamnb.config import Config, Learning, Mailbox, Scoring
from spamnb.ledger.file.locks import is_running, running_since
from spamnb.ledger.file.parts import Sizes, sizes
from spamnb.ledger.ledger import ExchangeState, Ledger
from spamnb.maildir.folders import INBOX, FolderUnavailableError, find_folders, is_maildir
from spamnb.rules.moving import Stop, missing_lessons

Moves = Literal["yes", "not yet", "paused", "stopped"]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the filter. Times are seconds since the epoch.

    missing: what it must still learn before it moves mail. junk: the folder that spam goes to. not_yet: why it moves
    nothing yet, or None. withheld: messages that were not moved because moving is stopped. watched_since: by the path
    of each mailbox; None: not yet. without_inbox: the paths of missing mailboxes.
    last: time and kind of the last action. shared: how far this ledger and the log of other hosts know each other; None
    if nothing is shared. letter_fault: why a letter could not be written into the inbox, or "".
    """

    disk: Sizes
    is_running: bool
    running_since: float | None
    watched_since: dict[str, float | None]
    without_inbox: tuple[str, ...]
    missing: str
    junk: str
    not_yet: NotYet | None
    ham: int = 0
    spam: int = 0
    tokens: int = 0
    stop: Stop | None = None
    withheld: int = 0
    last: tuple[float, str] | None = None
    shared: ExchangeState | None = None
    letter_fault: str = ""

    @property
    def moves(self) -> Moves:
        """Whether mail is moved; while the service does not run, whether it will be."""
        if self.stop is not None:
            return "paused" if self.stop.tripped_at is None else "stopped"
        return "not yet" if self.missing else "yes"

    def sentence(self, now: float) -> str:
        """Return in one sentence whether mail is moved, and if not, why."""
        if self.stop is None:
            yes = f"The filter moves spam to {escaped(self.junk)}"
            is_later = "" if self.is_running else ", when the service runs"
            return f"{yes}{is_later}." if self.not_yet is None else self.not_yet.words
        if self.stop.tripped_at is None:
            return f"The filter is {paused(self.stop, now)}, and moves nothing."
        return f"The filter has moved nothing since {clock(self.stop.tripped_at)}: too much mail looked like spam."


def paused(stop: Stop, now: float) -> str:
    """Return that a person has paused moving, and until when.

    >>> paused(Stop(None, math.inf), 0.0)
    'paused'
    """
    until = stop.paused_until or 0.0
    return "paused" if math.isinf(until) else f"paused until {clock_near(until, now)}"


def status(
    config: Config,
    ledger: Ledger | None,
    now: float,
    find_missing: Callable[[Ledger, Scoring, Learning], str] = may_move.find_missing,
) -> Status:
    """Return the state of a configuration's filter. Without a ledger it has learned nothing. Raises LedgerError.

    find_missing: finds what the filter must still learn; a page that is loaded often passes one that judges no ham.
    """
    claim = str(config.claim)
    watched: dict[str, float | None] = {str(mailbox.path): None for mailbox in config.mailboxes}
    missing = missing_lessons(0, 0, config.learning)
    nothing = Status(
        sizes(str(config.ledger)),
        is_running(claim),
        running_since(claim),
        watched,
        without_inbox(config),
        missing,
        config.spam_folder,
        not_yet(None, config, now, missing),
    )
    if ledger is None:
        return nothing
    with ledger.snapshot():
        ham, spam, *_, tokens = ledger.lessons.totals().tolist()
        stop = may_move.stop_of(ledger, now)
        missing = find_missing(ledger, ledger.choices.over(config).scoring, config.learning)
        return replace(
            nothing,
            watched_since={path: ledger.locations.started_at(path) for path in watched},
            missing=missing,
            not_yet=not_yet(ledger, config, now, missing),
            ham=ham,
            spam=spam,
            tokens=tokens,
            stop=stop,
            withheld=0 if stop is None else len(ledger.journal.withheld()),
            last=next(((action.at, action.kind) for action in ledger.journal.newest(1)), None),
            shared=None if config.exchange.database is None else ledger.shared(),
            letter_fault=ledger.state.letter_fault,
        )


def without_inbox(config: Config) -> tuple[str, ...]:
    """Return the paths of the missing mailboxes."""
    return tuple(str(mailbox.path) for mailbox in config.mailboxes if not _has_inbox(mailbox))


def _has_inbox(mailbox: Mailbox) -> bool:
    """Whether the folder for new mail exists: an unmounted disk looks like an empty directory."""
    root, inbox = str(mailbox.path), mailbox.inbox_folder
    if inbox == INBOX and is_maildir(root):  # no need to look through all folders
        return True
    try:
        return any(folder.name == inbox for folder in find_folders(root, mailbox.layout))
    except FolderUnavailableError:
        return False
