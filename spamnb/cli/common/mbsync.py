"""mbsync is called: for its version, for the server's folders, and to fetch."""

import os
import subprocess
from collections.abc import Sequence


def run(program: str, arguments: Sequence[str], *, shown: bool = False) -> subprocess.CompletedProcess[str]:
    """Run mbsync. shown: what it prints on standard output is for the person, as its progress is."""
    return subprocess.run(  # noqa: S603 - mbsync, as the search path has it
        [program, *arguments],
        stdout=None if shown else subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"LC_ALL": "C"},  # its errors are read by `isync.fault_in`
        text=True,
        errors="replace",
        check=False,
    )
