"""Copy the ledger.

Without FILE it makes the copy of the day, as the service does by itself, and keeps as many
of these copies as the configuration says. With FILE it makes a copy there. The service may
run at the same time: the copy shows the ledger at the start of the command.

With --all, FILE is a directory: it gets a copy of the ledger of each user of a mail host.
After a fault it goes on with the others, and names at the end those that were not copied.

example:
  spamnb backup
  spamnb backup ~/ledger-copy.sqlite
  spamnb backup --all /srv/backup/spamnb
"""

import argparse
import os
import time

from spamnb.base import durable
from spamnb.base.errors import UsageError
from spamnb.base.wording import megabytes, named, plural
from spamnb.cli.common import output_files
from spamnb.cli.common.all_users import add_all, for_all, host_of_all
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
    add_all(parser, "copy the ledgers")


def run(options: argparse.Namespace) -> int:
    """Copy the ledger into a file, into an open stream, or to the daily copies."""
    if options.all_users:
        return _of_all(options)
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


def _of_all(options: argparse.Namespace) -> int:
    """Copy the ledgers of all users into a directory."""
    from spamnb.host.everybody import OneOfAll, check_directory, copy_of, with_ledgers

    host, directory = host_of_all(options), options.file
    if directory is None or durable.open_already(directory) is not None:
        raise UsageError("--all needs a directory for the copies")
    check_directory(host, directory)
    with output_files.plain_faults(directory):
        os.makedirs(directory, mode=0o700, exist_ok=True)
    sizes: list[int] = []

    def copy(user: OneOfAll) -> None:
        final, _ = copy_of(host, user, directory, replace=options.force)
        sizes.append(os.path.getsize(final))
        options.interrupted = f"{plural(len(sizes), 'ledger')} copied, which is kept"

    code = for_all(with_ledgers(host), "copying", options, copy)
    inform(
        options, f"copied the ledgers of {plural(len(sizes), 'user')} to {named(directory)}: {megabytes(sum(sizes))}"
    )
    return code


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
