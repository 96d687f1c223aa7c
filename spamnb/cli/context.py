"""What most commands begin with: the configuration and the ledger."""

import argparse
import os
from pathlib import Path

from spamnb.config import Config, default_config_path, default_ledger_path, load
from spamnb.ledger.ledger import Ledger


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
