"""Measure the cost of learning mail that was read and kept: one by one, and several messages in one transaction.

All messages of a corpus except the last ones are learned. Then the last ones are learned weakly, as the service does
it, with a fresh part of them for each number of messages per transaction. Bytes of the write-ahead log and processor
time are per message; longest is the longest time that the ledger was held, by the clock.

    python benchmarks/kept.py CORPUS [--together 1 20 50] [--number 100] [--json]
"""

import platform
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common

from spamnb.acts.training import learn_batches, learn_together
from spamnb.base.label import How, Label
from spamnb.evaluation.corpus import Labelled
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import Reading, read

_BATCH = 100


def main() -> None:
    """Learn the corpus, measure each number, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--together", type=int, nargs="+", default=[1, 20, 50])
    parser.add_argument("--number", type=int, default=100, help="messages for each of these")
    options = parser.parse_args()
    messages = common.warmed(options.corpus)
    first = len(messages) - options.number * len(options.together)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ledger.sqlite"
        _learn(path, messages[:first])
        figures = []
        for together in options.together:
            figures.append(_measured(path, _read(messages[first : first + options.number]), together))
            first += options.number
    if not options.json:
        print(f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}")
    common.report(figures, options.json)


def _read(messages: Sequence[Labelled]) -> list[Reading]:
    return [read(Path(one.path).read_bytes()) for one in messages]


def _learn(path: Path, messages: Sequence[Labelled]) -> None:
    with Ledger(str(path)) as ledger:
        for start in range(0, len(messages), _BATCH):
            for label in Label:
                batch = Batch.of(_read([one for one in messages[start : start + _BATCH] if one.label is label]))
                learn_batches(ledger, [batch], label, "trained by hand", time.time(), how=How.HAND)


def _measured(path: Path, readings: Sequence[Reading], together: int) -> dict[str, object]:
    """Measure the cost of learning these, with that number in each transaction."""
    with Ledger(str(path)) as ledger:
        ledger._connection.execute("PRAGMA wal_autocheckpoint = 0")
        begin, longest = time.process_time(), 0.0
        for start in range(0, len(readings), together):
            held = time.perf_counter()
            some = readings[start : start + together]
            learn_together(ledger, some, Label.HAM, "it was read and kept", time.time(), weak=True, how=How.KEPT)
            longest = max(longest, time.perf_counter() - held)
        taken = time.process_time() - begin
        written = Path(f"{path}-wal").stat().st_size
    return {
        "together": together,
        "log KB/message": written / len(readings) / 1000,
        "CPU ms/message": 1000 * taken / len(readings),
        "longest ms": 1000 * longest,
    }


if __name__ == "__main__":
    main()
