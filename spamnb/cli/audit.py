"""Find learned mail that is in the wrong folder.

It judges each learned message as if it had not learned it, or its near-copies. First it
lists the messages that the filter would then clearly put on the other side, then those
that are less clear. Messages that nobody has decided on come before your own decisions. At
a terminal it asks about each: ? explains the keys, and v shows the message. One number
undoes one answer. It asks about each message only once. At its end it says how much mail
outside of Junk `init` has doubted: `spamnb init --learn` asks about that.

example:
  spamnb audit
  spamnb audit --json
"""

import argparse
from collections.abc import Sequence
from contextlib import nullcontext

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import command, open_to_read
from spamnb.cli.common.output import inform
from spamnb.cli.common.questions import JSON_HELP, ask_or_show
from spamnb.review.first_lessons import sifted
from spamnb.review.first_questions import outside_of_junk
from spamnb.review.misfiled import Doubts, Misfiled, misfiled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Show the messages, or ask about them at a terminal. Then name the mail that `init` has doubted."""
    code = ask_or_show(misfiled, _above, options)
    if not options.json and not options.for_user and (number := _doubted(options)):  # a mail host never asks
        inform(options, f"{outside_of_junk(number)}. To answer: {command(options)} init --learn")
    return code


def _doubted(options: argparse.Namespace) -> int:
    """Return how many messages `init` has doubted that nobody has decided on since then."""
    _, ledger = open_to_read(options)
    with ledger or nullcontext():
        return 0 if ledger is None else len(sifted(ledger))


def _above(found: Sequence[Misfiled]) -> str:
    return f"{Doubts.of(found).sentence}:" if found else "No learned message seems to be in the wrong folder."
