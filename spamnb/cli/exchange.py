"""`export` and `import`: what was learned as text, from one ledger to another."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import BinaryIO

from spamnb.cli import written
from spamnb.cli.context import open_ledger
from spamnb.cli.output import clock, named, printable
from spamnb.errors import LedgerError, SpamnbError, UsageError
from spamnb.ledger.exchange import parse
from spamnb.mail.tokenizer import VERSION

_LONGEST_LINE = 8192  # bytes; longer than any that `parse` takes


def export(options: argparse.Namespace) -> int:
    """Write all counts as text."""
    _, ledger = open_ledger(options)
    with ledger, tempfile.TemporaryFile() as spool:
        written.refuse_ledger(ledger.path, options.file)
        written.check(options.file, replace=options.force)
        spool.writelines(line.encode() for line in ledger.imports.export())
        totals = ledger.learned.totals().tolist()
        ledger.close()  # whoever reads a pipe slowly holds up nobody who needs the ledger
        spool.seek(0)
        with written.opened(options.file, replace=options.force) as file:
            shutil.copyfileobj(spool, file)
    if not options.quiet and not written.is_stream(options.file):
        print(f"wrote {named(options.file)}: {totals[0]} ham and {totals[1]} spam messages, {totals[6]} tokens")
    return 0


def import_(options: argparse.Namespace) -> int:
    """Add the counts of an export."""
    name = "standard input" if options.file == written.STANDARD else options.file
    with _opened(options.file) as file:
        counts = parse(_lines(file), printable(name))
    digest = counts.digest
    _, ledger = open_ledger(options)
    with ledger:
        before = ledger.imports.standing(digest)
        if before is not None and not options.force:
            done = ledger.journal.get(before)
            when = "" if done is None else f" on {clock(done.at)}"
            raise LedgerError(
                f"these very counts were imported{when}: take that back with `spamnb undo {before}`,"
                " or add them again with --force"
            )
        summary = os.path.basename(name).encode("utf-8", "backslashreplace").decode()
        action = ledger.imports.add(counts, summary, time.time())
    if counts.tokenizers and counts.tokenizers != (VERSION,):
        print(
            f"spamnb: these counts were made with another tokenizer ({', '.join(map(str, counts.tokenizers))};"
            f" this one is {VERSION}), and help less: not all tokens are read alike",
            file=sys.stderr,
        )
    if not options.quiet:
        print(
            f"added {counts.ham} ham and {counts.spam} spam messages, {len(counts.tokens)} tokens;"
            f" to take it back: spamnb undo {action}"
        )
    return 0


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == written.STANDARD:
        if sys.stdin is None:
            raise UsageError("standard input is closed: pipe an export into it, or give a file")
        yield sys.stdin.buffer
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below; a fault inside the block is not one of opening
    except OSError as fault:
        raise SpamnbError(f"cannot read {printable(path)}: {fault.strerror}; check the path") from fault
    with file:
        yield file


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines of no more than some length each: a file without line ends must not fill the memory."""
    while line := file.readline(_LONGEST_LINE):
        yield line
