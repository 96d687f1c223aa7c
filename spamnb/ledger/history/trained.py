"""The files that messages were learned from at the prompt, and the label given to each."""

import os
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.queries import look_up_bound


class TrainedFile(NamedTuple):
    """A file, by its absolute path, that a message was learned from, and its label."""

    path: str
    digest: bytes
    label: Label


_SELECT = (
    "SELECT d.path, f.name, m.digest, f.label FROM trained_file AS f"
    " JOIN trained_directory AS d ON d.id = f.directory JOIN message AS m ON m.id = f.message WHERE"
)


class TrainedFiles:
    """The places of trained mail. Paths are in the form of `os.fsdecode`."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def record(self, label: Label, files: Iterable[tuple[bytes, str]]) -> None:
        """Record that messages, by their identities, were learned from files with that label; older places stay."""
        named = [(*os.path.split(os.fsencode(path)), digest) for digest, path in files]
        with self._db.transaction():
            directories = sorted({directory for directory, *_ in named})
            self._db.executemany("INSERT OR IGNORE INTO trained_directory (path) VALUES (?)", zip(directories))
            self._db.executemany(
                "INSERT OR REPLACE INTO trained_file"
                " SELECT d.id, ?, m.id, ? FROM trained_directory AS d, message AS m WHERE d.path = ? AND m.digest = ?",
                [(name, int(label), directory, digest) for directory, name, digest in named],
            )

    def of_messages(self, digests: Collection[bytes]) -> Iterator[TrainedFile]:
        """Return the files of these messages."""
        return map(_file, look_up_bound(self._db, f"{_SELECT} m.digest", sorted(set(digests))))

    def labelled_differently(self) -> Iterator[TrainedFile]:
        """Yield files that were trained with one label, while their message is learned with the other."""
        return map(_file, self._db.rows(f"{_SELECT} m.label IS NOT NULL AND m.label <> f.label"))


def _file(row: tuple[bytes, bytes, bytes, int]) -> TrainedFile:
    directory, name, digest, label = row
    return TrainedFile(os.fsdecode(os.path.join(directory, name)), digest, Label(label))
