"""What the filter knows, and whether it works."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from spamnb.acts import may_move
from spamnb.acts.may_move import Stop
from spamnb.config import Config, Learning, Mailbox, Scoring
from spamnb.ledger.file.locks import is_running, running_since
from spamnb.ledger.file.parts import Sizes, sizes
from spamnb.ledger.ledger import Ledger, Shared
from spamnb.maildir.folders import INBOX, FolderUnavailableError, find_folders, is_maildir
from spamnb.rules.moving import missing_lessons


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the filter. Times are seconds since the epoch.

    missing: what it must still learn before it moves mail. withheld: messages that were not moved because moving is
    stopped. watched_since: by the path of each mailbox; None: not yet. without_inbox: the paths of missing mailboxes.
    last: time and kind of the last action. shared: how far this ledger and the log of other hosts know each other; None
    if nothing is shared.
    """

    disk: Sizes
    is_running: bool
    running_since: float | None
    watched_since: dict[str, float | None]
    without_inbox: tuple[str, ...]
    missing: str
    ham: int = 0
    spam: int = 0
    tokens: int = 0
    stop: Stop | None = None
    withheld: int = 0
    last: tuple[float, str] | None = None
    shared: Shared | None = None


def status(
    config: Config,
    ledger: Ledger | None,
    now: float,
    missing: Callable[[Ledger, Scoring, Learning], str] = may_move.missing,
) -> Status:
    """Return the state of a configuration's filter. Without a ledger it has learned nothing. Raises LedgerError.

    `missing`: finds that out; a page that is loaded often passes one that does not judge ham.
    """
    claim = str(config.claim)
    watched: dict[str, float | None] = {str(mailbox.path): None for mailbox in config.mailboxes}
    nothing = Status(
        sizes(str(config.ledger)),
        is_running(claim),
        running_since(claim),
        watched,
        without_inbox(config),
        missing_lessons(0, 0, config.learning),
    )
    if ledger is None:
        return nothing
    with ledger.snapshot():
        ham, spam, *_, tokens = ledger.lessons.totals().tolist()
        stop = may_move.stop_of(ledger, now)
        return replace(
            nothing,
            watched_since={path: ledger.locations.started_at(path) for path in watched},
            missing=missing(ledger, ledger.choices.over(config).scoring, config.learning),
            ham=ham,
            spam=spam,
            tokens=tokens,
            stop=stop,
            withheld=0 if stop is None else len(ledger.journal.withheld()),
            last=next(((action.at, action.kind) for action in ledger.journal.newest(1)), None),
            shared=None if config.exchange.database is None else ledger.shared(),
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
