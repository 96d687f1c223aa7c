"""The connections: what one client does wrong does not disturb the others."""

import contextlib
import os
import re
import resource
import select
import socket
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener
from spamnb.config import Spamd
from spamnb.monitoring.exposition import exposition
from spamnb.service.measurements import Measurements
from spamnb.service.open_files import for_connections, open_now
from spamnb.spamd.limits import ServerLimits
from spamnb.spamd.listeners import Listeners
from spamnb.spamd.peers import Allowed, Peer
from spamnb.spamd.protocol import Pieces, RequestError, ResponseStatus, SpamdRequest, VerdictReply, answer
from spamnb.spamd.server import SpamdServer, _Connection
from tests.patience import PATIENCE, until
from tests.spamd.conftest import exchange, request

CHECKED = b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 7.3 / 5.0\r\n\r\n"
ALL = Allowed(frozenset(range(70_000)), 65534)
Serve = Callable[..., "Served"]


class Served:
    """A server with an answer of the test's own."""

    def __init__(self, directory: Path, limits: ServerLimits, reply: Callable[[SpamdRequest, Peer], Pieces]) -> None:
        self.path: str | tuple[str, int] = str(directory / "socket")
        self.listeners = Listeners(())
        self.measurements = Measurements()
        self.server = SpamdServer(reply, limits, measurements=self.measurements)
        self.server.listen(self.listeners.open(Spamd(listen=(self.path,))), ALL)

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX if isinstance(self.path, str) else socket.AF_INET)
        client.connect(self.path)
        # QUIRK: with a time limit, connect(2) does not wait if the queue of a Unix socket is full
        client.settimeout(PATIENCE)
        return client

    def connections(self) -> list[_Connection]:
        return [*self.server._connections]  # at once: others come and go meanwhile

    @contextlib.contextmanager
    def over_tcp(self) -> Iterator[None]:
        """It answers on a port of this host instead."""
        with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
            listening.setblocking(False)
            self.server.listen([Listener(listening, "127.0.0.1:0", is_unix=False)], ALL)
            before, self.path = self.path, listening.getsockname()
            yield
            self.path = before
            self.server.listen([], ALL)

    def ask(self, sent: bytes, *, ends: bool = True) -> bytes:
        with self.connect() as client:
            return exchange(client, sent, ends=ends)

    def close(self) -> None:
        self.server.close()
        self.listeners.close()


def checked(asked: SpamdRequest, _: Peer) -> Pieces:
    return answer(asked, VerdictReply(True, 7.3), [asked.message])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with these limits; it is ended with the test."""
    made: list[Served] = []

    def start(reply: Callable[[SpamdRequest, Peer], Pieces] = checked, **limits: float) -> Served:
        made.append(Served(tmp_path, ServerLimits(**{"tick": 0.05, **limits}), reply))  # type: ignore[arg-type]
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_each_way_to_end(serve: Serve) -> None:
    """A request is answered at its length or at the end of its stream, whichever is first; then the stream ends."""
    served = serve()
    assert served.ask(request("CHECK", b"x"), ends=False) == CHECKED
    assert served.ask(request("CHECK", b"x", length=False)) == CHECKED
    assert served.ask(b"PING SPAMC/1.5\r\n", ends=False) == b"SPAMD/1.5 0 PONG\r\n"
    assert served.ask(b"SKIP SPAMC/1.5\r\n", ends=False) == b""


def test_in_single_bytes(serve: Serve) -> None:
    """A request that comes byte by byte is answered as any other."""
    with serve().connect() as client:
        for byte in request("CHECK", b"some mail"):
            client.send(bytes([byte]))
        assert client.recv(1000) == CHECKED


def test_large_answer(serve: Serve) -> None:
    """An answer that is larger than the kernel takes at once comes whole."""
    message = bytes(range(256)) * 40_000
    got = serve().ask(request("PROCESS", message))
    assert got.endswith(b"Content-length: %d\r\nSpam: True ; 7.3 / 5.0\r\n\r\n" % len(message) + message)


def test_error_is_read_though_more_is_sent(serve: Serve) -> None:
    """A client refused before it has sent everything still reads why: the connection is not reset."""
    with serve().connect() as client:
        client.sendall(b"EAT SPAMC/1.5\r\n" + b"x" * 200_000)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000).startswith(b"SPAMD/1.0 76 ")


def test_half_open(serve: Serve) -> None:
    """With many connections that send half a request and wait, others are answered at once."""
    served = serve()
    waiting = [served.connect() for _ in range(350)]
    try:
        for client in waiting:
            client.sendall(request("CHECK", b"x" * 100)[:-50])
        assert served.ask(request("CHECK", b"x")) == CHECKED
    finally:
        for client in waiting:
            client.close()


def test_too_many(serve: Serve) -> None:
    """Past the number of connections the oldest incomplete one is given up, and others are answered."""
    served = serve(connections=20, grace=0.0)
    waiting = [served.connect() for _ in range(50)]
    try:
        assert served.ask(request("CHECK", b"x")) == CHECKED
        assert waiting[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too many")
        waiting[-1].sendall(request("CHECK", b"x"))
        assert waiting[-1].recv(1000) == CHECKED
    finally:
        for client in waiting:
            client.close()


def test_many_at_once_are_all_answered(serve: Serve) -> None:
    """Connections past the number that are young wait in the kernel's queue; none is lost."""
    served = serve(connections=5)
    clients = [served.connect() for _ in range(60)]
    answers = []
    for client in clients:
        with client:
            answers.append(exchange(client, request("CHECK", b"x")))
    assert answers == [CHECKED] * 60


def test_too_much_at_once(serve: Serve) -> None:
    """Past the limit of held bytes, the oldest client that sends nothing is given up for a waiting one."""
    served = serve(held=1 << 20, grace=0.2)
    hoarders = [served.connect() for _ in range(3)]
    try:
        hoarders[0].sendall(request("CHECK", b"x" * 1_000_000)[:-1])
        for client in hoarders[1:]:
            client.sendall(request("CHECK", b"x" * 1_000_000)[:-900_000])
        until(lambda: served.server._held == 1_000_000, "the first to be let in")
        assert served.ask(request("CHECK", b"x" * 400_000)) == CHECKED
        assert hoarders[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too much")
    finally:
        for client in hoarders:
            client.close()


def test_large_messages_wait_for_room(serve: Serve) -> None:
    """Large messages that do not fit together are read one after the other; small ones do not wait for them."""
    served = serve(held=1 << 20)
    held: list[int] = []

    def reply(asked: SpamdRequest, peer: Peer) -> Pieces:
        held.append(served.server._held)
        return checked(asked, peer)

    served.server._answer = reply
    with served.connect() as first:
        first.sendall(request("CHECK", b"x" * 1_000_000)[:-1])
        until(lambda: served.server._held == 1_000_000, "the first to be let in")
        with ThreadPoolExecutor(20) as clients:
            large = [clients.submit(served.ask, request("PROCESS", b"x" * 700_000)) for _ in range(20)]
            until(lambda: len(served.server._waiting) == 20, "the others to wait")
            assert served.ask(request("CHECK", b"x")) == CHECKED
            first.sendall(b"x")
            assert first.recv(1000) == CHECKED
            assert [len(one.result()) for one in large] == [
                700_000 + len(CHECKED) + len("Content-length: 700000\r\n")
            ] * 20
    assert max(held) <= 1 << 20


@pytest.mark.parametrize("sent", [0, 80_000])
def test_announced_and_silent(serve: Serve, sent: int) -> None:
    """Clients that announce large messages and are silent take room for what they send alone: nobody waits for them."""
    served = serve(wait=0.0)
    packed = request("CHECK", zlib.compress(b"x" * 80_000), "1.5", "Compress: zlib")
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(served.connect())
            client.sendall(b"CHECK SPAMC/1.5\r\nContent-length: 33554432\r\n\r\n" + b"x" * sent)
        until(lambda: len(served.server._connections) == 40, "all to be taken")
        for asked in (request("CHECK", b"x" * 80_000), request("CHECK", b"x" * 80_000, length=False), packed):
            assert served.ask(asked) == CHECKED


def test_silent_for_a_second(serve: Serve) -> None:
    """A client with room that sends nothing is given up within the time of silence, once others wait for room."""
    served = serve(message=1 << 20, held=2 << 20, silence=0.1, grace=10 * PATIENCE)
    half = request("CHECK", b"x" * 1_000_000)[:-1]
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(served.connect()) for _ in range(20)]
        for client in silent:
            client.settimeout(0.0)
            with contextlib.suppress(BlockingIOError):
                client.send(half)
        assert served.ask(request("CHECK", b"x" * 1_000_000)) == CHECKED
        silent[0].settimeout(PATIENCE)
        assert silent[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too much")


def test_not_silent_but_unread(serve: Serve) -> None:
    """A client that has sent, but was not read because the service was slow, is not given up."""
    served = serve()
    all_sent = threading.Event()

    def look() -> None:  # where nothing is read meanwhile
        assert all_sent.wait(PATIENCE)
        served.server._give_up_one("too much mail", 0.0, with_room=True)

    sent = request("CHECK", b"x" * 1_000_000)
    with served.connect() as slow, served.connect() as silent:
        for client in (slow, silent):
            client.sendall(sent[:-1])
        both = served.connections()
        until(lambda: served.server._held == 2_000_000, "both to be let in")
        until(lambda: not any(one.is_ready(select.POLLIN) for one in both), "all of it to be read")
        served.server._loop.call_soon_threadsafe(look)
        slow.sendall(sent[-1:])
        all_sent.set()
        assert slow.recv(1000) == CHECKED
        assert silent.recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too much")


def test_parts_of_many_messages(serve: Serve) -> None:
    """Messages that come side by side, and do not fit together, are all read to their ends."""
    served = serve(message=1 << 20, held=2 << 20, silence=10 * PATIENCE, grace=10 * PATIENCE)
    sent = request("CHECK", b"x" * 1_000_000)
    begun = threading.Barrier(12)

    def ask() -> bytes:
        with served.connect() as client:
            client.sendall(sent[:150_000])
            begun.wait(PATIENCE)
            return exchange(client, sent[150_000:])

    with ThreadPoolExecutor(12) as clients:
        assert [one.result(PATIENCE) for one in [clients.submit(ask) for _ in range(12)]] == [CHECKED] * 12


def test_answer_that_nobody_takes(serve: Serve) -> None:
    """An answer that its client does not take makes room, once others wait for room."""
    served = serve(held=1 << 20, untaken=0.2, connections=3)
    mail = b"x" * 1_000_000
    with served.connect() as deaf:
        deaf.sendall(request("PROCESS", mail))
        until(lambda: any(not one.reading and one.held for one in served.connections()), "it to be read")
        assert served.ask(request("CHECK", mail)) == CHECKED
        assert not b"".join(iter(lambda: deaf.recv(1 << 16), b"")).endswith(mail)


def test_answers_that_nobody_takes_are_no_wall(serve: Serve) -> None:
    """Clients that take no answer keep no other client out, though all connections are theirs."""
    served = serve(connections=2, untaken=0.2)
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(served.connect()).sendall(request("PROCESS", b"x" * 1_000_000))
        until(lambda: sum(one.held > 0 and not one.reading for one in served.connections()) == 2, "their answers")
        assert served.ask(request("CHECK", b"x")) == CHECKED


def test_behind_a_packed_message(serve: Serve) -> None:
    """A packed message is answered at the end of its stream, and later bytes are not kept."""
    served = serve()
    behind, number = bytes(1 << 20), 40
    tracemalloc.start()
    try:
        with served.connect() as client:
            client.sendall(request("CHECK", zlib.compress(b"x" * 1000), "1.5", "Compress: zlib", length=False))
            with contextlib.suppress(ConnectionError):
                for _ in range(number):
                    client.sendall(behind)
            assert client.recv(1000) == CHECKED
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < number * len(behind) / 4


def test_no_room_for_too_long(serve: Serve) -> None:
    """A client that has waited too long for room is told to ask again, and reads this even while it sends."""
    served = serve(held=1 << 20, wait=0.0)
    with served.connect() as first:
        first.sendall(request("CHECK", b"x" * 1_000_000)[:-1])
        until(lambda: served.server._held == 1_000_000, "the first to be let in")
        for length in (True, False):
            with served.connect() as client:
                client.sendall(request("CHECK", b"x" * 20_000_000, length=length))
                client.shutdown(socket.SHUT_WR)
                assert client.recv(1000) == b"SPAMD/1.0 75 EX_TEMPFAIL: too much mail at once, ask again later\r\n"


def test_answer_is_not_given_up_for_room(serve: Serve) -> None:
    """An answer that is being written stays whole, however many others wait for its room."""
    served = serve(held=1 << 20, connections=2, grace=0.0, wait=0.2)
    mail = b"x" * 1_000_000
    with served.connect() as slow:
        slow.sendall(request("PROCESS", mail))
        until(lambda: any(not one.reading and one.held for one in served.connections()), "it to be read")
        assert served.ask(request("CHECK", mail)).startswith(b"SPAMD/1.0 75 ")
        with served.connect() as silent:
            assert served.ask(request("CHECK", b"x")) == CHECKED
            assert silent.recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too many")
        assert b"".join(iter(lambda: slow.recv(1 << 16), b"")).endswith(mail)


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many open files as this process may have."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 4096:
        pytest.skip("a process may have fewer than 4,096 open files here (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.fixture
def few_files() -> Iterator[None]:
    """Only 200 more open files than this process has now."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 200, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.mark.usefixtures("few_files")
def test_connections_leave_files(serve: Serve) -> None:
    """Silent connections, however many, leave some files to the rest of the service, and give way to requests."""
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(120)]
        served = serve(silence=0.2, grace=10 * PATIENCE, first_line=10 * PATIENCE)
        for client in silent:
            client.connect(served.path)
        until(lambda: open_now() >= for_connections(), "as many to be taken as may be")
        files = [stack.enter_context(open(os.devnull)) for _ in range(30)]
        for file in files:
            file.close()
        assert served.ask(request("CHECK", b"x")) == CHECKED


@pytest.mark.usefixtures("few_files")
def test_no_file_left(serve: Serve) -> None:
    """If the rest of the service has used up all files, the oldest silent connection gives way to a request."""
    served = serve(first_line=10 * PATIENCE, grace=10 * PATIENCE)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(served.connect()) for _ in range(5)]
        until(lambda: len(served.server._connections) == 5, "all to be taken")
        client = stack.enter_context(socket.socket(socket.AF_UNIX))
        with contextlib.suppress(OSError):
            while True:
                stack.enter_context(open(os.devnull))
        client.settimeout(PATIENCE)
        client.connect(served.path)
        assert exchange(client, request("CHECK", b"x")) == CHECKED
        assert silent[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too many connections")


@pytest.mark.parametrize("over", ["unix", "tcp"])
@pytest.mark.parametrize(
    ("silent", "honest", "limits"),
    [(35, 55, {"connections": 30, "grace": 0.2}), pytest.param(700, 1100, {"tick": 1.0}, marks=pytest.mark.slow)],
)
@pytest.mark.usefixtures("many_files")
def test_silent_ones_and_many_at_once(
    serve: Serve, over: str, silent: int, honest: int, limits: dict[str, float]
) -> None:
    """After silent connections, many more at once than the limit are all answered, then and afterwards."""
    served = serve(**limits)
    sent = request("CHECK", b"x" * 80_000)
    with contextlib.ExitStack() as stack:
        if over == "tcp":
            stack.enter_context(served.over_tcp())
        waiting = [stack.enter_context(served.connect()) for _ in range(silent)]
        with ThreadPoolExecutor(honest) as clients:
            asked = [clients.submit(served.ask, sent) for _ in range(honest)]
            answers = [one.result(PATIENCE) for one in asked]
        assert answers == [CHECKED] * honest
        assert waiting[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too many")
        assert served.ask(sent) == CHECKED
        served.server.check()


def test_time_is_up_while_it_is_given_up(serve: Serve) -> None:
    """A silent connection whose time ends just as it makes room gets an answer, and so do others."""
    served = serve(connections=1, tick=0.1, first_line=0.4, grace=0.4)
    with served.connect() as silent:
        until(lambda: served.server._connections, "it to be taken")
        served.server._loop.call_soon_threadsafe(time.sleep, 0.6)  # a machine that is busy: all is late at once
        assert silent.recv(1000).startswith(b"SPAMD/1.0 79 Timeout: ")
        assert served.ask(request("CHECK", b"x")) == CHECKED
        served.server.check()


def test_those_that_have_their_answer_make_room(serve: Serve) -> None:
    """An answered client that goes on sending, even one without permission, blocks no other."""
    served = serve(connections=2, grace=0.2, drain=10 * PATIENCE)
    with served.connect() as client, served.connect() as other:
        for one in (client, other):
            one.sendall(request("CHECK", b"x"))
            assert one.recv(1000) == CHECKED
        until(lambda: len(served.server._connections) == 2, "both to be there still")
        assert served.ask(request("CHECK", b"x")) == CHECKED


def test_dead_thread(serve: Serve) -> None:
    """If the connections' thread has died of a fault, the service learns of it, at the next reload too."""
    served = serve()
    heard, looked = threading.Event(), threading.Event()

    def on_end() -> None:
        heard.set()
        looked.wait(PATIENCE)  # a thread that has ended for others, and runs on for a moment

    served.server._on_end = on_end
    served.server.check()
    served.server._loop.call_soon_threadsafe(sys.exit)
    assert heard.wait(PATIENCE)
    with pytest.raises(SpamnbError, match="no longer answered"):
        served.server.check()
    looked.set()
    until(lambda: not served.server._thread.is_alive(), "the thread to end")
    for ask in (served.server.check, lambda: served.server.listen([], ALL)):
        with pytest.raises(SpamnbError, match="no longer answered"):
            ask()


def test_stuck_thread_in_time() -> None:
    """A hanging thread of the connections is noticed within half a minute, even if nothing is due."""
    clock = [100.0]
    server = SpamdServer(checked, running=lambda: clock[0])
    release = threading.Event()
    try:
        clock[0] += server.due_in() + 0.001
        server.check()
        until(lambda: server._heard_at == clock[0], "the thread to be heard")
        server._loop.call_soon_threadsafe(release.wait)
        stuck_at = clock[0]
        with pytest.raises(SpamnbError, match="is stuck"):
            while clock[0] < stuck_at + 30:
                clock[0] += server.due_in() + 0.001
                server.check()
        assert clock[0] < stuck_at + 30
    finally:
        release.set()
        server.close()


def test_stuck_thread(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the connections' thread does nothing any longer, the service learns of it, at the next reload too."""
    served = serve()
    monkeypatch.setattr("spamnb.spamd.server._ASKED_EVERY", 0.0)
    monkeypatch.setattr("spamnb.spamd.server._HEARD_WITHIN", 0.2)
    release = threading.Event()
    served.server._loop.call_soon_threadsafe(release.wait)
    served.server.check()
    with pytest.raises(SpamnbError, match="no longer answered"):
        served.server.listen([], ALL)
    with pytest.raises(SpamnbError, match="no longer answered"):
        served.server.check()
    served.server.close()  # a process that ends for it ends
    release.set()
    until(lambda: not served.server._thread.is_alive(), "the thread to end")


def test_bomb(serve: Serve) -> None:
    """A message that inflates to gigabytes takes no more memory than one message may have."""
    block, number = 1 << 20, 2048
    packer = zlib.compressobj(9)
    first, other = (packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + (number - 1) * other
    served = serve()
    tracemalloc.start()
    try:
        got = served.ask(request("CHECK", packed, "1.5", "Compress: zlib"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got.startswith(b"SPAMD/1.0 69 Service Unavailable: the message has more than")
    assert peak < number * block / 10


def test_silent(serve: Serve) -> None:
    """A client that sends nothing is told so after a while, and the connection ends."""
    served = serve(first_line=0.0)
    assert served.ask(b"", ends=False).startswith(b"SPAMD/1.0 79 Timeout: ")


def test_slow(serve: Serve) -> None:
    """A client that does not end its message in time is told so."""
    served = serve(request=0.0)
    assert served.ask(request("CHECK", b"x" * 10)[:-5], ends=False).startswith(b"SPAMD/1.0 79 Timeout: ")


def test_answer_not_taken(serve: Serve) -> None:
    """A client that does not take its answer is given up after a while, and nothing of it is held."""
    served = serve(answer=0.0)
    with served.connect() as client:
        client.sendall(request("PROCESS", b"x" * 4_000_000))
        until(lambda: served.server._held == 0 and not served.server._connections, "the answer to be dropped")


def test_goes_on_sending(serve: Serve) -> None:
    """Bytes behind the request are dropped, and after a second the connection."""
    served = serve(drain=0.0)
    with served.connect() as client:
        client.sendall(request("CHECK", b"x"))
        assert client.recv(1000) == CHECKED
        until(lambda: not served.server._connections, "the connection to be closed")


def test_others_while_workers_are_busy(serve: Serve) -> None:
    """While all workers are busy, PING is answered, and other requests wait for their turn."""
    release = threading.Event()

    def slow(asked: SpamdRequest, peer: Peer) -> Pieces:
        if asked.message == b"slow":
            release.wait(PATIENCE)
        return checked(asked, peer)

    served = serve(slow, workers=2)
    with served.connect() as one, served.connect() as other, served.connect() as third:
        for client, message in ((one, b"slow"), (other, b"slow"), (third, b"quick")):
            client.sendall(request("CHECK", message))
        assert served.ask(b"PING SPAMC/1.5\r\n") == b"SPAMD/1.5 0 PONG\r\n"
        release.set()
        assert [client.recv(1000) for client in (one, other, third)] == [CHECKED] * 3


def test_fault_of_ours(serve: Serve) -> None:
    """A fault of ours is an error to that client, and to no other."""

    def faulty(asked: SpamdRequest, peer: Peer) -> Pieces:
        if asked.message == b"bad":
            raise ZeroDivisionError
        if asked.message == b"refused":
            raise RequestError(ResponseStatus.REFUSED, "not today")
        return checked(asked, peer)

    served = serve(faulty)
    assert served.ask(request("CHECK", b"bad")) == b"SPAMD/1.0 69 Service Unavailable: a fault of the service\r\n"
    assert served.ask(request("CHECK", b"refused")) == b"SPAMD/1.0 69 Service Unavailable: not today\r\n"
    assert served.ask(request("CHECK", b"x")) == CHECKED


def test_gone_before_the_answer(serve: Serve) -> None:
    """A client that has gone before its answer disturbs nobody."""
    served = serve()
    for _ in range(20):
        with served.connect() as client:
            client.sendall(request("PROCESS", b"x" * 100_000))
    assert served.ask(request("CHECK", b"x")) == CHECKED
    until(lambda: not served.server._connections, "all connections to be closed")
    assert served.server._held == 0


def test_end_answers_what_is_whole(serve: Serve) -> None:
    """At the end of the service a request at work is answered, and an incomplete one given up."""
    begun = threading.Event()

    def slow(asked: SpamdRequest, peer: Peer) -> Pieces:
        begun.set()
        time.sleep(0.1)
        return checked(asked, peer)

    served = serve(slow)
    with served.connect() as whole, served.connect() as half:
        half.sendall(request("CHECK", b"xyz")[:-1])
        whole.sendall(request("CHECK", b"x"))
        whole.shutdown(socket.SHUT_WR)
        assert begun.wait(PATIENCE)
        served.server.close()
        assert whole.recv(1000) == CHECKED
        assert exchange(half, b"", ends=False) == b""
    served.server = SpamdServer(checked)  # for the fixture to close


def test_user_who_may_not_ask(serve: Serve) -> None:
    """A user without permission reads why, even after sending everything."""
    served = serve()
    (listener,) = served.listeners.open(Spamd(listen=(str(served.path),)))
    served.server.listen([listener], Allowed(frozenset(), 70_000))
    assert b"may not ask here\r\n" in served.ask(request("CHECK", b"x" * 300_000))
    served.server.listen([listener], ALL)
    assert served.ask(request("CHECK", b"x")) == CHECKED


def test_tcp(serve: Serve) -> None:
    """Over TCP a client reads its answer even if it has sent too much: the connection is not reset."""
    served = serve()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        served.server.listen([Listener(listening, "127.0.0.1:0", is_unix=False)], ALL)
        with socket.create_connection(listening.getsockname(), PATIENCE) as client:
            client.sendall(b"PING SPAMC/1.5\r\nUser: bob\r\n\r\n" + b"x" * 100_000)
            assert client.recv(1000) == b"SPAMD/1.5 0 PONG\r\n"
        served.server.listen([], ALL)


def test_requests_are_counted(serve: Serve) -> None:
    """Requests are counted by command and code; a malformed one has no command, and is a fault of the protocol."""

    def reply(asked: SpamdRequest, peer: Peer) -> Pieces:
        if asked.message == b"refuse\n":
            raise RequestError(ResponseStatus.REFUSED, "not now")
        return checked(asked, peer)

    served = serve(reply)
    for sent in (b"PING SPAMC/1.5\r\n\r\n", b"HELLO\r\n\r\n"):
        served.ask(sent)
    for mail in (b"a\n", b"refuse\n"):
        served.ask(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(mail) + mail)
    found = exposition(served.measurements.metrics(0))
    counted = re.findall(r'spamnb_spamd_requests_total{command="(\w*)",code="(\d+)"} 1', found)
    assert sorted(counted) == [("", "76"), ("CHECK", "0"), ("CHECK", "69"), ("PING", "0")]
    assert 'spamnb_faults_total{kind="protocol"} 1' in found
