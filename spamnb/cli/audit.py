"""Find learned mail that is in the wrong folder.

It judges each learned message as if it had not learned it, or its near-copies. First it
lists the messages that the filter would then clearly put on the other side, then those
that are less clear. Messages that nobody has decided on come before your own decisions. At
a terminal it asks about each: ? explains the keys, and v shows the message. One number
undoes one answer. It asks about each message only once. `spamnb init --learn` and the page
"Wrong folder?" ask about the mail that `init` has doubted.

example:
  spamnb audit
  spamnb audit --json
"""

import argparse
from collections.abc import Sequence

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.questions import JSON_HELP, ask_or_show
from spamnb.review.misfiled import Doubts, Misfiled, misfiled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Show the messages, or ask about them at a terminal."""
    return ask_or_show(misfiled, _above, options)


def _above(found: Sequence[Misfiled]) -> str:
    return f"{Doubts.of(found).sentence}:" if found else "No learned message seems to be in the wrong folder."
