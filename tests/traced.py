"""A child process under strace: which system calls it makes, and death before one of them by the kernel's hand."""

import os
import re
import select
import signal
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE

# All calls by which something changes what is on a disk, or makes it durable. Between two of them the disk stays as it
# is, so a death before any other call leaves what a death before the next of these leaves.
CHANGES = (
    "openat,mkdir,rename,renameat,renameat2,link,linkat,unlink,unlinkat,write,pwrite64,ftruncate,fallocate,"
    "fsync,fdatasync,fchmod,utimensat,close,flock"
)


def killed_before(work: Callable[[], object], call: str, at: int) -> bool:
    """Let a process do the work, and kill it before its `at`th call of that name; False if it came to its end."""
    done = _traced(work, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={at}", "-o", "/dev/null")
    assert done in (0, -signal.SIGKILL)
    return done != 0


def calls(work: Callable[[], object], log: Path, more: str = "") -> dict[str, int]:
    """How often the work makes each of the calls. more: others than those above, as `,NAME`."""
    assert _traced(work, "-e", f"trace={CHANGES}{more}", "-o", str(log)) == 0
    return dict(Counter(re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE)))


def _traced(work: Callable[[], object], *options: str) -> int:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours runs
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(reading, 1)  # until strace is there; nothing that it could count comes before
            work()
            code = 0
        finally:
            os._exit(code)
    os.close(reading)
    try:
        tracer = subprocess.Popen(["strace", *options, "-p", str(child)], stderr=subprocess.PIPE)
        assert b" attached" in _first_said(tracer), "strace cannot trace a process here"
    finally:
        os.write(writing, b".")
        os.close(writing)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tracer.communicate()
    return code


def _first_said(tracer: "subprocess.Popen[bytes]") -> bytes:
    """What strace says first. It says "attached" only once the process cannot go on without it.

    `TracerPid` is there earlier: at that time the process still makes calls that nobody counts, and none kills it.
    """
    assert tracer.stderr is not None
    assert select.select([tracer.stderr], [], [], PATIENCE)[0], "strace says nothing"
    return os.read(tracer.stderr.fileno(), 1 << 16)
