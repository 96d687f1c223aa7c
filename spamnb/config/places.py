"""Where the configuration and the ledger lie when nobody says."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from spamnb.errors import ConfigError

SYSTEM_CONFIG = Path("/etc/spamnb/config.yaml")


def default_config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The first configuration file that exists, or else the first place one would be looked for.

    The order is the service manager's `$CONFIGURATION_DIRECTORY`, the person's own
    `${XDG_CONFIG_HOME:-~/.config}/spamnb`, and `/etc/spamnb`, which is never where a new file is proposed.
    """
    own = list(_own_configs(environ))
    found = (path for path in [*own, SYSTEM_CONFIG] if os.path.exists(path))
    return next(found, own[0] if own else SYSTEM_CONFIG)


def default_ledger_path(environ: Mapping[str, str] = os.environ) -> Path:
    """`$STATE_DIRECTORY/ledger.sqlite`, or else `${XDG_DATA_HOME:-~/.local/share}/spamnb/ledger.sqlite`.

    Raises ConfigError where the environment names none of these.
    """
    if (state := first_directory(environ, "STATE_DIRECTORY")) is not None:
        return state / "ledger.sqlite"
    share = first_directory(environ, "XDG_DATA_HOME") or _in_home(environ, ".local/share")
    if share is None:
        raise ConfigError(
            "HOME is not set, so the ledger has no place. Set HOME, or write 'ledger: /a/full/path' "
            "in the configuration."
        )
    return share / "spamnb" / "ledger.sqlite"


def without_link(ledger: Path) -> Path:
    """The ledger itself where the path is a symbolic link to it: locks and copies go by the directory it lies in."""
    return Path(os.path.realpath(ledger)) if ledger.is_symlink() else ledger


def first_directory(environ: Mapping[str, str], name: str) -> Path | None:
    """The first absolute directory in a variable of the environment, if it names one.

    The service manager joins several directories with ":"; the XDG specification says that a relative path
    is to be ignored.
    """
    value = environ.get(name, "")
    first = value.split(":", 1)[0] if name.endswith("_DIRECTORY") else value
    return Path(first) if os.path.isabs(first) else None


def _own_configs(environ: Mapping[str, str]) -> Iterator[Path]:
    if (directory := first_directory(environ, "CONFIGURATION_DIRECTORY")) is not None:
        yield directory / "config.yaml"
    base = first_directory(environ, "XDG_CONFIG_HOME") or _in_home(environ, ".config")
    if base is not None:
        yield base / "spamnb" / "config.yaml"


def _in_home(environ: Mapping[str, str], below: str) -> Path | None:
    home = first_directory(environ, "HOME")
    return None if home is None else home / below
