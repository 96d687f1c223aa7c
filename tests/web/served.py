"""The pages of a desk behind a real server, in a process of its own or in a thread."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.config.writing import render
from spamnb.ledger.file.locks import only_service
from spamnb.web.page_server import PageServer, Settings, login_address
from tests import warm
from tests.patience import PATIENCE, until
from tests.web.desk import WebDesk


@dataclass
class Served:
    """A server in a process. base: the address of its pages over TCP."""

    process: warm.Process
    base: str
    log: str

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait(PATIENCE)


def start(desk: WebDesk, *arguments: str, config: str = "") -> Served:
    """`spamnb web`, from the moment on at which it serves."""
    path = desk.directory / "config.yaml"
    if not path.exists():
        learning = f"learning:\n  minimum_messages: {desk.learning.minimum_messages}"
        written = render(desk.config.mailboxes, desk.config.ledger, desk.config.authserv_id, is_trusted=True)
        path.write_text(f"{written}\n{config or learning}\n")
    log = desk.directory / f"web-{len(list(desk.directory.glob('web-*.log')))}.log"
    web = ["--config", str(path), "web", *(arguments or ("--listen", "127.0.0.1:0"))]
    with log.open("wb") as said:
        process = warm.start(*web, stdout=said.fileno(), stderr=said.fileno())
    until(lambda: "Ctrl-C" in log.read_text() or process.poll() is not None, "the pages to be served")
    found = re.search(r"(http://127\.0\.0\.1:\d+/\w+)/login\?code=\S+", log.read_text())
    assert process.poll() is None, log.read_text()
    return Served(process, found[1] if found else "", str(log))


@contextlib.contextmanager
def served(desk: WebDesk, *arguments: str) -> Iterator[Served]:
    """A server, ended at the end as a service manager ends it; nothing unforeseen is in its log."""
    server = start(desk, *arguments)
    try:
        yield server
    finally:
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    with open(server.log, encoding="utf-8") as log:
        assert "Traceback" not in log.read()


@contextlib.contextmanager
def served_here(desk: WebDesk, now: Callable[[], float] = time.time) -> Iterator[str]:
    """A server in a thread, which takes a second of processor time less; gives an address that logs a browser in."""
    path = desk.directory / "config.yaml"
    path.write_text(render(desk.config.mailboxes, desk.config.ledger))
    server = PageServer(Settings("127.0.0.1:0"), lambda: desk.config, str(path), {}, now=now)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield login_address(desk.config, server.port or 0, now())
    finally:
        server.close()
        thread.join()


@contextlib.contextmanager
def as_if_running(desk: WebDesk) -> Iterator[None]:
    """The desk's service, which works step by step, counts as running."""
    with only_service(str(desk.config.ledger)):
        yield
