"""The pages of two users behind a real nginx, each over a Unix socket of their own, below a prefix."""

import base64
import contextlib
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import lxml.html
import pytest

from spamnb.cli.common.sample_mail import message
from tests.documents import block
from tests.patience import PATIENCE, until
from tests.ports import held_port
from tests.web.desk import WebDesk
from tests.web.served import served

pytestmark = pytest.mark.real_system
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer to be looked at."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


class Proxy:
    """nginx with a configuration of docs/mail-host.md, on a port of this machine.

    users: who may log in by a password. changes: what stands in the place of a text of that configuration.
    """

    def __init__(self, directory: Path, port: int, name: str, users: Iterable[str], changes: Mapping[str, str]) -> None:
        self.port = port
        site = block("docs/mail-host.md", name)
        outside, location, inside = site.partition("location")  # `map` has its place outside of `server`
        site = f"{outside} server {{ listen 127.0.0.1:{self.port}; server_name mail.example; {location}{inside} }}"
        own = {"/run/spamnb-web/": f"{directory}/"}
        own |= {"/run/spamnb-web-host/": f"{directory}/", "/etc/nginx/spamnb.passwd": str(directory / "passwd")}
        for text, instead in {**own, **changes}.items():
            site = site.replace(text, instead)
        temporary = "".join(f"{name}_temp_path {directory}/{name};" for name in _TEMPORARY)
        (directory / "passwd").write_text("".join(f"{user}:{{PLAIN}}pw-{user}\n" for user in users))
        (directory / "nginx.conf").write_text(
            f"user {'root' if os.geteuid() == 0 else 'nobody'}; daemon off; pid {directory}/pid; worker_processes 1;"
            f" error_log {directory}/error.log; events {{}} http {{ access_log off; {temporary} {site} }}"
        )
        command = [
            str(NGINX),
            "-e",
            str(directory / "error.log"),
            "-c",
            str(directory / "nginx.conf"),
            "-p",
            str(directory),
        ]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def answers(self) -> bool:
        """Whether it accepts connections."""
        assert self.process.poll() is None, "nginx has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(
        self, path: str, user: str | None = "anna", host: str = "", also: Mapping[str, str] = {}, **fields: object
    ) -> "Answer":
        """Return the answer of nginx; with fields, send a form from a page of its own. also: more header fields."""
        headers = {"Host": host or f"mail.example:{self.port}", "Connection": "close", **also}
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:pw-{user}".encode()).decode()
        body = urllib.parse.urlencode(fields).encode() if fields else None
        if fields:
            headers["Sec-Fetch-Site"] = "same-origin"
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers)
        try:
            with OPENER.open(asked, timeout=PATIENCE) as answer:
                return Answer(path, answer.status, dict(answer.headers), answer.read().decode())
        except urllib.error.HTTPError as fault:
            with fault:
                return Answer(path, fault.code, dict(fault.headers), fault.read().decode())

    def end(self) -> None:
        """End nginx."""
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def proxied(directory: Path, name: str, users: Iterable[str], changes: Mapping[str, str] = {}) -> Iterator[Proxy]:
    """nginx, from when it answers on."""
    if NGINX is None:
        pytest.skip("nginx is not installed (Debian: apt install nginx-light)")
    with held_port() as port:
        running = Proxy(directory, port, name, users, changes)
        try:
            until(running.answers, "nginx to answer")
            yield running
        finally:
            running.end()


_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Answer:
    """An answer."""

    def __init__(self, path: str, status: int, headers: dict[str, str], text: str) -> None:
        self.path, self.status, self.headers, self.text = path, status, headers, text

    def links(self) -> list[str]:
        """The paths that the page leads to, as a browser resolves them."""
        found = lxml.html.document_fromstring(self.text).xpath("//@href | //@src | //@action")
        return [urllib.parse.urljoin(self.path, link).partition("#")[0] for link in found if not link.startswith("#")]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """nginx before the pages of anna, who has mail, and of ben, who has none."""
    directory = tmp_path_factory.mktemp("proxy")
    made = []
    for user in ("anna", "ben"):
        (directory / user).mkdir()
        made.append(WebDesk(directory / user))
    made[0].deliver(message("spam", 100))
    arguments = ("--behind-proxy", "--allow-host", "mail.example", "--listen")
    try:
        with (
            served(made[0], *arguments, str(directory / "anna.sock")),
            served(made[1], *arguments, str(directory / "ben.sock")),
            proxied(directory, "nginx", ("anna", "ben", "../x")) as running,
        ):
            yield running
    finally:
        for desk in made:
            desk.stop()
            desk.ledger.close()


def test_every_link_stays_below_the_prefix(proxy: Proxy) -> None:
    """Every page that a link leads to is below the prefix, which the pages do not know."""
    seen = walk(proxy, "anna")
    assert len(seen) > 15
    assert {"/spam/history", "/spam/m/N"} <= seen


def walk(proxy: Proxy, user: str) -> set[str]:
    """The kinds of addresses to which links lead, from the first page on; each is asked for."""
    left, seen = ["/spam/"], set[str]()
    while left:
        path = left.pop()
        kind = re.sub(r"\d+", "N", path)
        if kind in seen:
            continue
        seen.add(kind)
        assert path.startswith("/spam/"), path
        answer = proxy.ask(path, user)
        is_form = path.endswith(("/choose", "/teach", "/forget", "/pause", "/resume"))
        assert answer.status == (405 if is_form else 200), path
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            left += answer.links()
    return seen


def test_a_form_leads_back(proxy: Proxy) -> None:
    """An act is done, and one is led back to the page that it was sent from, below the prefix."""
    answer = proxy.ask("/spam/pause", span="1h", back="history?show=spam")
    assert (answer.status, answer.headers["Location"]) == (303, "history?show=spam")
    assert "Moving is paused" in proxy.ask("/spam/history?show=spam").text
    assert proxy.ask("/spam/resume", back="").headers["Location"] == "./"


def test_each_user_has_their_own(proxy: Proxy) -> None:
    """Which user's pages one sees is decided by the password alone."""
    assert "promo100@" in proxy.ask("/spam/history", "anna").text
    assert "promo100@" not in proxy.ask("/spam/history", "ben").text
    assert proxy.ask("/spam/history", None).status == 401
    assert proxy.ask("/spam/history", "../x").status == 502
    assert proxy.ask("/spam/history", host="evil.example").status == 421
    assert proxy.ask("/spam/../etc/passwd").status in {400, 404}
