"""The overview of a mail host for its administrator: its users by the register, and no mail of anybody."""

import errno
import re
from datetime import datetime
from pathlib import Path
from unittest import mock

import pytest

from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState
from spamnb.host.shares import Share, claimed
from spamnb.ledger.ledger import Ledger
from spamnb.web.config_file import HostFile
from spamnb.web.page_server import PageServer, Settings, key_file, login_file
from tests.registers import put
from tests.web.desk import Answer, Browser, pages_of
from tests.web.host_desk import HostDesk

NOW = datetime(2026, 3, 10, 12, 30).timestamp()
ROW = AccountRow(
    "anna@one.example", "/m/anna", FilterState.MOVING, ham=20, spam=30, judged={"ham": 5, "spam": 7}, judged_at=NOW
)


@pytest.fixture
def desk(tmp_path: Path) -> HostDesk:
    """A host without users."""
    (tmp_path / "mail").mkdir()
    return HostDesk(tmp_path)


def overview(host: Host, query: str = "") -> Answer:
    """The page."""
    answer = Browser(pages_of(lambda: host.template, lambda: NOW, host=host)).get(f"/{query}")
    assert answer.status == 200
    return answer


def table(answer: Answer) -> list[list[str]]:
    """The lines of its table."""
    rows = answer.tree.xpath("//tbody/tr")
    return [[" ".join(cell.text_content().split()) for cell in row] for row in rows]


def title(answer: Answer) -> str:
    """Return the heading."""
    return str(answer.tree.findtext(".//h1"))


def test_a_line_for_each_user(desk: HostDesk) -> None:
    """A user's line agrees with `spamnb users`: first come users with the greatest need."""
    host = desk.host
    rows = [
        ROW,
        AccountRow("ben@one.example", "/m/ben", FilterState.LEARNING, corrected=3, gone_at=NOW),
        AccountRow("carl@one.example", "/m/carl", FilterState.BROKEN, fault="no inbox", fault_since=NOW, bytes=208_896),
        AccountRow("dora@one.example", "/m/dora", FilterState.STOPPED, polled=True),
        AccountRow("ed@one.example", "/m/ed", FilterState.MOVING, fault="the disk is full"),
    ]
    put(host, *rows)
    found = table(overview(host))
    assert [line[0].partition("@")[0] for line in found] == ["carl", "dora", "ed", "ben", "anna"]
    assert found[0][1:7] == ["broken", "0", "0", "0", "never", "209 KB"]
    assert found[0][7] == "no inbox (since today 12:30)"
    assert found[1][7] == "its folders are polled: they cannot all be watched"
    assert found[2][7] == "the disk is full"
    assert found[3][7].startswith("its mailbox has been away since today 12:30")
    assert found[4][1:6] == ["moving", "50", "12", "0", "today 12:30"]


def test_what_is_to_be_known_first(desk: HostDesk) -> None:
    """The window's title names what is wrong with the host: its services, then its users."""
    host = desk.host
    directory = host.directory
    assert title(overview(host)) == "The service is not running"
    assert "No user is known yet" in overview(host).words
    put(host, ROW)
    with claimed(directory, Share(1, 2)):
        page = overview(host)
        assert title(page) == "1 service not running"
        assert "Not running: 2-of-2" in page.words and "run --shard 2-of-2" in page.words
    (directory / "1-of-2.lock").unlink()
    with claimed(directory, Share()):
        assert title(overview(host)) == "All is well"
        put(host, AccountRow("ed@one.example", "/m/ed", FilterState.MOVING, fault="the disk is full"))
        assert title(overview(host)) == "1 user with a fault"
        put(host, AccountRow("dora@one.example", "/m/dora", FilterState.STOPPED))
        assert title(overview(host)) == "1 filter to look at"


def test_of_many_users(desk: HostDesk) -> None:
    """Of thousands of users the page shows the 200 with the greatest need, or all on request; the sums are of all."""
    host = desk.host
    put(
        host,
        *(AccountRow(f"u{number}@one.example", f"/m/{number}", FilterState.MOVING, ham=2) for number in range(1000)),
    )
    put(host, AccountRow("last@one.example", "/m/last", FilterState.BROKEN))
    page = overview(host)
    assert len(table(page)) == 200 and table(page)[0][0] == "last@one.example"
    assert "1,001 users" in page.words and "These are 200 of 1,001 users." in page.words
    (link,) = page.tree.xpath("//p[@class='pager']/a/@href")
    assert len(table(overview(host, link.removeprefix("./")))) == 1001


def test_no_mail_of_anybody(tmp_path: Path) -> None:
    """No ledger is opened, nothing is written, and no subject, sender or word of anybody is on the page."""
    desk = HostDesk(tmp_path, "dorothea@one.example")
    try:
        put(desk.host, AccountRow("dorothea@one.example", "/m/d", FilterState.MOVING))
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        opened = Ledger.__init__
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "__init__", lambda *_, **__: pytest.fail("a ledger was opened"))
            page = overview(desk.host)
        assert Ledger.__init__ is opened
        assert "dorothea@one.example" in page.words
        assert not re.search("secret|affair|friend@", page.text)
        assert [path for path, content in before.items() if path.read_bytes() != content] == []
    finally:
        desk.end()


def test_other_addresses(desk: HostDesk) -> None:
    """There is one page, and nothing to be changed; its navigation names no other."""
    browser = Browser(pages_of(lambda: desk.host.template, host=desk.host))
    for path in ("/history", "/m/1", "/health", "/overview.json"):
        assert browser.get(path).status == 404
    for path in ("/", "/pause", "/m/1/teach"):
        assert browser.post(path, label="ham").status in {404, 405}


def test_a_register_that_may_not_be_read(desk: HostDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A register that may not be read is shown as a fault, with the next step."""
    host = desk.host
    put(host, ROW)
    monkeypatch.setattr(Path, "read_bytes", mock.Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")))
    answer = Browser(pages_of(lambda: host.template, host=host)).get("/")
    assert answer.status == 503 and "check its directory, and who owns it" in answer.words


def test_the_login(desk: HostDesk) -> None:
    """The overview has a key of its own beside the register, where no user's directory can be."""
    file = HostFile(desk.config, {})
    server = PageServer(Settings("127.0.0.1:0"), lambda: file.read().template, str(desk.config), {}, host=file.read)
    try:
        path = Path(login_file(file.read(), 7726, NOW))
        assert f"127.0.0.1:7726/{server.activity._application._access.base.strip('/')}/login?code=" in path.read_text()
        assert Path(key_file(file.read()).path) == file.read().directory / "register.web.key"
        (desk.directory / "mail/register.web.key/x/Maildir/new").mkdir(parents=True)
        (desk.directory / "mail/register.web.key/x/Maildir/cur").mkdir()
        assert desk.host.find("x@register.web.key") is None
    finally:
        server.close()
        server.run()
