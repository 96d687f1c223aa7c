"""An address book on the disk: a vCard file, or a directory of them, as vdirsyncer and khard keep it.

It is read again when a file changes. The files are looked at every few seconds at most, and the longer that takes, the
more seldom: it takes one hundredth of the time. A file that cannot be read is left out, and one warning names it.

A directory of 50,000 files with one contact each takes 0.9 s of processor time at the first look, and 0.2 s later, if
nothing has changed (2026-11-28). Its addresses and the states of its files take 46 MB.
"""

import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from spamnb.base.wording import escaped, plural
from spamnb.contacts.vcard import Cards, read_cards

_log = logging.getLogger(__name__)
_SECONDS, _SHARE = 5.0, 0.01  # between two looks, at least; the part of the time that they may take
_ENDINGS = (".vcf", ".vcard")
_MOST_FILES = 200_000
_MOST_BYTES = 256 << 20  # of one file; photos are in it
_LONGEST_LINE = 64 << 10  # bytes that are read at once

_State = tuple[int, int, int]
"""The time of the last change of a file, in ns, its size, and its number."""


class Contacts(Protocol):
    """Addresses, in lower case: `address in contacts`, and how many."""

    def __contains__(self, address: object, /) -> bool: ...

    def __len__(self) -> int: ...


class AddressBook:
    """The `Contacts` of an address book. Several threads may ask and look."""

    def __init__(self, path: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = path, now
        self._next = -1.0  # no look before
        self._files: dict[str, tuple[_State, Cards]] = {}
        self._addresses: frozenset[str] = frozenset()
        self.fault = ""  # the files that cannot be read, in words; "" without any

    def __len__(self) -> int:
        self._look_if_due()
        return len(self._addresses)

    def __contains__(self, address: object, /) -> bool:
        self._look_if_due()
        return address in self._addresses

    def _look_if_due(self) -> None:
        if self._next < 0 or self._now() >= self._next:
            began, former = self._now(), self.fault
            self.look()
            now = self._now()
            self._next = now + max(_SECONDS, (now - began) / _SHARE)
            if self.fault not in (former, ""):
                _log.warning("%s", self.fault)

    def look(self) -> None:
        """Read the files that have changed."""
        files: dict[str, tuple[_State, Cards]] = {}
        faults: list[str] = []
        try:
            for path in self._paths():
                try:
                    files[path] = self._read(path)
                except OSError as fault:
                    faults.append(f"{escaped(path)}: {fault.strerror}")
                else:
                    if not files[path][1].is_whole:
                        faults.append(f"{escaped(path)}: it is not a whole vCard file")
        except OSError as fault:  # the book itself: what was read before still counts
            faults.append(f"{escaped(str(self._path))}: {fault.strerror}")
            files = self._files
        if files != self._files:
            self._addresses = frozenset[str]().union(*(cards.addresses for _, cards in files.values()))
            self._files = files
        what = f"{plural(len(faults), 'file')} of the address book cannot be read"
        self.fault = f"{what}: {faults[0]}" if faults else ""

    def _paths(self) -> Iterator[str]:
        """Yield the files of the book. Raises OSError if the book cannot be read."""
        if not stat.S_ISDIR(self._path.stat().st_mode):
            yield str(self._path)
            return
        os.scandir(self._path).close()  # `os.walk` says nothing of a directory that cannot be read
        number = 0
        for directory, _, names in os.walk(self._path):
            for name in sorted(names):
                if name.lower().endswith(_ENDINGS) and not name.startswith("."):
                    number += 1
                    if number > _MOST_FILES:
                        return
                    yield os.path.join(directory, name)

    def _read(self, path: str) -> tuple[_State, Cards]:
        """Return a file's state and addresses, read again if it has changed. Raises OSError; a link is none.

        The path of the book itself may be a link.
        """
        no_link = 0 if path == str(self._path) else os.O_NOFOLLOW
        found = os.stat(path, follow_symlinks=not no_link)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        state = found.st_mtime_ns, found.st_size, found.st_ino
        if path in self._files and self._files[path][0] == state:
            return self._files[path]
        if found.st_size > _MOST_BYTES:
            raise OSError(0, f"it is longer than {_MOST_BYTES >> 20} MB")
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | no_link), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "it is not a regular file")
            return state, read_cards(iter(lambda: file.readline(_LONGEST_LINE), b""))


@lru_cache(maxsize=64)  # of a mail host's users, those with the newest mail
def _book(path: Path) -> AddressBook:
    return AddressBook(path)


def contacts_of(path: Path | None) -> Contacts:
    """Return the addresses in the address book at a path; none without one."""
    return frozenset() if path is None else _book(path)
