"""The connections: one thread reads and writes all of them, and a few work on requests that are whole.

What a client can do wrong costs itself, not the others:

*It is slow, or silent.* Only a request that is whole takes a worker. The first line has to come within half a minute,
all of it within five, and an answer has to be taken as soon.

*It sends too much.* A message has a limit; so have all bytes that are held at once. Who sends more than a few waits
until there is room for all that was announced, and is not read meanwhile; first come, first served. Where that takes
too long the answer is a temporary error. Who was let in and does not send is given up once another waits: an honest
client sends all it has in milliseconds.

*There are too many.* Past a number of connections the oldest one that is incomplete, or has its answer, is given up,
once it has had some seconds; until then new ones wait in the kernel's queue.

*It does not take what is answered, or goes on sending.* An answer is followed by the end of the stream; what still
comes is dropped for as long as it comes quickly, since closing at once would make the kernel reset the connection, and
the answer be lost.

No answer that is being written is given up for the sake of others.
"""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.spamd import protocol
from spamnb.service.spamd.peers import Allowed, Peer, peer_of
from spamnb.service.spamd.protocol import (
    Answer,
    Command,
    Pieces,
    RequestError,
    ResponseStatus,
    SpamdRequest,
    Stream,
    Told,
)

_log = logging.getLogger(__name__)
_PIECE = 1 << 16  # bytes read at once
_AT_ONCE = 4  # pieces of one client
_ASKED_EVERY = 10.0  # seconds
_HEARD_WITHIN = 30.0  # seconds; the thread never works for as long as one
_ENDED = "the spamd protocol is not answered any more: the thread of its connections {how}; restart the service"

Answered = Answer | Future[Answer]
"""An answer, or one that comes later and takes no worker until then."""

Ask = Callable[[SpamdRequest, Peer], Answered]


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What clients may take; times are seconds, sizes bytes.

    held: of all messages and answers together; the first `protocol.SMALL` bytes of each message are read all the same.
    wait: how long a message waits for room. grace: a connection that is younger is not given up. tick: how exactly
    these are kept. workers: Python computes in one thread at a time, so that more of them answer no faster; after 7,000
    requests the service took 78 MB with two and 91 MB with four (benchmarks/spamd.py).
    """

    connections: int = 600  # a service has 1,024 open files unless told otherwise
    held: int = 64 << 20
    workers: int = 2
    first_line: float = 30.0  # this and the next are spamd's own
    request: float = 300.0
    wait: float = 60.0
    answer: float = 300.0
    drain: float = 1.0
    grace: float = 5.0
    stop: float = 5.0
    tick: float = 1.0


@dataclass(slots=True, eq=False)
class _Connection:
    """A client.

    began: when it connected. since: then, or when there was room for its message, or when it got its answer. held: its
    bytes. reading: the time limit, while its request is incomplete, or while what comes after its answer is dropped.
    """

    socket: socket.socket
    listener: Listener
    began: float
    since: float
    pieces: int = 0  # received
    held: int = 0
    reading: asyncio.Timeout | None = None
    given_up: str = ""  # why
    has_ended: bool = False  # it sends nothing more


class SpamdServer:
    """Answers on the sockets that it is given, until `close`. `answer` is called in several threads at once.

    on_end: called in the thread of the connections, where that ends by a fault; `check` raises from then on.
    """

    def __init__(
        self,
        answer: Ask,
        limits: ServerLimits = ServerLimits(),
        measurements: Measurements | None = None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._answer = answer
        self._limits = limits
        self._measurements = measurements or Measurements()
        self._on_end = on_end
        self._listening: dict[Listener, asyncio.Task[None]] = {}
        self._allowed: Allowed | None = None
        self._connections: dict[_Connection, asyncio.Task[None]] = {}  # in the order in which they came
        self._held = 0
        self._waiting: dict[_Connection, None] = {}  # for room, in the order in which they asked for it
        self._refused = LogOnce(_log)
        # When the thread was asked whether it lives, and has said so.
        self._asked_at = self._heard_at = time.monotonic()
        self._loop = asyncio.new_event_loop()
        self._less = asyncio.Event()  # fewer connections or bytes than before
        self._over = self._loop.create_future()
        self._workers = ThreadPoolExecutor(limits.workers, thread_name_prefix="spamd-worker")
        self._thread = threading.Thread(target=self._run, name="spamd", daemon=True)  # one that is stuck is left behind
        self._thread.start()

    def listen(self, listeners: Sequence[Listener], allowed: Allowed) -> None:
        """Answer on these sockets and no others, and these users. The sockets stay the caller's.

        Once this returns the others may be closed. Raises SpamnbError where the thread of the connections has ended.
        """
        self._call(self._use(listeners, allowed))

    def check(self) -> None:
        """Raise SpamnbError where the thread of the connections has ended, or is stuck."""
        now = time.monotonic()
        if self._loop.is_closed():
            raise SpamnbError(_ENDED.format(how="has ended by a fault"))
        if self._asked_at > self._heard_at and now - self._asked_at > _HEARD_WITHIN:
            raise SpamnbError(_ENDED.format(how="is stuck"))
        if self._asked_at <= self._heard_at < now - _ASKED_EVERY:
            self._asked_at = now
            with contextlib.suppress(RuntimeError):  # it ends at this very moment
                self._loop.call_soon_threadsafe(self._heard)

    def close(self) -> None:
        """Give up what is incomplete, answer what is whole, and end."""
        with contextlib.suppress(SpamnbError):
            self._call(self._end())
        self._thread.join(_HEARD_WITHIN)
        self._workers.shutdown(cancel_futures=True)

    # --- called in other threads

    def _call(self, what: Coroutine[object, object, None]) -> None:
        """Do it in the thread of the connections. Raises SpamnbError where that has ended."""
        try:
            done = asyncio.run_coroutine_threadsafe(what, self._loop)
        except RuntimeError as fault:
            what.close()
            raise SpamnbError(_ENDED.format(how="has ended by a fault")) from fault
        try:
            done.result(_HEARD_WITHIN)
        except TimeoutError as fault:
            raise SpamnbError(_ENDED.format(how="is stuck")) from fault

    # --- the thread of all connections

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._until_over())
        except BaseException:
            _log.exception("the thread of the connections has ended")
            self._on_end()

    async def _until_over(self) -> None:
        await self._over

    def _heard(self) -> None:
        self._heard_at = time.monotonic()

    async def _use(self, listeners: Sequence[Listener], allowed: Allowed | None) -> None:
        dropped = [self._listening.pop(one) for one in [*self._listening] if one not in listeners]
        for task in dropped:
            task.cancel()
        await asyncio.gather(*dropped, return_exceptions=True)
        self._allowed = allowed
        for one in listeners:
            if one not in self._listening:
                self._listening[one] = task = self._loop.create_task(self._accept_from(one))
                task.add_done_callback(self._has_ended)

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        """A listener is not attended to any more: without it there is nothing to go on for."""
        if not task.cancelled() and (fault := task.exception()) is not None and not self._over.done():
            self._over.set_exception(fault)

    async def _end(self) -> None:
        await self._use([], None)
        for connection, task in self._connections.items():
            if connection.reading is not None:
                task.cancel()
        if self._connections:
            await asyncio.wait(self._connections.values(), timeout=self._limits.stop)
        if not self._over.done():
            self._over.set_result(None)

    async def _accept_from(self, listener: Listener) -> None:
        while True:
            await self._room_for_one()
            try:
                accepted, _ = await self._loop.sock_accept(listener.socket)
            except ConnectionError:  # it has gone again
                continue
            except OSError as fault:
                self._refused.log("accept", f"cannot take a connection on {listener.address}: {fault.strerror}")
                await asyncio.sleep(self._limits.tick)
                continue
            self._refused.over("accept")
            now = self._loop.time()
            connection = _Connection(accepted, listener, began=now, since=now)
            self._connections[connection] = self._loop.create_task(self._serve(connection))

    async def _room_for_one(self) -> None:
        """Wait until one more connection may come; the oldest that is read from makes room, if it has had its time."""
        while len(self._connections) >= self._limits.connections:
            self._give_up_slow((one for one in self._connections if one not in self._waiting), "too many connections")
            await self._less_or_tick()

    async def _admit(self, connection: _Connection, size: int) -> None:
        """Wait until there is room for a message of that size; who was let in and is slow makes room."""
        until = self._loop.time() + self._limits.wait
        self._waiting[connection] = None
        try:
            while (first := next(iter(self._waiting))) is not connection or self._held + size > self._limits.held:
                if self._loop.time() >= until:
                    raise RequestError(ResponseStatus.BUSY, "too much mail at once, ask again later")
                if first is connection:
                    self._give_up_slow((one for one in self._connections if one.held), "too much mail")
                await self._less_or_tick()
        finally:
            del self._waiting[connection]
            self._less.set()  # for the next one
        connection.since = self._loop.time()
        self._hold(connection, size)

    def _give_up_slow(self, candidates: Iterable[_Connection], why: str) -> None:
        """Give up the first of them that is read from though it has had its time."""
        now = self._loop.time()
        for one in candidates:
            is_slow = now - one.since >= self._limits.grace
            if is_slow and one.reading is not None and not one.given_up and not one.reading.expired():
                one.given_up = why
                one.reading.reschedule(now)
                return

    async def _less_or_tick(self) -> None:
        self._less.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.tick):
                await self._less.wait()

    def _hold(self, connection: _Connection, held: int) -> None:
        """Count a connection's bytes."""
        if held < connection.held:
            self._less.set()
        self._held += held - connection.held
        connection.held = held

    # --- one connection

    async def _serve(self, connection: _Connection) -> None:
        """All of it; a fault of ours ends this connection, and no other."""
        try:
            await self._write(connection, await self._answered(connection))
            if not (connection.has_ended or connection.given_up):
                await self._drain(connection)
        except OSError:
            pass  # it has gone, or takes too long
        except Exception:
            _log.exception("a connection is given up")
        finally:
            self._hold(connection, 0)
            del self._connections[connection]
            self._less.set()
            connection.socket.close()

    async def _answered(self, connection: _Connection) -> Pieces:
        """The answer to its request. Raises OSError where the client goes before."""
        command, code = "", 0
        try:
            peer = self._peer(connection)
            request = await self._request(connection)
            command = request.command
            self._hold(connection, len(request.message))
            pieces = await self._worked(request, peer)
        except RequestError as fault:
            pieces, code = [protocol.error(fault.status, fault.why)], fault.status.code
        self._measurements.request(command, code)
        return pieces

    def _peer(self, connection: _Connection) -> Peer:
        """Who it is. Raises RequestError for who may not ask."""
        peer = peer_of(connection.socket, connection.listener)
        if self._allowed is not None and self._allowed.includes(peer):
            return peer
        who, address = f"user {peer.uid}", connection.listener.address
        self._refused.log(who, f"{who} may not ask on {address}; spamd.peers would allow it")
        raise RequestError(ResponseStatus.REFUSED, f"{who} may not ask here")

    async def _request(self, connection: _Connection) -> SpamdRequest:
        """Its request, whole. Raises RequestError for what is none, and where it takes too long."""
        stream = Stream(partial(self._receive, connection))
        try:
            async with asyncio.timeout_at(connection.began + self._limits.first_line) as connection.reading:
                first = await protocol.read_first(stream)
                if not connection.given_up:
                    connection.reading.reschedule(connection.began + self._limits.request)
                return await protocol.read_rest(stream, first, partial(self._admit, connection))
        except TimeoutError:
            if connection.given_up:
                raise RequestError(ResponseStatus.REFUSED, connection.given_up) from None
            raise RequestError(ResponseStatus.LATE, "the request did not come to its end in time") from None
        except RequestError as fault:
            if fault.status is not ResponseStatus.BUSY:
                _log.debug("a request that cannot be read: %s", fault.why)
                self._measurements.fault("protocol")
            raise
        finally:
            connection.reading = None

    async def _receive(self, connection: _Connection) -> bytes:
        connection.pieces += 1
        if connection.pieces > _AT_ONCE:
            await asyncio.sleep(0)  # who sends faster than we read would keep all others waiting
        data = await self._loop.sock_recv(connection.socket, _PIECE)
        connection.has_ended = not data
        return data

    async def _worked(self, request: SpamdRequest, peer: Peer) -> Pieces:
        """What a worker answers. Raises RequestError where it cannot."""
        if request.command is Command.PING:
            return [protocol.pong()]
        if request.command is Command.SKIP:
            return []
        try:
            answered = await self._loop.run_in_executor(self._workers, self._answer, request, peer)
            answer = await asyncio.wrap_future(answered) if isinstance(answered, Future) else answered
            if not isinstance(answer, Told):
                return answer
            await asyncio.wait([asyncio.wrap_future(answer.written)], timeout=answer.within)
            return answer.pieces
        except RequestError:
            raise
        except Exception:
            _log.exception("a request could not be answered")
            raise RequestError(ResponseStatus.REFUSED, "a fault of the service") from None

    async def _write(self, connection: _Connection, pieces: Pieces) -> None:
        """Write the answer, and its end."""
        self._hold(connection, sum(map(len, pieces)))
        async with asyncio.timeout(self._limits.answer):
            for piece in pieces:
                await self._loop.sock_sendall(connection.socket, piece)
        connection.socket.shutdown(socket.SHUT_WR)
        self._hold(connection, 0)

    async def _drain(self, connection: _Connection) -> None:
        """Drop what still comes, until the client ends too: one that is refused may have much to send."""
        connection.since = self._loop.time()
        left, end = protocol.MOST_MESSAGE, connection.since + self._limits.answer
        async with asyncio.timeout(self._limits.drain) as connection.reading:
            while left > 0 and (data := await self._receive(connection)):
                left -= len(data)
                if not connection.given_up:
                    connection.reading.reschedule(min(end, self._loop.time() + self._limits.drain))
