"""Slow connections, and requests whose end is unclear."""

import contextlib
import http.client
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.web import connections, page_server
from spamnb.web.application import Application
from spamnb.web.http import Response
from spamnb.web.page_server import PageServer, Settings
from tests.patience import PATIENCE, until
from tests.web.desk import WebDesk

DRIPPING = 120
WHOLE = b"GET /static/favicon.svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Clock:
    """The clock of the connections, which a test sets. looks: how often the server has looked at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0

    def monotonic(self) -> float:
        """Return the time of the clock."""
        self.looks += 1
        return self.now

    def be_looked_at(self) -> None:
        """Wait until the server has looked, and done what follows from that."""
        before = self.looks
        until(lambda: self.looks > before + 1, "the server to look at all connections")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still, with a server that checks often."""
    made = Clock()
    monkeypatch.setattr(connections, "time", made)
    monkeypatch.setattr(page_server, "_LOOK_SECONDS", 0.01)
    return made


class Running:
    """A server in a thread. The address of its socket: a path, or a port of 127.0.0.1."""

    def __init__(self, desk: WebDesk, listen: str) -> None:
        self.server = PageServer(Settings(listen), lambda: desk.config, "config.yaml", {})
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()

    def connect(self) -> socket.socket:
        """A new connection."""
        (one,) = self.server.listeners
        made = socket.socket(one.socket.family)
        made.settimeout(PATIENCE)
        made.connect(one.path if one.path is not None else ("127.0.0.1", one.port))
        return made

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Return the status and the whole answer; 0 for a mere hang-up."""
        with self.connect() as asking:
            asking.sendall(request)
            return read(asking)

    def channels(self) -> list[connections.Channel]:
        """The connections that are open."""
        return [one for one in list(self.server._map.values()) if isinstance(one, connections.Channel)]

    def end(self) -> None:
        self.server.close()
        self._thread.join()


def read(asking: socket.socket) -> tuple[int, bytes]:
    """The status and the whole of an answer after which the connection is closed."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := asking.recv(65_536):
            parts.append(part)
    answer = b"".join(parts)
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer


@pytest.fixture(params=["port", "socket"])
def running(request: pytest.FixtureRequest, desk: WebDesk, tmp_path: Path, clock: Clock) -> Iterator[Running]:
    """The pages on a port of this machine, and on a Unix socket."""
    made = Running(desk, "127.0.0.1:0" if request.param == "port" else str(tmp_path / "web.sock"))
    yield made
    made.end()


def is_closed(one: socket.socket, drip: bytes = b"x") -> bool:
    """Whether the server has closed a connection; if not, send a little more."""
    try:
        one.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return one.recv(1) == b""
        with contextlib.suppress(BlockingIOError):  # nobody has read what was sent before
            one.send(drip)
    except ConnectionError:
        return True
    return False


def test_the_owner_gets_through(running: Running) -> None:
    """While 120 connections drip a byte each, and come again when they are closed, a whole request is answered.

    None of them is closed for the time that it takes: the clock stands still.
    """
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(running.connect()) for _ in range(DRIPPING)]
        for one in others:
            with contextlib.suppress(ConnectionError):  # it has made room for a later one
                one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(5):
            assert running.ask(WHOLE)[0] != 0
            open_ = [one for one in others if not is_closed(one)]
            others = open_ + [stack.enter_context(running.connect()) for _ in range(DRIPPING - len(open_))]
        until(lambda: sum(map(is_closed, others)) >= DRIPPING - connections.MOST, "the oldest to be closed")
        assert sum(map(is_closed, others)) < DRIPPING


def test_a_request_has_a_time(running: Running, clock: Clock) -> None:
    """A connection that does not send a whole request in time is closed, though something comes all the time."""

    def is_closed_later(one: socket.socket, drip: bytes) -> bool:
        clock.now += 1.0
        return is_closed(one, drip)

    form = b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n"
    for begin, drip in ((b"", b"x"), (b"GET / HT", b"x"), (b"", b"\r\n\r\n"), (form, b"x")):
        with running.connect() as asking:
            asking.sendall(begin)
            until(lambda one=asking, drip=drip: is_closed_later(one, drip), "the connection to be closed")  # type: ignore[misc]


def test_an_answer_has_a_time(running: Running, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose answer is not taken in time is closed."""

    def is_closed_later() -> bool:
        clock.now += 1.0
        return not running.channels()

    monkeypatch.setattr(Application, "answer", lambda *_: (Response(b"x" * 8_000_000), ""))
    with running.connect() as asking:
        asking.sendall(WHOLE)
        until(lambda: asking in select.select([asking], [], [], 0)[0], "the answer to begin")
        assert running.channels()
        until(is_closed_later, "the connection to be closed")


def test_a_second_request(running: Running, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request on a connection has the whole time, also after one that took long to be answered."""
    answer = Application.answer

    def late(*asked: object) -> object:
        clock.be_looked_at()
        clock.now += connections.WHOLE_SECONDS + 1
        return answer(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Application, "answer", late)
    client = http.client.HTTPConnection("localhost")
    with running.connect() as client.sock:
        for _ in range(2):
            client.request("GET", "/static/favicon.svg")
            assert client.getresponse().read()
            until(lambda: not any(one.requests for one in running.channels()), "the request to be done with")
            clock.be_looked_at()


def test_a_request_has_its_time_after_a_pause(running: Running, clock: Clock) -> None:
    """A connection that was silent for a while has the whole time for a request then."""
    client = http.client.HTTPConnection("localhost")
    with running.connect() as client.sock:
        for _ in range(2):
            until(lambda: bool(running.channels()), "the connection to be there")
            (channel,) = running.channels()
            channel.waiting(clock.now)
            clock.now += connections.WHOLE_SECONDS - 1
            client.sock.sendall(WHOLE[:20])
            until(lambda one=channel: one.request is not None, "the beginning of the request")  # type: ignore[misc]
            assert channel.waiting(clock.now) == 0
            clock.now += connections.WHOLE_SECONDS - 1
            assert channel.waiting(clock.now) == connections.WHOLE_SECONDS - 1
            client.sock.sendall(WHOLE[20:].replace(b"close", b"keep-alive"))
            answer = http.client.HTTPResponse(client.sock)
            answer.begin()
            assert answer.read()


CHUNK = b"4\r\nspan\r\n0\r\n\r\n"
# Fields behind Host, the body, and what is answered: 400 where it is not clear, or differs between programs.
FRAMES = {
    "both": ("Content-Length: 4\r\nTransfer-Encoding: chunked", CHUNK, 400),
    "both, the other way round": ("Transfer-Encoding: chunked\r\nContent-Length: 14", CHUNK, 400),
    "both, folded": ("Content-Length: 4\r\nTransfer-Encoding:\r\n chunked", CHUNK, 400),
    "both, in capitals": ("CONTENT-LENGTH: 4\r\nTRANSFER-ENCODING: CHUNKED", CHUNK, 400),
    "both, one of them empty": ("Content-Length: 4\r\nTransfer-Encoding:", b"span", 400),
    "two lengths": ("Content-Length: 4\r\nContent-Length: 5", b"span!", 400),
    "one length twice": ("Content-Length: 4\r\nContent-Length: 4", b"span", 400),
    "a list of lengths": ("Content-Length: 4, 4", b"span", 400),
    "a signed length": ("Content-Length: +4", b"span", 400),
    "a length in hexadecimal": ("Content-Length: 0x4", b"span", 400),
    "two codings": ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", CHUNK, 400),
    "chunked twice": ("Transfer-Encoding: chunked, chunked", CHUNK, 400),
    "no coding": ("Transfer-Encoding:", CHUNK, 400),
    "another coding": ("Transfer-Encoding: identity", b"span", 501),
    "a blank before the colon": ("Transfer-Encoding : chunked", CHUNK, 400),
    "no colon": ("Transfer-Encoding", CHUNK, 400),
    "a size that is none": ("Transfer-Encoding: chunked", b"4x\r\nspan\r\n0\r\n\r\n", 400),
    "a signed size": ("Transfer-Encoding: chunked", b"+4\r\nspan\r\n0\r\n\r\n", 400),
    "a chunk without an end": ("Transfer-Encoding: chunked", b"4\r\nspanspan\r\n0\r\n\r\n", 400),
    "a lone line feed": ("X: 1\nTransfer-Encoding: chunked", CHUNK, 400),
    "a lone carriage return": ("X: 1\rTransfer-Encoding: chunked", CHUNK, 400),
    "NUL": ("X: a\0b", b"", 400),
}
HEAD = "POST /pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\n{}{}\r\n\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def test_the_end_of_a_request_is_clear(running: Running, desk: WebDesk) -> None:
    """A request in which two programs could see two ends is refused without effect, and its connection closed."""
    second = HEAD.format(FORM, "Content-Length: 0").encode()
    for name, (fields, body, status) in FRAMES.items():
        head = HEAD.format(FORM, fields).replace("Connection: close\r\n", "")
        found, answer = running.ask(head.encode() + body + second)
        assert (found, answer.count(b"HTTP/1.")) == (status, 1), name
    assert desk.ledger.state.paused_until is None


def test_too_long_a_form(running: Running) -> None:
    """A form that is longer than any is refused by its length alone, with a line that says what to do."""
    fields = ("Content-Type: multipart/form-data; boundary=x\r\n", "Content-Length: 100000000")
    status, answer = running.ask(HEAD.format(*fields).encode())
    assert (status, answer.partition(b"\r\n\r\n")[2][:36]) == (413, b"spamnb: Your form is too large for t")
    assert b"spamnb explain FILE" in answer and b"max_body" not in answer


def test_chunks_in_an_old_version(running: Running, desk: WebDesk) -> None:
    """HTTP/1.0 knows no chunks (RFC 9112, 6.1)."""
    for fields in ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 14"):
        head = HEAD.format(FORM, fields).replace("HTTP/1.1", "HTTP/1.0")
        assert running.ask(head.encode() + CHUNK)[0] == 400


@pytest.mark.parametrize(("fields", "body"), [("Content-Length: 7", b"span=1d"), ("Transfer-Encoding: chunked", CHUNK)])
def test_what_is_clear_is_taken(desk: WebDesk, tmp_path: Path, fields: str, body: bytes) -> None:
    """A form with its length, and one in chunks, are taken; over a Unix socket, as a proxy sends them."""
    alone = Running(desk, str(tmp_path / "web.sock"))
    try:
        assert alone.ask(HEAD.format(FORM, fields).encode() + body)[0] == 303
    finally:
        alone.end()
    assert desk.ledger.state.paused_until is not None


def test_the_log_names_no_address(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of waitress has no address of a page."""

    def fail(*_: object) -> object:
        raise ValueError("a fault")

    monkeypatch.setattr(Application, "answer", fail)
    assert running.ask(WHOLE)[0] == 500
    until(lambda: "a fault" in caplog.text, "the log")
    assert "favicon" not in caplog.text
