"""`run`: the service in the foreground, as systemd wants it."""

import argparse
import os
import signal

from spamnb.cli.context import config_path
from spamnb.config import Config, load
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier


def run(options: argparse.Namespace) -> int:
    """Watch until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    path = config_path(options)

    def configuration() -> Config:
        return load(path, os.environ)

    daemon = Daemon(configuration, Notifier(os.environ))
    signal.signal(signal.SIGTERM, lambda *_: daemon.stop())
    signal.signal(signal.SIGINT, lambda *_: daemon.stop())
    signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
    if options.once:
        daemon.run_once()
    else:
        daemon.run()
    return 0
