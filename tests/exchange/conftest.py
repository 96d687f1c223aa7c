"""Logs, and ledgers that share one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from spamnb.exchange.connecting import connected
from spamnb.exchange.memory import MemoryLog
from spamnb.exchange.port import LessonLog
from spamnb.ledger.ledger import Ledger
from tests.exchange import cluster

# They import psycopg, which needs libpq; all others skip what needs it.
collect_ignore = ["test_exchanging.py", "test_postgresql.py", "test_trial.py"] if cluster.fault_of_psycopg() else []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start a PostgreSQL; the others run with all other tests."""
    for item in items:
        if {"postgres", "own"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.real_system)


@pytest.fixture(scope="session")
def postgres() -> Iterator[cluster.Cluster]:
    """A PostgreSQL that runs, for all tests of a process."""
    with cluster.running() as running:
        yield running


@pytest.fixture
def own() -> Iterator[cluster.Cluster]:
    """A PostgreSQL of one test alone, which the test may stop or kill."""
    with cluster.running() as running:
        yield running


@pytest.fixture
def database(postgres: cluster.Cluster) -> str:
    """A database with the tables of a log."""
    return cluster.made_log(postgres)


@pytest.fixture(params=["memory", pytest.param("postgresql", marks=pytest.mark.real_system)])
def log(request: pytest.FixtureRequest) -> Iterator[LessonLog]:
    """Each log."""
    if request.param == "memory":
        yield MemoryLog()
        return
    with connected(request.getfixturevalue("database")) as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Callable[[str], Ledger]]:
    """Opens the ledger of that name, or makes it."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(Ledger(str(tmp_path / name / "ledger.sqlite")))


@pytest.fixture
def one(ledger: Callable[[str], Ledger]) -> Ledger:
    """The ledger of the first host."""
    return ledger("one")


@pytest.fixture
def two(ledger: Callable[[str], Ledger]) -> Ledger:
    """The ledger of the second host."""
    return ledger("two")
