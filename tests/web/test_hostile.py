"""Mail made of markup: nothing of it becomes an element, an attribute, a style, a script or an address."""

from pathlib import Path
from typing import Any

import pytest

from spamnb.config.writing import render
from spamnb.host.host import load_host
from spamnb.host.register import AccountRow, FilterState
from spamnb.maildir.messages import deliver
from tests.mail.hostile import MESSAGES
from tests.registers import put
from tests.web.desk import Answer, Browser, WebDesk, all_routes, pages_of
from tests.web.markup import FOLDER, HARMLESS, HARMLESS_FOLDER, MARKUP, fill

_ADDRESSES = ("href", "src", "action", "data-load", "formaction", "content")


# Pages on which something that a stranger has written must be seen, else they are not tried.
SHOWN = ("/", "/history", "/review", "/tune", "/audit", "/senders?q=shop", "/health", "/undo?since=1")


def pages(desk: WebDesk, numbers: list[int], place: Path) -> dict[str, Answer]:
    """Return all pages that show mail, by address, with the work beside them. place: of a configuration."""
    place.mkdir()
    file = place / "config.yaml"
    file.write_text(render(desk.config.mailboxes, desk.config.ledger))
    application = pages_of(lambda: desk.config, desk.now, config_path=str(file), at_once=True)
    browser, sealed = Browser(application), application._site.seal.written({"failed": 1, "stays": 1})
    senders = [str(one.id) for one in desk.ledger.senders.page(50, "shop.example")]
    patterns = [one.pattern for one in all_routes() if one.method == "GET" and not one.is_public]
    paths = [pattern for pattern in patterns if "{" not in pattern]
    some = [pattern for pattern in patterns if "{" in pattern]
    paths += [pattern.replace("{sender}", senders[0]).replace("{id}", str(numbers[1])) for pattern in some]
    paths += [f"/m/{number}?text=1&all=1" for number in numbers] + ["/history?show=learned", "/undo?since=1"]
    paths += [f"/m/{numbers[2]}/teachers?part=1", "/senders?q=shop", f"/review?outcome={sealed}"]
    paths += [f"/senders/{sender}?outcome={sealed}" for sender in senders[:4]]
    newest = desk.ledger.journal.newest_id()
    paths += [f"/senders?did={newest - back}&outcome={sealed}" for back in range(5)]
    for path in ("/", "/review", "/tune", "/health"):  # what takes longer is there the next time
        browser.get(path)
    found = {}
    for path in paths:
        answer = browser.get(path)
        assert answer.status == 200, path
        if answer.headers["Content-Type"].startswith("text/html"):
            found[path] = answer
    assert not found["/tune"].tree.xpath("//*[@data-again]")
    found["the page of a host"] = page_of_a_host(place.parent, place.name)
    return found


def page_of_a_host(place: Path, fault: str) -> Answer:
    """An administrator's page with a fault; a path or another program's message may be a part of it."""
    config = place / "host.yaml"
    config.write_text(
        f"mailboxes: [{{path: '{place}/mail/{{user}}', roles: {{INBOX: inbox, Junk: spam}}}}]\n"
        f"ledger: '{place}/ledgers/{{user}}/ledger.sqlite'\n"
    )
    host = load_host(config, {})
    put(host, AccountRow("anna", f"{place}/mail/anna", FilterState.BROKEN, fault=fault, fault_since=1e9))
    return Browser(pages_of(lambda: host.template, host=host)).get("/")


def made_of(tree: Any) -> set[tuple[str, str]]:
    """Each kind of element with each of its attributes."""
    return {(one.tag, name) for one in tree.iter() if isinstance(one.tag, str) for name in ("", *one.keys())}


@pytest.mark.thorough
def test_markup_stays_text(tmp_path: Path) -> None:
    """Pages of mail that is made of markup have no elements and attributes but those of harmless mail's pages."""
    found = {}
    for name, texts, folder in (("harmless", (HARMLESS,) * len(MARKUP), HARMLESS_FOLDER), ("hostile", MARKUP, FOLDER)):
        (tmp_path / name).mkdir()
        desk = WebDesk(tmp_path / name, "mail", f"{folder} mail")
        try:
            some = tuple(f"{text} {number}" for number, text in enumerate(texts))
            found[name] = pages(
                desk, fill(desk, some, folder)[: None if name == "hostile" else 3], tmp_path / name / folder
            )
        finally:
            desk.stop()
            desk.ledger.close()
    # Tune links each message far from the others of its kind, and Audit asks about it: harmless mail is all alike.
    of_odd_mail = {("a", "aria-label"), ("a", "class"), ("a", "data-chance"), ("ol", "start")}
    allowed = {("button", "disabled"), *of_odd_mail}.union(
        *(made_of(answer.tree) for answer in found["harmless"].values())
    )
    for path, answer in found["hostile"].items():
        tree = answer.tree
        assert made_of(tree) <= allowed, path
        assert not tree.xpath("//comment()"), path
        for address in (one.get(name) for one in tree.iter() for name in _ADDRESSES if isinstance(one.tag, str)):
            assert address is None or ("evil" not in address and "alert" not in address), (path, address)
        for one in ("\u202e", "\u2066", "\x1b", "\x07"):
            assert one not in answer.text, path
    for path in (*SHOWN, "the page of a host"):
        text = found["hostile"][path].tree.xpath("//main")[0].text_content()
        assert "<img" in text, path
    shown = "".join(answer.text for answer in found["hostile"].values())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "49" not in found["hostile"]["/"].words.split()
    assert "\\u202egnp.exe" in shown


def test_long_texts_are_cut(tmp_path: Path) -> None:
    """A page shows 10,000 characters of a message's text, and of any other text from mail at most 500."""
    desk = WebDesk(tmp_path)
    try:
        (number,) = fill(desk, ("A" * 20_000,), HARMLESS_FOLDER)
        answer = desk.browser.get(f"/m/{number}?text=1")
        shown = answer.tree.xpath("//div[@class='text']")
        assert sum(one.text_content().count("A") for one in shown) == 10_000
        others = [
            text for text in answer.tree.xpath("//body//text()[not(ancestor::div[@class='text'])]") if "AAA" in text
        ]
        assert others and max(text.count("A") for text in others) <= 500
    finally:
        desk.stop()
        desk.ledger.close()


@pytest.mark.slow
def test_the_worst_messages(tmp_path: Path) -> None:
    """The page of each of the worst messages is shown, and has no elements but those of any other."""
    desk = WebDesk(tmp_path)
    try:
        worst = [raw for make, _ in MESSAGES.values() if (raw := make()).strip(b"\0\t\r\n ")]  # a blank one waits
        for raw in worst:
            deliver(desk.folder("INBOX"), raw, next(desk.bases))
        desk.work()
        (number,) = fill(desk, (HARMLESS,), HARMLESS_FOLDER)
        allowed = made_of(desk.browser.get(f"/m/{number}?text=1").tree)
        for raw in worst:
            answer = desk.browser.get(f"/m/{desk.number_of(raw)}?text=1")
            assert answer.status == 200
            assert made_of(answer.tree) <= allowed
    finally:
        desk.stop()
        desk.ledger.close()
