"""Call mbsync: for its version, for the server's folders, and to fetch mail."""

import os
import subprocess
from collections.abc import Sequence


def run(program: str, arguments: Sequence[str], *, shown: bool = False) -> subprocess.CompletedProcess[str]:
    """Run mbsync. shown: its standard output, with its progress, goes to the person."""
    return subprocess.run(  # noqa: S603 - mbsync, as the search path has it
        [program, *arguments],
        stdout=None if shown else subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C"},  # `isync.fault_in` reads its errors
        text=True,
        errors="replace",
        check=False,
    )
