"""Ask which learned mail is filed wrongly.

Each learned message is judged as if it and its near-copies were not learned. Shown is what
is rather of the other class, the clearest first; what nobody has decided comes before what
a person has. At a terminal each is asked about (? explains the keys, v shows the message),
and each answer can be undone by one number. Answered messages are not asked about again.

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
