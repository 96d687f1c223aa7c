"""What most commands begin with: the configuration and the ledger."""

import argparse
import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from spamnb.base.errors import ConfigError, LedgerError
from spamnb.base.wording import escaped
from spamnb.cli.common.output import warn
from spamnb.config import Config, default_config_path, default_ledger_path, load, load_any
from spamnb.config.default_paths import SYSTEM_CONFIG

if TYPE_CHECKING:  # a command that needs the configuration alone does not wait for numpy
    from spamnb.host.host import Host
    from spamnb.ledger.ledger import Ledger

_AS_ROOT = {"run", "config", "help", "demo", "compare", "install-unit"}  # which leave a ledger alone, or serve it


def config_path(options: argparse.Namespace) -> Path:
    """The configuration that the options name, or the usual one; `init --host` is about that of the machine."""
    if options.config is not None:
        return Path(options.config)
    return SYSTEM_CONFIG if getattr(options, "host", False) else default_config_path(os.environ)


def command(options: argparse.Namespace) -> str:
    """How the next command begins: with the configuration and the user, if they were named."""
    named = [("--config", options.config), ("--user", options.for_user)]
    return " ".join(["spamnb", *(f"{option} {escaped(shlex.quote(value))}" for option, value in named if value)])


def configuration(options: argparse.Namespace, *, of_all: bool = False) -> Config:
    """The configuration, of one person or of the user who was named. Without one, and unless one was named, the
    defaults: training and scoring need no Maildir.

    of_all: that of a mail host will do too, for what holds of all its users. Raises UsageError where it is a host's and
    nobody was named, or somebody was and there is no such user, or no host.
    """
    path = config_path(options)
    if options.for_user:
        return _of_user(options)
    with contextlib.suppress(OSError):  # where it may not be looked at: `load` tells why
        if options.config is None and _size(path) is None:
            return Config(mailboxes=(), ledger=default_ledger_path(os.environ))
    return load_any(path, os.environ) if of_all else load(path, os.environ)


def host_of(options: argparse.Namespace) -> "Host | None":
    """The mail host whose configuration it is, where none of its users was named; None where it is one person's."""
    if options.for_user or not configuration(options, of_all=True).is_template:
        return None
    from spamnb.host.host import load_host

    return load_host(config_path(options), os.environ)


def _of_user(options: argparse.Namespace) -> Config:
    """The configuration of the user of a mail host; that the user's own file is faulty is said once."""
    if (known := getattr(options, "configured", None)) is None:
        from spamnb.host.host import load_user

        known = options.configured = load_user(config_path(options), os.environ, options.for_user)
        for line in known.fault.splitlines():
            warn(line)
        if known.fault:
            warn(f"until that is corrected, the settings of all users hold for {known.config.user}")
    config: Config = known.config
    return config


def go_on_as_owner(options: argparse.Namespace) -> None:
    """As root, go on as the owner of the ledger that a command works with, if it is another's; before any thread.

    Raises SpamnbError where nobody can tell whose it is. A faulty configuration is left to the command.
    """
    if os.geteuid() or options.command in _AS_ROOT:
        return
    from spamnb.cli.common.as_owner import become, owner_of, owner_of_ledger

    path = config_path(options).absolute()
    owner = owner_of(path)
    if owner is None and (options.command != "init" or _reads_only(options)):  # it is root's, who trusts what it says
        with contextlib.suppress(ConfigError):
            owner = owner_of_ledger(path, *_places(options))
    if owner is not None:
        become(owner, options)


def _places(options: argparse.Namespace) -> tuple[Path, Path | None]:
    """The directory of the ledger, and the Maildir; of a host without a user, what all of them have in common."""
    if not options.for_user:
        config = configuration(options, of_all=True)
        if not config.is_template:
            return config.ledger.absolute().parent, config.mailboxes[0].path if config.mailboxes else None
    from spamnb.host.host import ANYBODY, load_host

    host = load_host(config_path(options), os.environ)
    if not options.for_user:
        return host.register.parent, host.mail.fixed
    user = host.find(options.for_user, ANYBODY)
    if user is None:
        raise host.unknown(options.for_user)
    return host.ledgers.fill(user.name).parent, user.root


def _reads_only(options: argparse.Namespace) -> bool:
    """Whether `init` is to learn by a configuration, and not to write one."""
    return (options.learn or options.fresh) and not (options.force or options.maildirs or options.host)


def open_ledger(options: argparse.Namespace) -> tuple[Config, "Ledger"]:
    """The configuration in force, with what was chosen beside it, and its ledger."""
    from spamnb.ledger.ledger import Ledger

    config = configuration(options)
    return _with_choices(config, Ledger(str(config.ledger)))


def open_to_read(options: argparse.Namespace) -> tuple[Config, "Ledger | None"]:
    """The same, and the ledger to read: neither made nor changed. None where there is no ledger yet.

    Raises LedgerError where there should be one: it cannot be looked at, or its copies are all that is left.
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
    """The configuration, as its file has it, and the path of its ledger, None where there is none yet.

    Raises what `open_to_read` does.
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
    """Bytes of a file, or None where there is none. Raises OSError where that cannot be told."""
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
