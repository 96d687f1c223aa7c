"""Make the ledger smaller.

It forgets the rarest words first; among these, the ones that it has not met for the longest
time. The messages stay learned, with their other words. The service may run at the same
time.

example:
  spamnb prune --to 200M --dry-run
"""

import argparse

from spamnb.base.wording import megabytes
from spamnb.cli.common.argument_types import size
from spamnb.cli.common.config_and_ledger import open_ledger
from spamnb.cli.common.output import inform, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    to = "the size to reach, in bytes: 500K, 200M, 1G"
    parser.add_argument("--to", type=size, required=True, metavar="SIZE", help=to)
    parser.add_argument("--dry-run", action="store_true", help="only show what it would forget")


def run(options: argparse.Namespace) -> int:
    """Forget the least useful tokens, until the ledger is small enough."""
    config, opened = open_ledger(options)
    with opened as ledger:
        before = ledger.pruning.size()
        if before <= options.to:
            print(f"The ledger is {megabytes(before)}: there is nothing to do.")
        elif options.dry_run:
            plan = ledger.pruning.possible_plan(options.to)
            left = f"about {megabytes(plan.size)} would be left"
            print(f"would forget {_counted(plan.tokens, plan.hapaxes)}; {left}")
        else:
            done = ledger.pruning.shrink(
                options.to, lambda steps: progress(steps, "forgetting", options.quiet), str(config.claim)
            )
            became = f"{megabytes(before)} became {megabytes(done.size)}"
            inform(options, f"forgot {_counted(done.tokens, done.hapaxes)}; {became}")
    return 0


def _counted(tokens: int, hapaxes: int) -> str:
    return f"{tokens} tokens, {hapaxes} of them found in one message only"
