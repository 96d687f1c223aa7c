"""The connections: one thread reads and writes all of them, and a few work on requests that are whole.

What a client can do wrong costs itself, not the others:

*It is slow, or silent.* Only a request that is whole takes a worker. The first line has to come within half a minute,
all of it within five, and an answer has to be taken as soon.

*It sends too much.* A message has a limit; so have all bytes that are held at once. Past it, what has been incomplete
for longest is given up: an honest client sends all it has in milliseconds, so that one is never an honest one.

*There are too many.* Past a number of connections the oldest incomplete one is given up, once it has had some seconds;
until then new ones wait in the kernel's queue.

*It does not take what is answered, or goes on sending.* An answer is followed by the end of the stream; what still
comes is dropped for a second, since closing at once would make the kernel reset the connection, and the answer be lost.
"""

import collections
import contextlib
import logging
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.spamd import protocol
from spamnb.service.spamd.protocol import Command, Request, RequestError, RequestReader, Status
from spamnb.service.spamd.sockets import Allowed, Listener, Peer, peer_of

_log = logging.getLogger(__name__)
_PIECE = 1 << 16  # bytes read at once
_ACCEPTED_AT_ONCE = 64

Answered = Sequence[bytes] | Future[Sequence[bytes]]
"""An answer in pieces, or one that comes later and takes no worker until then."""

Answer = Callable[[Request, Peer], Answered]


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take; times are seconds, sizes bytes.

    grace: a connection that is younger is not given up. tick: how exactly times are kept. workers: Python computes in
    one thread at a time, so that more of them answer no faster; after 7,000 requests the service took 78 MB with two
    and 91 MB with four (benchmarks/spamd.py).
    """

    connections: int = 600  # a service has 1,024 open files unless told otherwise
    held: int = 64 << 20
    workers: int = 2
    first_line: float = 30.0  # this and the next are spamd's own
    request: float = 300.0
    answer: float = 300.0
    drain: float = 1.0
    grace: float = 5.0
    stop: float = 5.0
    tick: float = 1.0


class _State(Enum):
    READING = auto()
    WORKING = auto()
    WRITING = auto()
    DRAINING = auto()


@dataclass(slots=True, eq=False)
class _Connection:
    """A client. began: when it connected; until: when it is given up in its present state. held: its bytes."""

    socket: socket.socket
    peer: Peer
    began: float
    until: float
    reader: RequestReader = field(default_factory=RequestReader)
    out: collections.deque[memoryview] = field(default_factory=collections.deque)
    state: _State = _State.READING
    held: int = 0
    has_ended: bool = False  # it sends nothing more
    command: str = ""  # of its request, once that is whole


class Server:
    """Answers on the sockets that it is given, until `close`. `answer` is called in several threads at once.

    `clock` gives seconds of a clock that is never set.
    """

    def __init__(
        self,
        answer: Answer,
        limits: Limits = Limits(),
        clock: Callable[[], float] = time.monotonic,
        measurements: Measurements | None = None,
    ) -> None:
        self._answer = answer
        self._limits = limits
        self._clock = clock
        self._measurements = measurements or Measurements()
        self._selector = selectors.DefaultSelector()
        self._listeners: dict[Listener, bool] = {}  # and whether it is listened to now
        self._allowed: Allowed | None = None
        self._connections: dict[_Connection, None] = {}  # in the order in which they came
        self._held = 0
        self._refused = LogOnce(_log)
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._ended_at: float | None = None
        self._wake_out, self._wake_in = socket.socketpair()
        self._wake_out.setblocking(False)
        self._wake_in.setblocking(False)
        self._selector.register(self._wake_out, selectors.EVENT_READ, (self._woken, None))
        self._workers = ThreadPoolExecutor(limits.workers, thread_name_prefix="spamd-worker")
        self._thread = threading.Thread(target=self._run, name="spamd")
        self._thread.start()

    def listen(self, listeners: Sequence[Listener], allowed: Allowed) -> None:
        """Answer on these sockets and no others, and these users. The sockets stay the caller's.

        Once this returns the others may be closed.
        """
        done: Future[None] = Future()

        def use() -> None:
            try:
                self._use(listeners, allowed)
                done.set_result(None)
            except Exception as fault:
                done.set_exception(fault)  # or the caller would wait for ever

        self._call(use)
        done.result()

    def close(self) -> None:
        """Give up what is incomplete, answer what is whole, and end."""
        self._call(self._end)
        self._thread.join()
        self._workers.shutdown(cancel_futures=True)
        self._wake_in.close()
        self._wake_out.close()
        self._selector.close()

    # --- called in other threads

    def _call(self, what: Callable[[], None]) -> None:
        self._calls.put(what)
        with contextlib.suppress(OSError):  # it has been woken already, or has ended
            self._wake_in.send(b"\0")

    def _work(self, connection: _Connection, request: Request) -> None:
        self._finish(connection, lambda: self._answer(request, connection.peer))

    def _finish(self, connection: _Connection, result: Callable[[], Answered]) -> None:
        code = 0
        try:
            answered = result()
        except RequestError as fault:
            answered, code = [protocol.error(fault.status, fault.why)], fault.status.code
        except Exception:
            _log.exception("a request could not be answered")
            answered, code = [protocol.error(Status.REFUSED, "a fault of the service")], Status.REFUSED.code
        if isinstance(answered, Future):
            answered.add_done_callback(lambda done: self._finish(connection, done.result))
        else:
            pieces = answered
            self._measurements.request(connection.command, code)
            self._call(lambda: self._reply(connection, pieces))

    # --- the thread of all connections

    def _run(self) -> None:
        next_look = 0.0
        while not self._is_over():
            for key, _ in self._selector.select(self._limits.tick):
                self._attend(*key.data)
            if (now := self._clock()) >= next_look:
                self._give_up_late(now)
                self._listen_again()
                next_look = now + self._limits.tick
        for connection in list(self._connections):
            self._close(connection)

    def _attend(self, what: Callable[[Any], None], subject: "_Connection | Listener | None") -> None:
        """Do what is to be done; a fault of ours ends that connection, and no other."""
        try:
            what(subject)
        except Exception:
            _log.exception("a connection is given up")
            if isinstance(subject, _Connection):
                self._close(subject)

    def _is_over(self) -> bool:
        if self._ended_at is None:
            return False
        return not self._connections or self._clock() >= self._ended_at + self._limits.stop

    def _end(self) -> None:
        self._ended_at = self._clock()
        self._use([], None)
        for connection in list(self._connections):
            if connection.state in (_State.READING, _State.DRAINING):
                self._close(connection)

    def _woken(self, _: None) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_out.recv(_PIECE):
                pass
        with contextlib.suppress(queue.Empty):
            while True:
                self._calls.get_nowait()()

    def _use(self, listeners: Sequence[Listener], allowed: Allowed | None) -> None:
        for listener, is_open in self._listeners.items():
            if is_open and listener not in listeners:
                self._selector.unregister(listener.socket)
        self._listeners = {listener: self._listeners.get(listener, False) for listener in listeners}
        self._allowed = allowed
        self._listen_again()

    def _listen_again(self) -> None:
        for listener, is_open in self._listeners.items():
            if not is_open and self._has_room():
                self._selector.register(listener.socket, selectors.EVENT_READ, (self._accept, listener))
                self._listeners[listener] = True

    def _pause(self) -> None:
        """New connections wait in the kernel's queue."""
        for listener, is_open in self._listeners.items():
            if is_open:
                self._selector.unregister(listener.socket)
                self._listeners[listener] = False

    def _has_room(self) -> bool:
        """Whether one more connection may come; the oldest incomplete one makes room, if it has had its time."""
        if len(self._connections) < self._limits.connections:
            return True
        oldest = next((one for one in self._connections if one.state is not _State.WORKING), None)
        if oldest is None or self._clock() - oldest.began < self._limits.grace:
            return False
        self._give_up(oldest, "too many connections")
        return True

    def _accept(self, listener: Listener) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            if not self._has_room():
                self._pause()
                return
            try:
                accepted, _ = listener.socket.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # it has gone again
                continue
            except OSError as fault:
                self._refused.log("accept", f"cannot take a connection on {listener.address}: {fault.strerror}")
                self._pause()
                return
            self._begin(accepted, listener)

    def _begin(self, accepted: socket.socket, listener: Listener) -> None:
        accepted.setblocking(False)
        now = self._clock()
        connection = _Connection(accepted, peer_of(accepted, listener), now, now + self._limits.first_line)
        self._connections[connection] = None
        self._selector.register(accepted, selectors.EVENT_READ, (self._read, connection))
        if self._allowed is None or not self._allowed.includes(connection.peer):
            who = f"user {connection.peer.uid}"
            self._refused.log(who, f"{who} may not ask on {listener.address}; spamd.peers would allow it")
            self._refuse(connection, Status.REFUSED, f"{who} may not ask here")
        else:
            self._read(connection)  # what it asks for is often there already

    def _read(self, connection: _Connection) -> None:
        if connection not in self._connections:
            return
        try:
            data = connection.socket.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._close(connection)
            return
        connection.has_ended = not data
        if connection.state is _State.DRAINING:
            if not data:
                self._close(connection)
            return
        try:
            request = connection.reader.feed(data) if data else connection.reader.end()
        except RequestError as fault:
            _log.debug("a request that cannot be read: %s", fault.why)
            self._measurements.fault("protocol")
            self._refuse(connection, fault.status, fault.why)
            return
        if request is not None:
            self._take(connection, request)
        elif connection.reader.has_begun:
            connection.until = connection.began + self._limits.request
        self._hold(connection, connection.reader.size if request is None else len(request.message))

    def _take(self, connection: _Connection, request: Request) -> None:
        connection.reader = RequestReader()
        connection.state, connection.command = _State.WORKING, request.command
        self._selector.unregister(connection.socket)
        if request.command in (Command.PING, Command.SKIP):
            self._measurements.request(request.command, 0)
        if request.command is Command.PING:
            self._reply(connection, [protocol.pong()])
        elif request.command is Command.SKIP:
            self._reply(connection, [])
        else:
            self._workers.submit(self._work, connection, request)

    def _hold(self, connection: _Connection, held: int) -> None:
        """Count a connection's bytes; where all are too many, give up the oldest incomplete ones."""
        if connection not in self._connections:
            return
        self._held += held - connection.held
        connection.held = held
        while self._held > self._limits.held:
            oldest = next((one for one in self._connections if one.held and one.state is not _State.WORKING), None)
            if oldest is None:
                return
            self._give_up(oldest, "too much mail at once")

    def _reply(self, connection: _Connection, pieces: Sequence[bytes]) -> None:
        if connection not in self._connections:
            return
        connection.out.extend(memoryview(piece) for piece in pieces if piece)
        connection.state = _State.WRITING
        connection.until = self._clock() + self._limits.answer
        self._selector.register(connection.socket, selectors.EVENT_WRITE, (self._write, connection))
        self._hold(connection, sum(map(len, connection.out)))
        self._write(connection)

    def _write(self, connection: _Connection) -> None:
        if connection not in self._connections:
            return
        try:
            while connection.out:
                sent = connection.socket.send(connection.out[0])
                connection.out[0] = connection.out[0][sent:]
                if not connection.out[0]:
                    connection.out.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._close(connection)
            return
        self._drain(connection)

    def _drain(self, connection: _Connection) -> None:
        """End the answer; drop what still comes, until the client ends too."""
        self._hold(connection, 0)
        connection.state = _State.DRAINING
        connection.until = self._clock() + self._limits.drain
        try:
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        if connection.has_ended:
            self._close(connection)
        else:
            self._selector.modify(connection.socket, selectors.EVENT_READ, (self._read, connection))

    def _refuse(self, connection: _Connection, status: Status, why: str) -> None:
        self._measurements.request("", status.code)
        self._selector.unregister(connection.socket)
        self._reply(connection, [protocol.error(status, why)])

    def _give_up_late(self, now: float) -> None:
        for connection in [one for one in self._connections if now >= one.until]:
            if connection.state is _State.READING:
                self._refuse(connection, Status.LATE, "the request did not come to its end in time")
            elif connection.state is not _State.WORKING:
                self._close(connection)

    def _give_up(self, connection: _Connection, why: str) -> None:
        """Close it at once; an answer that is half sent stays so."""
        if connection.state is _State.READING:
            with contextlib.suppress(OSError):
                connection.socket.send(protocol.error(Status.REFUSED, why))
        self._close(connection)

    def _close(self, connection: _Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            self._held -= connection.held
            with contextlib.suppress(KeyError):  # a request at work is not looked at
                self._selector.unregister(connection.socket)
            connection.socket.close()
            self._listen_again()
