"""The spamd protocol as a part of the service: its sockets, connections and requests, from a configuration."""

from collections.abc import Callable, Sequence

from spamnb.config import Config
from spamnb.service.measurements import Measurements
from spamnb.service.spamd.requests import Requests
from spamnb.service.spamd.server import Server
from spamnb.service.spamd.sockets import Listener, Listeners, allowed


class Spamd:
    """Answers where the configuration says, and on the sockets that were handed over, until `close`.

    `now` gives seconds since the epoch. Without a socket there is no thread.
    """

    def __init__(self, handed: Sequence[Listener], now: Callable[[], float], measurements: Measurements) -> None:
        self._listeners = Listeners(handed)
        self._now = now
        self._measurements = measurements
        self._running: tuple[Server, Requests] | None = None
        self.addresses: list[str] = []

    def use(self, config: Config) -> None:
        """Begin to answer, or go on by another configuration of the same ledger; what stays the same stays open.

        Raises SpamnbError where a socket cannot be opened or a user does not exist, and changes nothing then.
        """
        users = allowed(config.spamd.peers)
        listeners = self._listeners.open(config.spamd)
        if listeners and self._running is None:
            requests = Requests(config, self._now, self._measurements)
            self._running = Server(requests.answer, measurements=self._measurements), requests
        if self._running is not None:
            server, requests = self._running
            requests.use(config)
            server.listen(listeners, users)
        self._listeners.keep(listeners)
        if not listeners:
            self._end()
        self.addresses = [listener.address for listener in listeners]

    def close(self) -> None:
        """Answer what is whole, and end."""
        self._end()
        self._listeners.close()

    def _end(self) -> None:
        if self._running is not None:
            server, requests = self._running
            server.close()
            requests.close()
            self._running = None
