"""The spamd protocol as a part of the service: its sockets, connections and requests, from a configuration."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spamnb.base.memory import give_back_large
from spamnb.base.sockets import Listener, TakenError
from spamnb.base.wording import escaped
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.host.service.served import ServedHost
from spamnb.host.shares import Share, running
from spamnb.service.part import Part, PartTools
from spamnb.service.served import Served
from spamnb.spamd.listeners import Listeners, Turn
from spamnb.spamd.peers import allowed
from spamnb.spamd.requests import Requests

if TYPE_CHECKING:  # without a socket asyncio is not imported: 2 MB and 20 ms
    from spamnb.spamd.server import SpamdServer

_log = logging.getLogger(__name__)
_TRIED_EVERY = 5.0  # seconds, after which it tries again to listen where another service does


class SpamdService(Part):
    """Answers on the configured sockets, and on those from systemd (`handed`), until `close`.

    `clock` gives seconds of a clock that is never set. If a fault ends the answering, `work` raises from then on, and
    the loop is woken. Without a socket it starts no thread.

    Each service of a mail host answers for the users of all shares. If one of them listens on an address, the others
    wait, and one takes its place when it ends.
    """

    def __init__(
        self,
        handed: Sequence[Listener],
        tools: PartTools,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(tools)
        self._listeners = Listeners(handed)
        self._running: tuple[SpamdServer, Requests] | None = None
        self._clock = clock
        self._served: Served | None = None
        self._tried_at = -math.inf
        self.addresses: list[str] = []

    @property
    def is_wanted(self) -> bool:
        """Whether this service answers somewhere, or waits to do so."""
        return bool(self.addresses or self._listeners.waiting)

    @property
    def status(self) -> str:
        """Return where it answers."""
        return f"answering on {escaped(' and '.join(self.addresses))}" if self.addresses else ""

    def use(self, served: Served) -> None:
        """Begin to answer, or go on with a new configuration of these ledgers; unchanged sockets stay open.

        Raises SpamnbError if a socket cannot be opened or a user does not exist, and then changes nothing. Raises it
        also if answering has ended.
        """
        spamd, config = served.config.spamd, served.host if isinstance(served, ServedHost) else served.config
        users = allowed(spamd.peers)
        listeners = self._listeners.open(spamd, _turn(config))
        if listeners and self._running is None:
            from spamnb.spamd.server import SpamdServer

            give_back_large()  # whole messages
            tools = self._tools
            requests = Requests(config, tools.now, tools.measurements, tools.reading)
            server = SpamdServer(requests.answer, measurements=tools.measurements, on_end=tools.wake)
            self._running = server, requests
        if self._running is not None:
            server, requests = self._running
            requests.use(config)
            server.listen(listeners, users)
        self._listeners.keep(listeners)
        if not listeners:
            self._end()
        self.addresses = [listener.address for listener in listeners]
        self._served, self._tried_at = served, self._clock()

    def work(self) -> None:
        """Take the place of another service that has ended. Raises SpamnbError if nobody is answered, although there
        are sockets.
        """
        if self._running is not None:
            self._running[0].check()
        if self._served is not None and self._waits_for() <= 0.0:
            before = {*self.addresses}
            try:
                self.use(self._served)
            except TakenError:  # another program was faster; it may end too
                self._tried_at = self._clock()
            if new := [address for address in self.addresses if address not in before]:
                _log.info("answering on %s, in the place of another service", escaped(" and ".join(new)))

    def due_in(self) -> float:
        """Return the seconds until the next call of `work`."""
        return min(self._waits_for(), math.inf if self._running is None else self._running[0].due_in())

    def _waits_for(self) -> float:
        """Return the seconds until it tries to listen where another service does."""
        return max(0.0, self._tried_at + _TRIED_EVERY - self._clock()) if self._listeners.waiting else math.inf

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


def _turn(config: Config | Host) -> Turn:
    """Return whose turn it is to listen: of the services of a host that run now, that with the lowest number."""
    own = config.share or Share() if isinstance(config, Host) else Share()
    if not isinstance(config, Host) or own.of == 1:
        return Turn.ALONE
    others = [share.number for share in running(config.directory) if share != own]
    if not others:
        return Turn.ALONE
    return Turn.FIRST if own.number < min(others) else Turn.LATER
