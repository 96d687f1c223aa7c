"""Move mail again.

Use it after `pause`, or after the filter has stopped by itself.

example:
  spamnb resume --move
"""

import argparse
import time
from collections.abc import Iterable

from spamnb.acts import withheld
from spamnb.base.wording import escaped, plural
from spamnb.cli.common import exit_codes
from spamnb.cli.common.config_and_ledger import open_ledger
from spamnb.cli.common.output import inform, say, warn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    help_ = "move the withheld mail that is unread, in the inbox, and would be moved today"
    parser.add_argument("--move", action="store_true", help=help_)


def run(options: argparse.Namespace) -> int:
    """Start moving again, and count or move the messages that were withheld."""
    config, ledger = open_ledger(options)
    with ledger:
        was_stopped = withheld.resume(ledger, time.time()) is not None
        say("The filter moves spam again." if was_stopped else "There is nothing to resume: moving was not stopped.")
        if options.move:
            return _move(withheld.move_withheld(ledger, config), options)
        if number := len(ledger.journal.withheld()):
            step = "To move what it would move today: spamnb resume --move"
            say(f"{plural(number, 'message')} withheld. {step}")
    return 0


def _move(reviewed: Iterable[withheld.Reviewed], options: argparse.Namespace) -> int:
    moved = left = failed = 0
    for review in reviewed:
        moved += review.moved
        left += not review.moved
        failed += review.failed
        if review.failed:
            warn(review.why)
        else:
            what = "moved" if review.moved else f"left, {escaped(review.why)}"
            inform(options, f"{what}: {escaped(review.action.summary)}")
    say(f"moved {plural(moved, 'message')} that had been withheld, left {left}")
    return exit_codes.ERROR if failed else 0
