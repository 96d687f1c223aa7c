"""One mailbox: its folders compared with the ledger, and each change handed to where it belongs."""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping

from spamnb.config import Config, Mailbox, Role
from spamnb.ledger.learned import HAM
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import digests
from spamnb.mail.reading import read
from spamnb.maildir.folders import Folder, FolderUnavailableError
from spamnb.maildir.keywords import KEYWORDS_FILE, read_keywords
from spamnb.maildir.mailbox import Entry, locate, scan
from spamnb.maildir.names import Name, parse_name
from spamnb.policy import is_kept, labelled, speaks_by_staying, takes_back
from spamnb.service.arrivals import Arrivals
from spamnb.service.boxes import Box, Boxes
from spamnb.service.once import Once
from spamnb.service.renamed import follow_renamed

_log = logging.getLogger(__name__)
_MANY = 50  # files that wait; fewer are sooner looked for one by one
_BATCH = 500  # files a transaction when a mailbox is first seen


class Sorter:
    """One mailbox of the configuration, over a ledger that it may share with others.

    `now` gives seconds since the epoch, `bases` unique base names, `role_of` the role of any folder of any
    mailbox (see `Boxes`). `alive` is called in long work, with what it is, outside any transaction; it may raise to
    end it.
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
        self._boxes = Boxes(mailbox, ledger, role_of)
        self._arrivals = Arrivals(self._boxes, config, ledger, now=now, bases=bases, alive=alive)
        self.id, self.mover = self._boxes.id, self._arrivals.mover
        self.refresh = self._boxes.refresh
        self._config = config
        self._ledger = ledger
        self._now = now
        self._alive = alive
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._unavailable = Once(_log)
        self._compared_at = 0.0

    def start(self) -> None:
        """End what a crash left open; take note of the mail that lies there when the mailbox is first seen."""
        self.refresh()
        if resolved := self.mover.resolve():
            _log.info("ended %d move%s that had been interrupted", resolved, "s" if resolved > 1 else "")
        if self._boxes.started_at is None:
            self._take_note()

    def _take_note(self) -> None:
        """Mail that lay in the mailbox before the filter came is never moved; it is only known."""
        noted = 0
        for box in self._boxes:
            entries = scan(box.folder)
            for start in range(0, len(entries), _BATCH):
                with self._ledger.transaction():
                    noted += sum(self._note_one(box, entry) for entry in entries[start : start + _BATCH])
                self._alive(f"taking note of the mail in {self._boxes.root}: {noted} messages")
        self._boxes.started_at = self._now()
        self._ledger.files.start(self.id, self._boxes.started_at)
        _log.info("took note of %d messages in %s: they stay where they are", noted, self._boxes.root)

    def _note_one(self, box: Box, entry: Entry) -> bool:
        raw = self._boxes.read(box, entry)
        if raw is None:
            return False
        name, now = parse_name(entry.name), self._now()
        identity, header, delivery = digests(raw)
        known = self._ledger.messages.ensure(identity, "", now, header)
        self._ledger.files.put(box.spot.id, name.key, known.id, "before", delivery, name.flags, now)
        return True

    def hint(self, folder: str, entry: Entry) -> None:
        """A file may have appeared in the folder of that path."""
        box = self._boxes.at(folder)
        if box is None:
            self.reconcile()
            return
        self._look(box, entry)

    def _look(self, box: Box, entry: Entry) -> None:
        name = parse_name(entry.name)
        placed = self._ledger.files.get(box.spot.id, name.key)
        if placed is None:
            self._arrivals.look(box, entry)
        elif placed.flags != name.flags:
            self._flags_changed(box, {name.key: entry}, {name.key: placed.flags})

    def _flags_changed(self, box: Box, changed: dict[str, Entry], before: Mapping[str, str]) -> None:
        """New flags are recorded; a client's junk keywords are a lesson when they change, not at each flag.

        A weak one, since software writes them too, unless it takes back what the filter said.
        """
        names = {key: parse_name(entry.name) for key, entry in changed.items()}
        if any(name.trashed for name in names.values()):
            self._arrivals.look_at_waiting_soon()
        heard = self._config.learning.keywords and box.role is not Role.NEUTRAL
        if not heard or not any(name.keywords for name in names.values()):
            self._ledger.files.flag(box.spot.id, [(key, name.flags) for key, name in names.items()])
            return
        keywords = read_keywords(box.folder)
        # QUIRK: Dovecot gives the file its letter first, and writes down what a new letter means a moment later.
        # A letter without a meaning is not noted: once it has one, the flags are seen to have changed.
        known = {
            key: "".join(letter for letter in name.flags if not letter.islower() or letter in keywords)
            for key, name in names.items()
        }
        self._ledger.files.flag(box.spot.id, [(key, flags) for key, flags in known.items() if flags != before[key]])
        for key, name in names.items():
            was, label = (
                labelled([keywords.get(letter, "") for letter in flags if letter.islower()])
                for flags in (before[key], name.flags)
            )
            if label == was:
                continue
            raw = None if label is None else self._boxes.read(box, changed[key])
            if label is not None and raw is not None:
                reading = read(raw)
                message = self._ledger.messages.find(reading.digest)
                weak = not takes_back(label, None if message is None else message.verdict)
                self._arrivals.learn(reading, label, "marked by a mail client", weak=weak)

    def reconcile(self) -> None:
        """Compare the folders with the ledger: what appeared, what is gone, which flags changed, what was kept."""
        self.refresh()
        follow_renamed(self._boxes, self._ledger, self._now())
        self.mover.resolve()  # one that failed at its last step is ours: what lies there was put by no person
        self._compare_all()
        if self._config.learning.kept:
            self._learn_kept()

    def settle(self) -> None:
        """Act on the files that have dwelt long enough where they are.

        Where a message came from is listed once for a folder that someone filed, not once for each message in it:
        with 30,000 files in the inbox that took 54 ms a message, and takes 3 ms.
        """
        self.mover.departures.touch()
        due, now = self._arrivals.due(), self._now()
        is_due = due is not None and due <= now and due - self._config.learning.dwell_seconds >= self._compared_at
        if is_due and self._arrivals.waiting >= _MANY:
            self._compare_all()
        self._arrivals.settle()

    def due(self) -> float | None:
        """When `settle` has something to do, in seconds since the epoch, or None."""
        dues = self._arrivals.due(), self.mover.departures.due()
        return min((due for due in dues if due is not None), default=None)

    def _compare_all(self) -> None:
        self._compared_at = self._now()
        for box in self._boxes:
            try:
                self._compare(box)
            except FolderUnavailableError as fault:
                self._unavailable.say(box.folder.path, str(fault))
                self._stamps.pop(box.folder.path, None)
            else:
                self._unavailable.over(box.folder.path)
        self._arrivals.end_waiting()

    def _compare(self, box: Box) -> None:
        stamp = self._stamp(box)
        if stamp == self._stamps.get(box.folder.path):
            return
        lying = self._ledger.files.lying_in(box.spot.id)
        found = {parse_name(entry.name).key: entry for entry in scan(box.folder)}
        missing = lying.keys() - found.keys()
        if missing:
            found |= {parse_name(entry.name).key: entry for entry in scan(box.folder)}
            if not found and self._is_bare():
                return
            self._ledger.files.gone(box.spot.id, missing - found.keys(), self._now())
        changed = {
            key: entry for key, entry in found.items() if key in lying and parse_name(entry.name).flags != lying[key]
        }
        if changed:
            self._flags_changed(box, changed, lying)
        for key, entry in found.items():
            if key not in lying:
                self._look(box, entry)
                self._alive(f"looking at {box.folder.name} in {self._boxes.root}")
        if any(self._boxes.is_unreadable(box, entry) for entry in found.values()):
            return  # that it can be read leaves the same stamp
        # A change within the clock's grain after we looked would leave the same stamp: do not keep a young one.
        if self._now() - max(stamp) / 1e9 > 2:
            self._stamps[box.folder.path] = stamp

    def _is_bare(self) -> bool:
        """Whether not one message lies in the mailbox: the directories below a mount point may look like one.

        Nothing is noted as gone then: what is not gone need not come back.
        """
        try:
            return not any(scan(box.folder) for box in self._boxes)
        except FolderUnavailableError:
            return False

    def present(self) -> set[str] | None:
        """The names of the folders as they were when last looked at; None where the disk may not be mounted."""
        return None if self._is_bare() else {folder.name for folder in self.folders}

    @property
    def folders(self) -> list[Folder]:
        """The folders as they were when last looked at."""
        return [box.folder for box in self._boxes]

    @property
    def inbox(self) -> Folder:
        """The folder that mail returns to; it was there when last looked at."""
        return self._boxes.named(self._boxes.mailbox.inbox_folder).folder

    @property
    def is_started(self) -> bool:
        """Whether the mailbox has been watched before."""
        return self._boxes.started_at is not None

    def _stamp(self, box: Box) -> tuple[int, ...]:
        try:
            times = [os.stat(box.folder.subdir(subdir)).st_mtime_ns for subdir in ("new", "cur")]
        except OSError as fault:
            raise FolderUnavailableError(
                f"cannot look at {box.folder.path}: {fault.strerror}; its messages are unknown until it is back"
            ) from fault
        with contextlib.suppress(OSError):
            times.append(os.lstat(box.folder.subdir(KEYWORDS_FILE)).st_mtime_ns)
        return tuple(times)

    def _learn_kept(self) -> None:
        now = self._now()
        for box in self._boxes:
            if not speaks_by_staying(box.role, box.unsure, self._config.learning):
                continue
            for placed in self._ledger.files.unlearned(box.spot.id):
                name = Name(placed.base).with_flags(placed.flags)
                if not is_kept(name, box.role, now - placed.since, self._config.learning):
                    continue
                if placed.origin == "waiting" and not name.replied:
                    continue
                try:
                    entry = locate(box.folder, placed.base, placed.flags)
                except FolderUnavailableError:
                    break
                raw = None if entry is None else self._boxes.read(box, entry)
                if raw is not None:
                    why = "answered" if name.replied else "read and kept"
                    self._arrivals.learn(read(raw), HAM, why, weak=not name.replied)
                    self._alive(f"learning what was kept in {self._boxes.root}")
