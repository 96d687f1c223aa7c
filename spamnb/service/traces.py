"""Where else a message lies or has lain, as `policy` wants to know it: asked of the ledger, and looked up on disk."""

import os
from collections.abc import Callable

from spamnb.ledger.files import Placed
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.mailbox import Entry, locate
from spamnb.maildir.names import parse_name
from spamnb.policy import COPY_SECONDS, Trace
from spamnb.service.boxes import Box, Boxes
from spamnb.service.unread import Unread


class Traces:
    """The other places of messages. `dwell`: seconds after which a file that appeared is looked at."""

    def __init__(self, boxes: Boxes, ledger: Ledger, now: Callable[[], float], dwell: float) -> None:
        self._boxes = boxes
        self._ledger = ledger
        self._now = now
        self._dwell = dwell

    def of(self, message: int, unread: Unread, box: Box, entry: Entry) -> list[Trace]:
        """The places of the message itself, this very place before among them.

        A file that waits for what becomes of another one says nothing while it lies there.
        """
        appeared = self.appeared(box, entry)
        places = self._ledger.files.of_message(message)
        found = [(placed, self._trace(placed, unread, box, entry, appeared)) for placed in places]
        return [trace for placed, trace in found if trace.left or placed.origin != "waiting"]

    def alike(self, unread: Unread, box: Box, entry: Entry) -> list[Trace]:
        """Places that messages with the same Message-ID, Date and From have left.

        None where one of them lies somewhere still. So a stranger who writes the head of a message into mail for a
        ham folder, again and again until that message is deleted, has one try.
        """
        appeared = self.appeared(box, entry)
        places = self._ledger.files.alike(unread.header_digest, unread.digest)
        traces = [self._trace(placed, unread, box, entry, appeared, alike=True) for placed in places]
        return traces if all(trace.left for trace in traces) else []

    def appeared(self, box: Box, entry: Entry) -> float:
        """Since when the file has lain there; a rename sets the time of a file's last status change."""
        now = self._now()
        try:
            return min(os.lstat(entry.path(box.folder)).st_ctime, now)
        except OSError:
            return now

    def _trace(
        self, placed: Placed, unread: Unread, box: Box, entry: Entry, appeared: float, *, alike: bool = False
    ) -> Trace:
        role, unsure = self._boxes.role_of(placed.mailbox, placed.folder_name)
        gone_at, trashed, same_file = placed.gone_at, False, False
        spot = self._boxes.spot(placed.folder)
        if gone_at is None and spot is not None:
            try:
                there = locate(spot.folder, placed.base, placed.flags)
            except FolderUnavailableError:
                there = Entry("", "")  # unknown is not gone
            if there is None:
                gone_at = self._now()
                self._ledger.files.gone(placed.folder, [placed.base], gone_at)
            elif there.name:
                trashed = parse_name(there.name).trashed
                same_file = not alike and _same_file(there.path(spot.folder), entry.path(box.folder))
        return Trace(
            role=role,
            unsure=unsure,
            same_folder=placed.folder == box.spot.id,
            by_filter=placed.origin == "filter",
            left=gone_at is not None or (trashed and not alike),
            same_delivery=not alike and placed.content == unread.delivery,
            same_file=same_file,
            since=placed.since,
            lag=appeared - placed.since,
            lately=gone_at is None or self._lately(gone_at, appeared, alike),
            alike=alike,
        )

    def _lately(self, gone_at: float, appeared: float, alike: bool) -> bool:
        """Whether a place was left when the file appeared. That another content is the same message has to be close:
        what was found gone long after the file appeared, as after a pause of the service, may be gone by chance.
        """
        soon = COPY_SECONDS + self._dwell
        return gone_at >= appeared - COPY_SECONDS and not (alike and gone_at > appeared + soon)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
