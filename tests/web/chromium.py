"""A window of Debian's Chromium, driven by Playwright, that shows the pages of a desk."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb.web import login_keys
from spamnb.web.page_server import key_file
from tests.patience import PATIENCE, until
from tests.web.desk import WebDesk, all_routes
from tests.web.served import as_if_running, served
from tests.web.story import live_some_weeks

CHROMIUM = Path("/usr/bin/chromium")
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
SIZES = {"desk": DESK, "phone": PHONE}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = sorted(
    one.pattern.removeprefix("/")
    for one in all_routes()
    if one.method == "GET" and not one.is_public and not one.pattern.endswith(".json")
)


class Window:
    """A window of the browser, logged in; what it says in its console and asks of others is written down."""

    def __init__(self, context: Any, base: str) -> None:
        self.page = context.new_page()
        self.base = base
        self.said: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", lambda one: self.said.append(one.text))
        self.page.on("pageerror", lambda one: self.said.append(str(one)))
        self.page.on("dialog", lambda one: (self.said.append(one.message), one.dismiss()))
        self.page.on("request", lambda one: None if one.url.startswith(base) else self.foreign.append(one.url))

    def go(self, path: str) -> None:
        """Open a page, and wait until its parts are there; again, while what it shows is still worked on."""
        until(lambda: self._is_made(path), f"the page {path}")

    def _is_made(self, path: str) -> bool:
        answer = self.page.goto(f"{self.base}/{path}")
        assert answer.status == 200, (path, answer.status)
        if " data-again" in answer.text():  # it loads itself again, at any moment
            return False
        self.page.wait_for_load_state("networkidle")
        return self.page.locator("[data-unfinished]").count() == 0

    def is_clean(self) -> None:
        """Check that the console is empty, and that no other server was asked."""
        assert (self.said, self.foreign) == ([], [])


class Chromium:
    """The browser, and a served desk."""

    def __init__(self, browser: Any, desk: WebDesk, base: str) -> None:
        self._browser = browser
        self.desk = desk
        self.base = base

    def address(self, page: str) -> str:
        """Return the page of a sender or of a message in Junk, if the page is about one; else the page itself."""
        moved = (line.action.message for line in self.desk.ledger.journal.page(100) if line.action.kind == "moved")
        return page.replace("{sender}", "1").replace("{id}", str(next(moved, None)))

    @contextlib.contextmanager
    def window(self, **options: Any) -> Iterator[Window]:
        """A window in a context of its own."""
        context = self._browser.new_context(**({"viewport": DESK} | options))
        context.set_default_timeout(1000 * PATIENCE)
        try:
            window = Window(context, self.base)
            code = login_keys.make(key_file(self.desk.config).key(), "code", time.time())
            assert window.page.goto(f"{self.base}/login?code={code}").status == 200
            window.go("")
            yield window
        finally:
            context.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a screen."""
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra `browser`)")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
        started = driver.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=options)
        yield started
        started.close()


@contextlib.contextmanager
def opened(browser: Any, directory: Path) -> Iterator[Chromium]:
    """A desk, served, and the browser."""
    desk = WebDesk(directory)
    try:
        with as_if_running(desk), served(desk) as server:
            yield Chromium(browser, desk, server.base)
    finally:
        desk.stop()
        desk.ledger.close()


@pytest.fixture(scope="module")
def lived(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A mailbox of some weeks, which is only looked at."""
    with opened(browser, tmp_path_factory.mktemp("lived")) as made:
        live_some_weeks(made.desk)
        with made.window() as window:  # what waits there is known from then on
            window.go("review")
        yield made


@pytest.fixture
def fresh(browser: Any, tmp_path: Path) -> Iterator[Chromium]:
    """A mailbox of one's own."""
    with opened(browser, tmp_path) as made:
        yield made
