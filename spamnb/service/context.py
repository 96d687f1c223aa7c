"""What the mailboxes of one service share."""

import logging
import math
from collections.abc import Callable
from pathlib import Path

from spamnb.acts.may_move import MissingCache
from spamnb.acts.moves import bases_now
from spamnb.acts.reconsider import Trace, missed_spam
from spamnb.base.label import Label, Role
from spamnb.config import Config, Mailbox
from spamnb.filter.judge import Filter
from spamnb.filter.met_tokens import Bound, MetTokens
from spamnb.ledger.history.messages import ActedOn
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Change
from spamnb.mail.reading import LazyReading, Reading
from spamnb.maildir.departures import Departures
from spamnb.rules.reactions import learns_kept
from spamnb.service.log import MailFaults, digest_in_log, log_fields, name_of
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import AccountsReading, ReadingNow

_log = logging.getLogger(__name__)
DAY = 86_400.0  # seconds


class Context:
    """The configuration, the ledger, the clock, and how a message is judged, learned, and named in the log.

    config: as in its file; `in_force` adds a person's later choices, and may change at any moment. `now` gives seconds
    since the epoch. `alive` is called during long work, with its name, outside any transaction; it may raise to end the
    work. departures: shared by all mailboxes of the service. reading: notes what is being read. remembered: what the
    filter still lacked before it may move mail. faults: the lasting faults of the mail.
    new_since: mail that came later is new, even if its mailbox is recorded only after it came. bound: how many
    tokens it keeps in mind, with other accounts.
    """

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        now: Callable[[], float],
        alive: Callable[[str], None] = lambda _: None,
        measurements: Measurements | None = None,
        departures: Departures | None = None,
        reading: ReadingNow | None = None,
        remembered: MissingCache | None = None,
        faults: MailFaults | None = None,
        new_since: float = math.inf,
        bound: Bound | None = None,
    ) -> None:
        self.config = config
        self.ledger = ledger
        self.now = now
        self.alive = alive
        self.measurements = measurements or Measurements()
        self.departures = departures or Departures(now)
        self.remembered = remembered or MissingCache()
        self.faults = faults or MailFaults(self.measurements.fault)
        self.reading = AccountsReading(reading or ReadingNow(), ledger, config.user)
        self.new_since = new_since
        self.met = MetTokens(bound)
        self.bases = bases_now()
        self.doubted: dict[bytes, float] = {}  # kept mail that was not learned: its probability at the last look
        self._missed_spam = MissedSpam.UNKNOWN
        self._asked_at = -math.inf
        self._paths = {ledger.locations.mailbox(str(mailbox.path))[0]: mailbox.path for mailbox in config.mailboxes}
        self._seen = config  # as last in force
        self._mailboxes = {mailbox.path: mailbox for mailbox in config.mailboxes}

    @property
    def in_force(self) -> Config:
        """The configuration, with a person's later choices."""
        self.follow_choices()
        return self._seen

    def follow_choices(self) -> None:
        """Find out what a person has chosen since: cutoffs, senders, and folders for mail that is put apart."""
        config = self.ledger.choices.over(self.config)
        if config is not self._seen:
            self._seen = config
            self._mailboxes = {mailbox.path: mailbox for mailbox in config.mailboxes}

    def filter(self) -> Filter:
        """The filter that judges a message now."""
        return Filter.of(self.ledger.lessons, self.in_force, self.met)

    # --- folders and lessons

    def role_of(self, mailbox: int, folder: str) -> Role:
        """Return a folder's role by its mailbox's id in the ledger and its name."""
        path = self._paths.get(mailbox)
        return Role.NEUTRAL if path is None else self.mailbox_at(path).role_of(folder)

    def mailbox_at(self, path: Path) -> Mailbox:
        """Return the mailbox of that path, with the chosen folders that `in_force` last had.

        This asks the ledger nothing: each judgement and each comparison of the folders asks `in_force` first.
        """
        return self._mailboxes[path]

    def missed_spam(self) -> MissedSpam:
        """Return what this person does about spam in the inbox; found out once per day."""
        now = self.now()
        if not 0 <= now - self._asked_at < DAY:
            self._asked_at = now
            kept_after = self.config.learning.kept_days * DAY
            acted_on = self.ledger.messages.acted_on()
            known = {message.digest for message in acted_on}  # doubted messages beside them are not looked up again
            self.doubted = {digest: probability for digest, probability in self.doubted.items() if digest in known}
            traces = [self._trace(message, kept_after) for message in acted_on if self._tells(message)]
            before = self.ledger.state.missed_spam
            self._missed_spam = missed_spam(self.ledger.lessons, self.in_force.scoring, traces, before)
            if self._missed_spam is not before:
                self.ledger.state.missed_spam = self._missed_spam
        return self._missed_spam

    def _tells(self, message: ActedOn) -> bool:
        """Whether a person's act on this message shows what they do about missed spam in the inbox."""
        role = self.role_of(message.mailbox, message.folder)
        return message.is_spam or (learns_kept(role, self.config.learning) and not role.is_apart)

    def _trace(self, message: ActedOn, kept_after: float) -> Trace:
        at = message.at if message.is_spam else message.at + kept_after
        probability = self.doubted.get(message.digest, message.probability)
        return Trace(at, message.digest, message.is_spam, probability)

    def log_learned(self, change: Change | None, reading: Reading, label: Label, why: str, *, weak: bool) -> None:
        """Log that a message was learned, if that changed something. weak: perhaps no person has decided it."""
        if change is None:
            return
        weakly, was, before = "weakly " if weak else "", "", change.before
        if before is not None:
            was = f" (it was {before.word}{', weakly' if before is label else ''})"
        digest = digest_in_log(reading.digest)
        about = log_fields(event="learned", label=label.word, weak=weak, why=why, digest=digest)
        _log.info("learned %sas %s%s, %s: %s", weakly, label.word, was, why, self.name_of(reading), extra=about)

    def name_of(self, message: Reading | LazyReading) -> str:
        """Name the message for the log: by subject and sender, or by its digest if these must stay out of the log."""
        return name_of(message, self.config.log)
