"""A mailbox with its pages for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.desk import WebDesk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[WebDesk]:
    """A watched mailbox, its filter, and its pages."""
    made = WebDesk(tmp_path)
    yield made
    made.stop()
    made.ledger.close()
