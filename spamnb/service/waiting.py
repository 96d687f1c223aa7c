"""A file in the inbox while the same delivery lies in spam: a second delivery, or the first half of a rescue.

A server may deliver the very same bytes twice. A synchroniser, or a mail program that copies, brings what a person
takes out of Junk before the original goes. What appears in the inbox is the same in both cases, so it waits, neither
judged nor moved nor learned, until the original is gone, marked as deleted, or moved: then it is what a person wants in
the inbox. That a file waits stands in the ledger: a restart does not lose it, and each look asks the ledger alone.
"""

from collections.abc import Callable, Iterator

from spamnb.config import Role
from spamnb.ledger.files import Placed
from spamnb.ledger.ledger import Ledger
from spamnb.service.boxes import Box, Boxes

_NEVER = float("inf")


class Waiting:
    """The files of a mailbox that wait. `dwell`: seconds after which a departure counts."""

    def __init__(self, boxes: Boxes, ledger: Ledger, now: Callable[[], float], dwell: float) -> None:
        self._boxes = boxes
        self._ledger = ledger
        self._now = now
        self._dwell = dwell
        self.due: float | None = None  # when it is worth to look again, without any further change

    def ended(self) -> Iterator[tuple[Box, Placed, bool]]:
        """Files that need not wait any more, each with its folder, and whether the other file has left spam.

        It has not where it is in no spam folder any more, though nobody took it out: a move of the filter was undone,
        or the folder has another role.
        """
        self.due = None
        ends: dict[int, dict[bytes, float]] = {}  # a thousand files of one message are looked up once
        for box in self._boxes:
            if box.role is not Role.INBOX:
                continue
            for placed in self._ledger.files.waiting(box.spot.id):
                if placed.message not in ends:
                    ends[placed.message] = self._ends(placed.message)
                end = ends[placed.message].get(placed.content)
                if end is not None and end > self._now():
                    if end < _NEVER:
                        self.due = min(end, self.due or _NEVER)
                elif "T" not in placed.flags:
                    yield box, placed, end is not None

    def _ends(self, message: int) -> dict[bytes, float]:
        """From when on each delivery that ever lay in spam lies there no more, in seconds since the epoch."""
        ends: dict[bytes, float] = {}
        for placed in self._ledger.files.all_of_message(message):
            if placed.origin != "waiting" and self._is_spam(placed):
                has_left = placed.gone_at is not None or "T" in placed.flags
                end = (placed.gone_at or 0.0) + self._dwell if has_left else _NEVER
                ends[placed.content] = max(end, ends.get(placed.content, end))
        return ends

    def _is_spam(self, placed: Placed) -> bool:
        role, unsure = self._boxes.role_of(placed.mailbox, placed.folder_name)
        return role is Role.SPAM or unsure
