"""Forget old history: files that are gone, and verdicts on messages that are gone and were never learned.

The ledger keeps everything about a message while any of its files is in a folder, or was not seen to leave it: the
mailbox may be unavailable. Otherwise an existing file would count as new mail again, and a move would get a different
meaning. The files of a deleted folder were not seen to leave it. They count as gone from the time when the folder was
missing in a mailbox that can be looked at.

It also keeps messages that were ever learned or imported, and messages that a person wants where they are. It keeps
messages with an action that is open, withheld, or takes another action back. It keeps messages with an action that is
not in the tallies yet: nothing after the open intent of an unavailable mailbox is counted, and a forgotten action never
would be. The newest message and the newest action are kept because SQLite would give their ids again. Thus a forgotten
id never names something else.

The space becomes free pages of the file, which SQLite uses before it makes the file longer; `prune` makes it smaller.
"""

from collections.abc import Collection, Iterator
from functools import partial

from spamnb.ledger.connection import Connection
from spamnb.ledger.history.state import State

_ROWS = 500  # per transaction: a few milliseconds, and one wait for the disk
_After = tuple[float, int, bytes]  # a time, a folder or an action, and a base name: where the next step goes on


class HistoryRetention:
    """Forgets, step by step."""

    def __init__(self, connection: Connection, state: State) -> None:
        self._db = connection
        self._state = state

    def missing(self, mailbox: int, present: Collection[str], at: float) -> None:
        """Record since when folders with files are missing from a mailbox; `present`: names of its existing ones."""
        known = (
            "SELECT id, name, missing_since FROM folder WHERE mailbox = ?"
            " AND (missing_since IS NOT NULL"  # it may be there again, still empty
            " OR EXISTS (SELECT 1 FROM file WHERE file.folder = folder.id AND file.gone_at IS NULL))"
        )
        with self._db.transaction():
            for folder, name, since in self._db.all(known, (mailbox,)):
                if (name in present) is (since is not None):
                    self._set_missing(folder, None if name in present else at)

    def _set_missing(self, folder: int, since: float | None) -> None:
        self._db.execute("UPDATE folder SET missing_since = ? WHERE id = ?", (since, folder))

    def forget(self, gone_before: float, judged_before: float) -> Iterator[int]:
        """Forget files gone before a time, and verdicts given before another; seconds since the epoch.

        Yields the number of rows forgotten after each step. Each step is one transaction. After it the ledger is sound,
        wherever the work is broken off.
        """
        yield from self._count_as_gone(gone_before)
        for step in (
            partial(self._forget_files, gone_before=gone_before, judged_before=judged_before),
            partial(self._forget_actions, before=judged_before),
        ):
            after: _After | None = (float("-inf"), -1, b"")
            while after is not None:
                with self._db.transaction():
                    after, forgotten = step(after)
                yield forgotten
        with self._db.transaction():
            self._forget_directories()

    def _count_as_gone(self, before: float) -> Iterator[int]:
        """Record that the files of a folder, missing since before that time, went with it."""
        there = "SELECT ?, folder, base FROM file WHERE folder = ? AND gone_at IS NULL LIMIT ?"
        for folder, since in self._db.all("SELECT id, missing_since FROM folder WHERE missing_since < ?", (before,)):
            bases = [()]
            while bases:
                with self._db.transaction():
                    bases = self._db.all(there, (since, folder, _ROWS))
                    self._db.executemany("UPDATE file SET gone_at = ? WHERE folder = ? AND base = ?", bases)
                    if not bases:
                        self._set_missing(folder, None)
                yield 0

    def _forget_files(self, after: _After, gone_before: float, judged_before: float) -> tuple[_After | None, int]:
        """Look at some files after `after`. Returns the last of these (None at the end), and the rows forgotten."""
        rows = self._db.all(
            "SELECT gone_at, folder, base, message FROM file WHERE gone_at IS NOT NULL AND gone_at < ?"
            " AND (gone_at, folder, base) > (?, ?, ?) ORDER BY gone_at, folder, base LIMIT ?",
            (gone_before, *after, _ROWS),
        )
        messages = {row[3] for row in rows}
        messages -= self._among(messages, "SELECT message FROM file WHERE gone_at IS NULL OR gone_at >= ?", gone_before)
        chosen = [row[1:3] for row in rows if row[3] in messages]
        self._db.executemany("DELETE FROM file WHERE folder = ? AND base = ?", chosen)
        forgotten = len(chosen) + self._forget_messages(messages, judged_before)
        return rows[-1][:3] if rows else None, forgotten

    def _forget_actions(self, after: _After, before: float) -> tuple[_After | None, int]:
        """Look at some actions after `after`. Returns the last of these (None at the end), and the rows forgotten."""
        rows = self._db.all(
            "SELECT at, id, message FROM action WHERE at < ? AND (at, id) > (?, ?) AND message IS NOT NULL"
            " ORDER BY at, id LIMIT ?",
            (before, *after[:2], _ROWS),
        )
        messages = self._over({row[2] for row in rows}, before)
        chosen = [(row[1],) for row in rows if row[2] in messages]
        self._db.executemany("DELETE FROM action WHERE id = ?", chosen)
        forgotten = len(chosen) + self._forget_messages(messages, before)
        return (*rows[-1][:2], b"") if rows else None, forgotten

    def _forget_messages(self, messages: Collection[int], judged_before: float) -> int:
        """Forget the messages that have nothing left to keep. Returns how many."""
        over = self._over(messages, judged_before)
        over -= self._among(over, "SELECT message FROM action")
        self._db.executemany("DELETE FROM message WHERE id = ?", [(message,) for message in over])
        return len(over)

    def _over(self, messages: Collection[int], judged_before: float) -> set[int]:
        """Return the messages that are gone, have no newer verdict than that time, and need not be kept."""
        over = self._among(
            messages,
            "SELECT id AS message FROM message WHERE learned_at IS NULL AND rescued_at IS NULL"
            " AND (judged_at IS NULL OR judged_at < ?) AND id < (SELECT max(id) FROM message)",
            judged_before,
        )
        over -= self._among(over, "SELECT message FROM file")
        return over - self._among(
            over,
            "SELECT message FROM action WHERE at >= ? OR kind NOT IN ('judged', 'moved') OR takes_back IS NOT NULL"
            " OR state NOT IN ('done', 'failed') OR id > ? OR id = (SELECT max(id) FROM action)",
            judged_before,
            self._state.tallied,
        )

    def _among(self, messages: Collection[int], select: str, *parameters: float) -> set[int]:
        """Return the messages that a statement returns too."""
        also = f"SELECT DISTINCT message FROM ({select}) WHERE message IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row[0] for row in self._db.rows(also, (*parameters, str(list(messages))))}

    def _forget_directories(self) -> None:
        """Forget the directories of folders that are empty now: a rename of these carries nothing over.

        A folder that is only empty is recorded again at the next look.
        """
        self._db.execute(
            "DELETE FROM directory WHERE NOT EXISTS"
            " (SELECT 1 FROM file WHERE file.folder = directory.folder AND file.gone_at IS NULL)"
        )
