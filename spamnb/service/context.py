"""What the mailboxes of one service have in common."""

import logging
from collections.abc import Callable

from spamnb import training
from spamnb.config import Config, Role
from spamnb.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import LazyReading, Reading
from spamnb.moves import bases_now
from spamnb.service.log import name_of

_log = logging.getLogger(__name__)


class Context:
    """The configuration, the ledger, the clock, and how a message is learned and named in the log.

    `now` gives seconds since the epoch. `alive` is called in long work, with what it is, outside any transaction; it
    may raise to end it.
    """

    def __init__(
        self, config: Config, ledger: Ledger, now: Callable[[], float], alive: Callable[[str], None] = lambda _: None
    ) -> None:
        self.config = config
        self.ledger = ledger
        self.now = now
        self.alive = alive
        self.bases = bases_now()
        self._mailboxes = {ledger.locations.mailbox(str(mailbox.path))[0]: mailbox for mailbox in config.mailboxes}

    def role_of(self, mailbox: int, folder: str) -> tuple[Role, bool]:
        """A folder's role, and whether it is for unsure mail, by its mailbox's id in the ledger and its name."""
        configured = self._mailboxes.get(mailbox)
        if configured is None:
            return Role.NEUTRAL, False
        return configured.role_of(folder), folder == configured.unsure_folder

    def learn(self, reading: Reading, label: Label, why: str, *, weak: bool = False) -> None:
        """Learn a message, and log it if that is news. weak: no person may have decided it."""
        changed = training.learn(self.ledger, reading, label, why, self.now(), weak=weak)
        if changed is None:
            return
        before, how = changed.before, "weakly " if weak else ""
        was = "" if before is None else f" (it was {before.word}{', weakly' if before is label else ''})"
        _log.info("learned %sas %s%s, %s: %s", how, label.word, was, why, self.name_of(reading))

    def name_of(self, message: Reading | LazyReading) -> str:
        """The message as the log names it: by subject and sender, unless these are to stay out of the log."""
        return name_of(message, self.config.log)
