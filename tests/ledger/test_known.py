"""Whom and what one knows: by decisions and sent mail, exact to forget, for both stores of lessons."""

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.base.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.known import Known, is_known
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lessons, Relabel
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations, Sent, hashed

HAM, SPAM = Label
CORRESPONDENT, THREAD, ANSWER, LIST = Known.CORRESPONDENT, Known.THREAD, Known.ANSWER, Known.LIST


def digest(number: int) -> bytes:
    """The identity of a message."""
    return bytes([number] * 16)


def ident(number: int) -> int:
    """The hash of its Message-ID."""
    return hashed("id", f"{number}@example.org")


def reading(
    number: int, sender: str = "ann@b.example", path: str = "9.9.9", refers: tuple[int, ...] = (), list_id: str = ""
) -> Reading:
    """A message of a sender that came over a path."""
    relations = Relations(sender, list_id, path, ident(number), tuple(map(ident, refers)))
    return Reading(digest(number), f"message {number}", {"hello": 1}, relations)


def known(lessons: Lessons, one: Reading, without: bytes | None = None) -> set[Known]:
    """What is known of a message."""
    return set(lessons.known([one.relations], without)[0])


def test_a_sender_over_the_path_of_ham_is_a_correspondent(lessons: Lessons) -> None:
    """A sender is known over the path over which ham of theirs has come, and over no other: From can be forged."""
    assert known(lessons, reading(2)) == set()
    lessons.learn([reading(1)], HAM, "filed", 1.0)
    assert known(lessons, reading(2)) == {CORRESPONDENT}
    assert known(lessons, reading(2, path="8.8.8")) == set()
    assert known(lessons, reading(2, path="")) == set()
    assert known(lessons, reading(2, sender="eve@b.example")) == set()
    assert known(lessons, reading(2, path="b.example")) == {CORRESPONDENT}, "the path of their own domain"
    assert lessons.verify() == []


def test_spam_over_the_path_ends_it(lessons: Lessons) -> None:
    """A mailbox that was broken into sends spam over the known path: called spam once, its sender is not known."""
    lessons.learn([reading(1)], HAM, "filed", 1.0)
    lessons.learn([reading(2)], SPAM, "moved to Junk", 1.0)
    assert known(lessons, reading(3)) == set()
    lessons.forget([digest(2)], "an error", 2.0)
    assert known(lessons, reading(3)) == {CORRESPONDENT}
    lessons.learn([reading(2, path="b.example")], SPAM, "moved to Junk", 3.0)
    assert known(lessons, reading(3, path="b.example")) == set()


def test_weak_lessons_make_nobody_known(lessons: Lessons) -> None:
    """What was learned weakly makes nothing known, until a person decides so."""
    lessons.learn([reading(1)], HAM, "kept", 1.0, weak=True)
    assert known(lessons, reading(2, refers=(1,))) == set()
    lessons.learn([reading(1)], HAM, "answered", 2.0)
    assert known(lessons, reading(2, refers=(1,))) == {CORRESPONDENT, THREAD}
    lessons.learn([reading(1)], SPAM, "moved to Junk", 3.0)
    assert known(lessons, reading(2, refers=(1,))) == set()
    assert lessons.verify() == []


def test_lists_and_threads(lessons: Lessons) -> None:
    """Threads are known by the Message-IDs of ham, lists over their path."""
    lessons.learn([reading(1, list_id="talk.b.example")], HAM, "filed", 1.0)
    assert known(lessons, reading(2, sender="new@c.example", list_id="talk.b.example")) == {LIST}
    assert known(lessons, reading(2, "new@c.example", "8.8.8", (7, 1), list_id="talk.b.example")) == {THREAD}
    assert is_known({THREAD}) and is_known({CORRESPONDENT}) and is_known({ANSWER})
    assert not is_known({LIST}) and not is_known(())


def test_sent_mail(lessons: Lessons) -> None:
    """Who was written to is known over the path of their own domain; an answer is known by thread and sender."""
    answer = reading(2, path="8.8.8", refers=(9,))
    (answers,) = answer.relations.answers
    sent = Sent((ident(9),), (hashed("address", "ann@b.example"),), (answers,))
    lessons.add_sent({digest(9): sent})
    lessons.add_sent({digest(9): sent})
    assert known(lessons, answer) == {THREAD, ANSWER}
    assert known(lessons, reading(2, sender="eve@b.example", refers=(9,))) == {THREAD}
    assert known(lessons, reading(2)) == set(), "a first letter over a path that says nothing of its sender"
    assert known(lessons, reading(2, path="b.example")) == {CORRESPONDENT}
    assert lessons.sent() == [digest(9)]
    assert lessons.verify() == []
    lessons.drop_sent([digest(9), digest(8)])
    assert known(lessons, answer) == set()
    assert lessons.sent() == []
    assert lessons.verify() == []


def test_sent_mail_that_was_delivered_too(lessons: Lessons) -> None:
    """Of two copies of a sent message the one that makes somebody known counts, whichever comes first."""
    sent = Sent((ident(9),), (hashed("address", "ann@b.example"),), ())
    for copies in ((Sent(), sent), (sent, Sent())):
        for copy in copies:
            lessons.add_sent({digest(9): copy})
        assert known(lessons, reading(2, refers=(9,))) == {THREAD}
        assert lessons.verify() == []
        lessons.drop_sent([digest(9)])
        assert known(lessons, reading(2, refers=(9,))) == set()
    assert lessons.verify() == []


def test_learned_with_what_was_known_then(lessons: Lessons) -> None:
    """A message is learned with the tokens of what is known of it at that moment, and is forgotten with them."""
    answer = reading(3, path="8.8.8", refers=(9,))
    lessons.add_sent({digest(9): Sent((ident(9),), (), answer.relations.answers)})
    lessons.learn([reading(1), reading(2), answer], HAM, "filed", 1.0)
    tokens = ["known:correspondent", "known:answer", "hello"]
    assert lessons.counts(tokens).messages.tolist() == [[1, 1, 3], [0, 0, 0]]
    lessons.forget([digest(2)], "an error", 2.0)
    assert lessons.counts(tokens).messages.tolist() == [[0, 1, 2], [0, 0, 0]]
    lessons.learn([reading(2)], HAM, "filed", 3.0)
    assert lessons.counts(tokens).messages.tolist() == [[1, 1, 3], [0, 0, 0]]
    assert lessons.verify() == []


def test_without_itself(lessons: Lessons) -> None:
    """A message that is left out does not make its own sender known."""
    lessons.learn([reading(1)], HAM, "filed", 1.0)
    assert known(lessons, reading(1)) == {CORRESPONDENT}
    assert known(lessons, reading(1), without=digest(1)) == set()
    assert known(lessons, reading(1)) == {CORRESPONDENT}


class Step(NamedTuple):
    """A change: messages by their numbers, which are learned (None: forgotten), or sent."""

    numbers: list[int]
    label: int | None
    weak: bool
    sent: bool


def message(number: int) -> Reading:
    """One of a few messages that have senders, paths, threads and lists in common."""
    path = ["9.9.9", "b.example", ""][number % 3]
    return reading(number, f"{'ab'[number % 2]}@b.example", path, (number - 1,), ["", "talk.b.example"][number % 2])


def written(number: int) -> Sent:
    """What one of a few sent messages makes known."""
    refers = message(number + 1).relations
    return Sent((ident(number),), (hashed("address", "a@b.example"),), refers.answers)


STEPS = st.builds(
    Step,
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.sampled_from([0, 1, None]),
    st.booleans(),
    st.booleans(),
)


def take(lessons: Lessons, step: Step, at: float) -> None:
    """Make a change."""
    if step.sent and step.label is None:
        lessons.drop_sent(map(digest, step.numbers))
    elif step.sent:
        lessons.add_sent({digest(number): written(number) for number in step.numbers})
    elif step.label is None:
        lessons.forget(map(digest, step.numbers), "a test", at)
    else:
        lessons.learn(map(message, step.numbers), Label(step.label), "a test", at, weak=step.weak)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12))
def test_forgetting_is_exact(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    """Whatever was learned, relabelled, forgotten and sent, what is known is what the rest makes known by itself.

    Both stores agree in it, and in the tokens that came of it; a relabelling back and forth leaves no trace.
    """
    path = tmp_path_factory.mktemp("ledger") / "ledger"
    with Ledger(str(path)) as ledger:
        stores: list[Lessons] = [ledger.lessons, MemoryLessons()]
        for at, step in enumerate(steps):
            for store in stores:
                take(store, step, float(at))
        relations = [message(number).relations for number in range(1, 8)]
        found = [store.known(relations) for store in stores]
        tokens = [f"known:{one}" for one in Known]
        assert found[0] == found[1]
        assert stores[0].counts(tokens).messages.tolist() == stores[1].counts(tokens).messages.tolist()
        assert [store.verify() for store in stores] == [[], []]

        again = MemoryLessons()
        for number in range(1, 7):
            lesson = stores[0].find(digest(number))
            if lesson is not None and lesson.label is not None:
                again.learn([message(number)], lesson.label, "a test", 1.0, weak=lesson.weak)
        again.add_sent({one: written(one[0]) for one in stores[0].sent()})
        assert again.known(relations) == found[0]

        for number in range(1, 7):
            lesson = stores[0].find(digest(number))
            if lesson is not None:
                now, other = (lesson.label, lesson.weak), (SPAM, False) if lesson.label is not SPAM else (HAM, False)
                stores[0].relabel(
                    [Relabel(digest(number), *now, *other, "there"), Relabel(digest(number), *other, *now, "back")],
                    99.0,
                )
        assert stores[0].known(relations) == found[0]
        assert stores[0].verify() == []


def test_damage_is_found(tmp_path: Path) -> None:
    """A count that is not the sum over decisions and sent mail is a fault that `verify` names."""
    with Ledger(str(tmp_path / "ledger")) as ledger:
        ledger.lessons.learn([reading(1)], HAM, "filed", 1.0)
        for damage in ("UPDATE known SET ham = 7", "DELETE FROM known", "INSERT INTO known VALUES (5, 1, 0, 0)"):
            with pytest.raises(RuntimeError), ledger.transaction():
                ledger._connection.execute(damage)
                (fault,) = ledger.lessons.verify()
                assert "whom one knows" in fault
                raise RuntimeError
        assert ledger.lessons.verify() == []
