"""`spamnb init --fresh`: put the old ledger aside, and begin an empty one."""

import argparse
import contextlib
import os
import time
from pathlib import Path

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import escaped, plural
from spamnb.cli.common.config_and_ledger import configuration
from spamnb.cli.common.output import inform, is_confirmed, is_dialogue, say, warn
from spamnb.config import default_ledger_path
from spamnb.ledger.copies.recovery import begin_anew
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger


def run(config_path: Path, options: argparse.Namespace) -> bool:
    """Begin anew, if there is something to forget and the person agrees. Returns whether `init` goes on."""
    ledger = _ledger_of(config_path, options)
    if not (os.path.lexists(present(ledger)) or rolling(ledger)):
        return True
    with only_service(ledger) as lock:
        if not _is_agreed(ledger, options):
            print("Nothing was changed.")
            return False
        former = begin_anew(ledger, time.time())
        EndRecord(ledger, lock).begin()  # the record of the last end is about the old ledger
    inform(options, "The filter has forgotten everything.")
    if former is not None:
        kept = escaped(former)
        inform(options, f"The old ledger is kept as {kept}. To go back: spamnb restore {kept}\n")
    return True


def _ledger_of(config_path: Path, options: argparse.Namespace) -> str:
    """Return the ledger that the configuration names; if there is none yet, the ledger that `init` will name."""
    if os.path.lexists(config_path):
        config = configuration(options)
        if config.exchange.database is not None:
            warn("all shared lessons come back from the database: those of other hosts, and your own")
        return str(config.ledger)
    if options.config is not None:
        return str(config_path.absolute().with_name("ledger.sqlite"))
    return str(default_ledger_path(os.environ))


def _is_agreed(ledger: str, options: argparse.Namespace) -> bool:
    if options.yes:
        return True
    if not is_dialogue() or options.quiet:
        raise UsageError("init --fresh forgets all lessons, and cannot ask here: give --yes to confirm")
    learned = "its lessons"
    with contextlib.suppress(SpamnbError, OSError), Ledger(ledger, only_read=True) as opened:  # a damaged one too
        ham, spam = opened.lessons.totals()[:2].tolist()
        learned = f"its lessons from {ham} ham and {plural(spam, 'spam message')}"
    say(f"The filter will forget {learned}, its history, and your choices.")
    return is_confirmed("Start again from nothing?")
