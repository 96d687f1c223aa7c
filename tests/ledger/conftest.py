"""A ledger, and lessons to learn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lessons


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the ledger lies."""
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def ledger(path: str) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger(path) as opened:
        yield opened


@pytest.fixture(params=["memory", "ledger"])
def lessons(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lessons]:
    """Each store."""
    if request.param == "memory":
        yield MemoryLessons()
    else:
        with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
            yield ledger.lessons
