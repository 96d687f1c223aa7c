"""The configuration and the ledger, which most commands need first."""

import argparse
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from spamnb.base.errors import ConfigError, LedgerError
from spamnb.base.wording import option
from spamnb.cli.common.output import warn
from spamnb.config import Config, default_config_path, default_ledger_path, load, load_any
from spamnb.config.default_paths import SYSTEM_CONFIG, own_config_paths

if TYPE_CHECKING:  # a command that needs only the configuration does not wait for numpy
    from spamnb.host.host import Host
    from spamnb.ledger.ledger import Ledger

_AS_ROOT = {"config", "help", "demo", "compare", "install-unit"}  # they need no ledger


def config_path(options: argparse.Namespace) -> Path:
    """Return the path of the configuration that the options name, or the usual one. `init --host` uses the system's."""
    if options.config is not None:
        return Path(options.config)
    return SYSTEM_CONFIG if getattr(options, "host", False) else default_config_path(os.environ)


def path_for_init(options: argparse.Namespace) -> Path:
    """Return the path of the configuration that `init` writes. On a mail host a person gets one beside the host's."""
    path = config_path(options)
    if options.config is None and not options.for_user and path == SYSTEM_CONFIG and (own := own_config_paths()):
        with contextlib.suppress(ConfigError):
            return own[0] if load_any(path, os.environ).is_template else path
    return path


def new_ledger_path(options: argparse.Namespace) -> Path | None:
    """Return the ledger that a new configuration names: beside the named file, or None for the usual place."""
    return None if options.config is None else Path(options.config).absolute().with_name("ledger.sqlite")


def command(options: argparse.Namespace) -> str:
    """Return the beginning of the next command to type, with the configuration and the user if they were named."""
    named = [("--config", options.config), ("--user", options.for_user)]
    return " ".join(["spamnb", *(option(name, value) for name, value in named if value)])


def configuration(options: argparse.Namespace, *, of_all: bool = False) -> Config:
    """Return the configuration of one person, or of the named user of a mail host. If no file exists and no file was
    named, return the defaults: training and scoring need no Maildir.

    of_all: accept a mail host's configuration without a user, for the settings of all users. Raises UsageError if
    nobody was named for a host's, if the user is unknown, or if a user was named for one person's.
    """
    path = config_path(options)
    if options.for_user:
        return _of_user(options)
    with contextlib.suppress(OSError):  # if it cannot be looked at, `load` gives the reason
        if options.config is None and _size(path) is None:
            return Config(mailboxes=(), ledger=default_ledger_path(os.environ))
    return load_any(path, os.environ) if of_all else load(path, os.environ)


def host_of(options: argparse.Namespace) -> "Host | None":
    """Return the mail host, if the configuration is a host's and no user was named; None if it is one person's."""
    if options.for_user or not configuration(options, of_all=True).is_template:
        return None
    from spamnb.host.host import load_host

    return load_host(config_path(options), os.environ)


def _of_user(options: argparse.Namespace) -> Config:
    """Return the configuration of a mail host's user. Warn once if the user's own file is faulty."""
    if (known := getattr(options, "configured", None)) is None:
        from spamnb.host.host import load_user

        known = options.configured = load_user(config_path(options), os.environ, options.for_user)
        for line in known.fault.splitlines():
            warn(line)
        if known.fault:
            warn(f"until you correct that, {known.config.user} has the settings of all users")
    config: Config = known.config
    return config


def go_on_as_owner(options: argparse.Namespace) -> None:
    """As root, go on as the owner of the command's ledger. Call this before any thread starts.

    The service stays root in some cases (`service_owner`). Raises SpamnbError if the owner is not clear. A faulty
    configuration is left to the command.
    """
    if os.geteuid() or options.command in _AS_ROOT:
        return
    from spamnb.cli.common.as_owner import become, owner_of, owner_of_ledger

    path = config_path(options).absolute()
    if options.command == "run":
        from spamnb.cli.common.service_owner import owner_for_service

        if (owner := owner_for_service(path)) is not None:
            become(owner, options)
            options.config = str(path)  # the usual place is another one for that user
        return
    owner = owner_of(path)
    if owner is None and (options.command != "init" or _reads_only(options)):  # root owns it, and trusts it
        with contextlib.suppress(ConfigError):
            owner = owner_of_ledger(path, *_places(options))
    if owner is not None:
        become(owner, options)


def _places(options: argparse.Namespace) -> tuple[Path, Path | None]:
    """Return the directory of the ledger, and the Maildir. For a host without a user: the directories above all."""
    if not options.for_user:
        config = configuration(options, of_all=True)
        if not config.is_template:
            return config.ledger.absolute().parent, config.mailboxes[0].path if config.mailboxes else None
    from spamnb.host.host import ANYBODY, load_host

    host = load_host(config_path(options), os.environ)
    if not options.for_user:
        return host.directory, host.mail.fixed
    user = host.find(options.for_user, ANYBODY)
    if user is None:
        raise host.unknown(options.for_user)
    return host.ledgers.fill(user.name).parent, user.root


def _reads_only(options: argparse.Namespace) -> bool:
    """Return whether `init` learns by a configuration, and does not write one."""
    return (options.learn or options.fresh) and not (options.force or options.maildirs or options.host)


def open_ledger(options: argparse.Namespace) -> tuple[Config, "Ledger"]:
    """Return the configuration in force, with the person's choices, and its ledger."""
    from spamnb.ledger.ledger import Ledger

    config = configuration(options)
    return _with_choices(config, Ledger(str(config.ledger)))


def open_to_read(options: argparse.Namespace) -> tuple[Config, "Ledger | None"]:
    """Return the configuration in force, and its ledger, opened only to read; None if there is no ledger yet.

    Raises LedgerError if the ledger cannot be looked at, or if only its copies are left.
    """
    from spamnb.ledger.ledger import Ledger

    config, path = ledger_to_read(options)
    return (config, None) if path is None else _with_choices(config, Ledger(path, only_read=True))


def _with_choices(config: Config, ledger: "Ledger") -> tuple[Config, "Ledger"]:
    try:
        return ledger.choices.over(config), ledger
    except BaseException:
        ledger.close()
        raise


def ledger_to_read(options: argparse.Namespace) -> tuple[Config, str | None]:
    """Return the configuration as its file has it, and the path of the ledger, or None if there is no ledger yet.

    Raises like `open_to_read`.
    """
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
    """Return the bytes of a file, or None if it does not exist. Raises OSError if the system does not say."""
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
