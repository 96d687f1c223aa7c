"""A ledger, and lessons to learn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the ledger lies."""
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def ledger(path: str) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger(path) as opened:
        yield opened
