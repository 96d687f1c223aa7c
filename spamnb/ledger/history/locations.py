"""The present and former places of messages: mailboxes, folders, and the files in them."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from spamnb.base.label import Origin
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.messages import FORGOTTEN_BY_FILTER
from spamnb.ledger.queries import look_up_bound


@dataclass(frozen=True, slots=True)
class Location:
    """A file of a message: `gone_at` is None while it is there. Times are seconds since the epoch."""

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


_LAST = 1000  # files of a folder
_NEWEST = "ORDER BY f.since DESC LIMIT 20"  # looks at this many of a message's locations
_ALIKE = "SELECT id FROM message WHERE header_digest = ? AND digest <> ? ORDER BY id DESC LIMIT 20"
_UNANSWERED = f"""
    SELECT id FROM (
        SELECT id, judged_at, rescued_at FROM message
        WHERE judged_at >= ?1 AND verdict IN ('spam', 'unsure') AND learned_at IS NULL
        UNION ALL
        SELECT m.id, m.judged_at, m.rescued_at FROM message AS m
        WHERE m.weak AND m.learned_at >= ?1 AND m.judged_at >= ?1 AND {FORGOTTEN_BY_FILTER}
    ) WHERE rescued_at IS NULL ORDER BY judged_at DESC LIMIT ?2"""  # noqa: S608 - no text from outside
_LETTERS = "SELECT m.digest FROM message AS m JOIN file AS f ON f.message = m.id WHERE f.origin = 'letter' AND m.digest"
_SELECT = (
    "SELECT f.folder, o.mailbox, o.name, f.base, f.message, f.origin, f.content, f.flags, f.since, f.gone_at"
    " FROM file AS f {index} JOIN folder AS o ON o.id = f.folder JOIN message AS m ON m.id = f.message WHERE "
)


class Locations:
    """The files of all mailboxes. Base names are in the form of `os.fsdecode`."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def mailbox(self, path: str) -> tuple[int, float | None]:
        """Return the mailbox's id, new if needed, and since when it has been watched (None: not yet)."""
        row = self._db.row("SELECT id, started_at FROM mailbox WHERE path = ?", (os.fsencode(path),))
        if row is None:
            self._write("INSERT OR IGNORE INTO mailbox (path) VALUES (?)", [(os.fsencode(path),)])
            return self.mailbox(path)
        return row[0], row[1]

    def mailboxes(self) -> list[str]:
        """Return the paths of all mailboxes that were ever watched."""
        return [os.fsdecode(path) for (path,) in self._db.all("SELECT path FROM mailbox")]

    def move_mailbox(self, former: str, path: str) -> None:
        """Record that a mailbox has a new path, unless the new path was watched already."""
        self._write("UPDATE OR IGNORE mailbox SET path = ? WHERE path = ?", [(os.fsencode(path), os.fsencode(former))])

    def started_at(self, path: str) -> float | None:
        """Return since when the mailbox has been watched, or None; writes nothing."""
        row = self._db.row("SELECT started_at FROM mailbox WHERE path = ?", (os.fsencode(path),))
        return None if row is None else row[0]

    def start(self, mailbox: int, at: float) -> None:
        """Begin to watch the mailbox: mail that appears from now on is new."""
        self._write("UPDATE mailbox SET started_at = ? WHERE id = ?", [(at, mailbox)])

    def spam_seen_at(self, mailbox: int) -> float:
        """Return when a person last looked at the mail in spam, in seconds since the epoch; 0.0 if never."""
        (at,) = self._db.row("SELECT spam_seen_at FROM mailbox WHERE id = ?", (mailbox,))
        return at or 0.0

    def set_spam_seen_at(self, mailbox: int, at: float) -> None:
        """Record that a person has looked there."""
        self._write("UPDATE mailbox SET spam_seen_at = ? WHERE id = ?", [(at, mailbox)])

    def set_all_spam_seen_at(self, at: float) -> None:
        """Record for each mailbox in whose spam nobody has ever looked that a person has looked there."""
        self._write("UPDATE mailbox SET spam_seen_at = ? WHERE coalesce(spam_seen_at, 0) = 0", [(at,)])

    def sent_read(self, mailbox: int) -> set[int]:
        """Return the folders of the mailbox whose mail was read as the person's sent mail."""
        return {row[0] for row in self._db.rows("SELECT id FROM folder WHERE mailbox = ? AND sent_read", (mailbox,))}

    def set_sent_read(self, mailbox: int, folders: Iterable[int]) -> None:
        """Replace this set of folders."""
        with self._db.transaction():
            self._write("UPDATE folder SET sent_read = 0 WHERE mailbox = ? AND sent_read", [(mailbox,)])
            self._write("UPDATE folder SET sent_read = 1 WHERE id = ?", [(folder,) for folder in folders])

    def folder(self, mailbox: int, name: str) -> int:
        """Return the folder's id, new if needed."""
        row = self._db.row("SELECT id FROM folder WHERE mailbox = ? AND name = ?", (mailbox, name))
        if row is None:
            self._write("INSERT OR IGNORE INTO folder (mailbox, name) VALUES (?, ?)", [(mailbox, name)])
            return self.folder(mailbox, name)
        return int(row[0])

    def folders(self, mailbox: int, names: Collection[str]) -> dict[str, int]:
        """The ids of the folders of these names, those that are new made in one transaction."""
        known = self._folders(mailbox)
        if new := [(mailbox, name) for name in names if name not in known]:
            self._write("INSERT OR IGNORE INTO folder (mailbox, name) VALUES (?, ?)", new)
            known = self._folders(mailbox)
        return known

    def _folders(self, mailbox: int) -> dict[str, int]:
        return dict(self._db.all("SELECT name, id FROM folder WHERE mailbox = ?", (mailbox,)))

    def all_folders(self) -> list[tuple[int, str, str]]:
        """Return id, path of the mailbox, and name of each folder that was ever seen."""
        rows = self._db.all("SELECT o.id, m.path, o.name FROM folder AS o JOIN mailbox AS m ON m.id = o.mailbox")
        return [(folder, os.fsdecode(path), name) for folder, path, name in rows]

    def where(self, folder: int) -> tuple[str, str]:
        """Return the path of the folder's mailbox, and the folder's name."""
        row = self._db.row(
            "SELECT m.path, o.name FROM folder AS o JOIN mailbox AS m ON m.id = o.mailbox WHERE o.id = ?", (folder,)
        )
        return os.fsdecode(row[0]), row[1]

    def files(self, folder: int) -> Iterator[tuple[str, str]]:
        """Yield base name and flags of each file in the folder, as of the last look."""
        rows = self._db.rows("SELECT base, flags FROM file WHERE folder = ? AND gone_at IS NULL", (folder,))
        return ((os.fsdecode(base), flags) for base, flags in rows)

    def files_in(self, folder: int) -> dict[str, str]:
        """Return base name to flags for each file in the folder."""
        return dict(self.files(folder))

    def digests_in(self, folder: int) -> Iterator[tuple[bytes, tuple[str, str]]]:
        """Yield the identity of each message in a folder, with the base name and flags of its file; not our letters."""
        rows = self._db.rows(
            "SELECT m.digest, f.base, f.flags FROM file AS f JOIN message AS m ON m.id = f.message"
            " WHERE f.folder = ? AND f.gone_at IS NULL AND f.origin <> 'letter'",
            (folder,),
        )
        return ((digest, (os.fsdecode(base), flags)) for digest, base, flags in rows)

    def letters_among(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return which of these messages are letters that the filter wrote: a file of them is one, or was."""
        return {digest for (digest,) in look_up_bound(self._db, _LETTERS, digests)}

    def is_read(self, digest: bytes) -> bool:
        """Return whether a file of this message is marked as read, or was."""
        query = "SELECT EXISTS (SELECT 1 FROM message AS m JOIN file AS f ON f.message = m.id WHERE m.digest = ?"
        return bool(self._db.row(f"{query} AND instr(f.flags, 'S'))", (digest,))[0])

    def recorded_in(self, path: str, folder: str) -> dict[str, tuple[bytes, bool]]:
        """Return base name to message for each file in a folder: its identity, and whether the filter has judged it.

        path: of the mailbox. Empty for a folder that was never looked at; writes nothing.
        """
        rows = self._db.rows(
            "SELECT f.base, m.digest, m.judged_at IS NOT NULL FROM mailbox AS b JOIN folder AS o ON o.mailbox = b.id"
            " JOIN file AS f ON f.folder = o.id JOIN message AS m ON m.id = f.message"
            " WHERE b.path = ? AND o.name = ? AND f.gone_at IS NULL",
            (os.fsencode(path), folder),
        )
        return {os.fsdecode(base): (digest, bool(is_judged)) for base, digest, is_judged in rows}

    def get(self, folder: int, base: str) -> Location | None:
        """Return the file of that name that is in the folder, or None."""
        last = self.last(folder, base)
        return None if last is None or last.gone_at is not None else last

    def last(self, folder: int, base: str) -> Location | None:
        """Return the file of that name that is in the folder, or was the last there; None if there never was one."""
        return next(self._found("f.folder = ? AND f.base = ?", folder, os.fsencode(base)), None)

    def of_message(self, message: int) -> list[Location]:
        """Return the newest files that the message has, or had until another program took them; the oldest first.

        A location that the filter itself emptied is left out: no one took the message from there. A message that was
        sent a thousand times has a thousand locations; the newest show what one more means.
        """
        return list(self._found(f"f.message = ? AND f.gone_by IS NULL {_NEWEST}", message))[::-1]

    def alike(self, header_digest: bytes | None, digest: bytes) -> list[Location]:
        """Return the locations of other messages with this Message-ID, Date and From, the oldest first.

        It takes the newest twenty such messages: a stranger may send any number of them.
        """
        if header_digest is None:
            return []
        where = f"f.message IN ({_ALIKE}) AND f.gone_by IS NULL {_NEWEST}"
        return list(self._found(where, header_digest, digest))[::-1]

    def waiting(self, folder: int) -> list[Location]:
        """Return the folder's files that wait for another file of the same delivery to leave spam."""
        where = "f.folder = ? AND f.origin = 'waiting' AND f.gone_at IS NULL"
        return list(self._found(where, folder, index="INDEXED BY file_waiting"))  # else SQLite reads the whole folder

    def all_of_message(self, message: int) -> Iterator[Location]:
        """Yield all files that the message has, or had until another program took them, in no order."""
        return self._found("f.message = ? AND f.gone_by IS NULL", message)

    def at_start(self, message: int) -> list[str]:
        """Return the names of the folders that a message was in when its mailbox was first seen.

        A renamed folder has its old name here: the later name of the same file is left out.
        """
        rows = self._db.all(
            "SELECT DISTINCT o.name FROM file AS f JOIN folder AS o ON o.id = f.folder"
            " WHERE f.message = ? AND f.origin = 'before' AND NOT EXISTS (SELECT 1 FROM file AS former"
            " WHERE former.message = f.message AND former.base = f.base AND former.gone_at <= f.since)"
            " ORDER BY o.name",
            (message,),
        )
        return [name for (name,) in rows]

    def unlearned(self, folder: int, origins: Sequence[Origin]) -> Iterator[Location]:
        """Yield files of these origins that are in the folder, were read or answered, and never learned.

        Answered files are included even if they were learned weakly. A weak lesson that the filter itself has forgotten
        is looked at again. A message that a person made it forget is left out: it would be learned again at once.
        """
        wanted = (
            f"f.folder = ? AND f.gone_at IS NULL AND f.origin IN ({','.join('?' * len(origins))})"
            f" AND ((m.learned_at IS NULL OR {FORGOTTEN_BY_FILTER}) AND (f.flags GLOB '*S*' OR f.flags GLOB '*R*')"
            " OR m.label IS NOT NULL AND m.weak AND f.flags GLOB '*R*')"
        )
        return self._found(wanted, folder, *origins)

    def unlearned_in(self, path: str, folder: str) -> list[Location]:
        """Return the newest files of a folder from which nothing was ever learned: first what was read, then the rest.

        path: of the mailbox. Files that are deleted, drafts, our letters, or called spam, are left out. Only the last
        `_LAST` files by name are looked at: names begin with their time.
        """
        where = (
            "f.gone_at IS NULL AND (f.folder, f.base) IN (SELECT last.folder, last.base FROM file AS last"
            " WHERE last.folder = (SELECT o.id FROM folder AS o JOIN mailbox AS b ON b.id = o.mailbox"
            " WHERE b.path = ? AND o.name = ?) ORDER BY last.base DESC LIMIT ?) AND NOT f.flags GLOB '*[DT]*'"
            " AND m.learned_at IS NULL AND coalesce(m.verdict, '') <> 'spam' AND f.origin <> 'letter'"
            " ORDER BY f.flags GLOB '*S*' DESC, f.since DESC, f.base DESC"
        )
        return list(self._found(where, os.fsencode(path), folder, _LAST))

    def has_unlearned_before(self) -> bool:
        """Tell whether mail from before the filter is there from which nothing was ever learned."""
        found = self._db.row(
            "SELECT EXISTS (SELECT 1 FROM file AS f JOIN message AS m ON m.id = f.message WHERE f.origin = 'before'"
            " AND f.gone_at IS NULL AND m.learned_at IS NULL)"
        )
        return bool(found[0])

    def unanswered(self, since: float, most: int) -> list[Location]:
        """Return files of the newest messages judged since a time, for questions to a person.

        They were judged as spam or unsure, and nothing was learned from them; or the filter itself has forgotten the
        lesson, with any verdict. Files that a person has flagged or deleted are left out. `since`: seconds since the
        epoch; most: the number of messages.
        """
        where = f"m.id IN ({_UNANSWERED}) AND f.gone_at IS NULL AND NOT f.flags GLOB '*[FT]*'"
        return list(self._found(where, since, most, index="INDEXED BY file_message"))

    def first_moved_to(self, folders: Iterable[int]) -> float | None:
        """Return when the filter first moved a file to one of these folders, in seconds since the epoch, or None."""
        first = "SELECT min(since) FROM file WHERE folder = ? AND origin = 'filter'"
        times = (self._db.row(first, (folder,))[0] for folder in folders)
        return min((at for at in times if at is not None), default=None)

    def left_in_spam(self, folder: int, before: float, least: float) -> list[Location]:
        """Return files that the filter has moved to the folder before that time, neither learned nor deleted.

        Files that were once rescued, or that a person made it forget, are left out, and those with a lower probability
        than `least`. `before`: seconds since the epoch.
        """
        where = (
            "f.folder = ? AND f.gone_at IS NULL AND f.origin = 'filter' AND f.since < ? AND NOT f.flags GLOB '*T*'"
            " AND m.rescued_at IS NULL AND m.verdict = 'spam' AND m.probability >= ?"
            f" AND (m.learned_at IS NULL OR {FORGOTTEN_BY_FILTER})"
        )
        return list(self._found(where, folder, before, least))

    def _found(self, where: str, *parameters: object, index: str = "") -> Iterator[Location]:
        for folder, mailbox, name, base, *rest in self._db.rows(_SELECT.format(index=index) + where, parameters):
            yield Location(folder, mailbox, name, os.fsdecode(base), *rest)

    def set_origin(self, folder: int, base: str, origin: Origin) -> None:
        """Record who put a file where it is, once that is known."""
        self._write("UPDATE file SET origin = ? WHERE folder = ? AND base = ?", [(origin, folder, os.fsencode(base))])

    def put(self, folder: int, base: str, message: int, origin: Origin, content: bytes, flags: str, at: float) -> None:
        """Record that a file is in a folder."""
        row = folder, os.fsencode(base), message, origin, content, flags, at
        self._write("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)", [row])

    def moved(
        self, source: tuple[int, str], destination: tuple[int, str], message: int, origin: Origin, flags: str, at: float
    ) -> None:
        """Record that the filter has moved a file; source and destination are a folder's id and a base name.

        It stays the same delivery, if the ledger knows the message at the source.
        """
        former = source[0], os.fsencode(source[1]), message
        row = destination[0], os.fsencode(destination[1]), message, origin, *former, flags, at
        with self._db.transaction():
            self.gone(source[0], [source[1]], at, "filter")
            self._db.execute(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, coalesce((SELECT content FROM file"
                " WHERE folder = ? AND base = ? AND message = ?), x''), ?, ?, NULL, NULL)",
                row,
            )

    def carry(self, source: int, destination: int, bases: Iterable[str], at: float) -> int:
        """Record that a folder's files are in a different one, although nobody moved them: the folder was renamed.

        Only base names that the folder has, or had, are carried over. Returns how many.
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
        """Record that files are no longer in the folder; `by`: the filter itself moved them away."""
        self._write(
            "UPDATE file SET gone_at = ?, gone_by = ? WHERE folder = ? AND base = ? AND gone_at IS NULL",
            [(at, by, folder, os.fsencode(base)) for base in bases],
        )

    def same_directory(self, device: int, inode: int) -> int | None:
        """Return the folder that was this directory at the last look, or None."""
        row = self._db.row("SELECT folder FROM directory WHERE device = ? AND inode = ?", (device, inode))
        return None if row is None else int(row[0])

    def set_directories(self, directories: Iterable[tuple[int, int, int]]) -> None:
        """Record which directories folders are: for each its device, its inode and the folder."""
        self._write("INSERT OR REPLACE INTO directory VALUES (?, ?, ?)", directories)

    def flag(self, folder: int, flags: Iterable[tuple[str, str]]) -> None:
        """Record the current flags of files of the folder, as pairs of base name and flags."""
        self._write(
            "UPDATE file SET flags = ? WHERE folder = ? AND base = ?",
            [(letters, folder, os.fsencode(base)) for base, letters in flags],
        )

    def _write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._db.transaction():
            self._db.executemany(statement, rows)
