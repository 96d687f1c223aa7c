"""Write the systemd units with the path of this installation's program, and remove them again.

The first line of a written unit says so, and has a checksum of the rest. A unit that a person has changed or written is
neither replaced nor removed, unless it is a plain copy of the file here.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spamnb.base import durable
from spamnb.base.errors import UnitError
from spamnb.base.wording import escaped
from spamnb.checkup.installation import Manager
from spamnb.config.default_paths import first_directory

_SOURCES = Path(__file__).parents[1] / "systemd"
_OF_PACKAGE = Path("/usr/bin/spamnb")  # the program of a distribution's package, which brings its own units
_COMMAND = re.compile(r"^(Exec\w+=)\S*/spamnb(?=\s)", re.MULTILINE)
_TO_QUOTE = re.compile(r"[\s\"'\\;]")
_TO_ESCAPE = re.compile(r"[\"\\]")
_MARK = re.compile(r"# Written by `spamnb install-unit` \(([0-9a-f]{16})\)[^\n]*\n")
# Directories that the sandbox of the units hides: ProtectHome=tmpfs, PrivateTmp=yes.
_HIDDEN: Mapping[Manager, Sequence[str]] = {
    "user": ("/tmp", "/var/tmp"),  # noqa: S108 - nothing is written there
    "system": ("/home", "/root", "/run/user", "/tmp", "/var/tmp"),  # noqa: S108
}


@dataclass(frozen=True, slots=True)
class UnitDirectory:
    """The directory in which a service manager looks for units. systemctl: the command for it."""

    manager: Manager
    directory: Path
    systemctl: str


def place(manager: Manager, environ: Mapping[str, str]) -> UnitDirectory:
    """Return the place for units of one person, or of the system. Raises UnitError without a home."""
    if manager == "system":
        return UnitDirectory(manager, Path("/etc/systemd/system"), "systemctl")
    above = first_directory(environ, "XDG_CONFIG_HOME", ".config")
    if above is None:
        raise UnitError("HOME is not set, so a user's units have no place: set it, or write --system")
    return UnitDirectory(manager, above / "systemd" / "user", "systemctl --user")


def program(called: str, scripts: str) -> Path:
    """Return the full path of the program: of this call, or else in the directory of Python's programs.

    Symbolic links stay, since a later version keeps them. Raises UnitError.
    """
    named = [Path(called)] if os.path.basename(called) == "spamnb" and os.sep in called else []
    for path in [*named, Path(scripts, "spamnb")]:
        if path.is_file() and os.access(path, os.X_OK):
            return Path(os.path.abspath(path))
    raise UnitError(f"spamnb is not in {escaped(scripts)}: call it by its full path")


def install(where: UnitDirectory, path: Path) -> list[Path]:
    """Write the units that start the program at that path. Raises UnitError, before anything is written."""
    _check_program(where, path)
    made = {where.directory / name: text for name, text in texts(where.manager, path).items()}
    for unit in made:
        if os.path.lexists(unit):
            _check_ours(unit)
    try:
        where.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        for unit, text in made.items():
            with durable.draft(str(unit)) as draft:
                Path(draft).write_text(text, encoding="utf-8")
                os.chmod(draft, 0o644)
    except OSError as fault:
        raise UnitError(f"cannot write to {escaped(str(where.directory))}: {fault.strerror}") from fault
    return list(made)


def remove(where: UnitDirectory) -> list[Path]:
    """Remove the written units. Raises UnitError, before it removes any, if one is enabled."""
    units = [unit for pattern in ("spamnb*.service", "spamnb*.socket") for unit in where.directory.glob(pattern)]
    for unit in units:
        _check_ours(unit)
    if enabled := sorted(_enabled(where)):
        named = escaped(" ".join(enabled))
        raise UnitError(f"{named} would start again: first call {where.systemctl} disable --now {named}")
    for unit in units:
        try:
            unit.unlink()
        except OSError as fault:
            raise UnitError(f"cannot remove {escaped(str(unit))}: {fault.strerror}") from fault
    return units


def texts(manager: Manager, path: Path) -> dict[str, str]:
    """Return the text of each unit by its name."""
    units = sorted(unit for unit in _SOURCES.iterdir() if manager_of(unit.name) == manager)
    return {unit.name: _marked(with_program(unit.read_text(encoding="utf-8"), path)) for unit in units}


def manager_of(unit: str) -> Manager:
    """Return the manager of a unit: the system's for a template or for a mail host, otherwise the user's.

    >>> [manager_of(unit) for unit in ("spamnb.service", "spamnb@.service", "spamnb-host.socket")]
    ['user', 'system', 'system']
    """
    return "system" if "@" in unit or "-host." in unit else "user"


def with_program(text: str, path: Path) -> str:
    r"""Return the text of a unit with the path of another program, quoted in the form of systemd.syntax(7).

    >>> with_program("ExecStart=%h/.local/bin/spamnb run\n", Path("/opt/100% mail/spamnb"))
    'ExecStart="/opt/100%% mail/spamnb" run\n'
    """
    return _COMMAND.sub(lambda found: found[1] + as_word(str(path)), text)


def as_word(text: str) -> str:
    """Return a word of a command in a unit, in quotes if it needs them."""
    written = text.replace("%", "%%")
    return '"' + _TO_ESCAPE.sub(r"\\\g<0>", written) + '"' if _TO_QUOTE.search(written) else written


def _marked(text: str) -> str:
    line = f"# Written by `spamnb install-unit` ({_checksum(text)}); put your own lines into: systemctl edit\n"
    return line + text


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_program(where: UnitDirectory, path: Path) -> None:
    if path == _OF_PACKAGE:
        raise UnitError("the package of your distribution has its own units; enable them with systemctl")
    for used in (path, Path(os.path.realpath(path)), Path(sys.prefix), Path(sys.base_prefix)):
        hidden = next((above for above in _HIDDEN[where.manager] if used.is_relative_to(above)), None)
        if hidden is not None:
            raise UnitError(
                f"the service cannot see {escaped(str(used))}, since its sandbox hides {hidden}: install the program in"
                " a different place, such as /opt/spamnb"
            )


def _check_ours(unit: Path) -> None:
    """Raise UnitError for a unit that this program has not written, or that a person has changed."""
    shown = escaped(str(unit))
    try:
        text = unit.read_text(encoding="utf-8", errors="replace")
    except OSError as fault:
        raise UnitError(f"cannot read {shown}: {fault.strerror}; move it away") from fault
    mark = _MARK.match(text)
    if mark is None and _is_copy(text, unit.name):
        return
    if mark is None:
        raise UnitError(f"{shown} was not written by this command: move it away first")
    if mark[1] != _checksum(text[mark.end() :]):
        raise UnitError(f"{shown} was changed by hand: move it away first, and use `systemctl edit` for your lines")


def _is_copy(text: str, name: str) -> bool:
    """Return whether a text is our unit of that name, with any path of the program."""
    source, path = _SOURCES / name, Path("/spamnb")
    return source.exists() and with_program(source.read_text(encoding="utf-8"), path) == with_program(text, path)


def _enabled(where: UnitDirectory) -> Iterator[str]:
    """Yield the enabled units: there are links to them in directories such as default.target.wants."""
    for link in where.directory.glob("*.wants/spamnb*"):
        yield link.name
