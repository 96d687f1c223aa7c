"""How long a test waits for a thing to happen before it fails.

`SPAMNB_TEST_PATIENCE` is a factor for slow machines: with 3, each test waits three times as long.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

PATIENCE: Final = 60.0 * float(os.environ.get("SPAMNB_TEST_PATIENCE", "1"))
"""Seconds. All limits are this one, or a multiple of it."""


def until(done: Callable[[], object], what: str | Callable[[], str], limit: float = PATIENCE) -> None:
    """Wait for a condition, and fail with its description after the limit. A function describes the state at that end.

    The pause between two questions is as long as the last question took: most ask a file, some a whole machine.
    """
    end = time.monotonic() + limit
    while True:
        asked = time.monotonic()
        if done():
            return
        answered = time.monotonic()
        if answered > end:
            pytest.fail(f"waited {limit:g} s in vain: {what if isinstance(what, str) else what()}")
        time.sleep(max(0.01, answered - asked))


def until_files_are_later(directory: Path) -> None:
    """Wait until a new file has a later time than this moment: the kernel's clock for files lags some milliseconds."""
    moment, path = time.time(), directory / "later"

    def is_later() -> bool:
        path.write_bytes(b"")
        return path.stat().st_mtime > moment

    until(is_later, "the clock for files has ticked")
    path.unlink()
