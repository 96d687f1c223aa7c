"""Add the learned counts of another filter.

It adds them to the counts here. `spamnb undo` takes them back.

example:
  spamnb import counts.txt
"""

import argparse
import os
import sys
import time
from typing import BinaryIO

from spamnb.acts.training import import_counts
from spamnb.base.errors import LedgerError, SpamnbError, UsageError
from spamnb.base.wording import clock, escaped, named
from spamnb.bulk.sources import STANDARD_INPUT
from spamnb.cli.common.config_and_ledger import open_ledger
from spamnb.cli.common.output import inform, warn
from spamnb.ledger.lessons.export_format import parse
from spamnb.mail.tokens.tokenizer import VERSION

_LONGEST_LINE = 8192  # bytes; longer than any that `parse` takes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    file = "a file from `spamnb export`, or - for standard input"
    parser.add_argument("file", metavar="FILE", help=file)
    force = "add it even if it was added before, or comes from this ledger"
    parser.add_argument("--force", action="store_true", help=force)


def run(options: argparse.Namespace) -> int:
    """Add the counts of an export."""
    name = "standard input" if options.file == STANDARD_INPUT else options.file
    with _opened(options.file) as file:
        # limits the length of lines: a file without line ends must not fill the memory
        counts = parse(iter(lambda: file.readline(_LONGEST_LINE), b""), escaped(name))
    with open_ledger(options)[1] as ledger:
        if counts.mark and counts.mark == ledger.state.mark and not options.force:
            raise LedgerError(
                f"{escaped(name)} is an export of this ledger: everything in it would count twice, so nothing was"
                " imported. To go back to an earlier state: spamnb restore FILE, with a copy from `spamnb backup`."
                " To add it nevertheless: --force"
            )
        before = ledger.journal.import_of(counts.digest)
        if before is not None and not options.force:
            raise LedgerError(
                f"these counts were imported on {clock(before.at)}: undo that with `spamnb undo {before.id}`,"
                " or add them again with --force"
            )
        summary = os.path.basename(name).encode("utf-8", "backslashreplace").decode()
        action = import_counts(ledger, counts, summary, time.time())
    if counts.tokenizers and counts.tokenizers != (VERSION,):
        made_with = f"another tokenizer ({', '.join(map(str, counts.tokenizers))}; this one is {VERSION})"
        warn(f"these counts were made with {made_with}, and help less: the two read some tokens differently")
        warn(
            f"better: undo this (`spamnb undo {action}`), install the same version on both sides,"
            " run `spamnb train --again` there, then export and import again"
        )
    added = f"added {counts.ham} ham and {counts.spam} spam messages, {len(counts.tokens)} tokens"
    inform(options, f"{added}; to undo: spamnb undo {action}")
    return 0


def _opened(path: str) -> BinaryIO:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise UsageError("standard input is closed: pipe an export into it, or give a file")
        return open(sys.stdin.fileno(), "rb", closefd=False)
    try:
        return open(path, "rb")
    except OSError as fault:
        raise SpamnbError(f"cannot read {named(path)}: {fault.strerror}; check the path") from fault
