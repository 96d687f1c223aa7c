"""In which order a filter is tested and taught."""

from collections.abc import Iterator

import pytest

from spamnb.cli.sample_mail import message
from spamnb.config import Scoring
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.protocols import Example, Student, batch, folds, online
from spamnb.mail.reading import read


def examples(n: int) -> list[Example]:
    """Made-up mail, ham and spam in turn."""
    return [(f"{i}", i % 2, read(message(("ham", "spam")[i % 2], i))) for i in range(n)]


class Recorder(Student):
    """A student that notes what it is asked and told."""

    def __init__(self) -> None:
        super().__init__(Scoring())
        self.seen: list[str] = []

    def judge(self, example: Example) -> Outcome:
        self.seen.append(f"judge {example[0]}")
        return super().judge(example)

    def teach(self, example: Example) -> None:
        self.seen.append(f"teach {example[0]}")
        super().teach(example)


def test_online_scores_before_it_learns() -> None:
    """Each message is scored, and only then is its label learned."""
    student = Recorder()
    list(online(examples(2), student))
    assert student.seen == ["judge 0", "teach 0", "judge 1", "teach 1"]


def test_online_with_delay() -> None:
    """With a delay of one, a label is learned after one more message was scored."""
    student = Recorder()
    list(online(examples(3), student, delay=1))
    assert student.seen == ["judge 0", "judge 1", "teach 0", "judge 2", "teach 1"]


def test_batch_learns_the_first_half() -> None:
    """The first half is learned, the second scored and not learned."""
    student = Recorder()
    assert [outcome.name for outcome in batch(examples(4), student)] == ["2", "3"]
    assert student.seen == ["teach 0", "teach 1", "judge 2", "judge 3"]


def test_folds_score_each_message_once() -> None:
    """Each message is scored once, by a student that was not taught it; each fold has both classes."""
    students: list[Recorder] = []

    def student() -> Recorder:
        students.append(Recorder())
        return students[-1]

    found = list(folds(examples(20), student, 4, seed=3))
    assert sorted(int(outcome.name) for outcome in found) == list(range(20))
    for one in students:
        judged = {entry.split()[1] for entry in one.seen if entry.startswith("judge")}
        taught = {entry.split()[1] for entry in one.seen if entry.startswith("teach")}
        assert not judged & taught
        assert {int(name) % 2 for name in judged} == {0, 1}
    assert [o.name for o in folds(examples(20), student, 4, seed=3)] == [o.name for o in found], "by seed"


def test_copies_are_in_one_fold() -> None:
    """Cross-validation judges no message by a student that was taught a copy of it."""
    students: list[Recorder] = []

    def student() -> Recorder:
        students.append(Recorder())
        return students[-1]

    mail = examples(20)
    twice = mail + [(str(20 + int(name)), label, reading) for name, label, reading in mail]
    found = list(folds(twice, student, 4, seed=3))
    assert sorted(int(outcome.name) for outcome in found) == list(range(40))
    for one in students:
        judged, taught = (
            {int(entry.split()[1]) % 20 for entry in one.seen if entry.startswith(what)} for what in ("judge", "teach")
        )
        assert judged
        assert not judged & taught


@pytest.mark.parametrize("train", ["errors", "near-errors"])
def test_training_on_errors_learns_less(train: str) -> None:
    """Training on errors learns what was judged wrongly, and leaves what was judged rightly."""
    mail = examples(120)

    def learned(rule: str) -> int:
        student = Student(Scoring(), rule)  # type: ignore[arg-type]
        list(online(mail, student))
        return int(student._learned.totals()[:2].sum())

    assert 2 <= learned(train) < learned("everything") == 120


def test_learns_made_up_mail() -> None:
    """A student that has been taught tells ham from spam, and not the other way round."""

    def late(outcomes: Iterator[Outcome]) -> list[Outcome]:
        return list(outcomes)[60:]

    for outcome in late(online(examples(100), Student(Scoring()))):
        assert (outcome.score > 0) == bool(outcome.label)
