"""The first lessons: mail that was there before the filter is learned by its folder, and then sifted.

People without a filter have spam in the inbox. So the learned ham is judged, each message without itself and its
near-copies. A message that looks like spam teaches nothing, or counts as weakly spam. Then the filter knows better, and
all ham is judged again, until nothing changes. At first all is left out that looks a little like spam: spam among the
ham hides other spam. Most of it comes back in the next round. Mail from a folder of lists is weakly ham: if it looks
like spam, it teaches nothing.

`benchmarks/day_one.py` measures this, and docs/evidence/accuracy.md has the figures.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.config import Scoring
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.filter.supposed import Supposed
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Lesson, Lessons, Relabel, pages
from spamnb.maildir.names import parse_name
from spamnb.review.near_copies import groups
from spamnb.rules import weak_lessons

WHY = "was in a ham folder at the start, and looks like spam"
WHY_OF_LISTS = "was in a folder of lists at the start, and looks like spam"
LOOKED_AT_AGAIN = "was in a ham folder at the start, and is looked at again"
_ROUNDS = 8
_ISSUES = 5  # so many near-copies in ham folders are a newsletter: each is judged by the others, and none is doubted

Shown = Callable[[Iterable[JudgedWithoutItself]], Iterable[JudgedWithoutItself]]


class Sifted(NamedTuple):
    """How many messages that were learned as ham look like spam, and how many of these count as weakly spam."""

    doubted: int
    weakly_spam: int


NOTHING = Sifted(0, 0)


class Doubt(NamedTuple):
    """The doubt about a learned ham message. label: SPAM if it counts as weakly spam, None if it teaches nothing.

    probability: of spam, without the message and its near-copies.
    """

    label: Label | None
    probability: float


def begin(ledger: Ledger) -> None:
    """Remember that the lessons that follow are not sifted yet. An interrupted call stays remembered."""
    if ledger.state.sifting_since is None:
        ledger.state.sifting_since = ledger.lessons.last_change()


def take_up(ledger: Ledger) -> None:
    """Let doubted messages that nobody has decided on be ham again, to ask about them: the next `finish` sifts them."""
    changes = [
        Relabel(lesson.digest, lesson.label, True, Label.HAM, lesson.how is How.SEEN, LOOKED_AT_AGAIN, How.SEEN)
        for lesson in sifted(ledger)
    ]
    training.relabel(ledger, changes, time.time())


def finish(ledger: Ledger, scoring: Scoring, shown: Shown = iter) -> Sifted:
    """Sift what was learned from ham folders since `begin`. shown: is passed each judged message, to show progress."""
    since = ledger.state.sifting_since
    return NOTHING if since is None else sift(ledger, scoring, unsorted(ledger), shown)


def is_sifted(lesson: Lesson) -> bool:
    """Tell whether a message was learned from a folder at the start and is doubted since then.

    From a ham folder: nothing else is weak by hand. From a folder of lists: nothing else is weakly seen, and forgotten.
    """
    is_of_lists = lesson.how is How.SEEN and lesson.label is None
    return lesson.weak and lesson.label is not Label.HAM and (lesson.how is How.HAND or is_of_lists)


def sifted(ledger: Ledger) -> list[Lesson]:
    """Return the lessons of messages that the sift has doubted, and that nobody has decided on since then."""
    settled = ledger.journal.all_settled()
    lessons = chain.from_iterable(pages(ledger.lessons))
    return [one for one in lessons if is_sifted(one) and one.digest not in settled]


def sift(ledger: Ledger, scoring: Scoring, digests: Collection[bytes], shown: Shown = iter) -> Sifted:
    """Relabel the learned ham messages that look like spam: they teach nothing, or count as weakly spam.

    It judges without holding the ledger, and then writes everything in one transaction.
    """
    with ledger.snapshot():
        doubts = doubted(ledger.lessons, scoring, digests, shown)
        changes = sifting(ledger.lessons, doubts)
    with ledger.transaction():
        made = training.relabel(ledger, changes, time.time())
        ledger.state.sifting_since = None
    return Sifted(
        sum(made), sum(change.after is Label.SPAM for change, done in zip(changes, made, strict=True) if done)
    )


def sifting(lessons: Lessons, doubts: Mapping[bytes, Doubt]) -> list[Relabel]:
    """Return the new labels of doubted messages. Those of a folder of lists teach nothing, and are never spam."""
    changes = []
    for digest, doubt in doubts.items():
        lesson = lessons.find(digest)
        if lesson is not None and lesson.weak:
            changes.append(Relabel(digest, Label.HAM, True, None, True, WHY_OF_LISTS, How.SEEN))
        else:
            changes.append(Relabel(digest, Label.HAM, False, doubt.label, True, WHY, How.HAND))
    return changes


def doubted(lessons: Lessons, scoring: Scoring, digests: Collection[bytes], shown: Shown = iter) -> dict[bytes, Doubt]:
    """Return the doubts about some of the learned ham messages; those without a doubt are left out."""
    asked = dict.fromkeys(digests, Label.HAM)
    spam = {lesson.digest for lesson in learned_now(lessons) if lesson.decision is Label.SPAM}
    if not asked or not weak_lessons.may_doubt_first(int(lessons.totals()[Label.HAM]), len(spam)):
        return {}
    concerned = list(_left_out_together(lessons, spam | asked.keys(), spam))
    supposed, labels, today = Supposed(lessons), dict[bytes, Label | None](asked), dict[bytes, float]()
    for number in range(_ROUNDS):
        judged = shown(without_groups(supposed, scoring, concerned))
        today = {left.lesson.digest: left.judgement.probability for left in judged}
        limit = weak_lessons.doubt_limit([today[digest] for digest in spam]) if number else weak_lessons.FIRST_LIMIT
        found = {digest: weak_lessons.at_start(today[digest], limit) for digest in asked}
        changed = {digest: label for digest, label in found.items() if label is not labels[digest]}
        if not changed:
            break
        supposed.suppose(changed)
        labels = found
    return {digest: Doubt(label, today[digest]) for digest, label in labels.items() if label is not Label.HAM}


def _left_out_together(lessons: Lessons, concerned: Set[bytes], spam: Set[bytes]) -> Iterator[list[bytes]]:
    """Yield the groups of near-copies with a concerned message; each issue of a newsletter by itself."""
    for group in groups(learned_now(lessons)):
        if concerned.isdisjoint(group):
            continue
        if len(group) < _ISSUES or not spam.isdisjoint(group):
            yield group
        else:
            yield from ([digest] for digest in group)


def unsorted(ledger: Ledger, since: int | None = None) -> list[bytes]:
    """Return the ham that was learned from files since `begin`, and that nobody has answered or decided on.

    since: the number of a lesson, instead of `begin`.
    """
    since = ledger.state.sifting_since if since is None else since
    if since is None:
        return []
    settled = ledger.journal.all_settled()
    ham = [
        lesson.digest
        for lesson in chain.from_iterable(pages(ledger.lessons, since))
        if lesson.is_of_init and lesson.label is Label.HAM and lesson.digest not in settled
    ]
    answered = {
        file.digest for file in ledger.trained.of_messages(ham) if "R" in parse_name(os.path.basename(file.path)).flags
    }
    return [digest for digest in ham if digest not in answered]
