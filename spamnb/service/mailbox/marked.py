"""Mail that a client marks by its junk keywords: it is learned, and goes to the folder of its label.

A client may move the message itself a moment later, or copy it there and delete it. So the filter waits for one dwell,
and looks again. Until then the new flags are not recorded: after a kill they are found again.
"""

from collections.abc import Iterator, Mapping

from spamnb.base.errors import NotYetError
from spamnb.base.label import Label
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, locate
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import Reaction, label_of_keywords, reaction_to_keywords
from spamnb.service.context import Context
from spamnb.service.mailbox.answered import Letter
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.performer import Performer

_AGAIN_SECONDS = 1.0  # until a move that has to wait is tried again


class MarkedMail:
    """The marked mail of one mailbox."""

    def __init__(self, folders: Folders, context: Context, performer: Performer) -> None:
        self._folders = folders
        self._performer = performer
        self._learning = context.config.learning
        self._ledger = context.ledger
        self._now = context.now
        self._dwelling: dict[tuple[str, str], float] = {}  # by folder and base name: when to look again

    @property
    def due(self) -> float | None:
        """When the next marked file has dwelt long enough, in seconds since the epoch; None if none dwells."""
        return min(self._dwelling.values(), default=None)

    def due_files(self) -> Iterator[tuple[WatchedFolder, Entry]]:
        """Yield the files that have dwelt, and are still there; then forget each, unless the caller has put it off."""
        now, latest = self._now(), self._now() + self._learning.dwell_seconds
        self._dwelling = {place: min(due, latest) for place, due in self._dwelling.items()}  # the clock was set back
        for place in [place for place, due in self._dwelling.items() if due <= now]:
            folder = self._folders.by_path.get(place[0])
            try:
                entry = None if folder is None else locate(folder, place[1])
            except FolderUnavailableError:
                self._dwelling[place] = now + _AGAIN_SECONDS
                continue
            if folder is not None and entry is not None:
                yield folder, entry
            if self._dwelling.get(place, now) <= now:
                self._dwelling.pop(place, None)

    def act_on(self, folder: WatchedFolder, entry: Entry, before: str, keywords: Mapping[str, str]) -> bool:
        """Learn a message if its keywords have changed, not at every flag, and move it. Returns False while it dwells.

        before: the file's recorded flags. keywords: what each letter means.
        """
        flags = parse_name(entry.name).flags
        label = _label_of(flags, keywords)
        if label is None or label is _label_of(before, keywords):
            return True
        unread = self._folders.read(folder, entry)
        if unread is None:
            return True
        reaction = self._reaction(folder, entry, label, unread)
        if not reaction.files:
            self._performer.learn([unread.reading], reaction)
            return True
        now, place = self._now(), (folder.path, parse_name(entry.name).key)
        if self._dwelling.setdefault(place, now + self._learning.dwell_seconds) > now:
            return False
        try:
            self._performer.learn_and_file(Letter(folder, entry, unread.reading), reaction)
        except (NotYetError, FolderUnavailableError):
            self._dwelling[place] = now + _AGAIN_SECONDS
            return False
        return True

    def _reaction(self, folder: WatchedFolder, entry: Entry, label: Label, unread: LazyReading) -> Reaction:
        """Return the reaction to a file whose new keywords give it this label."""
        name = parse_name(entry.name)
        message, lesson = self._ledger.messages.find(unread.digest), self._ledger.lessons.find(unread.digest)
        location = self._ledger.locations.get(folder.id, name.key)
        is_rescued = message is not None and message.rescued_at is not None
        return reaction_to_keywords(
            label,
            None if message is None else message.verdict,
            folder.role,
            name.flags,
            "before" if location is None else location.origin,
            moves=self._learning.move_marked,
            is_wanted=is_rescued or (lesson is not None and lesson.decision is Label.HAM),
        )


def _label_of(flags: str, keywords: Mapping[str, str]) -> Label | None:
    """Return the label that a client's keywords give a message with these flags. keywords: what each letter means."""
    return label_of_keywords(keywords.get(letter, "") for letter in flags if letter.islower())
