"""The command line: it finds the command, runs it, and turns the result into an exit code."""

import argparse
import contextlib
import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from spamnb.base.errors import SpamnbError, next_step
from spamnb.cli.common import arguments, exit_codes
from spamnb.cli.common.output import warn

TYPE_CHECKING = False  # as in `typing`, whose import takes a twelfth of `spamnb --help`
if TYPE_CHECKING:
    from typing import NoReturn

_FULL, _CLOSED = "free some space; nothing was lost", "run spamnb as its owner, or correct its permissions"
_STEPS = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EACCES: _CLOSED, errno.EPERM: _CLOSED}


def main(typed: Sequence[str] | None = None) -> int:
    """Run the command that was typed. Returns the exit code."""
    verbose, options = False, None
    try:
        options = arguments.parse(typed)  # it also prints help, and the disk may be full
        verbose = options.verbose
        _set_up_log(options)
        options.is_program = typed is None  # a call from Python code keeps its user
        if options.is_program and not os.geteuid() and options.command != "filter":  # `filter` reads the message first
            _go_on_as_owner(options)
        if options.is_program:
            gc.freeze()
            gc.enable()
        code: int = options.run(options)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        if options.is_program and options.ends_at_once:  # Python would free each object first: a twentieth of a command
            os._exit(code)
        return code
    except SpamnbError as fault:
        return _failed(str(fault), fault.exit_code)
    except BrokenPipeError:  # the reader of our output has seen enough: end like a program that SIGPIPE ends
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return _interrupted(getattr(options, "interrupted", ""))
    except OSError as fault:
        where = f" ({fault.filename})" if fault.filename else ""
        step = next_step(fault, _STEPS.get(fault.errno or 0, ""))
        return _failed(f"{fault.strerror or fault}{where}{step and ': '}{step}", exit_codes.ERROR)
    except Exception as fault:  # our own mistake; Python's exit code 1 would mean "ham" to a mail recipe
        if (damage := _damage_behind(fault, options)) is not None:
            return _failed(str(damage), damage.exit_code)
        if verbose:
            import traceback

            traceback.print_exc()
        what = f"{type(fault).__name__}: {fault}"
        report = "please report it, with the output of `spamnb -v`"
        return _failed(f"this should not happen: {what}; {report}", exit_codes.ERROR)


def _go_on_as_owner(options: argparse.Namespace) -> None:
    from spamnb.cli.common.config_and_ledger import go_on_as_owner

    go_on_as_owner(options)


def _interrupted(what: str = "") -> int:
    """End after Ctrl-C. what: the command's sentence about the work so far."""
    return _failed(f"interrupted{what and ': '}{what}", 128 + signal.SIGINT)


def _damage_behind(fault: Exception, options: argparse.Namespace | None) -> SpamnbError | None:
    """Return the damage of the ledger that causes the fault, if it holds values that spamnb never writes."""
    from spamnb.cli.common.config_and_ledger import ledger_to_read
    from spamnb.ledger.values import damage_in

    with contextlib.suppress(SpamnbError, OSError, AttributeError):  # a command may have no configuration
        if options is not None and (path := ledger_to_read(options)[1]) is not None:
            return damage_in(path, fault)
    return None


def _failed(fault: str, code: int) -> int:
    for line in fault.splitlines() or [""]:
        warn(line)
    return code


def _set_up_log(options: argparse.Namespace) -> None:
    if options.command == "filter":  # it never prints on standard error, and must start fast
        return
    import logging

    from spamnb.cli.common.stderr_log import set_up

    is_service = options.command in ("run", "web")
    usual = (
        (logging.DEBUG, logging.INFO, logging.WARNING) if is_service else (logging.INFO, logging.WARNING, logging.ERROR)
    )
    set_up(usual[0 if options.verbose else 2 if options.quiet else 1], service=is_service)


def entry_point() -> "NoReturn":
    """The console script."""
    gc.disable()  # imports leave no garbage; looking for it takes a twentieth of a command
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads cost memory, and do not survive a fork
    if sys.stderr is None:  # closed; `print` would write to standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a closed stream is None; a locale may lack a letter
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that open files are closed
    code, ends = exit_codes.ERROR, False

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not ends:
            signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise our parent wants it ignored
        signal.signal(signal.SIGINT, interrupt)
    try:
        code = main()
    except KeyboardInterrupt:  # a second Ctrl-C, during the answer to the first
        ends = True
        code = _interrupted()
    finally:
        ends = True
        # A third would kill us while Python ends. Blocked before: Python reports one that comes while we set this.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # so that Python does not report a closed pipe or a full disk at its exit
        with contextlib.suppress(OSError, AttributeError):
            sys.stdout.close()
    sys.exit(code)
