"""The lessons of silence, and the end of weak lessons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.acts import reconsider
from spamnb.acts.reconsider import Trace, missed_spam, outdated
from spamnb.base.label import How, Label
from spamnb.bayes import calibration
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading, read
from spamnb.rules import weak_lessons
from spamnb.rules.weak_lessons import teaches_ham
from tests.table import over_rows

SCORING = Scoring()
NEW = MissedSpam.UNKNOWN


def readings(kind: str, *numbers: int) -> list[Reading]:
    """Made-up messages of a kind, by their numbers."""
    return [read(message(kind, number)) for number in numbers]


@pytest.fixture
def lessons() -> MemoryLessons:
    """Fifty ham and fifty spam, each by a decision."""
    found = MemoryLessons()
    for label in Label:
        found.learn(readings(label.word, *range(50)), label, "a decision", 1.0, how=How.HAND)
    return found


@over_rows(
    ("probability", "missed", "is_taught", "teaches", "teaches_apart"),
    [
        (0.99, MissedSpam.IS_MOVED, True, True, False),  # who moves spam away has kept it for another reason
        (0.5, MissedSpam.IS_MOVED, True, True, True),
        (0.99, MissedSpam.UNKNOWN, False, True, True),  # a filter that knows little would never learn ham
        (0.99, MissedSpam.IS_LEFT, False, True, True),
        (0.6, MissedSpam.UNKNOWN, True, False, False),
        (0.5, MissedSpam.UNKNOWN, True, True, True),
        (0.4, MissedSpam.IS_LEFT, True, False, False),
        (0.2, MissedSpam.IS_LEFT, True, True, True),
    ],
)
def test_what_kept_mail_teaches(
    probability: float, missed: MissedSpam, is_taught: bool, teaches: bool, teaches_apart: bool
) -> None:
    """Kept mail that the filter calls spam is not learned as ham, unless this person moves spam out of that folder."""
    assert teaches_ham(probability, missed, is_taught=is_taught) is teaches
    assert teaches_ham(probability, missed, is_taught=is_taught, is_apart=True) is teaches_apart


@given(st.floats(0, 1), st.floats(0, 1))
def test_only_what_is_beyond_doubt_teaches_spam(then: float, today: float) -> None:
    """Mail in the spam folder teaches only if it was judged spam on arrival and is judged so today."""
    silence = weak_lessons.silence(0.0, 0.0, None, lambda _: None)
    assert silence.teaches(then, today) == (min(then, today) >= calibration.probability(1.77))


def test_a_person_who_moves_spam(lessons: MemoryLessons) -> None:
    """A person moves spam away if all mail that looks like spam today was moved; kept ham does not count."""
    moved = [Trace(float(at), one.digest, moved=True) for at, one in enumerate(readings("spam", *range(10)))]
    ham = [Trace(float(at), one.digest, moved=False) for at, one in enumerate(readings("ham", *range(40)))]
    assert missed_spam(lessons, SCORING, moved + ham, NEW) is MissedSpam.IS_MOVED
    for before in MissedSpam:
        assert missed_spam(lessons, SCORING, moved[:4] + ham, before) is before, "too few to tell"
    assert missed_spam(lessons, SCORING, [], NEW) is MissedSpam.UNKNOWN


def test_a_person_who_leaves_spam(lessons: MemoryLessons) -> None:
    """A good part of what the filter takes for spam was kept: as ham that was learned weakly, or not learned at all."""
    moved = [Trace(float(at), one.digest, moved=True) for at, one in enumerate(readings("spam", *range(10)))]
    kept = readings("spam", *range(100, 105))
    unlearned = [Trace(float(at), one.digest, moved=False, probability=0.99) for at, one in enumerate(kept)]
    assert missed_spam(lessons, SCORING, moved + unlearned, NEW) is MissedSpam.IS_LEFT
    lessons.learn(kept, Label.HAM, "read and kept", 2.0, weak=True, how=How.KEPT)
    learned = [trace._replace(probability=0.0) for trace in unlearned]
    assert missed_spam(lessons, SCORING, moved + learned, NEW) is MissedSpam.IS_LEFT, "each is asked without itself"


def test_who_leaves_spam_and_moves_none(lessons: MemoryLessons, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a person has left spam, and moves none now, nothing can change that, so nothing is judged."""
    kept = [Trace(float(at), one.digest, moved=False) for at, one in enumerate(readings("spam", *range(10)))]
    moved = kept[0]._replace(moved=True)
    judged = list[int]()
    judge = reconsider.without_groups
    monkeypatch.setattr(reconsider, "without_groups", lambda *given: (judged.append(1), judge(*given))[1])
    assert missed_spam(lessons, SCORING, kept, MissedSpam.IS_LEFT) is MissedSpam.IS_LEFT
    assert judged == []
    for before in MissedSpam:
        missed_spam(lessons, SCORING, [moved, *kept[1:]], before)
    assert len(judged) == len(MissedSpam)


def test_a_person_may_change(lessons: MemoryLessons) -> None:
    """Only the newest traces count."""
    digests = [one.digest for one in readings("spam", *range(50))]
    left = [Trace(float(at), bytes([at % 256, at // 256]), moved=False, probability=0.99) for at in range(500)]
    moved = [Trace(1000.0 + at, digests[at % 50], moved=True) for at in range(400)]
    assert missed_spam(lessons, SCORING, left + moved[:50], NEW) is MissedSpam.IS_LEFT
    assert missed_spam(lessons, SCORING, left + moved, NEW) is MissedSpam.IS_MOVED


def test_weak_ham_gives_way(lessons: MemoryLessons) -> None:
    """Kept mail that looks like spam later is no longer a lesson; a decision never gives way."""
    kept = readings("spam", *range(100, 103))
    lessons.learn(kept, Label.HAM, "read and kept", 2.0, weak=True, how=How.KEPT)
    decided = readings("spam", 200)
    lessons.learn(decided, Label.HAM, "a person filed it", 2.0, how=How.MOVE)
    lessons.learn(readings("ham", *range(100, 110)), Label.HAM, "read and kept", 2.0, weak=True, how=How.KEPT)
    for missed in (MissedSpam.UNKNOWN, MissedSpam.IS_LEFT):
        found = [one.digest for page in outdated(lessons, SCORING, missed) for one in page]
        assert sorted(found) == sorted(one.digest for one in kept)
    assert [one for page in outdated(lessons, SCORING, MissedSpam.IS_MOVED) for one in page] == []


def test_weak_spam_gives_way_where_only_silence_has_taught_it(lessons: MemoryLessons) -> None:
    """Weak spam that looks like ham later gives way if silence taught it; not if a rule filed it."""
    lay, filed = readings("ham", 100), readings("ham", 101)
    lessons.learn(lay, Label.SPAM, weak_lessons.LAY_IN_SPAM, 2.0, weak=True, how=How.SILENCE)
    lessons.learn(filed, Label.SPAM, "first seen in a spam folder", 2.0, weak=True, how=How.SEEN)
    found = [one.digest for page in outdated(lessons, SCORING, MissedSpam.IS_MOVED) for one in page]
    assert found == [lay[0].digest]
