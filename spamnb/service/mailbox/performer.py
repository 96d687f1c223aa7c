"""Carries out reactions in one mailbox: in the service, only this module writes decisions about mail.

A crash may come between any two lines. So the order here is always the same:

1. Slow work comes before the ledger is held: reading, judging, finding out what is still to learn.
2. One transaction writes everything that one decision says about one file: the message and its verdict, files that
   are gone, the place, the lesson, and the line of the journal. If the file is to move, that line is an intent.
3. The intent is durable before the rename. `acts.moves` renames the file, and ends the intent.

After a kill before the end of step 2, the file is looked at again, as if nothing had happened. After a later kill, the
intent is left, and `Mover.resolve` ends it at the next start.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spamnb.acts import may_move, training
from spamnb.acts.destination import JudgedMail, destination
from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import Intent, Mover
from spamnb.acts.newsletters import choose_by_move
from spamnb.acts.ordered import is_near_order
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.config import Config
from spamnb.filter.judge import Filter, Judgement
from spamnb.identity.values import Digests
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import MessageRow
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.maildir.messages import Entry, links_of
from spamnb.maildir.names import Name
from spamnb.rules.reactions import ANSWERED_NEWCOMER, Reaction, Step, origin_of
from spamnb.rules.weak_lessons import shows_a_look
from spamnb.service.context import DAY, Context
from spamnb.service.log import digest_in_log, log_fields
from spamnb.service.mailbox.answered import Letter, answered_letter
from spamnb.service.mailbox.facts import Arrival
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.sent import sent_in

_log = logging.getLogger(__name__)
_OPENED_SECONDS = 3600.0  # the least time between two recorded looks into spam
_ALIKE = "; judged on its own, although a known message has its Message-ID, Date and From"


class Postponed(NamedTuple):
    """A move that waits for another program. text, about: the log line for when it is made, and its fields."""

    intent: Intent
    text: str
    about: Mapping[str, object]


class Performer:
    """Carries out reactions in one mailbox."""

    def __init__(self, folders: Folders, context: Context) -> None:
        self._faults = context.faults
        moved_file = MovedFile(context.config.service.moved_file, lambda: context.measurements.fault("disk"))
        common = context.now, context.bases, folders.by_id, moved_file, context.departures
        self.mover = Mover(context.ledger, *common, lambda _, fault: self._cannot_move(fault))
        self._folders = folders
        self._context = context
        self._ledger = context.ledger
        self._now = context.now

    # --- a file that appeared

    def carry_out(self, reaction: Reaction, arrival: Arrival) -> Postponed | None:
        """Carry out the reaction to a file that appeared. Returns its move, if that has to wait for another program.

        Raises NotYetError or FolderUnavailableError if everything has to wait; then it has changed nothing.
        """
        if reaction.step is Step.JUDGE:
            return self._judge(arrival)
        if reaction.step is Step.ADOPT and (early := arrival.early()) is not None:
            self._adopt(arrival, early)
        else:
            self._learn_or_leave(arrival, reaction)
        if reaction.log_it:
            name, where = self._context.name_of(arrival.unread), arrival.folder.name
            _log.info("%s: stays in %s, not learned: %s", name, where, reaction.why)
        return None

    def _judge(self, arrival: Arrival) -> Postponed | None:
        """Judge new mail, and do what follows from the verdict."""
        folder, entry, unread = arrival.folder, arrival.entry, arrival.unread
        config, intent = self._context.in_force, None
        judgement, how, notes = self._judgement(arrival, config)
        verdict, probability = judgement.verdict, judgement.probability
        missing = self._missing(config)
        is_near_copy = bool(missing) and is_near_order(self._ledger, config, unread.reading, verdict)
        with self._ledger.transaction():
            known = self._record(arrival, Step.JUDGE, judgement)
            # This very verdict may trip the circuit breaker.
            hindrance = may_move.hindrance_at_verdict(self._ledger, self._context.config, self._now(), missing)
            mail = JudgedMail(known, unread.relations, judgement, arrival.name.flags, is_near_copy)
            then = destination(self._ledger, config, self._folders.mailbox, mail, hindrance, self._now())
            if then.goal is None:
                judged = known.id, arrival.place, verdict, probability, then.why + notes, self._now()
                self._ledger.journal.judged(*judged, how=how, withheld=then.withheld)
            else:
                figure = "" if missing else f", probability {probability:.4f}"  # it knows too little
                why = f"{then.why}{figure}{notes}"
                cause = Cause(why, self._now(), how, verdict, probability, then.goal)
                goal = self._folders.for_role(then.goal)
                intent = self.mover.intend((known.id, known.digest), folder, entry, goal, cause)
        what = f"{verdict} {probability:.4f} {self._context.name_of(unread)}"
        about = _about(verdict, probability, unread.digest) | {"folder": folder.name}
        if intent is None:
            about |= {"event": "judged", "why": then.why}
            _log.info("%s: stays in %s, %s%s", what, folder.name, then.why, notes, extra=log_fields(**about))
            return None
        text = f"{what}: moved from {folder.name} to {intent.destination.name}{notes}"
        about |= {"event": "moved", "to": intent.destination.name}
        if self._make_move(intent, entry):
            _log.info("%s", text, extra=log_fields(**about))
        elif links_of(entry.path(folder)).left_until > self._now():
            return Postponed(intent, text, about)
        return None

    def _judgement(self, arrival: Arrival, config: Config) -> tuple[Judgement, How, str]:
        """Judge new mail, or take the verdict given at delivery. Returns also how it was judged, and notes for people.

        It takes milliseconds, so the ledger is not held.
        """
        unread, spam_filter = arrival.unread, Filter.of(self._ledger.lessons, config, self._context.met)
        notes = _ALIKE if self._ledger.messages.has_alike(unread.header_digest, unread.digest) else ""
        early = arrival.early()
        if early is None:
            with self._context.measurements.judging():
                judgement = spam_filter.judge(unread.reading)
        else:
            judgement = spam_filter.judged_before(_judgement(early), unread.relations)
            notes += f"; {_asked_by(early)}"
        if judgement.listed:
            is_chosen = config.senders.is_chosen(judgement.listed)
            notes += f"; by {'your choice' if is_chosen else '`senders`'}: {judgement.listed}"
        return judgement, How.MAILDIR if early is None else early.how, notes

    def _missing(self, config: Config) -> str:
        """Return what is still to learn before mail may be moved; asked before the ledger is held.

        This may take half a second. The judgement is as old: it is made without the ledger too.
        """
        return may_move.begin_if_ready(self._ledger, config.scoring, config.learning, self._context.remembered)

    def _adopt(self, arrival: Arrival, early: EarlyVerdict) -> None:
        """Record mail that a rule has filed by the verdict given at delivery, as if the filter had moved it there."""
        now, why = self._now(), f"{early.verdict}, {_asked_by(early)}"
        missing = self._missing(self._context.in_force)
        with self._ledger.transaction():
            known = self._record(arrival, Step.ADOPT, _judgement(early))
            judged = known.id, arrival.place, early.verdict, early.probability, why, now
            self._ledger.journal.judged(*judged, how=early.how)
            may_move.hindrance_at_verdict(self._ledger, self._context.config, now, missing)
        name, where = self._context.name_of(arrival.unread), arrival.folder.name
        what = f"{early.verdict} {early.probability:.4f} {name}"
        about = _about(Verdict(early.verdict), early.probability, arrival.unread.digest)
        about |= {"event": "filed", "folder": where, "why": why}
        _log.info("%s: filed into %s, %s", what, where, _asked_by(early), extra=log_fields(**about))

    def _learn_or_leave(self, arrival: Arrival, reaction: Reaction) -> None:
        """Record a file, learn its message if it teaches, and move it on from a training folder."""
        label, intent = reaction.label, None
        reading = None if label is None else arrival.unread.reading  # before the ledger is held
        is_letter = reaction.step is Step.LETTER  # it may be in the folder for sent mail, but nobody sent it
        sent = {} if is_letter else sent_in(arrival.folder, arrival.unread)
        answered = None if is_letter else self._answered(arrival)
        # In one transaction: if the place were not recorded, a move back would not correct the lesson.
        with self._ledger.transaction():
            if label is not None and reading is not None:
                at, how = self._now(), reaction.how
                change = training.learn(self._ledger, reading, label, reaction.why, at, how=how, weak=reaction.weak)
                self._context.log_learned(change, reading, label, reaction.why, weak=reaction.weak)
            known = self._record(arrival, reaction.step)
            self._ledger.lessons.add_sent(sent)
            if reaction.rescued:
                self._ledger.messages.rescued(known.id, self._now())
            self._sort(reaction, arrival.unread.relations)
            if reaction.files:
                goal = self._folders.for_role(Role.SPAM if label is Label.SPAM else Role.INBOX)
                message, cause = (known.id, known.digest), Cause(reaction.why, self._now())
                intent = self.mover.intend(message, arrival.folder, arrival.entry, goal, cause)
            move = None if answered is None else self._learn_and_intend(answered, ANSWERED_NEWCOMER)
        if intent is not None:
            self._make_move(intent, arrival.entry)
        if answered is not None and move is not None:
            self._file(answered, move, ANSWERED_NEWCOMER)

    def _answered(self, arrival: Arrival) -> Letter | None:
        """Return the letter of a newcomer that a message answers, if that was just sent."""
        if arrival.folder.role is not Role.SENT:
            return None
        return answered_letter(self._ledger, self._folders, self._context.config.learning, arrival.unread)

    def _sort(self, reaction: Reaction, relations: Relations) -> None:
        """Choose the folder for mail of this list or sender, if the reaction says so."""
        if reaction.sorts is not None:
            choose_by_move(self._ledger, self._context.config, relations, reaction.sorts, self._now())

    def _record(self, arrival: Arrival, step: Step, judgement: Judgement | None = None) -> MessageRow:
        """Record the message, its verdict, and where its file is."""
        unread, (folder, key), now = arrival.unread, arrival.place, self._now()
        summary = "" if judgement is None else unread.summary
        known = self._ledger.messages.ensure(unread.digest, summary, unread.header_digest)
        for location in arrival.vanished:
            if self._context.role_of(location.mailbox, location.folder_name) is Role.SPAM:
                self.opened_spam(location)
            self._ledger.locations.gone(location.folder, [location.base], now)
        origin = "filter" if step is Step.ADOPT else origin_of(step, arrival.origins_before)
        self._ledger.locations.put(folder, key, known.id, origin, unread.delivery, arrival.name.flags, now)
        if judgement is not None:
            verdict, came_from = (judgement.verdict, judgement.probability), unread.relations
            self._ledger.messages.judged(known.id, *verdict, now, came_from.sender, came_from.list_id)
        return known

    def _make_move(self, intent: Intent, entry: Entry) -> bool:
        """Make a recorded move. Returns False if it failed, and logs that."""
        try:
            return self.mover.carry_out(intent, entry, waits=True)
        except MaildirError as fault:
            self._cannot_move(fault)
            return False

    def _cannot_move(self, fault: Exception) -> None:
        self._faults.moves.log(str(fault), str(fault))

    def resolve(self) -> int:
        """End the moves that are open, as `Mover.resolve` does. Returns the number ended."""
        ended = self.mover.resolve()
        if not self.mover.has_open:
            self._faults.clear_moves()
        return ended

    def report(self, postponed: Postponed) -> bool:
        """Log a postponed move that was made. Returns False while it is open; `Mover.resolve` tries it again."""
        if self.mover.is_open(postponed.intent.action):
            return False
        ended = self._ledger.journal.get(postponed.intent.action)
        if ended is not None and ended.state == "done":
            _log.info("%s", postponed.text, extra=log_fields(**postponed.about))
        return True

    # --- files that go to the folder of their label

    def learn_and_file(self, letter: Letter, reaction: Reaction) -> None:
        """Learn a message that is in its place, and move its file to the folder of its label.

        Raises NotYetError or FolderUnavailableError if everything has to wait; then it has changed nothing.
        """
        with self._ledger.transaction():
            intent = self._learn_and_intend(letter, reaction)
        self._file(letter, intent, reaction)

    def _learn_and_intend(self, letter: Letter, reaction: Reaction) -> Intent:
        """Learn a message and write down its move, in a transaction."""
        folder, entry, reading = letter
        label = Label.SPAM if reaction.label is Label.SPAM else Label.HAM
        at, how, weak = self._now(), reaction.how, reaction.weak
        change = training.learn(self._ledger, reading, label, reaction.why, at, how=how, weak=weak)
        self._context.log_learned(change, reading, label, reaction.why, weak=weak)
        known = self._ledger.messages.ensure(reading.digest, reading.summary)
        if reaction.rescued:
            self._ledger.messages.rescued(known.id, at)
        goal = self._folders.for_role(Role.SPAM if label is Label.SPAM else Role.INBOX)
        return self.mover.intend((known.id, known.digest), folder, entry, goal, Cause(reaction.why, at))

    def _file(self, letter: Letter, intent: Intent, reaction: Reaction) -> None:
        if self._make_move(intent, letter.entry):
            ends = f"{letter.folder.name} to {intent.destination.name}"
            _log.info("%s: moved from %s, %s", self._context.name_of(letter.reading), ends, reaction.why)

    # --- files that stay, or have left

    def record_before(self, folder: WatchedFolder, messages: Iterable[tuple[Name, Digests]]) -> None:
        """Record mail that was there before the filter, in one transaction.

        messages: all must be read before the call, since other processes wait while the ledger is held.
        """
        with self._ledger.transaction():
            for name, digests in messages:
                known = self._ledger.messages.ensure(digests.identity, "", digests.header)
                place = folder.id, name.key, known.id
                self._ledger.locations.put(*place, "before", digests.delivery, name.flags, self._now())

    def learn(self, readings: Sequence[Reading], reaction: Reaction) -> None:
        """Learn messages that stay in place, in one transaction."""
        label = reaction.label
        if label is None:
            return
        by_digest = {reading.digest: reading for reading in reversed(readings)}
        at, how, weak = self._now(), reaction.how, reaction.weak
        for change in training.learn_together(self._ledger, readings, label, reaction.why, at, how=how, weak=weak):
            self._context.log_learned(change, by_digest[change.digest], label, reaction.why, weak=weak)

    def end_waiting(
        self, folder: WatchedFolder, location: Location, reaction: Reaction, reading: Reading | None
    ) -> None:
        """End the waiting of a file. reading: its message, if it teaches."""
        label, now = reaction.label, self._now()
        with self._ledger.transaction():
            self._ledger.locations.set_origin(folder.id, location.base, "appeared")
            if label is not None and reading is not None:
                change = training.learn(self._ledger, reading, label, reaction.why, now, how=reaction.how)
                self._context.log_learned(change, reading, label, reaction.why, weak=False)
                self._sort(reaction, reading.relations)
            if reaction.rescued:
                self._ledger.messages.rescued(location.message, now)

    def opened_spam(self, location: Location | None, *, is_marked: bool = False) -> None:
        """Note that a person has looked into spam: a file that the filter moved there has got marks, or has left."""
        now = self._now()
        if location is None or location.origin != "filter":
            return
        opened_at = self._ledger.locations.spam_seen_at(self._folders.id)
        is_look = shows_a_look((now - location.since) / DAY, is_marked=is_marked, is_first=not opened_at)
        if is_look and now - opened_at > _OPENED_SECONDS:
            self._ledger.locations.set_spam_seen_at(self._folders.id, now)


def _judgement(early: EarlyVerdict) -> Judgement:
    return Judgement(Verdict(early.verdict), early.probability, early.log_odds)


def _about(verdict: Verdict, probability: float, digest: bytes) -> dict[str, object]:
    """Return the fields of a log record about a verdict."""
    return {"verdict": verdict, "probability": probability, "digest": digest_in_log(digest)}


def _asked_by(early: EarlyVerdict) -> str:
    """Return the history's words for a verdict given at delivery."""
    return f"judged at delivery ({early.asker})"
