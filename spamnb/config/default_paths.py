"""The default paths of the configuration and the ledger."""

import os
from collections.abc import Mapping
from pathlib import Path

from spamnb.base.errors import ConfigError

SYSTEM_CONFIG = Path("/etc/spamnb/config.yaml")
LEDGERS_OF_HOST = Path("/var/lib/spamnb-host")  # not /var/lib/spamnb, which has directories of other users' services


def default_config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the first configuration file that exists, or the first path of the search if none exists.

    The order is the service manager's `$CONFIGURATION_DIRECTORY`, the user's own
    `${XDG_CONFIG_HOME:-~/.config}/spamnb`, and `/etc/spamnb`, which is never the proposed place of a new file.
    """
    paths = [*own_config_paths(environ), SYSTEM_CONFIG]
    return next(filter(os.path.exists, paths), paths[0])


def own_config_paths(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the paths of one person's configuration, which the search tries before the system's."""
    service = first_directory(environ, "CONFIGURATION_DIRECTORY")
    user = first_directory(environ, "XDG_CONFIG_HOME", ".config")
    return list(filter(None, [service and service / "config.yaml", user and user / "spamnb" / "config.yaml"]))


def default_ledger_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `$STATE_DIRECTORY/ledger.sqlite`, or else `${XDG_DATA_HOME:-~/.local/share}/spamnb/ledger.sqlite`.

    Raises ConfigError if the environment names none of these.
    """
    if (state := first_directory(environ, "STATE_DIRECTORY")) is not None:
        return state / "ledger.sqlite"
    if (share := first_directory(environ, "XDG_DATA_HOME", ".local/share")) is not None:
        return share / "spamnb" / "ledger.sqlite"
    raise ConfigError(
        "HOME is not set, so the ledger has no place. Set HOME, or write 'ledger: /a/full/path' in the configuration."
    )


def instance(environ: Mapping[str, str]) -> str:
    """Return the name of this service, if a host has several, as spamnb@.service sets it; "" for the only one."""
    return environ.get("SPAMNB_INSTANCE", "").replace("/", "-")  # it becomes a part of a file name


def first_directory(environ: Mapping[str, str], name: str, in_home: str | None = None) -> Path | None:
    """Return the first absolute directory in a variable of the environment, or else one in the home directory.

    The service manager joins several directories with ":". The XDG specification ignores a relative path.
    """
    value = environ.get(name, "")
    first = value.split(":", 1)[0] if name.endswith("_DIRECTORY") else value
    if os.path.isabs(first):
        return Path(first)
    home = None if in_home is None else first_directory(environ, "HOME")
    return home and home / str(in_home)
