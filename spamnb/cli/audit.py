"""Find learned mail that is filed wrongly.

It judges each learned message as if that and its near-copies were not learned. It lists
those that look as if they belong to the other side, the clearest first, and those that
nobody has decided on before those of a person. At a terminal it asks about each: ?
explains the keys, and v shows the message. Each answer can be undone by one number. It
does not ask about a message again that you have answered.

example:
  spamnb audit
  spamnb audit --json
"""

import argparse

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.questions import JSON_HELP, ask_or_show
from spamnb.review.misfiled import misfiled


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Show or ask."""
    return ask_or_show(misfiled, "Nothing that was learned seems to be filed wrongly.", options)
