"""Measure how well spamnb judges, against bogofilter, on the same messages in the same order.

halves: each filter learns the first half and scores the second, through its real command line.
online: each message is scored first, and then learned with its true label, as in the TREC spam track. bogofilter runs
    as two processes per message. spamnb is used as a library, over a ledger on disk, with the calls of its service.

Both filters run with their default cutoffs. bogofilter is asked for 17 decimals: by default it prints 6, where most
spam is 1.000000, and ties hide how well it ranks. (1-ROCA)% is 100 times 1 minus the area under the ROC curve; lower is
better. "Ham called spam" is a verdict. The other rates are in percent: spam judged spam, and mail that is neither.

    python benchmarks/accuracy.py CORPUS [--protocol halves|online] [--shuffle SEED] [--limit N] [--json]
"""

import random
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import common
import numpy as np
from scipy.stats import rankdata

from spamnb.base.label import How, Label, Verdict
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Labelled, load_corpus
from spamnb.filter.judge import Filter
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read

_NOTHING_LEARNED = 3  # bogofilter's exit code for any error; the first lesson creates the word list
_COMMIT = 100  # messages per transaction: the counts are the same as with one, and the disk is not measured


def main() -> None:
    """Run the protocol with each filter, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--protocol", choices=("halves", "online"), default="halves")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="in a random order instead of the corpus's own")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N messages of that order")
    options = parser.parse_args()

    messages = load_corpus(options.corpus)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(messages)
    messages = messages[: options.limit]
    figures = []
    for make in common.contenders():
        with tempfile.TemporaryDirectory() as directory:
            contender = make(Path(directory))
            start = time.perf_counter()
            if options.protocol == "online":
                scored, judged = list(_online(contender, messages)), messages
            else:
                corpus = common.halves(messages)
                contender.train(corpus.first)
                scored, judged = common.scored(contender, corpus.second), corpus.second
            seconds = time.perf_counter() - start
        labels = [message.label for message in judged]
        figures.append({"filter": contender.name} | _measures(labels, scored) | {"seconds": seconds})
    common.report(figures, options.json)


def _online(contender: common.Contender, messages: Sequence[Labelled]) -> Iterator[common.Scored]:
    if isinstance(contender, common.Bogofilter):
        return _bogofilter_online(contender, messages)
    assert isinstance(contender, common.Spamnb)
    return _spamnb_online(contender, messages)


def _spamnb_online(contender: common.Spamnb, messages: Sequence[Labelled]) -> Iterator[common.Scored]:
    with Ledger(str(contender.ledger)) as ledger:
        judge = Filter(ledger.lessons, Scoring(), Senders()).judge
        for start in range(0, len(messages), _COMMIT):
            with ledger.transaction():
                for number, message in enumerate(messages[start : start + _COMMIT], start):
                    reading = read(Path(message.path).read_bytes())
                    judgement = judge(reading)
                    ledger.lessons.learn([reading], message.label, "online", float(number), how=How.HAND)
                    yield common.Scored(judgement.verdict, judgement.log_odds)


def _bogofilter_online(contender: common.Bogofilter, messages: Sequence[Labelled]) -> Iterator[common.Scored]:
    for number, message in enumerate(messages):
        raw = Path(message.path).read_bytes()
        command = [*contender.command, "-t", common.PRECISE]
        done = subprocess.run(command, input=raw, capture_output=True, check=False)
        if done.returncode == _NOTHING_LEARNED and not number:
            yield common.Scored(Verdict.UNSURE, 0.5)
        elif done.returncode == _NOTHING_LEARNED:
            raise RuntimeError(f"bogofilter failed on {message.path}: {done.stderr!r}")
        else:
            yield common.from_terse(done.stdout.decode("ascii"))
        subprocess.run([*contender.command, ("-n", "-s")[message.label]], input=raw, check=True)


def _measures(labels: Sequence[Label], scored: Sequence[common.Scored]) -> dict[str, object]:
    is_spam = np.array(labels, dtype=bool)
    ham, spam = int((~is_spam).sum()), int(is_spam.sum())
    if not (ham and spam):
        raise SystemExit(f"{ham} ham and {spam} spam messages were scored: give more, so that there are both kinds")
    judged_spam, unsure = (np.array([each.verdict is one for each in scored]) for one in (Verdict.SPAM, Verdict.UNSURE))
    # The area is the Mann-Whitney statistic: how often a spam ranks above a ham; ties count half.
    ranks = rankdata([each.rank for each in scored])
    area = (ranks[is_spam].sum() - spam * (spam + 1) / 2) / (ham * spam)
    lost = int((judged_spam & ~is_spam).sum())
    return {
        "ham": ham,
        "spam": spam,
        "(1-ROCA)%": 100.0 * (1.0 - float(area)),
        "ham called spam": lost,
        "ham called spam %": 100.0 * lost / ham,
        "spam caught %": 100.0 * int((judged_spam & is_spam).sum()) / spam,
        "unsure ham %": 100.0 * int((unsure & ~is_spam).sum()) / ham,
        "unsure spam %": 100.0 * int((unsure & is_spam).sum()) / spam,
    }


if __name__ == "__main__":
    main()
