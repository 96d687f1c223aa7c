"""A window of Debian's Chromium, driven by Playwright, that shows the pages of a desk."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.web import login_keys
from spamnb.web.page_server import key_file
from tests.chromium import launched, missing
from tests.patience import PATIENCE, until
from tests.web.desk import WebDesk, all_routes
from tests.web.served import as_if_running, served, served_here
from tests.web.story import live_some_weeks

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}
SIZES = {"desk": DESK, "phone": PHONE}
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_CROSSWISE = pytest.mark.slow  # its colours and its layout are each looked at in one of the others
LOOKS = [
    pytest.param(
        {"color_scheme": colours, "viewport": SIZES[size], "reduced_motion": "reduce"},
        id=f"{colours}-{size}",
        marks=marks,
    )
    for colours, size, marks in (
        ("light", "desk", ()),
        ("dark", "phone", ()),
        ("light", "phone", _CROSSWISE),
        ("dark", "desk", _CROSSWISE),
    )
]
PAGES = sorted(
    one.pattern.removeprefix("/")
    for one in all_routes()
    if one.method == "GET" and not one.is_public and not one.pattern.endswith(".json")
)


class Window:
    """A window of the browser; what it says in its console and asks of others is written down."""

    def __init__(self, context: Any) -> None:
        context.set_default_timeout(1000 * PATIENCE)
        self._context = context
        self._logged_in: set[str] = set()
        self.page = context.new_page()
        self.base = ""
        self.said: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", lambda one: self.said.append(one.text))
        self.page.on("pageerror", lambda one: self.said.append(str(one)))
        self.page.on("dialog", lambda one: (self.said.append(one.message), one.dismiss()))
        self.page.on("request", lambda one: None if one.url.startswith(self.base) else self.foreign.append(one.url))

    def show(self, base: str, owner: Config | Host) -> None:
        """Turn to these pages, logged in; nothing is written down yet."""
        self.base = base
        self.said.clear()
        self.foreign.clear()
        if base in self._logged_in:
            return
        code = login_keys.make(key_file(owner).key(), "code", time.time())
        assert self.page.goto(f"{base}/login?code={code}").status == 200
        self.page.wait_for_url(f"{base}/")  # where the page of the login leads
        self._logged_in.add(base)

    def go(self, path: str) -> None:
        """Open a page, and wait until its parts are there; again, while what it shows is still worked on."""
        until(lambda: self._is_made(path), f"the page {path}")

    def _is_made(self, path: str) -> bool:
        from playwright.sync_api import Error  # it may not be installed

        try:
            answer = self.page.goto(f"{self.base}/{path}")
        except Error as fault:
            if "interrupted by another navigation" not in fault.message:
                raise
            return False  # the page before loads itself again at this moment
        if answer is None:  # the same
            return False
        assert answer.status == 200, (path, answer.status)
        if " data-again" in answer.text():  # it loads itself again, at any moment
            return False
        return bool(self.page.locator("[data-unfinished]").count() == 0)

    def violations(self) -> list[tuple[str, str]]:
        """What axe finds on the page: the name of each rule, and the first element that breaks it."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
        )
        found = axe.Axe().run(self.page, options={"runOnly": _RULES, "resultTypes": ["violations"]}).response
        return [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]

    def sideways(self) -> int:
        """By how many pixels the page is wider than the window."""
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(wider))

    def is_clean(self) -> None:
        """Check that the console is empty, and that no other server was asked."""
        assert (self.said, self.foreign) == ([], [])

    def leave(self) -> None:
        """End what the page does. At this moment it may load itself again."""
        until(self._has_left, "an empty page")

    def _has_left(self) -> bool:
        try:
            self.page.goto("about:blank")
        except Exception as fault:
            if "interrupted by another navigation" not in str(fault):
                raise
            return False
        return True

    def close(self) -> None:
        """End it with its cookies."""
        self._context.close()


class Browser:
    """A browser. Tests share a window for each set of options: a new one costs 1.6 s of CPU, a page in it 0.1 s."""

    def __init__(self, driven: Any) -> None:
        self._driven = driven
        self._windows: dict[str, Window] = {}

    @contextlib.contextmanager
    def window(self, base: str, owner: Config | Host, *, alone: bool = False, **options: Any) -> Iterator[Window]:
        """A window, logged in. alone: it is shared with no other test, as it has a clock or routes of its own."""
        wanted = {"viewport": DESK} | options
        key = repr(sorted(wanted.items()))
        window = None if alone else self._windows.get(key)
        if window is None:
            window = Window(self._driven.new_context(**wanted))
            if not alone:
                self._windows[key] = window
        try:
            window.show(base, owner)
            yield window
        finally:
            if alone:
                window.close()
            else:
                window.leave()


class Chromium:
    """The browser, and a served desk."""

    def __init__(self, browser: Browser, desk: WebDesk, base: str) -> None:
        self._browser = browser
        self.desk = desk
        self.base = base

    def address(self, page: str) -> str:
        """Return the page of a sender or of a message in Junk, if the page is about one; else the page itself."""
        moved = (line.action.message for line in self.desk.ledger.lines.page(100) if line.action.kind == "moved")
        return page.replace("{sender}", "1").replace("{id}", str(next(moved, None)))

    def window(self, **options: Any) -> contextlib.AbstractContextManager[Window]:
        """A window of the browser on the pages of the desk."""
        return self._browser.window(self.base, self.desk.config, **options)


@pytest.fixture(scope="module")
def driven() -> Iterator[Any]:
    """Chromium without a screen, as Playwright drives it."""
    if reason := missing():
        pytest.skip(reason)
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def browser(driven: Any) -> Browser:
    """Chromium without a screen, with the windows that tests share."""
    return Browser(driven)


@contextlib.contextmanager
def _here(desk: WebDesk) -> Iterator[str]:
    with served_here(desk) as login:
        yield login.partition("/login")[0]


@contextlib.contextmanager
def _in_a_process(desk: WebDesk) -> Iterator[str]:
    with served(desk) as server:  # in this process each connection would be a file that a test leaves open
        yield server.base


@contextlib.contextmanager
def opened(
    browser: Browser, directory: Path, how: Callable[[WebDesk], contextlib.AbstractContextManager[str]]
) -> Iterator[Chromium]:
    """A desk, served, and the browser."""
    desk = WebDesk(directory)
    try:
        with as_if_running(desk), how(desk) as base:
            yield Chromium(browser, desk, base)
    finally:
        desk.stop()
        desk.ledger.close()


@pytest.fixture(scope="module")
def lived(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A mailbox of some weeks, which is only looked at."""
    with opened(browser, tmp_path_factory.mktemp("lived"), _in_a_process) as made:
        live_some_weeks(made.desk)
        with made.window() as window:  # what waits there is known from then on
            window.go("review")
        yield made


@pytest.fixture
def fresh(browser: Browser, tmp_path: Path) -> Iterator[Chromium]:
    """A mailbox of one's own."""
    with opened(browser, tmp_path, _here) as made:
        yield made
