"""The pages in a real browser: Debian's Chromium, driven by Playwright, with axe-core looking at each page."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from spamnb.acts import training
from spamnb.acts.may_move import begin_if_ready
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.mail.reading import read
from spamnb.web.parts.hills import WIDTH, x_of
from spamnb.web.rendering import NAVIGATION
from tests.patience import until
from tests.web.chromium import DESK, LOOKS, PAGES, PHONE, Chromium, browser, driven, fresh, lived
from tests.web.desk import WebDesk
from tests.web.doubtful import meet
from tests.web.markup import FOLDER, MARKUP, fill
from tests.web.served import as_if_running, served_here

__all__ = ["browser", "driven", "fresh", "lived"]  # fixtures
pytestmark = pytest.mark.real_system


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("look", LOOKS)
def test_accessible(lived: Chromium, page: str, look: dict[str, Any]) -> None:
    """Each page, light and dark, on a desk and a phone, has nothing that axe finds, and does not scroll sideways."""
    with lived.window(**look) as window:
        window.go(lived.address(page))
        assert window.violations() == []
        assert window.sideways() <= 0
        window.is_clean()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_states_are_accessible(fresh: Chromium, colours: str) -> None:
    """A page that is not there, moving that is stopped, and what an act did, have nothing that axe finds."""
    fresh.desk.deliver(message("spam", 100))
    fresh.desk.ledger.state.stopped_at = fresh.desk.now()
    with fresh.window(color_scheme=colours, viewport=PHONE, reduced_motion="reduce") as window:
        for go in ("nowhere", "", "history", "undo"):
            window.page.goto(f"{fresh.base}/{go}")
            if go == "history":
                window.page.locator("[data-say]").first.click()
            assert window.violations() == []
        assert window.foreign == []


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_doubtful_sender_is_accessible(fresh: Chromium, colours: str) -> None:
    """A page that says who a message is not from has nothing that axe finds, also on a narrow phone."""
    numbers = meet(fresh.desk)
    for size in ({"width": 360, "height": 780}, DESK):
        with fresh.window(color_scheme=colours, viewport=size, reduced_motion="reduce") as window:
            for number in numbers.values():
                window.go(f"m/{number}")
                assert window.page.locator(".doubtful li").count() == 1
                assert window.violations() == []
                assert window.sideways() <= 0
            window.is_clean()


@pytest.mark.parametrize("page", PAGES)
def test_without_scripts(lived: Chromium, page: str) -> None:
    """Each page says the same without scripts."""
    shown = []
    for scripts in (True, False):
        with lived.window(java_script_enabled=scripts) as window:
            window.go(lived.address(page))
            shown.append(window.page.locator("h1").inner_text())
            assert window.page.locator("main").inner_text().strip()
            window.is_clean()
    assert shown[0] == shown[1]


def test_act_without_scripts(fresh: Chromium) -> None:
    """Without scripts a message is called spam, and that is taken back, by buttons alone."""
    fresh.desk.deliver(message("ham", 100))
    with fresh.window(java_script_enabled=False) as window:
        window.go("history")
        window.page.locator("[data-say=spam]").first.click()
        assert "Learned as spam, moved to Junk" in window.page.locator("[role=status]").inner_text()
        assert fresh.desk.where(message("ham", 100)) == ["Junk"]
        window.page.locator("[data-undo-last]").click()
        assert fresh.desk.where(message("ham", 100)) == ["INBOX"]
        window.is_clean()


class Listening(BaseHTTPRequestHandler):
    """A server of another user: it links to itself, and writes down the headers of each request."""

    heard: list[dict[str, str]]

    def do_GET(self) -> None:
        self.heard.append({"path": self.path} | {name.lower(): value for name, value in self.headers.items()})
        body = b'<!doctype html><title>a</title><link rel="icon" href="data:,"><a href="/again">go on</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "a=1; Path=/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def another_server() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Its address, on another port of this machine, and the headers that it gets."""
    heard: list[dict[str, str]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Heard", (Listening,), {"heard": heard})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", heard
        finally:
            server.shutdown()
            thread.join()


def test_the_login_goes_to_no_other_port(fresh: Chromium) -> None:
    """A server on another port gets neither login nor path, by a link or by its own links afterwards."""
    with fresh.window(alone=True) as window, another_server() as (address, heard):
        page = window.page
        page.evaluate("address => { location.href = address; }", f"{address}/from-a-page")
        page.wait_for_url(f"{address}/from-a-page")
        page.goto(f"{address}/typed")
        page.get_by_role("link", name="go on").click()
        page.wait_for_url(f"{address}/again")
        page.reload()
        assert [one["path"] for one in heard] == ["/from-a-page", "/typed", "/again", "/again"]
        assert heard[-1]["cookie"] == "a=1", "its own comes back: the browser does send cookies there"
        assert not any("spamnb" in value for one in heard for value in one.values())
        secret = fresh.base.rpartition("/")[2]
        assert not any(secret in value for one in heard for value in one.values())
        answer = page.goto(f"{fresh.base}/")
        assert answer.status == 200, "and the login is still there"
        answer = page.goto(f"{fresh.base.rpartition('/')[0]}/")
        assert (answer.status, answer.text().count("\n")) == (404, 1)


def test_keys(fresh: Chromium) -> None:
    """Keys walk the lines, open a message, answer, undo, search and go to pages; ? lists them."""
    for number in (100, 101, 102):
        fresh.desk.deliver(message("ham", number))
    newest = fresh.desk.number_of(message("ham", 102))
    with fresh.window() as window:
        page = window.page
        window.go("history")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.dataset.row") is not None
        page.keyboard.press("j")
        page.keyboard.press("k")
        with page.expect_navigation():
            page.keyboard.press("s")
        assert fresh.desk.where(message("ham", 102)) == ["Junk"]
        with page.expect_navigation():
            page.keyboard.press("u")
        assert fresh.desk.where(message("ham", 102)) == ["INBOX"]
        page.keyboard.press("/")
        page.keyboard.type("jsu?g")
        assert page.locator("#q").input_value() == "jsu?g"
        window.go("history?show=ham")
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url.endswith(f"/m/{newest}")
        page.keyboard.press("g")
        with page.expect_navigation():
            page.keyboard.press("h")
        assert page.url.endswith("/history")
        page.keyboard.press("Control+j")
        window.is_clean()


def test_one_row_by_tab(lived: Chromium) -> None:
    """Tab leads to one row, the first or the last visited, and from it to its contents."""
    with lived.window() as window:
        page = window.page
        window.go("history")
        tabs = "[...document.querySelectorAll('[data-row]')].map((row, n) => [n, row.tabIndex]).filter(one => !one[1])"
        assert page.evaluate(tabs) == [[0, 0]]
        for _ in range(3):
            page.keyboard.press("j")
        assert page.evaluate(tabs) == [[2, 0]]
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('[data-row]').tabIndex") == 0
        assert page.evaluate(tabs) == [[2, 0]]
        window.is_clean()


def test_what_is_new_is_shown(fresh: Chromium) -> None:
    """While it is in view, the overview shows news by itself every half a minute."""
    fresh.desk.deliver(message("ham", 100))
    with fresh.window(alone=True) as window:
        page = window.page
        page.clock.install()
        window.go("")
        fresh.desk.deliver(message("spam", 101))
        newest = fresh.desk.ledger.journal.newest_id()
        assert page.locator(f"#a{newest}").count() == 0
        page.clock.run_for(31_000)
        page.locator(f"[data-live] #a{newest}").wait_for()
        window.is_clean()


def test_what_is_looked_at_for_a_second(fresh: Chromium) -> None:
    """A page left open asks one question at a time, and keeps its heading while all is looked at for a second."""
    unfinished = "<title>Being checked {0}</title><h1 data-live>{0}</h1><p data-live><i data-unfinished></i></p>"
    with fresh.window(alone=True) as window:
        page, asked = window.page, list[Any]()
        page.clock.install()
        window.go("")
        before = page.title()
        page.route("**", lambda route: asked.append(route))  # noqa: PLW0108 - playwright marks the function

        def is_asked(times: int, milliseconds: int) -> bool:
            page.clock.run_for(milliseconds)
            return len(asked) == times

        until(lambda: is_asked(1, 1_000), "the first question")
        page.clock.run_for(20_000)
        assert len(asked) == 1
        asked[0].fulfill(body=unfinished.format(1), content_type="text/html")
        until(lambda: is_asked(2, 1_000), "the second question")
        assert page.title() == before
        asked[1].fulfill(body=unfinished.format(2), content_type="text/html")
        until(lambda: page.title() == "Being checked 2", "that it is being checked")
        assert page.locator("h1").inner_text() == "2"


def test_an_old_check(driven: Any, tmp_path: Path) -> None:
    """New faults are on the overview and on Health soon after these are opened, or if they stay open."""
    desk = WebDesk(tmp_path)
    begin_if_ready(desk.ledger, desk.config.scoring, desk.config.learning)
    context = driven.new_context()
    try:
        with as_if_running(desk), served_here(desk, desk.now) as login:
            page = context.new_page()
            page.goto(login)
            base = page.url
            for address in (base, f"{base}health"):
                page.goto(address)
                until(lambda: _is_checked(page), "what was found")
                assert "fault" not in page.title()
                desk.ahead += 24 * 60
                away = desk.roots[0].rename(desk.roots[0].with_name("away"))
                page.goto(address)
                assert "fault" not in page.title()
                until(lambda: page.title().startswith("1 fault"), "the fault")
                assert page.locator("h1").inner_text().startswith("1 fault")
                assert str(desk.roots[0]) in page.locator("main").inner_text()
                away.rename(desk.roots[0])
                desk.ahead += 24 * 60
            page.clock.install()
            page.goto(base)
            until(lambda: _is_checked(page), "what was found")
            assert "fault" not in page.title()
            desk.roots[0].rename(away)
            desk.ahead += 24 * 60
            until(lambda: _ticked(page, "1 fault"), "the fault on a page that is left open")
            page.goto(f"{base}health")
            until(lambda: _is_checked(page), "what was found")
            until(lambda: _ticked(page, "Checked ", 61_000), "the time of the check as the heading")
            page.goto("about:blank")
    finally:
        context.close()
        desk.stop()
        desk.ledger.close()


def _is_checked(page: Any) -> bool:
    title = page.title()  # while a page is loaded again, it is of the browser's making
    if not title.endswith(" · spamnb") or title.startswith("Being checked"):
        return False
    return bool(page.locator("[data-unfinished]").count() == 0)


def _ticked(page: Any, title: str, milliseconds: int = 1_000) -> bool:
    page.clock.run_for(milliseconds)
    return bool(page.title().startswith(title))


def test_calm(lived: Chromium) -> None:
    """With reduced motion nothing moves; each drawing has a name, and its figures as a table."""
    with lived.window(reduced_motion="reduce") as window:
        window.go("")
        moving = (
            "[...document.querySelectorAll('*')].map(one => getComputedStyle(one))"
            ".filter(one => one.animationName !== 'none' || parseFloat(one.transitionDuration) > 0).length"
        )
        assert window.page.evaluate(moving) == 0
        for page in ("", "tune"):
            window.go(page)
            drawings = window.page.locator("svg[role=img]")
            assert drawings.count() >= 2
            assert all(drawings.nth(n).locator("> title").count() == 1 for n in range(drawings.count()))
            assert window.page.locator("figure details table").count() == window.page.locator("svg.chart").count()


def test_focus(fresh: Chromium) -> None:
    """By Tab alone one reaches the content first, and what has the focus is seen."""
    with fresh.window() as window:
        window.go("history")
        window.page.keyboard.press("Tab")
        assert window.page.evaluate("document.activeElement.className") == "skip"
        window.page.keyboard.press("Enter")
        assert window.page.evaluate("document.activeElement.id") == "main"
        window.page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert window.page.evaluate(outline) == "solid"


def test_targets(lived: Chromium) -> None:
    """Buttons and the links of the navigation are at least 44 pixels high."""
    with lived.window(viewport=PHONE) as window:
        window.go("history")
        small = (
            "[...document.querySelectorAll('button, nav a, .chips a, summary')].filter(e => e.offsetParent)"
            ".map(e => e.getBoundingClientRect()).filter(r => r.height < 44).length"
        )
        assert window.page.evaluate(small) == 0


def test_markup(fresh: Chromium) -> None:
    """Mail made of markup runs no script, opens no window, and asks nothing of anybody."""
    numbers = fill(fresh.desk, MARKUP, FOLDER)
    with fresh.window() as window:
        for page in PAGES:
            window.go(page.replace("{sender}", "1").replace("{id}", str(numbers[0])))
            window.is_clean()
        for number in numbers:
            window.go(f"m/{number}?text=1&all=1")
            assert window.page.evaluate("document.querySelectorAll('main script, main img, main iframe').length") == 0
            window.is_clean()
    with fresh.window(viewport=PHONE) as window:
        window.go("history")
        assert window.sideways() <= 0


def test_review_by_keys(lived: Chromium) -> None:
    """On Review h, s and l answer a line and go on to the next; the button says how many answers it saves."""
    with lived.window() as window:
        page = window.page
        window.go("review")
        page.keyboard.press("j")
        for key in "hsl":
            page.keyboard.press(key)
        said = "[...document.querySelectorAll('[data-review] input:checked')].map(one => one.value).slice(0, 4)"
        assert page.evaluate(said) == ["ham", "spam", "later", "later"]
        assert page.locator("[data-save]").inner_text() == "Save 2 answers"
        page.keyboard.press("k")
        page.keyboard.press("k")
        page.keyboard.press("l")
        assert page.locator("[data-save]").inner_text() == "Save 1 answer"
        page.locator("[data-review] input").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.value") == "spam", "the arrows stay with the line"
        window.is_clean()


def test_slider(lived: Chromium) -> None:
    """On Tune the line and the number change each other, the sentence, the button, and what is moved."""
    with lived.window() as window:
        page = window.page
        window.go("tune")
        page.wait_for_selector("[data-cutoffs]")
        slider, heading = page.locator("[data-cutoffs]"), page.locator("#moved h2")
        slider.focus()
        page.keyboard.press("End")
        assert page.locator("#said").inner_text().startswith("At 0.999 the filter catches ")
        assert page.locator("#cut").input_value() == slider.get_attribute("aria-valuetext") == "0.999"
        page.get_by_role("button", name="Use 0.999 from now on").wait_for()
        until(lambda: heading.inner_text() == "Wanted mail moved to Junk at 0.999", "the list for the cutoff")
        page.locator("#cut").fill("0.9317")
        assert slider.input_value() == "34", "0.93"
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.locator("#said").inner_text().startswith("At 0.9317 the filter catches ")
        assert page.get_by_role("button", name="Use 0.9317 from now on").is_enabled()
        assert heading.inner_text() == "Wanted mail moved to Junk at 0.9317"
        window.is_clean()


def test_the_line_is_dragged(lived: Chromium) -> None:
    """One drags the cutoff as a line through the drawing, and a click on a dot leads to its message."""
    with lived.window() as window:
        page = window.page
        window.go("tune?cut=0.9")
        drawing = page.locator(".hills svg").bounding_box()
        above, scale = drawing["y"] + 0.05 * drawing["height"], drawing["width"] / WIDTH
        page.mouse.move(drawing["x"] + x_of(0.9) * scale, above)
        page.mouse.down()
        page.mouse.move(drawing["x"] + x_of(0.97) * scale, above, steps=5)
        page.mouse.up()
        assert page.locator("#cut").input_value() == "0.97"
        assert page.locator("#said").inner_text().startswith("At 0.97 the filter catches ")
        beyond = page.locator(".hills a").evaluate_all(
            "dots => dots.map(dot => [dot.dataset.chance, dot.classList.contains('beyond')])"
        )
        assert beyond
        assert [float(chance) >= 0.97 for chance, _ in beyond] == [is_filled for _, is_filled in beyond]
        with page.expect_navigation():
            page.locator(".hills a").first.click()
        assert "/m/" in page.url
        window.is_clean()


def test_the_line_without_scripts(lived: Chromium) -> None:
    """Without scripts the line moves by keys too, and a button shows its effect."""
    with lived.window(java_script_enabled=False) as window:
        window.go("tune?cut=0.9")
        slider = window.page.locator("[data-cutoffs]")
        slider.press("End")
        slider.press("ArrowLeft")
        window.page.get_by_role("button", name="Show its effect").click()
        window.page.wait_for_url("**/tune?*")
        assert window.page.locator("#said").inner_text().startswith("At 0.9987 the filter catches ")


def test_tables_on_a_phone(lived: Chromium) -> None:
    """On a phone no table is wider than the page."""
    with lived.window(viewport=PHONE, is_mobile=True, has_touch=True) as window:
        for page in ("senders", "tune", "health", "words"):
            window.go(page)
            wide = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth).length"
            assert (page, window.page.evaluate(wide)) == (page, 0)


def test_the_history_on_a_phone(lived: Chromium) -> None:
    """On a phone a line of the history takes 70 pixels on the average, and the words of its buttons fit into them."""
    with lived.window(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True) as window:
        window.go("history")
        heights = window.page.locator(".hour .line").evaluate_all("lines => lines.map(line => line.offsetHeight)")
        assert len(heights) >= 40
        assert sum(heights) / len(heights) <= 70
        assert sorted(heights)[9 * len(heights) // 10] <= 90
        buttons = "all => all.map(one => [one.scrollWidth - one.clientWidth, one.offsetHeight])"
        shown = window.page.locator(".hour .line .acts > form button").evaluate_all(buttons)
        assert shown
        assert [one for one in shown if one[0] > 0 or not 24 <= one[1] <= 44] == []


def test_a_sender_on_a_phone(fresh: Chromium) -> None:
    """On a phone a sender takes two lines, however long the name and whatever was done."""
    desk, letter = fresh.desk, message("ham", 100)
    for name in ("a" * 60 + "@" + ".".join(["b" * 60] * 3), "bestellung@käse.example", "البريد@مثال.example"):
        for number, label in enumerate((*[Label.HAM] * 12, *[Label.SPAM] * 11)):
            content = b"From: %s\n%s" % (name.encode(), letter.partition(b"\n")[2])
            content = content.replace(b"<ham.100@", b"<%d.%d@" % (number, hash(name)))
            desk.deliver(content)
            training.learn(desk.ledger, read(content), label, "a test", desk.now(), how=How.HAND)
    desk.ledger._connection.execute(
        "UPDATE sender SET judged_ham = 1234, judged_unsure = 56, judged_spam = 789, corrected = 12"
    )
    with fresh.window(viewport=PHONE, is_mobile=True, has_touch=True) as window:
        window.go("senders")
        rows = window.page.locator(".senders tbody tr")
        assert rows.count() > 3
        heights = rows.evaluate_all("rows => rows.map(row => row.clientHeight)")
        line = float(window.page.evaluate("parseFloat(getComputedStyle(document.body).lineHeight)"))
        assert max(heights) < 3 * line + 16
        assert "1,234 ham, 56 unsure, 789 spam, 12 corrected" in rows.first.inner_text()
        assert window.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        window.is_clean()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_navigation_of_a_phone(lived: Chromium, scripts: bool) -> None:
    """On a phone the navigation is one row, with the other pages behind "More"; a wide window shows all in one row."""
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    with lived.window(java_script_enabled=scripts, **phone) as window:
        for page, is_first in (("history", True), ("health", False)):
            window.go(page)
            shown, more = window.page.locator(".top nav a:visible"), window.page.locator(".top nav summary")
            assert window.page.locator(".top").bounding_box()["height"] <= 60
            assert (shown.all_inner_texts()[:2], shown.count()) == (["Overview", "History"], 3)
            bold = more.evaluate("one => getComputedStyle(one).fontWeight") == "600"
            assert bold is not is_first, "it shows that the page is behind it"
            more.click()
            assert shown.count() == len(NAVIGATION)
            if scripts:
                assert window.violations() == []
        window.page.locator(".top nav a", has_text="Words").click()
        assert window.page.url.endswith("/words")
        assert window.sideways() <= 0
    with lived.window(java_script_enabled=scripts) as window:
        window.go("history")
        assert window.page.locator(".top nav a:visible").count() == len(NAVIGATION)
        assert not window.page.locator(".top nav summary").is_visible()
        assert window.page.locator(".top").bounding_box()["height"] <= 60


@pytest.mark.parametrize("page", ["review", "audit"])
def test_rows_of_review_and_audit(lived: Chromium, page: str) -> None:
    """The answers are right of a text of two lines, ham left of spam, so that a screen has twelve whole rows.

    On a phone they are below the text, in one line. The row that has the focus shows all of its text. axe finds nothing
    at either size: a subject that is cut is no target beneath the answers.
    """
    desk, phone = {"width": 1280, "height": 800}, {"width": 360, "height": 800}
    for size, colours in ((desk, "light"), (desk, "dark"), (phone, "dark")):
        with lived.window(viewport=size, color_scheme=colours, reduced_motion="reduce") as window:
            window.go(page)
            rows = window.page.locator(".asked")
            text, *answers = (
                box.bounding_box() for box in (rows.first.locator("legend"), *rows.first.locator(".answer").all())
            )
            assert [box["x"] for box in answers] == sorted({box["x"] for box in answers})
            assert len({box["y"] for box in answers}) == 1
            if size["width"] < 1000:
                assert answers[0]["y"] >= text["y"] + text["height"]
                assert text["width"] > 290
            else:
                assert answers[0]["x"] >= text["x"] + text["width"]
                save = window.page.locator(".save").bounding_box()
                ends = [box["y"] + box["height"] for box in (row.bounding_box() for row in rows.all())]
                assert sum(end <= save["y"] for end in ends) >= 12
            assert window.page.locator("[data-save]").count() == 1
            window.page.locator(".asked a").first.evaluate("one => { one.textContent = 'A long subject '.repeat(30); }")
            assert window.violations() == []
            cut = "row => [...row.querySelectorAll('.subject, .how')].some(one => one.scrollWidth > one.clientWidth)"
            window.page.keyboard.press("j")
            assert window.page.locator(".asked:focus").evaluate(cut) is False


@pytest.mark.parametrize(
    "page", ["", "m/{id}", "review", "audit", "senders", "senders/{sender}", "tune", "health", "words"]
)
def test_buttons_in_their_cards(lived: Chromium, page: str) -> None:
    """On a phone nothing but a text that is cut is wider than its card, and without a keyboard no keys are listed."""
    with lived.window(viewport=PHONE, is_mobile=True, has_touch=True) as window:
        window.go(lived.address(page))
        outside = (
            "[...document.querySelectorAll('.card *, .lines *')]"
            ".filter(one => one.offsetParent && !one.closest('.wide, .hidden, .asked .subject *, .asked .how *'))"
            ".filter(one => one.getBoundingClientRect().right > innerWidth - 10)"
            ".map(one => one.tagName + one.textContent.slice(0, 40))"
        )
        assert window.page.evaluate(outside) == []
        assert window.page.locator(".by-key:visible").count() == 0
        window.is_clean()
