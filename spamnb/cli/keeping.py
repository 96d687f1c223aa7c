"""`backup`, `restore`, `prune`: copies of the ledger, and its size."""

import argparse
import os
import shutil
import stat
import time

from spamnb.cli import written
from spamnb.cli.context import configuration, open_ledger
from spamnb.cli.output import clock, megabytes, named, printable, progress
from spamnb.errors import SpamnbError, UsageError
from spamnb.ledger.copying import Held, send, write
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.restoring import restore as restore_from
from spamnb.service.alone import alone, is_running

# While the file is written anew nobody else can write, and a service waits 10 s for that. 173 MB took 5.1 s on two
# cores that were busy with other work.
_LARGEST_WITH_SERVICE = 150_000_000
_ROUNDS = 3  # what is learned meanwhile, and what the estimate was short of
_SPARE = 16_000_000  # bytes; for the log of the steps before


def backup(options: argparse.Namespace) -> int:
    """Copy the ledger."""
    path = str(configuration(options).ledger)
    with written.plain_faults(options.file):
        stream = written.stream(options.file)
        if stream is not None:
            if os.isatty(stream):
                raise UsageError("a copy of the ledger is not for a terminal: name a file, or redirect the output")
            _send(path, stream)
            return 0
        if _is_pipe(options.file):
            with open(options.file, "wb", buffering=0) as pipe:
                _send(path, pipe.fileno())
            return 0
        written.refuse_ledger(path, options.file)
        if not options.force and os.path.lexists(options.file):
            raise FileExistsError(options.file)  # before anything is said of the ledger
        with Ledger(path, only_read=True):
            held = write(path, options.file, replace=options.force)
    if not options.quiet:
        print(f"wrote {named(options.file)}: {_in_words(options.file, held)}")
    return 0


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _send(ledger: str, descriptor: int) -> None:
    with Ledger(ledger, only_read=True):  # as long as it is open, no other file takes its place
        send(ledger, descriptor)


def restore(options: argparse.Namespace) -> int:
    """Put a copy in the ledger's place."""
    config = configuration(options)
    path, shown = str(config.ledger), named(options.file)
    written.refuse_ledger(path, options.file)
    if not os.path.isfile(options.file):
        raise UsageError(f"there is no file {shown}: give what `spamnb backup` has written, or one of the copies")
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
    with alone(path):
        done = restore_from(path, options.file, time.time())
    if not options.quiet and done.held is not None:
        print(f"restored {shown}, of {clock(done.made_at)}: {_in_words(options.file, done.held)}")
        if done.aside is not None:
            print(f"The former ledger is kept as {printable(done.aside)}.")
        print("The mail that lies in your folders stays where it is: the next start takes note of it, and no more.")
    return 0


def _in_words(path: str, held: Held) -> str:
    size = megabytes(os.path.getsize(path))
    return f"{size}, {held.ham} ham and {held.spam} spam messages, {held.tokens} tokens"


def prune(options: argparse.Namespace) -> int:
    """Forget the least useful tokens, until the ledger is small enough."""
    _, ledger = open_ledger(options)
    os.environ["SQLITE_TMPDIR"] = os.path.dirname(os.path.abspath(ledger.path))  # the room there is what we look at
    with ledger:
        before = ledger.pruning.size()
        if before <= options.to:
            print(f"The ledger has {megabytes(before)}: there is nothing to do.")
            return 0
        tokens = hapaxes = 0
        wanted = options.to
        for _ in range(_ROUNDS):
            plan = ledger.pruning.plan(wanted)
            if plan.size > wanted:
                raise UsageError(
                    f"without any token the ledger would still have {megabytes(plan.size)}: that is what it knows of"
                    " messages and what was done; choose a larger size"
                )
            if options.dry_run:
                print(f"would forget {_counted(plan.tokens, plan.hapaxes)}; about {megabytes(plan.size)} would be left")
                return 0
            _need_room(ledger.path, 2 * plan.size + _SPARE)
            if plan.size > _LARGEST_WITH_SERVICE and is_running(ledger.path):
                raise SpamnbError("the ledger is too large to be written anew while the service runs: stop that first")
            for _ in progress(ledger.pruning.forget(plan, time.sleep), "forgetting", options.quiet):
                pass
            ledger.pruning.compact()
            tokens, hapaxes = tokens + plan.tokens, hapaxes + plan.hapaxes
            if (after := ledger.pruning.size()) <= options.to:
                break
            wanted = options.to - (after - plan.size)  # by so much the estimate was too low
    if not options.quiet:
        print(f"forgot {_counted(tokens, hapaxes)}; {megabytes(before)} became {megabytes(after)}")
    return 0


def _counted(tokens: int, hapaxes: int) -> str:
    return f"{tokens} tokens, {hapaxes} of them met in one message only"


def _need_room(ledger: str, needed: int) -> None:
    directory = os.path.dirname(os.path.abspath(ledger))
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise SpamnbError(
            f"the file has to be written anew, and {directory} has too little room for that: free"
            f" {megabytes(needed - free)} more. Nothing was forgotten"
        )
