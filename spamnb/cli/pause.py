"""Move nothing for a while.

The filter still judges mail, but leaves it in its folder. `resume --move` moves it later.

example:
  spamnb pause 1h
  spamnb pause 1 week
  spamnb pause
"""

import argparse
import math
import time

from spamnb.acts import withheld
from spamnb.base.errors import UsageError
from spamnb.base.wording import clock_near
from spamnb.cli.common.argument_types import span
from spamnb.cli.common.config_and_ledger import open_ledger
from spamnb.cli.common.output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    help_ = "30m, 1h, 2d, 1 week (default: until `spamnb resume`)"
    parser.add_argument("span", nargs="*", metavar="SPAN", help=help_)


def run(options: argparse.Namespace) -> int:
    """Stop moving."""
    now = time.time()
    until = now + (_some_time(" ".join(options.span)) if options.span else math.inf)
    with open_ledger(options)[1] as ledger:
        withheld.pause(ledger, until)
    end = "`spamnb resume`" if math.isinf(until) else clock_near(until, now)
    say(f"The filter moves nothing until {end}. It still judges mail, but leaves it in its folder.")
    return 0


def _some_time(text: str) -> int:
    if not (seconds := span(text)):
        raise UsageError(f"{text!r} is not a span of time: write 30m, 2h, 3d or 1 week")
    return seconds
