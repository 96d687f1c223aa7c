"""The messages of a ledger: one row for each identity that was ever seen, judged or learned."""

from collections.abc import Sequence
from dataclasses import dataclass

from spamnb.ledger.connection import Connection


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a message. `label` is 0 ham, 1 spam, None not learned.

    weak: no person has decided the label. rescued_at: since when a person wants it where it was put back, or None.
    """

    id: int
    digest: bytes
    summary: str
    verdict: str | None
    probability: float | None
    label: int | None
    weak: bool
    learned_why: str | None
    rescued_at: float | None


_SELECT = "SELECT id, digest, summary, verdict, probability, label, weak, learned_why, rescued_at FROM message"


class Messages:
    """Who a message is, and what the filter thought of it."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def find(self, digest: bytes) -> Known | None:
        """The message of that identity, or None where it was never seen."""
        row = self._db.row(f"{_SELECT} WHERE digest = ?", (digest,))
        return None if row is None else Known(*row)

    def get(self, message: int) -> Known:
        """The message of that id."""
        return Known(*self._db.row(f"{_SELECT} WHERE id = ?", (message,)))

    def ensure(self, digest: bytes, summary: str, at: float) -> Known:
        """The message of that identity, made where it is new."""
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO message (digest, summary, seen_at) VALUES (?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET summary = excluded.summary WHERE summary = ''",
                (digest, summary, at),
            )
            return Known(*self._db.row(f"{_SELECT} WHERE digest = ?", (digest,)))

    def judged(self, message: int, verdict: str, probability: float, at: float) -> None:
        """Keep a verdict on a message."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE message SET verdict = ?, probability = ?, judged_at = ? WHERE id = ?",
                (verdict, probability, at, message),
            )

    def rescued(self, message: int, at: float | None) -> None:
        """Record since when a person wants the message where it was put back; None: no more."""
        with self._db.transaction():
            self._db.execute("UPDATE message SET rescued_at = ? WHERE id = ?", (at, message))

    def last_verdicts(self, most: int, since: float) -> Sequence[str]:
        """The newest verdicts given after a time, the newest first."""
        rows = self._db.rows(
            "SELECT verdict FROM message WHERE judged_at > ? ORDER BY judged_at DESC LIMIT ?", (since, most)
        )
        return [row[0] for row in rows]

    def numbers(self) -> dict[str, int]:
        """How many messages were judged, by verdict."""
        rows = self._db.rows("SELECT verdict, count(*) FROM message WHERE judged_at IS NOT NULL GROUP BY verdict")
        return dict(rows)
