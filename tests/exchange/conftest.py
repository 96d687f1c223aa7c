"""Logs, and ledgers that share one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from spamnb.exchange.connecting import connected, upgrade
from spamnb.exchange.memory import MemoryLog
from spamnb.exchange.port import Log
from spamnb.ledger.ledger import Ledger
from tests.exchange import cluster


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start a PostgreSQL; the others run with all other tests."""
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_system)


@pytest.fixture(scope="session")
def postgres() -> Iterator[cluster.Cluster]:
    """A PostgreSQL that runs, for all tests of a process."""
    if why := cluster.why_not():
        pytest.skip(why)
    with cluster.running() as running:
        yield running


@pytest.fixture
def database(postgres: cluster.Cluster) -> str:
    """A database with the tables of a log."""
    database = postgres.database()
    assert upgrade(database)[0] == 0
    return database


@pytest.fixture(params=["memory", pytest.param("postgresql", marks=pytest.mark.real_system)])
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    """Each log."""
    if request.param == "memory":
        yield MemoryLog()
        return
    with connected(request.getfixturevalue("database")) as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Callable[[str], Ledger]]:
    """Makes a ledger, or opens the one of that name."""
    with ExitStack() as stack:
        opened: dict[str, Ledger] = {}

        def made(name: str) -> Ledger:
            if name not in opened:
                opened[name] = stack.enter_context(Ledger(str(tmp_path / name / "ledger.sqlite")))
            return opened[name]

        yield made
