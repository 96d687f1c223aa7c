"""The pages of a mail host, if one user asks for more than all threads can answer."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb.web.page_server import PageServer
from spamnb.web.turns import AT_ONCE, MOST_WAITING
from tests.patience import PATIENCE, until
from tests.web.host_desk import FIELD, HostDesk, pages_of_all
from tests.web.test_connections import read

GREEDY, QUIET = "dorothea@one.example", "leopold@two.example"


class Crowd:
    """The server of the pages, and connections to it. The requests of one user are answered when `go_on` is set."""

    def __init__(self, server: PageServer, opened: contextlib.ExitStack) -> None:
        self._path, self._opened = server.listeners[0].address, opened
        self._turns = server._server.task_dispatcher.queue
        server.activity._application = self.hold(server.activity._application)  # type: ignore[assignment]
        self.go_on = threading.Event()
        self.at_work = 0

    def hold(self, application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        """Wrap an application."""

        def held(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            if environ[f"HTTP_{FIELD.upper().replace('-', '_')}"].lower() == GREEDY:
                self.at_work += 1
                self.go_on.wait(PATIENCE)
            return application(environ, start_response)

        return held

    def fill(self) -> list[socket.socket]:
        """Send as many requests of the greedy one as may wait."""
        asked = [self.ask(GREEDY) for _ in range(AT_ONCE)]
        until(lambda: self.at_work == AT_ONCE, "the first requests of the greedy one")
        asked += [self.ask(GREEDY if number % 2 else GREEDY.upper()) for number in range(MOST_WAITING)]
        until(lambda: len(self._turns._waiting.get(GREEDY, ())) == MOST_WAITING, "the others")
        return asked

    def ask(self, name: str) -> socket.socket:
        """Ask for a page."""
        asking = self._opened.enter_context(socket.socket(socket.AF_UNIX))
        asking.settimeout(PATIENCE)
        asking.connect(self._path)
        asking.sendall(
            f"GET /words HTTP/1.1\r\nHost: mail.example\r\n{FIELD}: {name}\r\nConnection: close\r\n\r\n".encode()
        )
        return asking


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    """The pages of two users, on a socket."""
    desk = HostDesk(tmp_path, GREEDY, QUIET)
    with contextlib.ExitStack() as opened, pages_of_all(desk) as server:
        made = Crowd(server, opened)
        running = threading.Thread(target=server.run)
        running.start()
        yield made
        made.go_on.set()
        server.close()
        running.join()
    desk.end()


def test_users_take_turns(crowd: Crowd) -> None:
    """However many costly requests one user sends, another is answered at once; all that may wait are answered."""
    asked = crowd.fill()
    for _ in range(3):
        assert read(crowd.ask(QUIET))[0] == 200
    assert crowd.at_work == AT_ONCE
    crowd.go_on.set()
    assert {read(one)[0] for one in asked} == {200}


def test_too_many_requests(crowd: Crowd) -> None:
    """More requests of one user than may wait are refused at once, and others still find a connection."""
    asked = crowd.fill()
    for _ in range(100):
        status, text = read(crowd.ask(GREEDY))
        assert status == 503 and b"too much at once" in text
    assert read(crowd.ask(QUIET))[0] == 200
    crowd.go_on.set()
    assert {read(one)[0] for one in asked} == {200}
    assert read(crowd.ask(GREEDY))[0] == 200
