"""Bulk work by any executor: in this process, in threads, in processes."""

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.bulk.executors import Processes, carried, in_order
from spamnb.bulk.judging import BulkJudge
from spamnb.bulk.learning import forget, learn
from spamnb.bulk.mapping import each, identify, read_all, read_batch
from spamnb.bulk.sources import Source
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from tests.patience import PATIENCE

MESSAGES = 150  # more than one chunk each

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(3),
    "our processes": lambda: Processes(2),
    "processes": lambda: ProcessPoolExecutor(2, get_context("fork")),
}


@pytest.fixture(params=EXECUTORS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Each kind of executor."""
    with EXECUTORS[request.param]() as made:
        yield made


def sources(label: Label, number: int = MESSAGES) -> list[Source]:
    """Made-up messages, an empty one among them."""
    made = [Source(str(n), content=message(label.word, n)) for n in range(number)]
    return [*made[:100], Source("empty", content=b""), *made[100:]]


def test_results_are_those_of_this_process_in_order(executor: Executor) -> None:
    """Any executor gives what this process alone gives, in the order of the messages."""
    with each(read_all, sources(Label.SPAM), executor) as done:
        theirs = list(done)
    ours = []
    for one in sources(Label.SPAM):
        with each(read_all, [one]) as done:
            ours += done
    assert [(source, str(got)) for source, got in theirs] == [(source, str(got)) for source, got in ours]
    assert [source.where for source, _ in theirs][99:102] == ["99", "empty", "100"]


def test_carried_by_the_fork() -> None:
    """Each of our processes has what they carry, even what no pipe could send; this process has nothing."""
    lock = threading.Lock()
    with Processes(2, [lock, 7]) as workers, in_order(_numbers_carried, range(6), workers) as done:
        assert list(done) == [7] * 6
    assert carried() is None


def _numbers_carried(_: int) -> object:
    return carried()[1]


@pytest.mark.thorough
def test_learning_judging_and_forgetting(executor: Executor, tmp_path: Path) -> None:
    """Messages are learned, judged and forgotten over any executor with the same counts and verdicts."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        for label in Label:
            with each(read_batch, sources(label), executor) as read:
                done = list(learn(ledger, read, label, "trained by hand", lambda: 1.0))
            assert sum(one.changed for one in done) == MESSAGES
            assert [source.where for one in done for source, _ in one.left_out] == ["empty"]
        assert ledger.lessons.totals()[:2].tolist() == [MESSAGES, MESSAGES]
        verdicts = []
        for given in (executor, None):
            with closing(BulkJudge(ledger.path, Scoring())) as judge, each(judge, sources(Label.SPAM), given) as judged:
                verdicts.append([(source.where, str(got)) for source, got in judged])
        assert verdicts[0] == verdicts[1]
        with each(identify, sources(Label.SPAM), executor) as digests:
            forgotten = list(forget(ledger, digests, "forgotten by hand"))
        assert sum(one.changed for one in forgotten) == MESSAGES
        assert ledger.lessons.totals()[:2].tolist() == [MESSAGES, 0]
        assert ledger.lessons.verify() == []


class Wide(ThreadPoolExecutor):
    """An executor that tells how many tasks it does at once, as that of a cluster."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.width = width


@pytest.mark.parametrize("width", [1, 40])
def test_every_worker_has_work(width: int) -> None:
    """As many tasks are begun as the executor does at once, however many cores this machine has, and not many more."""
    met, begun = threading.Barrier(width, timeout=PATIENCE), itertools.count(1)

    def work(task: int) -> int:
        met.wait()  # until so many are done at once
        return task

    tasks = (next(begun) for _ in range(10 * width))
    with Wide(width) as executor, in_order(work, tasks, executor) as done:
        assert [next(done) for _ in range(width)] == list(range(1, width + 1))
        assert next(begun) <= 3 * width + 16 + 1
        assert len(list(done)) == 9 * width


@pytest.mark.thorough
def test_no_more_is_read_than_needed(executor: Executor) -> None:
    """The sources are taken lazily, and only so far ahead of the results."""
    taken = 0

    def endless() -> Iterator[Source]:
        nonlocal taken
        while True:
            taken += 1
            yield Source(str(taken), content=b"Subject: x\n\ny\n")

    with each(read_all, endless(), executor) as done:
        assert next(done)[0].where == "1"
    assert taken < 64 * 40
