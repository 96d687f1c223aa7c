"""A file that appeared, and where else its message is or was, as `rules.reactions` wants to know it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from spamnb.base.label import Role
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import KnownMessage
from spamnb.ledger.lessons.port import Lesson
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, locate, status_set_at
from spamnb.maildir.names import Name, parse_name
from spamnb.rules.reactions import COPY_SECONDS, PastPlace
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders, WatchedFolder


def appeared_at(folder: WatchedFolder, entry: Entry, now: float) -> float:
    """Since when the file has been there at the latest: a rename, or a second name, sets its status."""
    return min(status_set_at(entry.path(folder)) or now, now)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that appeared, and what the ledger knows of its message, asked once, before anything is written.

    appeared: since when it has been there, in seconds since the epoch. known: the message, None where it was never
    seen. lesson: what it was learned as last, or None. locations: those of the message. has_known_name: it was in this
    folder before, under this name. vanished: files that the ledger knows still, and that are gone: they are recorded as
    gone in one transaction with the arrival.

    Other processes may learn and move mail meanwhile. Where mail is, only this service records, and whoever moves a
    message that is known already, never to the place of this file: so what was known a moment ago tells what the file
    means. Learning compares with the lesson of its own moment, and what a person has decided is asked again in the
    transaction that would move the message.
    """

    folder: WatchedFolder
    entry: Entry
    unread: LazyReading
    appeared: float
    known: KnownMessage | None
    lesson: Lesson | None = None
    locations: Sequence[Location] = ()
    has_known_name: bool = False
    vanished: Sequence[Location] = ()

    @property
    def name(self) -> Name:
        """The name of the file."""
        return parse_name(self.entry.name)

    @property
    def place(self) -> tuple[int, str]:
        """Where it is: the folder's id and the base name."""
        return self.folder.id, self.name.key


@dataclass(frozen=True, slots=True)
class PastPlaces:
    """The other places of the message of a file that appeared. vanished: see `Arrival`; complete after `all`."""

    context: Context
    folders: Folders
    arrival: Arrival
    vanished: list[Location] = field(default_factory=list)

    def all(self) -> list[PastPlace]:
        """The places of the message itself, and of messages like it.

        This place before is among them. A file that waits for another one says nothing while it is there.
        """
        places = []
        for location in self.arrival.locations:
            place = self._place(location)
            if place.is_gone or location.origin != "waiting":
                places.append(place)
        return places if self.arrival.folder.role is Role.INBOX else places + self._alike()

    def _alike(self) -> list[PastPlace]:
        """Places that messages with the same Message-ID, Date and From have left; none where one still is anywhere.

        So a stranger who writes the header of a message into mail for a ham folder, until it is deleted, has one try.
        """
        unread = self.arrival.unread
        locations = self.context.ledger.locations.alike(unread.header_digest, unread.digest)
        places = [self._place(location, alike=True) for location in locations]
        return places if all(place.is_gone for place in places) else []

    def _place(self, location: Location, *, alike: bool = False) -> PastPlace:
        arrival = self.arrival
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
                self.vanished.append(location)
            elif there.name:
                trashed = parse_name(there.name).trashed
                same_file = not alike and _same_file(there.path(folder), arrival.entry.path(arrival.folder))
        return PastPlace(
            role=role,
            unsure=unsure,
            same_folder=location.folder == arrival.folder.id,
            by_filter=location.origin == "filter",
            is_gone=gone_at is not None or (trashed and not alike),
            same_delivery=not alike and location.content == arrival.unread.delivery,
            same_file=same_file,
            since=location.since,
            lag=arrival.appeared - location.since,
            left_recently=gone_at is None or self._left_recently(gone_at, alike),
            left_as_it_appeared=trashed or (gone_at is not None and gone_at >= arrival.appeared),
            alike=alike,
        )

    def _left_recently(self, gone_at: float, alike: bool) -> bool:
        """Whether a place was left when the file appeared; for another content, not long after: that may be chance."""
        soon = COPY_SECONDS + self.context.config.learning.dwell_seconds
        appeared = self.arrival.appeared
        return gone_at >= appeared - COPY_SECONDS and not (alike and gone_at > appeared + soon)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
