"""Who may enter, and what never happens: every route with every kind of wrong request."""

import re
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.cli.common.sample_mail import message
from spamnb.host.host import load_host
from spamnb.web import login_keys
from spamnb.web.access import HEADERS, ServerAddress
from spamnb.web.http import MAX_BODY
from spamnb.web.routes import Route
from tests.web.desk import HOST, KEY, Answer, Browser, WebDesk, all_routes, pages_of

ROUTES = all_routes()
POSTS = [route for route in ROUTES if route.method == "POST"]
JUDGED = 61  # after sixty that were learned
NO_COOKIE = {"cookie": ""}


def name(route: Route) -> str:
    return f"{route.method} {route.pattern}"


def ask(browser: Browser, route: Route, number: int, **headers: str) -> Answer:
    """A request of a route, with these headers changed."""
    path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
    changed = {key.replace("_", "-"): value for key, value in headers.items()}
    return browser.get(path, changed) if route.method == "GET" else browser.post(path, changed, label="ham", id=1)


def contents(desk: WebDesk) -> list[bytes]:
    """Everything that the ledger holds: its file and its log."""
    return [path.read_bytes() for path in sorted(desk.directory.glob("ledger*")) if path.suffix != ".key"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> WebDesk:
    """One mailbox for all requests: nearly all of them change nothing."""
    made = WebDesk(tmp_path_factory.mktemp("desk"))
    made.deliver(message("spam", 100))
    assert made.number_of(message("spam", 100)) == JUDGED
    made.stop()
    made.ledger.close()  # SQLite would keep files open that requests have opened, for as long as this one is
    return made


@pytest.fixture
def number() -> int:
    """A message that was judged."""
    return JUDGED


def test_without_a_cookie(desk: WebDesk, number: int) -> None:
    """Without a login a request gets only the style and the login, and changes nothing."""
    for route in ROUTES:
        before = contents(desk)
        answer = ask(desk.browser, route, number, **NO_COOKIE)
        if route.is_public and route.pattern != "/login":
            assert answer.status == 200
        else:
            assert answer.status == 401
            assert message("spam", 100).decode().split("Subject: ")[1].split("\n")[0] not in answer.text
        assert contents(desk) == before, name(route)


def test_called_by_another_name(desk: WebDesk, number: int) -> None:
    """A request with a wrong host name is refused before anything else, even for the style."""
    for route in ROUTES:
        before = contents(desk)
        for host in (
            "evil.example",
            "evil.example:7726",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost:7726.evil.example",
            "",
            "a b",
        ):
            assert ask(desk.browser, route, number, host=host).status == 421, host
        assert contents(desk) == before, name(route)


@pytest.mark.parametrize("host", [HOST, "localhost:7726", "[::1]:7726", "LOCALHOST:7726"])
def test_own_names(desk: WebDesk, host: str) -> None:
    """The pages are called by this machine's own names, with their port."""
    assert desk.browser.get("/", {"host": host}).status == 200


@pytest.mark.parametrize("port", [":99999", ":65536", ":0", ":", ":080000", ":-1"])
def test_a_host_has_a_port_that_exists(port: str) -> None:
    """A host name with a port that no server can have is not a name of these pages, on a port or a Unix socket."""
    for address in (ServerAddress(7726, frozenset({"mail.example"})), ServerAddress(None, is_private=True)):
        assert address.serves_host("mail.example:443") and address.serves_host("mail.example:65535")
        assert not address.serves_host(f"mail.example{port}")


def test_another_name_may_be_allowed(desk: WebDesk) -> None:
    """--allow-host names another name, and the page that refuses says so."""
    assert "--allow-host mail.example" in desk.browser.get("/", {"host": "mail.example"}).text
    allowed = Browser(desk.application(address=ServerAddress(7726, frozenset({"mail.example"}))))
    assert allowed.get("/", {"host": "mail.example"}).status == 200
    assert allowed.get("/", {"host": "other.example"}).status == 421


def test_other_paths(desk: WebDesk) -> None:
    """All pages are below a path that follows from the key; any other path shows one line, with the owner."""
    base = desk.browser.base
    assert re.fullmatch(r"/k[a-z2-7]{24}", base)
    assert base == f"/{login_keys.path(KEY)}" != f"/{login_keys.path(bytes(32))}"
    paths = ["/", "/history", "/login", f"/login?code={code_of()}", "/static/spamnb.css", "//", f"/{base}/"]
    paths += [base, f"{base[:-1]}/", f"{base}x/", f"{base.upper()}/", f"/{login_keys.path(bytes(32))}/history"]
    desk.browser.base = ""
    try:
        for path in paths:
            for answer in (
                desk.browser.get(path),
                desk.browser.post(path, label="ham"),
                desk.browser.get(path, NO_COOKIE),
            ):
                assert (answer.status, answer.headers["Content-Type"]) == (404, "text/plain; charset=utf-8"), path
                assert answer.text == "spamnb: There is no page at this address. To open the pages: spamnb web --open\n"
                assert dict(HEADERS).items() <= answer.headers.items() and "Set-Cookie" not in answer.headers
            assert desk.browser.get(path, {"host": "evil.example"}).status == 421
        assert desk.browser.get(f"{base}/history").status == 200
    finally:
        desk.browser.base = base


def test_no_address_is_absolute(desk: WebDesk, number: int, caplog: pytest.LogCaptureFixture) -> None:
    """No page, answer or line of the log has the path of all pages; only the cookie has it."""
    caplog.set_level("DEBUG")
    secret = desk.browser.base.strip("/")
    for route in ROUTES:
        for headers in ({}, NO_COOKIE, {"sec_fetch_site": "cross-site"}):
            answer = ask(desk.browser, route, number, **headers)
            told = {name: value for name, value in answer.headers.items() if name != "Set-Cookie"}
            assert secret not in answer.text + str(told), name(route)
    desk.browser.get("/nothing")
    assert secret not in caplog.text


def test_forms_of_other_pages(desk: WebDesk, number: int) -> None:
    """Only forms of our own pages are accepted: a page on another port of this machine has the same site."""
    for route in POSTS:
        before = contents(desk)
        for site in ("cross-site", "same-site", "none", ""):
            assert ask(desk.browser, route, number, sec_fetch_site=site).status == 403, site
            assert ask(desk.browser, route, number, sec_fetch_site=site, origin=f"http://{HOST}").status == 403, site
        assert contents(desk) == before, name(route)


def test_forms_of_old_browsers(desk: WebDesk, number: int) -> None:
    """A browser that does not say Sec-Fetch-Site has to say an Origin that is ours."""
    for route in POSTS:
        path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
        form = {"content-type": "application/x-www-form-urlencoded"}
        for origin in (None, "http://evil.example", "null", "http://127.0.0.1:8000", f"http://{HOST}.evil.example"):
            headers = {**desk.browser.headers, **form, **({} if origin is None else {"origin": origin})}
            assert desk.browser._ask("POST", path, headers, b"label=ham").status == 403, origin
        headers = {**desk.browser.headers, **form, "origin": f"http://{HOST}"}
        assert desk.browser._ask("POST", path, headers, b"label=ham&id=1").status != 403


def test_reading_writes_nothing(desk: WebDesk, number: int) -> None:
    """A page that is looked at changes nothing in the ledger, whatever its address says."""
    for route in [route for route in ROUTES if route.method == "GET"]:
        before = contents(desk)
        path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
        for query in ("", "?label=ham&id=1&since=1&upto=9&move=1&days=7&q=x&text=1&all=1&did=1&show=spam"):
            assert desk.browser.get(f"{path}{query}").status in {200, 401}
            assert desk.browser.get(f"{path}{query}", method="HEAD").text == ""
        assert contents(desk) == before, name(route)


def test_what_changes_something_is_not_read(desk: WebDesk, number: int) -> None:
    """A GET request never does what a form does."""
    for route in POSTS:
        before = contents(desk)
        path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
        answer = desk.browser.get(f"{path}?label=ham&id=1")
        has_page = any(one.method == "GET" and one.pattern == route.pattern for one in ROUTES)
        assert answer.status == (200 if has_page else 405)
        assert contents(desk) == before, name(route)
        assert desk.browser.get(path, method="DELETE").status in {403, 405}
        assert desk.browser.get(path, method="PUT").status in {403, 405}


def test_forms_are_small(desk: WebDesk, number: int) -> None:
    """A form is at most 64 KB, has a length, and is a form."""
    for route in (route for route in POSTS if not route.takes_message):
        before = contents(desk)
        path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
        assert desk.browser.send(path, b"label=ham&x=" + b"x" * MAX_BODY).status == 413
        assert desk.browser.send(path, b"label=ham", {"content-type": "application/json"}).status == 415
        assert desk.browser.send(path, b"label=ham", {"content-type": "multipart/form-data; boundary=x"}).status == 415
        assert desk.browser.send(path, b"", {"content-length": "x"}).status == 411
        assert desk.browser.send(path, b"label=%ff").status == 400
        assert desk.browser.send(path, b"&".join(b"x=1" for _ in range(2000))).status == 400
        assert contents(desk) == before, name(route)


def test_read_only(desk: WebDesk, number: int) -> None:
    """With --read-only nothing can be changed, and no page has a button that would."""
    for route in POSTS:
        browser = Browser(desk.application(read_only=True))
        before = contents(desk)
        assert ask(browser, route, number).status == 405
        assert contents(desk) == before, name(route)


def test_read_only_pages_have_no_buttons(desk: WebDesk, number: int) -> None:
    """With --read-only no page has a form that is posted."""
    browser = Browser(desk.application(read_only=True))
    for route in ROUTES:
        if route.method == "GET" and "static" not in route.pattern:
            answer = browser.get(route.pattern.replace("{sender}", "1").replace("{id}", str(number)))
            assert 'method="post"' not in answer.text, route.pattern


def test_headers_on_every_answer(desk: WebDesk, number: int) -> None:
    """Every answer, errors too, forbids foreign scripts and frames, sniffing and referrers."""
    for route in ROUTES:
        for headers in ({}, NO_COOKIE, {"host": "evil.example"}, {"sec_fetch_site": "cross-site"}):
            answer = ask(desk.browser, route, number, **headers)
            assert dict(HEADERS).items() <= answer.headers.items()
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == (
                "no-cache" if "static" in route.pattern and answer.status == 200 else "no-store"
            )
            assert "Server" not in answer.headers


# --- the login ----------------------------------------------------------------------------------------------------


def code_of(key: bytes = KEY, at: float = 1e9, use: login_keys.Use = "code") -> str:
    return login_keys.make(key, use, at)


def test_log_in(desk: WebDesk) -> None:
    """A code is good once; the browser is sent on to an address without it, and gets a cookie for this site alone."""
    code = code_of()
    answer = desk.browser.get(f"/login?code={code}", NO_COOKIE)
    assert (answer.status, answer.location) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert re.fullmatch(r"spamnb_7726=[\w=-]+; HttpOnly; SameSite=Strict; Path=(/k\w{24}/); Max-Age=2592000", cookie)
    assert f"Path={desk.browser.base}/;" in cookie
    assert code not in answer.text + cookie + answer.headers["Location"]
    assert desk.browser.get("/", {"cookie": cookie.partition(";")[0]}).status == 200
    assert desk.browser.get(f"/login?code={code}", NO_COOKIE).status == 401


def test_a_login_that_is_only_looked_at(desk: WebDesk) -> None:
    """HEAD, by which programs check links, neither uses a code up nor logs in nor counts as a wrong one."""
    code = code_of()
    for shown in (code, *[code_of(bytes(32))] * 20):
        answer = desk.browser.get(f"/login?code={shown}", NO_COOKIE, method="HEAD")
        assert (answer.status, answer.text, "Set-Cookie" in answer.headers) == (401, "", False)
    assert desk.browser.get(f"/login?code={code_of(bytes(32))}", NO_COOKIE).status == 401
    assert desk.browser.get(f"/login?code={code}", NO_COOKIE).status == 303


def test_log_in_from_a_file(desk: WebDesk) -> None:
    """If a different page opened the address, the cookie comes with a page that leads on: a redirect has none."""
    answer = desk.browser.get(f"/login?code={code_of()}", {**NO_COOKIE, "sec-fetch-site": "cross-site"})
    assert answer.status == 200
    assert "Set-Cookie" in answer.headers
    assert answer.tree.xpath("//meta[@http-equiv='refresh']/@content") == ["0; url=./"]


def test_wrong_codes(desk: WebDesk) -> None:
    """An expired or changed code, one of a different key, a cookie's, and any other text are refused."""
    for code in (
        code_of(bytes(32)),
        code_of(at=1e9 - 61),
        code_of(use="cookie"),
        code_of()[:-8],
        code_of()[:-4] + "AAA=",
        "x",
        "é",
        "A" * 300,
    ):
        answer = desk.browser.get(f"/login?code={code}", NO_COOKIE)
        assert answer.status in {401, 429}, code
        assert "Set-Cookie" not in answer.headers


def test_a_thousand_wrong_codes(desk: WebDesk) -> None:
    """After five wrong codes within a minute no more are checked; a right one is still accepted."""
    browser = Browser(desk.application())
    found = [browser.get(f"/login?code={'A' * 72}{number}", NO_COOKIE).status for number in range(1000)]
    assert found == [401] * 5 + [429] * 995
    assert browser.get(f"/login?code={code_of()}", NO_COOKIE).status == 303


def test_wrong_cookies(desk: WebDesk) -> None:
    """An expired cookie, one of a different key or port, and any other text do not let in."""
    for cookie in (
        "spamnb_7726=",
        f"spamnb_7726={code_of()}",
        f"spamnb_7726={code_of(bytes(32), use='cookie')}",
        f"spamnb_7726={code_of(at=1e9 - 31 * 86_400, use='cookie')}",
        f"spamnb_7727={code_of(use='cookie')}",
        '"',
        "=;=;spamnb_7726",
    ):
        assert desk.browser.get("/", {"cookie": cookie}).status == 401


@pytest.mark.parametrize(
    "others",
    [
        "{}; spamnb_7726=x",
        "spamnb_7726=x; {}",
        'a="; {}',
        "b]=1; {}; =;;",
        "{}; spamnb_7726=",
        "é=1; {}",
        "x; {}; $Path=/",
    ],
)
def test_cookies_of_other_servers(desk: WebDesk, others: str) -> None:
    """Cookies that other servers of this machine set, even with this name, end no login."""
    assert desk.browser.get("/", {"cookie": others.format(desk.browser.headers["cookie"])}).status == 200


def test_log_out(desk: WebDesk) -> None:
    """A browser can be made to forget."""
    cookie = desk.browser.post("/logout").headers["Set-Cookie"]
    assert "Max-Age=0" in cookie and f"Path={desk.browser.base}/;" in cookie


def test_new_key(tmp_path: Path) -> None:
    """The key is in a file of its own, made once, for its owner; a new key ends all logins and moves all pages."""
    file = login_keys.KeyFile(str(tmp_path / "state" / "web.key"))
    key = file.key()
    assert (tmp_path / "state" / "web.key").stat().st_mode & 0o777 == 0o600
    assert login_keys.KeyFile(file.path).key() == file.key() == key
    cookie = login_keys.make(key, "cookie", 0)
    file.renew()
    assert file.key() != key
    assert login_keys.path(file.key()) != login_keys.path(key)
    assert login_keys.nonce_of(file.key(), "cookie", cookie, 1) is None
    (tmp_path / "state" / "web.key").chmod(0o644)
    with pytest.raises(SpamnbError, match="others can read"):
        login_keys.KeyFile(file.path).key()


def test_link_of_another_site(desk: WebDesk) -> None:
    """A link in webmail comes without the cookie; the page then has a link of its own, which leads there with it."""
    headers = {**NO_COOKIE, "sec-fetch-site": "cross-site"}
    answer = desk.browser.get("/m/1", headers)
    assert (answer.status, answer.tree.xpath("//main//a/@href")) == (401, ["../m/1"])


# --- where answers lead -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "back",
    [
        "http://evil.example/",
        "//evil.example/",
        "\\\\evil.example",
        "javascript:alert(1)",
        "../../x",
        "login",
        "x\r\ny",
    ],
)
def test_answers_lead_to_our_own_pages(desk: WebDesk, number: int, back: str) -> None:
    """After an act one is led to one of the pages, whatever the form says."""
    answer = desk.browser.post(f"/m/{number}/teach", label="spam", back=back)
    assert answer.location.partition("?")[0] == "/"
    assert "\n" not in answer.headers["Location"]


def test_unix_socket(desk: WebDesk) -> None:
    """On a Unix socket the file's mode is the only login; if a group may connect, names must be allowed."""
    alone = Browser(desk.application(address=ServerAddress(None, is_private=True)))
    group = Browser(desk.application(address=ServerAddress(None)))
    named = Browser(desk.application(address=ServerAddress(None, frozenset({"mail.example"}))))
    for browser, host, status in (
        (alone, "anything.example", 200),
        (group, "mail.example", 421),
        (named, "mail.example", 200),
        (named, "mail.example:8443", 200),
        (named, "evil.example", 421),
    ):
        assert browser.get("/", {**NO_COOKIE, "host": host}).status == status, host
    assert named.post("/pause", {**NO_COOKIE, "host": "mail.example", "sec-fetch-site": "same-site"}).status == 403


def test_the_page_of_a_host_has_the_same_address(desk: WebDesk) -> None:
    """The sums of a mail host need a login and the right host name."""
    path = desk.directory / "host.yaml"
    path.write_text(
        f"mailboxes: [{{path: '{desk.directory}/{{user}}', roles: {{INBOX: inbox, Junk: spam}}}}]\n"
        f"ledger: '{desk.directory}.ledgers/{{user}}/ledger.sqlite'\n"
    )
    browser = Browser(pages_of(lambda: desk.config, host=load_host(path, {})))
    assert browser.get("/").status == 200
    assert browser.get("/", NO_COOKIE).status == 401
    assert browser.get("/", {"host": "evil.example"}).status == 421
    assert browser.post("/logout", {"sec-fetch-site": "same-site"}).status == 403
    for route in POSTS:
        if route.pattern != "/logout":
            assert ask(browser, route, 1).status in {404, 405}


def test_a_fault_of_ours_tells_nothing(
    desk: WebDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of the program is shown as a number; only the log has the details."""
    import spamnb.web.pages.overview as page

    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(page, "status", fail)
    answer = desk.browser.get("/")
    assert answer.status == 500
    assert "secret" not in answer.text
    found = re.search(r"at ([0-9a-f]{8})", answer.words)
    assert found and found[1] in caplog.text and "secret" in caplog.text


def test_the_log_names_no_message(desk: WebDesk, number: int, caplog: pytest.LogCaptureFixture) -> None:
    """The log has method, pattern, status and time of a request: no number, no query, no header."""
    caplog.set_level("DEBUG", "spamnb.web")
    desk.browser.get(f"/m/{number}?q=secret")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "spamnb.web.application"]
    assert re.fullmatch(r"GET /m/\{id\} 200 \d+ ms", line)
