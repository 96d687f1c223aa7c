"""Replace the ledger by a copy.

It checks the file first, and keeps the present ledger under another name. It does not move
the mail in the folders or learn from it, even if the copy does not know it.

With --all, FILE is a directory from `spamnb backup --all`: each user of a mail host whose
copy is there gets it. After a fault it goes on with the others, and names at the end those
that were not restored. The service lets go of the ledgers for that.

example:
  spamnb restore ~/ledger-copy.sqlite
  spamnb restore --all /srv/backup/spamnb

exit codes: 0; 75 another program is using the ledger: try again
"""

import argparse
import os
import time

from spamnb.base.errors import UsageError
from spamnb.base.wording import clock, escaped, plural
from spamnb.cli.backup import in_words
from spamnb.cli.common import output_files
from spamnb.cli.common.all_users import add_all, for_all, host_of_all
from spamnb.cli.common.config_and_ledger import config_path, configuration
from spamnb.cli.common.output import inform
from spamnb.host.everybody import OneOfAll, check_directory, copies_in, restore_user
from spamnb.host.host import load_host
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="a copy from `spamnb backup`, or from the service")
    add_all(parser, "replace the ledgers")


def run(options: argparse.Namespace) -> int:
    """Put a copy in the ledger's place."""
    if options.all_users:
        return _of_all(options)
    config, shown = configuration(options), escaped(options.file)
    path = str(config.ledger)
    output_files.refuse_ledger(path, options.file)
    if not os.path.isfile(options.file):
        step = "give a copy from `spamnb backup`, or one of the daily copies"
        raise UsageError(f"there is no file {shown or 'without a name'}: {step}")
    if config.user:
        done = restore_user(load_host(config_path(options), os.environ), config.user, options.file)
    else:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with only_service(path) as lock:
            done = restore(path, options.file, time.time())
            EndRecord(path, lock).begin()  # the record of the last end is about the old ledger
    inform(options, f"restored {shown}, of {clock(done.made_at)}: {in_words(options.file, done.held)}")
    if done.aside is not None:
        inform(options, f"The old ledger is kept as {escaped(done.aside)}.")
    inform(options, "The mail in your folders is not moved: the next start only records it.")
    return 0


def _of_all(options: argparse.Namespace) -> int:
    """Put copies in the places of the ledgers of all users."""
    host = host_of_all(options)
    if not os.path.isdir(options.file):
        raise UsageError(f"there is no directory {escaped(options.file)}: name that of `spamnb backup --all`")
    check_directory(host, options.file)
    kept: list[str] = []

    def put(user: OneOfAll) -> None:
        kept.append(restore_user(host, user.name, user.path).aside or "")

    code = for_all(copies_in(host, options.file), "restoring", options, put)
    inform(options, f"restored the ledgers of {plural(len(kept), 'user')}")
    if old := len(list(filter(None, kept))):
        inform(options, f"The old ones of {plural(old, 'user')} are kept beside them, as ….replaced-…")
    inform(options, "The mail in the folders is not moved: the service only records it.")
    return code
