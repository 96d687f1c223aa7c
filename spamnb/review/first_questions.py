"""The questions of the first day: which messages of the ham folders are spam?

They are the messages that the filter doubts, the most like spam first. If Junk holds little, these are few, and the
next ones in that order follow. With next to nothing in Junk no probability means anything. Then they are the messages
that look least like the others: the share of their tokens that no other message has is the largest. Spam in an inbox is
mostly such mail, and so is a first letter from somebody new.

One message stands for its near-copies. csdmc2010, 5 in Junk and 30 spam among 300 ham, three screens of ten questions:
of later spam 38 % is caught if only doubted messages are asked about, 56 % by the share of own tokens alone, 64 % so.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple

import numpy as np

from spamnb.acts.answers import Answer, Answers, Done, Question
from spamnb.acts.current_files import CurrentFiles, current_path
from spamnb.base.label import Label
from spamnb.base.wording import plural
from spamnb.config import Config, Scoring
from spamnb.config.named_senders import Senders
from spamnb.filter.judge import FrozenFilter
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.mail.reading import Content
from spamnb.review.first_lessons import Shown, doubted, is_sifted, sifted, unsorted
from spamnb.review.near_copies import groups, shape
from spamnb.rules import weak_lessons

ROWS: Final = 10  # questions on a screen, or in a group on a page
SCREENS: Final = 5
CLEAR: Final = 0.97  # from this probability on, "spam" is the answer that is offered


class FirstQuestion(NamedTuple):
    """A message to ask about. copies: the identities of the message and its near-copies.

    probability: of spam, without these; None if too little spam is learned to tell.
    """

    summary: str
    copies: tuple[bytes, ...]
    probability: float | None

    @property
    def alike(self) -> str:
        """How many near-copies it stands for, in words; "" for none."""
        return f"and {len(self.copies) - 1} like it" if len(self.copies) > 1 else ""

    @property
    def is_clear(self) -> bool:
        """Whether "spam" is the answer that is offered."""
        return self.probability is not None and self.probability >= CLEAR


class FirstQuestions(NamedTuple):
    """The open questions, the first one first. junk: the number of learned spam messages, if it is small.

    later: the number of doubted messages that are asked about after these.
    """

    asked: tuple[FirstQuestion, ...] = ()
    junk: int | None = None
    later: int = 0

    @property
    def number(self) -> int:
        """How many messages they are about, with those that are asked about later."""
        return self.later + sum(len(question.copies) for question in self.asked)

    @property
    def introduction(self) -> str:
        """Why a person is asked about these messages, in one or two sentences."""
        if self.junk is None:
            return f"{outside_of_junk(self.number)}."
        how = "least like your other mail" if self.asked[0].probability is None else "most like spam"
        return f"Junk holds {plural(self.junk, 'message')}, too few to tell what else is spam. These look {how}."


def outside_of_junk(number: int) -> str:
    """Return how many messages of ham folders look like spam, in a sentence without its full stop."""
    return f"{plural(number, 'message')} outside of Junk {'looks' if number == 1 else 'look'} like spam"


def in_both_kinds(number: int) -> str:
    """Return how many messages are in a spam folder and in a ham folder, in two sentences."""
    it, counts = ("It", "counts") if number == 1 else ("They", "count")
    is_ = "is" if number == 1 else "are"
    return (
        f"{plural(number, 'message')} {is_} in Junk and in another folder too. {it} {counts} as spam until you answer."
    )


def in_both(ledger: Ledger, scoring: Scoring) -> list[FirstQuestion]:
    """Return the questions about messages that `init` has found in a spam folder and in a ham folder.

    Nobody has said which folder is right. A message is left out once its file has left the ham folder.
    """
    lessons, settled = ledger.lessons, ledger.journal.all_settled()
    there = (file for file in ledger.trained.labelled_differently() if file.label is Label.HAM)
    digests = dict.fromkeys(file.digest for file in there if current_path(file.path) is not None)
    found = [lesson for lesson in map(lessons.find, digests) if lesson is not None and lesson.digest not in settled]
    spam = {lesson.digest: lesson for lesson in found if lesson.is_of_init and lesson.label is Label.SPAM}
    judged = without_groups(lessons, scoring, [[digest] for digest in spam])
    probabilities = {left.lesson.digest: left.judgement.probability for left in judged}
    return _by_probability([[lesson] for lesson in spam.values()], probabilities)


def first_questions(
    lessons: Lessons, scoring: Scoring, digests: Collection[bytes], *, has_little: bool, shown: Shown = iter
) -> list[FirstQuestion]:
    """Return the questions about learned ham messages, in the order in which to ask them.

    has_little: Junk holds too little for the doubts to find most spam. shown: as for `first_lessons.sift`.
    """
    ham, spam = lessons.totals()[:2].tolist()
    if weak_lessons.lacks_spam(ham, spam):
        return _unusual(lessons, digests)
    doubts = doubted(lessons, scoring, digests, shown)
    probabilities = {digest: doubt.probability for digest, doubt in doubts.items()}
    others = [digest for digest in digests if digest not in doubts] if has_little else []
    return _in_order(lessons, scoring, probabilities, others)


def still_open(ledger: Ledger, scoring: Scoring) -> FirstQuestions:
    """Return the questions about what `init` has learned and sifted, as far as nobody has answered them.

    This sifts nothing: the lessons say what the last sift has doubted. Messages without a doubt are asked about until
    there are answers enough.
    """
    lessons, settled = ledger.lessons, ledger.journal.all_settled()
    ham, junk = lessons.totals()[:2].tolist()
    doubts = sifted(ledger)
    is_asking = weak_lessons.has_little(ham, junk) and len(settled) < ROWS * SCREENS
    others = unsorted(ledger, 0) if is_asking else []
    if is_asking and weak_lessons.lacks_spam(ham, junk):
        asked = _unusual(lessons, [*(lesson.digest for lesson in doubts), *others])
    else:
        asked = _in_order(lessons, scoring, _judged(lessons, scoring, doubts), others)
    later = 0 if is_asking else sum(len(question.copies) for question in asked[ROWS * SCREENS :])
    return FirstQuestions(tuple(asked[: ROWS * SCREENS]), junk if is_asking else None, later)


def _judged(lessons: Lessons, scoring: Scoring, doubts: Sequence[Lesson]) -> dict[bytes, float]:
    """Return the probabilities of doubted messages, each without itself."""
    probabilities = {
        left.lesson.digest: left.judgement.probability for left in without_groups(lessons, scoring, groups(doubts))
    }
    untaught = [lesson.digest for lesson in doubts if lesson.label is None]
    readings = [Content(copy.with_its_tokens()) for copy in lessons.copies_of(untaught, untaught)]
    judgements = FrozenFilter(lessons, scoring, Senders()).judge_all(readings)
    return probabilities | {
        digest: judgement.probability for digest, judgement in zip(untaught, judgements, strict=True)
    }


def without_answered(ledger: Ledger, questions: FirstQuestions) -> FirstQuestions:
    """Return the questions that are still open: nobody has answered them since, or learned or forgotten the message."""
    if not questions.asked:
        return questions
    settled = ledger.journal.all_settled()
    asked = (question for question in questions.asked if may_ask(ledger, question.copies[0], settled))
    return questions._replace(asked=tuple(asked))


def may_ask(ledger: Ledger, digest: bytes, settled: Set[bytes]) -> bool:
    """Tell whether only `init` and the sift have decided on a message. settled: the messages with an answer."""
    lesson = None if digest in settled else ledger.lessons.find(digest)
    return lesson is not None and (lesson.is_of_init or is_sifted(lesson))


def answer(answers: Answers, digests: Iterable[bytes], label: Label, why: str) -> list[Done]:
    """Learn what a person has said about messages of ham folders, and move nothing. Raises what `Answers.give` raises.

    An undo of one `answer` undoes all of that answer.
    """
    said = Answer.OTHERWISE if label is Label.SPAM else Answer.RIGHT
    return [answers.give(Question(digest, "", Label.HAM, None), said, why, moves=False) for digest in digests]


def outside_junk(ledger: Ledger, config: Config, since: float) -> list[bytes]:
    """Return the messages that a person has called spam since a time, and that still are in a ham folder.

    Messages are left out that were in Junk, and that an undo has brought back from there.
    """
    settled = {action.digest: None for action in ledger.journal.since(since, ["settled"]) if action.state == "done"}
    lessons = filter(None, map(ledger.lessons.find, settled))
    called = [lesson.digest for lesson in lessons if lesson.decision is Label.SPAM]
    files = CurrentFiles(ledger, config)
    return [
        digest
        for digest in called
        if any(file.location is not None and file.label is Label.HAM for file in files.of(digest))
        and not _is_brought_back(ledger, digest)
    ]


def _is_brought_back(ledger: Ledger, digest: bytes) -> bool:
    known = ledger.messages.find(digest)
    actions = () if known is None else ledger.journal.of_message(known.id)
    return any(one.kind == "moved" and one.takes_back is not None and one.state == "done" for one in actions)


def _in_order(
    lessons: Lessons, scoring: Scoring, doubts: Mapping[bytes, float], others: Sequence[bytes]
) -> list[FirstQuestion]:
    """Return first the questions about doubted messages, then those about others. doubts: probabilities of spam."""
    copies = _templates(lessons, others)
    judged = without_groups(lessons, scoring, map(_digests, copies))
    found = {left.lesson.digest: left.judgement.probability for left in judged}
    return [*_by_probability(_templates(lessons, doubts), doubts), *_by_probability(copies, found)]


def _by_probability(templates: Iterable[Sequence[Lesson]], probabilities: Mapping[bytes, float]) -> list[FirstQuestion]:
    found = [
        FirstQuestion(copies[0].summary, _digests(copies), max(probabilities[copy.digest] for copy in copies))
        for copies in templates
    ]
    return sorted(found, key=lambda question: -(question.probability or 0.0))


def _unusual(lessons: Lessons, digests: Collection[bytes]) -> list[FirstQuestion]:
    """Return a question for each template among these messages; first the template with most tokens of its own."""
    shares = []
    for copies in _templates(lessons, digests):
        learned = lessons.learned([copies[0].digest])
        is_own = learned.counts.messages.sum(axis=0) <= len(copies)
        shares.append((-float(np.mean(is_own)) if len(is_own) else 0.0, copies))
    shares.sort(key=lambda one: one[0])
    return [FirstQuestion(copies[0].summary, _digests(copies), None) for _, copies in shares]


def _templates(lessons: Lessons, digests: Iterable[bytes]) -> list[list[Lesson]]:
    """Return the lessons of these messages, near-copies together."""
    templates: dict[tuple[str, str], list[Lesson]] = {}
    for digest in digests:
        if (lesson := lessons.find(digest)) is not None:
            templates.setdefault(shape(lesson.summary), []).append(lesson)
    return list(templates.values())


def _digests(copies: Iterable[Lesson]) -> tuple[bytes, ...]:
    return tuple(copy.digest for copy in copies)
