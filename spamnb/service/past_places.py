"""Where else a message is or was, as `policy` wants to know it, and files that wait for what becomes of another one.

A server may deliver the very same bytes twice. A synchroniser, or a mail program that copies, brings what a person
takes out of Junk before the original goes. What appears in the inbox while the same delivery is in spam may be either,
so it waits, neither judged nor moved nor learned, until the original is gone, marked as deleted, or moved: then it is
what a person wants in the inbox. That a file waits is recorded in the ledger: a restart does not lose it, and each look
asks only the ledger.
"""

import os
from dataclasses import dataclass

from spamnb.base.label import Label, Role
from spamnb.ledger.history.locations import Location
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, locate, status_set_at
from spamnb.maildir.names import parse_name
from spamnb.rules.meaning import COPY_SECONDS, PastPlace, waits_until
from spamnb.service.context import Context
from spamnb.service.folders import Folders, WatchedFolder

_NEVER = float("inf")


def appeared_at(folder: WatchedFolder, entry: Entry, now: float) -> float:
    """Since when the file has been there at the latest: a rename, or a second name, sets its status."""
    return min(status_set_at(entry.path(folder)) or now, now)


@dataclass(frozen=True, slots=True)
class PastPlaces:
    """The other places of the message in one file, which appeared in `folder` at that time."""

    context: Context
    folders: Folders
    folder: WatchedFolder
    entry: Entry
    unread: LazyReading
    appeared: float

    def all(self, message: int | None) -> list[PastPlace]:
        """The places of the message itself (by its id in the ledger; None where it is new), and of messages like it.

        This place before is among them. A file that waits for another one says nothing while it is there.
        """
        locations = self.context.ledger.locations
        own = [] if message is None else locations.of_message(message)
        found = [(location, self._place(location)) for location in own]
        places = [place for location, place in found if place.left or location.origin != "waiting"]
        return places if self.folder.role is Role.INBOX else places + self._alike()

    def _alike(self) -> list[PastPlace]:
        """Places that messages with the same Message-ID, Date and From have left; none where one still is anywhere.

        So a stranger who writes the header of a message into mail for a ham folder, until it is deleted, has one try.
        """
        locations = self.context.ledger.locations.alike(self.unread.header_digest, self.unread.digest)
        places = [self._place(location, alike=True) for location in locations]
        return places if all(place.left for place in places) else []

    def _place(self, location: Location, *, alike: bool = False) -> PastPlace:
        role, unsure = self.context.role_of(location.mailbox, location.folder_name)
        gone_at, trashed, same_file = location.gone_at, False, False
        folder = self.folders.by_id(location.folder)
        if gone_at is None and folder is not None:
            try:
                there = locate(folder, location.base, location.flags)
            except FolderUnavailableError:
                there = Entry("", "")  # unknown is not gone
            if there is None:
                gone_at = self.context.now()
                self.context.ledger.locations.gone(location.folder, [location.base], gone_at)
            elif there.name:
                trashed = parse_name(there.name).trashed
                same_file = not alike and _same_file(there.path(folder), self.entry.path(self.folder))
        return PastPlace(
            role=role,
            unsure=unsure,
            same_folder=location.folder == self.folder.id,
            by_filter=location.origin == "filter",
            left=gone_at is not None or (trashed and not alike),
            same_delivery=not alike and location.content == self.unread.delivery,
            same_file=same_file,
            since=location.since,
            lag=self.appeared - location.since,
            recently_left=gone_at is None or self._recently_left(gone_at, alike),
            just_left=trashed or (gone_at is not None and gone_at >= self.appeared),
            alike=alike,
        )

    def _recently_left(self, gone_at: float, alike: bool) -> bool:
        """Whether a place was left when the file appeared; for another content, not long after: that may be chance."""
        soon = COPY_SECONDS + self.context.config.learning.dwell_seconds
        return gone_at >= self.appeared - COPY_SECONDS and not (alike and gone_at > self.appeared + soon)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


class Waiting:
    """The files of a mailbox that wait. due: when to look again, without any further change, or None."""

    def __init__(self, folders: Folders, context: Context) -> None:
        self._folders = folders
        self._context = context
        self._ledger = context.ledger
        self.due: float | None = None

    def end(self) -> None:
        """End the waiting of files whose other file is not in spam any more."""
        self.due = None
        dwell = self._context.config.learning.dwell_seconds
        ends: dict[int, dict[bytes, float]] = {}  # a thousand files of one message are looked up once
        for folder in self._folders:
            for place in self._ledger.locations.waiting(folder.id) if folder.role is Role.INBOX else ():
                if place.message not in ends:
                    others = self._ledger.locations.all_of_message(place.message)
                    ends[place.message] = waits_until(others, self._is_spam, dwell)
                end = ends[place.message].get(place.content)
                if end is not None and end > self._context.now():
                    self.due = min(end, self.due or _NEVER) if end < _NEVER else self.due
                elif "T" not in place.flags:
                    self._end(folder, place, was_rescued=end is not None and not self._is_spam_since(place))

    def _end(self, folder: WatchedFolder, place: Location, *, was_rescued: bool) -> None:
        """Learn the message as ham if it was rescued; if not, the other file was deleted as spam, or is not spam."""
        try:
            entry = locate(folder, place.base, place.flags) if was_rescued else None
        except FolderUnavailableError:
            return  # the comparison of the folders has logged it, and the next one looks again
        unread = None if entry is None else self._folders.read(folder, entry)
        reading = None if unread is None else unread.reading  # before the ledger is held
        if was_rescued and reading is None:
            return
        with self._ledger.transaction():
            self._ledger.locations.set_origin(folder.id, place.base, "appeared")
            if reading is not None:
                self._context.learn(reading, Label.HAM, "the other file of its delivery was taken out of spam")
                self._ledger.messages.rescued(place.message, self._context.now())

    def _is_spam(self, place: Location) -> bool:
        role, unsure = self._context.role_of(place.mailbox, place.folder_name)
        return role is Role.SPAM or unsure

    def _is_spam_since(self, place: Location) -> bool:
        """Whether a person has called the message spam after its file appeared there."""
        lesson = self._ledger.lessons.find(self._ledger.messages.get(place.message).digest)
        return lesson is not None and lesson.decision is Label.SPAM and lesson.at > place.since
