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

if TYPE_CHECKING:  # asyncio is not imported where no socket is served: 2 MB and 20 ms
    from spamnb.service.spamd.server import SpamdServer


class SpamdService:
    """Answers where the configuration says, and on the sockets that were handed over, until `close`.

    `now` gives seconds since the epoch. on_end: called in another thread where answering ends by a fault; `check`
    raises from then on. Without a socket there is no thread.
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

    def use(self, read: Config | Host) -> None:
        """Begin to answer, or go on by another configuration of the same ledgers; what stays the same stays open.

        Raises SpamnbError where a socket cannot be opened or a user does not exist, and changes nothing then; and where
        answering has ended.
        """
        spamd = read.template.spamd if isinstance(read, Host) else read.spamd
        users = allowed(spamd.peers)
        listeners = self._listeners.open(spamd)
        if listeners and self._running is None:
            from spamnb.service.spamd.server import SpamdServer

            give_back_large()  # whole messages
            requests = Requests(read, self._now, self._measurements, self._reading)
            server = SpamdServer(requests.answer, measurements=self._measurements, on_end=self._on_end)
            self._running = server, requests
        if self._running is not None:
            server, requests = self._running
            requests.use(read)
            server.listen(listeners, users)
        self._listeners.keep(listeners)
        if not listeners:
            self._end()
        self.addresses = [listener.address for listener in listeners]

    def check(self) -> None:
        """Raise SpamnbError where nobody is answered any more, though there are sockets."""
        if self._running is not None:
            self._running[0].check()

    def due_in(self) -> float:
        """Seconds until `check` is to be called again."""
        return math.inf if self._running is None else self._running[0].due_in()

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
