"""How many examples Hypothesis tries: few and always the same each day, many and new ones in a search.

The search: `python -m pytest -m hypothesis --hypothesis-profile=search`.
"""

from typing import Final

from hypothesis import settings

DAILY: Final = "daily"
SEARCH: Final = "search"
_EXAMPLES: Final = 16
_OF: Final = 40  # a test that tries 40 examples by its own number tries 16 each day
_TIMES_AS_MANY: Final = 25

# No deadline: on a shared machine a slow example proves nothing.
settings.register_profile(DAILY, deadline=None, max_examples=_EXAMPLES, derandomize=True)
settings.register_profile(SEARCH, deadline=None, max_examples=_TIMES_AS_MANY * _OF)


def daily(number: int) -> int:
    """Return how many examples a test with this number tries: each day fewer, in a search more."""
    return max(1, number * settings.default.max_examples // _OF)
