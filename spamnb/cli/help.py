"""Show all commands, or how to use one of them.

example:
  spamnb help score
"""

import argparse

from spamnb.cli.common.arguments import COMMANDS, named_by, parser_of, program, refuse_unknown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("about", nargs="?", type=_command, metavar="COMMAND", help="which one")


def run(options: argparse.Namespace) -> int:
    """Print the same text as the option --help."""
    (program() if options.about is None else parser_of(options.about)).print_help()
    return 0


def _command(name: str) -> str:
    if (command := named_by(name)) not in COMMANDS:
        refuse_unknown(name)
    return command
