"""Show or check the configuration.

Without an option it prints the values in force, in the form of a configuration.

example:
  spamnb config --check new.yaml

exit codes: 0 no fault, 78 faults, one a line
"""

import argparse
import os
from pathlib import Path

from spamnb.base.wording import escaped
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.cli.common.output import inform
from spamnb.config import load
from spamnb.config.writing import example, render_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--example", action="store_true", help="print an example with every key, and what it is for")
    check = "list all faults of it (default: the configuration in use)"
    one.add_argument("--check", nargs="?", const="", metavar="FILE", help=check)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for. Raises ConfigError with all faults of a configuration."""
    if options.example:
        print(example(), end="")
        return 0
    path = Path(options.check) if options.check else config_path(options)
    config = load(path, os.environ)
    if options.check is None:
        print(f"# {escaped(str(path))}, with the default of each key that is not written there")
        print(render_all(config), end="")
    else:
        inform(options, f"{escaped(str(path))} has no faults. Whether its folders are there: spamnb doctor")
    return 0
