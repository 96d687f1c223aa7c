"""Write the learned counts as text.

The text has a line for each token, with the number of ham and spam messages that have it.
It holds no mail and no names of folders. But it holds rare words of your mail.

example:
  spamnb export counts.txt
"""

import argparse
import contextlib
import shutil
import tempfile

from spamnb.base.durable import open_already
from spamnb.base.wording import named
from spamnb.cli.common import output_files
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.output import inform
from spamnb.ledger.lessons.export_format import with_mark
from spamnb.ledger.lessons.memory import MemoryLessons

INTERRUPTED = "nothing was written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    file = "the file to write (default: standard output)"
    parser.add_argument("file", nargs="?", type=output_files.output_file, default="-", metavar="FILE", help=file)
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: argparse.Namespace) -> int:
    """Write all counts. This only reads the ledger."""
    config, ledger = open_to_read(options)
    with tempfile.TemporaryFile() as spool:
        with ledger or contextlib.nullcontext():  # closed soon: a slow reader of a pipe must not hold up the ledger
            output_files.refuse_ledger(str(config.ledger), options.file)
            output_files.check(options.file, replace=options.force)
            lessons = MemoryLessons() if ledger is None else ledger.lessons
            mark = "" if ledger is None else ledger.state.mark
            spool.writelines(line.encode() for line in with_mark(lessons.export(), mark))
            ham, spam, *_, tokens = lessons.totals().tolist()
        spool.seek(0)
        with output_files.opened(options.file, replace=options.force) as file:
            shutil.copyfileobj(spool, file)
    if open_already(options.file) is None:  # otherwise the sentence might end up among the counts
        inform(options, f"wrote {named(options.file)}: {ham} ham and {spam} spam messages, {tokens} tokens")
    return 0
