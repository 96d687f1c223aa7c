"""A sample for each day, and the whole for a thorough run (marker `thorough`)."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], step: int) -> list[Any]:
    """Mark all of these parameters as thorough, except one of each `step`."""
    return [
        value if place % step == step // 2 else pytest.param(value, marks=pytest.mark.thorough)
        for place, value in enumerate(values)
    ]
