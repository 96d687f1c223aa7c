"""Check whether everything works.

It checks the configuration, permissions, folders and roles, watching, the ledger and its
copies, and the lessons. Each line is ok, a warning or a fault; below them are the next
steps. It writes nothing.

example:
  spamnb doctor --json

exit codes: 0 no fault, 1 a fault
"""

import argparse
import os
from dataclasses import asdict

from spamnb.base.wording import escaped, plural
from spamnb.checkup.checkup import checkup
from spamnb.checkup.finding import FAULT, OK, WARNING
from spamnb.cli.common import exit_codes
from spamnb.cli.common.arguments import add_json
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.cli.common.output import as_json, inform, say
from spamnb.exchange import checks as exchange_checks
from spamnb.notmuch import checks as notmuch_checks
from spamnb.spamd import checks as spamd_checks

INTERRUPTED = "nothing was changed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json(parser, "one JSON object per line: state, what, means, next, command")


def run(options: argparse.Namespace) -> int:
    """Print the findings. Returns the exit code."""
    parts = notmuch_checks.CHECKS, spamd_checks.CHECKS, exchange_checks.CHECKS
    found = checkup(config_path(options), os.environ, options.for_user, parts=parts)
    faults, warnings = (sum(one.state == state for one in found) for state in (FAULT, WARNING))
    code = exit_codes.FAULTS if faults else 0
    if options.json:
        for one in found:
            print(as_json(asdict(one)))
        return code
    shown = [one for one in found if not options.quiet or one.state != OK]
    width = max((len(escaped(one.what)) for one in shown), default=0)
    for one in shown:  # not a table, which cuts long texts
        say(f"{one.state:<7}  {escaped(one.what):<{width}}  {escaped(one.means)}", hanging=11 + width)
    steps = [f"  {escaped(one.what)}: {escaped(one.next)}" for one in found if one.next]
    if steps:
        say("\n".join(("", "What to do:", *steps)))
    inform(options, f"\n{_number(faults, 'fault')}, {_number(warnings, 'warning')}")
    return code


def _number(number: int, noun: str) -> str:
    return plural(number, noun) if number else f"no {noun}s"
