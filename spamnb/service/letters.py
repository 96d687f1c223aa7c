"""Letters that the service writes into the inbox, if the person wants them.

They tell the statement of a week or month, and that mail is not moved until somebody does something.
"""

import errno
import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from spamnb.acts import letters
from spamnb.acts.flooded import flood_now
from spamnb.acts.may_move import stop_of
from spamnb.acts.none_of_these import note_silence
from spamnb.base.errors import LedgerUnavailableError, MaildirError, NotYetError
from spamnb.base.label import Role
from spamnb.ledger.history.state import Told
from spamnb.review.period import Month, Period, Week
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.mailbox.folders import WatchedFolder

if TYPE_CHECKING:
    from spamnb.review.letter_text import Correspondents

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # until a letter that could not be written is tried again
_PERIODS: Final[dict[str, type[Month] | type[Week]]] = {"monthly": Month, "weekly": Week}
# Learned messages among which ham is looked for that is like the shown messages: mail waits while they are judged.
_MOST_JUDGED = 5_000
_INBOX, _LEDGER = "inbox", "ledger"  # the subjects of faults


class Letters(ServiceJob):
    """Writes a letter after the end of each week or month in which mail went to spam; into the first mailbox.

    After a time without the service it writes one, for the last of these in which mail was moved. A letter that is
    under way is delivered, even if the person has asked for no more.

    Each time that the circuit breaker stops moving, one letter tells it. If mail cannot be moved for more than an hour,
    one letter per week tells why. A damaged ledger without a copy has no letter: the ledger makes a letter ours.
    A flood of first letters is told once.
    """

    def __init__(self, awake: AwakeAccount) -> None:
        super().__init__(_AGAIN_SECONDS)
        context = awake.context
        self._awake = awake
        self._state = context.ledger.state
        self._kind = _PERIODS.get(context.config.service.statement)
        self._why_unmoved = ""  # at the last look
        self._faults = LogOnce(_log, count=lambda _: context.measurements.fault("disk"))

    def _step(self, now: float) -> None:
        self._not_before = now + _AGAIN_SECONDS
        try:
            inbox = self._inbox()
            if inbox is not None:
                if letters.finish(self._awake.context.ledger, inbox, now):
                    _log.info("wrote the letter into %s that was under way", inbox.name)
                note_silence(self._awake.context.ledger, self._awake.context.config)
                self._write_if_due(inbox, now)
                self._write_if_stopped(inbox, now)
                self._write_if_flooded(inbox, now)
                self._note_fault("")
                self._faults.clear(_LEDGER)
        except LedgerUnavailableError as fault:
            self._faults.log(_LEDGER, f"no letter is written for now: {fault}")
        except NotYetError:
            pass
        except (OSError, MaildirError) as fault:
            self._note_fault(_words(fault))

    def _inbox(self) -> WatchedFolder | None:
        """Return the inbox of the first mailbox; None if that is not looked at yet."""
        context = self._awake.context
        mailbox = self._awake.mailbox(str(context.config.mailboxes[0].path))
        return mailbox.folders.for_role(Role.INBOX) if mailbox.is_ready else None

    def _write_if_due(self, inbox: WatchedFolder, now: float) -> None:
        if self._kind is None:
            if self._state.told_until is not None:
                self._state.told_until = None
            return
        present: Period = self._kind.of(now)
        self._not_before = min(self._not_before, present.next.since)
        told = self._state.told_until
        if told is None or told > now:  # it begins with the present one, also if the clock was set back
            self._state.told_until = present.since
        elif told < present.since:
            self._write(inbox, present, told, now)

    def _write(self, inbox: WatchedFolder, present: Period, told: float, now: float) -> None:
        """Write the statement of the last period in which mail was moved, if it ended after `told`."""
        context, period = self._awake.context, present.before
        moved = context.ledger.messages.moved_to_spam
        while period.next.since > told and not moved(period.since, period.next.since):
            period = period.before

        if period.next.since <= told:
            self._state.told_until = present.since
            return
        letter, shown, drawn = _letter(context, period, now)

        def record(digest: bytes) -> None:
            self._state.told_until = present.since
            self._state.told = Told(str(period), digest, now, shown, drawn)

        letters.write(context.ledger, inbox, letter, now, record)
        _log.info("wrote the statement of %s into %s", period, inbox.name)

    def _write_if_stopped(self, inbox: WatchedFolder, now: float) -> None:
        """Tell of a stop that a person must end, if no letter has told it yet."""
        ledger, faults, lasts = self._awake.context.ledger, self._awake.context.faults, bool(self._why_unmoved)
        self._why_unmoved = faults.moves.text
        stop, week = stop_of(ledger, now), Week.of(now)
        tripped_at = None if stop is None else stop.tripped_at
        news = f"cannot move {week}" if tripped_at is None else f"stopped at {tripped_at}"
        is_news = tripped_at is not None or (lasts and bool(self._why_unmoved))
        if self._kind is None or not is_news or self._state.stop_told == news:
            return
        from spamnb.review.letter_text import cannot_move_letter, stopped_letter  # noqa: PLC0415 - as for `_letter`

        about = self._state.mark, now, _correspondents(self._awake.context)
        letter = (
            cannot_move_letter(self._why_unmoved, week, *about)
            if tripped_at is None
            else stopped_letter(tripped_at, len(ledger.journal.withheld()), *about)
        )

        def record(_: bytes) -> None:
            self._state.stop_told = news

        letters.write(ledger, inbox, letter, now, record)
        _log.info("wrote a letter into %s: mail is not moved", inbox.name)

    def _write_if_flooded(self, inbox: WatchedFolder, now: float) -> None:
        """Tell of a flood of first letters, and of the mail that it may hide, if no letter has told it yet."""
        ledger = self._awake.context.ledger
        found, told = None if self._kind is None else flood_now(ledger, now), self._state.flood_told
        if found is None:
            return
        if told is not None and found.since <= told:  # it may go on, and after days its beginning is not looked at
            if told < found.until:
                self._state.flood_told = found.until
            return
        from spamnb.review.letter_text import flood_letter  # noqa: PLC0415 - as for `_letter`

        beside = [(one.at, ledger.messages.get(one.message).summary) for one in found.known]
        letter = flood_letter(found, beside, self._state.mark, now, _correspondents(self._awake.context))

        def record(_: bytes) -> None:
            self._state.flood_told = found.until

        letters.write(ledger, inbox, letter, now, record)
        _log.info("wrote a letter into %s: first letters came in a flood", inbox.name)

    def _note_fault(self, fault: str) -> None:
        """Log a fault once, and note it in the ledger for `status` and `doctor`, if that can be written."""
        if fault:
            self._faults.log(_INBOX, f"no letter can be written into the inbox: {fault}. It is tried again in an hour")
        elif self._faults.clear(_INBOX):
            _log.info("letters can be written again")
        try:
            if self._state.letter_fault != fault:
                self._state.letter_fault = fault
        except LedgerUnavailableError:
            _log.debug("the fault is not noted in the ledger")


def _letter(
    context: Context, period: Period, now: float
) -> tuple[letters.Letter, tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the letter, the messages that it shows, and which of these were drawn at random."""
    # They load what judges all learned mail: few services write a letter today.
    from spamnb.review.letter_text import statement_letter  # noqa: PLC0415
    from spamnb.review.statement import statement  # noqa: PLC0415

    found = statement(context.ledger, context.in_force, period, _MOST_JUDGED)
    shown = tuple(one.moved.digest for one in found.shown)
    drawn = tuple(one.moved.digest for one in found.shown if one.is_drawn)
    return statement_letter(found, context.ledger.state.mark, now, _correspondents(context)), shown, drawn


def _correspondents(context: Context) -> "Correspondents":
    from spamnb.review.letter_text import Correspondents  # noqa: PLC0415

    user, host = context.config.user, socket.gethostname()
    return Correspondents.of(user or os.environ.get("USER", ""), host, has_prompt=not user)


def _words(fault: OSError | MaildirError) -> str:
    if isinstance(fault, MaildirError):
        return str(fault)
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{fault.strerror}; free some space there"
    return fault.strerror or type(fault).__name__
