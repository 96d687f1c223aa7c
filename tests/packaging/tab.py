"""Types texts into a shell on a terminal, and looks at what it shows: `tab.py SECONDS SHELL TEXT EXPECTED …`.

It runs inside a booted system, with nothing but the standard library. It ends with 1 if the shell does not show an
expected text within so many seconds, and prints what it shows.
"""

import os
import pty
import re
import select
import sys
import time

_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?<=>]*[a-zA-Z]|[=>()][0B]?|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_PROMPT = r"[%$]\s*$"  # fish goes to the beginning of the line and on again


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, name: str, seconds: float) -> None:
        self._seconds = seconds
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execvp(name, [name, "-i"])

    def wait(self, expected: str) -> bool:
        """Wait until the shell shows a matching text; whether it did in time."""
        shown, end = b"", time.monotonic() + self._seconds
        while time.monotonic() < end:
            if select.select([self._terminal], [], [], 0.1)[0]:
                shown += os.read(self._terminal, 4096)
            if re.search(expected.encode(), _ESCAPES.sub(b"", shown)):
                return True
        sys.stdout.write(f"shown is {shown!r}, not {expected!r}\n")
        return False

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def end(self) -> None:
        """Close the terminal, and wait for the shell."""
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


if __name__ == "__main__":
    shell = Shell(sys.argv[2], float(sys.argv[1]))
    failed = not shell.wait(_PROMPT)
    for typed, expected in zip(sys.argv[3::2], sys.argv[4::2], strict=True):
        shell.type(typed)
        failed = not shell.wait(expected) or failed
        shell.type("\x15")  # Ctrl-U: an empty line again
    shell.end()
    sys.exit(failed)
