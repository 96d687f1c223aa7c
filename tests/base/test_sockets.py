"""Sockets: made, handed over, taken over from a dead process."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener, inherited, open_listener

EXAMPLE = "127.0.0.1:783"


def opened(address: str) -> Listener:
    """A socket that is listened on."""
    return open_listener(address, backlog=1, hints={0: "choose another"})


def test_made_and_removed(tmp_path: Path) -> None:
    """A Unix socket is its owner's alone, and its file is removed at the end."""
    path = tmp_path / "s"
    made = opened(str(path))
    assert (made.path, made.port, path.stat().st_mode & 0o777) == (str(path), None, 0o600)
    made.close()
    assert not path.exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_of_a_port(host: str) -> None:
    """Only one process listens on a port; a second one gets the reason and the next step."""
    try:
        made = opened(f"{host}:0")
    except SpamnbError as fault:
        assert host == "::1"
        pytest.skip(str(fault))
    assert made.path is None
    with pytest.raises(SpamnbError, match="Address already in use; choose another"):
        opened(f"{host}:{made.port}")
    made.close()


def test_left_by_a_dead_process(tmp_path: Path) -> None:
    """The socket of a process that was killed is taken over."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    opened(str(tmp_path / "s")).close()


def test_of_a_living_process(tmp_path: Path) -> None:
    """A socket on which another program answers is left alone, and so is a file that is not a socket."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "s"))
        other.listen()
        with pytest.raises(SpamnbError, match="another program does; stop that one"):
            opened(str(tmp_path / "s"))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SpamnbError, match="the path is not a socket"):
        opened(str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


_HANDED = """
import os, sys
from spamnb.base.sockets import inherited
from spamnb.base.errors import SpamnbError
try:
    found = inherited({"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}, example="127.0.0.1:783")
    print(found[0].address, found[0].is_unix, os.get_inheritable(3))
except SpamnbError as fault:
    print(fault)
"""


def handed(given: socket.socket) -> str:
    """Return a process's report about a socket that it is started with."""
    shell = 'exec 3<&"$0"; exec "$@"'
    command = ["bash", "-c", shell, str(given.fileno()), sys.executable, "-c", _HANDED]
    return subprocess.run(command, pass_fds=[given.fileno()], capture_output=True, text=True, check=True).stdout.strip()


def test_handed_over(tmp_path: Path) -> None:
    """A listening socket from systemd is served; what cannot be served says what to write."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        assert "is not a listening stream" in handed(unix)
        unix.listen()
        assert handed(unix) == f"{path} True False"
    with socket.create_server(("127.0.0.1", 0)) as local, socket.create_server(("0.0.0.0", 0)) as open_to_all:
        assert handed(local) == f"127.0.0.1:{local.getsockname()[1]} False False"
        assert "can be reached from outside: write ListenStream=127.0.0.1:783" in handed(open_to_all)


@pytest.mark.parametrize(("number", "after"), [("1", 1), ("x", 0)])
def test_handed_to_others(number: str, after: int) -> None:
    """Sockets that were handed to another process, as a shell around this one, are not taken."""
    assert inherited({"LISTEN_FDS": number, "LISTEN_PID": str(os.getpid() + after)}, example=EXAMPLE) == []
    assert inherited({}, example=EXAMPLE) == []
