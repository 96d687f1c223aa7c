"""What a place means, and what follows from a verdict: the table of the folder roles, row by row."""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.label import How, Label, Role, Verdict, contradicts
from spamnb.config import Breaker, Learning
from spamnb.maildir.names import parse_name
from spamnb.rules import may_move, weak_lessons
from spamnb.rules.consequence import consequence
from spamnb.rules.may_move import missing_lessons, trips
from spamnb.rules.meaning import (
    COPY_SECONDS,
    Do,
    PastPlace,
    kept,
    label_of_keywords,
    meaning,
    taught_by,
    tells_whom_one_knows,
)

LEARNING = Learning()
DAY = 86_400
PERSON = {
    Role.INBOX: PastPlace(
        Role.INBOX,
        unsure=False,
        same_folder=False,
        by_filter=False,
        left=True,
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
STILL_THERE = replace(BY_FILTER, left=False)


def seen_in(role: Role, *traces: PastPlace, label: int | None = None, unsure: bool = False, **how: bool) -> Do:
    """What is done with a message that appears in a folder of that role."""
    return meaning(role, unsure, label, traces, **how).do


def goal(verdict: Verdict, name: str = "1.host", label: int | None = None, **how: object) -> Verdict | None:
    """Where a judged message goes."""
    usual: dict[str, object] = {"missing": "", "tripped": False, "has_unsure_folder": True}
    return consequence(verdict, parse_name(name), label, **(usual | how)).goal  # type: ignore[arg-type]


# The table of docs/learning.md, row by row.

LINKED = replace(INBOX, left=False, same_file=True)  # the file has another name, and that is there
HEADERS = replace(INBOX, same_delivery=False, alike=True)  # a message with the same Message-ID, Date and From has left
OTHERS = Role.INBOX, Role.HAM, Role.NEUTRAL


def lesson(role: Role, *traces: PastPlace, **how: object) -> tuple[Do, bool]:
    """What is done with a message that appears in a folder of that role, and whether that is weak."""
    meant = meaning(role, False, None, traces, **how)  # type: ignore[arg-type]
    assert meant.how is (How.MAILDIR if meant.do not in TEACHING else How.SEEN if meant.weak else How.MOVE)
    return meant.do, meant.weak


TEACHING = (Do.LEARN_HAM, Do.LEARN_SPAM, Do.LEARN_HAM_AND_FILE, Do.LEARN_SPAM_AND_FILE)


def new_in_the_inbox() -> None:
    assert lesson(Role.INBOX) == (Do.JUDGE, False)


def in_junk_known_before() -> None:
    for trust, role in itertools.product((True, False), OTHERS):
        for trace in (PERSON[role], replace(PERSON[role], left=False, lag=COPY_SECONDS)):
            assert lesson(Role.SPAM, trace, trust_delivery=trust) == (Do.LEARN_SPAM, False)


def first_seen_in_junk() -> None:
    at_once = replace(INBOX, left=False)
    for traces in ((), (at_once,), (replace(INBOX, same_delivery=False),)):
        assert lesson(Role.SPAM, *traces) == (Do.LEARN_SPAM, True)
        assert lesson(Role.SPAM, *traces, verdict="ham") == (Do.LEARN_SPAM, True)
        assert lesson(Role.SPAM, *traces, trust_delivery=False) == (Do.NOTHING, False)


def first_seen_in_junk_after_a_verdict() -> None:
    assert lesson(Role.SPAM, verdict="spam") == (Do.NOTHING, False)
    assert lesson(Role.SPAM, INBOX, verdict="spam") == (Do.LEARN_SPAM, False)


def taken_out() -> None:
    for role, trace in itertools.product((Role.INBOX, Role.HAM), (BY_FILTER, replace(IN_HAM, unsure=True))):
        meant = meaning(role, False, None, [trace])
        assert (meant.do, meant.weak, meant.rescued) == (Do.LEARN_HAM, False, True)


def in_the_inbox_beside_junk() -> None:
    for trace in (replace(STILL_THERE, lag=42.0), replace(IN_HAM, unsure=True, left=False, lag=42.0)):
        assert lesson(Role.INBOX, trace) == (Do.WAIT, False)
        assert lesson(Role.INBOX, replace(trace, left=True)) == (Do.LEARN_HAM, False)
        assert lesson(Role.INBOX, replace(trace, lag=29.0)) == (Do.JUDGE, False)


def filed_in_a_ham_folder() -> None:
    for trace in (INBOX, IN_HAM, IN_TRASH):
        assert lesson(Role.HAM, trace) == (Do.LEARN_HAM, False)
        assert not meaning(Role.HAM, False, None, [trace]).rescued


def first_seen_in_a_ham_folder() -> None:
    assert lesson(Role.HAM) == lesson(Role.HAM, replace(INBOX, left=False)) == (Do.NOTHING, False)


def second_name() -> None:
    for role, unsure, lag in itertools.product(Role, (False, True), (-5.0, 0.0, COPY_SECONDS - 1)):
        first = replace(LINKED, role=role, unsure=unsure, lag=lag)
        if lag <= 0 or not first.is_spam:
            assert lesson(Role.SPAM, first)[0] is Do.NOTHING
            assert lesson(Role.HAM, first) == lesson(Role.NEUTRAL, first) == (Do.NOTHING, False)
            assert lesson(Role.INBOX, first) == (Do.JUDGE, False)


def second_name_later() -> None:
    for role in (Role.INBOX, Role.HAM):
        later = replace(LINKED, role=role, lag=COPY_SECONDS)
        assert lesson(Role.SPAM, later) == (Do.LEARN_SPAM, False)
        assert lesson(Role.HAM, later) == (Do.LEARN_HAM, False)
        assert lesson(Role.INBOX, later) == (Do.NOTHING, False)
        for out_of in (replace(LINKED, role=Role.SPAM, by_filter=True), replace(LINKED, unsure=True)):
            meant = meaning(role, False, None, [replace(out_of, lag=0.1)])
            assert (meant.do, meant.weak, meant.rescued) == (Do.LEARN_HAM, False, True)


def second_name_outside_of_the_mailbox() -> None:
    """It is no place that is known: what the file in the mailbox means follows from that file alone."""
    assert lesson(Role.INBOX) == (Do.JUDGE, False)
    assert lesson(Role.HAM) == (Do.NOTHING, False)


def answered() -> None:
    assert kept(parse_name("1.host:2,R"), Role.INBOX, 0, LEARNING)


def read_and_kept() -> None:
    assert kept(parse_name("1.host:2,S"), Role.HAM, 3 * DAY, LEARNING)
    assert not kept(parse_name("1.host:2,S"), Role.INBOX, 0, LEARNING)


def in_training_known_before() -> None:
    for trust, trace in itertools.product((True, False), (INBOX, IN_HAM, IN_TRASH, BY_FILTER)):
        assert lesson(Role.TRAIN_SPAM, trace, trust_delivery=trust) == (Do.LEARN_SPAM_AND_FILE, False)
        assert lesson(Role.TRAIN_HAM, trace, trust_delivery=trust) == (Do.LEARN_HAM_AND_FILE, False)


def first_seen_in_training() -> None:
    at_once = replace(INBOX, left=False, same_file=True)
    for traces in ((), (at_once,), (replace(IN_HAM, same_folder=True),), (replace(INBOX, same_delivery=False),)):
        assert lesson(Role.TRAIN_SPAM, *traces) == (Do.LEARN_SPAM_AND_FILE, False)
        assert lesson(Role.TRAIN_HAM, *traces) == (Do.LEARN_HAM_AND_FILE, False)
        for role in (Role.TRAIN_SPAM, Role.TRAIN_HAM):
            meant = meaning(role, False, None, traces, trust_delivery=False)
            assert (meant.do, meant.news) == (Do.NOTHING, True)


def marked_against_the_verdict() -> None:
    assert contradicts(Label.SPAM, "ham")
    assert contradicts(Label.HAM, "spam")


def marked_otherwise() -> None:
    for label, verdict in (
        (Label.SPAM, "spam"),
        (Label.HAM, "ham"),
        (Label.SPAM, "unsure"),
        (Label.HAM, "unsure"),
        (Label.SPAM, None),
        (Label.HAM, None),
    ):
        assert not contradicts(label, verdict)


def in_trash_or_gone() -> None:
    for traces in ((), (INBOX,), (BY_FILTER,), (IN_HAM,)):
        assert lesson(Role.NEUTRAL, *traces) == (Do.NOTHING, False)


def in_sent() -> None:
    for traces in ((), (INBOX,), (BY_FILTER,), (IN_HAM,)):
        assert lesson(Role.SENT, *traces) == (Do.NOTHING, False)
    assert [role for role in Role if tells_whom_one_knows(role, False)] == [Role.SENT]
    assert not tells_whom_one_knows(Role.SENT, True)
    assert taught_by(Role.SENT) is None


def in_the_inbox_with_a_known_head() -> None:
    for trace in (
        HEADERS,
        replace(HEADERS, role=Role.SPAM),
        replace(HEADERS, role=Role.HAM),
        replace(HEADERS, left=False),
    ):
        assert lesson(Role.INBOX, trace) == (Do.JUDGE, False)


def moved_and_changed() -> None:
    for role in OTHERS:
        assert lesson(Role.SPAM, replace(HEADERS, role=role), trust_delivery=False) == (Do.LEARN_SPAM, False)
        assert lesson(Role.HAM, replace(HEADERS, role=role)) == (Do.LEARN_HAM, False)
    for not_moved in (replace(HEADERS, left=False, lag=COPY_SECONDS), replace(HEADERS, recently_left=False)):
        assert lesson(Role.SPAM, not_moved) == (Do.LEARN_SPAM, True)
        assert lesson(Role.HAM, not_moved) == (Do.NOTHING, False)


def rescued_once() -> None:
    for verdict, label in itertools.product(Verdict, (None, Label.HAM, Label.SPAM)):
        assert goal(verdict, label=label, rescued=True) is None


def left_in_junk() -> None:
    """The rule is `silence.teaches_spam`; tests/service/test_untouched.py has its conditions."""
    assert [weak_lessons.teaches_spam(then, today) for then, today in ((0.98, 0.98), (0.97, 1.0), (1.0, 0.97))] == [
        True,
        False,
        False,
    ]


ROWS = {
    "new in the inbox": new_in_the_inbox,
    "in Junk, known in another folder before": in_junk_known_before,
    "first seen in Junk": first_seen_in_junk,
    "first seen in Junk, and the filter's verdict was spam": first_seen_in_junk_after_a_verdict,
    "taken out of Junk or unsure, into the inbox or a ham folder": taken_out,
    "in the inbox 30 s or more after the same delivery, which is in Junk or unsure": in_the_inbox_beside_junk,
    "in a ham folder, known in another folder before": filed_in_a_ham_folder,
    "first seen in a ham folder": first_seen_in_a_ham_folder,
    "a second name (hard link) that a file gets within 30 s, before it is in Junk or unsure": second_name,
    "a second name that a file gets later, or in Junk or unsure": second_name_later,
    "a second name outside of the mailbox, as a backup by `cp -al` gives it": second_name_outside_of_the_mailbox,
    "answered, in the inbox or a ham folder": answered,
    "read and kept, in the inbox or a ham folder": read_and_kept,
    "in Junk by the filter for two weeks and 200 messages, beyond doubt, though somebody has looked there since": (
        left_in_junk
    ),
    "in a training folder, known in another folder before": in_training_known_before,
    "first seen in a training folder": first_seen_in_training,
    "marked `$Junk` or `$NotJunk`, against the verdict": marked_against_the_verdict,
    "marked `$Junk` or `$NotJunk` otherwise": marked_otherwise,
    "in Trash or Drafts; or gone": in_trash_or_gone,
    "in Sent": in_sent,
    "in the inbox, with the Message-ID, Date and From of another message": in_the_inbox_with_a_known_head,
    "in Junk or a ham folder, with the Message-ID, Date and From of a message that has just left its folder": (
        moved_and_changed
    ),
    "delivered again, after a person took it out of Junk": rescued_once,
}


@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    """Each row of the table of what teaches says what is done."""
    ROWS[row]()


def test_table() -> None:
    """The table in docs/learning.md has these rows, in this order."""
    table = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)
    assert rows == ["seen", *ROWS]


# New in inbox: judge it.


def test_new_mail_is_judged() -> None:
    """New in inbox: judge it."""
    assert seen_in(Role.INBOX) is Do.JUDGE


@pytest.mark.parametrize(
    ("verdict", "where"), [(Verdict.SPAM, Verdict.SPAM), (Verdict.HAM, None), (Verdict.UNSURE, Verdict.UNSURE)]
)
def test_consequences(verdict: Verdict, where: Verdict | None) -> None:
    """Move to spam if spam; leave ham; unsure goes to an optional folder."""
    assert goal(verdict) is where


def test_unsure_stays() -> None:
    """Unsure stays where there is no folder for it."""
    assert goal(Verdict.UNSURE, has_unsure_folder=False) is None


# In spam, the filter did not put it there: a person says spam.


@pytest.mark.parametrize("traces", [(), (INBOX,), (IN_HAM,), (IN_TRASH,)])
@pytest.mark.parametrize("label", [None, Label.HAM, Label.SPAM])
def test_person_says_spam(traces: tuple[PastPlace, ...], label: int | None) -> None:
    """In spam, the filter did not put it there: learn spam, whatever it was learned as."""
    assert seen_in(Role.SPAM, *traces, label=label) is Do.LEARN_SPAM


def test_spam_again_after_ham() -> None:
    """A message that a person took out of spam and puts back later is spam again."""
    kept = replace(INBOX, since=3.0)
    assert seen_in(Role.SPAM, BY_FILTER, kept, label=Label.HAM) is Do.LEARN_SPAM


def test_out_of_unsure_into_spam() -> None:
    """What a person moves from the folder for unsure mail into spam is spam."""
    assert seen_in(Role.SPAM, replace(IN_HAM, unsure=True, by_filter=True)) is Do.LEARN_SPAM


# In inbox or ham, the filter had put it into spam: a person says ham.


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
@pytest.mark.parametrize("label", [None, Label.HAM, Label.SPAM])
def test_person_says_ham(role: Role, label: int | None) -> None:
    """In inbox or ham, the filter had put it into spam: learn ham."""
    assert seen_in(role, BY_FILTER, label=label) is Do.LEARN_HAM
    assert seen_in(role, replace(IN_SPAM, since=2.0), label=label) is Do.LEARN_HAM  # a person had


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
def test_out_of_unsure(role: Role) -> None:
    """What a person takes out of the folder for unsure mail is ham."""
    assert seen_in(role, replace(IN_HAM, unsure=True, by_filter=True)) is Do.LEARN_HAM


def test_never_moved_again() -> None:
    """A message that a person called ham is never moved again, though its name changes or it is delivered anew."""
    assert seen_in(Role.INBOX, label=Label.HAM) is Do.NOTHING
    assert goal(Verdict.SPAM, label=Label.HAM) is None


# In a ham folder.


@pytest.mark.parametrize("source", [INBOX, IN_HAM, IN_TRASH])
def test_filed(source: PastPlace) -> None:
    """In a ham folder, seen elsewhere before: a person filed it, learn ham."""
    assert seen_in(Role.HAM, source) is Do.LEARN_HAM


def test_server_side_rule() -> None:
    """In a ham folder, never seen before: a server-side rule delivered it, which is only a weak word."""
    assert seen_in(Role.HAM) is Do.NOTHING


def test_another_copy_is_not_filed() -> None:
    """A copy that a rule delivered into a ham folder was not filed because another delivery left the inbox."""
    assert seen_in(Role.HAM, replace(INBOX, same_delivery=False)) is Do.NOTHING
    assert seen_in(Role.HAM, STILL_THERE) is Do.NOTHING


# Kept in the inbox or a ham folder: a weak word for ham.


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
def test_kept(role: Role) -> None:
    """Replied to, or read and kept for N days: a weak word for ham."""
    assert kept(parse_name("1.host:2,S"), role, 3 * DAY, LEARNING)
    assert kept(parse_name("1.host:2,R"), role, 0, LEARNING)


@pytest.mark.parametrize("name", ["1.host", "1.host:2,", "1.host:2,F", "1.host:2,ST", "1.host:2,RT", "1.host:2,rs"])
def test_not_kept(name: str) -> None:
    """Mail that nobody read, or that is marked as deleted, was not kept."""
    assert not kept(parse_name(name), Role.INBOX, 30 * DAY, LEARNING)


def test_not_kept_long_enough() -> None:
    """Read mail was kept when the days are over, not before."""
    assert not kept(parse_name("1.host:2,S"), Role.INBOX, 3 * DAY - 1, LEARNING)
    assert kept(parse_name("1.host:2,S"), Role.INBOX, 10, Learning(kept_days=10 / DAY))


@pytest.mark.parametrize("role", [Role.SPAM, Role.NEUTRAL, Role.TRAIN_SPAM, Role.TRAIN_HAM])
def test_kept_elsewhere(role: Role) -> None:
    """Mail that lies in spam or in a neutral folder says nothing by lying there."""
    assert not kept(parse_name("1.host:2,RS"), role, 30 * DAY, LEARNING)


def test_kept_is_off() -> None:
    """Nothing is learned from being kept where `kept` is off."""
    assert not kept(parse_name("1.host:2,RS"), Role.INBOX, 30 * DAY, Learning(kept=False))


# Neutral folders.


@pytest.mark.parametrize("source", [(), (INBOX,), (IN_SPAM,), (BY_FILTER,), (IN_HAM,)])
def test_neutral(source: tuple[PastPlace, ...]) -> None:
    """Spam or anything to neutral: no word, nothing."""
    assert seen_in(Role.NEUTRAL, *source) is Do.NOTHING


def test_unsure_folder_has_no_meaning() -> None:
    """Mail that is put into the folder for unsure mail is neither judged nor learned."""
    assert seen_in(Role.HAM, INBOX, unsure=True) is Do.NOTHING


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM])
def test_rescued_from_the_trash(role: Role) -> None:
    """Mail that went from spam by way of the trash to inbox or ham was taken out of spam."""
    assert seen_in(role, BY_FILTER, replace(IN_TRASH, since=3.0)) is Do.LEARN_HAM


def test_deleted_and_put_back_into_spam() -> None:
    """Mail that the filter put into spam, and that comes back there from the trash, teaches nothing."""
    assert seen_in(Role.SPAM, replace(BY_FILTER, same_folder=True), replace(IN_TRASH, since=3.0)) is Do.NOTHING
    assert seen_in(Role.SPAM, BY_FILTER, replace(IN_TRASH, since=3.0)) is Do.NOTHING


def test_out_of_the_trash() -> None:
    """Mail that a person puts from the trash into the inbox stays there."""
    assert seen_in(Role.INBOX, IN_TRASH) is Do.NOTHING


# Drop folders.


@pytest.mark.parametrize("label", [None, Label.HAM, Label.SPAM])
def test_drop_folders(label: int | None) -> None:
    """Mail put into a drop folder is learned, then moved on to spam or inbox."""
    assert seen_in(Role.TRAIN_SPAM, INBOX, label=label) is Do.LEARN_SPAM_AND_FILE
    assert seen_in(Role.TRAIN_HAM, BY_FILTER, label=label) is Do.LEARN_HAM_AND_FILE


# Copies, changes of mind, and other hands.


def test_copy_then_delete() -> None:
    """A client's copy whose original is marked as deleted is a move."""
    assert seen_in(Role.INBOX, replace(BY_FILTER, left=True)) is Do.LEARN_HAM
    assert seen_in(Role.SPAM, replace(INBOX, left=True)) is Do.LEARN_SPAM


def test_hard_linked_copy() -> None:
    """A second name is a person's if the file lay in spam by then, or came long before; else a rule's."""
    lay_in_spam = replace(STILL_THERE, same_file=True)
    assert seen_in(Role.INBOX, replace(lay_in_spam, lag=0.1)) is Do.LEARN_HAM
    assert seen_in(Role.HAM, replace(lay_in_spam, lag=0.1)) is Do.LEARN_HAM
    assert seen_in(Role.INBOX, lay_in_spam) is Do.JUDGE
    assert seen_in(Role.HAM, lay_in_spam) is Do.NOTHING, "the filter has moved the first name to spam after that"
    assert seen_in(Role.SPAM, replace(LINKED, lag=COPY_SECONDS)) is Do.LEARN_SPAM
    assert seen_in(Role.SPAM, LINKED) is Do.NOTHING


def test_moved_beside_a_second_name() -> None:
    """What was moved came from the place that it has left, though it has another name, even a newer one, elsewhere."""
    archived = replace(LINKED, role=Role.HAM, since=9.0, lag=DAY)
    junked = replace(archived, role=Role.SPAM, by_filter=True)
    left = replace(BY_FILTER, just_left=True)
    assert seen_in(Role.INBOX, left, archived) is Do.LEARN_HAM
    assert meaning(Role.HAM, False, None, [left, replace(archived, role=Role.INBOX)]).rescued
    assert seen_in(Role.HAM, replace(IN_HAM, same_folder=True, just_left=True), junked) is Do.NOTHING, "renamed"
    assert seen_in(Role.SPAM, replace(IN_HAM, just_left=True), replace(junked, same_folder=True)) is Do.LEARN_SPAM
    assert seen_in(Role.SPAM, replace(INBOX, just_left=True), archived, named=False) is Do.LEARN_SPAM
    assert seen_in(Role.INBOX, replace(INBOX, same_folder=True), junked) is Do.LEARN_HAM, "it had left before"


def test_copy_of_what_lies_there() -> None:
    """A file of the same delivery that appears in the inbox long after the first waits until that one leaves spam."""
    old = replace(STILL_THERE, lag=COPY_SECONDS)
    assert seen_in(Role.INBOX, old) is Do.WAIT
    assert seen_in(Role.INBOX, replace(old, left=True)) is Do.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_file=True)) is Do.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, role=Role.HAM, unsure=True)) is Do.WAIT
    assert seen_in(Role.INBOX, replace(old, lag=COPY_SECONDS - 1)) is Do.JUDGE
    assert seen_in(Role.INBOX, replace(old, same_delivery=False)) is Do.JUDGE
    assert seen_in(Role.INBOX, replace(IN_HAM, left=False, lag=COPY_SECONDS)) is Do.NOTHING
    assert seen_in(Role.HAM, old) is Do.NOTHING, "labels and rules make copies at any time"
    assert seen_in(Role.SPAM, replace(INBOX, left=False, lag=COPY_SECONDS)) is Do.LEARN_SPAM


def test_second_delivery() -> None:
    """A second delivery of a message is judged where it lies, while the first one lies in spam or is gone from it."""
    assert seen_in(Role.INBOX, replace(STILL_THERE, same_delivery=False)) is Do.JUDGE
    assert seen_in(Role.INBOX, STILL_THERE) is Do.JUDGE
    assert seen_in(Role.INBOX, replace(BY_FILTER, same_delivery=False)) is Do.JUDGE


def test_second_delivery_of_known_spam() -> None:
    """A second delivery of a message that a person called spam goes to spam, whatever the verdict."""
    assert seen_in(Role.INBOX, replace(STILL_THERE, same_delivery=False), label=Label.SPAM) is Do.JUDGE
    assert goal(Verdict.HAM, label=Label.SPAM) is Verdict.SPAM


def test_second_delivery_put_into_spam() -> None:
    """A person who puts a second delivery into spam, where the filter had put the first, says spam."""
    first = replace(STILL_THERE, same_delivery=False, same_folder=True)
    assert seen_in(Role.SPAM, first, replace(INBOX, since=3.0)) is Do.LEARN_SPAM


def test_change_of_mind() -> None:
    """Into another folder and back before anyone looked is a new name in the same folder, and teaches nothing."""
    for role, trace in PERSON.items():
        assert seen_in(role, replace(trace, same_folder=True)) is Do.NOTHING


def test_renamed_in_place() -> None:
    """A file that gets another base name where it lies is the same file: it is not judged again."""
    assert seen_in(Role.INBOX, replace(INBOX, same_folder=True)) is Do.NOTHING
    assert seen_in(Role.SPAM, INBOX, replace(BY_FILTER, same_folder=True)) is Do.NOTHING


def test_among_spam_folders() -> None:
    """A move from one spam folder to another teaches nothing."""
    assert seen_in(Role.SPAM, BY_FILTER) is Do.NOTHING
    assert seen_in(Role.SPAM, IN_SPAM) is Do.NOTHING


@pytest.mark.parametrize("trace", [STILL_THERE, replace(STILL_THERE, same_folder=True)])
def test_doubled_in_spam(trace: PastPlace) -> None:
    """What the filter put into spam teaches nothing by appearing there again: a folder was renamed, a file copied."""
    assert seen_in(Role.SPAM, trace) is Do.NOTHING
    assert seen_in(Role.SPAM, INBOX, trace) is Do.NOTHING


@pytest.mark.parametrize("role", [Role.INBOX, Role.HAM, Role.SPAM])
def test_out_of_a_backup(role: Role) -> None:
    """Mail that is back under the name it had in this folder was moved by a person only if it left a place just now."""
    long_ago = replace(IN_SPAM if role is not Role.SPAM else INBOX, recently_left=False)
    assert seen_in(role, long_ago, same_name=True) is Do.NOTHING
    assert seen_in(role, replace(long_ago, left=False, lag=COPY_SECONDS), same_name=True) is Do.NOTHING
    said = Do.LEARN_SPAM if role is Role.SPAM else Do.LEARN_HAM
    assert seen_in(role, replace(long_ago, recently_left=True), same_name=True) is said
    assert seen_in(role, long_ago) is said, "under another name"


def test_fetched_anew() -> None:
    """Of what lay in spam or unsure, many copies at once are fetched anew; moved ones and linked ones are a word."""
    old = replace(STILL_THERE, lag=COPY_SECONDS)
    unsure = replace(old, role=Role.HAM, unsure=True)
    for trace in (old, unsure, replace(old, left=True, recently_left=False)):
        assert seen_in(Role.INBOX, trace, many=True) is Do.NOTHING
        assert seen_in(Role.INBOX, trace) is (Do.LEARN_HAM if trace.left else Do.WAIT)
    assert seen_in(Role.INBOX, replace(old, left=True), many=True) is Do.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_file=True), many=True) is Do.LEARN_HAM
    assert seen_in(Role.INBOX, replace(old, same_delivery=False), many=True) is Do.JUDGE
    assert seen_in(Role.SPAM, replace(INBOX, left=False), many=True) is Do.LEARN_SPAM
    kept = replace(IN_HAM, left=False, since=4.0)
    before = replace(IN_SPAM, recently_left=False), replace(INBOX, recently_left=False, since=3.0)
    assert seen_in(Role.SPAM, *before, kept, label=Label.HAM, many=True) is Do.NOTHING
    assert seen_in(Role.TRAIN_SPAM, old, many=True, same_name=True) is Do.LEARN_SPAM_AND_FILE


def test_filed_letters_in_a_folder_within_spam() -> None:
    """Filed letters in a folder that came to lie within Junk are no spam by that; in Junk itself they are, many too."""
    for left in (True, False):
        filed = replace(IN_HAM, left=left, since=3.0)
        assert seen_in(Role.SPAM, INBOX, filed, named=False) is Do.NOTHING
        assert seen_in(Role.SPAM, INBOX, filed, many=True) is Do.LEARN_SPAM
        assert seen_in(Role.SPAM, replace(filed, unsure=True), named=False) is Do.LEARN_SPAM
    assert seen_in(Role.SPAM, IN_HAM, replace(INBOX, since=3.0), named=False) is Do.LEARN_SPAM


def test_put_back() -> None:
    """A message that a person moves from a ham folder back to the inbox stays there and teaches nothing."""
    assert seen_in(Role.INBOX, IN_HAM) is Do.NOTHING


# Verdicts and what stands above them.


@pytest.mark.parametrize("flag", "DFPRST")
@pytest.mark.parametrize("verdict", [Verdict.SPAM, Verdict.UNSURE])
def test_marked_mail_stays(flag: str, verdict: Verdict) -> None:
    """Mail that a person has read or marked is never moved."""
    assert goal(verdict, f"1.host:2,{flag}") is None
    assert goal(verdict, f"1.host:2,{flag}", Label.SPAM) is None


def test_missing_lessons_hold() -> None:
    """Until each class has enough learned messages nothing is moved."""
    assert goal(Verdict.SPAM, missing="3 more spam messages to learn") is None
    assert goal(Verdict.UNSURE, missing="3 more spam messages to learn") is None


def test_breaker_holds() -> None:
    """While the circuit breaker is open nothing is moved."""
    assert goal(Verdict.SPAM, tripped=True) is None
    assert goal(Verdict.UNSURE, tripped=True) is None


@pytest.mark.parametrize(
    ("ham", "spam", "said"),
    [
        (20, 20, ""),
        (19, 20, "1 more ham message to learn"),
        (0, 19, "20 more ham messages and 1 more spam message to learn"),
    ],
)
def test_missing_lessons(ham: int, spam: int, said: str) -> None:
    """What is missing is said for each class."""
    assert missing_lessons(ham, spam, LEARNING) == said


@pytest.mark.parametrize(
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
    assert trips(spam, Breaker(), lambda: (ham_before, spam_before)) is stops


def test_breaker_may_never_trip() -> None:
    """A share of 1 is for never."""
    assert not trips(100, Breaker(share=1.0), lambda: (900, 100))


@given(st.integers(1, 60), st.integers(0, 100), st.integers(1, 100))
def test_chances_are_a_distribution(of: int, ham: int, spam: int) -> None:
    """The chances of all numbers of spam sum to one."""
    chances = [math.exp(may_move._log_chance(number, of, spam, ham + 1)) for number in range(of + 1)]
    assert sum(chances) == pytest.approx(1)


# A client's keywords.


@pytest.mark.parametrize(
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


# Whatever has happened.

TRACES = st.lists(
    st.builds(
        PastPlace,
        role=st.sampled_from(Role),
        unsure=st.booleans(),
        same_folder=st.booleans(),
        by_filter=st.booleans(),
        left=st.booleans(),
        same_delivery=st.booleans(),
        same_file=st.booleans(),
        since=st.floats(0, 100),
        lag=st.sampled_from([-1.0, 0.0, COPY_SECONDS]),
        just_left=st.just(False),
        alike=st.just(False),
    ),
    max_size=5,
)
LEARNS = {Do.LEARN_HAM, Do.LEARN_SPAM, Do.LEARN_HAM_AND_FILE, Do.LEARN_SPAM_AND_FILE}


@given(st.sampled_from([Role.INBOX, Role.HAM, Role.SPAM]), TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]))
def test_nothing_is_learned_from_the_filters_own_places(role: Role, traces: list[PastPlace], label: int | None) -> None:
    """Where the filter put a message, and nobody moved it since, its appearing in spam teaches nothing."""
    own = replace(BY_FILTER, since=101.0, left=False)
    if role is Role.SPAM:
        assert meaning(role, False, label, [*traces, own]).do is Do.NOTHING
    elif not any(trace.left or trace.lag >= COPY_SECONDS for trace in traces):
        for linked in (own, replace(own, same_file=True)):
            assert meaning(role, False, label, [*traces, linked]).do not in LEARNS


@given(TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]))
def test_taken_out_of_spam_is_never_judged(traces: list[PastPlace], label: int | None) -> None:
    """Whatever else has happened to it, a message that last left a spam folder is ham, not new mail."""
    assert meaning(Role.INBOX, False, label, [*traces, replace(BY_FILTER, since=101.0)]).do is Do.LEARN_HAM
    assert meaning(Role.HAM, False, label, [*traces, replace(BY_FILTER, since=101.0)]).do is Do.LEARN_HAM


@given(TRACES)
def test_the_order_of_traces_does_not_matter(traces: list[PastPlace]) -> None:
    """What a place means does not depend on the order in which the other places are named."""
    traces = [replace(trace, since=float(number)) for number, trace in enumerate(traces)]
    for role in Role:
        found = {meaning(role, False, None, order) for order in itertools.permutations(traces[:3])}
        assert len(found) == 1


@given(
    TRACES, st.sampled_from([None, Label.HAM, Label.SPAM]), st.booleans(), st.lists(st.sampled_from(Role), max_size=3)
)
def test_a_forged_head_changes_nothing_in_the_inbox(
    traces: list[PastPlace], label: int | None, left: bool, roles: list[Role]
) -> None:
    """What is done with mail in the inbox does not depend on messages that only share Message-ID, Date and From."""
    forged = [replace(HEADERS, role=role, left=left, since=200.0 + number) for number, role in enumerate(roles)]
    assert meaning(Role.INBOX, False, label, [*traces, *forged]) == meaning(Role.INBOX, False, label, traces)


@given(
    st.sampled_from([Role.SPAM, Role.TRAIN_SPAM, Role.TRAIN_HAM]),
    TRACES,
    st.sampled_from([None, Label.HAM, Label.SPAM]),
)
def test_without_trust_only_what_was_elsewhere_teaches(role: Role, traces: list[PastPlace], label: int | None) -> None:
    """Without trust in deliveries no message is learned in Junk or in training that was in no other folder before."""
    traces = [replace(trace, left=False, lag=0.0) if not trace.same_folder else trace for trace in traces]
    assert meaning(role, False, label, traces, trust_delivery=False).do is Do.NOTHING
