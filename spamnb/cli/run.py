"""Watch, judge, move and learn, until stopped.

At SIGHUP it reads the configuration again. It answers spamc and other clients of spamd on
the addresses of `spamd.listen` and on sockets from systemd, but not with --once. For a mail
host it works for all users, or for a share of them: the services 1-of-4 to 4-of-4 have a
quarter each.

example:
  spamnb run --once
"""

import argparse
import contextlib
import os
import signal
import sys
from functools import partial
from pathlib import Path

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.sockets import inherited
from spamnb.base.wording import escaped
from spamnb.checkup.installation import installation
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.cli.common.moving import whether_it_moves
from spamnb.cli.common.output import inform, is_terminal
from spamnb.cli.common.stderr_log import set_form
from spamnb.config import load_any
from spamnb.config.default_paths import instance
from spamnb.exchange.part import ExchangeOfLessons
from spamnb.host.host import Host
from spamnb.host.service.served import ServedHost
from spamnb.host.shares import Share
from spamnb.notmuch.part import TagInNotmuch
from spamnb.service import open_files
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from spamnb.service.served import Served
from spamnb.spamd.listeners import EXAMPLE
from spamnb.spamd.service import SpamdService


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--once", action="store_true", help="do the work that is due now, and exit")
    help_ = "on a mail host: the share of the users that this service works for (default: 1-of-1)"
    parser.add_argument("--shard", metavar="K-of-N", type=Share.parse, help=help_)


def run(options: argparse.Namespace) -> int:
    """Run the service in the foreground, as systemd expects, until SIGTERM or SIGINT."""
    if options.for_user:
        raise UsageError("the service of a mail host works for all its users: leave --user out")
    path = config_path(options)
    open_files.raise_limit()
    daemon = Daemon(
        lambda: _read(path, options.shard),
        _Notifier(path, options),
        parts=(partial(SpamdService, inherited(os.environ, example=EXAMPLE)), ExchangeOfLessons, TagInNotmuch),
        tells_faults=True,
    )
    signal.signal(signal.SIGTERM, lambda *_: daemon.stop())
    signal.signal(signal.SIGINT, lambda *_: daemon.stop())
    signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
    if options.once:
        daemon.run_once()
    else:
        daemon.run()
    return 0


class _Notifier(Notifier):
    """Tells also a person at the terminal, once, whether the filter moves mail, and how the service ends."""

    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        super().__init__(os.environ)
        self._path = path
        self._options = options
        self._is_told = not is_terminal(sys.stdout)

    def ready(self, status: str) -> None:
        """Report that watching has begun."""
        super().ready(status)
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(SpamnbError):  # the service itself says what is wrong
                inform(self._options, self._text())

    def _text(self) -> str:
        config = load_any(self._path, os.environ)
        here = installation(self._path, os.environ, config)
        for_good = here.install or (here.enable and here.told(here.enable))
        ends = f"Ctrl-C ends the service; to run it for good: {for_good}" if for_good else "Ctrl-C ends the service."
        return ends if config.is_template else f"{whether_it_moves(self._options)}\n{ends}"


def _read(path: Path, shard: Share | None) -> Served:
    """Return whom the configuration is for: one person, or a mail host. The log gets its form."""
    config = load_any(path, os.environ)
    set_form(config.service.log)
    if config.is_template:
        return ServedHost(Host(config, path, shard or Share()))
    if shard is not None:
        raise UsageError(
            f"{escaped(str(path))} is the configuration of one person, who has one service: leave --shard out"
        )
    return Person(config, instance(os.environ))
