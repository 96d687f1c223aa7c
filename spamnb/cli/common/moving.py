"""Whether the filter moves mail, as `init` and `run` say it."""

import argparse
import time
from contextlib import nullcontext

from spamnb.cli.common.config_and_ledger import open_to_read
from spamnb.monitoring.status import status


def whether_it_moves(options: argparse.Namespace) -> str:
    """Return in one sentence whether mail is moved, and if not, what is missing. Raises SpamnbError."""
    config, ledger = open_to_read(options)
    now = time.time()
    with ledger or nullcontext():
        return status(config, ledger, now).sentence(now)
