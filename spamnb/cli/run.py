"""Watch, judge, move and learn, until stopped.

At SIGHUP it reads the configuration again. It answers spamc and other clients of spamd on
the addresses of `spamd.listen` and on sockets from systemd, but not with --once. For a mail
host it works for all users, or for a share of them: the services 1-of-4 to 4-of-4 have a
quarter each.

example:
  spamnb run --once
"""

import argparse
import os
import signal
from pathlib import Path

from spamnb.base.errors import UsageError
from spamnb.base.sockets import inherited
from spamnb.base.wording import escaped
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.config import Config, load_any
from spamnb.config.default_paths import instance
from spamnb.host.host import Host
from spamnb.host.shares import Share
from spamnb.service import open_files
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.spamd.listeners import EXAMPLE


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
        Notifier(os.environ),
        handed=inherited(os.environ, example=EXAMPLE),
        instance=instance(os.environ),
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


def _read(path: Path, shard: Share | None) -> Config | Host:
    """Return the configuration of one person, or of a host."""
    config = load_any(path, os.environ)
    if config.is_template:
        return Host(config, path, shard or Share())
    if shard is not None:
        raise UsageError(
            f"{escaped(str(path))} is the configuration of one person, who has one service: leave --shard out"
        )
    return config
