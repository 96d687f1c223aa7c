"""Show on pages what was done, and why.

In your browser, where you can also say what is wrong, and take it back. The pages are for
you alone: on this machine, after a login that this command opens; for another one run it
again, with --open. For several people a proxy with a login of its own asks these pages by a
Unix socket.

example:
  spamnb web --open
  spamnb web --listen /run/spamnb-web/anna.sock --behind-proxy --allow-host mail.example
"""

import argparse
import contextlib
import gc
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

from spamnb.base.errors import UsageError
from spamnb.cli.common.argument_types import span
from spamnb.cli.common.config_and_ledger import config_path
from spamnb.cli.common.output import inform
from spamnb.cli.common.stderr_log import is_journal

if TYPE_CHECKING:
    from spamnb.web.config_file import ConfigFile

_LEAST_IDLE = 60  # seconds: as long as a login's code is good, the server must remember that it was used


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    where = "an address of this machine, or the path of a Unix socket (default: 127.0.0.1:7726)"
    option("--listen", default="", metavar="ADDRESS|SOCKET", help=where)
    option("--open", action="store_true", help="open a browser, and log it in")
    option("--read-only", action="store_true", help="only show: nothing can be changed")
    option(
        "--allow-host", action="append", default=[], metavar="NAME", help="another name that the pages are called by"
    )
    option(
        "--behind-proxy", action="store_true", help="the group of the Unix socket's file may ask: a proxy with a login"
    )
    overview = "one page for an administrator: a line for each of these configurations, sums without any mail"
    option("--overview", nargs="+", default=[], metavar="CONFIG", help=overview)
    option("--idle-exit", type=_some_time, metavar="SPAN", help="end when nobody has asked for so long: 10m")
    option("--log-out", action="store_true", help="end all logins, and do nothing else")


def run(options: argparse.Namespace) -> int:
    """Serve the pages until SIGTERM or SIGINT."""
    gc.disable()  # nothing of what is imported is garbage; to look for it takes a thirtieth of the start
    try:
        from spamnb.web.config_file import ConfigFile
        from spamnb.web.page_server import PageServer, Settings, key_file, port_in_use
    finally:
        gc.enable()

    file = ConfigFile(config_path(options), os.environ, is_needed=options.config is not None)
    if options.log_out:
        key_file(file.read()).renew()
        inform(options, "All logins are over.")
        return 0
    names = tuple(options.allow_host)
    others = tuple(map(os.path.abspath, options.overview))
    settings = Settings(options.listen, names, options.read_only, options.behind_proxy, options.idle_exit, others)
    if options.open and (port := port_in_use(settings, os.environ)) is not None:
        _let_in(options, file, port)
        return 0
    server = PageServer(settings, file.read, str(config_path(options)), os.environ, owner=_owner())
    signal.signal(signal.SIGTERM, lambda *_: server.close())
    signal.signal(signal.SIGINT, lambda *_: server.close())
    _say(options, file, server.port)
    gc.freeze()  # it need not be looked through again: the first page takes a seventh less
    server.run()
    return 0


def _say(options: argparse.Namespace, file: "ConfigFile", port: int | None) -> None:
    """How to get in."""
    if port is None:
        inform(options, "Serving the pages on a Unix socket; end with Ctrl-C.")
    else:
        _let_in(options, file, port)
        inform(options, "Later: spamnb web --open. End with Ctrl-C.")
    sys.stdout.flush()  # a pipe would have it at the end


def _let_in(options: argparse.Namespace, file: "ConfigFile", port: int) -> None:
    """With --open, open a browser that is logged in. Print the address for a person, not into a log for others."""
    from spamnb.web.page_server import login_address, login_file

    is_logged = bool(os.environ.get("LISTEN_FDS")) or is_journal(sys.stdout, os.environ)
    has_browser = options.open and _has_browser()
    said = "" if is_logged else f"Open within a minute: {login_address(file.read(), port, time.time())}"
    if options.open and not has_browser:
        print(f"No browser was found here. {said or 'In a terminal: spamnb web --open'}")
    elif said:
        inform(options, said)
    if has_browser:  # in a process of its own: some browsers only return when they end
        command = [sys.executable, "-m", "webbrowser", Path(login_file(file.read(), port, time.time())).as_uri()]
        subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)  # noqa: S603 - this very Python


def _has_browser() -> bool:
    """Whether a browser can be opened that has a window of its own, or is named by $BROWSER."""
    import webbrowser

    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return False
    with contextlib.suppress(webbrowser.Error):
        webbrowser.get()
        return True
    return False


def _owner() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _some_time(text: str) -> float:
    seconds = span(text)
    if seconds is None or seconds < _LEAST_IDLE:
        raise UsageError(f"{text!r} is no span of time of a minute or more: write 10m or 2h")
    return seconds
