"""What has still to be learned before mail is moved, kept between requests.

For it ham is judged without itself, which takes 0.3 s with 500,000 tokens: a request only begins that, and shows what
was found before.
"""

from functools import partial

from spamnb.acts import may_move
from spamnb.config import Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.web.background import Tell
from spamnb.web.kept import BUSY_SECONDS, Kept

_UNKNOWN = "it is being looked at whether your ham would be taken for spam"
_Of = tuple[str, int, Scoring, Learning]


class KeptMissing(Kept[tuple[_Of, str]]):
    """Looks what is missing in a ledger, and keeps the result."""

    def look(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> tuple[str, bool]:
        """What is missing, in words, as far as it is known; and whether that is so now."""
        known = may_move.known_missing(ledger, learning)
        if known is not None:
            return known, True
        if self.found is None or self.found[0][0] != ledger.path:
            return _UNKNOWN, False
        asked, found = self.found
        return found, asked == (ledger.path, ledger.lessons.last_change(), scoring, learning)

    def judge(self, path: str, scoring: Scoring, learning: Learning) -> None:
        """Look at a ledger, unless that is being done. Raises LedgerError."""
        self.find(partial(_missing, path, scoring, learning))


def _missing(path: str, scoring: Scoring, learning: Learning, _: Tell) -> tuple[_Of, str]:
    with Ledger(path, busy_seconds=BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
        asked = path, ledger.lessons.last_change(), scoring, learning
        return asked, may_move.missing(ledger, scoring, learning)
