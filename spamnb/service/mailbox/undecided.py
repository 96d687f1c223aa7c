"""Files that wait until the other file of their delivery leaves spam.

A server may deliver exactly the same bytes twice. Or a person takes a message out of Junk, and a synchroniser or a
copying mail program brings it to the inbox first: the original leaves Junk later. If a file appears in the inbox while
the same delivery is in spam, both are possible. So the file waits, and is neither judged nor moved nor learned. When
the original is gone, marked as deleted, or moved, the person wants the other file in the inbox. The ledger records that
a file waits: a restart does not lose it, and each look only asks the ledger.
"""

from spamnb.base.label import Label, Role
from spamnb.ledger.history.locations import Location
from spamnb.rules.reactions import Reaction, reaction_to_end_of_waiting, waits_until
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.performer import Performer

_NEVER = float("inf")


class UndecidedFiles:
    """The waiting files of a mailbox. due: when to look again if nothing else changes, or None."""

    def __init__(self, folders: Folders, context: Context, performer: Performer) -> None:
        self._folders = folders
        self._performer = performer
        self._context = context
        self._ledger = context.ledger
        self.due: float | None = None

    def end(self) -> None:
        """End the waiting of files whose other file has left spam."""
        self.due = None
        dwell = self._context.config.learning.dwell_seconds
        ends: dict[int, dict[bytes, float]] = {}  # so a thousand files of one message cost one look-up
        for folder in self._folders:
            for location in self._ledger.locations.waiting(folder.id) if folder.role is Role.INBOX else ():
                if location.message not in ends:
                    others = self._ledger.locations.all_of_message(location.message)
                    ends[location.message] = waits_until(others, self._is_spam, dwell)
                end = ends[location.message].get(location.content)
                if end is not None and end > self._context.now():
                    self.due = min(end, self.due or _NEVER) if end < _NEVER else self.due
                elif "T" not in location.flags:
                    has_left = end is not None
                    called_spam = has_left and self._is_spam_since(location)
                    sorted_out = has_left and self._left_newsletters(location)
                    reaction = reaction_to_end_of_waiting(has_left, called_spam, left_newsletters=sorted_out)
                    self._end(folder, location, reaction)

    def _end(self, folder: WatchedFolder, location: Location, reaction: Reaction) -> None:
        self._context.alive(f"looking at second files of messages in {self._folders.root}")
        unread = None if reaction.label is None else self._folders.read_at(folder, location.base, location.flags)
        reading = None if unread is None else unread.reading  # before the ledger is held
        if reaction.label is not None and reading is None:
            return  # the next comparison of the folders looks again
        self._performer.end_waiting(folder, location, reaction, reading)

    def _is_spam(self, location: Location) -> bool:
        return self._context.role_of(location.mailbox, location.folder_name).is_goal

    def _left_newsletters(self, location: Location) -> bool:
        """Whether the other file of its delivery was among the newsletters."""
        others = self._ledger.locations.all_of_message(location.message)
        roles = {
            self._context.role_of(one.mailbox, one.folder_name) for one in others if one.content == location.content
        }
        return Role.NEWSLETTERS in roles

    def _is_spam_since(self, location: Location) -> bool:
        """Whether a person has called the message spam after its file appeared there."""
        lesson = self._ledger.lessons.find(self._ledger.messages.get(location.message).digest)
        return lesson is not None and lesson.decision is Label.SPAM and lesson.at > location.since
