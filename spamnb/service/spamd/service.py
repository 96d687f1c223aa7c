"""The spamd protocol as a part of the service: its sockets, connections and requests, from a configuration."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spamnb.base.memory import give_back_large
from spamnb.base.sockets import Listener
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import ReadingNow
from spamnb.service.spamd.listeners import Listeners
from spamnb.service.spamd.peers import allowed
from spamnb.service.spamd.requests import Requests

if TYPE_CHECKING:  # without a socket asyncio is not imported: 2 MB and 20 ms
    from spamnb.service.spamd.server import SpamdServer


class SpamdService:
    """Answers on the configured sockets, and on those from systemd, until `close`.

    `now` gives seconds since the epoch. on_end: called in another thread if a fault ends the answering; `work` raises
    from then on. Without a socket it starts no thread.
    """

    def __init__(
        self,
        handed: Sequence[Listener],
        now: Callable[[], float],
        measurements: Measurements,
        reading: ReadingNow,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._listeners = Listeners(handed)
        self._on_end = on_end
        self._now = now
        self._measurements = measurements
        self._reading = reading
        self._running: tuple[SpamdServer, Requests] | None = None
        self.addresses: list[str] = []

    def use(self, config: Config | Host) -> None:
        """Begin to answer, or go on with a new configuration of these ledgers; unchanged sockets stay open.

        Raises SpamnbError if a socket cannot be opened or a user does not exist, and then changes nothing. Raises it
        also if answering has ended.
        """
        spamd = config.template.spamd if isinstance(config, Host) else config.spamd
        users = allowed(spamd.peers)
        listeners = self._listeners.open(spamd)
        if listeners and self._running is None:
            from spamnb.service.spamd.server import SpamdServer

            give_back_large()  # whole messages
            requests = Requests(config, self._now, self._measurements, self._reading)
            server = SpamdServer(requests.answer, measurements=self._measurements, on_end=self._on_end)
            self._running = server, requests
        if self._running is not None:
            server, requests = self._running
            requests.use(config)
            server.listen(listeners, users)
        self._listeners.keep(listeners)
        if not listeners:
            self._end()
        self.addresses = [listener.address for listener in listeners]

    def work(self) -> None:
        """Raise SpamnbError if nobody is answered, although there are sockets."""
        if self._running is not None:
            self._running[0].check()

    def due_in(self) -> float:
        """Return the seconds until the next call of `work`."""
        return math.inf if self._running is None else self._running[0].due_in()

    def close(self) -> None:
        """Answer the whole requests, and end."""
        self._end()
        self._listeners.close()

    def _end(self) -> None:
        if self._running is not None:
            server, requests = self._running
            server.close()
            requests.close()
            self._running = None
