"""`config`: show the configuration that is in force, check one, or print the example."""

import argparse
import os
from pathlib import Path

from spamnb.cli.context import config_path
from spamnb.cli.output import printable
from spamnb.config import load
from spamnb.config.writing import example, render_all
from spamnb.errors import UsageError


def config(options: argparse.Namespace) -> int:
    """Print what was asked for. Raises ConfigError with all faults of a configuration."""
    if options.example and options.check is not None:
        raise UsageError("--example and --check exclude each other")
    if options.example:
        print(example(), end="")
        return 0
    path = Path(options.check) if options.check else config_path(options)
    found = load(path, os.environ)
    if options.check is None:
        print(f"# {printable(str(path))}, with the default of each key that is not written there")
        print(render_all(found), end="")
    elif not options.quiet:
        print(f"{printable(str(path))} has no faults. Whether its folders are there: spamnb doctor")
    return 0
