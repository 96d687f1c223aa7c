"""What appears in a mailbox: looked at, judged or learned from, and moved.

What a place means is decided by `policy`; this module finds out what is asked there, and does what it says.
"""

import heapq
import logging
import os
from collections.abc import Callable, Iterator

from spamnb.config import Config, Role
from spamnb.errors import MaildirError
from spamnb.filter import Filter, Judgement
from spamnb.ledger.files import Origin, Placed
from spamnb.ledger.learned import HAM, SPAM
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import lesson
from spamnb.ledger.messages import Known
from spamnb.mail.identity import identity
from spamnb.mail.reading import Reading, read
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.keywords import read_keywords
from spamnb.maildir.links import IN_HAND_SECONDS, in_hand_until
from spamnb.maildir.mailbox import Entry, locate
from spamnb.maildir.names import Name, parse_name
from spamnb.moves import Intent, Mover
from spamnb.policy import (
    BREAKER_NOTE,
    COPY_SECONDS,
    RESUMED_NOTE,
    Consequence,
    Do,
    Goal,
    Meaning,
    Trace,
    consequence,
    meaning,
    missing_lessons,
    trips,
)
from spamnb.service.boxes import Box, Boxes

_log = logging.getLogger(__name__)
_WORDS = ("ham", "spam")
_SLICE = 0.05  # seconds
_MANY = 10  # messages that a person copies one by one, by hand


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
            if raw is not None and self._ledger.messages.find(identity(raw)) is None:
                self._act(box, entry, raw)
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
        return self._order[0][0] if self._order else None

    def settle(self) -> None:
        """Act on the files that have dwelt long enough where they are; of many, on some, so that new mail gets in."""
        now, dwell = self._now(), self._config.learning.dwell_seconds
        latest = now + max(dwell, IN_HAND_SECONDS)
        if self._order and self._order[0][0] > latest:  # the clock was set back: none waits for a day
            self._order = [(latest, path, key) for _, path, key in self._order]
        if (due := self.due()) is None or due > now:
            return
        self.mover.resolve()  # what a move left open lies there by the filter's hand, not by a person's
        while self._order and self._order[0][0] <= now and self._now() < now + _SLICE:
            _, path, key = self._order[0]
            try:
                self._settle_one(path, key)
            except FolderUnavailableError:
                heapq.heapreplace(self._order, (now + dwell, path, key))
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
            self._act(box, entry, raw)

    def _dwell_ends(self, box: Box, entry: Entry) -> float:
        """When the file has lain there for the dwell."""
        return self._appeared(box, entry) + self._config.learning.dwell_seconds

    def _appeared(self, box: Box, entry: Entry) -> float:
        """Since when the file has lain there; a rename sets the time of a file's last status change."""
        now = self._now()
        try:
            return min(os.lstat(entry.path(box.folder)).st_ctime, now)
        except OSError:
            return now

    def _act(self, box: Box, entry: Entry, raw: bytes) -> None:
        reading = read(raw)
        known = self._ledger.messages.find(reading.digest)
        traces = [] if known is None else self._traces(known, reading, box, entry)
        meant = meaning(
            box.role,
            box.unsure,
            None if known is None else known.label,
            traces,
            same_name=known is not None and self._had_its_name(known, box, entry),
            many=self._now() < self._many_until,
            named=box.folder.name in self._boxes.mailbox.roles,
        )
        if meant.do is Do.JUDGE:
            self._judge(box, entry, reading)
        else:
            self._obey(meant, box, entry, reading)

    def _had_its_name(self, known: Known, box: Box, entry: Entry) -> bool:
        """Whether the message has lain in this folder before, under the name it has now."""
        last = self._ledger.files.last(box.spot.id, parse_name(entry.name).key)
        return last is not None and last.message == known.id

    def _traces(self, known: Known, reading: Reading, box: Box, entry: Entry) -> list[Trace]:
        """Where else a message lies or has lain, this very place before among it: looked up now."""
        appeared = self._appeared(box, entry)
        places = self._ledger.files.of_message(known.id)
        return [self._trace(placed, reading, box, entry, appeared) for placed in places]

    def _trace(self, placed: Placed, reading: Reading, box: Box, entry: Entry, appeared: float) -> Trace:
        role, unsure = self._boxes.role_of(placed.mailbox, placed.folder_name)
        left, same_file = placed.gone_at is not None, False
        spot = self._boxes.spot(placed.folder)
        if not left and spot is not None:
            try:
                there = locate(spot.folder, placed.base, placed.flags)
            except FolderUnavailableError:
                there = Entry("", "")  # unknown is not gone
            if there is None:
                left = True
                self._ledger.files.gone(placed.folder, [placed.base], self._now())
            elif there.name:
                left = parse_name(there.name).trashed
                same_file = _same_file(there.path(spot.folder), entry.path(box.folder))
        return Trace(
            role=role,
            unsure=unsure,
            same_folder=placed.folder == box.spot.id,
            by_filter=placed.origin == "filter",
            left=left,
            same_delivery=placed.content == reading.delivery,
            same_file=same_file,
            since=placed.since,
            lag=appeared - placed.since,
            lately=placed.gone_at is None or placed.gone_at >= appeared - COPY_SECONDS,
        )

    def _obey(self, meant: Meaning, box: Box, entry: Entry, reading: Reading) -> None:
        mailbox = self._boxes.mailbox
        label, goal = {
            Do.LEARN_HAM: (HAM, None),
            Do.LEARN_SPAM: (SPAM, None),
            Do.LEARN_HAM_AND_FILE: (HAM, mailbox.inbox_folder),
            Do.LEARN_SPAM_AND_FILE: (SPAM, mailbox.spam_folder),
        }.get(meant.do, (None, None))
        with self._ledger.transaction():
            known = self._place(box, entry, reading)
            if label is not None:
                self.learn(reading, label, meant.why)
            intent = None if goal is None else self._intend(known, box, entry, goal, meant.why)
        if intent is not None:
            self._carry_out(intent, entry)

    def _place(self, box: Box, entry: Entry, reading: Reading) -> Known:
        name, now = parse_name(entry.name), self._now()
        known = self._ledger.messages.ensure(reading.digest, reading.summary, now)
        # What lay here before the filter came stays that under any name: it does not become mail that was kept.
        lay_before = any(
            placed.folder == box.spot.id and placed.origin == "before" and placed.content == reading.delivery
            for placed in self._ledger.files.of_message(known.id)
        )
        origin: Origin = "before" if lay_before else "appeared"
        self._ledger.files.put(box.spot.id, name.key, known.id, origin, reading.delivery, name.flags, now)
        return known

    def _judge(self, box: Box, entry: Entry, reading: Reading) -> None:
        judgement = self._filter.judge(reading)
        with self._ledger.transaction():
            known = self._place(box, entry, reading)
            self._ledger.messages.judged(known.id, judgement.verdict, judgement.probability, self._now())
            then = self._consequence(judgement, entry, known)
            goal = {Goal.SPAM: self._boxes.mailbox.spam_folder, Goal.UNSURE: self._boxes.mailbox.unsure_folder}.get(
                then.goal
            )
            intent = None
            if goal is not None and goal != box.folder.name:
                why = f"{then.why}, probability {judgement.probability:.4f}"
                intent = self._intend(known, box, entry, goal, why, judgement)
            else:
                self._ledger.journal.judged(
                    known.id,
                    (box.spot.id, parse_name(entry.name).key),
                    judgement.verdict,
                    judgement.probability,
                    then.why,
                    self._now(),
                    withheld=then.withheld,
                )
        what = f"{judgement.verdict} {judgement.probability:.4f} {reading.summary}"
        if intent is None:
            _log.info("%s: stays in %s, %s", what, box.folder.name, then.why)
        elif self._carry_out(intent, entry):
            _log.info("%s: moved from %s to %s", what, box.folder.name, goal)

    def _consequence(self, judgement: Judgement, entry: Entry, known: Known) -> Consequence:
        ham, spam = self._ledger.learned.totals()[:2].tolist()
        missing = missing_lessons(ham, spam, self._config.learning)
        return consequence(
            judgement.verdict,
            parse_name(entry.name),
            known.label,
            missing,
            self._tripped(not missing),
            self._boxes.mailbox.unsure_folder is not None,
        )

    def _tripped(self, ready: bool) -> bool:
        """Whether the circuit breaker is open; opens it where an abnormal share of new mail is spam."""
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

    def learn(self, reading: Reading, label: int, why: str) -> None:
        """Learn a message as ham (0) or spam (1), and say so in the log if that is news."""
        for _, before in self._ledger.learned.learn([lesson(reading, label, why, self._now())]):
            was = "" if before is None else f" (it was {_WORDS[before]})"
            _log.info("learned as %s%s, %s: %s", _WORDS[label], was, why, reading.summary)


def _are_known(name: Name, box: Box) -> bool:
    """Whether the folder's list of keywords says what each of the name's keyword letters means.

    QUIRK: Dovecot writes down what a new letter means a moment after the file that has it: moved before that, the
    message would lose the keyword.
    """
    return not name.keywords or read_keywords(box.folder).keys() >= set(name.keywords)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
