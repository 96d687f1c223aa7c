"""Forget messages that were learned.

`spamnb forget` is the same command.

example:
  spamnb untrain message.eml
"""

import argparse
from contextlib import ExitStack

from spamnb.base.wording import plural
from spamnb.bulk.mapping import each, identify
from spamnb.bulk.sources import how_many
from spamnb.cli.common import exit_codes
from spamnb.cli.common.named_messages import MESSAGES, messages, report_left_out
from spamnb.cli.common.output import inform, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help=MESSAGES)


def run(options: argparse.Namespace) -> int:
    """Forget the messages at the paths."""
    seen = forgotten = left_out = 0
    with ExitStack() as stack:
        digests = stack.enter_context(each(identify, messages(options.paths)))
        from spamnb.bulk import learning  # while the workers already read: see `train`
        from spamnb.cli.common.config_and_ledger import open_ledger

        ledger = stack.enter_context(open_ledger(options)[1])
        shown = progress(digests, "forgetting", options.quiet, lambda: how_many(options.paths))
        for done in learning.forget(ledger, shown, "forgotten by hand"):
            report_left_out(done.left_out)
            seen, forgotten, left_out = seen + done.seen, forgotten + done.changed, left_out + len(done.left_out)
    unknown = f", {seen - forgotten} not learned" if seen > forgotten else ""
    inform(options, f"forgot {plural(forgotten, 'message')}{unknown}")
    return exit_codes.ERROR if left_out else 0
