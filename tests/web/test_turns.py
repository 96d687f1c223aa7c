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

GREEDY, QUIET, OTHER = "dorothea@one.example", "leopold@two.example", "ottokar@one.example"


class Crowd:
    """The server of the pages, and connections to it. All but the quiet user get their answers when `go_on` is set."""

    def __init__(self, server: PageServer, opened: contextlib.ExitStack) -> None:
        self._path, self._opened = server.listeners[0].address, opened
        self._turns = server._server.task_dispatcher.queue
        server.activity._application = self.hold(server.activity._application)  # type: ignore[assignment]
        self.go_on = threading.Event()
        self.held: list[tuple[str, str]] = []

    def hold(self, application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        """Wrap an application."""

        def held(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            name = environ[f"HTTP_{FIELD.upper().replace('-', '_')}"].lower()
            if name != QUIET:
                self.held.append((name, environ["PATH_INFO"]))
                self.go_on.wait(PATIENCE)
            return application(environ, start_response)

        return held

    def fill(self) -> list[socket.socket]:
        """Send as many requests of the greedy one as may wait."""
        asked = [self.ask(GREEDY) for _ in range(AT_ONCE)]
        until(lambda: len(self.held) == AT_ONCE, "the first requests of the greedy one")
        asked += [self.ask(GREEDY if number % 2 else GREEDY.upper()) for number in range(MOST_WAITING)]
        self.until_waiting(GREEDY, MOST_WAITING)
        return asked

    def until_waiting(self, name: str, number: int) -> None:
        """Wait until so many requests of a user wait."""
        until(lambda: len(self._turns._waiting.get(name, ())) == number, f"{number} requests of {name} to wait")

    def ask(self, name: str, request: str = "GET /words") -> socket.socket:
        """Ask for a page."""
        asking = self._opened.enter_context(socket.socket(socket.AF_UNIX))
        asking.settimeout(PATIENCE)
        asking.connect(self._path)
        asking.sendall(
            f"{request} HTTP/1.1\r\nHost: mail.example\r\n{FIELD}: {name}\r\nConnection: close\r\n\r\n".encode()
        )
        return asking


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    """The pages of three users, on a socket."""
    desk = HostDesk(tmp_path, GREEDY, QUIET, OTHER)
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
    assert len(crowd.held) == AT_ONCE
    crowd.go_on.set()
    assert {read(one)[0] for one in asked} == {200}


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_thread_is_left_for_others(crowd: Crowd) -> None:
    """However many users want several answers at once, one who wants the first is answered."""
    asked = crowd.fill()
    asked += [crowd.ask(OTHER) for _ in range(5)]
    crowd.until_waiting(OTHER, 4)
    for _ in range(3):
        assert read(crowd.ask(QUIET))[0] == 200
    assert crowd.held == [(GREEDY, "/words"), (GREEDY, "/words"), (OTHER, "/words")]
    crowd.go_on.set()
    assert {read(one)[0] for one in asked} == {200}


def test_one_message_is_tried_at_a_time(crowd: Crowd) -> None:
    """While a message of a user is judged, the next one waits, and the user's other pages do not wait behind it."""
    asked = [crowd.ask(GREEDY, "POST /try")]
    until(lambda: crowd.held, "the first message")
    asked += [crowd.ask(GREEDY, "POST /try") for _ in range(3)]
    crowd.until_waiting(GREEDY, 3)
    asked.append(crowd.ask(GREEDY))
    until(lambda: crowd.held == [(GREEDY, "/try"), (GREEDY, "/words")], "the page")
    crowd.go_on.set()
    for one in asked:
        read(one)
    assert crowd.held[2:] == [(GREEDY, "/try")] * 3


def test_the_last_thread_tries_no_message(crowd: Crowd) -> None:
    """While all threads but one are at work, a message that somebody tries waits for another one than the last."""
    asked = [crowd.ask(GREEDY), crowd.ask(GREEDY), crowd.ask(OTHER)]
    until(lambda: len(crowd.held) == len(asked), "all threads but one")
    tried = crowd.ask(QUIET, "POST /try")
    crowd.until_waiting(QUIET, 1)
    assert read(crowd.ask(QUIET))[0] == 200
    crowd.until_waiting(QUIET, 1)
    crowd.go_on.set()
    assert {read(one)[0] for one in asked} == {200}
    assert read(tried)[0] in {400, 403, 415}
