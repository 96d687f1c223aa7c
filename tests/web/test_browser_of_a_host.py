"""The overview of a mail host in a real browser: for everybody, on a desk and a phone, with scripts and without."""

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb.host.register import AccountRow, FilterState
from tests.registers import put
from tests.web.chromium import LOOKS, PHONE, Browser, Window, browser, driven
from tests.web.host_desk import HostDesk
from tests.web.served import served

__all__ = ["browser", "driven"]
pytestmark = pytest.mark.real_system
NOW = time.time()
FAULT = f"cannot list /var/vmail/{'a-long-name-without-a-blank' * 4}/Maildir/new: Permission denied; correct its mode"


class Overview:
    """The browser, and the overview of 300 users in all states, served."""

    def __init__(self, browser: Browser, desk: HostDesk, base: str) -> None:
        self._browser, self._desk, self._base = browser, desk, base

    @contextlib.contextmanager
    def window(self, **options: Any) -> Iterator[Window]:
        """A window, logged in."""
        with self._browser.window(self._base, self._desk.host, **options) as made:
            yield made
            made.is_clean()


@pytest.fixture(scope="module")
def overview(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overview]:
    """It is only looked at."""
    directory: Path = tmp_path_factory.mktemp("overview")
    (directory / "mail").mkdir()
    desk = HostDesk(directory)
    figures: dict[str, Any] = {"judged": {"ham": 1200, "unsure": 3, "spam": 700}, "judged_at": NOW, "bytes": 3_300_000}
    rows = [
        AccountRow(f"somebody{number}@example.org", f"/m/{number}", state, ham=number, corrected=number % 5, **figures)
        for number, state in zip(range(300), itertools.cycle(FilterState), strict=False)
    ]
    rows.append(
        AccountRow(f"{'x' * 60}@example.org", "/m/x", FilterState.BROKEN, fault=FAULT, fault_since=NOW, corrected=9)
    )
    rows.append(AccountRow("gone@example.org", "/m/g", FilterState.GONE, gone_at=NOW))
    put(desk.host, *rows)
    with served(desk, "--overview", "--listen", "127.0.0.1:0") as server:
        yield Overview(browser, desk, server.base)


@pytest.mark.parametrize("look", LOOKS)
def test_accessible(overview: Overview, look: dict[str, Any]) -> None:
    """axe finds nothing, and the page does not scroll sideways."""
    with overview.window(**look) as window:
        window.go("")
        assert window.violations() == []
        assert window.sideways() <= 0


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_all_users(overview: Overview, scripts: bool) -> None:
    """All users are one click away, with scripts and without, also on a phone."""
    with overview.window(java_script_enabled=scripts, viewport=PHONE) as window:
        window.go("")
        rows = window.page.locator("tbody tr")
        assert rows.count() == 200
        assert rows.first.locator("th").inner_text() == f"{'x' * 60}@example.org"
        assert FAULT[:20] in rows.first.inner_text()
        window.page.get_by_role("link", name="All", exact=True).click()
        window.page.wait_for_url("**/?all=1")  # until all rows have come; a click waits only for the first bytes
        assert rows.count() == 302
