"""sd_notify(3): tell the service manager our state, in one datagram."""

import os
import socket
import time
from collections.abc import Mapping


class Notifier:
    """Messages to the socket that `$NOTIFY_SOCKET` names; without one, nothing is sent.

    `watchdog_seconds`: the longest time between calls of `alive`, or None: half of `$WATCHDOG_USEC`
    (sd_watchdog_enabled(3)). `status`: the service's state, as last given to `ready`; "" before.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        period, ours = environ.get("WATCHDOG_USEC", ""), str(os.getpid())
        is_ours = period.isdigit() and environ.get("WATCHDOG_PID", ours) == ours
        self.watchdog_seconds = int(period) / 2e6 if is_ours else None
        self.status = ""
        self._is_replaced = False  # a status of long work has replaced it

    def ready(self, status: str) -> None:
        """Report that watching has begun; this also ends a reload."""
        self.status, self._is_replaced = status, False
        self._send(f"READY=1\nSTATUS={status}")

    def working(self, status: str, seconds: float) -> None:
        """Report long work: the next message comes within that number of seconds."""
        self._is_replaced = True
        self._send(f"STATUS={status}\nEXTEND_TIMEOUT_USEC={int(seconds * 1e6)}\nWATCHDOG=1")

    def alive(self) -> None:
        """Report progress; after a status of long work, send the status of `ready` again."""
        self._send(f"WATCHDOG=1\nSTATUS={self.status}" if self._is_replaced else "WATCHDOG=1")
        self._is_replaced = False

    def reloading(self) -> None:
        """Report that the configuration is being read again; systemd 253 and later need the time of this."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """Report that the service ends."""
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.connect(self._address)
                channel.sendall(state.encode())
        except OSError:
            return  # the manager is gone or was never there: this must not stop the filter
