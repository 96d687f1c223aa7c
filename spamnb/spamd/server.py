"""The connections: one thread reads and writes all of them, and a few threads work on whole requests.

A client's faults cost the client itself, not the others:

*It is slow, or silent.* Only a whole request takes a worker. The first line has to come within half a minute, the whole
request within five minutes, and the client must take the answer within the same time.

*It sends too much.* A message has a limit, and so have all bytes that are held at once. A client that sends more than a
few bytes waits for room, and is not read until then; first come, first served. Room is taken as bytes come, twice as
much each time: bytes that a client only announces take none. If waiting takes too long, the answer is a temporary
error.

*It has room, and is silent.* It is given up once another waits: an honest client sends everything in milliseconds.

*All have a part of their room, and wait for the rest.* They would wait for each other. So the message that came first
may take all room, and all others together leave enough for one whole message.

*There are too many.* Above a number of connections, the oldest one that is incomplete, or has its answer, is given up
after some seconds; until then new ones wait in the kernel's queue. Connections leave some of the process's files to the
rest of the service. If the service has used these too, the oldest silent connection is given up at once.

*It does not take its answer.* If it takes nothing for half a minute, it is given up once another waits. A connection
that is taking its answer is never given up for others.

*It goes on sending.* The end of the stream follows an answer. What still comes is dropped for as long as it comes
quickly: closing at once would make the kernel reset the connection, and lose the answer.
"""

import asyncio
import contextlib
import errno
import logging
import math
import select
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener
from spamnb.service import open_files
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.spamd import protocol
from spamnb.spamd.limits import ServerLimits
from spamnb.spamd.peers import Allowed, Peer, peer_of
from spamnb.spamd.protocol import (
    Answer,
    AnswerAfter,
    Command,
    Pieces,
    RequestError,
    ResponseStatus,
    SpamdRequest,
    Stream,
)

_log = logging.getLogger(__name__)
_LIMITS = ServerLimits()
_PIECE = 1 << 16  # bytes read at once
_AT_ONCE = 4  # pieces of one client
_TAKEN = 1 << 18  # bytes of an answer; a client that takes this much is taking it
_ASKED_EVERY = 10.0  # seconds
_HEARD_WITHIN = 14.0  # seconds; a stuck thread shows within twice this; no piece of its work takes as long
_TOO_MANY = "too many connections"
_ENDED = "the spamd protocol is no longer answered: the thread of its connections {how}; restart the service"

Answered = Answer | Future[Answer]
"""An answer, or a future of one that takes no worker until then."""

Ask = Callable[[SpamdRequest, Peer], Answered]


@dataclass(slots=True, eq=False)
class _Connection:
    """A client.

    began: when it connected. since: when it connected, last got room, or got its answer. moved: when it last sent or
    took something. waited: for room, in all. held: its bytes. reading: the time limit, while its request is incomplete,
    or while input after its answer is dropped. writing: the time limit of its answer.
    """

    socket: socket.socket
    listener: Listener
    began: float
    since: float
    moved: float
    waited: float = 0.0
    pieces: int = 0  # received
    held: int = 0
    reading: asyncio.Timeout | None = None
    writing: asyncio.Timeout | None = None
    given_up: str = ""  # the reason
    has_ended: bool = False  # it sends nothing more

    def is_ready(self, event: int) -> bool:
        """Whether the client has sent or taken something that we have not noticed yet."""
        poll = select.poll()
        poll.register(self.socket, event)
        return bool(poll.poll(0))


class SpamdServer:
    """Answers on the given sockets, until `close`. `answer` is called in several threads at once.

    on_end: called in the thread of the connections, if a fault ends it; `check` raises from then on. `running` gives
    seconds of a clock that is never set; by it, that thread is asked whether it lives.
    """

    def __init__(
        self,
        answer: Ask,
        limits: ServerLimits = _LIMITS,
        measurements: Measurements | None = None,
        on_end: Callable[[], object] = lambda: None,
        running: Callable[[], float] = time.monotonic,
    ) -> None:
        self._answer = answer
        self._running = running
        self._limits = limits
        self._measurements = measurements or Measurements()
        self._on_end = on_end
        self._listening: dict[Listener, asyncio.Task[None]] = {}
        self._allowed: Allowed | None = None
        self._connections: dict[_Connection, asyncio.Task[None]] = {}  # in order of arrival
        self._held = 0
        self._large: dict[_Connection, None] = {}  # asked for room and are read, in the order of asking
        self._waiting: set[_Connection] = set()  # those that wait for more room
        self._beside = 0  # files that are open beside connections, and when they were counted
        self._counted_at = -math.inf
        self._refused = LogOnce(_log)
        # When the thread was asked whether it lives, and when it last answered.
        self._asked_at = self._heard_at = running()
        self._loop = asyncio.new_event_loop()
        self._less = asyncio.Event()  # fewer connections or bytes than before
        self._over = self._loop.create_future()
        self._workers = ThreadPoolExecutor(limits.workers, thread_name_prefix="spamd-worker")
        self._thread = threading.Thread(target=self._run, name="spamd", daemon=True)  # a stuck thread is left behind
        self._thread.start()

    def listen(self, listeners: Sequence[Listener], allowed: Allowed) -> None:
        """Answer these users on these sockets, and on no others. The sockets stay the caller's.

        After this returns, the other sockets may be closed. Raises SpamnbError if the thread of the connections has
        ended.
        """
        self._call(self._use(listeners, allowed))

    def check(self) -> None:
        """Raise SpamnbError if the thread of the connections has ended, or is stuck."""
        now = self._running()
        if self._loop.is_closed():
            raise SpamnbError(_ENDED.format(how="has ended by a fault"))
        if self._asked_at > self._heard_at and now - self._asked_at > _HEARD_WITHIN:
            raise SpamnbError(_ENDED.format(how="is stuck"))
        if self._asked_at <= self._heard_at < now - _ASKED_EVERY:
            self._asked_at = now
            with contextlib.suppress(RuntimeError):  # it ends at this very moment
                self._loop.call_soon_threadsafe(self._heard)

    def due_in(self) -> float:
        """Return the seconds until the next call of `check`, so that it finds a stuck thread in time."""
        due = self._asked_at + _HEARD_WITHIN if self._asked_at > self._heard_at else self._heard_at + _ASKED_EVERY
        return max(0.0, due - self._running())

    def close(self) -> None:
        """Give up incomplete requests, answer whole ones, and end."""
        with contextlib.suppress(SpamnbError):
            self._call(self._end())
        self._thread.join(_HEARD_WITHIN)
        self._workers.shutdown(cancel_futures=True)

    # --- called in other threads

    def _call(self, what: Coroutine[object, object, None]) -> None:
        """Run this in the thread of the connections. Raises SpamnbError if that has ended."""
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
        self._heard_at = self._running()

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
        """Stop the loop if a listener's task ends: without it there is nothing to go on for."""
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
            except ConnectionError:  # the client has gone again
                continue
            except OSError as fault:
                self._refused.log("accept", f"cannot take a connection on {listener.address}: {fault.strerror}")
                if fault.errno in (errno.EMFILE, errno.ENFILE):
                    self._give_up_one(_TOO_MANY, self._limits.silence)
                await self._less_or_tick()
                continue
            self._refused.clear("accept")
            now = self._loop.time()
            connection = _Connection(accepted, listener, began=now, since=now, moved=now)
            self._connections[connection] = self._loop.create_task(self._serve(connection))

    async def _room_for_one(self) -> None:
        """Wait until one more connection may come; the oldest one still reading makes room, if it has had its time."""
        while len(self._connections) >= (most := self._most_connections()):
            self._give_up_one(_TOO_MANY, self._limits.silence if most < self._limits.connections else math.inf)
            await self._less_or_tick()

    def _most_connections(self) -> int:
        """Return how many there may be: at least one, even if the rest of the service takes all files."""
        now = self._loop.time()
        if now >= self._counted_at + self._limits.tick:
            self._counted_at = now
            self._beside = open_files.open_now() - len(self._connections)
        return max(1, min(self._limits.connections, open_files.for_connections() - self._beside))

    async def _admit(self, connection: _Connection, size: int) -> None:
        """Wait until there is room for that number of bytes of its message; slow connections with room make room."""
        self._large.setdefault(connection)
        began = self._loop.time()
        until = began + self._limits.wait - connection.waited
        self._waiting.add(connection)
        try:
            while not self._fits(connection, size):
                if (now := self._loop.time()) >= until:
                    raise RequestError(ResponseStatus.BUSY, "too much mail at once, ask again later")
                if self._is_next(connection):
                    self._give_up_one("too much mail", self._limits.silence, with_room=True)
                await self._less_or_tick()
        finally:
            self._waiting.discard(connection)
            if self._waiting:
                self._less.set()  # for the next one
        now = connection.since = connection.moved = self._loop.time()
        connection.waited += now - began
        self._hold(connection, size)

    def _is_next(self, connection: _Connection) -> bool:
        """Whether no connection that asked earlier still waits for room."""
        return next(one for one in self._large if one in self._waiting) is connection

    def _fits(self, connection: _Connection, size: int) -> bool:
        """Whether a connection may have that much room now."""
        first = next(iter(self._large))
        held = self._held - connection.held + size
        if connection is first:
            return held <= self._limits.held
        return held - first.held <= self._limits.held - self._limits.message and self._is_next(connection)

    def _give_up_one(self, why: str, silence: float = math.inf, *, with_room: bool = False) -> None:
        """Give up the oldest connection that keeps others waiting: of all, or of those with room.

        It has been read for `grace` seconds, or has sent nothing for `silence`, or takes nothing of its answer.
        """
        now = self._loop.time()
        for one in self._connections:
            if one.given_up or one in self._waiting or (with_room and not one.held):
                continue
            limit = one.reading or one.writing  # neither, while a worker has its request
            if limit is None or limit.expired():
                continue
            event, most = (select.POLLIN, silence) if one.reading else (select.POLLOUT, self._limits.untaken)
            is_slow = one.reading is not None and now - one.since >= self._limits.grace
            if is_slow or (now - one.moved >= most and not one.is_ready(event)):
                one.given_up = why
                limit.reschedule(now)
                return

    async def _less_or_tick(self) -> None:
        self._less.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.tick):
                await self._less.wait()

    def _hold(self, connection: _Connection, held: int) -> None:
        """Count a connection's bytes, or the room that it has for them."""
        if held < connection.held:
            self._less.set()
        self._held += held - connection.held
        connection.held = held

    # --- one connection

    async def _serve(self, connection: _Connection) -> None:
        """Serve one connection; a fault of ours ends this connection, and no other."""
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
        """Return the answer to its request. Raises OSError if the client leaves before that."""
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
        """Return who asks over a connection. Raises RequestError for a peer that may not ask."""
        peer = peer_of(connection.socket, connection.listener)
        if self._allowed is not None and self._allowed.includes(peer):
            return peer
        who, address = f"user {peer.uid}", connection.listener.address
        self._refused.log(who, f"{who} may not ask on {address}; spamd.peers would allow it")
        raise RequestError(ResponseStatus.REFUSED, f"{who} may not ask here")

    async def _request(self, connection: _Connection) -> SpamdRequest:
        """Return the whole request of a connection. Raises RequestError if it is not a request, or takes too long."""
        stream = Stream(partial(self._receive, connection))
        try:
            async with asyncio.timeout_at(connection.began + self._limits.first_line) as connection.reading:
                first = await protocol.read_first(stream)
                if not connection.given_up:
                    connection.reading.reschedule(connection.began + self._limits.request)
                admit = partial(self._admit, connection)
                return await protocol.read_rest(stream, first, admit, self._limits.message)
        except TimeoutError:
            if connection.given_up:
                raise RequestError(ResponseStatus.REFUSED, connection.given_up) from None
            raise RequestError(ResponseStatus.LATE, "the request was not complete in time") from None
        except RequestError as fault:
            if fault.status is not ResponseStatus.BUSY:
                _log.debug("a request that cannot be read: %s", fault.why)
                self._measurements.fault("protocol")
            raise
        finally:
            connection.reading = None
            if connection in self._large:
                del self._large[connection]
                self._less.set()  # for the next one, which may have all room

    async def _receive(self, connection: _Connection) -> bytes:
        connection.pieces += 1
        if connection.pieces > _AT_ONCE:
            await asyncio.sleep(0)  # a client that sends faster than we read would keep all others waiting
        data = await self._loop.sock_recv(connection.socket, _PIECE)
        connection.moved = self._loop.time()
        connection.has_ended = not data
        return data

    async def _worked(self, request: SpamdRequest, peer: Peer) -> Pieces:
        """Return the answer of a worker. Raises RequestError if there is none."""
        if request.command is Command.PING:
            return [protocol.pong()]
        if request.command is Command.SKIP:
            return []
        try:
            answered = await self._loop.run_in_executor(self._workers, self._answer, request, peer)
            answer = await asyncio.wrap_future(answered) if isinstance(answered, Future) else answered
            if not isinstance(answer, AnswerAfter):
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
        connection.moved = self._loop.time()
        async with asyncio.timeout(self._limits.answer) as connection.writing:
            for piece in pieces:
                for start in range(0, len(piece), _TAKEN):
                    await self._loop.sock_sendall(connection.socket, memoryview(piece)[start : start + _TAKEN])
                    connection.moved = self._loop.time()
        connection.writing = None
        connection.socket.shutdown(socket.SHUT_WR)
        self._hold(connection, 0)

    async def _drain(self, connection: _Connection) -> None:
        """Drop what still comes, until the client ends too: a refused client may have much to send."""
        connection.since = self._loop.time()
        left, end = self._limits.message, connection.since + self._limits.answer
        async with asyncio.timeout(self._limits.drain) as connection.reading:
            while left > 0 and (data := await self._receive(connection)):
                left -= len(data)
                if not connection.given_up:
                    connection.reading.reschedule(min(end, self._loop.time() + self._limits.drain))
