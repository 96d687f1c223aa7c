"""Any sequence of learning, correcting, forgetting and undoing keeps the counts exact."""

import tempfile
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from spamnb.ledger.ledger import Ledger
from tests.lessons import label_of, learn, lesson, set_label
from tests.profiles import daily

LABELS = st.sampled_from([0, 1])
NAMES = st.sampled_from([f"m{number}" for number in range(6)])
TOKENS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 5), max_size=5)


class Learning(RuleBasedStateMachine):
    """A ledger beside a plain model: what each message is learned as, and with which tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.ledger = Ledger(f"{self.directory.name}/ledger")
        self.kept: dict[str, dict[str, int]] = {}
        self.labels: dict[str, int] = {}
        self.clock = 0.0

    def teardown(self) -> None:
        self.ledger.close()
        self.directory.cleanup()

    def _lesson(self, name: str, label: int, tokens: dict[str, int]) -> bool:
        """Learn in the model; whether anything changes."""
        if self.labels.get(name) == label:
            return False
        if name not in self.labels:
            self.kept[name] = tokens
        self.labels[name] = label
        return True

    @rule(label=LABELS, batch=st.lists(st.tuples(NAMES, TOKENS), max_size=6))
    def learn(self, label: int, batch: list[tuple[str, dict[str, int]]]) -> None:
        self.clock += 1
        changed = [name for name, tokens in batch if self._lesson(name, label, tokens)]
        done = learn(self.ledger, [lesson(name, label, tokens, at=self.clock) for name, tokens in batch])
        assert [digest.decode() for digest, _ in done] == changed

    @rule(name=NAMES, label=st.sampled_from([0, 1, None]))
    def set_label(self, name: str, label: int | None) -> None:
        known = self.ledger.messages.find(name.encode())
        if known is None:
            return
        self.clock += 1
        before = label_of(self.ledger, name.encode())
        assert set_label(self.ledger, known.id, label, self.clock)
        assert before == self.labels.pop(name, None)
        if label is not None:
            self.labels[name] = label

    @rule()
    def undo_the_last(self) -> None:
        last = next((action for action in self.ledger.journal.newest(1)), None)
        if last is None:
            return
        name = last.digest.decode()
        assert self.labels.get(name) == last.after
        set_label(self.ledger, last.message, last.before, self.clock, f"undo of {last.id}")
        self.labels.pop(name, None)
        if last.before is not None:
            self.labels[name] = last.before

    @rule()
    def open_anew(self) -> None:
        self.ledger.close()
        self.ledger = Ledger(f"{self.directory.name}/ledger")

    @invariant()
    def the_counts_are_the_models(self) -> None:
        messages: list[Counter[str]] = [Counter(), Counter()]
        occurrences: list[Counter[str]] = [Counter(), Counter()]
        for name, label in self.labels.items():
            messages[label].update(self.kept[name].keys())
            occurrences[label].update(self.kept[name])
        counts = self.ledger.lessons.counts(list("abcdefgh"))
        assert counts.messages.tolist() == [[of[token] for token in "abcdefgh"] for of in messages]
        assert counts.occurrences.tolist() == [[of[token] for token in "abcdefgh"] for of in occurrences]
        assert counts.class_messages.tolist() == [list(self.labels.values()).count(label) for label in (0, 1)]
        assert counts.class_token_messages.tolist() == [of.total() for of in messages]
        assert counts.class_occurrences.tolist() == [of.total() for of in occurrences]
        assert counts.vocabulary_size == len(messages[0] + messages[1])

    @invariant()
    def the_ledger_is_sound(self) -> None:
        assert self.ledger.lessons.verify() == []

    @invariant()
    def the_journal_leads_to_the_labels(self) -> None:
        replayed: dict[str, int | None] = {}
        for action in reversed(list(self.ledger.journal.newest(10_000))):
            assert replayed.get(action.digest.decode()) == action.before
            replayed[action.digest.decode()] = action.after
        assert {name: label for name, label in replayed.items() if label is not None} == self.labels


class TestLearning(Learning.TestCase):
    """After any lessons, corrections, forgetting and undo, the counts are the sum of all present lessons."""

    settings = settings(max_examples=daily(15), stateful_step_count=25)


@pytest.mark.slow
class TestLearningAtLength(Learning.TestCase):
    """The same with many more sequences."""

    settings = settings(max_examples=300, stateful_step_count=60, derandomize=False)
