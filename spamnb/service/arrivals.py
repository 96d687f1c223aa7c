"""What appears in a mailbox: looked at, judged or learned from, and moved.

What a place means is decided by `policy`; this module finds out what is asked there, and does what it says.
"""

import heapq
import logging
from collections.abc import Callable, Iterator

from spamnb.config import Config, Role
from spamnb.errors import MaildirError
from spamnb.filter import Filter, Judgement
from spamnb.ledger.files import Origin, Placed
from spamnb.ledger.learned import HAM, SPAM
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import LABELS, lesson
from spamnb.ledger.messages import Known
from spamnb.mail.reading import Reading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.keywords import read_keywords
from spamnb.maildir.links import IN_HAND_SECONDS, in_hand_until
from spamnb.maildir.mailbox import Entry, locate
from spamnb.maildir.names import Name, parse_name
from spamnb.moves import Intent, Mover
from spamnb.policy import (
    BREAKER_NOTE,
    COPY_SECONDS,
    PAUSE_NOTE,
    RESUMED_NOTE,
    Consequence,
    Do,
    Goal,
    Meaning,
    consequence,
    has_no_meaning,
    meaning,
    missing_lessons,
    paused_until,
    trips,
)
from spamnb.service.boxes import Box, Boxes
from spamnb.service.traces import Traces
from spamnb.service.unread import Unread
from spamnb.service.waiting import Waiting

_log = logging.getLogger(__name__)
_SLICE = 0.05  # seconds
_MANY = 10  # messages that a person copies one by one, by hand
_AGAIN_SECONDS = 1.0  # until a folder that cannot be listed is tried again, however short the dwell
_ALIKE = "; judged by itself, though a known message has its Message-ID, Date and From"


class Arrivals:
    """Files that appeared in a mailbox, and what is done with them.

    `now` gives seconds since the epoch, `bases` unique base names; `alive` is called after each message of many.
    """

    def __init__(
        self,
        boxes: Boxes,
        config: Config,
        ledger: Ledger,
        *,
        now: Callable[[], float],
        bases: Iterator[str],
        alive: Callable[[str], None],
    ) -> None:
        self.mover = Mover(ledger, now, bases, boxes.spot)
        self._boxes = boxes
        self._config = config
        self._ledger = ledger
        self._filter = Filter(ledger.learned, config.scoring)
        self._now = now
        self._alive = alive
        self._traces = Traces(boxes, ledger, now, config.learning.dwell_seconds)
        self._second = Waiting(boxes, ledger, now, config.learning.dwell_seconds)
        self._waiting: dict[tuple[str, str], Entry] = {}
        self._many_until = 0.0  # many known messages have appeared at once, or did a moment ago
        self._order: list[tuple[float, str, str]] = []  # a heap: when a waiting file is due, its folder, its key

    def look(self, box: Box, entry: Entry) -> None:
        """Meet a file that the ledger does not know there: new mail is acted on at once, a person's move later."""
        name = parse_name(entry.name)
        key = name.key
        if (box.folder.path, key) in self._waiting:
            return
        in_hand = in_hand_until(entry.path(box.folder))
        if box.role is Role.INBOX and not box.unsure and in_hand <= self._now() and _are_known(name, box):
            raw = self._boxes.read(box, entry)
            unread = None if raw is None else Unread(raw)
            if unread is not None and self._ledger.messages.find(unread.digest) is None:
                self._act(box, entry, unread)
                return
        self._waiting[box.folder.path, key] = entry
        heapq.heappush(self._order, (max(self._dwell_ends(box, entry), in_hand), box.folder.path, key))
        if self.waiting > _MANY:
            self._many_until = self._now() + COPY_SECONDS

    @property
    def waiting(self) -> int:
        """How many files have been put off."""
        return len(self._order)

    def due(self) -> float | None:
        """When the next file that was put off has dwelt long enough, or None."""
        return min((at for at in (self._next_arrival(), self._second.due) if at is not None), default=None)

    def _next_arrival(self) -> float | None:
        return self._order[0][0] if self._order else None

    def settle(self) -> None:
        """Act on the files that have dwelt long enough where they are; of many, on some, so that new mail gets in."""
        now, dwell = self._now(), self._config.learning.dwell_seconds
        latest = now + max(dwell, IN_HAND_SECONDS)
        if self._order and self._order[0][0] > latest:  # the clock was set back: none waits for a day
            self._order = [(latest, path, key) for _, path, key in self._order]
        if self._second.due is not None and self._second.due <= now:
            self.end_waiting()
        if (due := self._next_arrival()) is None or due > now:
            return
        self.mover.resolve()  # what a move left open lies there by the filter's hand, not by a person's
        while self._order and self._order[0][0] <= now and self._now() < now + _SLICE:
            _, path, key = self._order[0]
            try:
                self._settle_one(path, key)
            except FolderUnavailableError:
                heapq.heapreplace(self._order, (now + max(dwell, _AGAIN_SECONDS), path, key))
            else:
                heapq.heappop(self._order)  # not before: where the ledger is busy, the file waits on
                del self._waiting[path, key]
                self._alive(f"looking at what was moved in {self._boxes.root}")

    def _settle_one(self, path: str, key: str) -> None:
        box = self._boxes.at(path)
        if box is None or self._ledger.files.get(box.spot.id, key) is not None:
            return
        if self.mover.is_brought(box.spot.id, key):
            raise FolderUnavailableError(f"{key!r} is still being moved to {box.folder.path}")
        entry = locate(box.folder, key, parse_name(self._waiting[path, key].name).flags)
        raw = None if entry is None else self._boxes.read(box, entry)
        if entry is not None and raw is not None:
            self._act(box, entry, Unread(raw))

    def _dwell_ends(self, box: Box, entry: Entry) -> float:
        """When the file has lain there for the dwell."""
        return self._traces.appeared(box, entry) + self._config.learning.dwell_seconds

    def _act(self, box: Box, entry: Entry, unread: Unread) -> None:
        known = self._ledger.messages.find(unread.digest)
        traces = []
        if not has_no_meaning(box.role, box.unsure):
            traces = [] if known is None else self._traces.of(known.id, unread, box, entry)
            traces += [] if box.role is Role.INBOX else self._traces.alike(unread, box, entry)
        meant = meaning(
            box.role,
            box.unsure,
            None if known is None else _decided(known),
            traces,
            verdict=None if known is None else known.verdict,
            same_name=known is not None and self._had_its_name(known, box, entry),
            many=self._now() < self._many_until,
            named=self._boxes.mailbox.names(box.folder.name),
            trust_delivery=self._config.learning.trust_delivery,
        )
        if meant.do is Do.JUDGE:
            self._judge(box, entry, unread)
        else:
            self._obey(meant, box, entry, unread)
        if meant.news:
            _log.info("%s: stays in %s, not learned: %s", self._named(unread), box.folder.name, meant.why)

    def _had_its_name(self, known: Known, box: Box, entry: Entry) -> bool:
        """Whether the message has lain in this folder before, under the name it has now."""
        last = self._ledger.files.last(box.spot.id, parse_name(entry.name).key)
        return last is not None and last.message == known.id

    def _obey(self, meant: Meaning, box: Box, entry: Entry, unread: Unread) -> None:
        mailbox = self._boxes.mailbox
        label, goal = {
            Do.LEARN_HAM: (HAM, None),
            Do.LEARN_SPAM: (SPAM, None),
            Do.LEARN_HAM_AND_FILE: (HAM, mailbox.inbox_folder),
            Do.LEARN_SPAM_AND_FILE: (SPAM, mailbox.spam_folder),
        }.get(meant.do, (None, None))
        reading = None if label is None else unread.reading  # before the ledger is held
        with self._ledger.transaction():
            known = self._place(box, entry, unread, meant.do)
            if label is not None and reading is not None:
                self.learn(reading, label, meant.why, weak=meant.weak)
            if meant.rescued:
                self._ledger.messages.rescued(known.id, self._now())
            intent = None if goal is None else self._intend(known, box, entry, goal, meant.why)
        if intent is not None:
            self._carry_out(intent, entry)

    def _place(self, box: Box, entry: Entry, unread: Unread, do: Do, summary: str = "") -> Known:
        name, now = parse_name(entry.name), self._now()
        known = self._ledger.messages.ensure(unread.digest, summary, now, unread.header_digest)
        # What lay here before the filter came stays that under any name: it does not become mail that was kept. And
        # what waits goes on waiting when it is renamed.
        here = {
            placed.origin
            for placed in self._ledger.files.of_message(known.id)
            if placed.folder == box.spot.id and placed.content == unread.delivery
        }
        origin: Origin = "before" if "before" in here else "appeared"
        if do is Do.WAIT or (do is Do.NOTHING and "waiting" in here):
            origin = "waiting"
        self._ledger.files.put(box.spot.id, name.key, known.id, origin, unread.delivery, name.flags, now)
        return known

    def _judge(self, box: Box, entry: Entry, unread: Unread) -> None:
        reading = unread.reading
        judgement = self._filter.judge(reading)
        alike = _ALIKE if self._ledger.messages.has_alike(unread.header_digest, unread.digest) else ""
        with self._ledger.transaction():
            known = self._place(box, entry, unread, Do.JUDGE, reading.summary)
            self._ledger.messages.judged(known.id, judgement.verdict, judgement.probability, self._now())
            then = self._consequence(judgement, entry, known)
            goal = {Goal.SPAM: self._boxes.mailbox.spam_folder, Goal.UNSURE: self._boxes.mailbox.unsure_folder}.get(
                then.goal
            )
            intent = None
            if goal is not None and goal != box.folder.name:
                why = f"{then.why}, probability {judgement.probability:.4f}{alike}"
                intent = self._intend(known, box, entry, goal, why, judgement)
            else:
                self._ledger.journal.judged(
                    known.id,
                    (box.spot.id, parse_name(entry.name).key),
                    judgement.verdict,
                    judgement.probability,
                    then.why + alike,
                    self._now(),
                    withheld=then.withheld,
                )
        what = f"{judgement.verdict} {judgement.probability:.4f} {self._named(reading)}"
        if intent is None:
            _log.info("%s: stays in %s, %s%s", what, box.folder.name, then.why, alike)
        elif self._carry_out(intent, entry):
            _log.info("%s: moved from %s to %s%s", what, box.folder.name, goal, alike)

    def _consequence(self, judgement: Judgement, entry: Entry, known: Known) -> Consequence:
        ham, spam = self._ledger.learned.totals()[:2].tolist()
        missing = missing_lessons(ham, spam, self._config.learning)
        return consequence(
            judgement.verdict,
            parse_name(entry.name),
            _decided(known),
            missing,
            self._tripped(not missing),
            self._boxes.mailbox.unsure_folder is not None,
            rescued=known.rescued_at is not None,
        )

    def _tripped(self, ready: bool) -> bool:
        """Whether moving is stopped: paused by a person, or by the circuit breaker, which an abnormal share opens."""
        if paused_until(self._ledger.note(PAUSE_NOTE), self._now()) is not None:
            return True
        if self._ledger.note(BREAKER_NOTE) is not None:
            return True
        since = float(self._ledger.note(RESUMED_NOTE) or 0.0)
        newest = self._ledger.messages.last_verdicts(self._config.breaker.window, since)
        if not ready or not trips(newest, self._config.breaker):
            return False
        self._ledger.set_note(BREAKER_NOTE, str(self._now()))
        _log.warning(
            "more than %.0f %% of the last %d messages look like spam: nothing is moved until `spamnb resume`."
            " Look at them with `spamnb history`, and correct what is wrong",
            100 * self._config.breaker.share,
            self._config.breaker.window,
        )
        return True

    def _intend(
        self, known: Known, box: Box, entry: Entry, goal: str, why: str, judgement: Judgement | None = None
    ) -> Intent:
        destination = self._boxes.named(goal).spot
        return self.mover.intend(known.id, box.spot, entry, destination, why, judgement=judgement)

    def _carry_out(self, intent: Intent, entry: Entry) -> bool:
        try:
            return self.mover.carry_out(intent, entry)
        except MaildirError as fault:
            _log.error("%s", fault)
            return False

    def learn(self, reading: Reading, label: int, why: str, *, weak: bool = False) -> None:
        """Learn a message as ham (0) or spam (1), and say so in the log if that is news.

        weak: nobody may have decided it. Who decides that a message is spam does not want it out of spam any more.
        """
        with self._ledger.transaction():
            changed = self._ledger.learned.learn([lesson(reading, label, why, self._now(), weak=weak)])
            if label == SPAM and not weak:
                known = self._ledger.messages.find(reading.digest)
                if known is not None and known.rescued_at is not None:
                    self._ledger.messages.rescued(known.id, None)
        for _, before in changed:
            was = "" if before is None else f" (it was {LABELS[before]}{', weakly' if before == label else ''})"
            _log.info(
                "learned %sas %s%s, %s: %s", "weakly " if weak else "", LABELS[label], was, why, self._named(reading)
            )

    def _named(self, message: Reading | Unread) -> str:
        """The message as the log names it: by subject and sender, unless these are to stay out of the log."""
        return message.summary if self._config.log.subjects else f"message {message.digest.hex()[:12]}"

    def look_at_waiting_soon(self) -> None:
        """A file was marked as deleted: another one may have waited for that."""
        self._second.due = self._now()

    def end_waiting(self) -> None:
        """Learn as ham what waited in the inbox for another file of its delivery to leave spam.

        But not what a person has called spam meanwhile: then the other file was deleted as spam.
        """
        for box, placed, has_left in self._second.ended():
            out_of_spam = has_left and not self._is_spam_since(placed)
            try:
                entry = locate(box.folder, placed.base, placed.flags) if out_of_spam else None
            except FolderUnavailableError:
                continue  # the comparison of the folders has said so, and the next one looks again
            raw = None if entry is None else self._boxes.read(box, entry)
            reading = None if raw is None else Unread(raw).reading
            if out_of_spam and reading is None:
                continue
            with self._ledger.transaction():
                self._ledger.files.set_origin(box.spot.id, placed.base, "appeared")
                if reading is not None:
                    self.learn(reading, HAM, "the other file of its delivery was taken out of spam")
                    self._ledger.messages.rescued(placed.message, self._now())

    def _is_spam_since(self, placed: Placed) -> bool:
        """Whether a person has called the message spam after its file appeared there."""
        known = self._ledger.messages.get(placed.message)
        return _decided(known) == SPAM and (known.learned_at or 0.0) > placed.since


def _decided(known: Known) -> int | None:
    """What a person has called the message: a weak label stands above no verdict."""
    return None if known.weak else known.label


def _are_known(name: Name, box: Box) -> bool:
    """Whether the folder's list of keywords says what each of the name's keyword letters means.

    QUIRK: Dovecot writes down what a new letter means a moment after the file that has it: moved before that, the
    message would lose the keyword.
    """
    return not name.keywords or read_keywords(box.folder).keys() >= set(name.keywords)
