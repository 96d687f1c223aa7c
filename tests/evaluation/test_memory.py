"""One contract for both memories a filter can have: the ledger's, and the one that forgets."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.evaluation.memory import MemoryLearned
from spamnb.ledger.learned import Learned
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import Lesson

lessons = st.lists(
    st.builds(
        lambda number, label, tokens: Lesson(bytes([number] * 16), label, tokens, 1, "a message", "a test", 1.0),
        st.integers(0, 6),
        st.integers(0, 1),
        st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 70_000), min_size=1),
    ),
    max_size=12,
)


@pytest.fixture(params=["memory", "ledger"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryLearned | Learned]:
    """Each adapter of the port."""
    if request.param == "memory":
        yield MemoryLearned()
    else:
        with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
            yield ledger.learned


def taught(number: int, label: int, **tokens: int) -> Lesson:
    """A lesson."""
    return Lesson(bytes([number] * 16), label, tokens, 1, "a message", "a test", 1.0)


def test_counts_what_was_learned(memory: MemoryLearned | Learned) -> None:
    """Counts are messages and occurrences by class, in the order asked, with zeros for the unknown."""
    memory.learn([taught(1, 0, a=2, b=1), taught(2, 1, a=3)])
    counts = memory.counts(["b", "never", "a"])
    assert counts.messages.tolist() == [[1, 0, 1], [0, 0, 1]]
    assert counts.occurrences.tolist() == [[1, 0, 2], [0, 0, 3]]
    assert counts.class_messages.tolist() == [1, 1]
    assert counts.class_token_messages.tolist() == [2, 1]
    assert counts.class_occurrences.tolist() == [3, 3]
    assert counts.vocabulary_size == 2


def test_learned_once(memory: MemoryLearned | Learned) -> None:
    """The same message taught again changes nothing; taught otherwise, it is corrected with its first tokens."""
    assert memory.learn([taught(1, 0, a=1)]) == [(b"\1" * 16, None)]
    assert memory.learn([taught(1, 0, a=5)]) == []
    assert memory.learn([taught(1, 1, b=5)]) == [(b"\1" * 16, 0)]
    assert memory.totals().tolist() == [0, 1, 0, 1, 0, 1, 1]


@given(lessons)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_count_alike(tmp_path_factory: pytest.TempPathFactory, taught: list[Lesson]) -> None:
    """After any lessons, one by one, both memories hold the same counts."""
    one = MemoryLearned()
    with Ledger(str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")) as ledger:
        for lesson in taught:
            assert one.learn([lesson]) == ledger.learned.learn([lesson])
        assert one.counts(list("abcdefghz")) == ledger.learned.counts(list("abcdefghz"))
        assert np.array_equal(one.totals(), ledger.learned.totals())
