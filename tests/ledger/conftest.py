"""A ledger, and lessons to learn."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lessons


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of the ledger."""
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


class Shared(NamedTuple):
    """The same lessons, for two writers and a reader. delayed: what `slow` writes inside is committed at its end."""

    slow: Lessons
    quick: Lessons
    reader: Lessons
    delayed: AbstractContextManager[None]


@pytest.fixture(params=["memory", "ledger"])
def shared(request: pytest.FixtureRequest, path: str) -> Iterator[Shared]:
    """Each store, as several have it open."""
    if request.param == "memory":
        store = MemoryLessons()
        yield Shared(store, store, store, nullcontext())
        return
    with ExitStack() as opened:
        slow, quick, reader = (opened.enter_context(Ledger(path)) for _ in range(3))
        yield Shared(slow.lessons, quick.lessons, reader.lessons, slow.transaction())
