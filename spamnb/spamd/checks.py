"""Check the sockets on which the service answers the spamd protocol."""

import pwd
import socket
from collections.abc import Iterator

from spamnb.checkup.finding import Finding, fault, ok, warning
from spamnb.checkup.part_checks import PartChecks
from spamnb.config import Config

_PATIENCE = 5.0  # seconds
_PONG = b" 0 PONG"


def of_spamd(config: Config, _: str, is_running: bool) -> Iterator[Finding]:
    """Check that the users who may ask exist, and that a running service answers at its addresses."""
    spamd = config.spamd
    for name in spamd.peers:
        if not name.isdigit() and not _exists(name):
            yield fault("spamd", f"there is no user {name!r}, and the service does not start", "correct spamd.peers")
    if is_running:
        for address in spamd.listen:
            yield _of_socket(address)


CHECKS = PartChecks(of_spamd, lambda host, spamnb, is_running: of_spamd(host.template, spamnb, is_running))


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _of_socket(address: str) -> Finding:
    try:
        reply = _ping(address)
    except PermissionError:
        return warning("spamd", f"only other users may ask on {address}, so it cannot be tried", "run doctor as root")
    except OSError as error:
        why = error.strerror or "it takes too long"
        return fault("spamd", f"nobody answers on {address}: {why}", "look into the service's log")
    if _PONG in reply:
        return ok("spamd", f"the service answers on {address}")
    return fault("spamd", f"{address} does not answer like spamd", "write another address as spamd.listen")


def _ping(address: str) -> bytes:
    family = socket.AF_UNIX if address.startswith("/") else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(_PATIENCE)
        host, _, port = address.rpartition(":")
        client.connect(address if family == socket.AF_UNIX else (host, int(port)))
        client.sendall(b"PING SPAMC/1.5\r\n")
        return client.recv(1000)
