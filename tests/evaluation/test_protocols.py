"""In which order a filter is tested and taught."""

from collections.abc import Iterator

import pytest

from spamnb.base.errors import UsageError
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.protocols import Learner, Protocol, batch, folds, online, outcomes_of
from spamnb.mail.reading import read


def samples(n: int) -> list[Sample]:
    """Made-up mail, ham and spam in turn."""
    return [Sample(f"{i}", Label(i % 2), read(message(Label(i % 2).word, i))) for i in range(n)]


class Recorder(Learner):
    """A learner that records its calls."""

    def __init__(self) -> None:
        super().__init__(Scoring())
        self.seen: list[str] = []

    def judge(self, sample: Sample) -> Outcome:
        self.seen.append(f"judge {sample.name}")
        return super().judge(sample)

    def learn(self, sample: Sample) -> None:
        self.seen.append(f"learn {sample.name}")
        super().learn(sample)


def test_online_scores_before_it_learns() -> None:
    """Each message is scored, and only then is its label learned."""
    learner = Recorder()
    list(online(samples(2), learner))
    assert learner.seen == ["judge 0", "learn 0", "judge 1", "learn 1"]


def test_online_with_delay() -> None:
    """With a delay of one, a label is learned after one more message was scored."""
    learner = Recorder()
    list(online(samples(3), learner, delay=1))
    assert learner.seen == ["judge 0", "judge 1", "learn 0", "judge 2", "learn 1"]


def test_batch_learns_the_first_half() -> None:
    """The first half is learned, the second scored and not learned."""
    learner = Recorder()
    assert [outcome.name for outcome in batch(samples(4), learner)] == ["2", "3"]
    assert learner.seen == ["learn 0", "learn 1", "judge 2", "judge 3"]


def test_folds_score_each_message_once() -> None:
    """Each message is scored once, by a learner that was not taught it; each fold has both classes."""
    learners: list[Recorder] = []

    def learner() -> Recorder:
        learners.append(Recorder())
        return learners[-1]

    found = list(folds(samples(20), learner, 4, seed=3))
    assert sorted(int(outcome.name) for outcome in found) == list(range(20))
    for one in learners:
        judged = {entry.split()[1] for entry in one.seen if entry.startswith("judge")}
        taught = {entry.split()[1] for entry in one.seen if entry.startswith("learn")}
        assert not judged & taught
        assert {int(name) % 2 for name in judged} == {0, 1}
    assert [o.name for o in folds(samples(20), learner, 4, seed=3)] == [o.name for o in found], "by seed"


@pytest.mark.parametrize("protocol", ["online", "batch", "folds"])
def test_outcomes_are_in_the_order_of_the_samples(protocol: Protocol) -> None:
    """With any protocol, outcomes are in the order of the messages."""
    mail = samples(20)
    found = [outcome.name for outcome in outcomes_of(protocol, mail, lambda: Learner(Scoring()), n_folds=4)]
    assert found == [sample.name for sample in mail][-len(found) :]


@pytest.mark.parametrize("protocol", ["batch", "folds"])
def test_a_delay_without_a_meaning_is_refused(protocol: Protocol) -> None:
    """A protocol that learns before it scores has no delay."""
    with pytest.raises(UsageError, match="delay"):
        outcomes_of(protocol, samples(20), lambda: Learner(Scoring()), delay=5)


def test_a_filter_that_knows_one_class_has_no_score() -> None:
    """Outcomes say whether the filter had learned both classes."""
    mail = [sample for sample in samples(20) if sample.label is Label.HAM] + samples(4)
    found = [outcome.has_score for outcome in online(mail, Learner(Scoring()))]
    assert found == [False] * 12 + [True] * 2


def test_copies_are_in_one_fold() -> None:
    """Cross-validation judges no message by a learner that was taught a copy of it."""
    learners: list[Recorder] = []

    def learner() -> Recorder:
        learners.append(Recorder())
        return learners[-1]

    mail = samples(20)
    twice = mail + [Sample(str(20 + int(name)), label, reading) for name, label, reading in mail]
    found = list(folds(twice, learner, 4, seed=3))
    assert sorted(int(outcome.name) for outcome in found) == list(range(40))
    for one in learners:
        judged, taught = (
            {int(entry.split()[1]) % 20 for entry in one.seen if entry.startswith(what)} for what in ("judge", "learn")
        )
        assert judged
        assert not judged & taught


@pytest.mark.parametrize("train", ["errors", "near-errors"])
def test_training_on_errors_learns_less(train: str) -> None:
    """Training on errors learns what was judged wrongly, and leaves what was judged rightly."""
    mail = samples(120)

    def learned(rule: str) -> int:
        learner = Learner(Scoring(), rule)  # type: ignore[arg-type]
        list(online(mail, learner))
        return int(learner._learned.totals()[:2].sum())

    assert 2 <= learned(train) < learned("everything") == 120


def test_learns_made_up_mail() -> None:
    """A learner that has been taught tells ham from spam, and not the other way round."""

    def late(outcomes: Iterator[Outcome]) -> list[Outcome]:
        return list(outcomes)[60:]

    for outcome in late(online(samples(100), Learner(Scoring()))):
        assert (outcome.score > 0) == bool(outcome.label)
