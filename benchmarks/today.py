"""Measure how a filter that learned a corpus of other years judges the spam of today, and the cost of reading it.

All of CORPUS is learned. Then the spam in DIRECTORY, one message per file, in the order of the files' names, is judged
by the lessons of CORPUS alone; and then online: each message is judged, and learned. For honest mail of today there are
the twenty honest messages of `tests/mail/today`. They are judged by CORPUS alone too, like the twenty spam messages
there.

"tokens" are the distinct ones of a message; "new" those that neither CORPUS nor an earlier message has; "noise" the
share, in percent, of tokens that hold an id (`tests/mail/today/noise.py`). "bytes" is the growth of the ledger when
DIRECTORY is learned after CORPUS. "cpu ms" is the processor time for reading a message. Exits with 1 if a message
cannot be read, or takes 0.25 s.

    python benchmarks/today.py CORPUS DIRECTORY [--json]
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import common
from footprint import learn, learned_messages

sys.path.insert(0, str(Path(__file__).parents[1]))  # the messages belong to the tests
from spamnb.base.label import Label, Verdict
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.protocols import Learner, online
from spamnb.mail.reading import Reading, read
from tests.mail.today.library import LIBRARY
from tests.mail.today.noise import is_noise

_SECONDS = 0.25
_HTML = b"Content-Type: text/html\n\n<p>hello</p>\n"


class Reader:
    """Reads the files of a directory, and records the cost."""

    def __init__(self, directory: str) -> None:
        self._paths = sorted(path for path in Path(directory).rglob("*") if path.is_file())
        self.seconds: dict[str, float] = {}
        self.faults: list[str] = []

    def samples(self) -> Iterator[Sample]:
        """Yield the messages as spam, without those that cannot be read."""
        read(_HTML)  # the first message with HTML imports the HTML reader
        for path in self._paths:
            raw = path.read_bytes()
            start = time.process_time()
            try:
                reading = read(raw)
            except Exception as fault:  # no such fault is known, and each is one too many
                self.faults.append(f"{path}: {fault!r}")
                continue
            self.seconds[path.name] = time.process_time() - start
            yield Sample(path.name, Label.SPAM, reading)


def main() -> None:
    """Read, judge and learn the messages, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("directory", metavar="DIRECTORY", help="messages, one per file, all of them spam")
    options = parser.parse_args()
    corpus = Packed(samples(load_corpus(options.corpus)))
    reader = Reader(options.directory)
    spam = Packed(reader.samples())

    learner = Learner(Scoring())
    for sample in corpus:
        learner.learn(sample)
    alone = [learner.judge(sample) for sample in spam]
    ours = [learner.judge(Sample(mail.name, mail.label, read(mail.raw))) for mail in LIBRARY.values()]
    corrected = list(online(spam, learner))
    figures: dict[str, float] = {"messages": len(spam), "faults": len(reader.faults)}
    figures |= {f"{verdict} %": value for verdict, value in _verdicts(alone).items()}
    figures |= {f"{verdict} %, online": value for verdict, value in _verdicts(corrected).items()}
    for label in Label:
        of_label = _verdicts([outcome for outcome in ours if outcome.label is label])
        figures |= {f"{verdict} %, our {label.word}": value for verdict, value in of_label.items()}
    figures |= _tokens(corpus, spam) | {"bytes": _bytes(corpus, spam)}
    slowest = max(reader.seconds, key=lambda name: reader.seconds[name])
    figures["cpu ms"] = 1000 * statistics.mean(reader.seconds.values())
    figures["cpu ms, slowest"] = 1000 * reader.seconds[slowest]
    common.report([{"what": what, "value": value} for what, value in figures.items()], options.json)
    print(*reader.faults, f"slowest: {slowest}", sep="\n", file=sys.stderr)
    sys.exit(1 if reader.faults or reader.seconds[slowest] >= _SECONDS else 0)


def _verdicts(outcomes: Sequence[Outcome]) -> dict[Verdict, float]:
    """Return how much of it got which verdict, in percent."""
    called = [outcome.verdict for outcome in outcomes]
    return {verdict: 100 * called.count(verdict) / len(called) for verdict in Verdict}


def _tokens(corpus: Iterable[Sample], spam: Sequence[Sample]) -> dict[str, float]:
    """Return the distinct tokens per message, those that are new, and the share of noise among all."""
    known = {token for sample in corpus for token in sample.reading.tokens}
    number = new = noise = 0
    for sample in spam:
        tokens = sample.reading.tokens.keys()
        number += len(tokens)
        new += len(tokens - known)
        noise += sum(map(is_noise, tokens))
        known |= tokens
    return {"tokens": number / len(spam), "new": new / len(spam), "noise %": 100 * noise / number}


def _bytes(corpus: Iterable[Sample], spam: Iterable[Sample]) -> float:
    """Return the growth of the ledger for each message that it learns after the corpus."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = common.Spamnb(Path(directory))
        before, learned_before = learn(ledger, _lessons(corpus)), learned_messages(ledger)
        after, learned = learn(ledger, _lessons(spam)), learned_messages(ledger)
    return (after - before) / (learned - learned_before)


def _lessons(mail: Iterable[Sample]) -> Iterator[tuple[Reading, Label]]:
    return ((sample.reading, sample.label) for sample in mail)


if __name__ == "__main__":
    main()
