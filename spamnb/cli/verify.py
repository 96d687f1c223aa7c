"""Check the counts against the learned messages.

It adds up the tokens of all learned messages, and compares the sums with the counts. It also
checks the numbers of judged messages that the pages show: by time, probability and sender.

With --all it verifies the ledgers of all users of a mail host, and names at the end those
that have faults or cannot be read.

example:
  spamnb verify
  spamnb verify --all
"""

import argparse
from collections import Counter
from itertools import chain

from spamnb.base.errors import LedgerDamagedError
from spamnb.base.wording import plural
from spamnb.cli.common import exit_codes
from spamnb.cli.common.all_users import add_all, for_all, host_of_all
from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.cli.common.output import inform, progress, warn

INTERRUPTED = "nothing was changed"
_SHOWN = 20  # faults
_SUM = "The counts of {tokens} tokens are the sum of {ham} ham and {spam} spam messages."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_all(parser, "verify the ledgers")


def run(options: argparse.Namespace) -> int:
    """Print the faults, or the numbers of messages that the counts are the sum of. It writes nothing."""
    if options.all_users:
        return _all(options)
    _, ledger = open_to_read(options)
    if ledger is None:
        inform(options, _SUM.format(tokens=0, ham=0, spam=0))
        return 0
    with ledger:
        learned = int(ledger.lessons.totals()[:2].sum())
        faults = list(chain.from_iterable(progress(ledger.verification(), "verifying", options.quiet, learned)))
        pending = len(ledger.journal.intents())
        ham, spam, *_, tokens = ledger.lessons.totals().tolist()
        imported = ledger.lessons.imported()
    for fault in faults[:_SHOWN]:
        warn(fault)
    if faults:
        more = f", {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        found = f"{plural(len(faults), 'fault')} in the ledger {ledger.path}{more}"
        warn(f"{found}: restore a copy of the ledger, or train again")
        return exit_codes.ERROR
    inform(options, _SUM.format(tokens=tokens, ham=ham, spam=spam))
    if any(imported):
        inform(options, f"{imported[0]} ham and {imported[1]} spam messages of these were imported.")
    if pending:
        inform(options, f"{plural(pending, 'move')} pending: the service finishes them, now or at its next start.")
    return 0


def _all(options: argparse.Namespace) -> int:
    """Verify the ledgers of all users."""
    from spamnb.host.everybody import OneOfAll, with_ledgers
    from spamnb.ledger.ledger import Ledger

    host, sums = host_of_all(options), Counter[str]()

    def verify(user: OneOfAll) -> None:
        with Ledger(user.path, only_read=True) as ledger:
            faults = ledger.verify()
            ham, spam = ledger.lessons.totals().tolist()[:2]
        if faults:
            more = f"; {len(faults) - 1} more" if len(faults) > 1 else ""
            raise LedgerDamagedError(f"{faults[0]}{more}: restore a copy of the ledger, or train again")
        sums.update(ledgers=1, ham=ham, spam=spam)

    code = for_all(with_ledgers(host), "verifying", options, verify)
    sound = plural(sums["ledgers"], "ledger")
    inform(options, f"The counts of {sound} are the sums of {sums['ham']} ham and {sums['spam']} spam messages.")
    return code
