"""The sift: what is doubted among mail that was there before the filter, and what is not."""

from collections.abc import Callable, Sequence

import pytest

from spamnb.acts import training, undo
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.review import first_lessons
from spamnb.review.first_lessons import NOTHING
from tests.lessons import NO_MAILBOX

_HAM = [message("ham", n) for n in range(40)]
_JUNK = [message("spam", n) for n in range(20)]
_LYING = [message("spam", n) for n in range(50, 60)]


def _learn(
    ledger: Ledger, contents: Sequence[bytes], label: Label, flags: str = "S", *, weak: bool = False
) -> list[bytes]:
    """Learn messages as `init` does, from files with these flags. Returns their digests. weak: of a folder of lists."""
    readings = list(map(read, contents))
    paths = [f"/mail/cur/17{number}.host:2,{flags}" for number in range(len(contents))]
    training.learn_batches(ledger, [Batch.of(readings, paths)], label, "at the start", 1.0, how=How.SEEN, weak=weak)
    return [reading.digest for reading in readings]


def _labels(ledger: Ledger, digests: Sequence[bytes]) -> list[tuple[Label | None, bool]]:
    found = [ledger.lessons.find(digest) for digest in digests]
    return [(lesson.label, lesson.weak) for lesson in found if lesson is not None]


def _newsletter(number: int) -> bytes:
    """One issue of a newsletter that reads like spam."""
    spam = message("spam", 3).partition(b"\n\n")[2]
    head = b"From: Offers <offers@shop.example>\nTo: you@home.example\nSubject: Best price of week %d\n" % number
    return head + b"Message-ID: <%d@shop.example>\n\nIssue %d.\n" % (number, number) + spam


def _post(number: int) -> bytes:
    """One message of a mailing list about medicine."""
    head = b"From: member%d@home%d.example\nTo: pharmacy@lists.example\nSubject: Price of pills, question %d\n" % (
        *(number, number % 7, number),
    )
    fields = b"List-Id: Pharmacists <pharmacy.lists.example>\nMessage-ID: <%d@lists.example>\n" % number
    return head + fields + b"\nWhich online shop sells it at the best price? Order number %d.\n" % number


def test_spam_among_the_ham_teaches_no_ham(ledger: Ledger) -> None:
    """Spam in a ham folder teaches nothing or counts weakly as spam; all ham still teaches; the counts are right."""
    first_lessons.begin(ledger)
    ham, lying = _learn(ledger, _HAM, Label.HAM), _learn(ledger, _LYING, Label.HAM)
    junk = _learn(ledger, _JUNK, Label.SPAM)
    sifted = first_lessons.finish(ledger, Scoring())
    assert sifted.doubted == len(lying)
    assert 0 < sifted.weakly_spam <= len(lying)
    assert _labels(ledger, ham) == [(Label.HAM, False)] * len(ham)
    assert set(_labels(ledger, lying)) <= {(None, True), (Label.SPAM, True)}
    assert _labels(ledger, junk) == [(Label.SPAM, False)] * len(junk)
    assert all(first_lessons.is_sifted(lesson) for lesson in map(ledger.lessons.find, lying) if lesson)
    assert ledger.verify() == []


def test_a_sift_is_done_once(ledger: Ledger) -> None:
    """Sifted messages are not sifted again, and lessons from before `begin` never are."""
    before = _learn(ledger, _LYING[:2], Label.HAM)
    first_lessons.begin(ledger)
    _learn(ledger, _HAM + _LYING[2:], Label.HAM)
    _learn(ledger, _JUNK, Label.SPAM)
    assert first_lessons.finish(ledger, Scoring()).doubted == len(_LYING[2:])
    assert _labels(ledger, before) == [(Label.HAM, False)] * len(before)
    assert first_lessons.finish(ledger, Scoring()) == NOTHING


def test_an_undo_takes_the_sift_back(ledger: Ledger) -> None:
    """The history has a line for each doubted message, and an undo of these makes all of them ham again."""
    first_lessons.begin(ledger)
    _learn(ledger, _HAM, Label.HAM)
    lying = _learn(ledger, _LYING, Label.HAM)
    _learn(ledger, _JUNK, Label.SPAM)
    last = ledger.journal.newest_id()
    first_lessons.finish(ledger, Scoring())
    done = [action for action in ledger.journal.newest(100) if action.id > last]
    assert {(action.kind, action.before, action.digest) for action in done} == {
        ("learned", Label.HAM, digest) for digest in lying
    }
    assert all(
        one.fault is None for one in undo.undo(ledger, NO_MAILBOX, undo.of_ids(ledger, [one.id for one in done]))
    )
    assert _labels(ledger, lying) == [(Label.HAM, False)] * len(lying)
    assert ledger.verify() == []


def test_spam_in_a_folder_of_lists(ledger: Ledger) -> None:
    """Doubted mail of a folder of lists teaches nothing. Taken up again or after an undo, it is weakly ham again."""
    first_lessons.begin(ledger)
    _learn(ledger, _HAM, Label.HAM)
    lying = _learn(ledger, _LYING, Label.HAM, weak=True)
    _learn(ledger, _JUNK, Label.SPAM)
    for _ in range(2):
        last = ledger.journal.newest_id()
        assert first_lessons.finish(ledger, Scoring()) == first_lessons.Sifted(len(lying), 0)
        assert _labels(ledger, lying) == [(None, True)] * len(lying)
        assert sorted(lesson.digest for lesson in first_lessons.sifted(ledger)) == sorted(lying)
        done = [action for action in ledger.journal.newest(100) if action.id > last]
        assert not any(action.is_of_init for action in done), "init has learned it, and the sift has not"
        first_lessons.begin(ledger)
        first_lessons.take_up(ledger)
        assert _labels(ledger, lying) == [(Label.HAM, True)] * len(lying)
    last = ledger.journal.newest_id()
    first_lessons.finish(ledger, Scoring())
    done = [action for action in ledger.journal.newest(100) if action.id > last]
    undone = undo.undo(ledger, NO_MAILBOX, undo.of_ids(ledger, [one.id for one in done]))
    assert [one.fault for one in undone] == [None] * len(lying)
    assert _labels(ledger, lying) == [(Label.HAM, True)] * len(lying)
    assert ledger.verify() == []


def test_answered_mail_and_decisions_are_never_doubted(ledger: Ledger) -> None:
    """What the person has answered, moved by hand or spoken about stays ham, however much it looks like spam."""
    moved = read(_LYING[0])
    training.learn(ledger, moved, Label.HAM, "moved", 1.0, how=How.MOVE)
    first_lessons.begin(ledger)
    _learn(ledger, _HAM, Label.HAM)
    (answered,) = _learn(ledger, _LYING[1:2], Label.HAM, "RS")
    (settled,) = _learn(ledger, _LYING[2:3], Label.HAM)
    ledger.journal.settled(ledger.messages.ensure(settled, "").id, "said", 1.0, ledger.journal.newest_id())
    others = _learn(ledger, [_LYING[0], *_LYING[3:]], Label.HAM)[1:]
    _learn(ledger, _JUNK, Label.SPAM)
    assert first_lessons.finish(ledger, Scoring()).doubted > len(others) / 2
    spoken = [moved.digest, answered, settled]
    assert _labels(ledger, spoken) == [(Label.HAM, False)] * len(spoken)


@pytest.mark.parametrize("make", [_newsletter, _post])
def test_mail_that_comes_often_is_never_doubted(ledger: Ledger, make: Callable[[int], bytes]) -> None:
    """Forty issues of a newsletter that reads like spam stay ham, and so do forty posts of a mailing list."""
    first_lessons.begin(ledger)
    often = _learn(ledger, list(map(make, range(40))), Label.HAM)
    _learn(ledger, _HAM + _LYING, Label.HAM)
    _learn(ledger, _JUNK, Label.SPAM)
    assert first_lessons.finish(ledger, Scoring()).doubted == len(_LYING)
    assert _labels(ledger, often) == [(Label.HAM, False)] * len(often)


def test_a_few_messages_show_nothing(ledger: Ledger) -> None:
    """With few lessons, or with more spam than ham, nothing is doubted."""
    for ham, junk in (
        (_HAM[:10], _JUNK),
        (_HAM, _JUNK[:3]),
        (_HAM[:25], [message("spam", n) for n in range(100, 150)]),
    ):
        first_lessons.begin(ledger)
        _learn(ledger, [*ham, *_LYING[:2]], Label.HAM)
        _learn(ledger, junk, Label.SPAM)
        assert first_lessons.finish(ledger, Scoring()) == NOTHING
        training.forget(ledger, [read(one).digest for one in (*ham, *_LYING, *junk)], "again", 1.0, how=How.HAND)
