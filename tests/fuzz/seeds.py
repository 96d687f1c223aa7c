"""The start of a fuzzing run: our realistic messages, and the beginning of each hostile one."""

from collections.abc import Iterator

from tests.mail.hostile import MESSAGES as HOSTILE
from tests.mail.mutations import MESSAGES as REALISTIC

_CHARS = 3000  # of a hostile message: enough to show its idea


def seeds() -> Iterator[tuple[str, bytes]]:
    """A name and a message for each seed."""
    for number, raw in enumerate(REALISTIC):
        yield f"realistic-{number}", raw
    for name, (make, _) in HOSTILE.items():
        yield name, make()[:_CHARS]
