"""Verdicts that were given at delivery, before the message came to a folder.

A mail server asks for a verdict (by the spamd protocol), and a rule then files the message by it. When the message
appears in a folder, its verdict is found here by its identity: a header field proves nothing, since anyone can write
it. A message that never appears leaves nothing behind: its verdict expires.
"""

from dataclasses import dataclass

from spamnb.base.label import How
from spamnb.ledger.connection import Connection

LASTING = 86_400.0  # seconds; a mail server may hold a message for hours after it has asked
_MOST_EXPIRED = 1000  # rows removed at once


@dataclass(frozen=True, slots=True)
class EarlyVerdict:
    """A verdict given at delivery.

    asker: who asked, as text for the history. how: the way of asking, for the program. at: seconds since the epoch.
    """

    verdict: str
    probability: float
    log_odds: float
    asker: str
    how: How
    at: float


class EarlyVerdicts:
    """The verdicts of the last day, by the identity of their messages; the latest of each."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def remember(self, digest: bytes, told: EarlyVerdict) -> None:
        """Keep a verdict, and remove expired ones."""
        row = digest, told.verdict, told.probability, told.log_odds, told.asker, told.how, told.at
        expired = "SELECT digest FROM early_verdict WHERE at < ? ORDER BY at LIMIT ?"
        with self._db.transaction():
            self._db.execute("INSERT OR REPLACE INTO early_verdict VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            self._db.execute(
                f"DELETE FROM early_verdict WHERE digest IN ({expired})",  # noqa: S608 - no text from outside
                (told.at - LASTING, _MOST_EXPIRED),
            )

    def find(self, digest: bytes, now: float) -> EarlyVerdict | None:
        """Return the verdict given on the message of that identity within the last day, or None."""
        row = self._db.row(
            "SELECT verdict, probability, log_odds, asker, how, at FROM early_verdict WHERE digest = ? AND at >= ?",
            (digest, now - LASTING),
        )
        if row is None:
            return None
        verdict, probability, log_odds, asker, how, at = row
        return EarlyVerdict(verdict, probability, log_odds, asker, How(how), at)
