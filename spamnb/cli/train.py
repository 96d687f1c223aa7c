"""Learn messages as spam or as ham.

It skips messages that it has learned before, and corrects those that it has learned as
the other kind. It reads one folder of a Maildir, without its subfolders. With --again it
finds the messages that an older version of spamnb has learned, and reads them again; they
stay ham or spam. `spamnb learn` is the same command.

example:
  spamnb train --spam ~/Maildir/.Junk
"""

import argparse
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import chain

from spamnb.base.errors import UsageError
from spamnb.base.label import How, Label, counts_as
from spamnb.base.wording import plural
from spamnb.bulk.mapping import PROCESSES, LeftOut, each, executor_at, read_batch, read_learned_batch
from spamnb.bulk.sources import KINDS, Source, how_many, in_file
from spamnb.cli.common import exit_codes
from spamnb.cli.common.arguments import add_executor
from spamnb.cli.common.named_messages import MESSAGES, messages, report_left_out
from spamnb.cli.common.output import inform, progress

INTERRUPTED = "no message was learned"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    label = parser.add_mutually_exclusive_group(required=True)
    label.add_argument("--spam", dest="label", action="store_const", const=Label.SPAM, help="the messages are spam")
    label.add_argument("--ham", dest="label", action="store_const", const=Label.HAM, help="the messages are ham")
    again = "read messages again that were learned with another tokenizer; without PATH"
    label.add_argument("--again", action="store_true", help=again)
    add_executor(parser)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=MESSAGES)


def run(options: argparse.Namespace) -> int:
    """Learn the messages at the paths."""
    if options.again:
        if options.paths:
            raise UsageError("train --again takes no PATH: it finds the learned mail itself")
        return _read_again(options)
    if not options.paths:
        raise UsageError(f"train needs a PATH: {KINDS}")
    found = messages(options.paths)
    return learn(found, lambda: how_many(options.paths), options.label, "trained by hand", options)


def learn(
    found: Iterable[Source],
    total: int | Callable[[], int | None],
    label: Label,
    why: str,
    options: argparse.Namespace,
    *,
    how: How = How.HAND,
    weak: bool = False,
    may_begin: bool = True,
) -> int:
    """Learn messages on all cores, and print the numbers. Returns the exit code.

    may_begin: if the filter now knows enough, record that it may move mail.
    """
    seen = changed = corrected = read_again = left_out = 0
    before = getattr(options, "learned", "")  # `init` learns ham, then spam
    as_ = f"as {counts_as(label, weak)}"
    with ExitStack() as stack:
        executor = stack.enter_context(executor_at(getattr(options, "executor", PROCESSES)))
        read = stack.enter_context(each(read_batch, found, executor))
        from spamnb.acts import may_move  # the import of numpy takes 0.1 s, while the workers already read
        from spamnb.bulk import learning
        from spamnb.cli.common.config_and_ledger import open_ledger

        config, ledger = open_ledger(options)
        stack.enter_context(ledger)
        is_first = not ledger.lessons.totals()[label]
        shown = progress(
            read, f"learning {label.word}", options.quiet, total, lambda one: len(one[0].digests) + len(one[1])
        )
        for done in learning.learn(ledger, shown, label, why, how=how, weak=weak):
            report_left_out(done.left_out)
            seen, changed, corrected = seen + done.seen, changed + done.changed, corrected + done.corrected
            read_again, left_out = read_again + done.read_again, left_out + len(done.left_out)
            options.learned = f"{before}learned {plural(changed, 'message')} {as_}, "
            options.interrupted = f"{options.learned}which is kept"
        if may_begin:
            may_move.begin_if_ready(ledger, config.scoring, config.learning)
    # A folder that `init` reads corrects no folder that it has read before: `in_both` asks about such messages.
    was = f", {corrected} of them corrected" if corrected and how is not How.SEEN else ""
    same = seen - changed
    what = ("copy" if same == 1 else "copies") if is_first else "known already"
    known = f", {same} {what}" if same else ""
    again = f"; {read_again} of them read again" if read_again else ""
    inform(options, f"learned {plural(changed, 'message')} {as_}{was}{known}{again}")
    return exit_codes.ERROR if left_out else 0


def _read_again(options: argparse.Namespace) -> int:
    """Read messages again that were learned with another tokenizer. Returns the exit code.

    It looks twice for mail that it cannot read, since the mail may just have been moved.
    """
    read_again, left_out, is_left = _read_once_again(options)
    if left_out:
        more, left_out, is_left = _read_once_again(options)
        read_again += more
    report_left_out(left_out)
    kept = "; mail without a readable file keeps its old tokens" if is_left else ""
    inform(options, f"read {plural(read_again, 'message')} again{kept}")
    return exit_codes.ERROR if left_out else 0


def _read_once_again(options: argparse.Namespace) -> tuple[int, LeftOut, bool]:
    """Read on all cores. Return how many were read, which could not be, and whether any keeps its old tokens."""
    from spamnb.bulk import learning
    from spamnb.cli.common.config_and_ledger import open_ledger

    config, ledger = open_ledger(options)
    with ledger:  # close it before the program forks: see `each`
        files = learning.files_to_read_again(ledger, config)
    read_again, left_out = 0, LeftOut()
    with ExitStack() as stack:
        executor = stack.enter_context(executor_at(options.executor))
        sources = chain.from_iterable(map(in_file, files))
        read = stack.enter_context(each(read_learned_batch, sources, executor))
        ledger = stack.enter_context(open_ledger(options)[1])
        shown = progress(
            read, "reading again", options.quiet, len(files), lambda batch: len(batch[0].digests) + len(batch[1])
        )
        for done in learning.read_again(ledger, shown):
            read_again += done.read_again
            options.interrupted = f"read {plural(read_again, 'message')} again, which is kept"
            left_out += done.left_out
        return read_again, left_out, bool(ledger.lessons.learned_with_other_tokenizer())
