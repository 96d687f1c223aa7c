"""See in a browser what it did and why, and correct it.

Only you can open the pages, on this machine: this command logs your browser in. To log in
again, run it again with --open. To show the pages to several people, put a proxy with its
own login before them, on a Unix socket.

On a mail host, --user-header serves the pages of all users. --overview serves one page for
the administrator: a line for each user, with sums and without any mail.

example:
  spamnb web --open
  spamnb web --listen /run/spamnb-web/anna.sock --behind-proxy --allow-host mail.example
"""

import argparse
import contextlib
import gc
import os
import pwd
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

from spamnb.base.errors import ConfigError, MaildirError, SpamnbError, UsageError
from spamnb.cli.common.argument_types import span
from spamnb.cli.common.config_and_ledger import command, config_path
from spamnb.cli.common.output import inform, say
from spamnb.cli.common.stderr_log import is_journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from spamnb.config import Config
    from spamnb.host.host import Host

    Whose = Callable[[], Config | Host]

_LEAST_IDLE = 60  # seconds: while a login's code is valid, the server must remember that it was used


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option = parser.add_argument
    where = "an address of this machine, or the path of a Unix socket (default: 127.0.0.1:7726)"
    option("--listen", default="", metavar="ADDRESS|SOCKET", help=where)
    option("--open", action="store_true", help="open a browser, and log it in")
    option("--read-only", action="store_true", help="show pages that cannot change anything")
    option("--allow-host", action="append", default=[], metavar="NAME", help="accept this host name in the address")
    option(
        "--behind-proxy", action="store_true", help="let the group of the Unix socket in: a proxy with its own login"
    )
    header = "behind a proxy: the header field that names the user of a mail host"
    option("--user-header", type=_field, metavar="FIELD", help=header)
    option("--overview", action="store_true", help="serve one page for the administrator of a mail host")
    option("--idle-exit", type=_some_time, metavar="SPAN", help="end after this time without a request: 10m")
    option("--log-out", action="store_true", help="end all logins, and do nothing else")


def run(options: argparse.Namespace) -> int:
    """Serve the pages until SIGTERM or SIGINT."""
    gc.disable()  # imports leave no garbage; looking for it takes a thirtieth of the start
    try:
        from spamnb.web.config_file import ConfigFile, HostFile
        from spamnb.web.page_server import PageServer, Settings, is_spamnb, key_file, port_in_use
    finally:
        gc.enable()

    _check(options)
    user, path = options.for_user, config_path(options)
    host = HostFile(path, os.environ).read if options.user_header or options.overview else None
    read = ConfigFile(path, os.environ, user, is_needed=options.config is not None).read
    whose: Whose = host or read
    if options.log_out:
        key_file(whose()).renew()
        inform(options, "All logins are over.")
        return 0
    with contextlib.suppress(*(() if host else (ConfigError, MaildirError))):  # the pages of one person show them
        whose()
    names, header = tuple(options.allow_host), options.user_header or ""
    settings = Settings(options.listen, names, options.read_only, options.behind_proxy, options.idle_exit, header)
    if (port := port_in_use(settings, os.environ)) is not None:
        if options.open:
            _let_in(options, whose, port)
            return 0
        if is_spamnb(port):
            raise SpamnbError(f"spamnb already serves its pages there. To open them: {_again(options, port)}")
    if host is not None:
        server = PageServer(settings, lambda: host().template, str(path), os.environ, owner=_owner(), host=host)
    else:
        server = PageServer(settings, read, str(path), os.environ, owner=user or _owner(), user=user)
    signal.signal(signal.SIGTERM, lambda *_: server.close())
    signal.signal(signal.SIGINT, lambda *_: server.close())
    _say(options, whose, server.port)
    gc.freeze()  # no search for garbage among what is imported: the first page takes a seventh less
    server.run()
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together."""
    if options.for_user and (options.user_header or options.overview):
        raise UsageError("--user is for the pages of one user, and these options are for all users: leave it out")
    if options.user_header and not options.behind_proxy:
        raise UsageError("--user-header needs --behind-proxy: the proxy says which user asks")
    if options.user_header and options.overview:
        raise UsageError("--overview is a separate page, for administrators: serve it on another socket")
    if options.user_header and (options.open or options.log_out):
        raise UsageError("the pages of all users have no login of their own: log in and out at the proxy")


def _say(options: argparse.Namespace, whose: "Whose", port: int | None) -> None:
    """Print how to open the pages."""
    if port is None:
        inform(options, "Serving the pages on a Unix socket; end with Ctrl-C.")
    else:
        _let_in(options, whose, port)
        inform(options, f"End with Ctrl-C. To open them later: {_again(options, port)}")
    sys.stdout.flush()  # otherwise a pipe gets it at the end


def _again(options: argparse.Namespace, port: int) -> str:
    """Return the command that opens the running pages. port: on which they are, also if the person let it be chosen."""
    listen = ""
    if options.listen:
        host = options.listen.rpartition(":")[0]
        listen = f" --listen {shlex.quote(f'{host}:{port}' if host else options.listen)}"
    return f"{command(options)} web{' --overview' * options.overview} --open{listen}"


def _let_in(options: argparse.Namespace, whose: "Whose", port: int) -> None:
    """Print the address with the login, unless others can read the log. With --open, open a browser with it."""
    from spamnb.web.page_server import login_address, login_file

    is_logged = bool(os.environ.get("LISTEN_FDS")) or is_journal(sys.stdout, os.environ)
    has_browser = options.open and _has_browser()
    said = "" if is_logged else f"Open within a minute: {login_address(whose(), port, time.time())}"
    if options.open and not has_browser:
        say(f"No browser was found. {said or f'In a terminal: {_again(options, port)}'}")
    elif said:
        inform(options, said)
    if has_browser:  # in its own process: some browsers only return when they end
        command = [sys.executable, "-m", "webbrowser", Path(login_file(whose(), port, time.time())).as_uri()]
        subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)  # noqa: S603 - this very Python


def _has_browser() -> bool:
    """Return whether there is a browser with its own window, or one that $BROWSER names."""
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


def _field(text: str) -> str:
    if not (text.isascii() and text.replace("-", "").isalnum()):
        raise UsageError(f"{text!r} is not the name of a field: write letters, digits and -, such as X-Remote-User")
    return text


def _some_time(text: str) -> float:
    seconds = span(text)
    if seconds is None or seconds < _LEAST_IDLE:
        raise UsageError(f"{text!r} is not a time of a minute or more: write 10m or 2h")
    return seconds
