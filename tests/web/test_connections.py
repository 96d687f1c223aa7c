"""Connections that take their time, and requests of which it is not clear where they end."""

import contextlib
import http.client
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from spamnb.web import connections
from spamnb.web.application import Application
from spamnb.web.http import Response
from spamnb.web.page_server import PageServer, Settings
from tests.patience import PATIENCE, until
from tests.web.desk import WebDesk

DRIPPING = 120
WHOLE = b"GET /static/favicon.svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


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
        """The status and the whole answer; 0 where it is only hung up."""
        with self.connect() as asking:
            asking.sendall(request)
            return read(asking)

    def channels(self) -> list[object]:
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
def running(request: pytest.FixtureRequest, desk: WebDesk, tmp_path: Path) -> Iterator[Running]:
    """The pages on a port of this machine, and on a Unix socket."""
    made = Running(desk, "127.0.0.1:0" if request.param == "port" else str(tmp_path / "web.sock"))
    yield made
    made.end()


def is_closed(one: socket.socket, drip: bytes = b"x") -> bool:
    """Whether the server has closed a connection; if not, a little more is sent."""
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
    """While 120 connections drip a byte each, and come again when they are closed, a whole request is answered."""
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(running.connect()) for _ in range(DRIPPING)]
        for one in others:
            with contextlib.suppress(ConnectionError):  # it has made room for a later one
                one.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(5):
            began = time.monotonic()
            assert running.ask(WHOLE)[0] != 0
            assert time.monotonic() - began < connections.WHOLE_SECONDS / 4
            open_ = [one for one in others if not is_closed(one)]
            others = open_ + [stack.enter_context(running.connect()) for _ in range(DRIPPING - len(open_))]
        until(lambda: sum(map(is_closed, others)) >= DRIPPING - connections.MOST, "the oldest to be closed")
        assert sum(map(is_closed, others)) < DRIPPING


def test_a_request_has_a_time(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that does not send a whole request in time is closed, though something comes all the time."""
    monkeypatch.setattr(connections, "WHOLE_SECONDS", 0.3)
    form = b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n"
    for begin, drip in ((b"", b"x"), (b"GET / HT", b"x"), (b"", b"\r\n\r\n"), (form, b"x")):
        with running.connect() as asking:
            asking.sendall(begin)
            until(lambda one=asking, drip=drip: is_closed(one, drip), "the connection to be closed")  # type: ignore[misc]


def test_an_answer_has_a_time(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose answer is not taken in time is closed."""
    monkeypatch.setattr(connections, "WHOLE_SECONDS", 0.3)
    monkeypatch.setattr(Application, "answer", lambda *_: (Response(b"x" * 8_000_000), ""))
    with running.connect() as asking:
        asking.sendall(WHOLE)
        until(lambda: asking in select.select([asking], [], [], 0)[0], "the answer to begin")
        until(lambda: not running.channels(), "the connection to be closed")


def test_a_second_request(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request on a connection has the whole time, also after one that took long to be answered."""
    monkeypatch.setattr(connections, "WHOLE_SECONDS", 0.5)
    answer = Application.answer

    def late(*asked: object) -> object:
        time.sleep(0.7)
        return answer(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Application, "answer", late)
    client = http.client.HTTPConnection("localhost")
    with running.connect() as client.sock:
        for _ in range(2):
            client.request("GET", "/static/favicon.svg")
            assert client.getresponse().read()


def test_a_request_has_its_time_after_a_pause(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was silent for a while has the whole time for a request then."""
    now = 0.0
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: now))
    client = http.client.HTTPConnection("localhost")
    with running.connect() as client.sock:
        for _ in range(2):
            until(lambda: bool(running.channels()), "the connection to be there")
            (channel,) = running.channels()
            assert isinstance(channel, connections.Channel)
            channel.waiting(now)
            now += connections.WHOLE_SECONDS - 1
            client.sock.sendall(WHOLE[:20])
            until(lambda one=channel: one.request is not None, "the beginning of the request")  # type: ignore[misc]
            assert channel.waiting(now) == 0
            now += connections.WHOLE_SECONDS - 1
            assert channel.waiting(now) == connections.WHOLE_SECONDS - 1
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
    """A request of which two programs could see two ends is refused, nothing is done, and the connection is closed."""
    second = HEAD.format(FORM, "Content-Length: 0").encode()
    for name, (fields, body, status) in FRAMES.items():
        head = HEAD.format(FORM, fields).replace("Connection: close\r\n", "")
        found, answer = running.ask(head.encode() + body + second)
        assert (found, answer.count(b"HTTP/1.")) == (status, 1), name
    assert desk.ledger.state.paused_until is None


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
    """What waitress logs has no address of a page in it."""

    def fail(*_: object) -> object:
        raise ValueError("a fault")

    monkeypatch.setattr(Application, "answer", fail)
    assert running.ask(WHOLE)[0] == 500
    until(lambda: "a fault" in caplog.text, "the log")
    assert "favicon" not in caplog.text
