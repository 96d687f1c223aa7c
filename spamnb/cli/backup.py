"""Copy the ledger to a file.

The service may run meanwhile: the copy holds what the ledger held when it began. The service
makes one a day by itself.

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
    file = "where to, compressed if it ends in .gz; it must not exist yet; -: standard output"
    parser.add_argument("file", type=output_files.output_file, metavar="FILE", help=file)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Copy the ledger into a file, or into a stream that is open already."""
    path = str(configuration(options).ledger)
    with output_files.plain_faults(options.file), output_files.stream(options.file) as stream:
        if stream is not None and os.isatty(stream):
            raise UsageError("a copy of the ledger is not for a terminal: name a file, or redirect the output")
        output_files.refuse_ledger(path, options.file)
        if stream is None and not options.force and os.path.lexists(options.file):
            raise FileExistsError(options.file)  # before the ledger is looked at
        with Ledger(path, only_read=True):  # as long as it is open, no other file takes its place
            held = write(path, options.file, replace=options.force) if stream is None else send(path, stream)
    if stream is None:
        inform(options, f"wrote {named(options.file)}: {in_words(options.file, held)}")
    return 0


def in_words(path: str, held: Held) -> str:
    """The size of a copy, and what it holds."""
    size = megabytes(os.path.getsize(path))
    return f"{size}, {held.ham} ham and {held.spam} spam messages, {held.tokens} tokens"
