"""Replace the ledger by a copy.

The file is examined first. The present ledger is kept beside it under another name. Mail that
is in the folders then is neither moved nor learned from: the copy does not know it.

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
    parser.add_argument("file", metavar="FILE", help="what `spamnb backup` or the service has written")


def run(options: argparse.Namespace) -> int:
    """Put a copy in the ledger's place."""
    path, shown = str(configuration(options).ledger), escaped(options.file)
    output_files.refuse_ledger(path, options.file)
    if not os.path.isfile(options.file):
        step = "give what `spamnb backup` has written, or one of the copies"
        raise UsageError(f"there is no file {shown or 'without a name'}: {step}")
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    with only_service(path) as lock:
        done = restore(path, options.file, time.time())
        EndRecord(path, lock).begin()  # what the last service left, and what it ended over, was the former ledger
    inform(options, f"restored {shown}, of {clock(done.made_at)}: {in_words(options.file, done.held)}")
    if done.aside is not None:
        inform(options, f"The former ledger is kept as {escaped(done.aside)}.")
    inform(options, "The mail in your folders stays where it is: the next start only records it.")
    return 0
