"""Which learned mail is filed wrongly: what the filter, without a message, takes for the other class.

On csdmc2010 with one label in a hundred turned over, 98 % of the first k findings are turned over (k: the number of
those), and all of them are among the first 2k; on Enron1 92 % and 99 % (`benchmarks/audit.py`, means of five seeds).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spamnb.acts.answers import Question
from spamnb.acts.current_files import CurrentFile, CurrentFiles, current_path
from spamnb.base.label import Label, contradicts
from spamnb.config import Config, Scoring
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Judgement
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lessons
from spamnb.review.near_copies import groups

CLUES = 3
_LOOKED_AT = 30  # clues of a message, the strongest, of which these are taken


@dataclass(frozen=True, slots=True)
class Misfiled:
    """A message that a person is to be asked about.

    label: what it is learned as, or what its folder says. weak: no person may have decided that. judgement: without
    itself and its near-copies, where it is learned. place: one of its files, or None where none is known. is_learned:
    without that nobody has called it anything.
    """

    digest: bytes
    summary: str
    label: Label
    weak: bool
    judgement: Judgement
    clues: tuple[Clue, ...] = ()
    place: CurrentFile | None = None
    is_learned: bool = True

    @property
    def question(self) -> Question:
        """What `acts.answers` needs to know of it."""
        return Question(self.digest, self.summary, self.label, self.place)

    @property
    def probability(self) -> float:
        """The probability of spam, by the judgement."""
        return self.judgement.probability

    @property
    def strength(self) -> float:
        """How strongly the filter takes it for the other class, in log-odds; not above 0: it does not."""
        return self.judgement.log_odds * (-1 if self.label is Label.SPAM else 1)

    @property
    def is_clear(self) -> bool:
        """Whether the verdict is the other class, and not only nearer to it."""
        return contradicts(self.label, self.judgement.verdict)


def misfiled(ledger: Ledger, config: Config) -> list[Misfiled]:
    """All learned messages that are rather of the other class, but for those that a person has answered.

    First those whose verdict is the other class; of these first what was learned weakly, then the strongest. Called
    again when the first are answered, it knows more.
    """
    with ledger.snapshot():
        judged = {left.lesson.digest: left for left in _judged(ledger.lessons, config.scoring)}
        return complete(ledger, config, suspected(ledger, judged), groups(learned_now(ledger.lessons)))


def suspected(ledger: Ledger, judged: Mapping[bytes, JudgedWithoutItself]) -> list[Misfiled]:
    """What `misfiled` gives, without clues and places, of messages that were judged without their near-copies."""
    settled = ledger.journal.all_settled()
    findings = (*_disputed(judged.values()), *_copies(ledger, judged))
    return sorted((finding for finding in findings if finding.digest not in settled), key=_rank)


def count_clear(ledger: Ledger, scoring: Scoring) -> int:
    """How many messages `misfiled` finds whose verdict is the other class."""
    with ledger.snapshot():
        settled = ledger.journal.all_settled()
        return sum(finding.digest not in settled for finding in clearly_misfiled(ledger.lessons, scoring))


def clearly_misfiled(lessons: Lessons, scoring: Scoring) -> list[Misfiled]:
    """The learned messages whose verdict without themselves is the other class, the strongest first; without clues.

    Of any lessons: those of a ledger, or of mail that is learned for an evaluation.
    """
    clear = (finding for finding in _disputed(_judged(lessons, scoring)) if finding.is_clear)
    return sorted(clear, key=lambda finding: -finding.strength)


def _judged(lessons: Lessons, scoring: Scoring) -> Iterator[JudgedWithoutItself]:
    """All learned messages, each without its near-copies."""
    return without_groups(lessons, scoring, groups(learned_now(lessons)))


def _disputed(judged: Iterable[JudgedWithoutItself]) -> Iterator[Misfiled]:
    for left in judged:
        if left.lesson.label is not None:
            finding = _finding(left, left.lesson.label)
            if finding.strength > 0:
                yield finding


def _finding(left: JudgedWithoutItself, label: Label) -> Misfiled:
    return Misfiled(left.lesson.digest, left.lesson.summary, label, left.lesson.weak, left.judgement)


def _copies(ledger: Ledger, judged: Mapping[bytes, JudgedWithoutItself]) -> Iterator[Misfiled]:
    """Files that were trained as one thing, while a copy was trained as the other, which their message is taken for.

    Not of a message whose last lesson was undone: its files were called that before.
    """
    for file in ledger.trained.labelled_differently():
        left, path = judged.get(file.digest), current_path(file.path)
        if left is not None and left.lesson.takes_back is None and path is not None:
            finding = replace(_finding(left, file.label), weak=False, place=CurrentFile(path, file.label))
            if finding.strength > 0:
                yield finding


def _rank(finding: Misfiled) -> tuple[bool, bool, float]:
    return not finding.is_clear, not finding.weak, -finding.strength


def complete(
    ledger: Ledger, config: Config, findings: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Findings of learned messages with their clues and places; `copies`: the groups that were left out together."""
    return with_places(ledger, config, with_clues(ledger.lessons, config.scoring, findings, copies))


def with_clues(
    lessons: Lessons, scoring: Scoring, findings: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Findings of learned messages with the clues against their labels; `copies` as in `complete`."""
    wanted = {finding.digest for finding in findings}
    concerned = (group for group in copies if not wanted.isdisjoint(group))
    left = without_groups(lessons, scoring, concerned, _LOOKED_AT)
    clues = {one.lesson.digest: tuple(first_clues(one.clues, CLUES)) for one in left}
    return [replace(finding, clues=clues[finding.digest]) for finding in findings]


def with_places(ledger: Ledger, config: Config, findings: Sequence[Misfiled]) -> list[Misfiled]:
    """Findings with a file of each, where one is known."""
    places = CurrentFiles(ledger, config, {finding.digest for finding in findings})
    return [replace(finding, place=finding.place or places.best(finding.digest, finding.label)) for finding in findings]


def still_asked(ledger: Ledger, findings: Iterable[Misfiled]) -> list[Misfiled]:
    """Those of findings of before that still stand: not answered since, and still learned as the same."""
    settled = ledger.journal.all_settled()
    standing = []
    for finding in findings:
        lesson = None if finding.digest in settled else ledger.lessons.find(finding.digest)
        if lesson is not None and (lesson.label is finding.label or finding.place is not None):
            standing.append(finding)
    return standing
