"""One mailbox: its folders compared with the ledger, and each change handed to where it belongs."""

import contextlib
import logging
import os
from collections.abc import Mapping

from spamnb.base.label import How, Role, contradicts
from spamnb.base.wording import plural
from spamnb.config import Mailbox
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import KEYWORDS_FILE, Entry, read_keywords, scan
from spamnb.maildir.names import parse_name
from spamnb.rules.consequence import MARKS
from spamnb.rules.meaning import label_of_keywords
from spamnb.service.arrivals import Arrivals
from spamnb.service.context import Context
from spamnb.service.folders import Folders, WatchedFolder
from spamnb.service.log import LogOnce
from spamnb.service.mailbox_lock import MailboxLock
from spamnb.service.sent import SentMail
from spamnb.service.undecided import UndecidedFiles
from spamnb.service.weak_lessons import UntouchedMail

_log = logging.getLogger(__name__)
_MANY = 50  # files that dwell; fewer are sooner looked for one by one
_BATCH = 500  # files a transaction when a mailbox is first seen


class WatchedMailbox:
    """One mailbox of the configuration, over a ledger that it may share with others.

    has_begun: the mailbox was there since the start of the service, or came later.
    """

    def __init__(self, mailbox: Mailbox, context: Context) -> None:
        self.folders = Folders(mailbox, context)
        self.has_begun = False
        self._arrivals = Arrivals(self.folders, context)
        self._waiting = UndecidedFiles(self.folders, context)
        self._sent = SentMail(self.folders, context)
        self._untouched = UntouchedMail(self.folders, context)
        self.mover = self._arrivals.mover
        self.lock = MailboxLock()
        self._context = context
        self._learning = context.config.learning
        self._ledger = context.ledger
        self._now = context.now
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._unavailable = LogOnce(_log, count=lambda _: context.measurements.fault("disk"))
        self._compared_at = 0.0

    def open(self) -> None:
        """Find the folders, and lock the mailbox: another directory may have come in its place."""
        self.folders.refresh()
        self.lock.take(self.folders.named(self.folders.mailbox.inbox_folder), keep=self.folders.is_quiet)

    def start(self) -> None:
        """End what a crash left open; record the mail that is there when the mailbox is first seen."""
        self.folders.refresh()
        if resolved := self.mover.resolve():
            _log.info("ended %s that had been interrupted", plural(resolved, "move"))
        if self.folders.started_at is None:
            self._record_existing()
        self._sent.read_existing()
        self.has_begun = True

    def _record_existing(self) -> None:
        """Mail that was in the mailbox before the filter came is never moved; it is only known."""
        root, recorded = self.folders.root, 0
        for folder in self.folders:
            entries = scan(folder)
            for start in range(0, len(entries), _BATCH):
                with self._ledger.transaction():
                    recorded += sum(self._record(folder, entry) for entry in entries[start : start + _BATCH])
                self._context.alive(f"recording the mail in {root}: {recorded} messages")
        self.folders.started_at = self._now()
        self._ledger.locations.start(self.folders.id, self.folders.started_at)
        _log.info("recorded %s in %s; they will not be moved", plural(recorded, "existing message"), root)

    def _record(self, folder: WatchedFolder, entry: Entry) -> bool:
        unread = self.folders.read(folder, entry)
        if unread is None:
            return False
        name, now = parse_name(entry.name), self._now()
        known = self._ledger.messages.ensure(unread.digest, "", unread.header_digest)
        self._ledger.locations.put(folder.id, name.key, known.id, "before", unread.delivery, name.flags, now)
        return True

    def look(self, folder: WatchedFolder, entry: Entry) -> None:
        """Look at a file that may have appeared, or may have got other flags."""
        name = parse_name(entry.name)
        place = self._ledger.locations.get(folder.id, name.key)
        if place is None:
            self._arrivals.add(folder, entry)
        elif place.flags != name.flags:
            self._flags_changed(folder, {name.key: entry}, {name.key: place.flags})

    def _flags_changed(self, folder: WatchedFolder, changed: dict[str, Entry], before: Mapping[str, str]) -> None:
        """Record new flags; a client's junk keywords are learned when they change, not at each flag.

        Weakly, since software writes them too, unless they contradict the filter's verdict.
        """
        names = {key: parse_name(entry.name) for key, entry in changed.items()}
        if any(name.trashed for name in names.values()):
            self._waiting.due = self._now()  # another file may have waited for that
        wanted = self._learning.keywords and not folder.role.is_neutral
        has_keywords = wanted and any(name.keywords for name in names.values())
        keywords = read_keywords(folder) if has_keywords else {}
        # QUIRK: Dovecot gives the file its letter first, and writes down what a new letter means a moment later.
        # A letter without a meaning is not recorded: once it has one, the flags are seen to have changed.
        flags = {
            key: "".join(c for c in name.flags if c in keywords or not (has_keywords and c.islower()))
            for key, name in names.items()
        }
        for key, name in names.items() if has_keywords else ():
            was, label = (
                label_of_keywords(keywords.get(letter, "") for letter in letters if letter.islower())
                for letters in (before[key], name.flags)
            )
            unread = None if label in (was, None) else self.folders.read(folder, changed[key])
            if label is not None and unread is not None:
                message = self._ledger.messages.find(unread.digest)
                weak = not contradicts(label, None if message is None else message.verdict)
                self._context.learn(unread.reading, label, "marked by a mail client", how=How.KEYWORD, weak=weak)
        for key, name in names.items() if folder.role is Role.SPAM else ():
            if set(name.flags) & MARKS > set(before[key]) & MARKS:
                self._untouched.opened_spam(self._ledger.locations.get(folder.id, key))
        # After learning: killed before this, the same flags are learned once more.
        self._ledger.locations.flag(folder.id, [(key, new) for key, new in flags.items() if new != before[key]])

    def reconcile(self) -> None:
        """Compare the folders with the ledger: what appeared, what is gone, which flags changed, what was kept."""
        self.folders.refresh()
        self.folders.follow_renamed()
        self.mover.resolve()  # one that failed at its last step is ours: no person moved what is there
        self._ledger.record_lessons()  # learned when the ledger could not be written any more
        self._compare_all()
        self._untouched.learn_kept()
        self._untouched.learn_left_in_spam()

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough where they are.

        Where a message came from is listed once for a folder that a person filed, not once for each message in it.
        """
        self.mover.departures.touch()
        due, now = self._arrivals.due, self._now()
        if self.folders.make_at is not None and self.folders.make_at <= now:
            self.folders.refresh()
        is_due = due is not None and due <= now and due - self._learning.dwell_seconds >= self._compared_at
        if is_due and len(self._arrivals) >= _MANY:
            self._compare_all()
        if self._waiting.due is not None and self._waiting.due <= now:
            self._waiting.end()
        self._arrivals.act_on_due()

    def due(self, *, departures: bool = True) -> float | None:
        """When `act_on_due` has something to do, in seconds since the epoch, or None; `departures`: these count too."""
        departed = self.mover.departures.due() if departures else None
        dues = self._arrivals.due, self._waiting.due, self.folders.make_at, departed
        return min((due for due in dues if due is not None), default=None)

    def _compare_all(self) -> None:
        self._compared_at = self._now()
        for folder in self.folders:
            try:
                self._compare(folder)
            except FolderUnavailableError as fault:
                self._unavailable.log(folder.path, str(fault))
                self._stamps.pop(folder.path, None)
            else:
                self._unavailable.over(folder.path)
        self._waiting.end()

    def _compare(self, folder: WatchedFolder) -> None:
        stamp = _stamp(folder)
        if stamp == self._stamps.get(folder.path):
            return
        known = self._ledger.locations.files_in(folder.id)
        found = {parse_name(entry.name).key: entry for entry in scan(folder)}
        if missing := known.keys() - found.keys():
            found |= {parse_name(entry.name).key: entry for entry in scan(folder)}
            if not found and self.folders.is_bare():
                return
            gone = missing - found.keys()
            for key in gone if folder.role is Role.SPAM else ():
                self._untouched.opened_spam(self._ledger.locations.get(folder.id, key))
            self._ledger.locations.gone(folder.id, gone, self._now())
        changed = {
            key: entry for key, entry in found.items() if key in known and parse_name(entry.name).flags != known[key]
        }
        if changed:
            self._flags_changed(folder, changed, known)
        for key, entry in found.items():
            if key not in known:
                self.look(folder, entry)
                self._context.alive(f"looking at {folder.name} in {self.folders.root}")
        if any(entry.path(folder) in self.folders.unreadable for entry in found.values()):
            return  # that it can be read leaves the same stamp
        # A change within the same tick of the clock would leave the same stamp: do not keep a recent one.
        if self._now() - max(stamp) / 1e9 > 2:
            self._stamps[folder.path] = stamp


def _stamp(folder: WatchedFolder) -> tuple[int, ...]:
    """Times that change with what is in the folder, in nanoseconds since the epoch."""
    try:
        times = [os.stat(folder.subdir(subdir)).st_mtime_ns for subdir in ("new", "cur")]
    except OSError as fault:
        raise FolderUnavailableError(
            f"cannot look at {folder.path}: {fault.strerror}; its messages are unknown until it is back"
        ) from fault
    with contextlib.suppress(OSError):
        times.append(os.lstat(folder.subdir(KEYWORDS_FILE)).st_mtime_ns)
    return tuple(times)
