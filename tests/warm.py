"""The program as a process that starts at once: it is forked from one that has imported the program's modules.

`spamnb run` takes 0.47 s of processor time until it watches, of which 0.4 s are imports. A fork takes 0.02 s. The
process has an environment, standard streams and signals of its own, and ends as any Python does. Tests of a start
itself (`tests/cli/test_processes.py`, units, sandboxes) start Python anew.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from tempfile import TemporaryFile
from typing import Final

from tests import warm_server
from tests.patience import PATIENCE

PROGRAM: Final = "from spamnb.cli.main import entry_point; entry_point()"
HURRIED: Final = f"from spamnb.maildir import departures; departures._END_SECONDS = 0.0; {PROGRAM}"
"""The program, except that its end does not wait a second for mail servers to look at what it has moved."""
_ours, _theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
_servers: list[subprocess.Popen[bytes]] = []  # one, from the first start on
_statuses: dict[int, int | None] = {}  # of all processes that nobody has waited for; None while one runs


def end() -> None:
    """End the process to fork from. Its time, and that of all that it forked, counts as this one's from then on."""
    _ours.close()
    for server in _servers:
        server.wait()


class Process:
    """A forked process, with those parts of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._code_by(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, once the process has ended."""
        if (code := self._code_by(None if timeout is None else time.monotonic() + timeout)) is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def _code_by(self, end: float | None) -> int | None:
        while self.returncode is None:
            if (status := _statuses[self.pid]) is not None:
                del _statuses[self.pid]
                self.returncode = os.waitstatus_to_exitcode(status)
            elif not _is_told(end):
                break
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


def start(*arguments: str, stdin: int | None = None, stdout: int = 1, stderr: int = 2, code: str = PROGRAM) -> Process:
    """Start `spamnb ARGUMENTS` in the working directory and the environment of the test.

    stdin, stdout, stderr: descriptors; without standard input there is nothing to read. code: what runs in place of
    the program.
    """
    if not _servers:
        # -P: the program is the installed one, as for every new Python. Other users may not be able to read this tree.
        command = [sys.executable, "-P", warm_server.__file__, str(_theirs.fileno())]
        environ = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # to be set before numpy is imported
        _servers.append(subprocess.Popen(command, env=environ, pass_fds=[_theirs.fileno()]))
        _theirs.close()
    request = {
        "arguments": ["spamnb", *arguments],
        "environ": dict(os.environ),
        "directory": os.getcwd(),
        "code": code,
    }
    known = set(_statuses)
    with open(os.devnull, "rb") as nothing:
        streams = [nothing.fileno() if stdin is None else stdin, stdout, stderr]
        socket.send_fds(_ours, [json.dumps(request).encode()], streams)
    while not (started := _statuses.keys() - known):
        _is_told(None)
    return Process(*started)


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run `spamnb ARGUMENTS` to its end, with pipes as standard output and standard error."""
    (out, to_out), (err, to_err) = os.pipe(), os.pipe()
    with TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = start(*arguments, stdin=given.fileno(), stdout=to_out, stderr=to_err)
    for descriptor in (to_out, to_err):
        os.close(descriptor)
    said = {out: b"", err: b""}
    open_ = set(said)
    while open_:
        readable = select.select(open_, [], [], PATIENCE)[0]
        assert readable, f"{arguments} says nothing more and does not end"
        for descriptor in readable:
            if part := os.read(descriptor, 1 << 16):
                said[descriptor] += part
            else:
                os.close(descriptor)
                open_.remove(descriptor)
    return subprocess.CompletedProcess(arguments, process.wait(PATIENCE), said[out], said[err])


def _is_told(end: float | None) -> bool:
    """Take the next message of the server: that a process was forked, or has ended. False if none comes by then."""
    left = None if end is None else max(0.0, end - time.monotonic())
    if not select.select([_ours], [], [], left)[0]:
        return False
    message = _ours.recv(warm_server.MOST)
    assert message, "the process to fork from has ended"
    pid, status = json.loads(message)
    _statuses[pid] = status
    return True
