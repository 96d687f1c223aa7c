"""Measure the filter on a corpus or on your own mail.

Your own mail here means learned mail that is still on the disk, since the filter itself may
have chosen the folder of other mail. So learn first, with init --learn or train. For each
tenth of this mail, a filter that has learned the rest scores it (--protocol folds). With
3,000 messages or more, a first answer comes from the newest 2,000. In a pipe a line on
standard error says each half minute how far it is.

For research there are more protocols. online: the filter scores each message, then learns
it (the default for a corpus). batch: it learns the first half and scores the second. user:
a simulated user corrects the filter late, and not always, as --habit says. The order of the
messages changes the result: --orders 4 gives the mean and the spread of four orders.
`spamnb compare` compares all event models.

example:
  spamnb evaluate --at-most-one-ham-in 1000
  spamnb evaluate ~/corpus --protocol batch --json
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from spamnb.base.errors import UsageError
from spamnb.base.label import Label, Role
from spamnb.base.libraries import need
from spamnb.bulk.mapping import executor_at
from spamnb.cli.common import evaluation_report, output_files
from spamnb.cli.common.argument_types import at_least
from spamnb.cli.common.arguments import add_executor, add_json
from spamnb.cli.common.output import as_json, progress, progress_bar, say
from spamnb.config import Model
from spamnb.evaluation.corpus import Labelled, Sample, load_corpus, samples
from spamnb.evaluation.habits import HABITS

if TYPE_CHECKING:
    from spamnb.config import Config, Scoring
    from spamnb.evaluation.measures import Outcome
    from spamnb.evaluation.packed import Packed
    from spamnb.evaluation.runs import Figures
    from spamnb.evaluation.user_run import UserRun

_APART = (Role.NEWCOMERS, Role.NEWSLETTERS)
# A first answer about much mail: 2,000 messages in three parts are learned and judged 6,000 times, 10,000 messages in
# ten parts 100,000 times.
_FIRST_FROM, _FIRST_MESSAGES, _FIRST_FOLDS = 3_000, 2_000, 3
INTERRUPTED = "the measurement has no result"
CORPUS = "a directory with a file `index`, or with ham/ and spam/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "spamnb evaluate [-h] [--at-most-one-ham-in N] [--json] [OPTION ...] [CORPUS]"
    option, number = parser.add_argument, at_least(0)
    cutoff = "suggest a cutoff at which at most one ham message in N is called spam"
    option("--at-most-one-ham-in", type=at_least(2), metavar="N", help=cutoff)
    add_json(parser)
    option("corpus", nargs="?", metavar="CORPUS", help=f"{CORPUS} (default: your learned mail)")
    option = parser.add_argument_group("for research").add_argument
    option("--protocol", choices=("online", "batch", "folds", "user"), help="default: online; for your own mail, folds")
    option("--habit", choices=HABITS, metavar="NAME", help=f"with --protocol user: {', '.join(HABITS)}")
    a_day = "with --protocol user: how many messages come per day (default: 20)"
    option("--messages-a-day", type=at_least(1), metavar="N", help=a_day)
    apart = "with --protocol user: also a folder for newcomers, or for newsletters"
    option("--apart", action="append", choices=_APART, metavar="WHAT", help=apart)
    option("--model", choices=get_args(Model), help="default: as configured")
    option("--limit", type=at_least(1), metavar="N", help="only the first N messages")
    option("--warm-up", type=number, default=0, metavar="N", help="leave the first N messages out of the measures")
    scores = "write a line per message, in the format of the TREC spam track"
    option("--scores", type=output_files.output_file, metavar="FILE", help=scores)
    option("--delay", type=number, default=0, metavar="N", help="learn a label only N messages later (online)")
    rules = ("everything", "near-errors", "errors")
    option("--train", choices=rules, default="everything", help="which messages to learn (default: everything)")
    folds = "the number of folds, for --protocol folds (default: 10)"
    option("--folds", type=at_least(2), default=10, metavar="N", help=folds)
    option("--shuffle", type=number, metavar="SEED", help="use a random order instead of the corpus's")
    orders = "run in the corpus's order and in N-1 random ones; print means and spread (online, batch, user)"
    option("--orders", type=at_least(1), default=1, metavar="N", help=orders)
    option("--seed", type=number, default=0, help="for every random choice (default: 0)")
    option("--no-header", action="store_true", help="read only the subject and the body")
    option("--plots", metavar="DIR", help="write pictures to this directory (needs matplotlib)")
    add_executor(parser)


def run(options: argparse.Namespace) -> int:
    """Test the filter on a corpus, or on the user's own mail."""
    # A person empties Junk, so the spam is often younger than the ham. In the order of arrival, a filter without any
    # spam lessons would judge most of the ham.
    options.protocol = options.protocol or ("online" if options.corpus else "folds")
    _refuse_what_has_no_meaning(options)
    check_places(options.scores, options.plots)
    messages = _messages(options)
    early = _early(options, messages)
    with ExitStack() as stack:
        executor = stack.enter_context(executor_at(options.executor))

        def samples_of(some: list[Labelled]) -> Iterator[Sample]:
            how = {"strict": bool(options.corpus), "header": not options.no_header}
            return stack.enter_context(closing(samples(some, executor=executor, **how)))

        read = samples_of(early or messages)
        first = list(itertools.islice(read, 1))  # start the workers before importing numpy: see `train`
        from spamnb.cli.common.config_and_ledger import command, configuration, ledger_to_read
        from spamnb.cli.common.questions import doubts_of
        from spamnb.evaluation.packed import Packed
        from spamnb.ledger.history.choices import in_force

        config = configuration(options, of_all=True) if options.corpus else in_force(*ledger_to_read(options))
        is_shown = not (options.json or options.quiet)
        doubts = None
        if not options.corpus and (is_shown or options.at_most_one_ham_in):
            doubts = doubts_of(options)
            if is_shown and doubts.clear:  # first: with such mail the figures mean little
                say(f"{doubts.of_figures} To answer: {command(options)} audit\n")
        if options.scores:
            output_files.refuse_ledger(str(config.ledger), options.scores)
        scoring = replace(config.scoring, model=options.model) if options.model else config.scoring
        is_streamed = options.protocol == "online" and options.orders == 1
        doing, number = "evaluating" if is_streamed else "reading", len(early or messages)
        shown = progress(itertools.chain(first, read), doing, options.quiet, number)
        if options.protocol == "user":
            return _run_as_user(options, replace(config, scoring=scoring), Packed(shown))
        if options.orders > 1:
            return _run_in_orders(options, scoring, Packed(shown))
        if is_streamed:
            outcomes = _outcomes(options, scoring, shown)
        else:
            kept = Packed(shown)
            if early:
                _say_first(options, scoring, kept, len(messages))
                names = {message.name for message in early}
                others = [message for message in messages if message.name not in names]
                kept.add(progress(samples_of(others), "reading", options.quiet, len(others)))
                kept = kept.in_order(message.name for message in messages)
            outcomes = _outcomes(options, scoring, kept)
    _report(options, config.scoring, outcomes, is_doubted=doubts is not None and bool(doubts.clear))
    return 0


def _refuse_what_has_no_meaning(options: argparse.Namespace) -> None:
    if options.delay and options.protocol != "online":
        raise UsageError(f"--delay is for --protocol online: {options.protocol} learns before it scores")
    of_user = options.habit, options.messages_a_day, options.apart
    if options.protocol != "user" and any(given is not None for given in of_user):
        raise UsageError("--habit, --messages-a-day and --apart are for --protocol user")
    if options.protocol == "user":
        _refuse_what_a_user_has_not(options)
    if options.orders == 1:
        return
    if options.protocol == "folds":
        raise UsageError("--orders needs a protocol that has an order: give --protocol online, or batch")
    of_one_run = ("scores", "shuffle", "plots", "at_most_one_ham_in")
    given = [f"--{name.replace('_', '-')}" for name in of_one_run if getattr(options, name) is not None]
    if given:
        raise UsageError(f"{' and '.join(given)} cannot be given with --orders: leave --orders out, to run once")


def _refuse_what_a_user_has_not(options: argparse.Namespace) -> None:
    if options.habit is None:
        raise UsageError(f"--protocol user needs --habit, one of {', '.join(HABITS)}")
    if options.warm_up or options.train != "everything" or options.at_most_one_ham_in or options.plots:
        raise UsageError("--warm-up, --train, --at-most-one-ham-in and --plots are not for --protocol user")


def check_places(scores: str | None, plots: str | None) -> None:
    """Raise SpamnbError if results could not be written, so that a user learns it before the long work."""
    if scores is not None:
        output_files.check(scores)
    if plots is not None:
        need("matplotlib", "pictures")


def _messages(options: argparse.Namespace) -> list[Labelled]:
    if options.corpus:
        messages = load_corpus(options.corpus, options.seed)
    else:
        from spamnb.cli.common.config_and_ledger import open_to_read
        from spamnb.evaluation.own_mail import own_mail

        config, ledger = open_to_read(options)
        with ledger or nullcontext():  # close it before the program forks
            messages = own_mail(ledger, config)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(messages)  # noqa: S311 - a repeatable order
    return messages[: options.limit]


def _early(options: argparse.Namespace, messages: list[Labelled]) -> list[Labelled]:
    """Return the messages for a first answer about one's own mail; none if all are few, or if only the end counts."""
    is_asked = options.protocol == "folds" and not (
        options.corpus or options.json or options.quiet or options.shuffle is not None
    )
    if not is_asked or len(messages) < _FIRST_FROM:
        return []
    from spamnb.evaluation.own_mail import newest

    return newest(messages, _FIRST_MESSAGES)


def _say_first(options: argparse.Namespace, scoring: Scoring, kept: Packed, number: int) -> None:
    """Print the measures of the newest messages. number: of all messages."""
    from spamnb.evaluation.measures import measure
    from spamnb.evaluation.runs import figures

    if {sample.label for sample in kept} != set(Label):
        return
    outcomes = _outcomes(options, scoring, kept, _FIRST_FOLDS)
    say(f"First answer, by the newest {len(kept):,} of {number:,} messages, in {_FIRST_FOLDS} parts:")
    print(evaluation_report.one_run(figures(outcomes), measure(outcomes, options.seed)))
    print("\nAll of it, which takes longer:", flush=True)


def _outcomes(
    options: argparse.Namespace, scoring: Scoring, read: Iterable[Sample], folds: int | None = None
) -> list[Outcome]:
    """Run the protocol. folds: instead of that option. It shows the progress over kept messages."""
    from spamnb.evaluation.protocols import Learner, outcomes_of

    n_folds, done = folds or options.folds, itertools.count(1)
    how = {"delay": options.delay, "n_folds": n_folds, "seed": options.seed}
    steps = len(read) * (n_folds if options.protocol == "folds" else 1) if isinstance(read, Sized) else None
    with progress_bar("evaluating", options.quiet or steps is None or options.orders > 1) as show:

        def learner() -> Learner:
            return Learner(scoring, options.train, lambda: show(next(done), steps))

        return list(outcomes_of(options.protocol, read, learner, **how))


def _report(options: argparse.Namespace, configured: Scoring, outcomes: list[Outcome], *, is_doubted: bool) -> None:
    """Print the measures of one run, and write the files that the options name. is_doubted: as for `advise`."""
    from spamnb.evaluation.cutoffs import NOT_SEEN, advise
    from spamnb.evaluation.measures import judged_opposite, measure
    from spamnb.evaluation.runs import figures

    if options.scores:
        evaluation_report.write_scores(options.scores, outcomes)
    outcomes = outcomes[options.warm_up :]
    found, measures = figures(outcomes), measure(outcomes, options.seed)
    advice = None
    if options.at_most_one_ham_in:
        cutoffs = configured.spam_cutoff, configured.ham_cutoff
        advice = advise(outcomes, options.at_most_one_ham_in, *cutoffs, is_doubted=is_doubted)
    if options.json:
        intervals = {name: [round(one.low, 6), round(one.high, 6)] for name, one in measures.items()}
        about = {"intervals": intervals, "protocol": options.protocol, "seed": options.seed}
        print(
            as_json(
                evaluation_report.rounded(found)
                | about
                | (evaluation_report.advice_as_object(advice) if advice else {})
            )
        )
    else:
        print(evaluation_report.opposites(judged_opposite(outcomes), own=not options.corpus), end="")
        print(evaluation_report.one_run(found, measures))
        if not options.corpus:
            say(f"\n{NOT_SEEN}")
        if advice:
            one_in, cutoff = options.at_most_one_ham_in, configured.spam_cutoff
            said = evaluation_report.advice(advice, one_in, cutoff, found["ham"], own=not options.corpus)
            say(f"\n{said}")
    if options.plots:
        from spamnb.evaluation.plots import plot_run

        plot_run(options.plots, outcomes)


def _run_in_orders(options: argparse.Namespace, scoring: Scoring, kept: Packed) -> int:
    from spamnb.evaluation.runs import figures

    def figures_of(ordered: Packed, _: int) -> Figures:
        return figures(_outcomes(options, scoring, ordered)[options.warm_up :])

    return _print_average(options, kept, figures_of)


def _run_as_user(options: argparse.Namespace, config: Config, kept: Packed) -> int:
    """Simulate a user over one order of the messages, or over several."""
    from spamnb.evaluation.user import simulate

    def shown(places: Iterable[int]) -> Iterable[int]:
        return progress(places, "living", options.quiet or options.orders > 1, len(kept))

    def run_of(ordered: Packed, number: int) -> UserRun:
        how = {"seed": options.seed + number, "messages_a_day": options.messages_a_day or 20, "in_days": True}
        apart = tuple(dict.fromkeys(map(Role, options.apart or ())))
        rules = config.scoring, config.learning, config.breaker
        return simulate(list(ordered), *rules, options.habit, **how, apart=apart, shown=shown)

    if options.orders > 1:
        return _print_average(options, kept, lambda ordered, number: run_of(ordered, number).figures())
    found = run_of(kept, 0)
    if options.scores:
        evaluation_report.write_scores(options.scores, found.outcomes)
    if options.json:
        about = {"protocol": options.protocol, "seed": options.seed}
        print(as_json(evaluation_report.rounded(found.figures()) | about))
    else:
        print(evaluation_report.one_user(found.figures()))
    return 0


def _print_average(options: argparse.Namespace, kept: Packed, figures_of: Callable[[Packed, int], Figures]) -> int:
    """Run the protocol over several orders of the messages, and print the means."""
    from spamnb.evaluation.runs import average, in_orders, over_orders

    orders = progress(in_orders(kept, options.orders), "orders", options.quiet, options.orders)
    averaged = average(over_orders(orders, figures_of))
    if options.json:
        spread = {name: [round(least, 6), round(most, 6)] for name, (least, most) in averaged.spread.items()}
        about = {"spread": spread, "orders": options.orders, "protocol": options.protocol, "seed": options.seed}
        print(as_json(evaluation_report.rounded(averaged.mean) | about))
    else:
        print(f"{options.orders} orders of {len(kept)} messages\n")
        print(evaluation_report.several_runs(averaged))
    return 0
