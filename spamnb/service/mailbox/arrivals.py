"""Files that appear in a mailbox: when to look at each. A reaction follows from its facts, and is carried out.

Each of the three has its place: `facts`, `rules.reactions`, `performer`.
"""

from spamnb.base.errors import NotYetError
from spamnb.base.label import Role
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import LINKED_SECONDS, Entry, links_of, locate, read_keywords
from spamnb.maildir.names import Name, parse_name
from spamnb.rules.reactions import COPY_SECONDS, reaction_to
from spamnb.service.context import Context
from spamnb.service.mailbox.dwelling import Dwelling, DwellingFiles, Key
from spamnb.service.mailbox.facts import Arrival, SeenFile, arrival_of
from spamnb.service.mailbox.folders import Folders, WatchedFolder
from spamnb.service.mailbox.performer import Performer, Postponed

_SLICE = 0.05  # seconds
_MANY = 10  # a person copies up to this number of messages one by one, by hand
# A file in the inbox with a second name is judged this much later than its other name is looked at: procmail gives both
# names within 1 ms. After a move, the file's status no longer shows since when the other name has been there.
_LAST_SECONDS = 1.0
_AGAIN_SECONDS = 1.0  # until a folder that cannot be listed is tried again, even if the dwell is shorter


class Arrivals:
    """Files that appeared in a mailbox."""

    def __init__(self, folders: Folders, context: Context, performer: Performer) -> None:
        self._folders = folders
        self._context = context
        self._performer = performer
        self._learning = context.config.learning
        self._ledger = context.ledger
        self._now = context.now
        self._dwelling = DwellingFiles()
        # Judged, but not moved yet, because another program has just linked them. They dwell too.
        self._postponed: dict[Key, Postponed] = {}
        self._many_until = 0.0  # many known messages have appeared at once, now or just before

    def __len__(self) -> int:
        """The number of files that dwell."""
        return len(self._dwelling)

    @property
    def due(self) -> float | None:
        """When the next file has dwelt long enough, or None."""
        return self._dwelling.due

    def take(self, folder: WatchedFolder, entry: Entry) -> None:
        """Take a file that the ledger does not know: act on new mail at once, on a person's move later."""
        name, now = parse_name(entry.name), self._now()
        if (folder.path, name.key) in self._dwelling:
            return
        links = links_of(entry.path(folder))
        appeared = min(links.since or now, now)  # at the latest: a rename, or a second name, sets its status
        due = max(appeared + self._learning.dwell_seconds, links.left_until)
        if folder.role is Role.INBOX:
            if links.left_until:
                due += _LAST_SECONDS
            elif _are_known(name, folder) and self._decide_if_new(folder, entry, appeared):
                return
        self._dwelling.put((folder.path, name.key), Dwelling(entry, appeared), due)
        if len(self) > _MANY:
            self._many_until = now + COPY_SECONDS

    def _decide_if_new(self, folder: WatchedFolder, entry: Entry, appeared: float) -> bool:
        """Act on a message that was never seen before. Returns False if it was, or has to wait."""
        unread = self._folders.read(folder, entry)
        if unread is None or self._ledger.messages.find(unread.digest) is not None:
            return False
        seen = SeenFile(folder, entry, unread, appeared)
        try:
            return self._decide(arrival_of(self._context, self._folders, seen, is_one_of_many=self._are_many))
        except (NotYetError, FolderUnavailableError):
            return False

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough; if they are many, only on some, so new mail has its turn."""
        now, dwell = self._now(), self._learning.dwell_seconds
        self._dwelling.none_later_than(now + max(dwell, LINKED_SECONDS) + _LAST_SECONDS)
        if self._dwelling.first(now) is None:
            return
        self._performer.resolve()  # the filter moves the files of its open moves; no person did
        while (key := self._dwelling.first(now)) is not None and self._now() < now + _SLICE:
            if self._act_on(key):
                self._dwelling.drop_first()  # not earlier: while the ledger is busy, the file keeps waiting
                self._postponed.pop(key, None)
                self._context.alive(f"looking at moved mail in {self._folders.root}")
            else:
                self._dwelling.put_off_first(now + max(dwell, _AGAIN_SECONDS))

    def _act_on(self, key: Key) -> bool:
        """Act on a file that has dwelt. Returns False if it has to wait longer."""
        try:
            if (postponed := self._postponed.get(key)) is not None:
                return self._performer.report(postponed)
            arrival = self._arrival(*key)
            return arrival is None or self._decide(arrival)
        except (NotYetError, FolderUnavailableError):
            return False

    def _arrival(self, path: str, base: str) -> Arrival | None:
        """Return a file that has dwelt, with the facts about it; None if there is nothing to decide.

        Raises NotYetError while another process moves the file, and FolderUnavailableError if its folder is away.
        """
        folder = self._folders.by_path.get(path)
        if folder is None:
            return None
        last = self._ledger.locations.last(folder.id, base)
        if last is not None and last.gone_at is None:
            return None
        if self._performer.mover.is_being_moved_in(folder.id, base):
            raise NotYetError(f"{base!r} is still being moved to {path}")
        dwelt = self._dwelling[path, base]
        entry = locate(folder, base, parse_name(dwelt.entry.name).flags)
        unread = None if entry is None else self._folders.read(folder, entry)
        if entry is None or unread is None:
            return None
        known, seen = self._ledger.messages.find(unread.digest), SeenFile(folder, entry, unread, dwelt.appeared)
        many = self._are_many
        return arrival_of(self._context, self._folders, seen, is_one_of_many=many, known=known, last=last)

    @property
    def _are_many(self) -> bool:
        return self._now() < self._many_until

    def _decide(self, arrival: Arrival) -> bool:
        """Decide from the facts, and carry it out. Returns False if the move must wait for another program."""
        reaction = reaction_to(arrival.facts, trust_delivery=self._learning.trust_delivery)
        postponed = self._performer.carry_out(reaction, arrival)
        if postponed is not None:
            self._postponed[arrival.folder.path, arrival.name.key] = postponed
        return postponed is None


def _are_known(name: Name, folder: WatchedFolder) -> bool:
    """Whether the folder's list of keywords has a meaning for each keyword letter of the name.

    QUIRK: Dovecot writes the meaning of a new letter a moment after the file that has it. If the file moved before
    that, the message would lose the keyword.
    """
    return not name.keywords or read_keywords(folder).keys() >= set(name.keywords)
