"""Answer the questions that teach most.

It asks about at most 50 messages. First come those that you have read and kept though the
filter calls them spam. Then come those that it is unsure about, or has learned without
your decision: the least certain first, and one of each sender before the second. At a
terminal ? explains the keys, and v shows the message. Each answer can be undone by one
number. It does not ask about a message again that you have answered.

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
