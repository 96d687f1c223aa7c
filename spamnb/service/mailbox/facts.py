"""The facts about a file that appeared: what the ledger and the disk know of it, asked once. It writes nothing."""

import functools
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.base.label import Origin, Role
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import MessageRow
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, locate
from spamnb.maildir.names import Name, parse_name
from spamnb.rules.reactions import Facts, PastPlace, left_recently
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders, WatchedFolder


class SeenFile(NamedTuple):
    """A file as found in a folder. appeared: since when it has been there, in seconds since the epoch."""

    folder: WatchedFolder
    entry: Entry
    unread: LazyReading
    appeared: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that appeared, with the facts about it, found before anything is written.

    vanished: files that are gone, but that the ledger still knows; they are recorded as gone in one transaction with
    the arrival. origins_before: past places of files of this delivery in the same folder. early: returns the verdict
    given at delivery, or None; it is looked up at the first call, since only a judgement and a folder for spam need it.

    Other processes may learn and move mail at the same time. But only this service records where mail is, and nobody
    else moves a known message to the place of this file. So facts that are a moment old still show what the file means.
    Learning compares with the lesson of its own moment, and the transaction that would move the message looks up a
    person's decision again.
    """

    folder: WatchedFolder
    entry: Entry
    unread: LazyReading
    facts: Facts
    vanished: Sequence[Location]
    origins_before: Collection[Origin]
    early: Callable[[], EarlyVerdict | None]

    @property
    def name(self) -> Name:
        """The name of the file."""
        return parse_name(self.entry.name)

    @property
    def place(self) -> tuple[int, str]:
        """Where it is: the folder's id and the base name."""
        return self.folder.id, self.name.key


def arrival_of(
    context: Context,
    folders: Folders,
    seen: SeenFile,
    *,
    is_one_of_many: bool,
    known: MessageRow | None = None,
    last: Location | None = None,
) -> Arrival:
    """Gather the facts about a file, each once.

    known: its message, or None if it was never seen. last: the last file of this name in the folder.
    """
    folder, entry, unread, _ = seen
    ledger = context.ledger
    lesson = ledger.lessons.find(unread.digest)
    locations = [] if known is None else ledger.locations.of_message(known.id)
    early = functools.cache(functools.partial(ledger.early_verdicts.find, unread.digest, context.now()))
    filed = early() if folder.role is Role.SPAM else None
    places = _Places(context, folders, seen)
    facts = Facts(
        folder.role,
        None if lesson is None else lesson.decision,
        places.of(locations),  # in each folder: a file that came back under its name would seem never to have left
        None if known is None else known.verdict,
        None if filed is None else filed.verdict,
        has_known_name=last is not None and known is not None and last.message == known.id,
        is_one_of_many=is_one_of_many,
        role_is_configured=folders.mailbox.names(folder.name),
    )
    here = [place for place in locations if (place.folder, place.content) == (folder.id, unread.delivery)]
    return Arrival(folder, entry, unread, facts, places.vanished, {place.origin for place in here}, early)


class _Places:
    """The other places of the message of a file that appeared. vanished: see `Arrival`; complete after `of`."""

    def __init__(self, context: Context, folders: Folders, seen: SeenFile) -> None:
        self._context = context
        self._folders = folders
        self._seen = seen
        self.vanished: list[Location] = []

    def of(self, locations: Iterable[Location]) -> list[PastPlace]:
        """Return the places of the message itself, and of messages like it. locations: of the message.

        Earlier stays in this place are among them. A file that waits for its other copy does not count while it is
        there.
        """
        places = []
        for location in locations:
            place = self._place(location)
            if place.is_gone or location.origin != "waiting":
                places.append(place)
        return places if self._seen.folder.role is Role.INBOX else places + self._alike()

    def _alike(self) -> list[PastPlace]:
        """Return the places that messages with the same Message-ID, Date and From have left.

        Returns none if one of these messages still exists anywhere. So a stranger who copies a message's header into
        mail for a ham folder has only one try, until that mail is deleted.
        """
        unread = self._seen.unread
        locations = self._context.ledger.locations.alike(unread.header_digest, unread.digest)
        places = [self._place(location, alike=True) for location in locations]
        return places if all(place.is_gone for place in places) else []

    def _place(self, location: Location, *, alike: bool = False) -> PastPlace:
        seen, dwell = self._seen, self._context.config.learning.dwell_seconds
        gone_at, trashed, same_file = location.gone_at, False, False
        folder = self._folders.by_id(location.folder)
        if gone_at is None and folder is not None:
            try:
                there = locate(folder, location.base, location.flags)
            except FolderUnavailableError:
                there = Entry("", "")  # unknown does not mean gone
            if there is None:
                gone_at = self._context.now()
                self.vanished.append(location)
            elif there.name:
                trashed = parse_name(there.name).trashed
                same_file = not alike and _same_file(there.path(folder), seen.entry.path(seen.folder))
        return PastPlace(
            role=self._context.role_of(location.mailbox, location.folder_name),
            same_folder=location.folder == seen.folder.id,
            by_filter=location.origin == "filter",
            is_gone=gone_at is not None or (trashed and not alike),
            same_delivery=not alike and location.content == seen.unread.delivery,
            same_file=same_file,
            since=location.since,
            lag=seen.appeared - location.since,
            left_recently=gone_at is None or left_recently(gone_at, seen.appeared, dwell, alike=alike),
            left_as_it_appeared=trashed or (gone_at is not None and gone_at >= seen.appeared),
            alike=alike,
            is_letter=location.origin == "letter",
        )


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
