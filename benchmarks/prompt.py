"""Measure the cost of a command at the prompt: processor time of the whole process, from start to exit.

The first thousand messages of a corpus are learned. Then a message with HTML, one of plain text, and the help are
requested alternately, and bogofilter gets the same messages. An interpreter that does nothing is the lower limit. The
figures are medians, with minimum and maximum. The interpreter is named: one built without optimisation takes twice as
long.

    python benchmarks/prompt.py CORPUS [--runs 15] [--json]
"""

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import common

from spamnb.evaluation.corpus import Labelled

_LEARNED = 1000
_VERDICTS = 2  # exit codes up to this are verdicts


def main() -> None:
    """Measure, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()

    messages = common.warmed(options.corpus)
    html, plain = (_first(messages[_LEARNED:], is_html) for is_html in (True, False))
    commands: dict[str, list[str]] = {"python -c pass": [sys.executable, "-c", "pass"]}
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as others:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is not compiled at each start
        os.environ["PYTHONPYCACHEPREFIX"] = own
        for make, directory in zip(common.contenders(), (own, others), strict=False):
            contender = make(Path(directory))
            contender.train(messages[:_LEARNED])
            if isinstance(contender, common.Spamnb):
                score = [*contender.command, "score"]
                commands["spamnb --help"] = [*contender.command, "--help"]
            else:
                score = [*contender.command, "-t", "-B"]
            commands[f"{contender.name}: HTML"] = [*score, html]
            commands[f"{contender.name}: plain text"] = [*score, plain]
        figures = _measured(commands, options.runs)
    if not options.json:
        print(f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}")
    common.report(figures, options.json)


def _first(messages: Sequence[Labelled], is_html: bool) -> str:
    """Return a message of medium size, with HTML or without."""
    found = [
        (len(raw), each.path)
        for each in messages
        for raw in [Path(each.path).read_bytes()]
        if (b"<html" in raw.lower()) == is_html
    ]
    return sorted(found)[len(found) // 2][1]


def _measured(commands: dict[str, list[str]], runs: int) -> list[dict[str, object]]:
    seconds: dict[str, list[float]] = {what: [] for what in commands}
    for _ in range(runs):
        for what, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, capture_output=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode > _VERDICTS:
                raise RuntimeError(f"{what} failed: {done.stderr!r}")
            seconds[what].append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return [
        {"what": what, "CPU s": statistics.median(times), "min": min(times), "max": max(times)}
        for what, times in seconds.items()
    ]


if __name__ == "__main__":
    main()
