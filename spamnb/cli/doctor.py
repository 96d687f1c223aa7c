"""`doctor`: is everything as it should be? Looks, says what it means, and writes nothing."""

import argparse
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from spamnb.cli.context import config_path
from spamnb.cli.output import as_json, printable
from spamnb.cli.symptoms import FAULT, OK, WARNING, Finding
from spamnb.cli.symptoms_of_ledger import of_ledger
from spamnb.cli.symptoms_of_mail import of_mailboxes
from spamnb.config import Config, default_ledger_path, load
from spamnb.errors import ConfigError, SpamnbError

_EXIT_FAULTS = 1


def doctor(options: argparse.Namespace) -> int:
    """Print what was found. Returns 0, or 1 where there are faults."""
    # that no mail is moved is what a person has to know first
    found = sorted(_findings(options), key=lambda one: (one.what, one.state) != ("moving", FAULT))
    if options.json:
        for one in found:
            print(as_json({"state": one.state, "what": one.what, "means": one.means, "next": one.next}))
    else:
        shown = [one for one in found if not options.quiet or one.state != OK]
        width = max((len(printable(one.what)) for one in shown), default=0)
        for one in shown:  # not a table, which cuts what is long
            print(f"{one.state:<7}  {printable(one.what):<{width}}  {printable(one.means)}")
        steps = [one for one in found if one.next]
        if steps:
            print("\nWhat to do:")
        for one in steps:
            print(f"  {one.what}: {printable(one.next)}")
        numbers = [sum(one.state == state for one in found) for state in (FAULT, WARNING)]
        if not options.quiet:
            print(f"\n{_number(numbers[0], 'fault')}, {_number(numbers[1], 'warning')}")
    return _EXIT_FAULTS if any(one.state == FAULT for one in found) else 0


def _number(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    path = config_path(options)
    config: Config | None = None
    try:
        config = load(path, os.environ)
        yield Finding(OK, "configuration", str(path))
    except ConfigError as fault:
        for line in str(fault).splitlines():
            yield Finding(FAULT, "configuration", line, _mending(path))
    checks: list[Iterator[Finding]] = []
    if config is not None:
        checks.append(of_mailboxes(config))
    try:
        checks.append(of_ledger(str(config.ledger if config else default_ledger_path(os.environ)), config))
    except ConfigError as fault:
        yield Finding(FAULT, "ledger", str(fault), "set HOME, or `ledger` in the configuration")
    yield from itertools.chain.from_iterable(map(_guarded, checks))


def _mending(path: Path) -> str:
    try:
        path.open("rb").close()
    except FileNotFoundError:
        return "spamnb init"
    except OSError:
        return "correct its path or its permissions"
    return "mend that line; config.example.yaml shows every key"


def _guarded(findings: Iterator[Finding]) -> Iterator[Finding]:
    """A check that cannot go on is a finding too, and the others are made all the same."""
    try:
        yield from findings
    except (SpamnbError, OSError) as fault:
        yield Finding(FAULT, "examination", str(fault), "mend this first, and look again: there may be more behind it")
