"""Determine how spamnb runs here: as a user's service, as a system unit, on a mail host, in a container, or by hand.

Each kind needs different commands. `doctor`, `init` and the pages ask here before they suggest one.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spamnb.base.wording import option
from spamnb.config import Config, default_config_path
from spamnb.config.default_paths import SYSTEM_CONFIG, first_directory

Manager = Literal["user", "system"]
STATUS_OF_MBSYNC = "systemctl --user status mbsync.path mbsync"  # of the units of `init --imap`

_CONTAINER = "SPAMNB_CONTAINER"  # the name of the container, set by docs/Containerfile
_ONLY = "1-of-1"  # the share of the only service of a mail host
_ROOT = Path("/")
_UNITS: Mapping[Manager, Sequence[str]] = {  # systemd.unit(5)
    "user": ("etc/systemd/user", "run/systemd/user", "usr/local/lib/systemd/user", "usr/lib/systemd/user"),
    "system": (
        "etc/systemd/system",
        "run/systemd/system",
        "usr/local/lib/systemd/system",
        "usr/lib/systemd/system",
        "lib/systemd/system",
    ),
}


@dataclass(frozen=True, slots=True)
class Installation:
    """The commands that fit. A command is "" if there is none.

    spamnb: how a command of spamnb begins. start, enable, reload and log concern the service. enable starts it now and
    whenever the machine starts. install: the first step if the units are missing. where: the place for the commands
    about the service, if it is not the person's own terminal.
    """

    spamnb: str
    start: str
    enable: str = ""
    install: str = ""
    reload: str = ""
    log: str = ""
    where: str = ""

    @property
    def next(self) -> str:
        """Return what to do if the service does not run.

        >>> Installation("spamnb", "spamnb run", install="spamnb install-unit --user").next
        'spamnb run, or for good: spamnb install-unit --user'
        """
        return f"{self.told(self.start)}, or for good: {self.install}" if self.install else self.told(self.start)

    def told(self, command: str) -> str:
        """Return a command of the service, after the place for it.

        >>> Installation("spamnb", "systemctl start spamnb@anna", where="as root").told("systemctl stop spamnb@anna")
        'as root: systemctl stop spamnb@anna'
        """
        return f"{self.where}: {command}" if self.where else command


def installation(
    path: str | os.PathLike[str],
    environ: Mapping[str, str],
    config: Config | None = None,
    shares: Sequence[str] = (),
) -> Installation:
    """Return the installation that works with the configuration at a path.

    config: the content of the file, if it can be read. shares: the services of a mail host that the commands are about;
    without any, the one that works for the user of `config`, or the only one.
    """
    path = Path(os.path.abspath(path))
    program = "spamnb" if path == default_config_path(environ) else f"spamnb --config {shlex.quote(str(path))}"
    spamnb = f"{program} {option('--user', config.user)}" if config is not None and config.user else program
    if container := environ.get(_CONTAINER):
        return _in_container(environ.get("container", "docker"), shlex.quote(container), spamnb)
    shares = shares or ([config.share.name] if config is not None and config.share else [_ONLY])
    manager, file, unit = _unit(path, environ, config, shares)
    has_manager = has_systemd()
    if manager is not None and has_manager and is_installed(file, manager, environ):
        return _of_unit(manager, unit, spamnb)
    start = " & ".join(f"{program} run" + f" --shard {share}" * (share != _ONLY) for share in shares)
    install = ""
    if manager is not None and has_manager:  # a person's own manager: the command itself says what comes next
        then = f", then {_of_unit(manager, unit, spamnb).enable}" if manager == "system" else ""
        install = f"spamnb install-unit --{manager}{then}"
    return Installation(spamnb, start, install=install)


def is_in_container(environ: Mapping[str, str]) -> bool:
    """Tell whether this is the container of docs/Containerfile."""
    return bool(environ.get(_CONTAINER))


def has_systemd() -> bool:
    """Tell whether systemd has started this machine, or container: sd_booted(3)."""
    return _is(_ROOT / "run/systemd/system")


def is_installed(file: str, manager: Manager, environ: Mapping[str, str]) -> bool:
    """Tell whether a service manager finds the file of a unit."""
    return any(_is(directory / file) for directory in _directories(manager, environ))


def _in_container(engine: str, name: str, spamnb: str) -> Installation:
    return Installation(
        f"{engine} exec {name} {spamnb}",
        start=f"{engine} start {name}",
        reload=f"{engine} kill --signal=HUP {name}",
        log=f"{engine} logs {name}",
        where="on the machine that runs the container",
    )


def _unit(
    path: Path, environ: Mapping[str, str], config: Config | None, shares: Sequence[str]
) -> tuple[Manager | None, str, str]:
    """Return whose manager starts a service with this configuration, from which file, and the names of the units.

    The units in `systemd` name the configurations: a person's own service has the usual one, any other one in
    /etc/spamnb.
    """
    if config is not None and (config.is_template or config.user):
        units = " ".join(f"spamnb-host@{share}" for share in shares)
        return "system" if path == SYSTEM_CONFIG else None, "spamnb-host@.service", units
    if path.name == SYSTEM_CONFIG.name and path.parent.parent == SYSTEM_CONFIG.parent:
        return "system", "spamnb@.service", f"spamnb@{shlex.quote(path.parent.name)}"
    return "user" if path == default_config_path(environ) else None, "spamnb.service", "spamnb"


def _of_unit(manager: Manager, unit: str, spamnb: str) -> Installation:
    systemctl, journal, where = ("systemctl", "journalctl", "as root")
    if manager == "user":
        systemctl, journal, where = "systemctl --user", "journalctl --user", ""
    return Installation(
        spamnb,
        start=f"{systemctl} start {unit}",
        enable=f"{systemctl} enable --now {unit}",
        reload=f"{systemctl} reload {unit}",
        log=f"{journal} -u {unit.replace(' ', ' -u ')}",
        where=where,
    )


def _directories(manager: Manager, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the directories in which a service manager looks for units."""
    if manager == "user":
        for name, in_home in (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share")):
            if (above := first_directory(environ, name, in_home)) is not None:
                yield above / "systemd/user"
    yield from (_ROOT / directory for directory in _UNITS[manager])


def _is(path: Path) -> bool:
    """Tell whether such a file or directory exists; False if this cannot be determined."""
    try:
        return path.exists()
    except OSError:
        return False
