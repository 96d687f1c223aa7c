"""Test the filter on a corpus or on your own mail.

online: each message is scored, and then learned. batch: the first half is learned, the second
scored. folds: each message is scored by a filter that has learned all but its tenth.

example:
  spamnb evaluate ~/corpus --protocol batch --json
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spamnb.cli import output_files
from spamnb.cli.argument_types import at_least
from spamnb.cli.arguments import add_json
from spamnb.cli.output import as_json, progress, table
from spamnb.errors import MailError, SpamnbError
from spamnb.evaluation.corpus import Labelled, load_corpus, own_mail, samples
from spamnb.label import Label, Verdict

if TYPE_CHECKING:
    from spamnb.evaluation.measures import Measure, Outcome

CORPUS = "a directory with a file `index`, or with ham/ and spam/"
_NAMES = {
    "hm": "ham taken for spam",
    "sm": "spam not caught",
    "unsure": "unsure",
    "lam": "logistic mean of both",
    "one_minus_roca": "1 − area under the ROC curve",
    "sm_at_hm": "spam not caught where 0.1 % of the ham is lost",
    "brier": "Brier score × 100",
    "calibration": "calibration error",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option, number = parser.add_argument, at_least(0)
    option("corpus", nargs="?", metavar="CORPUS", help=f"{CORPUS} (default: your mail)")
    option("--protocol", choices=("online", "batch", "folds"), help="default: online; for your own mail, folds")
    option("--model", choices=("bernoulli", "multinomial", "multinomial-boolean"), help="default: as configured")
    option("--limit", type=number, metavar="N", help="only the first N messages")
    option("--warm-up", type=number, default=0, metavar="N", help="leave the first N messages out of what is measured")
    scores = "write a line for each message, in the form of the TREC spam track"
    option("--scores", type=output_files.output_file, metavar="FILE", help=scores)
    add_json(parser)
    option("--delay", type=number, default=0, metavar="N", help="learn a label only N messages later")
    rules = ("everything", "near-errors", "errors")
    option("--train", choices=rules, default="everything", help="what is learned (default: everything)")
    folds = "how many, for --protocol folds (default: 10)"
    option("--folds", type=at_least(2), default=10, metavar="N", help=folds)
    option("--shuffle", type=number, metavar="SEED", help="in another order than the corpus's")
    option("--seed", type=number, default=0, help="of every random choice (default: 0)")
    option("--no-header", action="store_true", help="read subject and body only")
    cutoff = "tell which cutoff loses no more ham than that"
    option("--at-most-one-ham-in", type=at_least(2), metavar="N", help=cutoff)
    option("--plots", metavar="DIR", help="write pictures there (needs the extra `plots`)")


def run(options: argparse.Namespace) -> int:
    """Test the filter on a corpus, or on the user's own mail."""
    # Of one's own mail the spam is often younger than the ham, since Junk is emptied: in the order of arrival a filter
    # that has met no spam would judge most of it.
    options.protocol = options.protocol or ("online" if options.corpus else "folds")
    check_places(options.scores, options.plots)
    messages = _messages(options)
    with closing(samples(messages, strict=bool(options.corpus), header=not options.no_header)) as read:
        first = list(itertools.islice(read, 1))  # workers first, then numpy: see `train`
        from spamnb.cli.context import configuration
        from spamnb.evaluation.measures import cutoff_for, measure
        from spamnb.evaluation.protocols import Learner, outcomes_of

        config = configuration(options)
        if options.scores:
            output_files.refuse_ledger(str(config.ledger), options.scores)
        scoring = replace(config.scoring, model=options.model) if options.model else config.scoring
        shown = progress(itertools.chain(first, read), "evaluating", options.quiet, len(messages))
        how = {"delay": options.delay, "n_folds": options.folds, "seed": options.seed}
        outcomes = list(outcomes_of(options.protocol, shown, lambda: Learner(scoring, options.train), **how))
    if options.scores:
        _write_scores(options.scores, outcomes)
    outcomes = outcomes[options.warm_up :]
    if {outcome.label for outcome in outcomes} != set(Label):
        raise MailError(
            "nothing can be measured: both ham and spam have to be among the messages that are scored;"
            " give more of them, see --limit and --warm-up"
        )
    measures = measure(outcomes, options.seed)
    cutoff, least = None, config.scoring.spam_cutoff
    if options.at_most_one_ham_in:
        cutoff = cutoff_for(outcomes, options.at_most_one_ham_in, least)
    _report(outcomes, measures, cutoff, options)
    if cutoff and not options.json:
        n_ham = sum(outcome.label is Label.HAM for outcome in outcomes)
        print(f"\n{_advice(*cutoff, least, n_ham, options.at_most_one_ham_in)}")
    if options.plots:
        from spamnb.evaluation.plots import plot_run

        plot_run(options.plots, outcomes)
    return 0


def check_places(scores: str | None, plots: str | None) -> None:
    """Raise SpamnbError where results could not be written: better reported before the long work than after it."""
    if scores is not None:
        output_files.check(scores)
    if plots is not None and find_spec("matplotlib") is None:
        raise SpamnbError("pictures need matplotlib: pip install 'spamnb[plots]'")


def _messages(options: argparse.Namespace) -> list[Labelled]:
    if options.corpus:
        messages = load_corpus(options.corpus, options.seed)
    else:
        from spamnb.cli.context import configuration

        messages = own_mail(configuration(options).mailboxes)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(messages)  # noqa: S311 - a repeatable order
    return messages[: options.limit] if options.limit else messages


def _advice(cutoff: float, caught: float, least: float, n_ham: int, one_in: int) -> str:
    doubt = f" {n_ham} ham are too few to be sure of that." if n_ham < one_in else ""
    if cutoff == least:
        return f"At the cutoff of {cutoff} at most one ham in {one_in} is lost here: keep it.{doubt}"
    return (
        f"To lose at most one ham in {one_in}, which here catches {caught:.1f} % of the spam, write this into"
        f" the configuration.{doubt}\n\nscoring:\n  spam_cutoff: {cutoff}"
    )


def _write_scores(path: str, outcomes: Iterable[Outcome]) -> None:
    with output_files.opened(path) as file:
        for one in outcomes:
            line = f"{one.name} judge={one.label.word} class={one.verdict} score={one.score:.9g}\n"
            file.write(line.encode("utf-8", "surrogateescape"))


def _report(
    outcomes: Sequence[Outcome],
    measures: dict[str, Measure],
    cutoff: tuple[float, float] | None,
    options: argparse.Namespace,
) -> None:
    n_spam = sum(outcome.label for outcome in outcomes)
    n_ham = len(outcomes) - n_spam
    lost = sum(outcome.verdict is Verdict.SPAM and outcome.label is Label.HAM for outcome in outcomes)
    if options.json:
        figures: dict[str, object] = {"messages": len(outcomes), "ham": n_ham, "spam": n_spam, "ham_lost": lost}
        figures |= {name: round(one.value, 6) for name, one in measures.items()}
        figures["intervals"] = {name: [round(one.low, 6), round(one.high, 6)] for name, one in measures.items()}
        figures |= {"protocol": options.protocol, "seed": options.seed}
        if cutoff:
            figures |= {"spam_cutoff": cutoff[0], "spam_caught": round(cutoff[1], 4)}
        print(as_json(figures))
        return
    print(f"{len(outcomes)} messages scored, {n_ham} ham and {n_spam} spam; {lost} ham lost\n")
    rows = [("measure", "percent", "95 % interval", "")]
    for name, meaning in _NAMES.items():
        one = measures[name]
        rows.append((name, f"{one.value:.4f}", f"{one.low:.4f} to {one.high:.4f}", meaning))
    print(table(rows))
