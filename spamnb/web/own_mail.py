"""The judgements of all learned mail without itself, kept between requests: made once, in the background.

They take some 5 s for 30,000 messages, so a request only begins them, and shows how far they are. They are made again
when something was learned or forgotten since; until then the former ones are shown.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.web.background import Tell
from spamnb.web.kept import BUSY_SECONDS, Kept

if TYPE_CHECKING:
    from spamnb.review.own_mail import OwnMail

_Of = tuple[str, int, Scoring]


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of the own mail; `mail` is None before it was judged for the first time.

    is_current: nothing was learned since. done, of: how far the judging is, in messages; of is 0 where it has not
    begun.
    """

    mail: "OwnMail | None"
    is_current: bool
    done: int
    of: int


class KeptOwnMail(Kept[tuple[_Of, "OwnMail"]]):
    """Judges the own mail of a ledger, and keeps the result."""

    def look(self, ledger: Ledger, scoring: Scoring) -> Looked:
        """What is known now."""
        kept, progress = self.found, self.progress
        if kept is None or kept[0][0] != ledger.path:
            return Looked(None, False, *progress)
        return Looked(kept[1], kept[0] == (ledger.path, ledger.lessons.last_change(), scoring), *progress)

    def judge(self, path: str, scoring: Scoring) -> None:
        """Judge the mail of a ledger, unless that is being done. Raises LedgerError."""
        self.find(partial(_judged, path, scoring))


def _judged(path: str, scoring: Scoring, tell: Tell) -> "tuple[_Of, OwnMail]":
    from spamnb.review.own_mail import own_mail  # noqa: PLC0415 - the server itself needs none of it

    with Ledger(path, busy_seconds=BUSY_SECONDS, only_read=True) as ledger:
        found = own_mail(ledger, scoring, tell)
        return (path, found.change, scoring), found
