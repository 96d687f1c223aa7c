"""Replace the ledger by a copy.

It checks the file first, and keeps the present ledger under another name. It does not move
the mail in the folders or learn from it, even if the copy does not know it.

example:
  spamnb restore ~/ledger-copy.sqlite
"""

import argparse
import os
import time

from spamnb.base.errors import UsageError
from spamnb.base.wording import clock, escaped
from spamnb.cli.backup import in_words
from spamnb.cli.common import output_files
from spamnb.cli.common.config_and_ledger import configuration
from spamnb.cli.common.output import inform
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a copy from `spamnb backup`, or from the service")


def run(options: argparse.Namespace) -> int:
    """Put a copy in the ledger's place."""
    path, shown = str(configuration(options).ledger), escaped(options.file)
    output_files.refuse_ledger(path, options.file)
    if not os.path.isfile(options.file):
        step = "give a copy from `spamnb backup`, or one of the daily copies"
        raise UsageError(f"there is no file {shown or 'without a name'}: {step}")
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    with only_service(path) as lock:
        done = restore(path, options.file, time.time())
        EndRecord(path, lock).begin()  # the record of the last end is about the old ledger
    inform(options, f"restored {shown}, of {clock(done.made_at)}: {in_words(options.file, done.held)}")
    if done.aside is not None:
        inform(options, f"The old ledger is kept as {escaped(done.aside)}.")
    inform(options, "The mail in your folders is not moved: the next start only records it.")
    return 0
