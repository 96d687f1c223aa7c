"""The sockets of the service: made, handed over, taken over from a dead process; and the user at the other end."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener
from spamnb.config import Spamd
from spamnb.spamd.listeners import Listeners
from spamnb.spamd.peers import Allowed, Peer, allowed, peer_of
from tests.spamd.conftest import Service, request

NOBODY = 65534


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    """Sockets that are closed with the test."""
    made = Listeners(())
    yield made
    made.close()


def mode(path: Path) -> int:
    """The permissions of a file."""
    return path.stat().st_mode & 0o777


def test_made_and_removed(tmp_path: Path, listeners: Listeners) -> None:
    """A socket is made for its owner, or for all users if others may ask, and is gone at the end."""
    path = tmp_path / "s"
    listeners.open(Spamd(listen=(str(path),)))
    assert mode(path) == 0o600
    listeners.open(Spamd(listen=(str(path),), peers=("0",)))
    assert mode(path) == 0o666
    listeners.close()
    assert not path.exists()


def test_cannot_be_opened(tmp_path: Path, listeners: Listeners) -> None:
    """If a socket cannot be opened, the error says why and what to do; earlier ones stay, and no new one."""
    good, bad = str(tmp_path / "good"), str(tmp_path / "none" / "s")
    with pytest.raises(SpamnbError, match="No such file or directory; make its directory"):
        listeners.open(Spamd(listen=(good, bad)))
    assert not Path(good).exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SpamnbError, match=r"stop the program that uses it \(spamd\?\)"):
            listeners.open(Spamd(listen=(address,)))


def test_reload(service: Service) -> None:
    """After a reload sockets that are configured still were never closed, new ones answer, others are gone."""
    kept, other = service.path, str(service.directory / "other.sock")
    with service.connect() as client:
        client.sendall(request("CHECK", b"Subject: x\n\n")[:-3])
        service.set(listen=(kept, other))
        client.sendall(b"x\n\n"[-3:])
        assert b" 0 EX_OK" in client.recv(1000)
    service.set(listen=(other,))
    assert not Path(kept).exists()
    service.path = other
    assert b" 0 EX_OK" in service.ask(request("CHECK", b"x"))
    service.set(listen=())
    assert not Path(other).exists()
    service.set(listen=(kept,))
    service.path = kept
    assert b" 0 EX_OK" in service.ask(request("CHECK", b"x"))


def test_reload_that_fails(service: Service) -> None:
    """If a new socket cannot be opened, or a user does not exist, the service goes on as before."""
    with pytest.raises(SpamnbError, match="make its directory"):
        service.set(listen=(str(service.directory / "none" / "s"),))
    with pytest.raises(SpamnbError, match=r"spamd\.peers: there is no user 'nobody-at-all'"):
        service.set(listen=(service.path,), peers=("nobody-at-all",))
    assert b" 0 EX_OK" in service.ask(request("CHECK", b"x"))


# Who asks


def test_who_may_ask() -> None:
    """The service's own user, root and those that are configured may ask, by name or number; over TCP all may."""
    users = allowed(["root", "12345"])
    assert users.includes(Peer(os.geteuid()))
    assert users.includes(Peer(0))
    assert users.includes(Peer(12345))
    assert not users.includes(Peer(12346))
    assert users.includes(Peer(None))


def test_root_in_a_user_name_space() -> None:
    """Unmapped root reads as the overflow id; it may ask if no other user could have connected."""
    users = Allowed(frozenset({1000, 0}), NOBODY)
    assert users.includes(Peer(NOBODY, is_owner_or_root=True))
    assert not users.includes(Peer(NOBODY))
    assert not users.includes(Peer(1001, is_owner_or_root=True))


def test_credentials(tmp_path: Path, listeners: Listeners) -> None:
    """The kernel names the user who connected, and the socket's mode the users who could."""
    (listener,) = listeners.open(Spamd(listen=(str(tmp_path / "s"),)))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listener.address)
        with listener.socket.accept()[0] as connection:
            assert peer_of(connection, listener) == Peer(os.geteuid(), is_owner_or_root=True)
            os.chmod(listener.address, 0o660)
            assert peer_of(connection, listener) == Peer(os.geteuid(), is_owner_or_root=False)


_ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(b"CHECK SPAMC/1.5\\r\\nUser: root\\r\\nContent-length: 1\\r\\n\\r\\nx")
    print(client.recv(1000).decode())
"""


def asked_by(user: int, path: str) -> str:
    """Return the answer to a different user of this machine."""
    command = ["setpriv", f"--reuid={user}", "--clear-groups", "/usr/bin/python3", "-c", _ASK, path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user(service: Service) -> None:
    """Only a configured local user may ask, whatever name is sent."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        service.path = f"{place}/s"
        service.set(listen=(service.path,), peers=("12345",))
        assert asked_by(12345, service.path).startswith("SPAMD/1.1 0 EX_OK")
        refused = asked_by(12346, service.path)
        assert refused.startswith("SPAMD/1.0 69 Service Unavailable: user 12346 may not ask here")
        service.set(peers=())
        os.chmod(service.path, 0o666)  # somebody has opened the socket to all
        assert "may not ask here" in asked_by(12346, service.path)


_SERVE_ONCE = """
import sys
from spamnb.base.sockets import Listener
from spamnb.config import Spamd
from spamnb.spamd.listeners import Listeners
from spamnb.spamd.peers import allowed, peer_of
listeners = Listeners(())
(listener,) = listeners.open(Spamd(listen=(sys.argv[1],)))
print("listening", flush=True)
listener.socket.setblocking(True)
for _ in range(2):
    connection, _ = listener.socket.accept()
    peer = peer_of(connection, listener)
    print(peer.uid, allowed([]).includes(peer), flush=True)
    connection.close()
listeners.close()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare(1)")
def test_real_user_name_space() -> None:
    """In a user name space of its own, as by PrivateUsers=, the service recognises root."""
    with tempfile.TemporaryDirectory() as place:
        os.chown(place, 12345, 12345)
        command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
        command += ["unshare", "--user", "--map-user=12345", sys.executable, "-c", _SERVE_ONCE, f"{place}/s"]
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as made:
            assert made.stdout is not None
            assert made.stderr is not None
            if made.stdout.readline() != "listening\n":
                pytest.skip(f"no user name space here: {made.stderr.read()[-200:]}")
            for path_mode in (0o600, 0o666):
                os.chmod(f"{place}/s", path_mode)
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(f"{place}/s")
                    said = made.stdout.readline()
                assert said == f"{NOBODY} {path_mode == 0o600}\n"


def test_the_peer_at_an_abstract_socket() -> None:
    """The user at a socket without a file is known, and no file mode grants trust."""
    with socket.socket(socket.AF_UNIX) as served, socket.socket(socket.AF_UNIX) as client:
        served.bind(f"\0spamnb-test-{os.getpid()}")
        served.listen()
        client.connect(served.getsockname())
        connection, _ = served.accept()
        with connection:
            listener = Listener(served, f"\0spamnb-test-{os.getpid()}", is_unix=True, mode=0o600, is_ours=False)
            assert peer_of(connection, listener) == Peer(os.getuid())
