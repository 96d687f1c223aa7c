"""Where each message lies, and where it has lain: mailboxes, folders, and the files in them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from spamnb.ledger.connection import Connection

# Who put a file where it is: it lay there when the mailbox was first seen; it appeared (a delivery, or a person);
# the filter moved it there; an undo brought it back; it appeared, while the same delivery lay in spam ("waiting").
Origin = Literal["before", "appeared", "filter", "undo", "waiting"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A file of a message: `gone_at` is None while it lies there. Times are seconds since the epoch."""

    folder: int
    mailbox: int
    folder_name: str
    base: str
    message: int
    origin: Origin
    content: bytes
    flags: str
    since: float
    gone_at: float | None


_MOST_PLACES = 20  # of one message that are looked at
_ALIKE = "SELECT id FROM message WHERE header_digest = ? AND digest <> ? ORDER BY id DESC LIMIT 20"
_COLUMNS = (
    "f.folder, o.mailbox, o.name, f.base, f.message, f.origin, f.content, f.flags, f.since, f.gone_at"
    " FROM file AS f JOIN folder AS o ON o.id = f.folder"
)


class Files:
    """The files of all mailboxes. Base names are given and taken as `os.fsdecode` makes them."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def mailbox(self, path: str) -> tuple[int, float | None]:
        """The mailbox's id, made where it is new, and since when it has been watched (None: not yet)."""
        row = self._db.row("SELECT id, started_at FROM mailbox WHERE path = ?", (os.fsencode(path),))
        if row is None:
            with self._db.transaction():
                self._db.execute("INSERT OR IGNORE INTO mailbox (path) VALUES (?)", (os.fsencode(path),))
            return self.mailbox(path)
        return row[0], row[1]

    def started_at(self, path: str) -> float | None:
        """Since when the mailbox has been watched, or None; writes nothing."""
        row = self._db.row("SELECT started_at FROM mailbox WHERE path = ?", (os.fsencode(path),))
        return None if row is None else row[0]

    def start(self, mailbox: int, at: float) -> None:
        """From now on what appears in the mailbox is new mail."""
        with self._db.transaction():
            self._db.execute("UPDATE mailbox SET started_at = ? WHERE id = ?", (at, mailbox))

    def folder(self, mailbox: int, name: str) -> int:
        """The folder's id, made where it is new."""
        row = self._db.row("SELECT id FROM folder WHERE mailbox = ? AND name = ?", (mailbox, name))
        if row is None:
            with self._db.transaction():
                self._db.execute("INSERT OR IGNORE INTO folder (mailbox, name) VALUES (?, ?)", (mailbox, name))
            return self.folder(mailbox, name)
        return int(row[0])

    def where(self, folder: int) -> tuple[str, str]:
        """The path of the folder's mailbox, and the folder's name."""
        row = self._db.row(
            "SELECT m.path, o.name FROM folder AS o JOIN mailbox AS m ON m.id = o.mailbox WHERE o.id = ?", (folder,)
        )
        return os.fsdecode(row[0]), row[1]

    def lying_in(self, folder: int) -> dict[str, str]:
        """Base name to flags of each file that lay in the folder when it was last looked at."""
        rows = self._db.rows("SELECT base, flags FROM file WHERE folder = ? AND gone_at IS NULL", (folder,))
        return {os.fsdecode(base): flags for base, flags in rows}

    def get(self, folder: int, base: str) -> Placed | None:
        """The file of that name which lies in the folder, or None."""
        last = self.last(folder, base)
        return None if last is None or last.gone_at is not None else last

    def last(self, folder: int, base: str) -> Placed | None:
        """The file of that name which lies in the folder, or was the last to lie there; None where none ever did."""
        row = self._db.row(f"SELECT {_COLUMNS} WHERE f.folder = ? AND f.base = ?", (folder, os.fsencode(base)))
        return None if row is None else _placed(row)

    def of_message(self, message: int) -> list[Placed]:
        """The newest files that the message has, and had until another program took them; the oldest of them first.

        A place that the filter emptied itself is left out: no one took the message from there. A message that was
        sent a thousand times has a thousand places; the newest say what it means that one more appeared.
        """
        rows = self._db.rows(
            f"SELECT {_COLUMNS} WHERE f.message = ? AND f.gone_by IS NULL ORDER BY f.since DESC LIMIT {_MOST_PLACES}",
            (message,),
        )
        return [_placed(row) for row in rows][::-1]

    def alike(self, header_digest: bytes | None, digest: bytes) -> list[Placed]:
        """The places, as `of_message` gives them, of other messages with the same Message-ID, Date and From.

        Of the newest twenty such messages: a stranger may send any number of them.
        """
        if header_digest is None:
            return []
        rows = self._db.rows(
            f"SELECT {_COLUMNS} WHERE f.message IN ({_ALIKE}) AND f.gone_by IS NULL"
            f" ORDER BY f.since DESC LIMIT {_MOST_PLACES}",
            (header_digest, digest),
        )
        return [_placed(row) for row in rows][::-1]

    def waiting(self, folder: int) -> list[Placed]:
        """Files of the folder that wait for another file of the same delivery to leave spam."""
        columns = _COLUMNS.replace(
            "file AS f", "file AS f INDEXED BY file_waiting"
        )  # SQLite would read all of the folder
        rows = self._db.rows(
            f"SELECT {columns} WHERE f.folder = ? AND f.origin = 'waiting' AND f.gone_at IS NULL", (folder,)
        )
        return [_placed(row) for row in rows]

    def all_of_message(self, message: int) -> Iterator[Placed]:
        """All files that the message has, and had until another program took them, in no order."""
        return map(_placed, self._db.rows(f"SELECT {_COLUMNS} WHERE f.message = ? AND f.gone_by IS NULL", (message,)))

    def set_origin(self, folder: int, base: str, origin: Origin) -> None:
        """Record who put a file where it is, after that was open."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE file SET origin = ? WHERE folder = ? AND base = ?", (origin, folder, os.fsencode(base))
            )

    def unlearned(self, folder: int) -> list[Placed]:
        """Files that came to the folder after the start, lie there still, were read or answered, and never learned.

        Or only weakly, where they were answered by now.
        A message that a person made the filter forget is left out: it would be learned again at once. So is what the
        filter put there itself, as spam or unsure: that the folder has another role by now is no word about its mail.
        """
        rows = self._db.rows(
            f"SELECT {_COLUMNS} JOIN message AS m ON m.id = f.message"
            " WHERE f.folder = ? AND f.gone_at IS NULL AND f.origin NOT IN ('before', 'filter')"
            " AND (m.tokens IS NULL AND (f.flags GLOB '*S*' OR f.flags GLOB '*R*')"
            " OR m.label IS NOT NULL AND m.weak AND f.flags GLOB '*R*')",
            (folder,),
        )
        return [_placed(row) for row in rows]

    def put(self, folder: int, base: str, message: int, origin: Origin, content: bytes, flags: str, at: float) -> None:
        """Note that a file lies in a folder."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                (folder, os.fsencode(base), message, origin, content, flags, at),
            )

    def carry(self, source: int, destination: int, bases: Iterable[str], at: float) -> int:
        """Note that a folder's files lie in another one, though nobody moved them: the folder was renamed.

        Of the base names only those that the folder has, or had, are carried over. Returns how many.
        """
        names = sorted(map(os.fsencode, bases))  # neighbours share a page: each is read and written once
        with self._db.transaction():
            before = self._db.row("SELECT total_changes()")[0]
            self._db.executemany(
                "INSERT OR REPLACE INTO file SELECT ?, base, message, origin, content, flags, ?, NULL, NULL"
                " FROM file WHERE folder = ? AND base = ?",
                ((destination, at, source, name) for name in names),
            )
            carried = self._db.row("SELECT total_changes()")[0] - before
            self._db.executemany(
                "UPDATE file SET gone_at = ?, gone_by = NULL WHERE folder = ? AND base = ? AND gone_at IS NULL",
                ((at, source, name) for name in names),
            )
        return int(carried)

    def gone(self, folder: int, bases: Iterable[str], at: float, by: Literal["filter"] | None = None) -> None:
        """Record that files do not lie in the folder any more; `by`: the filter itself moved them away."""
        with self._db.transaction():
            self._db.executemany(
                "UPDATE file SET gone_at = ?, gone_by = ? WHERE folder = ? AND base = ? AND gone_at IS NULL",
                [(at, by, folder, os.fsencode(base)) for base in bases],
            )

    def same_directory(self, device: int, inode: int) -> int | None:
        """The folder that was this directory when last looked at, or None."""
        row = self._db.row("SELECT folder FROM directory WHERE device = ? AND inode = ?", (device, inode))
        return None if row is None else int(row[0])

    def set_directory(self, folder: int, device: int, inode: int) -> None:
        """Record which directory a folder is."""
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO directory VALUES (?, ?, ?)", (device, inode, folder))

    def flag(self, folder: int, flags: Iterable[tuple[str, str]]) -> None:
        """Note the flags that files of the folder have now, as pairs of base name and flags."""
        with self._db.transaction():
            self._db.executemany(
                "UPDATE file SET flags = ? WHERE folder = ? AND base = ?",
                [(letters, folder, os.fsencode(base)) for base, letters in flags],
            )


def _placed(row: tuple[int, int, str, bytes, int, Origin, bytes, str, float, float | None]) -> Placed:
    return Placed(row[0], row[1], row[2], os.fsdecode(row[3]), *row[4:])
