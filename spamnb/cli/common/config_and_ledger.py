"""What most commands begin with: the configuration and the ledger."""

import argparse
import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from spamnb.base.errors import LedgerError
from spamnb.base.wording import escaped
from spamnb.config import Config, default_config_path, default_ledger_path, load

if TYPE_CHECKING:  # a command that needs the configuration alone does not wait for numpy
    from spamnb.ledger.ledger import Ledger


def config_path(options: argparse.Namespace) -> Path:
    """The configuration that the options name, or the usual one."""
    return default_config_path(os.environ) if options.config is None else Path(options.config)


def command(options: argparse.Namespace) -> str:
    """How the next command begins: with the configuration, if one was named."""
    return "spamnb" if options.config is None else f"spamnb --config {escaped(shlex.quote(options.config))}"


def configuration(options: argparse.Namespace) -> Config:
    """The configuration. Without one, and unless one was named, the defaults: training and scoring need no Maildir."""
    path = config_path(options)
    with contextlib.suppress(OSError):  # where it may not be looked at: `load` tells why
        if options.config is None and _size(path) is None:
            return Config(mailboxes=(), ledger=default_ledger_path(os.environ))
    return load(path, os.environ)


def open_ledger(options: argparse.Namespace) -> tuple[Config, "Ledger"]:
    """The configuration, and its ledger."""
    from spamnb.ledger.ledger import Ledger

    config = configuration(options)
    return config, Ledger(str(config.ledger))


def open_to_read(options: argparse.Namespace) -> tuple[Config, "Ledger | None"]:
    """The configuration, and its ledger to read: neither made nor changed. None where there is no ledger yet.

    Raises LedgerError where there should be one: it cannot be looked at, or its copies are all that is left.
    """
    from spamnb.ledger.ledger import Ledger

    config, path = ledger_to_read(options)
    return config, None if path is None else Ledger(path, only_read=True)


def ledger_to_read(options: argparse.Namespace) -> tuple[Config, str | None]:
    """The configuration, and the path of its ledger, None where there is none yet. Raises what `open_to_read` does."""
    from spamnb.ledger.file.parts import refuse_new
    from spamnb.ledger.file.replacement import present

    config = configuration(options)
    path = str(config.ledger)
    try:
        size = _size(present(path))
    except OSError as fault:
        raise LedgerError(f"The ledger {path} cannot be read ({fault.strerror}): check who owns it") from fault
    if size:
        return config, path
    refuse_new(path)
    return config, None


def _size(path: str | Path) -> int | None:
    """Bytes of a file, or None where there is none. Raises OSError where that cannot be told."""
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
