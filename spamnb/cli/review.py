"""Ask about the mail whose answers teach most.

First mail that you have read and kept though the filter calls it spam; then what it is
unsure about, and what it learned without your decision, the least certain first, one of
each sender before the second. At most 50 at once. At a terminal each is asked about (?
explains the keys, v shows the message), and each answer can be undone by one number.
Answered messages are not asked about again.

example:
  spamnb review
  spamnb review --json
"""

import argparse

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.questions import JSON_HELP, ask_or_show
from spamnb.review.queue import ROUND, to_answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Show or ask."""
    return ask_or_show(to_answer, "There is nothing to ask about.", options, ROUND)
