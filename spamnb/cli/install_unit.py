"""Write the systemd units for this installation.

With --remove it removes them. Use it if the program comes from pipx or a virtual
environment; a package of a distribution brings its own units. The units start the program
by the path of this call. The command starts nothing, and prints the next step. It never
replaces or removes units that you have changed: put your own lines into `systemctl edit`.

example:
  spamnb install-unit --user
"""

import argparse
import contextlib
import os
import sys
import sysconfig
from pathlib import Path

from spamnb.base.errors import ConfigError
from spamnb.base.wording import escaped
from spamnb.cli.common.output import inform
from spamnb.config import load_any
from spamnb.config.default_paths import SYSTEM_CONFIG
from spamnb.setup import units

_NEXT = {
    "user": "{0} daemon-reload && {0} enable --now spamnb\n      loginctl enable-linger      (also while you are not"
    " logged in)",
    "system": "for all virtual users of a mail host: spamnb init --host\n      for a user with a home directory: write"
    " /etc/spamnb/USER/config.yaml, then\n      {0} daemon-reload && {0} enable --now spamnb@USER",
    "host": "{0} daemon-reload && {0} enable --now spamnb-host@1-of-1",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    whose = parser.add_mutually_exclusive_group()
    user = "the units of one person, without root (the default, unless you are root)"
    whose.add_argument("--user", dest="manager", action="store_const", const="user", help=user)
    system = "the units of the system: one instance per user, or for a mail host"
    whose.add_argument("--system", dest="manager", action="store_const", const="system", help=system)
    parser.add_argument("--remove", action="store_true", help="remove the units that this command has written")


def run(options: argparse.Namespace) -> int:
    """Write or remove units."""
    where = units.place(options.manager or ("user" if os.geteuid() else "system"), os.environ)
    if options.remove:
        removed = units.remove(where)
        for unit in removed:
            inform(options, f"removed {escaped(str(unit))}")
        inform(options, f"Next: {where.systemctl} daemon-reload" if removed else "There was nothing to remove.")
        return 0
    for unit in units.install(where, units.program(sys.argv[0], sysconfig.get_path("scripts"))):
        inform(options, f"wrote {escaped(str(unit))}")
    is_for_host = where.manager == "system" and _has_host(SYSTEM_CONFIG)
    inform(options, f"Next: {_NEXT['host' if is_for_host else where.manager].format(where.systemctl)}")
    return 0


def _has_host(path: Path) -> bool:
    """Return whether there is the configuration of a mail host."""
    with contextlib.suppress(ConfigError):
        return load_any(path, os.environ).is_template
    return False
