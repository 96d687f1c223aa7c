"""The sockets of the pages, and how the server ends."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.cli.main import main
from spamnb.config.writing import render
from spamnb.web import login_keys
from spamnb.web.access import check_modes, is_held_by, listen
from spamnb.web.config_file import ConfigFile
from spamnb.web.page_server import Activity, PageServer, Settings, key_file, login_file, port_in_use
from tests.patience import PATIENCE, until
from tests.ports import held_port
from tests.table import over_rows
from tests.web.desk import WebDesk
from tests.web.served import served


@over_rows("address", ["0.0.0.0:7726", "192.0.2.1:80", "[::]:7726", "example.org:80", "1.2.3:4", "7726", ""])
def test_addresses_that_others_can_reach(address: str) -> None:
    """An address that others can reach is refused, with what to write instead."""
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:7726"):
        listen(address, behind_proxy=False).close()


def test_a_proxy_needs_a_unix_socket() -> None:
    """--behind-proxy is for a Unix socket alone."""
    with pytest.raises(UsageError, match="needs a Unix socket"):
        listen("127.0.0.1:0", behind_proxy=True)


@pytest.mark.parametrize(("behind_proxy", "mode"), [(False, 0o600), (True, 0o660)])
def test_modes_of_a_unix_socket(tmp_path: Path, behind_proxy: bool, mode: int) -> None:
    """A Unix socket is its owner's alone, or its group's too, for a proxy; it is removed at the end."""
    path = tmp_path / "web.sock"
    made = listen(str(path), behind_proxy=behind_proxy)
    assert path.stat().st_mode & 0o777 == mode
    made.close()
    assert not path.exists()


def test_everybody_may_not_connect(tmp_path: Path) -> None:
    """A handed-over Unix socket that every user can connect to is refused: there is no login."""
    made = listen(str(tmp_path / "web.sock"), behind_proxy=False)
    try:
        check_modes([made])
        with pytest.raises(SpamnbError, match="SocketMode=0660"):
            check_modes([replace(made, mode=0o666)])
        with pytest.raises(SpamnbError, match="has no file"):
            check_modes([replace(made, address="\0spamnb")])
    finally:
        made.close()


def test_who_holds_a_port() -> None:
    """The owner of a listening port can be determined: a login's code goes to nobody else."""
    with held_port() as port:
        with socket.create_server(("127.0.0.1", port)):
            assert is_held_by(port, frozenset({os.geteuid()}))
            assert not is_held_by(port, frozenset({os.geteuid() + 1}))
            assert port_in_use(Settings(f"127.0.0.1:{port}"), {}) == port
        assert not is_held_by(port, frozenset({os.geteuid()}))
    assert port_in_use(Settings("/run/x.sock"), {}) is None


def test_a_second_one(desk: WebDesk) -> None:
    """A second `spamnb web` says that spamnb already runs there, and how to open its pages."""
    with served(desk) as server:
        port = server.base.split(":")[2].partition("/")[0]
        config = str(desk.directory / "config.yaml")
        command = [sys.executable, "-m", "spamnb", "--config", config, "web", "--listen", f"127.0.0.1:{port}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    way = f"spamnb --config {config} web --open --listen 127.0.0.1:{port}"
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"spamnb: spamnb already serves its pages there. To open them: {way}\n"


def test_login_file(desk: WebDesk) -> None:
    """The address with its code is given to a browser in a file of the owner's: arguments can be read by others."""
    path = Path(login_file(desk.config, 7726, 1e9))
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"http://127.0.0.1:7726/{login_keys.path(key_file(desk.config).key())}/login?code=" in path.read_text()


def test_a_faulty_configuration(desk: WebDesk, tmp_path: Path) -> None:
    """A logged-in user sees why the configuration cannot be read; others are sent to a terminal."""
    file = tmp_path / "config.yaml"
    file.write_text(good := render(desk.config.mailboxes, desk.config.ledger))
    for known in (True, False):
        file.write_text(good)
        server = PageServer(Settings("127.0.0.1:0"), ConfigFile(file, {}, is_needed=True).read, str(file), {})
        try:
            key = key_file(desk.config).key()
            cookie = f"spamnb_{server.port}={login_keys.make(key, 'cookie', time.time())}"
            asked = {"REQUEST_METHOD": "GET", "HTTP_HOST": f"127.0.0.1:{server.port}", "HTTP_COOKIE": cookie}
            owner = asked | {"PATH_INFO": f"/{login_keys.path(key)}/health"}
            if known:
                assert server.activity(owner, lambda *_: None)
            file.write_text("scoring: {spam_cutoff: high}\n")
            texts = [b"".join(server.activity(each, lambda *_: None)).decode() for each in (owner, asked)]
        finally:
            server.close()
            server.run()
        assert "spam_cutoff" not in texts[1] and texts[1].startswith("spamnb: ") and texts[1].count("\n") == 1
        assert ("spam_cutoff" in texts[0]) == known


def test_idle_exit(desk: WebDesk, tmp_path: Path) -> None:
    """The server ends after a long time without requests, but not during an answer."""
    clock = [0.0]
    settings = Settings(str(tmp_path / "web.sock"), idle_exit=600.0)
    server = PageServer(settings, lambda: desk.config, "config.yaml", {})
    server.activity = Activity(desk.application(), lambda: clock[0])
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.activity.idle_for() == 0
        clock[0] = 599.0
        assert thread.is_alive()
        clock[0] = 601.0
        until(lambda: not thread.is_alive(), "the server to end")
    finally:
        server.close()
        thread.join()
    assert not (tmp_path / "web.sock").exists()


def sent(path: Path, request: bytes) -> tuple[int, bytes]:
    """Send bytes over a Unix socket; return the status and the whole answer, 0 for a mere hang-up."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(PATIENCE)
        asking.connect(str(path))
        parts = []
        with contextlib.suppress(ConnectionError):  # it does not read to the end what is too long
            asking.sendall(request)
            asking.shutdown(socket.SHUT_WR)
            while part := asking.recv(65_536):
                parts.append(part)
    answer = b"".join(parts)
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer


def test_limits_of_the_server(desk: WebDesk, tmp_path: Path) -> None:
    """Too long a header or form, also in chunks, is refused before a page sees it; no answer says what has made it."""
    path = tmp_path / "web.sock"
    server = PageServer(Settings(str(path)), lambda: desk.config, "config.yaml", {}, now=desk.now)
    thread = threading.Thread(target=server.run)
    thread.start()
    head = "{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\n{}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    last = desk.ledger.journal.newest_id()
    try:
        status, answer = sent(path, head.format("GET /history", "").encode())
        assert status == 200 and b"\r\nServer:" not in answer and b"waitress" not in answer.lower()
        assert sent(path, head.format("GET /", "X: " + "x" * 20_000 + "\r\n").encode())[0] in {0, 431}
        long = head.format("POST /pause", form + "Content-Length: 70000\r\n").encode() + b"x" * 70_000
        assert sent(path, long)[0] in {0, 413}
        chunks = head.format("POST /pause", form + "Transfer-Encoding: chunked\r\n").encode() + chunk * 2 + b"0\r\n\r\n"
        assert sent(path, chunks)[0] in {0, 413}
        both = form + "Content-Length: 4\r\nTransfer-Encoding: chunked, identity\r\n"
        assert sent(path, head.format("POST /pause", both).encode() + b"span")[0] in {400, 501}
        assert sent(path, b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n")[0] in {400, 421}
    finally:
        server.close()
        thread.join()
    assert (desk.ledger.journal.newest_id(), desk.ledger.state.paused_until) == (last, None)


def test_log_out(desk: WebDesk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`spamnb web --log-out` makes a new key, and ends all logins."""
    config = tmp_path / "config.yaml"
    config.write_text(render(desk.config.mailboxes, desk.config.ledger))
    assert main(["--config", str(config), "web", "--log-out"]) == 0
    before = (tmp_path / "web.key").read_bytes()
    assert main(["--config", str(config), "web", "--log-out"]) == 0
    assert (tmp_path / "web.key").read_bytes() != before
    assert "All logins are over" in capsys.readouterr().out


def test_wrong_spans(capsys: pytest.CaptureFixture[str]) -> None:
    """--idle-exit takes a minute or more."""
    assert main(["web", "--idle-exit", "5s"]) == 64
    assert "a minute or more" in capsys.readouterr().err
