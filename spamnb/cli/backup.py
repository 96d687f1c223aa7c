"""Copy the ledger.

Without FILE it makes the copy of the day, as the service does by itself, and keeps as many
of these copies as the configuration says. With FILE it makes a copy there. The service may
run at the same time: the copy shows the ledger at the start of the command.

example:
  spamnb backup
  spamnb backup ~/ledger-copy.sqlite
"""

import argparse
import os
import time

from spamnb.base.errors import UsageError
from spamnb.base.wording import megabytes, named
from spamnb.cli.common import output_files
from spamnb.cli.common.config_and_ledger import configuration
from spamnb.cli.common.output import inform
from spamnb.ledger.copies.copy import Held, roll, send, write
from spamnb.ledger.ledger import Ledger

INTERRUPTED = "no copy was written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    file = "a new file, compressed if its name ends in .gz; or - for standard output (default: the copy of the day)"
    parser.add_argument("file", nargs="?", type=output_files.output_file, metavar="FILE", help=file)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Copy the ledger into a file, into an open stream, or to the daily copies."""
    config = configuration(options)
    path = str(config.ledger)
    if options.file is None:
        return _of_today(path, config.service.copies, options)
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


def _of_today(path: str, keep: int, options: argparse.Namespace) -> int:
    """Make the copy of the day, as the service does."""
    if options.force:
        raise UsageError("--force is for a FILE: the copy of the day is always replaced")
    if not keep:
        raise UsageError("the configuration keeps no daily copies (`copies` is 0 under `service`): name a FILE")
    with Ledger(path, only_read=True):
        made = roll(path, time.time(), keep)
    inform(options, f"wrote {named(made)}: {megabytes(os.path.getsize(made))}")
    return 0


def in_words(path: str, held: Held) -> str:
    """Return the size and content of a copy, in words."""
    size = megabytes(os.path.getsize(path))
    return f"{size}, {held.ham} ham and {held.spam} spam messages, {held.tokens} tokens"
