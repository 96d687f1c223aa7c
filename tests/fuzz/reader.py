"""A fuzz target for the reader of messages: whatever the bytes, it keeps its promises (`tests/mail/promises.py`).

It needs atheris, Google's coverage-guided fuzzer for Python, which is no dependency of this project:

    pip install atheris
    python -m tests.fuzz.reader /var/tmp/fuzz -dict=tests/fuzz/mail.dict -max_len=16384 -max_total_time=3600

The directory keeps the inputs that found something new, and is filled with our own messages where it is empty; all
options are libFuzzer's. A broken promise ends the run and leaves the input as `crash-…`, which is shown again by
`python -m tests.fuzz.reader crash-…`. `test_reader.py` runs the target on its seeds in every ordinary test run.
"""

import random
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["spamnb.mail", "email"]):
    pass

from tests.fuzz.mutator import mutate
from tests.fuzz.seeds import seeds
from tests.mail.promises import check


def one_input(raw: bytes) -> None:
    """The function that libFuzzer calls."""
    check(raw)


def mutation(raw: bytes, most: int, seed: int) -> bytes:
    """A mutation of ours, with libFuzzer's own within it."""

    def inner(content: bytes, chance: random.Random) -> bytes:
        return bytes(atheris.Mutate(content, max(1, min(most, 2 * len(content) + 64))))

    return mutate(raw, seed, inner)[:most]


def main() -> None:
    """Fill an empty corpus with the seeds, and fuzz."""
    for given in sys.argv[1:]:
        directory = Path(given)
        if not given.startswith("-") and directory.is_dir() and not any(directory.iterdir()):
            for name, raw in seeds():
                (directory / name).write_bytes(raw)
    atheris.Setup(sys.argv, one_input, custom_mutator=mutation)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
