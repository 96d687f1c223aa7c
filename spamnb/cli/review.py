"""Answer the questions that teach most.

It asks about at most 50 messages. First come messages that the filter calls spam, but that
you have read and kept. Then come messages that it is unsure about, or has learned without
your decision: the least certain first, and one of each sender before a second one. At a
terminal ? explains the keys, and v shows the message. One number undoes one answer. It
asks about each message only once. If the filter moves nothing yet because it knows too
little ham, it first shows up to 20 messages of the inbox, and asks which of them you wanted.

example:
  spamnb review
  spamnb review --json
"""

import argparse
import time

from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.first_questions import may_ask
from spamnb.cli.common.questions import JSON_HELP, ask_or_show
from spamnb.cli.common.wanted_questions import ask_wanted
from spamnb.review.queue import ROUND, to_answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, JSON_HELP)


def run(options: argparse.Namespace) -> int:
    """Show the messages, or ask about them at a terminal."""
    if not options.json and may_ask(options):
        ask_wanted(options, time.time())
    return ask_or_show(to_answer, lambda found: "" if found else "There is nothing to ask about.", options, ROUND)
