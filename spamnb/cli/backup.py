"""Copy the ledger to a file.

The service may run at the same time: the copy shows the ledger at the start of the command.
The service makes one copy per day by itself.

example:
  spamnb backup ~/ledger-copy.sqlite
"""

import argparse
import os

from spamnb.base.errors import UsageError
from spamnb.base.wording import megabytes, named
from spamnb.cli.common import output_files
from spamnb.cli.common.config_and_ledger import configuration
from spamnb.cli.common.output import inform
from spamnb.ledger.copies.copy import Held, send, write
from spamnb.ledger.ledger import Ledger

INTERRUPTED = "no copy was written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    file = "a new file, compressed if its name ends in .gz; or - for standard output"
    parser.add_argument("file", type=output_files.output_file, metavar="FILE", help=file)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Copy the ledger into a file, or into an open stream."""
    path = str(configuration(options).ledger)
    with output_files.plain_faults(options.file), output_files.stream(options.file) as stream:
        if stream is not None and os.isatty(stream):
            raise UsageError("a copy of the ledger is not for a terminal: name a file, or redirect the output")
        output_files.refuse_ledger(path, options.file)
        if stream is None and not options.force and os.path.lexists(options.file):
            raise FileExistsError(options.file)  # before it opens the ledger
        with Ledger(path, only_read=True):  # while it is open, no other file can take its place
            held = write(path, options.file, replace=options.force) if stream is None else send(path, stream)
    if stream is None:
        inform(options, f"wrote {named(options.file)}: {in_words(options.file, held)}")
    return 0


def in_words(path: str, held: Held) -> str:
    """Return the size and content of a copy, in words."""
    size = megabytes(os.path.getsize(path))
    return f"{size}, {held.ham} ham and {held.spam} spam messages, {held.tokens} tokens"
