"""The command line: the way from what was typed to the module that does it.

Commands are imported when they are called: `spamnb --help` needs none of numpy, BeautifulSoup or SQLite.
"""

import argparse
import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from spamnb.cli.grammar import parser
from spamnb.cli.output import printable
from spamnb.errors import SpamnbError

_EXIT_ERROR = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say. Returns the exit code."""
    verbose = False
    try:
        options = parser().parse_args(arguments)  # which prints help too, on a disk that may be full
        verbose = options.verbose
        _set_up_log(options)
        module = importlib.import_module(f"spamnb.cli.{options.module}")
        code: int = getattr(module, options.function)(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SpamnbError as fault:
        return _say(str(fault), fault.exit_code)
    except BrokenPipeError:  # whoever read our output has seen enough: end as programs do that SIGPIPE ends
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return _say("interrupted: what was done so far is kept", 128 + signal.SIGINT)
    except OSError as fault:
        where = f" ({fault.filename})" if fault.filename else ""
        step = ": free some space; nothing was lost" if fault.errno in {errno.ENOSPC, errno.EDQUOT} else ""
        return _say(f"{fault.strerror or fault}{where}{step}", _EXIT_ERROR)
    except Exception as fault:  # a mistake of ours; Python's own exit code 1 would mean "ham" to a mail recipe
        if verbose:
            import traceback

            traceback.print_exc()
        what = f"{type(fault).__name__}: {fault}"
        return _say(f"this should not happen: {what}; please report it, with what `spamnb -v` says", _EXIT_ERROR)


def _say(fault: str, code: int) -> int:
    for line in fault.splitlines() or [""]:
        print(f"spamnb: {printable(line)}", file=sys.stderr)
    return code


def _set_up_log(options: argparse.Namespace) -> None:
    import logging

    from spamnb.cli.log import set_up

    if options.command == "run":
        set_up(logging.DEBUG if options.verbose else logging.WARNING if options.quiet else logging.INFO, service=True)
    else:
        set_up(logging.INFO if options.verbose else logging.ERROR if options.quiet else logging.WARNING, service=False)


def entry_point() -> NoReturn:
    """The console script."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads cost memory, and do not survive a fork
    if sys.stderr is None:  # closed; `print` would take standard output in its place
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # None where it was closed; a locale without the letter is no fault
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what is open is closed
    code = _EXIT_ERROR
    try:
        code = main()
    finally:
        # here, lest Python complain at its exit of a pipe that is closed or a disk that is full
        with contextlib.suppress(OSError, AttributeError):
            sys.stdout.close()
    sys.exit(code)
