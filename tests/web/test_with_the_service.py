"""The pages beside the running service: each answer takes effect in the Maildir, once, even after a kill."""

import contextlib
import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lxml.html
import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests import warm
from tests.patience import PATIENCE, until
from tests.service.conftest import Site

pytestmark = pytest.mark.real_system
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


class Beside:
    """The pages of a site, on a Unix socket of their own."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._path = site.directory / "web.sock"
        self.log = site.directory / "web.log"
        self.process: warm.Process | None = None

    def start(self) -> None:
        """`spamnb web`, until it answers."""
        web = ["--config", str(self._site.config), "web", "--listen", str(self._path)]
        with self.log.open("ab") as log:
            self.process = warm.start(*web, stdout=log.fileno(), stderr=log.fileno())
        until(self._answers, "the pages to be served")

    def _answers(self) -> bool:
        assert self.process is not None and self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError), self._connected() as client:
            client.request("GET", "/static/favicon.svg")
            return client.getresponse().status == 200
        return False

    def kill(self) -> None:
        """As `kill -9` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        client = http.client.HTTPConnection("localhost", timeout=PATIENCE)
        client.sock = socket.socket(socket.AF_UNIX)
        try:
            client.sock.connect(str(self._path))
            yield client
        finally:
            client.close()

    def get(self, path: str) -> str:
        """A page."""
        with self._connected() as client:
            client.request("GET", path)
            answer = client.getresponse()
            text = answer.read().decode()
            assert answer.status == 200, text
            return text

    def post(self, path: str, form: str) -> str:
        """Send a form, and return where it leads to."""
        with self._connected() as client:
            client.request("POST", path, form, FORM)
            answer = client.getresponse()
            text = answer.read().decode()
            assert answer.status == 303, text
            return str(answer.headers["Location"])

    def send_and_kill(self, path: str, form: str) -> None:
        """Send a form, and kill the server while it works on it."""
        with self._connected() as client:
            client.request("POST", path, form, FORM)
            self.kill()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A Maildir++ site; the service is ended with the test."""
    made = Site(tmp_path)
    yield made
    made.kill()


@pytest.fixture
def pages(site: Site) -> Iterator[Beside]:
    """The pages of a taught site whose service runs."""
    site.teach()
    site.start()
    made = Beside(site)
    made.start()
    yield made
    assert made.process is not None
    made.process.terminate()
    made.process.wait(PATIENCE)
    assert "Traceback" not in made.log.read_text()


def number_of(site: Site, content: bytes) -> int:
    with Ledger(str(site.ledger), only_read=True) as ledger:
        known = ledger.messages.find(identity(content))
        assert known is not None
        return known.id


def learnings(site: Site, content: bytes) -> list[int | None]:
    """Return each label with which the message was learned."""
    with Ledger(str(site.ledger), only_read=True) as ledger:
        known = ledger.messages.find(identity(content))
        assert known is not None
        return [one.after for one in ledger.journal.of_message(known.id) if one.kind == "learned"]


def is_judged(site: Site, content: bytes) -> bool:
    with Ledger(str(site.ledger), only_read=True) as ledger:
        known = ledger.messages.find(identity(content))
        return known is not None and known.verdict is not None


def test_corrected_and_taken_back(site: Site, pages: Beside) -> None:
    """The page brings back a message from Junk, learns it once, and undoes all of it."""
    offer = site.deliver(message("spam", 500))
    until(lambda: offer in site.contents("Junk"), "the offer in Junk")
    assert "is not running" not in pages.get("/")
    number = number_of(site, offer)
    where = pages.post(f"/m/{number}/teach", "label=ham&back=history")
    assert offer in site.contents("INBOX")
    assert (site.everything(), learnings(site, offer)) == ([offer], [0])
    page = lxml.html.document_fromstring(pages.get(f"/{where.replace('../', '')}"))
    assert "Learned as ham, moved to INBOX" in page.text_content()
    pages.kill()
    pages.start()
    letter = site.deliver(message("ham", 501))
    until(lambda: is_judged(site, letter), "the letter to be judged")
    assert offer in site.contents("INBOX"), "the service leaves it there"
    ids = "&".join(f"id={one}" for one in page.xpath("//*[@role='status']//input[@name='id']/@value"))
    pages.post("/undo", f"{ids}&back=history")
    assert offer in site.contents("Junk")
    assert learnings(site, offer) == [0, None]
    assert site.everything() == sorted([offer, letter])
    assert site.end() == 0
    assert site.faults() == []


def test_killed_between(site: Site, pages: Beside) -> None:
    """Killed at any moment of an act, the page's server leaves every message once, and a ledger that agrees."""
    offers = [site.deliver(message("spam", number)) for number in range(510, 518)]
    until(lambda: len(site.contents("Junk")) == len(offers), "the offers in Junk")
    for offer in offers:
        pages.send_and_kill(f"/m/{number_of(site, offer)}/teach", "label=ham")
        pages.start()
        assert sorted(site.everything()) == sorted(offers)
    for offer in offers:  # once more, to the end
        pages.post(f"/m/{number_of(site, offer)}/teach", "label=ham")
    assert sorted(site.contents("INBOX")) == sorted(offers)
    assert all(learnings(site, offer) == [0] for offer in offers)
    assert site.end() == 0
    assert site.faults() == []
    assert "Traceback" not in site.log()


def test_a_port_in_use_is_refused(site: Site, tmp_path: Path) -> None:
    """If a different program already listens, the pages are not served, and the error says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "spamnb", "--config", str(site.config), "web", "--listen", f"127.0.0.1:{port}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; stop the program" in done.stderr
