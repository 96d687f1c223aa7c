"""One mailbox: it compares the folders with the ledger, and hands each change to its place."""

import contextlib
import logging
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping

from spamnb.base.label import Role
from spamnb.base.wording import plural
from spamnb.config import Mailbox
from spamnb.identity.values import Digests
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import KEYWORDS_FILE, Entry, read_keywords
from spamnb.maildir.names import Name, parse_name
from spamnb.rules.destination import MARKS
from spamnb.rules.reactions import reaction_to_tag
from spamnb.service.context import Context
from spamnb.service.mailbox.arrivals import Arrivals
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.lock import MailboxLock
from spamnb.service.mailbox.marked import MarkedMail
from spamnb.service.mailbox.performer import Performer
from spamnb.service.mailbox.sent import SentMail
from spamnb.service.mailbox.undecided import UndecidedFiles
from spamnb.service.mailbox.untouched import UntouchedMail

_log = logging.getLogger(__name__)
_MANY = 50  # files that dwell; fewer are found faster one by one
_BATCH = 50  # files per transaction when a mailbox is first seen: other accounts of a host wait for it


class WatchedMailbox:
    """One mailbox of the configuration, over a ledger that it may share with others.

    is_ready: `make_ready` is done; the mailbox may come later than the service.
    """

    def __init__(self, mailbox: Mailbox, context: Context) -> None:
        self.folders = Folders(mailbox, context)
        self.is_ready = False
        self._performer = Performer(self.folders, context)
        self._arrivals = Arrivals(self.folders, context, self._performer)
        self._waiting = UndecidedFiles(self.folders, context, self._performer)
        self._sent = SentMail(self.folders, context)
        self._untouched = UntouchedMail(self.folders, context, self._performer)
        self._marked = MarkedMail(self.folders, context, self._performer)
        self.mover = self._performer.mover
        self.lock = MailboxLock()
        self._context = context
        self._learning = context.config.learning
        self._ledger = context.ledger
        self._now = context.now
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._unavailable = context.faults.folders
        self._compared_at = 0.0

    def find_and_lock(self) -> None:
        """Find the folders, and lock the mailbox."""
        self.folders.refresh()
        self.lock_inbox()

    def lock_inbox(self) -> None:
        """Lock the mailbox, also if a different directory has taken its place."""
        self.lock.take(self.folders.for_role(Role.INBOX), keep=self.folders.is_quiet)

    def make_ready(self) -> None:
        """End the moves that a crash left open; if the mailbox is new, record the mail that is there."""
        if not self.folders.by_path:
            self.folders.refresh()
        if resolved := self._performer.resolve():
            _log.info("ended %s that had been interrupted", plural(resolved, "move"))
        if self.folders.started_at is None:
            self._record_existing()
            self._sent.read_existing()
        self.is_ready = True

    def _record_existing(self) -> None:
        """Record the mail that was in the mailbox before the filter: it is known, and never moved.

        A service that finds thousands of mailboxes records the last one many minutes later. It leaves the mail of these
        minutes for the comparison, as new mail. Only the last transaction waits for the disk: after a power cut before
        it, the next start records the mail again.
        """
        root, recorded = self.folders.root, 0
        with self._ledger.without_fsync():
            for folder in self.folders:
                entries = [entry for entry in self.folders.entries(folder) if not self._is_new(folder, entry)]
                for start in range(0, len(entries), _BATCH):
                    some, status = entries[start : start + _BATCH], f"{root}: {recorded} messages"
                    found = list(self._existing(folder, some, status))
                    self._performer.record_before(folder, found)
                    recorded += len(found)
        self.folders.started_at = self._now()
        self._ledger.locations.start(self.folders.id, self.folders.started_at)
        _log.info("recorded %s in %s; they will not be moved", plural(recorded, "existing message"), root)

    def _is_new(self, folder: WatchedFolder, entry: Entry) -> bool:
        """Whether a file was delivered after the service first saw that this mailbox is there.

        A later renaming, as by a person's move, sets the status of the file, but not its time. If a copy of the ledger
        was restored since, only mail after that is new: the copy does not know the mail from before.
        """
        since = max(self._context.new_since, self._ledger.state.restored_at or 0.0)
        if since == math.inf:
            return False
        try:
            status = os.lstat(entry.path(folder))
        except OSError:
            return False
        return since <= min(status.st_mtime, status.st_ctime) and status.st_mtime <= self._now()

    def _existing(self, folder: WatchedFolder, entries: Iterable[Entry], status: str) -> Iterator[tuple[Name, Digests]]:
        """Yield the names of some files, and their messages' digests; they are read before the ledger is held."""
        for entry in entries:
            self._context.alive(f"recording the mail in {status}")
            unread = self.folders.read(folder, entry)
            if unread is not None:
                yield parse_name(entry.name), Digests(unread.digest, unread.header_digest, unread.delivery)

    def look(self, folder: WatchedFolder, entry: Entry) -> None:
        """Look at a file that may have appeared, or may have new flags."""
        name = parse_name(entry.name)
        location = self._ledger.locations.get(folder.id, name.key)
        if location is None:
            self._arrivals.take(folder, entry)
        elif location.flags != name.flags:
            self._flags_changed(folder, {name.key: entry}, {name.key: location.flags})

    def _flags_changed(self, folder: WatchedFolder, changed: Mapping[str, Entry], before: Mapping[str, str]) -> None:
        """Act on new flags, and record them. changed, before: files, and their old flags, by base name."""
        names = {key: parse_name(entry.name) for key, entry in changed.items()}
        if any(name.trashed for name in names.values()):
            self._waiting.due = self._now()  # another file may have waited for this
        keywords = None
        if self._learning.keywords and not folder.role.is_neutral and any(name.keywords for name in names.values()):
            keywords = read_keywords(folder)
            for key, entry in changed.items():
                self._context.alive(f"learning by keywords in {self.folders.root}")
                if not self._marked.act_on(folder, entry, before[key], keywords):
                    del names[key]
        if folder.role is Role.SPAM:
            for key, name in names.items():
                if set(name.flags) & MARKS > set(before[key]) & MARKS:
                    is_marked = set(name.flags) - set(before[key]) != {"T"}  # which a server sets too
                    self._performer.opened_spam(self._ledger.locations.get(folder.id, key), is_marked=is_marked)
        # After learning: after a kill before this, the same flags teach again.
        flags = {key: _with_meaning(name.flags, keywords) for key, name in names.items()}
        self._ledger.locations.flag(folder.id, [(key, new) for key, new in flags.items() if new != before[key]])
        if folder.role is Role.NEWCOMERS and any("R" in new and "R" not in before[key] for key, new in flags.items()):
            self._untouched.learn_answered(folder)

    def read_files(self, paths: Iterable[str]) -> list[LazyReading]:
        """Return the messages in files of these paths that are in a folder with a meaning, under any flags."""
        by_path = {os.path.realpath(folder.path): folder for folder in self.folders if not folder.role.is_neutral}
        found = []
        for path in paths:
            directory, name = os.path.split(path)
            folder, parsed = by_path.get(os.path.realpath(os.path.dirname(directory))), parse_name(name)
            location = None if folder is None else self._ledger.locations.get(folder.id, parsed.key)
            if folder is None or (location is not None and location.origin == "letter"):
                continue
            if (unread := self.folders.read_at(folder, parsed.base, parsed.flags)) is not None:
                found.append(unread)
        return found

    def learn_tag(self, unread: LazyReading, *, is_tagged: bool) -> None:
        """Learn a message that has got the tag for spam in notmuch, or has lost it."""
        message = self._ledger.messages.find(unread.digest)
        reaction = reaction_to_tag(is_tagged, None if message is None else message.verdict)
        if reaction is not None:
            self._performer.learn([unread.reading], reaction)

    def compare(self) -> None:
        """Compare the folders with the ledger: which files appeared, left, have new flags, or were kept."""
        self.folders.refresh()
        self.folders.follow_renamed()
        self._performer.resolve()  # a move that failed at its last step is ours: no person moved that file
        self._ledger.record_lessons()  # lessons from when the ledger could no longer be written
        self._sent.read_existing()
        self._compare_folders()
        self._untouched.learn_kept()
        self._untouched.learn_left_in_spam()

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough.

        If a person filed a folder, the old places of its messages are listed once, not once per message.
        """
        self.mover.departures.touch()
        due, now = self._arrivals.due, self._now()
        if self.folders.make_at is not None and self.folders.make_at <= now:
            self.folders.refresh()
        is_due = due is not None and due <= now and due - self._learning.dwell_seconds >= self._compared_at
        if is_due and len(self._arrivals) >= _MANY:
            self._compare_folders()
        if self._waiting.due is not None and self._waiting.due <= now:
            self._waiting.end()
        for folder, entry in self._marked.due_files():
            self.look(folder, entry)
        self._arrivals.act_on_due()

    def due(self, *, departures: bool = True) -> float | None:
        """When `act_on_due` has work, in seconds since the epoch, or None; `departures`: these count too."""
        departed = self.mover.departures.due() if departures else None
        dues = self._arrivals.due, self._waiting.due, self._marked.due, self.folders.make_at, departed
        return min((due for due in dues if due is not None), default=None)

    def _compare_folders(self) -> None:
        self._compared_at = self._now()
        for folder in self.folders:
            self._context.alive(f"looking at the folders of {self.folders.root}")
            try:
                self._compare_folder(folder)
            except FolderUnavailableError as fault:
                self._unavailable.log(folder.path, str(fault))
                self._stamps.pop(folder.path, None)
            else:
                self._unavailable.clear(folder.path)
        self.folders.forget_gone()
        self._waiting.end()

    def _compare_folder(self, folder: WatchedFolder) -> None:
        stamp = _stamp(folder)
        if stamp == self._stamps.get(folder.path):
            return
        doing = f"looking at {folder.name} in {self.folders.root}"
        known = dict(self.folders.with_turns(self._ledger.locations.files(folder.id), doing))
        files = self._files_in(folder)
        if missing := known.keys() - files.keys():
            files |= self._files_in(folder)  # one listing may miss a file that is renamed at that moment
            if not files and self.folders.is_bare():
                return
            self._record_gone(folder, missing - files.keys())
        there = ((key, entry) for key, entry in self.folders.with_turns(files.items(), doing) if key in known)
        changed = [(key, entry) for key, entry in there if parse_name(entry.name).flags != known[key]]
        for some in self.folders.in_groups(changed, f"recording new flags in {folder.name} of {self.folders.root}"):
            self._flags_changed(folder, dict(some), known)
        for key, entry in files.items():
            if key not in known:
                self.look(folder, entry)
                self._context.alive(doing)
        unreadable = self.folders.unreadable
        if unreadable.text and any(
            entry.path(folder) in unreadable for entry in self.folders.with_turns(files.values(), doing)
        ):
            return  # a folder that becomes readable has the same stamp
        # A change within the same tick of the clock would leave the same stamp: do not keep a recent one.
        if self._now() - max(stamp) / 1e9 > 2:
            self._stamps[folder.path] = stamp

    def _record_gone(self, folder: WatchedFolder, keys: Collection[str]) -> None:
        """Record that the files of these base names have left the folder."""
        for some in self.folders.in_groups(keys, f"recording what has left {folder.name} in {self.folders.root}"):
            if folder.role is Role.SPAM:
                for key in some:
                    self._performer.opened_spam(self._ledger.locations.get(folder.id, key))
            self._ledger.locations.gone(folder.id, some, self._now())

    def _files_in(self, folder: WatchedFolder) -> dict[str, Entry]:
        """Return the files that are in a folder now, by base name."""
        return {parse_name(entry.name).key: entry for entry in self.folders.entries(folder)}


def _with_meaning(flags: str, keywords: Mapping[str, str] | None) -> str:
    """Return flags as they are recorded. keywords: what each letter means; None if they are not looked at.

    QUIRK: Dovecot first gives the file its letter, and writes the meaning of a new letter a moment later. A letter
    without a meaning is not recorded: once it has one, the flags count as changed.
    """
    if keywords is None:
        return flags
    return "".join(letter for letter in flags if letter in keywords or not letter.islower())


def _stamp(folder: WatchedFolder) -> tuple[int, ...]:
    """Return times that change with the folder's content, in nanoseconds since the epoch."""
    try:
        times = [os.stat(folder.subdir(subdir)).st_mtime_ns for subdir in ("new", "cur")]
    except OSError as fault:
        raise FolderUnavailableError(
            f"cannot look at {folder.path}: {fault.strerror}; its messages are unknown until it is back"
        ) from fault
    with contextlib.suppress(OSError):
        times.append(os.lstat(folder.subdir(KEYWORDS_FILE)).st_mtime_ns)
    return tuple(times)
