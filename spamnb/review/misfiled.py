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
from spamnb.filter.judge import Clue, Judgement
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lessons
from spamnb.review.near_copies import groups

CLUES = 3


@dataclass(frozen=True, slots=True)
class Misfiled:
    """A message that a person is to be asked about.

    label: what it is learned as, or what its folder says. weak: no person may have decided that. judgement: without
    itself and its near-copies, where it is learned. place: one of its files, or None where none is known.
    """

    digest: bytes
    summary: str
    label: Label
    weak: bool
    judgement: Judgement
    clues: tuple[Clue, ...] = ()
    place: CurrentFile | None = None

    @property
    def question(self) -> Question:
        """What `acts.answers` needs to know of it."""
        return Question(self.digest, self.summary, self.label, self.place)

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
        judged = {one.lesson.digest: one for one in _judged(ledger.lessons, config.scoring)}
        return complete(ledger, config, suspected(ledger, judged), groups(learned_now(ledger.lessons)))


def suspected(ledger: Ledger, judged: Mapping[bytes, JudgedWithoutItself]) -> list[Misfiled]:
    """What `misfiled` gives, without clues and places, of messages that were judged without their near-copies."""
    settled = ledger.journal.all_settled()
    found = (one for one in (*_disputed(judged.values()), *_copies(ledger, judged)) if one.digest not in settled)
    return sorted(found, key=_rank)


def contradictions(ledger: Ledger, scoring: Scoring) -> int:
    """How many messages `misfiled` finds whose verdict is the other class: mail that contradicts itself."""
    with ledger.snapshot():
        settled = ledger.journal.all_settled()
        return sum(one.digest not in settled for one in contradicting(ledger.lessons, scoring))


def contradicting(lessons: Lessons, scoring: Scoring) -> list[Misfiled]:
    """The learned messages whose verdict without themselves is the other class, the strongest first; without clues.

    Of any lessons: those of a ledger, or of mail that is learned for an evaluation.
    """
    found = (one for one in _disputed(_judged(lessons, scoring)) if one.is_clear)
    return sorted(found, key=lambda one: -one.strength)


def _judged(lessons: Lessons, scoring: Scoring) -> Iterator[JudgedWithoutItself]:
    """All learned messages, each without its near-copies."""
    return without_groups(lessons, scoring, groups(learned_now(lessons)))


def _disputed(judged: Iterable[JudgedWithoutItself]) -> Iterator[Misfiled]:
    for one in judged:
        if one.lesson.label is not None and (finding := _finding(one, one.lesson.label)).strength > 0:
            yield finding


def _finding(one: JudgedWithoutItself, label: Label) -> Misfiled:
    return Misfiled(one.lesson.digest, one.lesson.summary, label, one.lesson.weak, one.judgement)


def _copies(ledger: Ledger, judged: Mapping[bytes, JudgedWithoutItself]) -> Iterator[Misfiled]:
    """Files that were trained as one thing, while a copy was trained as the other, which their message is taken for.

    Not of a message whose last lesson was undone: its files were called that before.
    """
    for file in ledger.trained.called_otherwise():
        one, path = judged.get(file.digest), current_path(file.path)
        if one is not None and one.lesson.takes_back is None and path is not None:
            finding = replace(_finding(one, file.label), weak=False, place=CurrentFile(path, file.label))
            if finding.strength > 0:
                yield finding


def _rank(one: Misfiled) -> tuple[bool, bool, float]:
    return not one.is_clear, not one.weak, -one.strength


def complete(
    ledger: Ledger, config: Config, found: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Findings of learned messages with their clues and places; `copies`: the groups that were left out together."""
    return with_places(ledger, config, with_clues(ledger.lessons, config.scoring, found, copies))


def with_clues(
    lessons: Lessons, scoring: Scoring, found: Sequence[Misfiled], copies: Iterable[Sequence[bytes]]
) -> list[Misfiled]:
    """Findings of learned messages with the clues against their labels; `copies` as in `complete`."""
    wanted = {one.digest for one in found}
    some = (group for group in copies if not wanted.isdisjoint(group))
    clues = {one.lesson.digest: one.clues for one in without_groups(lessons, scoring, some, CLUES)}
    return [replace(one, clues=clues[one.digest]) for one in found]


def with_places(ledger: Ledger, config: Config, found: Sequence[Misfiled]) -> list[Misfiled]:
    """Findings with a file of each, where one is known."""
    places = CurrentFiles(ledger, config, {one.digest for one in found})
    return [replace(one, place=one.place or places.best(one.digest, one.label)) for one in found]
