"""What a command does for all users of a mail host, one after the other; it names those for whom it failed."""

import argparse
import os
from collections.abc import Callable, Sequence

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import escaped, plural
from spamnb.cli.common import exit_codes
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.cli.common.output import progress, warn
from spamnb.host.everybody import OneOfAll
from spamnb.host.host import Host, load_host


def add_all(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option --all."""
    parser.add_argument("--all", action="store_true", dest="all_users", help=f"{what} of all users of a mail host")


def host_of_all(options: argparse.Namespace) -> Host:
    """Return the host whose users are all meant. Raises UsageError if one user is named, or if there is no host."""
    if options.for_user:
        raise UsageError("--all is for all users, and --user for one: give one of the two")
    return load_host(config_path(options), os.environ)


def for_all(
    users: Sequence[OneOfAll], doing: str, options: argparse.Namespace, act: Callable[[OneOfAll], object]
) -> int:
    """Do something for each user, and go on after a fault. Print those for whom it failed. Returns the exit code.

    It is that of the faults if all have the same code, as 75 if all ledgers were busy.
    """
    failed: list[tuple[str, str]] = []
    codes = set[int]()
    for user in progress(users, doing, options.quiet, len(users)):
        try:
            act(user)
        except SpamnbError as fault:
            failed.append((user.name, str(fault)))
            codes.add(fault.exit_code)
        except FileExistsError as fault:
            failed.append((user.name, f"{fault.filename} exists already: replace it with --force"))
            codes.add(exit_codes.ERROR)
        except OSError as fault:
            failed.append((user.name, f"{fault.strerror} ({fault.filename})"))
            codes.add(exit_codes.ERROR)
    if not failed:
        return 0
    warn(f"{doing} failed for {plural(len(failed), 'user')} of {len(users)}:")
    width = max(len(escaped(name)) for name, _ in failed)
    for name, why in failed:  # not a table, which cuts long texts
        warn(f"  {escaped(name):<{width}}  {why}")
    return codes.pop() if len(codes) == 1 else exit_codes.ERROR
