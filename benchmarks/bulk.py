"""Messages per second in bulk, against bogofilter: learning half a corpus, then scoring the other half.

Each round starts from nothing and runs both filters one after the other as real processes, start-up and all:

    spamnb train --ham FILE…; spamnb train --spam FILE…      bogofilter -n -b < LIST; bogofilter -s -b < LIST
    spamnb score FILE…                                       bogofilter -t -b < LIST

A ratio is taken within its round, so what else the machine does strikes both. Above 1, spamnb is faster. "CPU ms"
is what a message costs in processor time, of all cores together: spamnb reads mail on all of them, bogofilter on
one, so a busy machine lowers the ratio and leaves this. All files are read once before the first round.

    python benchmarks/bulk.py CORPUS [--rounds 5] [--json]
"""

import resource
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import common

Figures = dict[tuple[str, str], list[float]]
"""By what was done and by the filter's name: a figure for each round."""


def main() -> None:
    """Run the rounds, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    corpus = common.halves(common.warmed(options.corpus))
    makers = common.contenders()
    rates: Figures = defaultdict(list)
    costs: Figures = defaultdict(list)
    for _ in range(options.rounds):
        for make in makers:
            with tempfile.TemporaryDirectory() as directory:
                contender = make(Path(directory))
                for what, work, messages in (
                    ("train", contender.train, corpus.first),
                    ("score", contender.score, corpus.second),
                ):
                    cpu, start = _cpu_seconds(), time.perf_counter()
                    work(messages)
                    rates[what, contender.name].append(len(messages) / (time.perf_counter() - start))
                    costs[what, contender.name].append(1000 * (_cpu_seconds() - cpu) / len(messages))
    common.report([_row(what, rates, costs) for what in ("train", "score")], options.json)


def _cpu_seconds() -> float:
    """Processor time of all child processes that have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(what: str, rates: Figures, costs: Figures) -> dict[str, object]:
    """Medians over the rounds, and the ratio of messages per second round by round."""
    own, peer = rates[what, "spamnb"], rates.get((what, "bogofilter"))
    ratios = [a / b for a, b in zip(own, peer, strict=True)] if peer else None
    return {
        "what": what,
        "rounds": len(own),
        "spamnb/s": statistics.median(own),
        "bogofilter/s": statistics.median(peer) if peer else None,
        "ratio": statistics.median(ratios) if ratios else None,
        "min": min(ratios) if ratios else None,
        "max": max(ratios) if ratios else None,
        "spamnb CPU ms": statistics.median(costs[what, "spamnb"]),
        "bogofilter CPU ms": statistics.median(costs[what, "bogofilter"]) if peer else None,
    }


if __name__ == "__main__":
    main()
