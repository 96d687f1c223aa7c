"""Mail that a person has sent, in the ledger: which answers it may get, and to whom it went."""

from collections.abc import Iterable, Mapping

from spamnb.ledger.connection import Connection
from spamnb.mail.relations import Addressees


class SqliteSentMail:
    """The part of a store of lessons that keeps sent mail (`lessons.port`)."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def add_sent(self, messages: Mapping[bytes, Addressees]) -> None:
        """Keep to whom a person's sent messages went, by the identities of the messages."""
        answers = [(digest, each) for digest, found in messages.items() for each in (found.answers or [0])]
        recipients = [(digest, each) for digest, found in messages.items() for each in found.recipients]
        with self._db.transaction():
            self._db.executemany("INSERT OR IGNORE INTO sent VALUES (?, ?)", sorted(answers))
            self._db.executemany("INSERT OR IGNORE INTO recipient VALUES (?, ?)", sorted(recipients))

    def drop_sent(self, digests: Iterable[bytes]) -> None:
        """Forget messages that the person has sent."""
        gone = [(digest,) for digest in digests]
        with self._db.transaction():
            for table in ("sent", "recipient"):
                self._db.executemany(f"DELETE FROM {table} WHERE digest = ?", gone)  # noqa: S608 - one of the two

    def sent(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return the first identities of sent messages above `after`, at most `most`, sorted."""
        rows = self._db.all("SELECT DISTINCT digest FROM sent WHERE digest > ? ORDER BY digest LIMIT ?", (after, most))
        return [row[0] for row in rows]

    def recipients(self, most: int) -> int:
        """Return to how many addresses the person has written, counted up to `most`."""
        (number,) = self._db.row("SELECT count(*) FROM (SELECT DISTINCT address FROM recipient LIMIT ?)", (most,))
        return int(number)
