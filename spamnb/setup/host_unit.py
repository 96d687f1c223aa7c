"""The units of a mail host: the drop-ins that name the owner and the place of its mail."""

import os
from collections.abc import Sequence
from pathlib import Path

from spamnb.base import durable
from spamnb.base.errors import UnitError
from spamnb.base.wording import escaped
from spamnb.config.default_paths import LEDGERS_OF_HOST
from spamnb.config.writing import put_aside

UNITS = Path("/etc/systemd/system")

_HOMES = tuple(map(Path, ("/home", "/root", "/run/user")))  # ProtectHome=tmpfs hides these
_TO_QUOTE = set(" \t\"'\\;")
_HEAD = "# Written by `spamnb init --host`: the owner and the place of the mail.\n"


def drop_ins(user: str, group: str, directories: Sequence[Path]) -> dict[Path, str]:
    """Return the text of each drop-in by its path: for the service and the pages, and for their sockets."""
    service, socket = drop_in(user, group, directories), _of_socket(user)
    texts = {f"{unit}.service": service for unit in ("spamnb-host@", "spamnb-web-host")}
    texts |= {f"{unit}.socket": socket for unit in ("spamnb-host", "spamnb-web-host")}
    return {UNITS / f"{unit}.d" / "10-mail.conf": text for unit, text in texts.items()}


def drop_in(user: str, group: str, directories: Sequence[Path]) -> str:
    r"""Return the text of a service's drop-in: its user, and the directories that it may write to.

    >>> print(drop_in("vmail", "mail", [Path("/var/vmail"), Path("/var/lib/spamnb-host")]), end="")
    # Written by `spamnb init --host`: the owner and the place of the mail.
    [Unit]
    RequiresMountsFor=/var/vmail
    <BLANKLINE>
    [Service]
    User=vmail
    Group=mail
    ReadWritePaths=/var/vmail
    """
    opened = [path for path in dict.fromkeys(directories) if not path.is_relative_to(LEDGERS_OF_HOST)]
    hidden = [path for path in opened if any(path.is_relative_to(home) for home in _HOMES)]
    lines = [
        "[Unit]",
        *(f"RequiresMountsFor={_written(path)}" for path in opened),
        "",
        "[Service]",
        f"User={user}",
        *([f"Group={group}"] if group else []),
        *(f"BindPaths={_written(path)}" for path in hidden),
        *(f"ReadWritePaths={_written(path)}" for path in opened if path not in hidden),
    ]
    return _HEAD + "\n".join([*lines, ""])


def _of_socket(user: str) -> str:
    return f"{_HEAD}[Socket]\nSocketUser={user}\n"


def make_directory(path: Path, uid: int, gid: int) -> None:
    """Make the directory of the ledgers, only for the service's user. Raises UnitError."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        os.chown(path, uid, gid)
    except OSError as fault:
        step = "correct that, or write another path as `ledger`"
        raise UnitError(f"cannot make {escaped(str(path))} for the ledgers: {fault.strerror}; {step}") from fault


def write(path: Path, text: str) -> Path | None:
    """Write the drop-in. Returns the path at which a different old one is kept, or None. Raises UnitError."""
    try:
        if path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text:
            return None
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with durable.draft(str(path)) as draft:
            Path(draft).write_text(text, encoding="utf-8")
            os.chmod(draft, 0o644)
            return put_aside(path) if os.path.lexists(path) else None
    except OSError as fault:
        step = "run it as root, or put the lines there yourself"
        raise UnitError(f"cannot write {escaped(str(path))}: {fault.strerror}; {step}") from fault


def _written(path: Path) -> str:
    """Return a path in the form of systemd.syntax(7)."""
    text = str(path).replace("%", "%%")
    if not _TO_QUOTE & set(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
