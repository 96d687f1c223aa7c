"""A search for slow messages: the fuzz target of `reader.py`, with inputs that grow (`growth.py`) and are timed.

    pip install atheris
    python -m tests.fuzz.slow /var/tmp/slow -dict=tests/fuzz/mail.dict -max_len=2048 -max_total_time=3600

Each message that takes more processor time than any before it is kept as `slowest-MILLISECONDS` in the directory
`slowest` beside the first one given, and reported; those that are past the bound end with `-PAST`. The times are of the
instrumented reader, which takes up to six times as long as the ordinary one: see what is left of them with

    python -m tests.fuzz.slow --show slowest-…
"""

import sys
import time
from pathlib import Path

from tests.fuzz.growth import MARK, SIZES, grown

SECONDS = 0.3  # of processor time, not instrumented
_RUNS = 3  # the fastest counts: other processes only make it slower
_FACTOR = 1.1  # slower than the slowest, to be kept


def seconds(raw: bytes, runs: int = _RUNS) -> float:
    """The processor time that a message takes."""
    from spamnb.mail.reading import read

    taken = []
    for _ in range(runs):
        start = time.process_time()
        read(raw)
        taken.append(time.process_time() - start)
    return min(taken)


class Slowest:
    """The function that libFuzzer calls: keeps each message slower than all before (by size), and than `least` s."""

    def __init__(self, directory: Path, least: float = 0.05) -> None:
        self._directory = directory
        self._worst = dict.fromkeys(SIZES, least)

    def __call__(self, raw: bytes) -> None:
        message = grown(raw)
        size = min(SIZES, key=lambda size: abs(size - len(message)))
        bound = _FACTOR * self._worst[size]
        if seconds(message, 1) > bound and (taken := seconds(message)) > bound:
            self._worst[size] = taken
            past = "-PAST" if taken > SECONDS else ""
            self._directory.mkdir(exist_ok=True)
            path = self._directory / f"slowest-{round(1000 * taken)}{past}"
            path.write_bytes(message)
            sys.stderr.write(f"{len(message)} bytes took {taken:.3f} s: {path}\n")


def main() -> None:
    """Show what messages take, or search."""
    if sys.argv[1:2] == ["--show"]:
        for path in sys.argv[2:]:
            sys.stderr.write(f"{seconds(Path(path).read_bytes()):.3f} s {path}\n")
        return
    import atheris

    with atheris.instrument_imports(include=["spamnb.mail", "email"]):
        pass
    from tests.fuzz.reader import mutation
    from tests.fuzz.seeds import seeds

    directory = next(Path(given) for given in sys.argv[1:] if not given.startswith("-"))
    if directory.is_dir() and not any(directory.iterdir()):
        for name, raw in seeds():
            for number in range(len(SIZES)):
                head, blank, body = raw[:1000].partition(b"\n\n")
                (directory / f"{name}-{number}-body").write_bytes(
                    bytes([number]) + head + blank + MARK + body[:400] + MARK
                )
                (directory / f"{name}-{number}-head").write_bytes(
                    bytes([number]) + MARK + head[:400] + b"\n" + MARK + blank + body[:400]
                )
    atheris.Setup(sys.argv, Slowest(directory.parent / "slowest"), custom_mutator=mutation)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
