"""A mailbox under the service's hands, and its pages without a socket or a browser."""

import functools
import io
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import lxml.html

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.web import login_keys
from spamnb.web.access import Access, ServerAddress
from spamnb.web.application import Application
from spamnb.web.kept_values import KeptValues
from spamnb.web.page_server import Activity
from spamnb.web.pages import first_routes, other_routes, routes_of_a_host
from spamnb.web.rendering import Pages
from spamnb.web.routes import Route, Router
from spamnb.web.visit import Site
from tests.service.desk import DAY, Desk

HOST = "127.0.0.1:7726"
KEY = bytes(range(32))


@functools.cache
def _taught() -> bytes:
    """A ledger that learned 30 messages of each kind when the story of a desk begins."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "ledger")
        with Ledger(str(path)) as ledger:
            for label in Label:
                lessons = Batch.of([read(message(label.word, number)) for number in range(30)])
                training.learn_batches(ledger, [lessons], label, "a test", time.time() - 100 * DAY, how=How.HAND)
        return path.read_bytes()


class Answer:
    """An answer, and its page as a tree. Paths are those below the base, the path of all pages."""

    def __init__(self, path: str, status: str, headers: list[tuple[str, str]], body: bytes, base: str = "") -> None:
        self.path = path
        self._site = f"http://{HOST}{base}"
        self.status = int(status.split(maxsplit=1)[0])
        self.headers = dict(headers)
        self.text = body.decode("utf-8")

    @property
    def tree(self) -> Any:
        """The page."""
        return lxml.html.document_fromstring(self.text)

    @property
    def words(self) -> str:
        """The text of the page itself, with single blanks."""
        return " ".join(self.tree.xpath("//main")[0].text_content().split())

    @property
    def location(self) -> str:
        """Where it leads to, as a path with its query."""
        return urljoin(f"{self._site}{self.path}", self.headers["Location"]).removeprefix(self._site)


class Browser:
    """Sends requests to an application as its owner's browser does, by default. base: the path of all pages."""

    def __init__(self, application: Application | Activity) -> None:
        self._application = application
        self.base = application._access.base.removesuffix("/") if isinstance(application, Application) else ""
        self.headers = {"host": HOST, "cookie": f"spamnb_7726={login_keys.make(KEY, 'cookie', 1e9)}"}

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
        """Ask for a page."""
        return self._ask(method, path, {**self.headers, **(headers or {})})

    def post(self, path: str, headers: Mapping[str, str] | None = None, **fields: object) -> Answer:
        """Send a form; a list gives several fields of one name."""
        body = urlencode({name.rstrip("_"): value for name, value in fields.items()}, doseq=True).encode()
        return self.send(path, body, headers)

    def send(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        """Send these bytes as a form."""
        usual = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, {**self.headers, **usual, **(headers or {})}, body)

    def follow(self, answer: Answer) -> Answer:
        """The page that an answer leads to."""
        assert answer.status == 303, (answer.status, answer.text)
        return self.get(answer.location)

    def _ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        path, _, query = path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": self.base + path,
            "QUERY_STRING": query,
            "wsgi.input": io.BytesIO(body),
            "CONTENT_LENGTH": str(len(body)) if method == "POST" else "",
        }
        for name, value in headers.items():
            kind = name.upper().replace("-", "_")
            environ[kind if kind.startswith("CONTENT_") else f"HTTP_{kind}"] = value
        started: list[Any] = []
        parts = self._application(environ, lambda *said: started.extend(said))
        return Answer(path, *started, b"".join(parts), self.base)


def all_routes() -> list[Route]:
    """The routes of all pages."""
    return [*first_routes(), *other_routes()]


def pages_of(
    config: Callable[[], Config],
    now: Callable[[], float] = time.time,
    *,
    config_path: str = "config.yaml",
    address: ServerAddress | None = None,
    read_only: bool = False,
    at_once: bool = False,
    host: Host | None = None,
) -> Application:
    """The pages of a configuration, or the overview of a host.

    at_once: what follows an answer is done before it; else it is not done.
    """
    router = Router(all_routes() if host is None else routes_of_a_host())
    access = Access(address or ServerAddress(7726), lambda: KEY, lambda: 1e9)
    environ = {"CONFIGURATION_DIRECTORY": str(Path(config_path).absolute().parent)}  # so it is the usual one
    kept = KeptValues(config_path, environ)
    of_host = None if host is None else lambda: host
    site = Site(
        config, config_path, access, Pages(router.has_page), now, kept, read_only, "anna", environ=environ, host=of_host
    )
    return Application(site, router, (lambda work: work()) if at_once else (lambda work: None))


class WebDesk(Desk):
    """A watched mailbox whose filter knows 30 messages of each kind, and its pages."""

    authserv_id: str | None = None  # of the person's mail server, for the pages

    def __init__(self, directory: Path, *names: str) -> None:
        (directory / "ledger").write_bytes(_taught())
        super().__init__(directory, *(names or ("Maildir",)))
        self.browser = Browser(self.application())

    @property
    def config(self) -> Config:
        """The configuration of the mailboxes."""
        return replace(super().config, authserv_id=self.authserv_id)

    def application(
        self, *, address: ServerAddress | None = None, read_only: bool = False, at_once: bool = False
    ) -> Application:
        """Return the pages. at_once: work that follows an answer is done before it; else not at all."""
        return pages_of(lambda: self.config, self.now, address=address, read_only=read_only, at_once=at_once)

    def go_to_noon(self) -> None:
        """Let the clock show noon of the next day, in local time."""
        tomorrow = datetime.fromtimestamp(self.now()) + timedelta(days=1)
        self.ahead += tomorrow.replace(hour=12, minute=0, second=0, microsecond=0).timestamp() - self.now()

    def number_of(self, content: bytes) -> int:
        """The number of a message in the ledger."""
        known = self.ledger.messages.find(read(content).digest)
        assert known is not None
        return known.id

    def label(self, content: bytes) -> tuple[Label | None, bool] | None:
        """Return the label of a message, and whether it is weak."""
        found = self.ledger.lessons.find(read(content).digest)
        return None if found is None else (found.label, found.weak)
