"""`pause` and `resume`: moving mail stopped by hand, and started again."""

import argparse
import math
import sys
import time
from collections.abc import Iterator

from spamnb import breaker
from spamnb.cli.context import open_ledger
from spamnb.cli.output import clock, plural, printable
from spamnb.cli.times import span
from spamnb.errors import UsageError

_EXIT_ERROR = 3


def pause(options: argparse.Namespace) -> int:
    """Move nothing for a while; what comes is judged all the same."""
    seconds = None if options.duration is None else span(options.duration)
    if options.duration is not None and not seconds:
        raise UsageError(f"{options.duration!r} is no span of time: write 30m, 2h or 3d")
    until = math.inf if seconds is None else time.time() + seconds
    with open_ledger(options)[1] as ledger:
        breaker.pause(ledger, until)
    print(f"Nothing is moved {until_when(until)}. Mail is judged meanwhile, and stays where it is.")
    return 0


def resume(options: argparse.Namespace) -> int:
    """Start moving again, and say or move what was withheld meanwhile."""
    config, ledger = open_ledger(options)
    with ledger:
        stopped = breaker.resume(ledger, time.time()) is not None
        print("Spam is moved again." if stopped else "Moving was not stopped.")
        if options.move:
            return _move(breaker.move_withheld(ledger, config), options)
        if withheld := len(ledger.journal.withheld()):
            print(
                f"{plural(withheld, 'message')} stayed where {'it was' if withheld == 1 else 'they were'} meanwhile;"
                " to move what is unread spam still: spamnb resume --move"
            )
    return 0


def _move(reviewed: Iterator[breaker.Reviewed], options: argparse.Namespace) -> int:
    moved = left = failed = 0
    for one in reviewed:
        moved += one.moved
        left += not one.moved
        failed += one.failed
        if one.failed:
            print(f"spamnb: {printable(one.why)}", file=sys.stderr)
        elif not options.quiet:
            what = "moved" if one.moved else f"left, {printable(one.why)}"
            print(f"{what}: {printable(one.action.summary)}")
    print(f"moved {plural(moved, 'message')} that had been withheld, left {left}")
    return _EXIT_ERROR if failed else 0


def until_when(until: float) -> str:
    """Until when moving is paused, in words."""
    return "until `spamnb resume`" if math.isinf(until) else f"until {clock(until)}"
