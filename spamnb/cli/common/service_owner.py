"""Determine the user as whom a service goes on after root has started it.

Files of root beside a ledger (copies, the note of a fault) would stop the service of its owner. So root's service goes
on as the owner, as other commands do. The conditions are that the ledger and all mail belong to one user beside root,
and that this user may do all that the configuration asks for. Otherwise root stays root: if the ledger is root's and
the mail somebody else's, or for a port below 1024, say.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spamnb.base.errors import ConfigError, SpamnbError
from spamnb.base.wording import named
from spamnb.cli.common.as_owner import Owner, ask_as, owner_of, program_directories
from spamnb.cli.common.output import warn
from spamnb.cli.common.owners import Reached, reach
from spamnb.config import Config, load_any
from spamnb.host.host import Host
from spamnb.host.register import path_of
from spamnb.host.shares import Share

_FIRST_PORT = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_IN_DIRECTORY = os.W_OK | os.X_OK


@dataclass(frozen=True, slots=True)
class _Places:
    """The files of a service. ledger: of a mail host, the register of its only service."""

    ledger: Path
    mail: Sequence[Path]
    config: Config


def owner_for_service(path: Path) -> Owner | None:
    """Return the user as whom root's service with the configuration at that path goes on; None: as root.

    Warns if the user lacks a right. A faulty configuration is left to the service.
    """
    try:
        places = _places(path)
        here, ledger, *mail = map(reach, (path, places.ledger, *places.mail))
    except SpamnbError:
        return None
    owners = {one.status.st_uid for one in (ledger, *mail)}
    strangers = frozenset[int]().union(*(one.uids for one in (here, ledger, *mail))) - owners - {0}
    if len(owners) != 1 or owners == {0} or strangers:
        return None
    owner = Owner.of(owners.pop())
    lacking = _lacking(owner, [*_needs(path, places.config, ledger, mail)])
    if lacking is not None:
        warn(f"spamnb stays root, since {owner.name}, the owner of the ledger, may not use {named(lacking)}")
    return owner if lacking is None else None


def _places(path: Path) -> _Places:
    """Return the places that the configuration names, by the environment of its owner. Raises SpamnbError."""
    whose = owner_of(path)
    config = load_any(path, os.environ if whose is None else whose.environ())
    if config.is_template:
        host = Host(config, path)
        return _Places(path_of(host.directory, Share()), [host.mail.fixed], config)
    if not config.mailboxes:
        raise ConfigError(f"{path} has no mailbox")
    return _Places(config.ledger, [mailbox.path for mailbox in config.mailboxes], config)


def _needs(path: Path, config: Config, ledger: Reached, mail: Sequence[Reached]) -> Iterator[tuple[str, int]]:
    """Yield what the service uses, and how, as for `os.access`; a port that only root may open is a missing file."""
    yield from ((directory, os.R_OK | os.X_OK) for directory in program_directories())
    yield str(path), os.R_OK
    if ledger.is_whole:
        yield ledger.path, os.R_OK | os.W_OK
    yield os.path.dirname(ledger.path) if ledger.is_whole else ledger.path, _IN_DIRECTORY
    for one in mail:
        yield one.path, os.R_OK | os.X_OK if config.is_template else os.R_OK | _IN_DIRECTORY
    written = [address for address in config.spamd.listen if address.startswith("/")]
    written += [str(file) for file in (config.service.metrics, config.service.moved_file) if file is not None]
    yield from ((os.path.dirname(file), _IN_DIRECTORY) for file in written)
    for address in config.spamd.listen:
        if not address.startswith("/") and int(address.rpartition(":")[2]) < _first_port():
            yield address, os.F_OK


def _first_port() -> int:
    """Return the first port that others than root may open."""
    try:
        return int(_FIRST_PORT.read_text())
    except (OSError, ValueError):
        return 1024


def _lacking(owner: Owner, needs: Sequence[tuple[str, int]]) -> str | None:
    """Return the first need that the owner may not use, or None."""
    number = ask_as(owner, lambda: str(next((at for at, need in enumerate(needs) if not os.access(*need)), "")))
    return None if number == "" else needs[int(number or -1)][0]
