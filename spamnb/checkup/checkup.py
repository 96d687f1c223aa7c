"""All checks: what was found, what it means, and what to do. Nothing is written."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from spamnb.base.errors import ConfigError, SpamnbError
from spamnb.checkup.finding import FAULT, Finding, fault, ok
from spamnb.checkup.ledger_checks import of_ledger
from spamnb.checkup.mailbox_checks import of_mailboxes
from spamnb.checkup.spamd_checks import of_spamd
from spamnb.config import Config, default_ledger_path, load


def checkup(path: Path, environ: Mapping[str, str], *, whole: bool = True) -> list[Finding]:
    """Check the configuration at that path and all that it names; first that no mail is moved, where it is so.

    whole: the ledger and its newest copy are read to their ends, and the sums proved, which may take a minute.
    """
    return sorted(
        _findings(path, environ, whole), key=lambda finding: (finding.what, finding.state) != ("moving", FAULT)
    )


def _findings(path: Path, environ: Mapping[str, str], whole: bool) -> Iterator[Finding]:
    config: Config | None = None
    try:
        config = load(path, environ)
        yield ok("configuration", str(path))
        yield from _guarded(of_mailboxes(config))
        yield from _guarded(of_spamd(config))
    except ConfigError as error:
        for line in str(error).splitlines():
            yield fault("configuration", line, _step(path))
    try:
        ledger = str(config.ledger if config else default_ledger_path(environ))
    except ConfigError as error:
        yield fault("ledger", str(error), "set HOME, or `ledger` in the configuration")
    else:
        yield from _guarded(of_ledger(ledger, config, whole=whole))


def _step(path: Path) -> str:
    try:
        path.open("rb").close()
    except FileNotFoundError:
        return "spamnb init"
    except OSError:
        return "correct its path or its permissions"
    return "fix that line; config.example.yaml shows every key"


def _guarded(findings: Iterator[Finding]) -> Iterator[Finding]:
    """A check that cannot go on is a finding too, and the others are made all the same."""
    try:
        yield from findings
    except (SpamnbError, OSError) as error:
        yield fault("examination", str(error), "fix this and run doctor again; it may hide more")
