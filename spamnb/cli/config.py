"""Show or check the configuration.

Without an option it prints the values in force, in the form of a configuration, and your
choices (spamnb help choose). On a mail host these are the values of all users; with --user,
those of one. `--check` also checks the users' own settings.

example:
  spamnb config --check new.yaml

exit codes: 0 no fault; 78 faults, one per line
"""

import argparse
import os
from pathlib import Path

from spamnb.base.errors import ConfigError, LedgerError
from spamnb.base.wording import escaped, option
from spamnb.cli.common.config_and_ledger import command, config_path
from spamnb.cli.common.output import inform
from spamnb.config import Config, load_any
from spamnb.config.writing import example, render_all
from spamnb.host.host import ANYBODY, Host, load_user
from spamnb.host.own_settings import own_faults
from spamnb.ledger.file.readonly import size_of
from spamnb.ledger.file.replacement import present

INTERRUPTED = "nothing was changed"
_NO_CHOICES = "you have not chosen anything beside it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--example", action="store_true", help="print an example that explains every key")
    check = "list all faults of a file (default: the configuration in use)"
    one.add_argument("--check", nargs="?", const="", metavar="FILE", help=check)


def run(options: argparse.Namespace) -> int:
    """Print the example, the values in force, or the faults. Raises ConfigError with all faults of a configuration."""
    if options.example:
        print(example(), end="")
        return 0
    path = Path(options.check) if options.check else config_path(options)
    config, whose = _read(path, options)
    if options.check is None:
        _show(config, whose, options)
    else:
        doctor = f"spamnb {option('--user', config.user)} doctor" if config.user else "spamnb doctor"
        inform(options, f"{whose} has no faults. To check its folders too: {doctor}")
    return 0


def _show(config: Config, whose: str, options: argparse.Namespace) -> None:
    """Print the values in force. Comments list the chosen senders, and choices without effect."""
    in_force, said = _with_choices(config, options)
    print(f"# {whose}, with the default of each key that it leaves out")
    print("".join(f"# {line}\n" for line in said), end="")
    print(render_all(in_force), end="")


def _with_choices(config: Config, options: argparse.Namespace) -> tuple[Config, list[str]]:
    """Return the configuration with the person's choices, and lines about these."""
    from spamnb.acts.choices import standing
    from spamnb.cli.choose import lines
    from spamnb.ledger.ledger import Ledger

    if config.is_template:
        return config, []
    path = str(config.ledger)
    try:
        if not size_of(present(path)):
            return config, [_NO_CHOICES]
        if not os.geteuid() and os.stat(path).st_uid:  # root stays root here, and opens nobody else's file
            return config, [f"to list the choices beside it: {command(options)} choose"]
        with Ledger(path, only_read=True) as ledger:
            found, config = standing(ledger, config), ledger.choices.over(config)
    except LedgerError as fault:
        return config, [f"the choices beside it cannot be read: {escaped(str(fault))}"]
    if not found:
        return config, [_NO_CHOICES]
    return config, ["with these choices:", *(f"  {line}" for line in lines(found))]


def _read(path: Path, options: argparse.Namespace) -> tuple[Config, str]:
    """Return a configuration, also that of a mail host, and its name. Raises ConfigError with its faults."""
    if not options.for_user:
        config = load_any(path, os.environ)
        if config.is_template and options.check is not None:
            _check_own_settings(Host(config, path))
        return config, escaped(str(path))
    owner = None if os.geteuid() else ANYBODY  # root stays root here, and only looks
    config, fault = load_user(path, os.environ, options.for_user, owner)
    if fault:
        raise ConfigError(fault)
    return config, f"{escaped(str(path))} for {config.user}"


def _check_own_settings(host: Host) -> None:
    """Raise ConfigError with the faults in the own settings of all users, if there are any."""
    owner = None if os.geteuid() else ANYBODY  # root stays root here, and only looks
    if faults := [fault for _, fault in own_faults(host, owner)]:
        raise ConfigError("\n".join(faults))
