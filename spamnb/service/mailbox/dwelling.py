"""Files that dwell: a queue ordered by the time to look at each. It knows neither the ledger nor the disk."""

import heapq
from typing import NamedTuple

from spamnb.maildir.messages import Entry

Key = tuple[str, str]
"""A folder's path, and a base name there."""


class Dwelling(NamedTuple):
    """A file to look at later. appeared: since when it has been there, as known when it was seen."""

    entry: Entry
    appeared: float


class DwellingFiles:
    """Files, each with its due time in seconds since the epoch."""

    def __init__(self) -> None:
        self._files: dict[Key, Dwelling] = {}
        self._order: list[tuple[float, str, str]] = []  # a heap: due time, folder, base name

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, key: Key) -> bool:
        return key in self._files

    def __getitem__(self, key: Key) -> Dwelling:
        return self._files[key]

    @property
    def due(self) -> float | None:
        """When the next file is due, or None."""
        return self._order[0][0] if self._order else None

    def put(self, key: Key, file: Dwelling, due: float) -> None:
        """Take a file that is not in the queue yet."""
        self._files[key] = file
        heapq.heappush(self._order, (due, *key))

    def first(self, now: float) -> Key | None:
        """Return the first file, if it is due."""
        if not self._order or self._order[0][0] > now:
            return None
        _, path, base = self._order[0]
        return path, base

    def none_later_than(self, latest: float) -> None:
        """Make all files due at that time, if the first one is due later: the clock was set back."""
        if self._order and self._order[0][0] > latest:
            self._order = [(latest, path, base) for _, path, base in self._order]
            heapq.heapify(self._order)

    def put_off_first(self, due: float) -> None:
        """Make the first file due at a different time."""
        _, path, base = self._order[0]
        heapq.heapreplace(self._order, (due, path, base))

    def drop_first(self) -> None:
        """Forget the first file."""
        _, path, base = heapq.heappop(self._order)
        del self._files[path, base]
