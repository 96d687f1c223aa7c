"""Files that dwell: a queue by the time at which each is looked at. It knows neither the ledger nor the disk."""

import heapq
from typing import NamedTuple

from spamnb.maildir.messages import Entry

Key = tuple[str, str]
"""A folder's path, and a base name there."""


class Dwelling(NamedTuple):
    """A file that is looked at later. appeared: since when it has been there, by what was known when it was seen."""

    entry: Entry
    appeared: float


class DwellingFiles:
    """Files with the times at which they are due, in seconds since the epoch."""

    def __init__(self) -> None:
        self._files: dict[Key, Dwelling] = {}
        self._order: list[tuple[float, str, str]] = []  # a heap: when each of them is due, its folder, its base name

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
        """Take a file that is not here yet."""
        self._files[key] = file
        heapq.heappush(self._order, (due, *key))

    def first(self, now: float) -> Key | None:
        """Return the file that is due first, if it is due."""
        if not self._order or self._order[0][0] > now:
            return None
        _, path, base = self._order[0]
        return path, base

    def none_later_than(self, latest: float) -> None:
        """Let all files be due at that time, if the first one is due later: the clock was set back."""
        if self._order and self._order[0][0] > latest:
            self._order = [(latest, path, base) for _, path, base in self._order]
            heapq.heapify(self._order)

    def put_off_first(self, due: float) -> None:
        """Let the file that is due first be due at another time."""
        _, path, base = self._order[0]
        heapq.heapreplace(self._order, (due, path, base))

    def drop_first(self) -> None:
        """Forget the file that is due first."""
        _, path, base = heapq.heappop(self._order)
        del self._files[path, base]
