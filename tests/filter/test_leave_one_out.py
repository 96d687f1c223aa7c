"""Leave-one-out: learned messages judged by the counts of all others."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.base.label import How, Label, Verdict
from spamnb.bayes import score_plain
from spamnb.config import Model, Scoring, Senders
from spamnb.filter.judge import Filter, Judgement
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lessons
from spamnb.mail.reading import Reading
from tests.lessons import learn, sample_lessons
from tests.profiles import daily

HAM, SPAM = Label
TOKENS = [
    "a",
    "b",
    "c",
    "subject:a",
    "subject:b",
    "from:a@b",
    "url:x:y",
    "tag:a",
    "mime:a",
    "4:ing ",
    "4: of ",
    "4:sing ",
]
MODELS: tuple[Model, ...] = get_args(Model)  # each that may score
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(Label),
        st.dictionaries(st.sampled_from(TOKENS), st.integers(1, 9)),
        st.booleans(),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=9,
)
Drawn = list[tuple[Label, dict[str, int], bool, int]]


@pytest.fixture(scope="module", autouse=True)
def _few_grams_have_a_mean() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_plain, "LEAST_GRAMS", 2)
        yield


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        yield opened


def readings(messages: Drawn) -> list[Reading]:
    """The messages, as they are read."""
    return [Reading(bytes([n] * 16), f"message {n}", tokens) for n, (_, tokens, *_) in enumerate(messages)]


def teach(lessons: Lessons, messages: Drawn) -> None:
    """Learn the messages."""
    for reading, (label, _, weak, _) in zip(readings(messages), messages, strict=True):
        lessons.learn([reading], label, "a test", 1.0, weak=weak, how=How.HAND)


def after_forgetting(messages: Drawn, number: int, gone: Sequence[int], scoring: Scoring) -> Judgement:
    """How a message is judged by a filter that has forgotten some."""
    lessons = MemoryLessons()
    teach(lessons, messages)
    lessons.forget([bytes([n] * 16) for n in gone], "a test", 2.0, how=How.HAND)
    return Filter(lessons, scoring, Senders()).judge(readings(messages)[number])


def same(one: Judgement, other: Judgement) -> None:
    """Both judgements are equal, but for the last digits of a sum."""
    assert one.log_odds == pytest.approx(other.log_odds, rel=1e-12, abs=1e-12)
    assert one.probability == pytest.approx(other.probability, rel=1e-12)


def without_themselves(lessons: Lessons, scoring: Scoring) -> Iterator[JudgedWithoutItself]:
    """Each learned message alone is left out."""
    return without_groups(lessons, scoring, [[one.digest] for one in learned_now(lessons)])


def judged_everywhere(directory: Path, messages: Drawn, scoring: Scoring, grouped: bool) -> list[dict[int, Judgement]]:
    """Return the judgements without each message or its group, by its number, in both stores."""
    memory = MemoryLessons()
    teach(memory, messages)
    found = []
    with Ledger(str(directory / "ledger.sqlite")) as ledger:
        teach(ledger.lessons, messages)
        for lessons in (memory, ledger.lessons):
            groups = [[bytes([n] * 16) for n, one in enumerate(messages) if one[3] == group] for group in range(4)]
            left = without_groups(lessons, scoring, groups) if grouped else without_themselves(lessons, scoring)
            found.append({one.lesson.digest[0]: one.judgement for one in left})
    return found


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=daily(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES, alpha=st.sampled_from([0.01, 1.0]))
def test_as_if_it_were_forgotten(
    tmp_path_factory: pytest.TempPathFactory, model: Model, messages: Drawn, alpha: float
) -> None:
    """Each learned message is judged as by a filter that has forgotten it, in either store."""
    scoring = Scoring(model=model, alpha=alpha)
    for judged in judged_everywhere(tmp_path_factory.mktemp("l"), messages, scoring, grouped=False):
        assert list(judged) == list(range(len(messages)))
        for number, judgement in judged.items():
            same(judgement, after_forgetting(messages, number, [number], scoring))


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=daily(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES)
def test_a_group_is_left_out_together(tmp_path_factory: pytest.TempPathFactory, model: Model, messages: Drawn) -> None:
    """Each message of a group is judged as by a filter that has forgotten all of the group."""
    scoring = Scoring(model=model)
    for judged in judged_everywhere(tmp_path_factory.mktemp("l"), messages, scoring, grouped=True):
        assert sorted(judged) == list(range(len(messages)))
        for number, judgement in judged.items():
            group = [n for n, one in enumerate(messages) if one[3] == messages[number][3]]
            same(judgement, after_forgetting(messages, number, group, scoring))


def test_the_cutoffs_are_the_filters() -> None:
    """The verdict uses the configured cutoffs; nothing is judged if a class has no lessons."""
    lessons = MemoryLessons()
    for label in Label:
        some = [Reading(b"%d %d" % (label, n), "", {f"{label}{token}": 1 for token in "abcdefgh"}) for n in range(4)]
        lessons.learn(some, label, "a test", 1.0, how=How.HAND)
    assert {one.judgement.verdict for one in without_themselves(lessons, Scoring(spam_cutoff=1.0, ham_cutoff=0.0))} == {
        Verdict.UNSURE
    }
    for one in without_themselves(lessons, Scoring(spam_cutoff=0.5, ham_cutoff=0.5)):
        assert one.judgement.verdict == (Verdict.SPAM if one.lesson.label is SPAM else Verdict.HAM)
    spam = [one.lesson.digest for one in without_themselves(lessons, Scoring()) if one.lesson.label is SPAM]
    lessons.forget(spam[1:], "a test", 2.0, how=How.HAND)
    (alone,) = without_groups(lessons, Scoring(), [spam])
    assert (alone.judgement.probability, alone.judgement.verdict) == (0.5, Verdict.UNSURE)


def test_only_learned_ones(ledger: Ledger) -> None:
    """Forgotten and unlearned messages are left out."""
    learn(ledger, sample_lessons(3))
    ledger.lessons.learn([Reading(b"weak", "weak", {"a": 1})], HAM, "a test", 1.0, weak=True, how=How.HAND)
    assert len(list(without_themselves(ledger.lessons, Scoring()))) == 7
    ledger.lessons.forget([b"weak"], "a test", 2.0, how=How.HAND)
    assert list(without_groups(ledger.lessons, Scoring(), [[b"weak", b"never"], [b"nor this"]])) == []
    assert list(without_themselves(MemoryLessons(), Scoring())) == []


def test_another_process_learns_meanwhile(ledger: Ledger) -> None:
    """Tokens that another process learns between two groups are known to the second."""
    some = [Reading(str(n).encode(), "some", {"a": 1}) for n in range(1001)]
    ledger.lessons.learn(some, HAM, "a test", 1.0, how=How.HAND)
    left = without_groups(ledger.lessons, Scoring(), ([digest] for digest in [*(one.digest for one in some), b"new"]))
    assert next(left).lesson.digest == b"0"
    with Ledger(ledger.path) as other:
        other.lessons.learn([Reading(b"new", "new", {"neu:a": 1, "neu:b": 2})], SPAM, "a test", 1.0, how=How.HAND)
    assert list(left)[-1].lesson.digest == b"new"
