"""Run all checks: each result says what was found, what it means, and what to do. Nothing is written."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from spamnb.base.errors import ConfigError, SpamnbError
from spamnb.checkup.finding import FAULT, Finding, fault, ok
from spamnb.checkup.host_checks import (
    OWN_STEP,
    of_disks,
    of_limits,
    of_not_shown,
    of_own_settings,
    of_register,
    of_services,
    of_users,
)
from spamnb.checkup.installation import installation
from spamnb.checkup.ledger_checks import of_ledger
from spamnb.checkup.mailbox_checks import of_mailboxes
from spamnb.checkup.moved_file_checks import of_moved_file
from spamnb.checkup.part_checks import PartChecks
from spamnb.checkup.server_checks import of_server
from spamnb.config import Config, default_ledger_path, load_any
from spamnb.host.host import load_host, load_user
from spamnb.host.own_settings import own_faults
from spamnb.host.shares import not_running, running
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.history.choices import in_force


def checkup(
    path: Path, environ: Mapping[str, str], user: str = "", *, parts: Sequence[PartChecks] = (), whole: bool = True
) -> list[Finding]:
    """Check the configuration at that path and all that it names. A fault that stops all moves comes first.

    user: a user of a mail host, whose mailbox and ledger are checked; without one, the host itself is checked. whole:
    look at each message file, read the ledger and its newest copy to their ends, and prove the sums, which may take a
    minute. Raises what `load_user` raises, except for ConfigError.
    """
    found = _findings(path, environ, user, parts, whole)
    return sorted(found, key=lambda finding: (finding.what, finding.state) != ("moving", FAULT))


def _findings(
    path: Path, environ: Mapping[str, str], user: str, parts: Sequence[PartChecks], whole: bool
) -> Iterator[Finding]:
    config: Config | None = None
    try:
        of_all = load_any(path, environ)
        if not user and of_all.is_template:
            yield from _of_host(path, environ, parts)
            return
        config, wrong = load_user(path, environ, user)
        yield ok("configuration", str(path))
        for line in wrong.splitlines():
            yield fault("own settings", line, OWN_STEP)
        roles = of_all.mailboxes[0].roles if user else ()
        yield from _guarded(of_mailboxes(_with_choices(config), whole=whole, of_all=roles))
        yield from _guarded(of_moved_file(config.service.moved_file))
        yield from _guarded(of_server(config))
    except ConfigError as error:
        for line in str(error).splitlines():
            yield fault("configuration", line, _step(path, environ))
    try:
        ledger = str(config.ledger if config else default_ledger_path(environ))
    except ConfigError as error:
        yield fault("ledger", str(error), "set HOME, or `ledger` in the configuration")
    else:
        here = installation(path, environ, config)
        yield from _guarded(of_ledger(ledger, config, here, whole=whole))
        if config is not None:
            for part in parts:
                yield from _guarded(part.of_person(config, here.spamnb, is_running(str(config.claim))))


def _with_choices(config: Config) -> Config:
    """Return the configuration with the person's choices; without them if the ledger cannot be read."""
    with suppress(SpamnbError):
        return in_force(config, str(config.ledger) if os.path.exists(config.ledger) else None)
    return config


def _of_host(path: Path, environ: Mapping[str, str], parts: Sequence[PartChecks]) -> Iterator[Finding]:
    host = load_host(path, environ)
    yield ok("configuration", str(path))
    here = installation(path, environ, host.template, [*map(str, not_running(running(host.directory)))])
    faulty = dict(own_faults(host))
    services, register = of_services(host, here), of_register(host, here, faulty)
    users = (of_users(host), of_not_shown(host, here.spamnb), of_own_settings(faulty, here.spamnb))
    for findings in (services, *users, of_limits(host), of_disks(host), register):
        yield from _guarded(findings)
    for part in parts:
        yield from _guarded(part.of_host(host, here.spamnb, bool(running(host.directory))))


def _step(path: Path, environ: Mapping[str, str]) -> str:
    try:
        path.open("rb").close()
    except FileNotFoundError:
        return f"{installation(path, environ).spamnb} init"
    except OSError:
        return "correct its path or its permissions"
    return "fix that line; config.example.yaml shows every key"


def _guarded(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Turn the error of a check that cannot go on into a finding, so that the other checks still run."""
    try:
        yield from findings
    except (SpamnbError, OSError) as error:
        yield fault("examination", str(error), "fix this and run doctor again; it may hide more")
