"""The connections: what one client does wrong does not disturb the others."""

import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from spamnb.checkup.prometheus import exposition
from spamnb.config import Spamd
from spamnb.service.measurements import Measurements
from spamnb.service.spamd.protocol import Request, RequestError, Status, Told, answer
from spamnb.service.spamd.server import Limits, Server
from spamnb.service.spamd.sockets import Allowed, Listener, Listeners, Peer
from tests.service.conftest import until
from tests.service.spamd.conftest import PATIENCE, exchange, request

CHECKED = b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 7.3 / 5.0\r\n\r\n"
ALL = Allowed(frozenset(range(70_000)), 65534)
Serve = Callable[..., "Served"]


class Served:
    """A server with an answer of the test's own."""

    def __init__(self, directory: Path, limits: Limits, reply: Callable[[Request, Peer], Sequence[bytes]]) -> None:
        self.path = str(directory / "socket")
        self.listeners = Listeners(())
        self.measurements = Measurements()
        self.server = Server(reply, limits, measurements=self.measurements)
        self.server.listen(self.listeners.open(Spamd(listen=(self.path,))), ALL)

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def ask(self, sent: bytes, *, ends: bool = True) -> bytes:
        with self.connect() as client:
            return exchange(client, sent, ends=ends)

    def close(self) -> None:
        self.server.close()
        self.listeners.close()


def checked(asked: Request, _: Peer) -> Sequence[bytes]:
    return answer(asked, Told(True, 7.3), [asked.message])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with these limits; it is ended with the test."""
    made: list[Served] = []

    def start(reply: Callable[[Request, Peer], Sequence[bytes]] = checked, **limits: float) -> Served:
        made.append(Served(tmp_path, Limits(**{"tick": 0.05, **limits}), reply))  # type: ignore[arg-type]
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_each_way_to_end(serve: Serve) -> None:
    """A request is answered when its length is there, or its stream ends, whichever is first; then the stream ends."""
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
    """Who is refused before all is sent still reads why: the connection is not reset."""
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
    """Past the bytes that are held, who has been incomplete for longest is given up."""
    served = serve(held=1 << 20)
    hoarders = [served.connect() for _ in range(3)]
    try:
        for number, client in enumerate(hoarders):
            client.sendall(request("CHECK", b"x" * 1_000_000)[:-500_000])
            until(lambda number=number: served.server._held >= min(2, number + 1) * 490_000, "it to be read")
        assert served.ask(request("CHECK", b"x" * 400_000)) == CHECKED
        assert hoarders[0].recv(1000).startswith(b"SPAMD/1.0 69 Service Unavailable: too much")
    finally:
        for client in hoarders:
            client.close()


def test_bomb(serve: Serve) -> None:
    """What inflates to gigabytes costs no more memory than one message may have."""
    import zlib

    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"\0" * (1 << 20)) for _ in range(60)) + packer.flush()
    served = serve()
    tracemalloc.start()
    try:
        got = served.ask(request("CHECK", packed, "1.5", "Compress: zlib"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got.startswith(b"SPAMD/1.0 69 Service Unavailable: the message has more than")
    assert peak < 100 << 20


def test_silent(serve: Serve) -> None:
    """Who sends nothing is told so after a while, and the connection ends."""
    served = serve(first_line=0.0)
    assert served.ask(b"", ends=False).startswith(b"SPAMD/1.0 79 Timeout: ")


def test_slow(serve: Serve) -> None:
    """Who does not come to the end of the message in time is told so."""
    served = serve(request=0.0)
    assert served.ask(request("CHECK", b"x" * 10)[:-5], ends=False).startswith(b"SPAMD/1.0 79 Timeout: ")


def test_answer_not_taken(serve: Serve) -> None:
    """Who does not take the answer is given up after a while, and nothing of it is held any more."""
    served = serve(answer=0.0)
    with served.connect() as client:
        client.sendall(request("PROCESS", b"x" * 4_000_000))
        until(lambda: served.server._held == 0 and not served.server._connections, "the answer to be dropped")


def test_goes_on_sending(serve: Serve) -> None:
    """What comes after the request is dropped, and after a second the connection."""
    served = serve(drain=0.0)
    with served.connect() as client:
        client.sendall(request("CHECK", b"x"))
        assert client.recv(1000) == CHECKED
        until(lambda: not served.server._connections, "the connection to be closed")


def test_others_while_workers_are_busy(serve: Serve) -> None:
    """While all workers are at work, who asks whether the service lives is answered, and others wait their turn."""
    release = threading.Event()

    def slow(asked: Request, peer: Peer) -> Sequence[bytes]:
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

    def faulty(asked: Request, peer: Peer) -> Sequence[bytes]:
        if asked.message == b"bad":
            raise ZeroDivisionError
        if asked.message == b"refused":
            raise RequestError(Status.REFUSED, "not today")
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

    def slow(asked: Request, peer: Peer) -> Sequence[bytes]:
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
        assert half.recv(1000) == b""
    served.server = Server(checked)  # for the fixture to close


def test_user_who_may_not_ask(serve: Serve) -> None:
    """A user who is not allowed reads why, though all was sent before."""
    served = serve()
    (listener,) = served.listeners.open(Spamd(listen=(served.path,)))
    served.server.listen([listener], Allowed(frozenset(), 70_000))
    assert b"may not ask here\r\n" in served.ask(request("CHECK", b"x" * 300_000))
    served.server.listen([listener], ALL)
    assert served.ask(request("CHECK", b"x")) == CHECKED


def test_tcp(serve: Serve) -> None:
    """Over TCP an answer is read though more was sent than is asked for: the connection is not reset."""
    served = serve()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        served.server.listen([Listener(listening, "127.0.0.1:0", is_unix=False)], ALL)
        with socket.create_connection(listening.getsockname(), PATIENCE) as client:
            client.sendall(b"PING SPAMC/1.5\r\nUser: bob\r\n\r\n" + b"x" * 100_000)
            assert client.recv(1000) == b"SPAMD/1.5 0 PONG\r\n"
        served.server.listen([], ALL)


def test_requests_are_counted(serve: Serve) -> None:
    """By command and by the code of the answer; what is no request has no command, and is a fault of the protocol."""

    def reply(asked: Request, peer: Peer) -> Sequence[bytes]:
        if asked.message == b"refuse\n":
            raise RequestError(Status.REFUSED, "not now")
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
