"""The work on one mailbox: what appears in it is looked at, judged or learned from, and moved.

What a place means is decided by `policy`; this module finds out what is asked there, and does what it says.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.config import Config, Mailbox, Role
from spamnb.errors import MaildirError
from spamnb.filter import Filter, Judgement, lesson
from spamnb.ledger.files import Placed
from spamnb.ledger.learned import HAM, SPAM
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.messages import Known
from spamnb.mail.identity import delivery, identity
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import Reading, read
from spamnb.maildir.folders import Folder, FolderUnavailableError, create_folder, find_folders
from spamnb.maildir.keywords import read_keywords
from spamnb.maildir.mailbox import Entry, locate, read_bytes, scan
from spamnb.maildir.names import Name, parse_name
from spamnb.moves import Intent, Mover, Spot
from spamnb.policy import (
    BREAKER_NOTE,
    RESUMED_NOTE,
    Consequence,
    Do,
    Goal,
    Meaning,
    Trace,
    consequence,
    is_kept,
    labelled,
    meaning,
    missing_lessons,
    trips,
)

_log = logging.getLogger(__name__)
_BATCH = 500  # files a transaction when a mailbox is first seen
_WORDS = ("ham", "spam")


@dataclass(frozen=True, slots=True)
class Box:
    """A folder with its role; `unsure` marks the one for unsure mail."""

    spot: Spot
    role: Role
    unsure: bool

    @property
    def folder(self) -> Folder:
        """The folder on disk."""
        return self.spot.folder


class Sorter:
    """One mailbox of the configuration, over a ledger that it may share with others.

    `now` gives seconds since the epoch, `bases` unique base names, `role_of` the role of any folder of any
    mailbox by the mailbox's id and the folder's name, `alive` is called in long work.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        config: Config,
        ledger: Ledger,
        *,
        now: Callable[[], float],
        bases: Iterator[str],
        role_of: Callable[[int, str], tuple[Role, bool]],
        alive: Callable[[str], None] = lambda status: None,
    ) -> None:
        self.mailbox = mailbox
        self.root = str(mailbox.path)
        self.id, self._started_at = ledger.files.mailbox(self.root)
        self._config = config
        self._ledger = ledger
        self._filter = Filter(ledger.learned, config.scoring)
        self._now = now
        self._role_of = role_of
        self._alive = alive
        self._mover = Mover(ledger, now, bases, self.spot)
        self._boxes: dict[str, Box] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self._waiting: dict[tuple[str, str], float] = {}

    # Folders.

    def refresh(self) -> list[Folder]:
        """Look which folders there are, and make the ones that the filter moves mail to. Returns those found."""
        found = find_folders(self.root, self.mailbox.layout)
        names = {folder.name for folder in found}
        for wanted in (self.mailbox.spam_folder, self.mailbox.unsure_folder):
            if wanted is not None and wanted not in names:
                found = (*found, create_folder(self.root, self.mailbox.layout, wanted))
                _log.info("made the folder %s in %s", wanted, self.root)
        if self.mailbox.inbox_folder not in names:
            raise MaildirError(
                f"{self.root} has no folder {self.mailbox.inbox_folder!r}: set the role `inbox` in the configuration"
            )
        self._boxes = {folder.path: self._box(folder) for folder in found}
        return list(found)

    def spot(self, folder: int) -> Spot | None:
        """A folder of this mailbox by the ledger's id, or None."""
        return next((box.spot for box in self._boxes.values() if box.spot.id == folder), None)

    def _box(self, folder: Folder) -> Box:
        role, unsure = self._role_of(self.id, folder.name)
        return Box(Spot(self._ledger.files.folder(self.id, folder.name), folder), role, unsure)

    # From the start.

    def start(self) -> None:
        """End what a crash left open; take note of the mail that lies there when the mailbox is first seen."""
        self.refresh()
        if resolved := self._mover.resolve():
            _log.info("ended %d move%s that had been interrupted", resolved, "s" if resolved > 1 else "")
        if self._started_at is None:
            self._take_note()

    def _take_note(self) -> None:
        """Mail that lay in the mailbox before the filter came is never moved; it is only known."""
        noted = 0
        for box in self._boxes.values():
            entries = scan(box.folder)
            for start in range(0, len(entries), _BATCH):
                with self._ledger.transaction():
                    noted += sum(self._note_one(box, entry) for entry in entries[start : start + _BATCH])
                self._alive(f"taking note of the mail in {self.root}: {noted} messages")
        self._started_at = self._now()
        self._ledger.files.start(self.id, self._started_at)
        _log.info("took note of %d messages in %s: they stay where they are", noted, self.root)

    def _note_one(self, box: Box, entry: Entry) -> bool:
        raw = self._bytes(box, entry)
        if raw is None:
            return False
        name, now = parse_name(entry.name), self._now()
        known = self._ledger.messages.ensure(identity(raw), "", now)
        self._ledger.files.put(box.spot.id, name.key, known.id, "before", delivery(raw), name.flags, now)
        return True

    # What appears.

    def hint(self, folder: str, entry: Entry) -> None:
        """A file may have appeared in the folder of that path."""
        box = self._boxes.get(folder)
        if box is None:
            self.reconcile()
            return
        self._look(box, entry)

    def _look(self, box: Box, entry: Entry) -> None:
        """New mail is judged at once; what may be a person's move is put off for the dwell."""
        name = parse_name(entry.name)
        placed = self._ledger.files.get(box.spot.id, name.key)
        if placed is not None:
            if placed.flags != name.flags:
                self._flags_changed(box, {name.key: entry})
            return
        if (box.folder.path, name.key) in self._waiting:
            return
        if box.role is Role.INBOX and not box.unsure:
            raw = self._bytes(box, entry)
            if raw is not None and self._ledger.messages.find(identity(raw)) is None:
                self._act(box, entry, raw)
                return
        self._waiting[box.folder.path, name.key] = self._dwell_ends(box, entry)

    def due(self) -> float | None:
        """When the next file that was put off has dwelt long enough, or None."""
        return min(self._waiting.values(), default=None)

    def settle(self) -> None:
        """Act on the files that have dwelt long enough where they are."""
        now = self._now()
        for (path, key), due in sorted(self._waiting.items(), key=lambda waiting: waiting[1]):
            if due > now:
                break
            del self._waiting[path, key]
            box = self._boxes.get(path)
            if box is None or self._ledger.files.get(box.spot.id, key) is not None:
                continue
            try:
                entry = locate(box.folder, key)
            except FolderUnavailableError:
                continue
            raw = None if entry is None else self._bytes(box, entry)
            if entry is not None and raw is not None:
                self._act(box, entry, raw)

    def _dwell_ends(self, box: Box, entry: Entry) -> float:
        """When the file has lain there for the dwell; a rename sets the time of a file's last status change."""
        now, dwell = self._now(), self._config.learning.dwell_seconds
        try:
            appeared = os.lstat(entry.path(box.folder)).st_ctime
        except OSError:
            return now
        return min(appeared, now) + dwell

    def _act(self, box: Box, entry: Entry, raw: bytes) -> None:
        reading = read(raw)
        known = self._ledger.messages.find(reading.digest)
        traces = [] if known is None else self._traces(known, reading, box, entry)
        meant = meaning(box.role, box.unsure, None if known is None else known.label, traces)
        if meant.do is Do.JUDGE:
            self._judge(box, entry, reading)
        else:
            self._obey(meant, box, entry, reading)

    def _traces(self, known: Known, reading: Reading, box: Box, entry: Entry) -> list[Trace]:
        """The other places of a message: whether it still lies there is looked up now."""
        return [
            self._trace(placed, reading, box, entry)
            for placed in self._ledger.files.of_message(known.id)
            if not (placed.folder == box.spot.id and placed.base == parse_name(entry.name).key)
        ]

    def _trace(self, placed: Placed, reading: Reading, box: Box, entry: Entry) -> Trace:
        role, unsure = self._role_of(placed.mailbox, placed.folder_name)
        left, same_file = placed.gone_at is not None, False
        spot = self.spot(placed.folder)
        if not left and spot is not None:
            try:
                there = locate(spot.folder, placed.base)
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
        )

    def _obey(self, meant: Meaning, box: Box, entry: Entry, reading: Reading) -> None:
        label = {
            Do.LEARN_HAM: HAM, Do.LEARN_HAM_AND_FILE: HAM, Do.LEARN_SPAM: SPAM, Do.LEARN_SPAM_AND_FILE: SPAM
        }.get(meant.do)  # fmt: skip
        goal = {
            Do.LEARN_SPAM_AND_FILE: self.mailbox.spam_folder, Do.LEARN_HAM_AND_FILE: self.mailbox.inbox_folder
        }.get(meant.do)  # fmt: skip
        with self._ledger.transaction():
            known = self._place(box, entry, reading)
            if label is not None:
                self._learn(reading, label, meant.why)
            intent = None if goal is None else self._intend(known, box, entry, goal, meant.why)
        if intent is not None:
            self._carry_out(intent, entry)

    def _place(self, box: Box, entry: Entry, reading: Reading) -> Known:
        name, now = parse_name(entry.name), self._now()
        known = self._ledger.messages.ensure(reading.digest, reading.summary, now)
        self._ledger.files.put(box.spot.id, name.key, known.id, "appeared", reading.delivery, name.flags, now)
        return known

    # Judging and learning.

    def _judge(self, box: Box, entry: Entry, reading: Reading) -> None:
        judgement = self._filter.judge(reading)
        with self._ledger.transaction():
            known = self._place(box, entry, reading)
            self._ledger.messages.judged(known.id, judgement.verdict, judgement.probability, self._now())
            then = self._consequence(judgement, entry, known)
            goal = {Goal.SPAM: self.mailbox.spam_folder, Goal.UNSURE: self.mailbox.unsure_folder}.get(then.goal)
            intent = None
            if goal is not None and goal != box.folder.name:
                intent = self._intend(known, box, entry, goal, f"{then.why}, probability {judgement.probability:.4f}")
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
            self.mailbox.unsure_folder is not None,
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

    def _intend(self, known: Known, box: Box, entry: Entry, goal: str, why: str) -> Intent:
        destination = next(other.spot for other in self._boxes.values() if other.folder.name == goal)
        return self._mover.intend(known.id, box.spot, entry, destination, why)

    def _carry_out(self, intent: Intent, entry: Entry) -> bool:
        try:
            return self._mover.carry_out(intent, entry)
        except MaildirError as fault:
            _log.error("%s", fault)
            return False

    def _learn(self, reading: Reading, label: int, why: str) -> None:
        for _, before in self._ledger.learned.learn([lesson(reading, label, why, self._now())]):
            was = "" if before is None else f" (it was {_WORDS[before]})"
            _log.info("learned as %s%s, %s: %s", _WORDS[label], was, why, reading.summary)

    def _flags_changed(self, box: Box, changed: dict[str, Entry]) -> None:
        """New flags are noted; a client's junk keywords among them are a person's word."""
        names = {key: parse_name(entry.name) for key, entry in changed.items()}
        self._ledger.files.flag(box.spot.id, [(key, name.flags) for key, name in names.items()])
        if not self._config.learning.keywords or box.role is Role.NEUTRAL:
            return
        if not any(name.keywords for name in names.values()):
            return
        keywords = read_keywords(box.folder)
        for key, name in names.items():
            label = labelled([keywords.get(letter, "") for letter in name.keywords])
            raw = None if label is None else self._bytes(box, changed[key])
            if label is not None and raw is not None:
                self._learn(read(raw), label, "marked by a mail client")

    # Comparing folders with the ledger.

    def reconcile(self) -> None:
        """Compare the folders with the ledger: what appeared, what is gone, which flags changed, what was kept."""
        self.refresh()
        for box in list(self._boxes.values()):
            try:
                self._compare(box)
            except FolderUnavailableError as fault:
                _log.warning("%s", fault)
                self._stamps.pop(box.folder.path, None)
        if self._config.learning.kept:
            self._learn_kept()

    def _compare(self, box: Box) -> None:
        stamp = self._stamp(box)
        if stamp == self._stamps.get(box.folder.path):
            return
        lying = self._ledger.files.lying_in(box.spot.id)
        found = {parse_name(entry.name).key: entry for entry in scan(box.folder)}
        missing = lying.keys() - found.keys()
        if missing:
            found |= {parse_name(entry.name).key: entry for entry in scan(box.folder)}
            self._ledger.files.gone(box.spot.id, missing - found.keys(), self._now())
        changed = {
            key: entry for key, entry in found.items() if key in lying and parse_name(entry.name).flags != lying[key]
        }
        if changed:
            self._flags_changed(box, changed)
        for number, (key, entry) in enumerate(found.items()):
            if key not in lying:
                self._look(box, entry)
                if number % _BATCH == 0:
                    self._alive(f"looking at {box.folder.name} in {self.root}")
        # A change within the clock's grain after we looked would leave the same stamp: do not keep a young one.
        if self._now() - max(stamp) / 1e9 > 2:
            self._stamps[box.folder.path] = stamp

    def _stamp(self, box: Box) -> tuple[int, int]:
        try:
            new, cur = (os.stat(box.folder.subdir(subdir)).st_mtime_ns for subdir in ("new", "cur"))
        except OSError as fault:
            raise FolderUnavailableError(
                f"cannot look at {box.folder.path}: {fault.strerror}; its messages are unknown until it is back"
            ) from fault
        return new, cur

    def _learn_kept(self) -> None:
        now = self._now()
        for box in self._boxes.values():
            for placed in self._ledger.files.unlearned(box.spot.id):
                name = Name(placed.base).with_flags(placed.flags)
                if box.unsure or not is_kept(name, box.role, now - placed.since, self._config.learning):
                    continue
                try:
                    entry = locate(box.folder, placed.base)
                except FolderUnavailableError:
                    break
                raw = None if entry is None else self._bytes(box, entry)
                if raw is not None:
                    self._learn(read(raw), HAM, "answered" if name.replied else "read and kept")

    def _bytes(self, box: Box, entry: Entry) -> bytes | None:
        """A file's bytes up to the limit; None where it is gone, or cannot be read."""
        try:
            return read_bytes(entry.path(box.folder), DEFAULT_LIMITS.message_bytes + 1)[0]
        except FileNotFoundError:
            return None
        except MaildirError as fault:
            _log.warning("%s", fault)
            return None


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
