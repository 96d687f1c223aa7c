"""Compare all event models by the protocol of Metsis et al. (2006).

example:
  spamnb compare enron1 enron2 --attributes 500,1000,3000
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from spamnb.base.label import Label
from spamnb.base.libraries import need
from spamnb.base.wording import escaped
from spamnb.bulk.executors import Processes, in_order
from spamnb.bulk.mapping import executor_at
from spamnb.cli.common.argument_types import at_least, several
from spamnb.cli.common.arguments import add_executor, add_json
from spamnb.cli.common.output import as_json, progress, table
from spamnb.cli.evaluate import CORPUS, check_places
from spamnb.evaluation.corpus import load_corpus

if TYPE_CHECKING:
    from spamnb.evaluation.comparison import Trial


INTERRUPTED = "the measurement has no result"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    option("corpora", nargs="+", metavar="CORPUS", help=CORPUS)
    attributes = "the number of attributes to select; 0 for all (default: 3000)"
    option("--attributes", type=several, default=[3000], metavar="N,N", help=attributes)
    option("--seed", type=at_least(0), default=0, help="for the random order of ham and spam (default: 0)")
    add_executor(parser)
    add_json(parser, "one JSON object per trial, with its ROC curve")
    option("--plots", metavar="DIR", help="write ROC curves to this directory (needs matplotlib)")


def run(options: argparse.Namespace) -> int:
    """Run the comparison of Metsis et al. over corpora."""
    check_places(None, options.plots)
    for corpus in options.corpora:
        load_corpus(corpus, options.seed)  # so that a fault shows before the long work
    work, corpora = partial(_trials, options.attributes, options.seed), list(map(os.path.abspath, options.corpora))
    with (
        executor_at(options.executor) as cluster,
        nullcontext(cluster) if cluster else Processes(min(len(corpora), len(os.sched_getaffinity(0)))) as executor,
        in_order(work, corpora, executor) as done,
    ):
        shown = progress(done, "comparing", options.quiet, len(options.corpora))
        trials = [trial for found in shown for trial in found]
    if options.plots:
        from spamnb.evaluation.plots import plot_comparison

        plot_comparison(options.plots, trials)
    if options.json:
        for trial in trials:
            print(as_json(_as_object(trial, options.seed)))
        return 0
    print(f"seed {options.seed}; batches of 100; spam if P(spam | message) > 0.5\n")
    for number in options.attributes:
        print(f"{number or 'all'} attributes: ham recall / spam recall, in percent\n")
        print(_table([trial for trial in trials if trial.attributes == number]), "\n")
    return 0


def _trials(attributes: Sequence[int], seed: int, corpus: str) -> list[Trial]:
    from spamnb.evaluation.comparison import compare_on, read_dataset  # in a worker: they import numpy

    need("scipy", "comparisons")
    return list(compare_on(read_dataset(corpus, seed), attributes))


def _table(trials: Sequence[Trial]) -> str:
    datasets = list(dict.fromkeys(trial.dataset for trial in trials))
    recalls = {(trial.dataset, trial.model): [trial.recall(label) for label in Label] for trial in trials}
    rows: list[list[str]] = [["model", *map(escaped, datasets), "average"]]
    for model in dict.fromkeys(trial.model for trial in trials):
        pairs = [recalls[name, model] for name in datasets]
        means = [sum(recall) / len(pairs) for recall in zip(*pairs, strict=True)]
        rows.append([model, *(f"{ham:.2f} / {spam:.2f}" for ham, spam in (*pairs, means))])
    return table(rows)


def _as_object(trial: Trial, seed: int) -> dict[str, object]:
    lost, caught = trial.roc()
    steps = range(0, len(lost), max(1, len(lost) // 200))
    return {
        "dataset": trial.dataset,
        "model": trial.model,
        "attributes": trial.attributes,
        "seed": seed,
        "messages": len(trial.labels),
        "ham_recall": round(trial.recall(Label.HAM), 4),
        "spam_recall": round(trial.recall(Label.SPAM), 4),
        "roc": [[round(float(lost[i]), 6), round(float(caught[i]), 6)] for i in steps],
    }
