"""Call mbsync: for its version, for the server's folders, and to fetch mail."""

import os
import pty
import subprocess
import tempfile
from collections.abc import Callable, Sequence

from spamnb.provider.isync import fetched_in

_LONGEST = 200  # characters of the counters that may be cut in two


def run(program: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run mbsync to its end."""
    return subprocess.run(  # noqa: S603 - mbsync, as the search path has it
        [program, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=_environ(),
        text=True,
        errors="replace",
        check=False,
    )


def fetch(
    program: str, arguments: Sequence[str], show: Callable[[int, int | None], object]
) -> tuple[int, str, tuple[int, int] | None]:
    """Fetch mail. Returns the exit code, the errors, and how many messages came of how many.

    show: called with these numbers again and again. mbsync counts only on a terminal, so it gets one of its own.
    """
    try:
        terminal, its_end = pty.openpty()
    except OSError:  # a system without /dev/pts
        done = run(program, ["--quiet", *arguments])
        return done.returncode, done.stderr, None
    counted, shown = None, ""
    with open(terminal, "rb", buffering=0) as read, tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - mbsync, as the search path has it
                [program, *arguments], stdin=subprocess.DEVNULL, stdout=its_end, stderr=errors, env=_environ()
            )
        finally:
            os.close(its_end)
        with process:
            try:
                while more := _read(read.fileno()):
                    shown = shown[-_LONGEST:] + more.decode(errors="replace")
                    if (counted := fetched_in(shown) or counted) is not None:
                        show(*counted)
            except BaseException:  # Ctrl-C; what was fetched is kept
                process.kill()
                raise
        errors.seek(0)
        return process.returncode, errors.read(), counted


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # EIO: nobody has the other end
        return b""


def _environ() -> dict[str, str]:
    return os.environ | {"LC_ALL": "C"}  # `isync.fault_in` reads its errors
