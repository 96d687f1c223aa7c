"""The mail that waits for a person's answer, for a page: as `review` has it, but little is read for it.

Chosen and ordered by the verdicts that were given; of these the first are read, and judged by what is known now.
"""

from collections.abc import Sequence
from typing import NamedTuple

from spamnb.audit.findings import Finding
from spamnb.audit.near_copies import shape
from spamnb.audit.places import Places
from spamnb.audit.review import MOST, teaching_order
from spamnb.config import Config
from spamnb.filter import FrozenFilter
from spamnb.label import Label, Verdict
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import Known
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read_content

LASTING = 30 * 86_400.0  # seconds: what nobody was asked about for so long is not worth a question any more
_NEWEST = 5000  # messages that were judged spam or unsure


class Waiting(NamedTuple):
    """What to ask about, in the order in which the answers teach most.

    cleared: how many more the filter takes for ham by what it has learned since it judged them.
    """

    asked: list[Finding]
    cleared: int


class _Candidate(NamedTuple):
    known: Known
    location: Location

    @property
    def was_kept(self) -> bool:
        """Whether a person has read what was called spam, and left it where it is: one of the two is wrong."""
        return self.known.verdict == Verdict.SPAM and "S" in self.location.flags


def waiting(ledger: Ledger, config: Config, since: float, most: int = MOST) -> Waiting:
    """Mail that was judged since a time (seconds since the epoch), and that a person may be asked about.

    It lies in a folder for ham or unsure mail, not flagged, was judged spam or unsure, and nothing was learned from it.
    Of at most so many, which are read.
    """
    with ledger.snapshot():
        places = Places(ledger, config)
        found = _candidates(ledger, places, since)
        kept = [one for one in found if one.was_kept]
        others = [one for one in found if not one.was_kept]
        judged = _judged_now(ledger, config, places, [*_ordered(kept), *_ordered(others)][:most])
    asked = [one for one in judged if one.judgement.verdict is not Verdict.HAM]
    return Waiting(asked, len(judged) - len(asked))


def _candidates(ledger: Ledger, places: Places, since: float) -> list[_Candidate]:
    """One file of each message that a person may be asked about."""
    settled = ledger.journal.all_settled()
    of_message = {one.message: one for one in ledger.locations.unanswered(since, _NEWEST) if places.may_ask(one)}
    known = {message: ledger.messages.get(message) for message in of_message}
    return [_Candidate(known[one], of_message[one]) for one in of_message if known[one].digest not in settled]


def _ordered(found: Sequence[_Candidate]) -> list[_Candidate]:
    return teaching_order((one, one.known.probability or 0.0, shape(one.known.summary)[0]) for one in found)


def _judged_now(ledger: Ledger, config: Config, places: Places, found: Sequence[_Candidate]) -> list[Finding]:
    """These messages as the filter judges them now; those that can be read."""
    read = [(one, there) for one in found if (there := places.read(one.location, one.known.digest)) is not None]
    judged = FrozenFilter(ledger.lessons, config.scoring).judge_all([read_content(raw) for _, (_, raw) in read])
    return [
        Finding(one.known.digest, one.known.summary, Label.HAM, False, judgement, place=place)
        for (one, (place, _)), judgement in zip(read, judged, strict=True)
    ]
