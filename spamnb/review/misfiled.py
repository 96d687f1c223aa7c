"""Find learned mail that is filed wrongly: without a message, the filter takes it for the other class.

With one label in a hundred reversed on csdmc2010, 98 % of the first k findings are reversed ones (k: their number), and
all of these are in the first 2k; on Enron1 92 % and 99 % (`benchmarks/audit.py`, means of five seeds).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from spamnb.acts.answers import Question
from spamnb.acts.current_files import CurrentFile, CurrentFiles, current_path
from spamnb.acts.ordered import moved_by_order
from spamnb.base.label import Label, contradicts, counts_as
from spamnb.base.wording import plural
from spamnb.config import Config, Scoring
from spamnb.filter.first_clues import first_clues
from spamnb.filter.judge import Clue, Judgement
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.ledger.at_start import learned_at_start
from spamnb.ledger.history.trained import TrainedFile
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lessons
from spamnb.review.first_lessons import is_sifted
from spamnb.review.near_copies import groups

CLUES = 3
LOOKED_AT = 30  # the strongest clues of a message, from which these are taken


@dataclass(frozen=True, slots=True)
class Misfiled:
    """A message to ask a person about.

    label: what it is learned as, or what its folder says. weak: perhaps no person has decided that. judgement: without
    the message and its near-copies, if it is learned. place: one of its files, or None if none is known. at_start: why
    `init` has learned it, in words, or "". ordered: a sentence if the filter has moved it on a person's order, or "".
    now: what it is learned as, or None: then nobody has called it anything.
    """

    digest: bytes
    summary: str
    label: Label
    weak: bool
    judgement: Judgement
    clues: tuple[Clue, ...] = ()
    place: CurrentFile | None = None
    at_start: str = ""
    ordered: str = ""
    now: Label | None = None

    @property
    def question(self) -> Question:
        """Return what `acts.answers` needs to know of it."""
        return Question(self.digest, self.summary, self.label, self.place)

    @property
    def is_learned(self) -> bool:
        """Tell whether the filter has learned the message."""
        return self.now is not None

    @property
    def counts_as(self) -> str:
        """Return what it counts as now, in words."""
        return counts_as(self.now, self.weak)

    @property
    def probability(self) -> float:
        """Return the probability of spam, by the judgement."""
        return self.judgement.probability

    @property
    def strength(self) -> float:
        """Return how strongly the filter takes it for the other class, in log-odds; 0 or less: it does not."""
        return self.judgement.log_odds * (-1 if self.label is Label.SPAM else 1)

    @property
    def is_clear(self) -> bool:
        """Tell whether the verdict is the other class, and not only nearer to it."""
        return contradicts(self.label, self.judgement.verdict)


class Doubts(NamedTuple):
    """How many learned messages are clearly misfiled, and how many others are only nearer to the other class."""

    clear: int = 0
    less_clear: int = 0

    @classmethod
    def of(cls, findings: Iterable[Misfiled]) -> "Doubts":
        """Count findings."""
        numbers = Counter(finding.is_clear for finding in findings)
        return cls(numbers[True], numbers[False])

    @property
    def heading(self) -> str:
        """Return both numbers for a heading.

        >>> Doubts(1, 0).heading, Doubts(12, 23).heading
        ('1 probably in the wrong folder', '12 probably in the wrong folder, and 23 less clear')
        """
        return f"{self.clear} probably in the wrong folder{self._rest}"

    @property
    def sentence(self) -> str:
        """Return both numbers in a sentence without its full stop.

        >>> Doubts(1, 0).sentence, Doubts(12, 23).sentence
        ('1 message is probably in the wrong folder', '12 messages are probably in the wrong folder, and 23 less clear')
        """
        is_ = "is" if self.clear == 1 else "are"
        return f"{plural(self.clear, 'message')} {is_} probably in the wrong folder{self._rest}"

    @property
    def of_figures(self) -> str:
        """Return what figures about this mail are worth while messages are clearly misfiled, in sentences; else "".

        >>> Doubts(1, 0).of_figures.partition(": ")[2]
        '1 message is probably in the wrong folder. Until you answer, these figures say little.'
        """
        if not self.clear:
            return ""
        return f"Your mail contradicts itself: {self.sentence}. Until you answer, these figures say little."

    @property
    def _rest(self) -> str:
        return f", and {self.less_clear} less clear" if self.less_clear else ""


def misfiled(ledger: Ledger, config: Config) -> list[Misfiled]:
    """Return all learned messages that look like the other class, except those that a person has answered.

    Messages that `init` has doubted are left out: it has settled them by itself, and `first_questions` asks about them.
    First come those whose verdict is the other class; among these first the weak lessons, then the strongest findings.
    Call it again when the first are answered: it then knows more.
    """
    with ledger.snapshot():
        suspects = suspected(ledger, _judged(ledger.lessons, config.scoring))
        return complete(ledger, config, suspects, groups(learned_now(ledger.lessons)))


def count_misfiled(ledger: Ledger, scoring: Scoring) -> Doubts:
    """Return how many messages `misfiled` finds."""
    with ledger.snapshot():
        return Doubts.of(suspected(ledger, _judged(ledger.lessons, scoring)))


def suspected(ledger: Ledger, judged: Iterable[JudgedWithoutItself]) -> list[Misfiled]:
    """Return what `misfiled` returns, without clues and places, for messages judged without their near-copies."""
    settled, files = ledger.journal.all_settled(), list(ledger.trained.labelled_differently())
    digests = {file.digest for file in files}
    kept: dict[bytes, JudgedWithoutItself] = {}  # only possible findings: each takes a kilobyte
    for left in judged:
        if is_sifted(left.lesson):
            continue
        is_nearer_to_spam = left.judgement.log_odds > 0
        if is_nearer_to_spam is not (left.lesson.label is Label.SPAM) or left.lesson.digest in digests:
            kept[left.lesson.digest] = left
    findings = (*_disputed(kept.values()), *_copies(files, kept))
    return sorted((finding for finding in findings if finding.digest not in settled), key=_rank)


def _judged(lessons: Lessons, scoring: Scoring) -> Iterator[JudgedWithoutItself]:
    """Judge all learned messages, each without its near-copies."""
    return without_groups(lessons, scoring, groups(learned_now(lessons)))


def _disputed(judged: Iterable[JudgedWithoutItself]) -> Iterator[Misfiled]:
    for left in judged:
        if left.lesson.label is not None:
            finding = _finding(left, left.lesson.label)
            if finding.strength > 0:
                yield finding


def _finding(left: JudgedWithoutItself, label: Label) -> Misfiled:
    lesson = left.lesson
    return Misfiled(lesson.digest, lesson.summary, label, lesson.weak, left.judgement, now=lesson.label)


def _copies(files: Iterable[TrainedFile], judged: Mapping[bytes, JudgedWithoutItself]) -> Iterator[Misfiled]:
    """Yield files trained as one class that look like the other, if a copy was trained as that other class.

    This leaves out a message whose last lesson was undone: its files got their labels before that.
    """
    for file in files:
        left, path = judged.get(file.digest), current_path(file.path)
        if left is not None and left.lesson.takes_back is None and path is not None:
            finding = replace(_finding(left, file.label), place=CurrentFile(path, file.label))
            if finding.strength > 0:
                yield finding


def _rank(finding: Misfiled) -> tuple[bool, bool, float]:
    return not finding.is_clear, not finding.weak, -finding.strength


def complete(
    ledger: Ledger, config: Config, findings: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Add clues and places to findings of learned messages; `copies`: the groups that were left out together."""
    return with_places(ledger, config, with_clues(ledger.lessons, config.scoring, findings, copies))


def with_clues(
    lessons: Lessons, scoring: Scoring, findings: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Add the clues against their labels to findings of learned messages; `copies` as in `complete`."""
    wanted = {finding.digest for finding in findings}
    concerned = (group for group in copies if not wanted.isdisjoint(group))
    left = without_groups(lessons, scoring, concerned, LOOKED_AT)
    clues = {one.lesson.digest: tuple(first_clues(one.clues, CLUES)) for one in left}
    return [replace(finding, clues=clues[finding.digest]) for finding in findings]


def with_places(ledger: Ledger, config: Config, findings: Sequence[Misfiled]) -> list[Misfiled]:
    """Add to each finding a file, if one is known, why `init` has learned it, and if the filter moved it by order."""
    places = CurrentFiles(ledger, config, {finding.digest for finding in findings})
    found = []
    for finding in findings:
        place = finding.place or places.best(finding.digest, finding.label)
        at_start, ordered = learned_at_start(ledger, finding.digest), moved_by_order(ledger, finding.digest)
        found.append(replace(finding, place=place, at_start=at_start, ordered=ordered))
    return found


def still_asked(ledger: Ledger, findings: Iterable[Misfiled]) -> list[Misfiled]:
    """Return the earlier findings that still hold: not answered since, and still learned with the same label."""
    settled = ledger.journal.all_settled()
    standing = []
    for finding in findings:
        lesson = None if finding.digest in settled else ledger.lessons.find(finding.digest)
        if lesson is not None and (lesson.label is finding.label or finding.place is not None):
            standing.append(finding)
    return standing
