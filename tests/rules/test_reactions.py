"""The reactions and destinations: the table of the folder roles, row by row, and what follows from a verdict."""

import itertools
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import How, Label, Origin, Role, Verdict
from spamnb.bayes.calibration import probability
from spamnb.config import Learning
from spamnb.ledger.history.state import MissedSpam
from spamnb.maildir.names import parse_name
from spamnb.rules import weak_lessons
from spamnb.rules.chance import chance_of_at_least
from spamnb.rules.destination import ByPerson, FromWhom, Opinion, destination_of
from spamnb.rules.moving import Hindrance, Stop, missing_lessons, trips
from spamnb.rules.reactions import (
    COPY_SECONDS,
    Facts,
    PastPlace,
    Reaction,
    Step,
    label_of_keywords,
    reaction_to,
    reaction_to_end_of_waiting,
    reaction_to_kept,
    reaction_to_keywords,
    reaction_to_left_behind,
    reaction_to_tag,
    taught_by,
)
from tests.table import over_rows

LEARNING = Learning()
APART = [role for role in Role if role.is_apart]
GOALS = (Role.SPAM, *APART)
FREE, TRIPPED = Hindrance("", None), Hindrance("", Stop(1.0, None))
MISSING = Hindrance("3 more spam messages to learn", None)
DAY = 86_400
PERSON = {
    Role.INBOX: PastPlace(
        Role.INBOX,
        same_folder=False,
        by_filter=False,
        is_gone=True,
        same_delivery=True,
        same_file=False,
        since=1.0,
        lag=0.0,
    )
}
for _role in (Role.SPAM, Role.HAM, Role.NEUTRAL):
    PERSON[_role] = replace(PERSON[Role.INBOX], role=_role)
INBOX, IN_SPAM, IN_HAM, IN_TRASH = (PERSON[role] for role in (Role.INBOX, Role.SPAM, Role.HAM, Role.NEUTRAL))
BY_FILTER = replace(IN_SPAM, by_filter=True, since=2.0)  # the filter put it into spam, and it is there no more
STILL_THERE = replace(BY_FILTER, is_gone=False)


def reaction(
    role: Role,
    decision: Label | None = None,
    places: Sequence[PastPlace] = (),
    *,
    trust_delivery: bool = True,
    **facts: Any,
) -> Reaction:
    """The reaction to a file that appears in a folder of that role."""
    return reaction_to(Facts(role, decision, places, **facts), trust_delivery=trust_delivery)


def seen_in(role: Role, *traces: PastPlace, label: int | None = None, **how: bool) -> Step:
    """Return the reaction to a message that appears in a folder of that role."""
    return reaction(role, label, traces, **how).step


def goal(
    verdict: Verdict,
    name: str = "1.host",
    label: Label | None = None,
    hindrance: Hindrance = FREE,
    goals: Collection[Role] = GOALS,
    *,
    rescued: bool = False,
) -> Role | None:
    """Return where a judged message goes."""
    by_person = ByPerson(parse_name(name).flags, label, rescued)
    return destination_of(Opinion(verdict), by_person, FromWhom(), hindrance, goals).goal


# All rules of learning, row by row; docs/learning.md has those that are less usual.

LINKED = replace(INBOX, is_gone=False, same_file=True)  # the file has another name, and that is there
HEADERS = replace(INBOX, same_delivery=False, alike=True)  # a message with the same Message-ID, Date and From has left
OTHERS = Role.INBOX, Role.HAM, Role.NEUTRAL


TEACHING = (Step.LEARN_HAM, Step.LEARN_SPAM, Step.LEARN_HAM_AND_FILE, Step.LEARN_SPAM_AND_FILE)
FIRST_NAMES = [replace(LINKED, role=role, lag=lag) for role in Role for lag in (-5.0, 0.0, COPY_SECONDS - 1)]
AT_ONCE = [name for name in FIRST_NAMES if name.lag <= 0 or not name.role.is_goal]
LATER = [replace(LINKED, role=role, lag=COPY_SECONDS) for role in (Role.INBOX, Role.HAM)]
PUT_APART = [replace(IN_HAM, role=role, by_filter=True) for role in APART]
OUT_OF_SPAM = [replace(LINKED, role=role, by_filter=role is Role.SPAM, lag=0.1) for role in GOALS]
SORTED = PUT_APART[-1]  # among the newsletters
BESIDE = [replace(place, is_gone=False, lag=42.0) for place in (BY_FILTER, *PUT_APART)]
HEADS = [HEADERS, replace(HEADERS, is_gone=False), *(replace(HEADERS, role=role) for role in (Role.SPAM, Role.HAM))]
NOT_MOVED = [replace(HEADERS, is_gone=False, lag=COPY_SECONDS), replace(HEADERS, left_recently=False)]
ELSEWHERE = [(), (INBOX,), (IN_SPAM,), (BY_FILTER,), (IN_HAM,)]
HOME, KEEPING = (Role.INBOX, Role.HAM), (Role.INBOX, Role.HAM, Role.NEWSLETTERS)
LABELS, TRUST = (None, Label.HAM, Label.SPAM), ({}, {"trust_delivery": False})
NO_TRUST = TRUST[1]
TRAIN = {Role.TRAIN_SPAM: Step.LEARN_SPAM_AND_FILE, Role.TRAIN_HAM: Step.LEARN_HAM_AND_FILE}
# What is done, and whether it is weak, and a rescue.
NOTHING, JUDGE, WAIT = ((step, False, False) for step in (Step.NOTHING, Step.JUDGE, Step.WAIT))
SPAM, WEAK_SPAM = ((Step.LEARN_SPAM, weak, False) for weak in (False, True))
SPAM_AND_FILE = (Step.LEARN_SPAM_AND_FILE, False, False)
MARKED = (Role.INBOX, Role.HAM, *APART)  # roles of folders out of which `$Junk` moves mail
STAYS: tuple[dict[str, Any], ...] = ({"moves": False}, {"origin": "before"}, {"flags": "ST"})
HAM_AND_FILE = (Step.LEARN_HAM_AND_FILE, False, False)
HAM, WEAK_HAM, RESCUE = (Step.LEARN_HAM, False, False), (Step.LEARN_HAM, True, False), (Step.LEARN_HAM, False, True)
NEW_IN_JUNK = [(), (replace(INBOX, is_gone=False),), (replace(INBOX, same_delivery=False),)]
NEW_IN_TRAINING = [
    *((), (replace(INBOX, is_gone=False, same_file=True),)),
    *((replace(IN_HAM, same_folder=True),), (replace(INBOX, same_delivery=False),)),
]


def lesson(role: Role, *places: PastPlace, label: Label | None = None, **how: object) -> tuple[Step, bool, bool]:
    """Return the reaction to a message that appears in a folder of that role, whether it is weak, and a rescue."""
    meant = reaction(role, label, places, **how)  # type: ignore[arg-type]
    assert meant.how is (How.MAILDIR if meant.step not in TEACHING else How.SEEN if meant.weak else How.MOVE)
    return meant.step, meant.weak, meant.rescued


def sorts(role: Role, *places: PastPlace) -> Role | None:
    """Return the folder for the next mail of a list of which a message appears in a folder of that role."""
    return reaction(role, None, places).sorts


def lies(flags: str, role: Role, days: float, origin: Origin = "appeared") -> tuple[Step, bool, bool] | None:
    """Return the lesson of a message with these flags that has stayed for this time."""
    meant = reaction_to_kept(flags, role, days * DAY, LEARNING, origin)
    return None if meant is None else (meant.step, meant.weak, meant.rescued)


def left_behind(is_called_spam: bool, knows_enough: bool, has_begun: bool, is_spared: bool = False) -> bool | None:
    """Return whether the filter may doubt a message that a person has left behind; None if it teaches nothing."""
    facts = {"knows_enough": knows_enough, "has_begun": has_begun, "is_spared": is_spared}
    meant = reaction_to_left_behind(is_called_spam, **facts)
    assert meant is None or (meant.step, meant.weak, meant.how) == (Step.LEARN_HAM, True, How.KEPT)
    return None if meant is None else meant.doubtful


def silence(*, is_opened: bool) -> weak_lessons.Silence:
    """Return what silence teaches in a spam folder in which somebody has just looked, or nobody ever."""
    return weak_lessons.silence(100 * DAY, 100 * DAY if is_opened else None, 0.0, lambda _: 99 * DAY)


def by_tag(is_tagged: bool, verdict: Verdict | None) -> tuple[Step, bool] | None:
    """Return the lesson of a message that has got the tag for spam, or has lost it, and whether it is weak."""
    meant = reaction_to_tag(is_tagged, verdict)
    assert meant is None or meant.how is How.KEYWORD
    return None if meant is None else (meant.step, meant.weak)


def by_keyword(
    label: Label, verdict: str | None, role: Role = Role.INBOX, *, moves: bool = True, **how: Any
) -> tuple[Step, bool, bool]:
    """Return what is done with a message that a client has marked, and whether it is weak, and a rescue."""
    meant = reaction_to_keywords(label, verdict, role, moves=moves, **how)
    assert meant.how is How.KEYWORD
    return meant.step, meant.weak, meant.rescued


# Each row with its cases: what is asked, of what, and what comes of it. In a list of places each is a case of its own.
ROWS: dict[str, list[tuple[Callable[[], object], object]]] = {
    "new in the inbox": [(lambda: lesson(Role.INBOX), JUDGE)],
    "in Junk, known in another folder before": [
        (partial(lesson, Role.SPAM, place, **trust), SPAM)
        for trust in TRUST
        for role in OTHERS
        for place in (PERSON[role], replace(PERSON[role], is_gone=False, lag=COPY_SECONDS))
    ],
    "first seen in Junk": [
        (partial(lesson, Role.SPAM, *places, **how), NOTHING if how is NO_TRUST else WEAK_SPAM)
        for places in NEW_IN_JUNK
        for how in ({}, {"verdict": "ham"}, NO_TRUST)
    ],
    "first seen in Junk, and the filter's verdict was spam": [
        (lambda: lesson(Role.SPAM, verdict="spam"), NOTHING),
        (lambda: lesson(Role.SPAM, INBOX, verdict="spam"), SPAM),
    ],
    "taken out of Junk or a folder apart, into the inbox or a ham folder": [
        (partial(lesson, role, place), RESCUE) for role in HOME for place in (BY_FILTER, *PUT_APART)
    ],
    "in the inbox 30 s or more after the same delivery, which is in Junk or a folder apart": [
        *((partial(lesson, Role.INBOX, place), WAIT) for place in BESIDE),
        *((partial(lesson, Role.INBOX, replace(place, is_gone=True)), RESCUE) for place in BESIDE),
        *((partial(lesson, Role.INBOX, replace(place, lag=29.0)), JUDGE) for place in BESIDE),
    ],
    "in a ham folder, known in another folder before": [
        (partial(lesson, Role.HAM, place), HAM) for place in (INBOX, IN_HAM, IN_TRASH)
    ],
    "first seen in a ham folder": [
        (partial(lesson, Role.HAM, *places), NOTHING)
        for places in ((), (replace(INBOX, is_gone=False),), (replace(INBOX, same_delivery=False),), (STILL_THERE,))
    ],
    "a second name (hard link) that a file gets within 30 s, before it is in Junk or a folder apart": [
        (partial(lesson, role, name), JUDGE if role is Role.INBOX else NOTHING)
        for role in (Role.INBOX, Role.HAM, Role.SPAM, Role.NEUTRAL)
        for name in AT_ONCE
    ],
    "a second name that a file gets later, or in Junk or a folder apart": [
        *((partial(lesson, Role.SPAM, name), SPAM) for name in LATER),
        *((partial(lesson, Role.HAM, name), HAM) for name in LATER),
        *((partial(lesson, Role.INBOX, name), NOTHING) for name in LATER),
        *((partial(lesson, role, name), RESCUE) for role in HOME for name in OUT_OF_SPAM),
    ],
    # It is no place that is known: what the file in the mailbox means follows from that file alone.
    "a second name outside of the mailbox, made by a backup with `cp -al`": [
        (lambda: lesson(Role.INBOX), JUDGE),
        (lambda: lesson(Role.HAM), NOTHING),
    ],
    "answered, in the inbox, a ham folder or the newsletters": [
        *((partial(lies, "R", role, 0), HAM) for role in KEEPING),
        (partial(lies, "R", Role.NEWSLETTERS, 0, "filter"), HAM),
    ],
    "answered, [among the newcomers](#mail-of-newcomers)": [
        *((partial(lies, flags, Role.NEWCOMERS, 0, "filter"), HAM_AND_FILE) for flags in ("R", "RS")),
        *((partial(lies, flags, Role.NEWCOMERS, 30, "filter"), None) for flags in ("", "S", "RT")),
        *((partial(lies, "R", Role.NEWCOMERS, 30, origin), None) for origin in ("appeared", "undo", "before")),
        (partial(lies, "R", Role.UNSURE, 30, "filter"), None),
    ],
    "read and kept, in the inbox, a ham folder or the newsletters": [
        *((partial(lies, "S", role, 3), WEAK_HAM) for role in KEEPING),
        *((partial(lies, "S", role, 0), None) for role in KEEPING),
        (partial(lies, "S", Role.NEWSLETTERS, 3, "filter"), WEAK_HAM),
    ],
    # tests/service/test_begin.py has its conditions.
    "read and left in the inbox while you moved later mail to Junk, before the filter began to move mail": [
        (partial(left_behind, called_spam, knows_enough, begun), doubtful)
        for called_spam, knows_enough, begun, doubtful in (
            (False, False, False, True),
            (True, False, False, True),
            (False, True, False, True),
            (True, True, False, False),
            (True, True, True, False),
            (False, True, True, None),
        )
    ],
    # tests/service/test_unknown_lists.py has its conditions.
    "left in the inbox since, because its list is not known, while you moved later mail to Junk": [
        (partial(left_behind, True, True, True, True), True)
    ],
    # tests/service/test_untouched.py has its conditions.
    "in Junk by the filter for two weeks and 200 messages, beyond doubt, though somebody has looked there since": [
        (partial(silence(is_opened=True).teaches, probability(then), probability(today)), min(then, today) > 1.77)
        for then, today in ((1.78, 1.78), (1.76, 3.0), (3.0, 1.76))
    ],
    # tests/service/test_unseen.py has its conditions.
    "in Junk by the filter for five days and 100 messages, clearly beyond doubt, though nobody has ever looked there": [
        (partial(silence(is_opened=False).teaches, probability(then), probability(today)), min(then, today) > 2.0923)
        for then, today in ((2.10, 2.10), (2.09, 3.0), (3.0, 2.09))
    ],
    # tests/service/test_untouched.py has its conditions.
    "the same for one day, while fewer than 100 spam are learned, and you move missed spam": [
        (partial(weak_lessons.is_young, spam, missed), (spam, missed) == (99, MissedSpam.IS_MOVED))
        for spam in (99, 100)
        for missed in MissedSpam
    ],
    "in a training folder, known in another folder before": [
        (partial(lesson, role, place, label=label, **trust), (step, False, False))
        for role, step in TRAIN.items()
        for place in (INBOX, IN_HAM, IN_TRASH, BY_FILTER)
        for label in LABELS
        for trust in TRUST
    ],
    "first seen in a training folder": [
        *(
            (partial(lesson, role, *places, **trust), NOTHING if trust else (step, False, False))
            for role, step in TRAIN.items()
            for places in NEW_IN_TRAINING
            for trust in TRUST
        ),
        *((lambda role=role: reaction(role, None, [], trust_delivery=False).log_it, True) for role in TRAIN),
    ],
    "marked `$Junk` or `$NotJunk`, against the verdict": [
        *(
            (partial(by_keyword, Label.SPAM, "ham", role, is_wanted=wanted), SPAM_AND_FILE)
            for role in MARKED
            for wanted in (False, True)
        ),
        *((partial(by_keyword, Label.HAM, "spam", role), HAM) for role in MARKED),
        *((partial(by_keyword, Label.SPAM, "ham", role), SPAM) for role in (Role.SPAM, *TRAIN)),
        *((partial(by_keyword, Label.SPAM, "ham", **how), SPAM) for how in STAYS),
    ],
    "marked `$NotJunk` in Junk": [
        *(
            (partial(by_keyword, Label.HAM, verdict, Role.SPAM), (Step.LEARN_HAM_AND_FILE, False, True))
            for verdict in (*Verdict, None)
        ),
        *((partial(by_keyword, Label.HAM, "spam", Role.SPAM, **how), HAM) for how in STAYS),
        *((partial(by_keyword, Label.HAM, None, Role.SPAM, **how), WEAK_HAM) for how in STAYS),
    ],
    "marked `$Junk` or `$NotJunk` otherwise": [
        *(
            (partial(by_keyword, Label.SPAM, verdict, role), (Step.LEARN_SPAM_AND_FILE, True, False))
            for verdict in (Verdict.SPAM, Verdict.UNSURE, None)
            for role in MARKED
        ),
        *((partial(by_keyword, Label.SPAM, None, role, is_wanted=True), WEAK_SPAM) for role in MARKED),
        *((partial(by_keyword, Label.SPAM, None, **how), WEAK_SPAM) for how in STAYS),
        *((partial(by_keyword, Label.HAM, verdict), WEAK_HAM) for verdict in (Verdict.HAM, Verdict.UNSURE, None)),
    ],
    "tagged as your tag for spam in notmuch, and the verdict was ham": [
        (partial(by_tag, True, Verdict.HAM), (Step.LEARN_SPAM, False))
    ],
    "tagged so, and the verdict was unsure, or there was none": [
        (partial(by_tag, True, verdict), (Step.LEARN_SPAM, True)) for verdict in (Verdict.UNSURE, None)
    ],
    "tagged so, and the verdict was spam": [(partial(by_tag, True, Verdict.SPAM), None)],
    "tagged so before, and no longer": [
        (partial(by_tag, False, verdict), (Step.LEARN_HAM, False)) for verdict in (*Verdict, None)
    ],
    "in Trash or Drafts; or gone": [(partial(lesson, Role.NEUTRAL, *places), NOTHING) for places in ELSEWHERE],
    "in a folder apart": [
        *((partial(lesson, role, *places), NOTHING) for role in (Role.UNSURE, Role.NEWCOMERS) for places in ELSEWHERE),
        (partial(lesson, Role.NEWSLETTERS), NOTHING),
        *((partial(taught_by, role), None) for role in APART),
        *((partial(lies, flags, role, 30), None) for role in APART[:2] for flags in ("S", "R")),
    ],
    "taken out of the newsletters into the inbox": [
        (partial(lesson, Role.INBOX, SORTED), RESCUE),
        (partial(sorts, Role.INBOX, SORTED), Role.INBOX),
        (partial(sorts, Role.HAM, SORTED), None),
        *((partial(sorts, Role.INBOX, place), None) for place in (BY_FILTER, *PUT_APART) if place is not SORTED),
        (lambda: reaction_to_end_of_waiting(True, False, left_newsletters=True).sorts, Role.INBOX),
        (lambda: reaction_to_end_of_waiting(True, True, left_newsletters=True).sorts, None),
    ],
    "among the newsletters, known in another folder before": [
        *((partial(lesson, Role.NEWSLETTERS, place), NOTHING) for place in (INBOX, IN_HAM, *PUT_APART[:2])),
        *((partial(lesson, Role.NEWSLETTERS, place), RESCUE) for place in (BY_FILTER, IN_SPAM)),
        *(
            (partial(sorts, Role.NEWSLETTERS, place), Role.NEWSLETTERS)
            for place in (INBOX, IN_HAM, IN_SPAM, BY_FILTER, *PUT_APART[:2])
        ),
        *((partial(sorts, Role.NEWSLETTERS, place), None) for place in (IN_TRASH, replace(INBOX, is_gone=False))),
        *((partial(sorts, role, INBOX), None) for role in Role if role is not Role.NEWSLETTERS),
    ],
    "in Sent": [
        *((partial(lesson, Role.SENT, *places), NOTHING) for places in ELSEWHERE),
        (lambda: taught_by(Role.SENT), None),
    ],
    "in the inbox, with the Message-ID, Date and From of another message": [
        (partial(lesson, Role.INBOX, place), JUDGE) for place in HEADS
    ],
    "in Junk or a ham folder, with the Message-ID, Date and From of a message that has just left its folder": [
        *((partial(lesson, Role.SPAM, replace(HEADERS, role=role), **NO_TRUST), SPAM) for role in OTHERS),
        *((partial(lesson, Role.HAM, replace(HEADERS, role=role)), HAM) for role in OTHERS),
        *((partial(lesson, Role.SPAM, place), WEAK_SPAM) for place in NOT_MOVED),
        *((partial(lesson, Role.HAM, place), NOTHING) for place in NOT_MOVED),
    ],
    "delivered again, after a person took it out of Junk": [
        (partial(goal, verdict, label=label, rescued=True), None) for verdict in Verdict for label in LABELS
    ],
}
CASES = [(f"{row} {n}", *case) for row, cases in ROWS.items() for n, case in enumerate(cases, start=1)]


@over_rows(("row", "ask", "expected"), CASES)
def test_row(row: str, ask: Callable[[], object], expected: object) -> None:
    """Each row of the table of lessons leads to its reaction."""
    assert ask() == expected, row


def test_table() -> None:
    """The long table in docs/learning.md has some of these rows, in this order, and no others."""
    text = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]*) \|", text[text.index("| seen |") :], re.MULTILINE)
    assert rows == ["seen", *(row for row in ROWS if row in rows)]
    assert len(rows) > 10


@over_rows("step", Step)
def test_label_and_files(step: Step) -> None:
    """A reaction has the label of its lesson, and says whether the message leaves a training folder."""
    label = next((label for label in Label if step.name.startswith(f"LEARN_{label.name}")), None)
    made = Reaction(step, "why")
    assert (made.label, made.files) == (label, step.name.endswith("_AND_FILE"))


# What follows from a verdict.


@pytest.mark.parametrize(
    ("verdict", "where"), [(Verdict.SPAM, Role.SPAM), (Verdict.HAM, None), (Verdict.UNSURE, Role.UNSURE)]
)
def test_consequences(verdict: Verdict, where: Role | None) -> None:
    """Move to spam if spam; leave ham; unsure goes to an optional folder."""
    assert goal(verdict) is where


def test_unsure_stays() -> None:
    """Unsure mail stays if there is no folder for it."""
    assert goal(Verdict.UNSURE, goals=(Role.SPAM,)) is None


# In spam, the filter did not put it there: a person says spam.


@over_rows("traces", [(), (INBOX,), (IN_HAM,), (IN_TRASH,)])
@over_rows("label", [None, Label.HAM, Label.SPAM])
def test_person_says_spam(traces: tuple[PastPlace, ...], label: int | None) -> None:
    """In spam, the filter did not put it there: learn spam, whatever it was learned as."""
    assert seen_in(Role.SPAM, *traces, label=label) is Step.LEARN_SPAM


def test_spam_again_after_ham() -> None:
    """A message that a person took out of spam and puts back later is spam again."""
    kept = replace(INBOX, since=3.0)
    assert seen_in(Role.SPAM, BY_FILTER, kept, label=Label.HAM) is Step.LEARN_SPAM


@over_rows("place", PUT_APART)
def test_out_of_a_folder_apart_into_spam(place: PastPlace) -> None:
    """Mail that was put apart, and that a person moves into spam, is spam."""
    assert seen_in(Role.SPAM, place) is Step.LEARN_SPAM


# In inbox or ham, the filter had put it into spam: a person says ham.


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
@pytest.mark.parametrize("label", [None, Label.HAM, Label.SPAM])
def test_person_says_ham(role: Role, label: int | None) -> None:
    """In inbox or ham, the filter had put it into spam: learn ham."""
    assert seen_in(role, BY_FILTER, label=label) is Step.LEARN_HAM
    assert seen_in(role, replace(IN_SPAM, since=2.0), label=label) is Step.LEARN_HAM  # a person had


def test_never_moved_again() -> None:
    """A message that a person called ham is never moved again, though its name changes or it is delivered anew."""
    assert seen_in(Role.INBOX, label=Label.HAM) is Step.NOTHING
    assert goal(Verdict.SPAM, label=Label.HAM) is None


# Kept in the inbox or a ham folder: a weak word for ham.


@pytest.mark.parametrize("name", ["1.host", "1.host:2,", "1.host:2,F", "1.host:2,ST", "1.host:2,RT", "1.host:2,rs"])
def test_not_kept(name: str) -> None:
    """Mail that nobody read, or that is marked as deleted, was not kept."""
    assert not reaction_to_kept(parse_name(name).flags, Role.INBOX, 30 * DAY, LEARNING)


def test_left_behind_and_answered() -> None:
    """An answer is a decision, also about mail that was left behind; mail that is marked as deleted is not kept."""
    behind = reaction_to_left_behind(True, knows_enough=True, has_begun=False)
    assert reaction_to_kept("S", Role.INBOX, 0.0, LEARNING, left_behind=behind) is behind
    answered = reaction_to_kept("RS", Role.INBOX, 0.0, LEARNING, left_behind=behind)
    assert answered is not None
    assert not answered.weak
    assert reaction_to_kept("ST", Role.INBOX, 0.0, LEARNING, left_behind=behind) is None


def test_not_kept_long_enough() -> None:
    """Read mail was kept when the days are over, not before."""
    assert not reaction_to_kept("S", Role.INBOX, 3 * DAY - 1, LEARNING)
    assert reaction_to_kept("S", Role.INBOX, 10, Learning(kept_days=10 / DAY))


@pytest.mark.parametrize("role", [Role.SPAM, Role.NEUTRAL, Role.TRAIN_SPAM, Role.TRAIN_HAM])
def test_kept_elsewhere(role: Role) -> None:
    """Mail that stays in spam or in a neutral folder teaches nothing by that."""
    assert not reaction_to_kept("RS", role, 30 * DAY, LEARNING)


@over_rows("role", KEEPING)
def test_who_put_it_there(role: Role) -> None:
    """Mail from before the filter teaches nothing by staying. What the filter moved teaches only as a newsletter."""
    assert not reaction_to_kept("RS", role, 30 * DAY, LEARNING, "before")
    assert bool(reaction_to_kept("RS", role, 30 * DAY, LEARNING, "filter")) is (role is Role.NEWSLETTERS)


def test_kept_is_off() -> None:
    """With `kept: false` kept mail teaches nothing."""
    assert not reaction_to_kept("RS", Role.INBOX, 30 * DAY, Learning(kept=False))


# Neutral folders.


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
def test_rescued_from_the_trash(role: Role) -> None:
    """Mail that went from spam by way of the trash to inbox or ham was taken out of spam."""
    assert seen_in(role, BY_FILTER, replace(IN_TRASH, since=3.0)) is Step.LEARN_HAM


def test_deleted_and_put_back_into_spam() -> None:
    """Mail that the filter put into spam, and that comes back there from the trash, teaches nothing."""
    assert seen_in(Role.SPAM, replace(BY_FILTER, same_folder=True), replace(IN_TRASH, since=3.0)) is Step.NOTHING
    assert seen_in(Role.SPAM, BY_FILTER, replace(IN_TRASH, since=3.0)) is Step.NOTHING


def test_out_of_the_trash() -> None:
    """Mail that a person puts from the trash into the inbox stays there."""
    assert seen_in(Role.INBOX, IN_TRASH) is Step.NOTHING


# Copies, changes of mind, and other hands.


def test_moved_beside_a_second_name() -> None:
    """A moved file came from the place that it left, even if it has a different, newer name elsewhere."""
    archived = replace(LINKED, role=Role.HAM, since=9.0, lag=DAY)
    junked = replace(archived, role=Role.SPAM, by_filter=True)
    left = replace(BY_FILTER, left_as_it_appeared=True)
    assert seen_in(Role.INBOX, left, archived) is Step.LEARN_HAM
    assert reaction(Role.HAM, None, [left, replace(archived, role=Role.INBOX)]).rescued
    assert seen_in(Role.HAM, replace(IN_HAM, same_folder=True, left_as_it_appeared=True), junked) is Step.NOTHING, (
        "renamed"
    )
    assert (
        seen_in(Role.SPAM, replace(IN_HAM, left_as_it_appeared=True), replace(junked, same_folder=True))
        is Step.LEARN_SPAM
    )
    assert (
        seen_in(Role.SPAM, replace(INBOX, left_as_it_appeared=True), archived, role_is_configured=False)
        is Step.LEARN_SPAM
    )
    assert seen_in(Role.INBOX, replace(INBOX, same_folder=True), junked) is Step.LEARN_HAM, "it had left before"


def test_copy_of_what_lies_there() -> None:
    """A file of the same delivery that appears in the inbox long after the first waits until that one leaves spam."""
    old = replace(STILL_THERE, lag=COPY_SECONDS)
    assert seen_in(Role.INBOX, old) is Step.WAIT
    assert seen_in(Role.INBOX, replace(old, is_gone=True)) is Step.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_file=True)) is Step.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, role=Role.UNSURE)) is Step.WAIT
    assert seen_in(Role.INBOX, replace(old, lag=COPY_SECONDS - 1)) is Step.JUDGE
    assert seen_in(Role.INBOX, replace(old, same_delivery=False)) is Step.JUDGE
    assert seen_in(Role.INBOX, replace(IN_HAM, is_gone=False, lag=COPY_SECONDS)) is Step.NOTHING
    assert seen_in(Role.HAM, old) is Step.NOTHING, "labels and rules make copies at any time"
    assert seen_in(Role.SPAM, replace(INBOX, is_gone=False, lag=COPY_SECONDS)) is Step.LEARN_SPAM


def test_second_delivery() -> None:
    """A second delivery of a message is judged in its place, while the first one is in spam or gone from it."""
    assert seen_in(Role.INBOX, replace(STILL_THERE, same_delivery=False)) is Step.JUDGE
    assert seen_in(Role.INBOX, STILL_THERE) is Step.JUDGE
    assert seen_in(Role.INBOX, replace(BY_FILTER, same_delivery=False)) is Step.JUDGE


def test_second_delivery_of_known_spam() -> None:
    """A second delivery of a message that a person called spam goes to spam, whatever the verdict."""
    assert seen_in(Role.INBOX, replace(STILL_THERE, same_delivery=False), label=Label.SPAM) is Step.JUDGE
    assert goal(Verdict.HAM, label=Label.SPAM) is Role.SPAM


def test_second_delivery_put_into_spam() -> None:
    """A person who puts a second delivery into spam, where the filter had put the first, decides: spam."""
    first = replace(STILL_THERE, same_delivery=False, same_folder=True)
    assert seen_in(Role.SPAM, first, replace(INBOX, since=3.0)) is Step.LEARN_SPAM


def test_change_of_mind() -> None:
    """Into another folder and back before anyone looked is a new name in the same folder, and teaches nothing."""
    for role, trace in PERSON.items():
        assert seen_in(role, replace(trace, same_folder=True)) is Step.NOTHING


def test_renamed_in_place() -> None:
    """A file with a new base name in its folder is the same file: it is not judged again."""
    assert seen_in(Role.INBOX, replace(INBOX, same_folder=True)) is Step.NOTHING
    assert seen_in(Role.SPAM, INBOX, replace(BY_FILTER, same_folder=True)) is Step.NOTHING


def test_among_spam_folders() -> None:
    """A move from one spam folder to another teaches nothing."""
    assert seen_in(Role.SPAM, BY_FILTER) is Step.NOTHING
    assert seen_in(Role.SPAM, IN_SPAM) is Step.NOTHING


@pytest.mark.parametrize("trace", [STILL_THERE, replace(STILL_THERE, same_folder=True)])
def test_doubled_in_spam(trace: PastPlace) -> None:
    """Mail that the filter put into spam teaches nothing by appearing there again, in a renamed folder or a copy."""
    assert seen_in(Role.SPAM, trace) is Step.NOTHING
    assert seen_in(Role.SPAM, INBOX, trace) is Step.NOTHING


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM, Role.SPAM])
def test_out_of_a_backup(role: Role) -> None:
    """Mail that is back under the name it had in this folder was moved by a person only if it left a place just now."""
    long_ago = replace(IN_SPAM if role is not Role.SPAM else INBOX, left_recently=False)
    assert seen_in(role, long_ago, has_known_name=True) is Step.NOTHING
    assert seen_in(role, replace(long_ago, is_gone=False, lag=COPY_SECONDS), has_known_name=True) is Step.NOTHING
    said = Step.LEARN_SPAM if role is Role.SPAM else Step.LEARN_HAM
    assert seen_in(role, replace(long_ago, left_recently=True), has_known_name=True) is said
    assert seen_in(role, long_ago) is said, "under another name"


def test_fetched_anew() -> None:
    """Many copies at once of mail from spam or unsure are fetched again; moved and linked ones are a decision."""
    old = replace(STILL_THERE, lag=COPY_SECONDS)
    unsure = replace(old, role=Role.UNSURE)
    for trace in (old, unsure, replace(old, is_gone=True, left_recently=False)):
        assert seen_in(Role.INBOX, trace, is_one_of_many=True) is Step.NOTHING
        assert seen_in(Role.INBOX, trace) is (Step.LEARN_HAM if trace.is_gone else Step.WAIT)
    assert seen_in(Role.INBOX, replace(old, is_gone=True), is_one_of_many=True) is Step.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_file=True), is_one_of_many=True) is Step.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_delivery=False), is_one_of_many=True) is Step.JUDGE
    assert seen_in(Role.SPAM, replace(INBOX, is_gone=False), is_one_of_many=True) is Step.LEARN_SPAM
    kept = replace(IN_HAM, is_gone=False, since=4.0)
    before = replace(IN_SPAM, left_recently=False), replace(INBOX, left_recently=False, since=3.0)
    assert seen_in(Role.SPAM, *before, kept, label=Label.HAM, is_one_of_many=True) is Step.NOTHING
    assert seen_in(Role.TRAIN_SPAM, old, is_one_of_many=True, has_known_name=True) is Step.LEARN_SPAM_AND_FILE


def test_filed_letters_in_a_folder_within_spam() -> None:
    """Filed mail in a folder that moves into Junk is not spam; in Junk itself it is, many at once too."""
    for left in (True, False):
        filed = replace(IN_HAM, is_gone=left, since=3.0)
        assert seen_in(Role.SPAM, INBOX, filed, role_is_configured=False) is Step.NOTHING
        assert seen_in(Role.SPAM, INBOX, filed, is_one_of_many=True) is Step.LEARN_SPAM
        assert seen_in(Role.SPAM, replace(filed, role=Role.UNSURE), role_is_configured=False) is Step.LEARN_SPAM
    assert seen_in(Role.SPAM, IN_HAM, replace(INBOX, since=3.0), role_is_configured=False) is Step.LEARN_SPAM


def test_put_back() -> None:
    """A message that a person moves from a ham folder back to the inbox stays there and teaches nothing."""
    assert seen_in(Role.INBOX, IN_HAM) is Step.NOTHING


# Verdicts and what stands above them.


@over_rows("flag", "DFPRST")
@over_rows("verdict", [Verdict.SPAM, Verdict.UNSURE])
def test_marked_mail_stays(flag: str, verdict: Verdict) -> None:
    """Mail that a person has read or marked is never moved."""
    assert goal(verdict, f"1.host:2,{flag}") is None
    assert goal(verdict, f"1.host:2,{flag}", Label.SPAM) is None


def test_missing_lessons_hold() -> None:
    """Until each class has enough learned messages nothing is moved."""
    assert goal(Verdict.SPAM, hindrance=MISSING) is None
    assert goal(Verdict.UNSURE, hindrance=MISSING) is None


def test_breaker_holds() -> None:
    """While the circuit breaker is open nothing is moved."""
    assert goal(Verdict.SPAM, hindrance=TRIPPED) is None
    assert goal(Verdict.UNSURE, hindrance=TRIPPED) is None


@pytest.mark.parametrize(
    ("ham", "spam", "said"),
    [
        (20, 20, ""),
        (19, 20, "1 more ham message to learn"),
        (0, 4, "20 more ham messages and 1 more spam message to learn"),
        (20, 81, "1 more ham message to learn"),
        (99, 4000, "1 more ham message to learn"),
        (100, 4000, ""),
    ],
)
def test_missing_lessons(ham: int, spam: int, said: str) -> None:
    """Missing lessons are named for each class."""
    assert missing_lessons(ham, spam, LEARNING) == said


@over_rows(
    ("spam", "ham_before", "spam_before", "stops"),
    [
        (95, 600, 400, False),  # no more than the share that is allowed
        (96, 600, 400, True),
        (100, 0, 0, True),  # nothing is known of this person yet
        (100, 200, 0, True),
        (96, 50, 950, False),
        (100, 50, 950, False),
        (100, 100, 900, False),
        (100, 300, 700, True),
        (96, 5, 45, False),  # little is known, so much is possible
        (99, 30, 20, True),
    ],
)
def test_breaker_trips(spam: int, ham_before: int, spam_before: int, stops: bool) -> None:
    """An abnormal share of spam opens the breaker, unless this person's mail has always been like that."""
    assert trips(spam, lambda: (ham_before, spam_before)) is stops


@given(st.integers(1, 60), st.integers(0, 100), st.integers(1, 100))
def test_chances_are_a_distribution(of: int, ham: int, spam: int) -> None:
    """The chance of any number of spam is one, and that of more is less."""
    chances = [chance_of_at_least(number, of, (spam, ham)) for number in range(of + 1)]
    assert chances[0] == pytest.approx(1)
    assert chances == sorted(chances, reverse=True)


# A client's keywords.


@over_rows(
    ("keywords", "label"),
    [
        (["$Junk"], Label.SPAM),
        (["todo", "junk"], Label.SPAM),
        (["$NotJunk"], Label.HAM),
        (["NonJunk"], Label.HAM),
        (["$Junk", "NonJunk"], None),
        (["junkmail"], None),
        ([], None),
    ],
)
def test_keywords(keywords: list[str], label: int | None) -> None:
    """A client's junk keyword is a person's word, unless the client says both."""
    assert label_of_keywords(keywords) == label


@over_rows(
    ("label", "verdict", "weak"),
    [
        (Label.SPAM, Verdict.HAM, False),
        (Label.HAM, Verdict.SPAM, False),
        (Label.SPAM, Verdict.SPAM, True),
        (Label.HAM, Verdict.HAM, True),
        (Label.SPAM, None, True),
    ],
)
def test_keywords_against_the_verdict(label: Label, verdict: Verdict | None, weak: bool) -> None:
    """A client's keywords teach weakly, unless they contradict the filter's verdict."""
    reaction = reaction_to_keywords(label, verdict)
    assert (reaction.label, reaction.how, reaction.weak) == (label, How.KEYWORD, weak)


def test_end_of_waiting() -> None:
    """A file that waited for its other copy is ham if that has left spam, unless a person has called it spam since."""
    rescued = reaction_to_end_of_waiting(other_left_spam=True, called_spam_since=False)
    assert (rescued.label, rescued.weak, rescued.rescued) == (Label.HAM, False, True)
    for left, called in ((True, True), (False, False), (False, True)):
        reaction = reaction_to_end_of_waiting(other_left_spam=left, called_spam_since=called)
        assert (reaction.step, reaction.rescued) == (Step.NOTHING, False)


# Whatever has happened.

TRACES = st.lists(
    st.builds(
        PastPlace,
        role=st.sampled_from(Role),
        same_folder=st.booleans(),
        by_filter=st.booleans(),
        is_gone=st.booleans(),
        same_delivery=st.booleans(),
        same_file=st.booleans(),
        since=st.floats(0, 100),
        lag=st.sampled_from([-1.0, 0.0, COPY_SECONDS]),
        left_as_it_appeared=st.just(False),
        alike=st.just(False),
    ),
    max_size=5,
)
LEARNS = {Step.LEARN_HAM, Step.LEARN_SPAM, Step.LEARN_HAM_AND_FILE, Step.LEARN_SPAM_AND_FILE}


@given(st.sampled_from([Role.INBOX, Role.HAM, Role.SPAM]), TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]))
def test_nothing_is_learned_from_the_filters_own_places(role: Role, traces: list[PastPlace], label: int | None) -> None:
    """A message that the filter placed, and nobody moved since, teaches nothing by appearing in spam."""
    own = replace(BY_FILTER, since=101.0, is_gone=False)
    if role is Role.SPAM:
        assert reaction(role, label, [*traces, own]).step is Step.NOTHING
    elif not any(trace.is_gone or trace.lag >= COPY_SECONDS for trace in traces):
        for linked in (own, replace(own, same_file=True)):
            assert reaction(role, label, [*traces, linked]).step not in LEARNS


@given(TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]))
def test_taken_out_of_spam_is_never_judged(traces: list[PastPlace], label: int | None) -> None:
    """A message that last left a spam folder is ham, not new mail, whatever happened to it before."""
    assert reaction(Role.INBOX, label, [*traces, replace(BY_FILTER, since=101.0)]).step is Step.LEARN_HAM
    assert reaction(Role.HAM, label, [*traces, replace(BY_FILTER, since=101.0)]).step is Step.LEARN_HAM


@given(TRACES)
def test_the_order_of_traces_does_not_matter(traces: list[PastPlace]) -> None:
    """The meaning of a place does not depend on the order of the other places."""
    traces = [replace(trace, since=float(number)) for number, trace in enumerate(traces)]
    for role in Role:
        found = {reaction(role, None, order) for order in itertools.permutations(traces[:3])}
        assert len(found) == 1


@given(
    TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]), st.booleans(), st.lists(st.sampled_from(Role), max_size=3)
)
def test_a_forged_head_changes_nothing_in_the_inbox(
    traces: list[PastPlace], label: int | None, left: bool, roles: list[Role]
) -> None:
    """The reaction to inbox mail ignores messages that share only Message-ID, Date and From."""
    forged = [replace(HEADERS, role=role, is_gone=left, since=200.0 + number) for number, role in enumerate(roles)]
    assert reaction(Role.INBOX, label, [*traces, *forged]) == reaction(Role.INBOX, label, traces)


@given(
    st.sampled_from([Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM]),
    TRACES,
    st.sampled_from([None, Label.HAM, Label.SPAM]),
)
def test_without_trust_only_what_was_elsewhere_teaches(role: Role, traces: list[PastPlace], label: int | None) -> None:
    """Without trust in deliveries no message is learned in Junk or in training that was in no other folder before."""
    traces = [replace(trace, is_gone=False, lag=0.0) if not trace.same_folder else trace for trace in traces]
    assert reaction(role, label, traces, trust_delivery=False).step is Step.NOTHING
