"""The pages of all users of a mail host behind nginx, by docs/mail-host.md: nginx has checked who asks."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.web.host_desk import FIELD, HostDesk
from tests.web.served import served
from tests.web.test_proxy import Answer, Proxy, proxied, walk

pytestmark = pytest.mark.real_system
DORA, LEO = "dorothea@one.example", "leopold@two.example"
FORGED = ({FIELD: LEO}, {FIELD.lower(): LEO}, {"X_Remote_User": LEO}, {FIELD: f"{DORA}, {LEO}"})


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two users of a host, their pages served, and `host.sock`."""
    made = tmp_path_factory.mktemp("proxy")
    desk = HostDesk(made, DORA, LEO)
    arguments = ("--behind-proxy", "--allow-host", "mail.example", "--user-header", FIELD)
    try:
        with served(desk, *arguments, "--listen", str(made / "host.sock")):
            yield made
    finally:
        desk.end()


@pytest.fixture(scope="module")
def proxy(directory: Path) -> Iterator[Proxy]:
    """nginx with a file of passwords."""
    with proxied(directory, "nginx-host", (DORA, LEO, "nobody@one.example")) as running:
        yield running


def whose(answer: Answer) -> set[str]:
    """Return the user whose mail is on a page."""
    return {name for name in (DORA, LEO) if f"secret-{name.partition('@')[0]}" in answer.text}


def test_each_user_has_their_own(proxy: Proxy) -> None:
    """Which user's pages one sees is decided by the password alone, below any path."""
    for name in (DORA, LEO):
        answer = proxy.ask("/spam/history", name)
        assert (answer.status, whose(answer)) == (200, {name})
    assert proxy.ask("/spam/history", None).status == 401
    assert proxy.ask("/spam/history", "nobody@one.example").status == 403
    assert proxy.ask("/spam/history", DORA, host="evil.example").status == 421
    assert len(walk(proxy, DORA)) > 15


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_a_forged_field(proxy: Proxy, forged: dict[str, str]) -> None:
    """The browser's own field has no effect, whether the user has logged in or not."""
    answer = proxy.ask("/spam/history", DORA, also=forged)
    assert (answer.status, whose(answer)) == (200, {DORA})
    assert proxy.ask("/spam/history", None, also=forged).status == 401
    assert proxy.ask("/spam/history", "nobody@one.example", also=forged).status == 403


def test_a_form(proxy: Proxy) -> None:
    """A form acts for the logged-in user, and leads back to its page."""
    answer = proxy.ask("/spam/pause", DORA, also={FIELD: LEO}, span="1h", back="history?show=spam")
    assert (answer.status, answer.headers["Location"]) == (303, "history?show=spam")
    assert "Moving is paused" in proxy.ask("/spam/history", DORA).text
    assert "Moving is paused" not in proxy.ask("/spam/history", LEO).text
    assert proxy.ask("/spam/resume", DORA, back="").headers["Location"] == "./"


@pytest.mark.parametrize("forged", [{}, *FORGED], ids=str)
def test_nobody_has_logged_in(directory: Path, forged: dict[str, str]) -> None:
    """If nginx admits a request without a login, the field is empty, whatever the browser sends."""
    place = directory / f"open{len(list(directory.iterdir()))}"
    place.mkdir()
    (place / "host.sock").symlink_to(directory / "host.sock")
    with proxied(place, "nginx-host", (), {"auth_basic": "#auth_basic"}) as open_:
        answer = open_.ask("/spam/history", None, also=forged)
        assert (answer.status, whose(answer)) == (403, set())


# --- another program has the login ----------------------------------------------------------------------------------


class _Who(BaseHTTPRequestHandler):
    """Recognises a user by a cookie, and names the user in its answer."""

    def do_GET(self) -> None:
        name = self.headers.get("Cookie", "").partition("session=")[2]
        self.send_response(200 if name else 401)
        if name and name != "guest":
            self.send_header("X-Auth-User", name)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def login() -> Iterator[int]:
    """Another program's login, on a port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Who)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_another_login(directory: Path) -> None:
    """If a different program does the login, its answer names the user; the browser's own field does not."""
    place = directory / "request"
    place.mkdir()
    (place / "host.sock").symlink_to(directory / "host.sock")
    with (
        login() as port,
        proxied(place, "nginx-request", (), {"127.0.0.1:9091": f"127.0.0.1:{port}"}) as proxy,
    ):
        for forged in ({}, *FORGED, {"X-Auth-User": LEO}):
            answer = proxy.ask("/spam/history", None, also=forged | {"Cookie": f"session={DORA}"})
            assert (answer.status, whose(answer)) == (200, {DORA}), forged
            assert proxy.ask("/spam/history", None, also=forged).status == 401
            assert proxy.ask("/spam/history", None, also=forged | {"Cookie": "session=guest"}).status == 403
        answer = proxy.ask("/spam/history", LEO, also={"Cookie": f"session={DORA}"})
        assert whose(answer) == {DORA}, "a name that the browser says by Authorization"
        assert proxy.ask("/spam/history", LEO).status == 401


def test_a_name_that_nobody_has_checked(directory: Path) -> None:
    """Why the document says so: without `auth_basic` nginx takes $remote_user from whatever the browser sends."""
    place = directory / "unchecked"
    place.mkdir()
    (place / "host.sock").symlink_to(directory / "host.sock")
    with proxied(place, "nginx-host", (), {"auth_basic": "#auth_basic"}) as open_:
        assert whose(open_.ask("/spam/history", LEO)) == {LEO}
