"""`help`: the help of the program, or of one command."""

import argparse

from spamnb.cli.grammar import parser


def help_(options: argparse.Namespace) -> int:
    """Print the same as the option --help, and end as it does."""
    parser().parse_args([*filter(None, [options.about]), "--help"])
    return 0
