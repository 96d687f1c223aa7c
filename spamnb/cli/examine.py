"""`evaluate` and `compare`: how good the filter is, and which event model is best."""

from __future__ import annotations

import argparse
import itertools
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spamnb.cli import written
from spamnb.cli.output import as_json, printable, progress, table
from spamnb.cli.sources import Source, readings
from spamnb.errors import MailError, SpamnbError, UsageError
from spamnb.evaluation.corpus import Labelled, interleave, load_corpus
from spamnb.ledger.lesson import LABELS
from spamnb.mail.reading import Reading

if TYPE_CHECKING:
    from spamnb.config import Config
    from spamnb.evaluation.comparison import Dataset, Trial
    from spamnb.evaluation.measures import Measure, Outcome
    from spamnb.evaluation.protocols import Example

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


def evaluate(options: argparse.Namespace) -> int:
    """Test the filter on a corpus, or on the user's own mail."""
    # Of one's own mail the spam is often younger than the ham, since Junk is emptied: in the order of arrival a filter
    # that has met no spam would judge most of it.
    options.protocol = options.protocol or ("online" if options.corpus else "folds")
    _check_places(options.scores, options.plots)
    messages = _messages(options)
    with closing(_examples(messages, options)) as examples:
        first = list(itertools.islice(examples, 1))  # workers first, then numpy: see `teach.learn`
        from spamnb.cli.context import configuration
        from spamnb.evaluation.measures import cutoff_for, measure

        config = configuration(options)
        if options.scores:
            written.refuse_ledger(str(config.ledger), options.scores)
        outcomes = list(_outcomes(itertools.chain(first, examples), len(messages), config, options))
    if options.scores:
        _write_scores(options.scores, outcomes)
    outcomes = outcomes[options.warm_up :]
    if {outcome.label for outcome in outcomes} != {0, 1}:
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
        n_ham = sum(outcome.label == 0 for outcome in outcomes)
        print(f"\n{_advice(*cutoff, least, n_ham, options.at_most_one_ham_in)}")
    if options.plots:
        from spamnb.evaluation.plots import plot_run

        plot_run(options.plots, outcomes)
    return 0


def _check_places(scores: str | None, plots: str | None) -> None:
    """Raises SpamnbError where results could not be written: better said before the long work than after it."""
    if scores is not None:
        written.check(scores)
    if plots is not None and find_spec("matplotlib") is None:
        raise SpamnbError("pictures need matplotlib: pip install 'spamnb[plots]'")


def _advice(cutoff: float, caught: float, least: float, n_ham: int, one_in: int) -> str:
    doubt = f" {n_ham} ham are too few to be sure of that." if n_ham < one_in else ""
    if cutoff == least:
        return f"At the cutoff of {cutoff} at most one ham in {one_in} is lost here: keep it.{doubt}"
    return (
        f"To lose at most one ham in {one_in}, which here catches {caught:.1f} % of the spam, write this into"
        f" the configuration.{doubt}\n\nscoring:\n  spam_cutoff: {cutoff}"
    )


def _messages(options: argparse.Namespace) -> list[Labelled]:
    messages = load_corpus(options.corpus, options.seed) if options.corpus else _own_mail(options)
    if options.shuffle is not None:
        import random

        random.Random(options.shuffle).shuffle(messages)  # noqa: S311 - a repeatable order
    return messages[: options.limit] if options.limit else messages


def _own_mail(options: argparse.Namespace) -> list[Labelled]:
    """The user's own mail, labelled by the roles of its folders, in the order in which it arrived."""
    from spamnb.cli.context import configuration
    from spamnb.config import Role
    from spamnb.maildir.folders import find_folders
    from spamnb.maildir.mailbox import scan
    from spamnb.maildir.names import parse_name

    labels = {Role.INBOX: 0, Role.HAM: 0, Role.SPAM: 1}
    found: list[tuple[float, Labelled]] = []
    mailboxes = configuration(options).mailboxes
    if not mailboxes:
        raise UsageError("there is no mailbox to evaluate on: give a CORPUS, or run spamnb init first")
    for mailbox in mailboxes:
        for folder in find_folders(str(mailbox.path), mailbox.layout):
            label = labels.get(mailbox.role_of(folder.name))
            if label is None or folder.name == mailbox.unsure_folder:
                continue
            for entry in scan(folder):
                path = entry.path(folder)
                if parse_name(entry.name).trashed:
                    continue
                with suppress(FileNotFoundError):  # moved since the folder was listed
                    found.append((os.stat(path).st_mtime, Labelled(path, path, label)))
    if {labelled.label for _, labelled in found} != {0, 1}:
        raise MailError("the mailbox needs mail in both ham and spam folders: see the roles in the configuration")
    return [labelled for _, labelled in sorted(found, key=lambda item: (item[0], item[1].path))]


def _examples(messages: Sequence[Labelled], options: argparse.Namespace) -> Generator[Example]:
    found = (Source(message.name, os.path.realpath(message.path)) for message in messages)
    with readings(found) as done:
        for message, (source, reading) in zip(messages, done, strict=True):
            if not isinstance(reading, MailError):
                yield message.name, message.label, _without_header(reading) if options.no_header else reading
            elif options.corpus:
                raise MailError(f"cannot read {source.where}: {reading}")
            # Else one of the user's own, which is empty, or was moved meanwhile.


def _without_header(reading: Reading) -> Reading:
    """What remains of a message if nothing but its subject and body is read."""
    from spamnb.mail.header import is_header

    return replace(
        reading, tokens={token: n for token, n in reading.tokens.items() if not is_header(token)} or {"body-empty": 1}
    )


def _outcomes(
    examples: Iterator[Example], total: int, config: Config, options: argparse.Namespace
) -> Iterator[Outcome]:
    from spamnb.evaluation.protocols import Student, batch, folds, online

    scoring = replace(config.scoring, model=options.model) if options.model else config.scoring

    def student() -> Student:
        return Student(scoring, options.train)

    shown = progress(examples, "evaluating", options.quiet, total)
    if options.protocol == "online":
        yield from online(shown, student(), options.delay)
    elif options.protocol == "batch":
        yield from batch(list(shown), student())
    else:
        yield from folds(list(shown), student, options.folds, options.seed)


def _write_scores(path: str, outcomes: Iterable[Outcome]) -> None:
    with written.opened(path) as file:
        for outcome in outcomes:
            line = f"{outcome.name} judge={LABELS[outcome.label]} class={outcome.verdict} score={outcome.score:.9g}\n"
            file.write(line.encode("utf-8", "surrogateescape"))


def _report(
    outcomes: Sequence[Outcome],
    measures: dict[str, Measure],
    cutoff: tuple[float, float] | None,
    options: argparse.Namespace,
) -> None:
    n_spam = sum(outcome.label for outcome in outcomes)
    lost = sum(outcome.verdict == "spam" and outcome.label == 0 for outcome in outcomes)
    numbers: dict[str, object] = {
        "messages": len(outcomes),
        "ham": len(outcomes) - n_spam,
        "spam": n_spam,
        "ham_lost": lost,
    }
    if options.json:
        numbers |= {name: round(one.value, 6) for name, one in measures.items()}
        numbers["intervals"] = {name: [round(one.low, 6), round(one.high, 6)] for name, one in measures.items()}
        numbers |= {"protocol": options.protocol, "seed": options.seed}
        if cutoff:
            numbers |= {"spam_cutoff": cutoff[0], "spam_caught": round(cutoff[1], 4)}
        print(as_json(numbers))
        return
    print(f"{len(outcomes)} messages scored, {len(outcomes) - n_spam} ham and {n_spam} spam; {lost} ham lost\n")
    rows: list[tuple[str, ...]] = [("measure", "percent", "95 % interval", "")]
    rows += [
        (name, f"{one.value:.4f}", f"{one.low:.4f} to {one.high:.4f}", _NAMES[name])
        for name, one in ((name, measures[name]) for name in _NAMES)
    ]
    print(table(rows))


def compare(options: argparse.Namespace) -> int:
    """Run the comparison of Metsis et al. over corpora."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    jobs = [(corpus, tuple(options.attributes), options.seed) for corpus in options.corpora]
    _check_places(None, options.plots)
    for corpus, _, seed in jobs:
        load_corpus(corpus, seed)  # a fault is reported before the long work
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1), mp_context=get_context("forkserver")) as pool:
        shown = progress(pool.map(_compare_one, jobs), "comparing", options.quiet, len(jobs))
        trials = [trial for found in shown for trial in found]
    if options.plots:
        from spamnb.evaluation.plots import plot_comparison

        plot_comparison(options.plots, trials)
    if options.json:
        for trial in trials:
            print(as_json(_trial_as_object(trial, options.seed)))
        return 0
    print(f"seed {options.seed}; batches of 100; spam where P(spam | message) > 0.5\n")
    for number in options.attributes:
        print(f"{number or 'all'} attributes: ham recall / spam recall, in percent\n")
        print(_table_of([trial for trial in trials if trial.attributes == number]), "\n")
    return 0


def _compare_one(job: tuple[str, tuple[int, ...], int]) -> list[Trial]:
    from spamnb.evaluation.comparison import compare as run

    corpus, attributes, seed = job
    return list(run(_dataset(corpus, seed), attributes))


def _dataset(corpus: str, seed: int) -> Dataset:
    """A corpus as the comparison reads it: both classes in their order, the spam spread among the ham by the seed."""
    from spamnb.evaluation.comparison import dataset, plain_tokens
    from spamnb.mail.limits import DEFAULT_LIMITS
    from spamnb.mail.message import parse
    from spamnb.maildir.mailbox import read_bytes

    found = load_corpus(corpus, seed)
    messages = interleave([m for m in found if m.label == 0], [m for m in found if m.label == 1], seed)
    tokens = [
        Counter(plain_tokens(parse(read_bytes(os.path.realpath(m.path), DEFAULT_LIMITS.message_bytes + 1)[0])))
        for m in messages
    ]
    return dataset(os.path.basename(os.path.normpath(corpus)), tokens, [m.label for m in messages])


def _table_of(trials: Sequence[Trial]) -> str:
    datasets = list(dict.fromkeys(trial.dataset for trial in trials))
    recalls = {(t.dataset, t.model): (t.recall(0), t.recall(1)) for t in trials}
    rows: list[list[str]] = [["model", *map(printable, datasets), "average"]]
    for model in dict.fromkeys(trial.model for trial in trials):
        pairs = [recalls[name, model] for name in datasets]
        mean = tuple(sum(pair[label] for pair in pairs) / len(pairs) for label in (0, 1))
        rows.append([model, *(f"{ham:.2f} / {spam:.2f}" for ham, spam in (*pairs, mean))])
    return table(rows)


def _trial_as_object(trial: Trial, seed: int) -> dict[str, object]:
    lost, caught = trial.roc()
    steps = range(0, len(lost), max(1, len(lost) // 200))
    return {
        "dataset": trial.dataset,
        "model": trial.model,
        "attributes": trial.attributes,
        "seed": seed,
        "messages": len(trial.labels),
        "ham_recall": round(trial.recall(0), 4),
        "spam_recall": round(trial.recall(1), 4),
        "roc": [[round(float(lost[i]), 6), round(float(caught[i]), 6)] for i in steps],
    }
