"""Measure messages per second in bulk, against bogofilter: learning half a corpus, then scoring the other half.

Each round starts from nothing, with the messages in another order (first the corpus's own). It runs the two filters one
after the other as real processes, including start-up:

    spamnb train --ham FILE…; spamnb train --spam FILE…      bogofilter -n -b < LIST; bogofilter -s -b < LIST
    spamnb score FILE…                                       bogofilter -t -b < LIST

A ratio is taken within its round, so other work on the machine affects both filters. Above 1, spamnb is faster. "CPU
ms" is the processor time of a message on all cores together. spamnb reads mail on all cores, bogofilter on one, so a
busy machine lowers the ratio but not this figure. All files are read once before the first round.

The second table estimates other numbers of cores. "serial ms": the CPU of a message in the one process that learns, or
prints. "workers ms": that in the reading processes, one per core. "start s": the CPU of the one process before its
first message, once per command. Both come from two runs, one of them with few messages. "N cores" is the number of
messages per second, against bogofilter's by its CPU, if only reading was parallel: 1 / (serial + workers / N). In truth
the one process learns while the others read, and the limit is the greater of serial and (serial + workers) / N: "N at
once".

    python benchmarks/bulk.py CORPUS [--rounds 5] [--json]
"""

import json
import os
import platform
import random
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import common

from spamnb.base.label import Label
from spamnb.evaluation.corpus import Labelled

_FEW = 65  # messages of a class: the smallest number for workers
_CORES = (2, 4, 8, 16)
_DONE = ("train", "score")
# Works like `python -m spamnb`; it adds the CPU seconds of this process, and of those that it has started, to a file.
_WEIGHED = """
import json, resource, sys
from spamnb.cli.main import main
code = main(sys.argv[2:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
with open(sys.argv[1], "a") as report:
    print(json.dumps([one.ru_utime + one.ru_stime for one in used]), file=report)
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of some messages: commands, seconds, and CPU seconds of the one process and of the others."""

    messages: int
    commands: int
    seconds: float
    own: float
    workers: float

    @property
    def cpu_ms(self) -> float:
        """CPU of a message, on all cores together."""
        return 1000 * (self.own + self.workers) / self.messages


Costs = dict[tuple[str, str], list[Cost]]
"""By the work and by the filter's name (`few`: spamnb with few messages): one cost per round."""


def main() -> None:
    """Run the rounds, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program was compiled before its first start
    corpus = common.warmed(options.corpus)
    costs: Costs = defaultdict(list)
    for number in range(options.rounds):
        if number:
            random.Random(number).shuffle(corpus)
        halves = common.halves(corpus)
        _measure("few", common.Spamnb, common.Halves(_few(halves.first), _few(halves.second)), costs)
        for make in common.contenders():
            _measure("", make, halves, costs)
    if not options.json:
        python = f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}"
        print(f"{python}; {len(os.sched_getaffinity(0))} cores; {len(corpus)} messages; {options.rounds} orders\n")
    rates, account = ([row(what, costs) for what in _DONE] for row in (_rates, _account))
    if options.json:
        common.report([one | other for one, other in zip(rates, account, strict=True)], as_json=True)
        return
    common.report(rates, as_json=False)
    print()
    common.report(account, as_json=False)


def _few(messages: Sequence[Labelled]) -> list[Labelled]:
    return [one for label in Label for one in [one for one in messages if one.label is label][:_FEW]]


def _measure(name: str, make: Callable[[Path], common.Contender], halves: common.Halves, costs: Costs) -> None:
    with tempfile.TemporaryDirectory() as directory:
        contender = make(Path(directory))
        report = Path(directory) / "report"
        if isinstance(contender, common.Spamnb):
            python, _, _, *rest = contender.command
            contender.command = [python, "-c", _WEIGHED, str(report), *rest]
        for what, work, messages in zip(
            _DONE, (contender.train, contender.score), (halves.first, halves.second), strict=True
        ):
            report.write_text("")
            cpu, start = _cpu_seconds(), time.perf_counter()
            work(messages)
            seconds, cpu = time.perf_counter() - start, _cpu_seconds() - cpu
            commands = [json.loads(line) for line in report.read_text().splitlines()] or [(cpu, 0.0)]
            own, workers = map(sum, zip(*commands, strict=True))
            costs[what, name or contender.name].append(Cost(len(messages), len(commands), seconds, own, workers))


def _cpu_seconds() -> float:
    """Return the processor time of all child processes that have ended, including their own children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _rates(what: str, costs: Costs) -> dict[str, object]:
    """Return medians over the rounds, and the ratio of messages per second round by round."""
    own, peer = costs[what, "spamnb"], costs.get((what, "bogofilter"))
    ratios = [b.seconds / a.seconds for a, b in zip(own, peer, strict=True)] if peer else None
    return {
        "what": what,
        "rounds": len(own),
        "spamnb/s": statistics.median(one.messages / one.seconds for one in own),
        "bogofilter/s": statistics.median(one.messages / one.seconds for one in peer) if peer else None,
        "ratio": statistics.median(ratios) if ratios else None,
        "min": min(ratios) if ratios else None,
        "max": max(ratios) if ratios else None,
        "spamnb CPU ms": statistics.median(one.cpu_ms for one in own),
        "bogofilter CPU ms": statistics.median(one.cpu_ms for one in peer) if peer else None,
    }


def _account(what: str, costs: Costs) -> dict[str, object]:
    """Return the cost of a message in the one process and in the others, and the result for other numbers of cores."""
    own, peer = costs[what, "spamnb"], costs.get((what, "bogofilter"))
    both = [_serial_and_start(few, all_) for few, all_ in zip(costs[what, "few"], own, strict=True)]
    serial, start = (statistics.median(one) for one in zip(*both, strict=True))
    workers = statistics.median(1000 * one.workers / one.messages for one in own)
    bogofilter = statistics.median(one.cpu_ms for one in peer) if peer else None
    row: dict[str, object] = {"what": what, "serial ms": serial, "workers ms": workers, "start s": start}
    for name, cost in (
        ("cores", lambda cores: serial + workers / cores),
        ("at once", lambda cores: max(serial, (serial + workers) / cores)),
    ):
        for cores in _CORES:
            row[f"{cores} {name}"] = bogofilter / cost(cores) if bogofilter else 1000 / cost(cores)
    return row


def _serial_and_start(few: Cost, all_: Cost) -> tuple[float, float]:
    """Return the CPU of the one process: milliseconds per message, and seconds per command, by two equations."""
    share = all_.commands / few.commands
    serial = (all_.own - share * few.own) / (all_.messages - share * few.messages)
    return 1000 * serial, (few.own - serial * few.messages) / few.commands


if __name__ == "__main__":
    main()
