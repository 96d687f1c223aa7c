"""Measure the cost of the worst messages: each is scored by its own process, and the worst come first.

The messages are those of `tests/mail/hostile.py`: each kind at the largest size that the reader takes, and files of up
to 2 GB. "cpu s" is the processor time of the whole `spamnb score FILE`. "more s" and "more MB" are the cost beyond
scoring a plain message (the median of 9 runs; memory is the peak that the kernel saw). The ledger has learned some
made-up mail, and blocks 1,000 senders, by the costliest patterns. Exits with 1 if a message takes 0.3 s or 150 MB more
than the plain one. A message's identity covers all of it, so each megabyte after the first 16 may take 4 ms more.

    python benchmarks/hostile.py [NAME…] [--json]
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common

sys.path.insert(0, str(Path(__file__).parents[1]))  # the messages belong to the tests
from spamnb.acts.choices import choose
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.evaluation.corpus import Labelled
from spamnb.ledger.ledger import Ledger
from tests.mail.hostile import LARGE, MESSAGES, PATTERNS, write

_SECONDS, _MEGABYTES = 0.3, 150.0
_SECONDS_A_MEGABYTE = 0.004  # reading and digesting take half of it
_FREE_MEGABYTES = 16
_LESSONS = 50  # of each kind
_PLAIN_RUNS = 9


def main() -> None:
    """Score each message, and print what it took."""
    parser = common.arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these messages")
    options = parser.parse_args()
    if unknown := set(options.names) - MESSAGES.keys() - LARGE.keys():
        parser.error(f"no message has the name {', '.join(sorted(unknown))}")

    with tempfile.TemporaryDirectory() as directory:
        spamnb = common.Spamnb(Path(directory))
        spamnb.train(_lessons(Path(directory)))
        with Ledger(str(spamnb.ledger)) as ledger:
            choose(ledger, Config((), spamnb.ledger), "block", PATTERNS, "prompt", time.time())
        path = Path(directory) / "message"
        path.write_bytes(message("ham", _LESSONS))
        plain = [_cost(spamnb, path) for _ in range(_PLAIN_RUNS)]
        seconds, megabytes = (statistics.median(column) for column in zip(*plain, strict=True))
        rows = [_row("a plain message", path, (seconds, megabytes), seconds, megabytes)]
        for name in options.names or [*MESSAGES, *LARGE]:
            _write(name, path)
            rows.append(_row(name, path, _cost(spamnb, path), seconds, megabytes))
    plain_row, *others = rows
    others.sort(key=lambda row: -float(str(row["cpu s"])))
    common.report([*others, plain_row], options.json)
    past = [
        row["message"]
        for row in others
        if float(str(row["more s"])) >= _allowed(int(str(row["bytes"]))) or float(str(row["more MB"])) >= _MEGABYTES
    ]
    result = f"past the limits: {', '.join(map(str, past))}" if past else "all are within the limits"
    print(f"{len(others)} messages, {_SECONDS} s and {_MEGABYTES:.0f} MB more allowed: {result}", file=sys.stderr)
    sys.exit(1 if past else 0)


def _allowed(size: int) -> float:
    """Return the seconds of processor time that a message of that size may take beyond a plain one."""
    return _SECONDS + _SECONDS_A_MEGABYTE * max(0, size / 1e6 - _FREE_MEGABYTES)


def _lessons(directory: Path) -> list[Labelled]:
    lessons = []
    for number in range(2 * _LESSONS):
        path = directory / f"{number}.eml"
        path.write_bytes(message(Label(number % 2).word, number))
        lessons.append(Labelled(str(path), path.name, Label(number % 2)))
    return lessons


def _write(name: str, path: Path) -> None:
    """Write a message in its own process: a child's peak of memory includes its parent's at the fork."""
    writer = multiprocessing.get_context("fork").Process(target=write, args=(name, str(path)))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise RuntimeError(f"{name} could not be written")


def _cost(spamnb: common.Spamnb, path: Path) -> tuple[float, float]:
    """Return the seconds of processor time, and the peak of memory in MB, for scoring a file."""
    process = subprocess.Popen([*spamnb.command, "score", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        output, errors = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    is_refused = b"it is empty" in errors or b"it is longer than" in errors
    if not is_refused and (
        process.returncode not in (0, 1, 2) or output[:1] not in b"SHU" or len(output.splitlines()) != 1
    ):
        raise RuntimeError(f"scoring {path} ended with {process.returncode}: {errors[-500:]!r}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def _row(name: str, path: Path, cost: Sequence[float], seconds: float, megabytes: float) -> dict[str, object]:
    return {
        "message": name,
        "bytes": path.stat().st_size,
        "cpu s": cost[0],
        "more s": cost[0] - seconds,
        "peak MB": cost[1],
        "more MB": cost[1] - megabytes,
    }


if __name__ == "__main__":
    main()
