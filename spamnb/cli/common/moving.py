"""Whether the filter moves mail, as `init` and `run` say it."""

import argparse
import time
from contextlib import nullcontext

from spamnb.base.wording import plural
from spamnb.cli.common.config_and_ledger import command, open_to_read
from spamnb.monitoring.status import Status, status


def whether_it_moves(options: argparse.Namespace) -> str:
    """Return whether mail is moved, and if not, what is missing, and the next step. Raises SpamnbError."""
    config, ledger = open_to_read(options)
    now = time.time()
    with ledger or nullcontext():
        found = status(config, ledger, now)
        return f"{found.sentence(now)}{step_to_hasten(found, options)}"


def step_to_hasten(found: Status, options: argparse.Namespace) -> str:
    """Return the command that hastens the first move, with what it asks; "" without one."""
    why = found.not_yet
    if why is None or found.stop is not None or not why.questions:
        return ""
    return f" {why.way}, answer {plural(why.questions, 'question')}: {command(options)} review"
