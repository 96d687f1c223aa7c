"""What appears in a mailbox: looked at, judged or learned from, and moved.

What a place means is decided by `rules`; this module finds out what is asked there, and applies what it decides.
"""

import heapq
import logging
from dataclasses import replace
from typing import NamedTuple

from spamnb.acts import may_move, training
from spamnb.acts.moves import Intent, Mover
from spamnb.base.errors import MaildirError
from spamnb.base.label import How, Label, Role, Verdict
from spamnb.filter.judge import Judgement
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.history.messages import KnownMessage
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import LINKED_SECONDS, Entry, linked_until, locate, read_keywords
from spamnb.maildir.names import Name, parse_name
from spamnb.rules import reactions
from spamnb.rules.destination import Destination, destination_of
from spamnb.rules.reactions import Do, Facts, Reaction, reaction_to
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.past_places import Arrival, PastPlaces, appeared_at
from spamnb.service.mailbox.sent import sent_in
from spamnb.service.mailbox.untouched import UntouchedMail

_log = logging.getLogger(__name__)
_SLICE = 0.05  # seconds
_MANY = 10  # messages that a person copies one by one, by hand
# A file in the inbox that has a second name is judged so much later than the other one is looked at: procmail gives the
# names to a file within 1 ms. Once it is moved, its status would no longer say since when the other name was there.
_LAST_SECONDS = 1.0
_AGAIN_SECONDS = 1.0  # until a folder that cannot be listed is tried again, however short the dwell
_ALIKE = "; judged by itself, though a known message has its Message-ID, Date and From"


class _Dwelling(NamedTuple):
    """A file that is acted on later. appeared: since when it has been there, by what was known when it was seen."""

    entry: Entry
    appeared: float


class Arrivals:
    """Files that appeared in a mailbox, and what is done with them."""

    def __init__(self, folders: Folders, context: Context, untouched: UntouchedMail) -> None:
        self.mover = Mover(context.ledger, context.now, context.bases, folders.by_id, context.departures)
        self._folders = folders
        self._context = context
        self._untouched = untouched
        self._config = context.config
        self._ledger = context.ledger
        self._now = context.now
        self._remembered = context.remembered
        self._dwelling: dict[tuple[str, str], _Dwelling] = {}  # by folder and key
        # Judged, and not moved yet, since another program has just linked them: the intent, and what to log of it then.
        self._left: dict[tuple[str, str], tuple[Intent, str]] = {}
        self._order: list[tuple[float, str, str]] = []  # a heap: when each of them is due, its folder, its key
        self._many_until = 0.0  # many known messages have appeared at once, or did just before

    def __len__(self) -> int:
        """How many files dwell: what they mean is looked at later."""
        return len(self._order)

    @property
    def due(self) -> float | None:
        """When the next file has dwelt long enough, or None."""
        return self._order[0][0] if self._order else None

    def add(self, folder: WatchedFolder, entry: Entry) -> None:
        """Take a file that the ledger does not know there: new mail is acted on at once, a person's move later."""
        name, now = parse_name(entry.name), self._now()
        if (folder.path, name.key) in self._dwelling:
            return
        appeared, free_at = appeared_at(folder, entry, now), linked_until(entry.path(folder))
        due = max(appeared + self._config.learning.dwell_seconds, free_at)
        if folder.role is Role.INBOX and not folder.unsure:
            if free_at:
                due += _LAST_SECONDS
            elif _are_known(name, folder) and self._is_decided_at_once(folder, entry, appeared):
                return
        self._dwelling[folder.path, name.key] = _Dwelling(entry, appeared)
        heapq.heappush(self._order, (due, folder.path, name.key))
        if len(self) > _MANY:
            self._many_until = now + reactions.COPY_SECONDS

    def _is_decided_at_once(self, folder: WatchedFolder, entry: Entry, appeared: float) -> bool:
        """Act on mail that was never seen before; False where it has to wait."""
        unread = self._folders.read(folder, entry)
        if unread is None or self._ledger.messages.find(unread.digest) is not None:
            return False
        lesson = self._ledger.lessons.find(unread.digest)
        try:
            return self._decide(Arrival(folder, entry, unread, appeared, None, lesson))
        except FolderUnavailableError:
            return False

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough where they are; of many, on some, so that new mail gets in."""
        now, dwell = self._now(), self._config.learning.dwell_seconds
        latest = now + max(dwell, LINKED_SECONDS) + _LAST_SECONDS
        if self._order and self._order[0][0] > latest:  # the clock was set back: none waits for a day
            self._order = [(latest, path, key) for _, path, key in self._order]
        if self.due is None or self.due > now:
            return
        self.mover.resolve()  # what a move left open was moved by the filter, not by a person
        while self._order and self._order[0][0] <= now and self._now() < now + _SLICE:
            _, path, key = self._order[0]
            try:
                self._act_on(path, key)
            except FolderUnavailableError:
                heapq.heapreplace(self._order, (now + max(dwell, _AGAIN_SECONDS), path, key))
            else:
                heapq.heappop(self._order)  # not before: where the ledger is busy, the file waits on
                del self._dwelling[path, key]
                self._left.pop((path, key), None)
                self._context.alive(f"looking at what was moved in {self._folders.root}")

    def _act_on(self, path: str, key: str) -> None:
        folder = self._folders.by_path.get(path)
        if (left := self._left.get((path, key))) is not None:
            self._act_on_left(*left)
            return
        if folder is None:
            return
        last = self._ledger.locations.last(folder.id, key)
        if last is not None and last.gone_at is None:
            return
        if self.mover.is_brought(folder.id, key):
            raise FolderUnavailableError(f"{key!r} is still being moved to {folder.path}")
        seen, appeared = self._dwelling[path, key]
        entry = locate(folder, key, parse_name(seen.name).flags)
        unread = None if entry is None else self._folders.read(folder, entry)
        if entry is None or unread is None:
            return
        known, lesson = self._ledger.messages.find(unread.digest), self._ledger.lessons.find(unread.digest)
        locations = [] if known is None else self._ledger.locations.of_message(known.id)
        has_known_name = last is not None and known is not None and last.message == known.id
        if not self._decide(Arrival(folder, entry, unread, appeared, known, lesson, locations, has_known_name)):
            raise FolderUnavailableError(f"{key!r} is just being moved or copied from {folder.path}")

    def _act_on_left(self, intent: Intent, text: str) -> None:
        """Log what came of a move that was just tried again, with all that are open."""
        if self.mover.is_open(intent.action):
            raise FolderUnavailableError(f"{intent.base!r} is just being moved or copied from {intent.source.path}")
        ended = self._ledger.journal.get(intent.action)
        if ended is not None and ended.state == "done":
            _log.info("%s", text)

    def _decide(self, arrival: Arrival) -> bool:
        """Find out what the file means, and act on it; False where it has to be left to another program for now."""
        folder, known, lesson = arrival.folder, arrival.known, arrival.lesson
        is_spam = folder.role is Role.SPAM  # elsewhere only what is to be judged is asked for the verdict told before
        early = self._ledger.early_verdicts.find(arrival.unread.digest, self._now()) if is_spam else None
        past = PastPlaces(self._context, self._folders, arrival)
        facts = Facts(
            folder.role,
            folder.unsure,
            None if lesson is None else lesson.decision,
            past.all(),  # in each folder: what came back under its name would seem never to have left
            None if known is None else known.verdict,
            None if early is None else early.verdict,
            has_known_name=arrival.has_known_name,
            is_one_of_many=self._now() < self._many_until,
            role_is_configured=self._folders.mailbox.names(folder.name),
        )
        reaction = reaction_to(facts, trust_delivery=self._config.learning.trust_delivery)
        arrival = replace(arrival, vanished=past.vanished)
        if reaction.do is Do.JUDGE:
            return self._judge(arrival)
        if reaction.do is Do.ADOPT and early is not None:
            self._accept(arrival, early)
        else:
            self._apply(arrival, reaction)
        if reaction.log_it:
            name = self._context.name_of(arrival.unread)
            _log.info("%s: stays in %s, not learned: %s", name, folder.name, reaction.why)
        return True

    def _apply(self, arrival: Arrival, reaction: Reaction) -> None:
        mailbox, label, intent = self._folders.mailbox, reaction.label, None
        reading = None if label is None else arrival.unread.reading  # before the ledger is held
        sent = sent_in(arrival.folder, arrival.unread)
        # In one transaction: if the place were not recorded, a move back would not correct what was learned from it.
        with self._ledger.transaction():
            if label is not None and reading is not None:
                at, how = self._now(), reaction.how
                change = training.learn(self._ledger, reading, label, reaction.why, at, how=how, weak=reaction.weak)
                self._context.log_learned(change, reading, label, reaction.why, weak=reaction.weak)
            known = self._record(arrival, reaction.do)
            self._ledger.lessons.add_sent(sent)
            if reaction.rescued:
                self._ledger.messages.rescued(known.id, self._now())
            if reaction.files:
                goal = self._folders.named(mailbox.spam_folder if label is Label.SPAM else mailbox.inbox_folder)
                message = known.id, known.digest
                intent = self.mover.intend(message, arrival.folder, arrival.entry, goal, reaction.why)
        if intent is not None:
            self._is_moved(intent, arrival.entry)

    def _record(self, arrival: Arrival, do: Do, judgement: Judgement | None = None) -> KnownMessage:
        """Record the message, its verdict, and where its file is."""
        unread, (folder, key), now = arrival.unread, arrival.place, self._now()
        summary = "" if judgement is None else unread.summary
        known = self._ledger.messages.ensure(unread.digest, summary, unread.header_digest)
        for place in arrival.vanished:
            if self._context.role_of(place.mailbox, place.folder_name)[0] is Role.SPAM:
                self._untouched.opened_spam(place)
            self._ledger.locations.gone(place.folder, [place.base], now)
        same = [place for place in arrival.locations if (place.folder, place.content) == (folder, unread.delivery)]
        origin = "filter" if do is Do.ADOPT else reactions.origin_of(do, {place.origin for place in same})
        self._ledger.locations.put(folder, key, known.id, origin, unread.delivery, arrival.name.flags, now)
        if judgement is not None:
            verdict, came_from = (judgement.verdict, judgement.probability), unread.relations
            self._ledger.messages.judged(known.id, *verdict, now, came_from.sender, came_from.list_id)
        return known

    def _accept(self, arrival: Arrival, early: EarlyVerdict) -> None:
        """Record what a rule has filed by the verdict that was told to it: as if the filter had moved it there."""
        now, why = self._now(), f"{early.verdict}, {_asked_by(early)}"
        lacking = self._lacking()
        with self._ledger.transaction():
            known = self._record(arrival, Do.ADOPT, _judgement(early))
            judged = known.id, arrival.place, early.verdict, early.probability, why, now
            self._ledger.journal.judged(*judged, how=early.how)
            may_move.hindrance_at_verdict(self._ledger, self._config, now, lacking)
        name, where = self._context.name_of(arrival.unread), arrival.folder.name
        _log.info("%s %.4f %s: filed into %s, %s", early.verdict, early.probability, name, where, _asked_by(early))

    def _judge(self, arrival: Arrival) -> bool:
        """Judge new mail, unless its verdict was told at delivery, and do what follows from the verdict.

        False where its move has to wait, since another program has just given the file a second name.
        """
        mailbox, folder, entry, unread = self._folders.mailbox, arrival.folder, arrival.entry, arrival.unread
        notes, intent = "", None
        if self._ledger.messages.has_alike(unread.header_digest, unread.digest):
            notes += _ALIKE
        early = self._ledger.early_verdicts.find(unread.digest, self._now())
        if early is None:
            with self._context.measurements.judging():
                judgement = self._context.filter().judge(unread.reading)
        else:
            judgement = _judgement(early)
            notes += f"; {_asked_by(early)}"
        if judgement.listed:
            is_chosen = self._context.in_force.senders.is_chosen(judgement.listed)
            notes += f"; by {'your choice' if is_chosen else '`senders`'}: {judgement.listed}"
        verdict, probability = judgement.verdict, judgement.probability
        how = How.MAILDIR if early is None else early.how
        lacking = self._lacking()
        with self._ledger.transaction():
            known = self._record(arrival, Do.JUDGE, judgement)
            then = self._destination(judgement, arrival, known, lacking)
            goals = {Verdict.SPAM: mailbox.spam_folder, Verdict.UNSURE: mailbox.unsure_folder}
            goal = None if then.goal is None else goals[then.goal]
            if goal is None or goal == folder.name:
                judged = known.id, arrival.place, verdict, probability, then.why + notes, self._now()
                self._ledger.journal.judged(*judged, how=how, withheld=then.withheld)
            else:
                why = f"{then.why}, probability {probability:.4f}{notes}"
                goal_folder, message = self._folders.named(goal), (known.id, known.digest)
                intent = self.mover.intend(message, folder, entry, goal_folder, why, how=how, judgement=judgement)
        what = f"{verdict} {probability:.4f} {self._context.name_of(unread)}"
        if intent is None:
            _log.info("%s: stays in %s, %s%s", what, folder.name, then.why, notes)
            return True
        text = f"{what}: moved from {folder.name} to {goal}{notes}"
        if self._is_moved(intent, entry):
            _log.info("%s", text)
        elif linked_until(entry.path(folder)) > self._now():
            self._left[folder.path, arrival.name.key] = intent, text
            return False
        return True

    def _lacking(self) -> str:
        """What is still to learn before mail may be moved: asked before the ledger is held, it may take half a second.

        Its moment is that of the judgement, which is made without the ledger too.
        """
        config = self._context.in_force
        return may_move.begin(self._ledger, config.scoring, config.learning, self._remembered)

    def _destination(self, judgement: Judgement, arrival: Arrival, known: KnownMessage, lacking: str) -> Destination:
        """What follows from a verdict.

        What a person has called the message is asked again, in the transaction that would move it: it took time to
        judge it. The lessons say it, not this host's records: another host may have learned it, or this one may have
        been stopped between learning and recording.
        """
        hindrance = may_move.hindrance_at_verdict(self._ledger, self._config, self._now(), lacking)
        lesson = self._ledger.lessons.find(known.digest)
        return destination_of(
            judgement.verdict,
            arrival.name.flags,
            None if lesson is None else lesson.decision,
            hindrance.missing,
            hindrance.stop is not None,
            self._folders.mailbox.unsure_folder is not None,
            rescued=known.rescued_at is not None,
        )

    def _is_moved(self, intent: Intent, entry: Entry) -> bool:
        """Make a move that was written down; False where it could not be made, which is logged."""
        try:
            return self.mover.carry_out(intent, entry, waits=True)
        except MaildirError as fault:
            _log.error("%s", fault)
            self._context.measurements.fault("disk")
            return False


def _judgement(early: EarlyVerdict) -> Judgement:
    return Judgement(Verdict(early.verdict), early.probability, early.log_odds)


def _asked_by(early: EarlyVerdict) -> str:
    """That a verdict was told at delivery, in words for the history."""
    return f"judged at delivery ({early.asker})"


def _are_known(name: Name, folder: WatchedFolder) -> bool:
    """Whether the folder's list of keywords says what each of the name's keyword letters means.

    QUIRK: Dovecot writes down what a new letter means a moment after the file that has it: moved before that, the
    message would lose the keyword.
    """
    return not name.keywords or read_keywords(folder).keys() >= set(name.keywords)
