"""What the mailboxes of one service have in common."""

import logging
import math
from collections.abc import Callable, Sequence

from spamnb.acts import training
from spamnb.acts.moves import bases_now
from spamnb.base.label import How, Label, Role
from spamnb.config import Config
from spamnb.ledger.history.messages import ActedOn
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import LazyReading, Reading
from spamnb.rules.meaning import learns_kept
from spamnb.rules.weak_lessons import Trace, missed_spam
from spamnb.service.log import name_of
from spamnb.service.measurements import Measurements

_log = logging.getLogger(__name__)
DAY = 86_400.0  # seconds


class Context:
    """The configuration, the ledger, the clock, and how a message is learned and named in the log.

    `now` gives seconds since the epoch. `alive` is called in long work, with what it is, outside any transaction; it
    may raise to end it.
    """

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        now: Callable[[], float],
        alive: Callable[[str], None] = lambda _: None,
        measurements: Measurements | None = None,
    ) -> None:
        self.config = config
        self.ledger = ledger
        self.now = now
        self.alive = alive
        self.measurements = measurements or Measurements()
        self.bases = bases_now()
        self.doubted: dict[bytes, float] = {}  # kept mail that was not learned: its probability at the last look
        self._missed_spam = MissedSpam.UNKNOWN
        self._asked_at = -math.inf
        self._mailboxes = {ledger.locations.mailbox(str(mailbox.path))[0]: mailbox for mailbox in config.mailboxes}

    def role_of(self, mailbox: int, folder: str) -> tuple[Role, bool]:
        """A folder's role, and whether it is for unsure mail, by its mailbox's id in the ledger and its name."""
        configured = self._mailboxes.get(mailbox)
        if configured is None:
            return Role.NEUTRAL, False
        return configured.role_of(folder), folder == configured.unsure_folder

    def missed_spam(self) -> MissedSpam:
        """What this person does about spam in the inbox, looked at once a day."""
        now = self.now()
        if not 0 <= now - self._asked_at < DAY:
            self._asked_at = now
            kept_after = self.config.learning.kept_days * DAY
            acted_on = self.ledger.messages.acted_on()
            known = {one.digest for one in acted_on}  # what is doubted beside them is not asked for again
            self.doubted = {digest: probability for digest, probability in self.doubted.items() if digest in known}
            traces = [
                Trace(one.at if one.is_spam else one.at + kept_after, one.digest, one.is_spam, self._probability(one))
                for one in acted_on
                if one.is_spam or learns_kept(*self.role_of(one.mailbox, one.folder), self.config.learning)
            ]
            before = self.ledger.state.missed_spam
            self._missed_spam = missed_spam(self.ledger.lessons, self.config.scoring, traces, before)
            if self._missed_spam is not before:
                self.ledger.state.missed_spam = self._missed_spam
        return self._missed_spam

    def _probability(self, one: ActedOn) -> float:
        return self.doubted.get(one.digest, one.probability)

    def learn(self, reading: Reading, label: Label, why: str, *, how: How, weak: bool = False) -> None:
        """Learn a message, and log it if that is news. weak: no person may have decided it."""
        self.learn_together([reading], label, why, how=how, weak=weak)

    def learn_together(self, readings: Sequence[Reading], label: Label, why: str, *, how: How, weak: bool) -> None:
        """As `learn`, several messages in one transaction."""
        weakly, named = "weakly " if weak else "", {one.digest: one for one in reversed(readings)}
        for changed in training.learn_together(self.ledger, readings, label, why, self.now(), how=how, weak=weak):
            before = changed.before
            was = "" if before is None else f" (it was {before.word}{', weakly' if before is label else ''})"
            _log.info("learned %sas %s%s, %s: %s", weakly, label.word, was, why, self.name_of(named[changed.digest]))

    def name_of(self, message: Reading | LazyReading) -> str:
        """The message as the log names it: by subject and sender, unless these are to stay out of the log."""
        return name_of(message, self.config.log)
