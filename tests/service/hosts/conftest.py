"""A mail host, step by step or as a process, that is ended with the test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.hosts.inn import Desk, Process


@pytest.fixture
def desk(tmp_path: Path, taught: Path) -> Iterator[Desk]:
    """A host of four users, and the service over it, which has just begun."""
    made = Desk(tmp_path, taught, 4)
    made.start()
    made.settle()
    yield made
    made.stop()


@pytest.fixture
def desk_of(tmp_path: Path, taught: Path) -> Iterator[Callable[[int], Desk]]:
    """Makes a host of so many users; the service is not started."""
    made: list[Desk] = []

    def make(number: int) -> Desk:
        made.append(Desk(tmp_path, taught, number))
        return made[0]

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def process(tmp_path: Path, taught: Path) -> Iterator[Process]:
    """A host of four users, and the service over it as a process; it is not started."""
    made = Process(tmp_path, taught, 4)
    yield made
    made.kill()
