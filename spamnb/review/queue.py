"""Choose what to ask a person first: the mail whose label would teach the filter most.

First comes mail that the filter called spam and that a person has read and kept: one of the two is wrong, and nothing
is learned from it. Then comes the least certain mail (uncertainty sampling; Lewis and Gale, "A sequential algorithm for
training text classifiers", 1994), one message of each sender before the second of any: mail of one sender teaches
nearly the same.

On csdmc2010, with 100 messages learned, (1-ROCA)% of the rest is 0.61 in the corpus's order, 0.19 over five shuffles.
After 60 random answers it is 0.37 and 0.12. After 60 answers in this order, chosen again after every ten, it is 0.17
and 0.04 (`benchmarks/audit.py`; single orders differ much). One message of each domain before the second is not better.

Mail is chosen and sorted by its first verdict. The first messages of that order are read, and judged by today's
knowledge. Weak lessons are judged without themselves (`weak_lessons`). This takes longer, so the page does it in the
background.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.base.label import Label, Verdict
from spamnb.config import Config, Scoring
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import FrozenFilter, Judgement
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read_content
from spamnb.review.misfiled import CLUES, LOOKED_AT, Misfiled, with_clues, with_places
from spamnb.review.near_copies import groups, shape

MOST = 50  # messages to ask a person about at once
ROUND = 10  # answers, after which the order is computed again
LASTING = 30 * 86_400.0  # seconds; older mail is no longer worth a question on a page
_NEWEST = 5000  # messages that were judged as spam or unsure
WEAK = 500  # the newest messages; judging them takes some 0.1 s
READ_FOR_A_PAGE, READ_AT_THE_PROMPT = 150, 1000  # messages; each takes half a millisecond
T = TypeVar("T")


class Queue(NamedTuple):
    """The mail to ask about, in the order in which the answers teach most.

    cleared: how many other messages the filter now takes for ham, by what it has learned since it judged them.
    """

    asked: list[Misfiled]
    cleared: int


class _Candidate(NamedTuple):
    known: MessageRow
    location: Location

    @property
    def was_kept(self) -> bool:
        """Tell whether a person has read mail called spam, and left it in place: one of the two is wrong."""
        return self.known.verdict == Verdict.SPAM and "S" in self.location.flags

    @property
    def summary(self) -> str:
        """Return the subject and the sender."""
        return self.known.summary

    @property
    def probability(self) -> float:
        """Return the probability of the first verdict; for a lesson that the filter forgot since, one half."""
        given = self.known.probability
        return 0.5 if self.known.learned_at is not None or given is None else given


def teaching_order(
    items: Iterable[tuple[T, float, Hashable]],
) -> list[T]:
    """Return items in the order in which their labels teach most. Each comes with its probability of spam and sender.

    >>> teaching_order([("a", 0.9, "x"), ("b", 0.6, "x"), ("c", 0.2, "y")])
    ['b', 'c', 'a']
    """
    met: Counter[Hashable] = Counter()
    ranked = []
    for item, probability, sender in sorted(items, key=lambda item: abs(item[1] - 0.5)):
        ranked.append((met[sender], abs(probability - 0.5), item))
        met[sender] += 1
    return [item for *_, item in sorted(ranked, key=lambda rank: rank[:2])]


def waiting(
    ledger: Ledger,
    config: Config,
    since: float = 0.0,
    weak: Iterable[Misfiled] = (),
    most: int = MOST,
    reading: int = READ_FOR_A_PAGE,
) -> Queue:
    """Return the mail judged since a time that a person may be asked about, at most `most`. since: as a Unix time.

    The mail is in a folder for ham, or was put apart. It is not flagged, and was judged spam or unsure. Nothing was
    learned from it, or the filter has forgotten that by itself. `weak` adds the findings of `weak_lessons` that still
    hold. reading: the largest number of messages to read.
    """
    with ledger.snapshot():
        places = CurrentFiles(ledger, config)
        kept, others = _to_ask_about(ledger, places, since, weak)
        ordered = iter([*_by_verdict(kept), *_by_verdict(others)])
        asked: list[Misfiled] = []
        cleared = 0
        while len(asked) < most and reading > 0:
            items = list(islice(ordered, most - len(asked)))
            if not items:
                break
            unlearned = [item for item in items if isinstance(item, _Candidate)]
            judged = _judged_now(ledger, config, places, unlearned)
            still = [finding for finding in judged if finding.judgement.verdict is not Verdict.HAM]
            asked += still
            asked += with_places(ledger, config, [item for item in items if isinstance(item, Misfiled)])
            cleared += len(judged) - len(still)
            reading -= len(unlearned)
    return Queue(_in_order(asked, {candidate.known.digest for candidate in kept}), cleared)


def _to_ask_about(
    ledger: Ledger, places: CurrentFiles, since: float, weak: Iterable[Misfiled]
) -> tuple[list[_Candidate], list[_Candidate | Misfiled]]:
    """Return mail called spam that was kept, and all other mail."""
    settled = ledger.journal.all_settled()
    kept: list[_Candidate] = []
    others: list[_Candidate | Misfiled] = []
    for candidate in _candidates(ledger, places, since, settled):
        (kept if candidate.was_kept else others).append(candidate)
    others += [finding for finding in weak if finding.digest not in settled and _is_open(ledger, finding)]
    return kept, others


def _in_order(asked: Sequence[Misfiled], kept: Collection[bytes]) -> list[Misfiled]:
    """Sort by today's judgements: first kept mail that is still called spam, then the rest."""
    first: list[Misfiled] = []
    then: list[Misfiled] = []
    for finding in asked:
        is_first = finding.digest in kept and finding.judgement.verdict is Verdict.SPAM
        (first if is_first else then).append(finding)
    return [*_by_now(first), *_by_now(then)]


def weak_lessons(ledger: Ledger, scoring: Scoring, since: float = 0.0, most: int = WEAK) -> list[Misfiled]:
    """Return the newest weak lessons with which the filter, without them, does not agree.

    Each is judged also without its near-copies, and by tokens alone, whatever `senders` says: a lesson applies to all
    senders. since: seconds since the epoch. Without places.
    """
    with ledger.snapshot():
        doubtful = []
        copies = _copies(ledger, ledger.messages.learned_weakly(since, most))
        for lesson, judgement, _ in without_groups(ledger.lessons, scoring, copies):
            if lesson.label is not None and judgement.verdict != lesson.label.word:
                found = Misfiled(lesson.digest, lesson.summary, lesson.label, True, judgement, now=lesson.label)
                doubtful.append(found)
        return with_clues(ledger.lessons, scoring, doubtful, copies)


def to_answer(ledger: Ledger, config: Config, most: int = MOST) -> list[Misfiled]:
    """Return what to ask about first, of any age."""
    with ledger.snapshot():
        weak = weak_lessons(ledger, config.scoring)
        return waiting(ledger, config, weak=weak, most=most, reading=READ_AT_THE_PROMPT).asked


def _copies(ledger: Ledger, digests: Iterable[bytes]) -> list[list[bytes]]:
    """Return learned messages in groups that are left out together."""
    return list(groups(lesson for lesson in map(ledger.lessons.find, digests) if lesson is not None))


def _is_open(ledger: Ledger, finding: Misfiled) -> bool:
    """Tell whether a message is still learned with the label that was found."""
    lesson = ledger.lessons.find(finding.digest)
    return lesson is not None and (lesson.label, lesson.weak) == (finding.label, True)


def _candidates(ledger: Ledger, places: CurrentFiles, since: float, settled: Collection[bytes]) -> list[_Candidate]:
    """Return one file of each message that a person may be asked about."""
    locations = {at.message: at for at in ledger.locations.unanswered(since, _NEWEST) if places.may_ask(at)}
    candidates = [_Candidate(ledger.messages.get(message), location) for message, location in locations.items()]
    return [candidate for candidate in candidates if candidate.known.digest not in settled]


def _by_verdict(items: Iterable[_Candidate | Misfiled]) -> list[_Candidate | Misfiled]:
    return teaching_order((item, item.probability, shape(item.summary)[0]) for item in items)


def _by_now(findings: Iterable[Misfiled]) -> list[Misfiled]:
    return teaching_order((finding, finding.probability, shape(finding.summary)[0]) for finding in findings)


def _judged_now(
    ledger: Ledger, config: Config, places: CurrentFiles, candidates: Sequence[_Candidate]
) -> list[Misfiled]:
    """Return the messages that can be read, as the filter judges them now. All but ham have their clues."""
    messages, files, readings = [], [], []
    for candidate in candidates:
        content = places.read(candidate.location, candidate.known.digest)
        if content is not None:
            messages.append(candidate.known)
            files.append(content[0])
            readings.append(read_content(content[1]))
    judging = FrozenFilter.of(ledger.lessons, config)
    found = []
    for known, file, reading, judgement in zip(messages, files, readings, judging.judge_all(readings), strict=True):
        strongest = [] if judgement.verdict is Verdict.HAM else judging.strongest(reading, judgement, LOOKED_AT)
        clues, label = tuple(first_clues(strongest, CLUES)), _called(file, judgement)
        found.append(Misfiled(known.digest, known.summary, label, False, judgement, clues, file))
    return found


def _called(place: CurrentFile, judgement: Judgement) -> Label:
    """Return the label that a message has as long as nobody has said more: its folder's, or the more probable one."""
    return Label(judgement.probability > 0.5) if place.role.is_apart else Label.HAM
