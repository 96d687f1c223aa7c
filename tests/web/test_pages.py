"""Every page: it is there, its links lead somewhere, and its template writes nothing that it should not."""

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest

import spamnb.web
from spamnb.cli.common.sample_mail import message
from spamnb.web.rendering import NAVIGATION
from spamnb.web.routes import Router
from tests.table import over_rows
from tests.web.desk import WebDesk, all_routes

TEMPLATES = sorted((Path(spamnb.web.__file__).parent / "templates").glob("*.html"))
ROUTES = all_routes()
ROUTER = Router(ROUTES)


@pytest.mark.parametrize("pattern", [route.pattern for route in ROUTES if route.method == "GET"])
def test_each_page_is_there(desk: WebDesk, pattern: str) -> None:
    """Each page of a mailbox with mail in it is shown, and every link on it leads to a page that there is."""
    desk.deliver(message("spam", 100), "INBOX")
    desk.work()
    path = pattern.replace("{sender}", "1").replace("{id}", str(desk.number_of(message("spam", 100))))
    answer = desk.browser.get(path)
    assert answer.status in {200, 401} if path == "/login" else answer.status == 200
    if not answer.headers["Content-Type"].startswith("text/html"):
        return
    seen = set()
    for link in answer.tree.xpath("//@href | //@src | //@data-load"):
        assert not link.startswith("/"), link
        target = urljoin(f"http://h{path}", link).removeprefix("http://h").partition("#")[0]
        kind = re.sub(r"\d+", "N", target)
        if kind not in seen and not link.startswith("#"):  # one of each kind of link
            seen.add(kind)
            assert desk.browser.get(target).status == 200, (path, link)
    for form in answer.tree.xpath("//form[@method='post']"):
        target = urljoin(f"http://h{path}", form.get("action")).removeprefix("http://h")
        assert ROUTER.find("POST", target)


@pytest.mark.parametrize("path", ["/", *(f"/{entry.page}" for entry in NAVIGATION if entry.page)])
def test_titles(desk: WebDesk, path: str) -> None:
    """A page of the navigation shows its place, to the eye and to a screen reader."""
    answer = desk.browser.get(path)
    assert answer.status == 200
    (current,) = answer.tree.xpath("//nav//a[@aria-current='page']")
    assert answer.tree.findtext(".//title").endswith(" · spamnb")
    assert urljoin(f"http://h{path}", current.get("href")).removeprefix("http://h") == path
    assert len(answer.tree.xpath("//h1")) == 1


@over_rows("template", TEMPLATES)
def test_templates(template: Path) -> None:
    """A template switches no escaping off, has no style or script of its own, and loads nothing from elsewhere."""
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe|autoescape|\sstyle=|\son\w+=|<style|javascript:", text)
    assert not re.search(r"https?:|//\w", text)
    assert not re.search(r"=\{\{", text), "a value without quotes"
    assert not re.search(r"<script(?! src=| type=\"application/json\")", text)


def test_the_script_is_small() -> None:
    """The script takes less than 5 KB."""
    assert (Path(spamnb.web.__file__).parent / "static" / "spamnb.js").stat().st_size < 5120
