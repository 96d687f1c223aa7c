"""Takes the pictures of docs/web: the pages of a made-up mailbox, in Chromium.

python -m tests.web.pictures [NAME…]     (for others than all; they go to docs/web)

The one for the README is `overview`. Take all of them at once, so that their numbers agree. On Debian, Chromium shows
them in Noto Sans with the package fonts-noto-core. Those of doubtful senders are the last, since their messages come
after the other pictures.
"""

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from spamnb.ledger.copies.copy import roll
from spamnb.web import login_keys
from spamnb.web.page_server import key_file
from tests.documents import ROOT
from tests.patience import until
from tests.web.desk import WebDesk
from tests.web.doubtful import DOUBTFUL, meet
from tests.web.good_month import MonthDesk, live_a_good_month
from tests.web.served import as_if_running, served

DESK, HIGH, PHONE = {"width": 1200, "height": 800}, {"width": 1200, "height": 1000}, {"width": 390, "height": 800}
CARD = {"width": 900, "height": 700}
# name: page, colours, size
PICTURES: dict[str, tuple[str, str, dict[str, int]]] = {
    "overview": ("", "light", HIGH),
    "overview-dark": ("", "dark", DESK),
    "overview-phone": ("", "light", PHONE),
    "history": ("history", "light", DESK),
    "message": ("m/{spam}", "light", DESK),
    "review": ("review", "light", DESK),
    "words": ("words", "light", DESK),
    "audit": ("audit", "light", DESK),
    "tune": ("tune", "light", HIGH),
    "senders": ("senders", "light", DESK),
    "health": ("health", "light", DESK),
    "history-phone": ("history", "dark", PHONE),
}
OF_DOUBTFUL = {f"who-{name}": (f"m/{{{name}}}", "light", CARD) for name in DOUBTFUL}
PICTURES |= OF_DOUBTFUL
# Shows another directory than the one of a moment that these pictures are taken in.
_RENAME = """([before, after]) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(before, after);
}"""
# The end of the page, or of the last row, card or line that is whole in a window of this height.
_LAST_WHOLE_ROW = """height => {
  const rows = ".line, .asked, .finding, tr, .card, figure, .save, .facts, main > p, main > div";
  const ends = [...document.querySelectorAll(`main :is(${rows})`)]
    .filter((row) => row.offsetParent && !row.querySelector(rows))
    .map((row) => row.getBoundingClientRect().bottom);
  const whole = Math.max(...ends.filter((end) => end <= height));
  return Math.ceil(whole) + (whole === Math.max(...ends) ? 24 : 1);
}"""
_PLACE = ROOT / "docs" / "web"


def main(names: list[str]) -> None:
    """Take the pictures of these names, or all."""
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as driver:
        desk = MonthDesk(Path(directory))
        options = {"headless": True, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", **options)  # type: ignore[arg-type]
        try:
            live_a_good_month(desk)
            roll(desk.ledger.path, desk.now(), 1)
            taken = names or list(PICTURES)
            with as_if_running(desk), served(desk) as server:
                for name in (one for one in taken if one not in OF_DOUBTFUL):
                    take(browser, desk, server.base, name)
            meet(desk)
            (desk.directory / "config.yaml").unlink(missing_ok=True)  # it lacks the mail server
            with as_if_running(desk), served(desk) as server:
                for name in (one for one in taken if one in OF_DOUBTFUL):
                    take(browser, desk, server.base, name)
        finally:
            browser.close()
            desk.stop()
            desk.ledger.close()


def take(browser: Browser, desk: WebDesk, base: str, name: str) -> None:
    """One picture."""
    path, colours, size = PICTURES[name]
    moved: Any = next(line for line in desk.ledger.lines.page(100) if line.action.kind == "moved")
    numbers = {each: desk.number_of(raw) for each, raw in DOUBTFUL.items() if name in OF_DOUBTFUL}
    context = browser.new_context(viewport=size, color_scheme=colours)  # type: ignore[arg-type]
    page = context.new_page()
    code = login_keys.make(key_file(desk.config).key(), "code", time.time())
    page.goto(f"{base}/login?code={code}")
    for address in (
        "review",
        "audit",
        path.format(spam=moved.action.message, **numbers),
    ):  # the first two count for the menu
        until(lambda address=address: _is_whole(page, f"{base}/{address}"), f"the whole page {address}")
    page.locator(".owner").evaluate("shown => { shown.textContent = 'anna'; }")
    page.evaluate(_RENAME, [str(desk.directory), "/home/anna"])
    height = min(size["height"], page.evaluate(_LAST_WHOLE_ROW, size["height"]))
    shown = Image.open(io.BytesIO(page.screenshot(clip={"x": 0, "y": 0, "width": size["width"], "height": height})))
    shown.quantize(128, dither=Image.Dither.NONE).save(_PLACE / f"{name}.png", optimize=True)
    context.close()


def _is_whole(page: Any, address: str) -> bool:
    """Whether a page waits for no more work beside it."""
    page.goto("about:blank")  # a page that waits loads itself again, which would interrupt this
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return bool(page.locator("[data-again], [data-unfinished]").count() == 0)


if __name__ == "__main__":
    main(sys.argv[1:])
