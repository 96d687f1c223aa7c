"""Write the verdict into the header of a message.

It reads a message from standard input and writes it to standard output, for delivery agents
(procmail, maildrop, fdm, getmail ...). It asks the running service, if `spamd.listen` names
an address; otherwise it reads the ledger itself. It learns nothing. It removes fields of
these names that came with the message, and changes nothing else:

  X-Spamnb: spam, probability=0.998700, score=8.7, version=...      spam, ham, unsure or unknown
  X-Spam-Flag: YES                                                  only for spam
  X-Spam-Status: Yes, score=8.7 required=5.0 tests=SPAMNB_SPAM ...

If it cannot judge the message, it writes `X-Spamnb: unknown, reason=...`, and gives the
reason in the system's log. It prints nothing on standard error.

example:
  spamnb filter <message.eml
  spamnb filter --format bogofilter <message.eml

exit codes: 0 the message was written; 75 it was not: keep it, and try again;
with --exit-code: 0 spam, 1 ham, 2 unsure, 3 unknown
"""

import argparse
import contextlib
import os
import select
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from spamnb.base.label import Verdict
from spamnb.base.wording import escaped
from spamnb.cli.common import exit_codes
from spamnb.cli.common.argument_types import user_name
from spamnb.delivery.verdict import NAMES

if TYPE_CHECKING:
    from spamnb.config import Config

ENDS_AT_ONCE = True

Piece = bytes | memoryview
_CHUNK = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    help_ = "write X-Spamnb and SpamAssassin's fields, or X-Bogosity (default: spamnb)"
    parser.add_argument("--format", choices=list(NAMES), default="spamnb", help=help_)
    help_ = "whose mail it is (default: the user named before the command, or your login name)"
    parser.add_argument("--user", metavar="NAME", type=user_name, help=help_)
    parser.add_argument("--strict", action="store_true", help="without a verdict, print nothing and exit with 75")
    help_ = "give the verdict as the exit code; most delivery agents then throw the output away"
    parser.add_argument("--exit-code", action="store_true", help=help_)


def run(options: argparse.Namespace) -> int:
    """Pass the message on. The exit code is 0 only if all of it was written."""
    with _silent():
        try:
            return _pass_on(options)
        except (OSError, MemoryError) as fault:  # from the streams: the message cannot be read or written
            _log(f"the message was not passed on: {fault}")
            return exit_codes.TRY_AGAIN
        except KeyboardInterrupt:
            return 128 + signal.SIGINT


def _pass_on(options: argparse.Namespace) -> int:
    raw = _read(_descriptor(sys.stdin))
    output = _descriptor(sys.stdout)
    if not raw:
        return 0
    message, verdict, fault = _filtered(raw, options)
    if fault:
        _log(fault)
    if verdict is None and options.strict:
        return exit_codes.TRY_AGAIN
    _write(output, message)
    if not options.exit_code:
        return 0
    return exit_codes.ERROR if verdict is None else exit_codes.OF_VERDICT[verdict]


def _filtered(raw: bytes, options: argparse.Namespace) -> tuple[Sequence[Piece], Verdict | None, str]:
    """Return the message to pass on, its verdict, and the fault if there is none."""
    try:
        from spamnb.cli.common.config_and_ledger import configuration, go_on_as_owner
        from spamnb.delivery.pipe import filtered

        def load() -> "Config":
            if options.is_program:
                go_on_as_owner(options)
            return configuration(options)

        found = filtered(raw, load, options.user or options.for_user or _login_name(), options.format)
    except Exception as fault:  # our own, perhaps during an upgrade: the message must still go on
        return [raw], None, f"{type(fault).__name__}: {fault}"
    return found.message, None if found.verdict is None else found.verdict.verdict, found.fault


def _descriptor(stream: TextIO | None) -> int:
    """Return the descriptor of a standard stream. Raises OSError if it is closed: another file may have its number."""
    if stream is None:
        raise OSError("a standard stream is closed")
    return stream.fileno()


def _read(descriptor: int) -> bytes:
    """Read to the end. Raises OSError."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:  # Python's own streams take this for the end
            select.select([descriptor], [], [])
            continue
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def _write(descriptor: int, pieces: Iterable[Piece]) -> None:
    """Write all pieces. Raises OSError."""
    for piece in pieces:
        done, view = 0, memoryview(piece)
        while done < len(view):
            try:
                done += os.write(descriptor, view[done : done + _CHUNK])
            except BlockingIOError:
                select.select([], [descriptor], [])


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep standard error empty: Exim puts it into the message, and getmail takes it for a failure."""
    try:
        kept = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _login_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _log(fault: str) -> None:
    """Write a line to the system's log, if there is one."""
    import syslog

    with contextlib.suppress(ValueError, OSError):
        syslog.openlog("spamnb", syslog.LOG_PID, syslog.LOG_MAIL)
        syslog.syslog(syslog.LOG_WARNING, escaped(fault))
