"""What most commands begin with: the configuration and the ledger."""

import argparse
import os
from pathlib import Path

from spamnb.config import Config, default_config_path, default_ledger_path, load
from spamnb.errors import LedgerError
from spamnb.ledger.copies import refuse_new
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.place import present


def config_path(options: argparse.Namespace) -> Path:
    """The configuration that the options name, or the usual one."""
    return default_config_path(os.environ) if options.config is None else Path(options.config)


def configuration(options: argparse.Namespace) -> Config:
    """The configuration. Without one, and unless one was named, the defaults: training and scoring need no Maildir."""
    path = config_path(options)
    if options.config is None and _is_absent(path):
        return Config(mailboxes=(), ledger=default_ledger_path(os.environ))
    return load(path, os.environ)


def _is_absent(path: Path) -> bool:
    """Whether nothing is there; of a place that may not be looked at this is not known, and reading it says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def open_ledger(options: argparse.Namespace) -> tuple[Config, Ledger]:
    """The configuration, and its ledger."""
    config = configuration(options)
    return config, Ledger(str(config.ledger))


def open_to_read(options: argparse.Namespace) -> tuple[Config, Ledger | None]:
    """The configuration, and its ledger to read: neither made nor changed. None where there is no ledger yet.

    Raises LedgerError where there should be one: it cannot be looked at, or its copies are all that is left.
    """
    config = configuration(options)
    path = str(config.ledger)
    try:
        is_there = os.stat(present(path)).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        is_there = False
    except OSError as fault:
        raise LedgerError(f"The ledger {path} cannot be read ({fault.strerror}): check who owns it") from fault
    if is_there:
        return config, Ledger(path, only_read=True)
    refuse_new(path)
    return config, None
