"""Watch, judge, move and learn, until stopped.

SIGHUP reads the configuration again. Where `spamd.listen` says, and on sockets that systemd
hands over, it answers spamc and other clients of spamd; not with --once.

example:
  spamnb run --once
"""

import argparse
import os
import signal

from spamnb.base.sockets import inherited
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.config import load
from spamnb.config.default_paths import instance
from spamnb.service import open_files
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.spamd.listeners import EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--once", action="store_true", help="do what is to be done now, and exit")


def run(options: argparse.Namespace) -> int:
    """Run the service in the foreground, as systemd wants it, until SIGTERM or SIGINT."""
    path = config_path(options)
    open_files.raise_limit()
    daemon = Daemon(
        lambda: load(path, os.environ),
        Notifier(os.environ),
        handed=inherited(os.environ, example=EXAMPLE),
        instance=instance(os.environ),
    )
    signal.signal(signal.SIGTERM, lambda *_: daemon.stop())
    signal.signal(signal.SIGINT, lambda *_: daemon.stop())
    signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
    if options.once:
        daemon.run_once()
    else:
        daemon.run()
    return 0
