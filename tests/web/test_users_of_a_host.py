"""The pages of all users of a mail host on one socket: the user is known, and sees nothing of others."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.errors import ConfigError, UsageError
from spamnb.base.label import Role
from spamnb.base.sockets import Listener
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.host.forgetting import forget
from spamnb.host.shares import Share, claimed
from spamnb.ledger.ledger import Ledger
from spamnb.web.access import listen
from spamnb.web.page_server import PageServer
from tests.patience import until
from tests.web.desk import Answer, Browser, all_routes
from tests.web.host_desk import FIELD, HostDesk, as_user, of, pages_of_all
from tests.web.served import served
from tests.web.story import of_a_shop
from tests.web.test_server import sent
from tests.web.test_try import form, send

DORA, LEO = "dorothea@one.example", "leopold@two.example"
ROUTES = all_routes()
JUDGED = (61, 62)  # after sixty that were learned
SEEN_AND_DONE = "?all=1&text=1&show=learned&since=1&did=1.2.3.4.5.6&part=1"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> HostDesk:
    """Two users, whose mail is never changed."""
    made = HostDesk(tmp_path_factory.mktemp("host"), DORA, LEO)
    made.end()  # SQLite would keep files open that requests have opened
    return made


@pytest.fixture
def server(desk: HostDesk) -> Iterator[PageServer]:
    """Their pages."""
    with pages_of_all(desk) as made:
        yield made


@pytest.fixture(scope="module")
def socket(desk: HostDesk) -> Iterator[Path]:
    """Their pages on a socket, served by the command."""
    path = desk.directory / "served.sock"
    with served(desk, "--listen", str(path), "--behind-proxy", "--allow-host", "mail.example", "--user-header", FIELD):
        yield path


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[HostDesk]:
    """Two users, whose services work step by step."""
    made = HostDesk(tmp_path, DORA, LEO)
    yield made
    made.end()


# --- who asks -----------------------------------------------------------------------------------------------------


def asked(socket: Path, *fields: str) -> tuple[int, str]:
    """The status and the text that is answered to a request with these fields, as they are."""
    head = "\r\n".join(["GET /history HTTP/1.1", "Host: mail.example", "Connection: close", *fields])
    status, answer = sent(socket, f"{head}\r\n\r\n".encode("latin-1"))
    return status, answer.decode().partition("\r\n\r\n")[2]


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (f"{FIELD}:",),
        (f"{FIELD}:   ",),
        (f"{FIELD}: {DORA}", f"{FIELD}: {LEO}"),
        (f"{FIELD}: {DORA}", f"{FIELD}: {DORA}"),
        (f"{FIELD}: {DORA}", f"{FIELD}:"),
        (f"{FIELD}:", f"{FIELD}: {DORA}"),
        (f"{FIELD}: {DORA}", f"{FIELD.lower()}: {LEO}"),
        (f"{FIELD}: {DORA}, {LEO}",),
        (f"{FIELD}: {DORA}, {DORA}",),
        (f"{FIELD}: {DORA},",),
        (f"{FIELD}: ,{DORA}",),
        (f"X_Remote_User: {DORA}",),
        (f"{FIELD}: {DORA}", f"X_Remote_User: {LEO}"),
        (f"X_Remote-User: {LEO}", f"{FIELD}: {DORA}"),
        (f"{FIELD}: {DORA}", "x_remote_user:"),
        (f"{FIELD}: nobody@one.example",),
        (f"{FIELD}: dorothea",),
        (f"{FIELD}: {DORA} {LEO}",),
        (f"{FIELD}: {DORA}", f" {LEO}"),
        (f"{FIELD}: ../two.example/leopold",),
        (f"{FIELD}: dorothea/../leopold@one.example",),
        (f"{FIELD}: dorothea@one.example/../two.example",),
        (f"{FIELD}: dorothea@",),
        (f"{FIELD}: @one.example",),
        (f"{FIELD}: {{local}}@one.example",),
        (f"{FIELD}: *@one.example",),
        (f"{FIELD}: d\u00f6rte@one.example",),
        (f"{FIELD}: {'d' * 300}@one.example",),
        (f"{FIELD}: leopold+lists@two.example",),
        (f"Authorization: Basic {DORA}",),
        (f"Remote-User: {DORA}",),
        (f"X-Forwarded-User: {DORA}",),
        (f"Cookie: {FIELD}={DORA}",),
    ],
    ids=lambda fields: " | ".join(fields)[:60] or "none",
)
def test_nobody_is_named(socket: Path, fields: tuple[str, ...]) -> None:
    """Without the field, with more than one of it, also with `_` in its name, or with no user's name: 403."""
    status, text = asked(socket, *fields)
    assert status == 403
    assert text.startswith("spamnb: ") and text.count("\n") == 1
    assert not any(name.partition("@")[0] in text for name in (DORA, LEO))


@pytest.mark.parametrize(
    ("field", "of"),
    [
        (f"{FIELD}: {DORA}", DORA),
        (f"{FIELD.upper()}:{LEO}", LEO),
        (f"{FIELD}: {DORA.upper()}", DORA),
    ],
)
def test_a_user_is_named(socket: Path, field: str, of: str) -> None:
    """The user is found by the exact name, or by that in lower case."""
    status, text = asked(socket, field)
    secrets = {name for name in (DORA, LEO) if f"secret-{name.partition('@')[0]}" in text}
    assert (status, secrets) == (200, {of})


def test_every_address_asks_who(server: PageServer) -> None:
    """No address is answered to nobody, not even the style; another name of the pages is refused first."""
    for name in (None, "nobody@one.example"):
        browser = as_user(server, name)
        for route in ROUTES:
            path = route.pattern.replace("{sender}", "1").replace("{id}", "61")
            answer = browser.get(path) if route.method == "GET" else browser.post(path, label="ham")
            assert (answer.status, answer.headers["Content-Type"]) == (403, "text/plain; charset=utf-8"), path
            assert browser.get(path, {"host": "evil.example"}).status == 421


def test_forms_of_other_pages(desk: HostDesk, server: PageServer) -> None:
    """A form is taken from these pages alone, whoever the proxy says has sent it."""
    browser, before = as_user(server, DORA), files_of(desk, DORA)
    for route in (route for route in ROUTES if route.method == "POST"):
        path = route.pattern.replace("{sender}", "1").replace("{id}", "61")
        for site in ("cross-site", "same-site", "none", ""):
            assert browser.post(path, {"sec-fetch-site": site}, label="spam", id=1).status == 403
    assert files_of(desk, DORA) == before


def test_a_name_beyond_ascii(tmp_path: Path) -> None:
    """A proxy writes a user's name in UTF-8 (WSGI gives its bytes as letters); other bytes are nobody's name."""
    desk = HostDesk(tmp_path, "jörg@one.example")
    with pages_of_all(desk) as server:
        for encoding, status in (("utf-8", 200), ("latin-1", 403)):
            name = "jörg@one.example".encode(encoding).decode("latin-1")
            assert as_user(server, name).get("/").status == status, encoding
    desk.end()


@pytest.mark.parametrize("how", ["before", "meanwhile"])
def test_who_is_left_out(fresh: HostDesk, how: str) -> None:
    """A user whom the configuration leaves out, before the start or since, has no pages."""
    text = fresh.config.read_text()
    without = text.replace("users: {", f"users: {{without: ['{DORA}'], ")
    if how == "before":
        fresh.config.write_text(without)
    with pages_of_all(fresh) as server:
        if how == "meanwhile":
            assert as_user(server, DORA).get("/").status == 200
            fresh.config.write_text(without)
        assert as_user(server, DORA).get("/").status == 403
        assert as_user(server, LEO).get("/").status == 200


# --- nobody sees another ------------------------------------------------------------------------------------------


def ask_all(browser: Browser) -> Iterator[tuple[str, Answer]]:
    """Return the answers of every route: pages twice, since some work runs beside them; then forms."""
    patterns = [route.pattern.replace("{sender}", "1") for route in ROUTES if route.method == "GET"]
    for path in [*dict.fromkeys(each.replace("{id}", str(number)) for each in patterns for number in JUDGED)] * 2:
        for query in ("", SEEN_AND_DONE):
            yield f"GET {path}{query}", browser.get(path + query)
    for route in (route for route in ROUTES if route.method == "POST"):
        for number in JUDGED:
            path = route.pattern.replace("{sender}", "1").replace("{id}", str(number))
            answer = browser.post(path, label="ham", id=number, upto=99, kind="allow", value="x.test", span="1h")
            yield f"POST {path}", answer
            if answer.status == 303:
                yield f"after POST {path}", browser.follow(answer)
    yield "a message that is tried", send(browser, form(file=message("spam", 200)))


def names_of(name: str) -> re.Pattern[str]:
    """Return all texts that name only this user: the address, directories, and texts of the mail."""
    local, _, domain = name.partition("@")
    return re.compile(f"{local}|{re.escape(domain)}", re.IGNORECASE)


def files_of(desk: HostDesk, name: str) -> dict[Path, bytes]:
    """Return all files of a user, except those that SQLite keeps about readers."""
    local, _, domain = name.partition("@")
    roots = [desk.directory / where / domain / local for where in ("state", "mail")]
    paths = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in paths if not path.name.endswith("-shm")}


@pytest.mark.thorough
def test_nobody_sees_another(fresh: HostDesk) -> None:
    """A user's request never shows or changes anything of another user, even if both ask alternately."""
    with pages_of_all(fresh) as server:
        dora, leo = as_user(server, DORA), as_user(server, LEO)
        for path in ("/", "/review", "/tune", "/audit", "/health"):
            until(lambda path=path: is_whole(leo.get(path)), f"what is worked out for {path}")
        before, seen = files_of(fresh, LEO), ""
        for what, answer in ask_all(dora):
            assert leo.get("/senders").status == 200
            told = answer.text + str(answer.headers)
            assert not names_of(LEO).search(told), what
            assert answer.status < 500, what
            seen += told
        assert files_of(fresh, LEO) == before
        for word in (DORA, "secret-dorothea-ham", "secret-dorothea-spam", "friend@dorothea.test", "dorotheaaffair"):
            assert word in seen, "else this proves nothing"
        shown = "".join(leo.get(path).text for path in ("/", "/history", "/senders", "/health", "/tune", "/audit"))
        assert "secret-leopold-ham" in shown and not names_of(DORA).search(shown)


@pytest.mark.thorough
def test_what_the_host_keeps_for_itself(fresh: HostDesk) -> None:
    """A user sees the settings for the own mail, and none of the host's: the database may have a password."""
    host = "spamd: {peers: ['4711']}\nexchange: {database: 'dbname=lessons password=open-sesame'}\n"
    fresh.config.write_text(fresh.config.read_text() + host)
    with pages_of_all(fresh) as server:
        dora = as_user(server, DORA)
        until(lambda: is_whole(dora.get("/health")), "the check-up")
        seen = "".join(answer.text for _, answer in ask_all(dora))
        assert "minimum_messages: 1" in seen and "TrainSpam: train_spam" in seen
        assert not [word for word in ("open-sesame", "dbname", "4711", "reconcile_seconds") if word in seen]


def is_whole(answer: Answer) -> bool:
    """Whether the work beside a page is on it."""
    return not answer.tree.xpath("//*[@data-again or @data-unfinished]")


def test_what_is_kept_is_of_one_user(fresh: HostDesk) -> None:
    """Only the user sees how much waits and the outcome of an act; each page names its user."""
    for number in range(3):
        fresh.desks[LEO].deliver(of_a_shop(number))
    with pages_of_all(fresh) as server:
        dora, leo = as_user(server, DORA), as_user(server, LEO)
        until(lambda: badges(leo.get("/")) == ["3"], "what waits for Leopold")
        assert badges(dora.get("/words")) == []
        until(lambda: is_whole(dora.get("/")), "Dorothea's mail to be looked at")
        assert badges(dora.get("/")) == [] != badges(leo.get("/"))
        told = dora.post("/m/61/teach", label="spam").location
        sealed = sealed_for(server, LEO)
        assert "2 could not be" in leo.get(f"/history?did=61&outcome={sealed}").words
        assert "2 could not be" not in dora.get(f"/history?did=61&outcome={sealed}").words
        assert "secret-dorothea" in dora.get(told).words and "secret-dorothea" not in leo.get(told).words
        for browser, name in ((dora, DORA), (leo, LEO)):
            assert browser.get("/words").tree.xpath("//*[@class='owner']")[0].text_content() == name


@pytest.mark.thorough
def test_another_person_gets_the_name(fresh: HostDesk) -> None:
    """What was worked out for a user who was forgotten is on no page of the next user of that name."""
    folder = fresh.directory / "mail/one.example/dorothea/Maildir/.Affair"
    for part in ("new", "cur", "tmp"):
        (folder / part).mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "cur/1.empty:2,").touch()
    with pages_of_all(fresh) as server:
        dora = as_user(server, DORA)
        until(lambda: "Affair" in dora.get("/health").words, "a finding")
        until(lambda: dora.get("/tune").tree.xpath("//table"), "what the cutoffs do")
        fresh.end()
        assert forget(fresh.host, DORA) == ""
        shutil.rmtree(folder)
        assert "Affair" not in dora.get("/health").words
        shutil.copytree(fresh.directory / "state/two.example/leopold", fresh.directory / "state/one.example/dorothea")
        with Ledger(str(fresh.host.ledger_of(DORA))) as ledger:
            ledger.state.mark = "another"
        assert not dora.get("/tune").tree.xpath("//table")


def badges(answer: Answer) -> list[str]:
    """Return the waiting numbers in the navigation."""
    return [badge.text for badge in answer.tree.xpath("//nav//span[@class='badge']")]


def sealed_for(server: PageServer, name: str) -> str:
    """Return the sealed outcome of an act of this user."""
    return server.activity._application._site.seal.of(name).written({"left": 2})


def test_an_act_is_done_for_who_asks(fresh: HostDesk) -> None:
    """One number names a different message for each user; an act changes only the mail of its own user."""
    dora, leo = fresh.desks[DORA], fresh.desks[LEO]
    with pages_of_all(fresh) as server:
        number = dora.number_of(of(DORA, "spam"))
        assert number == leo.number_of(of(LEO, "spam"))
        assert as_user(server, DORA).post(f"/m/{number}/teach", label="ham").status == 303
    assert dora.where(of(DORA, "spam")) == ["INBOX"]
    assert leo.where(of(LEO, "spam")) == ["Junk"]


# --- what is there, and what is not ---------------------------------------------------------------------------------


def test_a_ledger_is_open_for_a_request_alone(desk: HostDesk, server: PageServer) -> None:
    """Between requests no file of a user's is open, so that a ledger can be restored, and users cost no descriptors."""
    for name in (DORA, LEO):
        until(lambda name=name: is_whole(as_user(server, name).get("/")), "the overview")
    until(lambda: not [path for path in open_files() if "/state/" in path], "the ledgers to be closed")


def open_files() -> list[str]:
    """The paths of all files that this process has open."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [os.readlink(link) for link in links if os.path.lexists(link)]


def test_a_user_without_a_ledger(fresh: HostDesk) -> None:
    """A user without a ledger sees what to do, but no command: there is no terminal."""
    for folder in ("new", "cur", "tmp"):
        (fresh.directory / "mail/one.example/nina/Maildir" / folder).mkdir(parents=True)
    with pages_of_all(fresh) as server:
        for path in ("/", "/review", "/history", "/m/1"):
            answer = as_user(server, "nina@one.example").get(path)
            assert (answer.status, answer.tree.xpath("//main//code")) == (200, [])
            assert "move spam from your inbox to the spam folder" in answer.words
    assert not (fresh.directory / "state/one.example/nina").exists()


def test_whether_the_service_runs(fresh: HostDesk) -> None:
    """A user sees whether the service of the share runs, and whom to tell if it does not."""
    with pages_of_all(fresh) as server:
        browser = as_user(server, DORA)
        assert "not running, so nothing is judged now. Tell the person who runs" in browser.get("/history").words
        with claimed(fresh.host.directory, Share()):
            assert "not running" not in browser.get("/history").words


@pytest.mark.thorough
def test_own_settings(fresh: HostDesk) -> None:
    """A user's own settings apply to that user's pages from the next request on, and to no other user's."""
    (fresh.directory / "own").mkdir()
    own = fresh.directory / "own" / f"{DORA}.yaml"
    with pages_of_all(fresh) as server:
        for text, expected in (("scoring: {spam_cutoff: 0.91}\n", True), ("scoring: {spam_cutoff: high}\n", False)):
            own.write_text(text)
            assert ("spam_cutoff: 0.91" in as_user(server, DORA).get("/health").text) == expected
            assert "spam_cutoff: 0.91" not in as_user(server, LEO).get("/health").text
        until(
            lambda: "spam_cutoff" in as_user(server, DORA).get("/health").words.partition("Configuration")[0],
            "a finding",
        )


@pytest.mark.thorough
def test_where_own_settings_are_changed(fresh: HostDesk) -> None:
    """A user sees the file of their own settings and who changes it, not the host's configuration."""
    (fresh.directory / "own").mkdir()
    own = fresh.directory / "own" / f"{DORA}.yaml"
    own.write_text("scoring: {spam_cutoff: 0.91}\nsenders: {allow: [friend.example]}\n")
    with pages_of_all(fresh) as server:
        for page in ("health", "senders", "tune"):
            shown = _whole(as_user(server, DORA), f"/{page}").words
            assert f"The person who runs this mail server can change that in {own}" in shown
            assert str(fresh.config) not in shown.partition("Configuration")[2]
        assert f"own/{DORA}" not in _whole(as_user(server, LEO), "/tune").words


def _whole(browser: Browser, path: str) -> Answer:
    """Return a page once no work beside it is left."""
    until(lambda: not browser.get(path).tree.xpath("//*[@data-again]"), "the whole page")
    return browser.get(path)


@pytest.mark.thorough
def test_choices_of_a_user(fresh: HostDesk) -> None:
    """A user's choice is in that user's ledger, in force for the next message, and for no other user."""
    with pages_of_all(fresh) as server:
        dora, leo = as_user(server, DORA), as_user(server, LEO)
        wanted = ("block", "all.example", "block all.example"), ("spam_cutoff", "0.9", "Spam from 0.9 up")
        for kind, value, shown in wanted:
            said = dora.post("/choose", kind=kind, value=value, back="senders")
            assert f"Chosen: {shown}" in dora.follow(said).words
        assert "The limit in force is 0.9, chosen" in _whole(dora, "/tune").words
        assert "Blocked: all.example" in dora.get("/senders").words
        assert "Your choices: 1 blocked, spam from 0.9 up." in _whole(dora, "/health").words
        assert "The limit in force is 0.95, the default" in _whole(leo, "/tune").words
        assert "all.example" not in leo.get("/senders").words
        letter = b"From: a@all.example\nSubject: all the same\n\nto everybody\n"
        for name, folder in ((DORA, ["Junk"]), (LEO, ["INBOX"])):
            fresh.desks[name].deliver(letter)
            assert fresh.desks[name].where(letter) == folder
        undone = dora.post("/choose/forget", value="all.example", back="senders")
        assert "No longer chosen: block all.example" in dora.follow(undone).words
        assert [choice.value for choice in fresh.desks[DORA].ledger.choices.standing()] == [0.9]
        assert fresh.desks[LEO].ledger.choices.standing() == []


def test_the_mail_cannot_be_reached(fresh: HostDesk) -> None:
    """If the disk of all mail is away, no user counts as unknown: the page says to try again."""
    with pages_of_all(fresh) as server:
        (fresh.directory / "mail").rename(fresh.directory / "away")
        assert as_user(server, DORA).get("/").status == 503
        (fresh.directory / "away").rename(fresh.directory / "mail")
        assert as_user(server, DORA).get("/").status == 200


def test_a_faulty_configuration_of_the_host(fresh: HostDesk, caplog: pytest.LogCaptureFixture) -> None:
    """While the host's configuration is faulty the one from before counts, which the log says once."""
    good = fresh.config.read_text()
    with pages_of_all(fresh) as server:
        fresh.config.write_text("scoring: {spam_cutoff: high}\n")
        for _ in range(2):
            answer = as_user(server, DORA).get("/health")
            assert answer.status == 200 and "high" not in answer.text
        assert len([record for record in caplog.records if "the old configuration counts" in record.getMessage()]) == 1
        fresh.config.write_text(good.replace("minimum_messages: 1}", "minimum_messages: 7}"))
        assert "minimum_messages: 7" in as_user(server, DORA).get("/health").text
    fresh.config.write_text("scoring: {spam_cutoff: high}\n")
    with pytest.raises(ConfigError, match="spam_cutoff"), pages_of_all(fresh):
        pass


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--listen", "{}/w.sock"], "needs --behind-proxy"),
        (["--behind-proxy", "--listen", "127.0.0.1:0"], "needs a Unix socket"),
        (["--behind-proxy"], "needs a Unix socket"),
        (["--behind-proxy", "--listen", "{}/w.sock", "--overview"], "on another socket"),
        (["--behind-proxy", "--listen", "{}/w.sock", "--open"], "at the proxy"),
        (["--behind-proxy", "--listen", "{}/w.sock", "--log-out"], "at the proxy"),
    ],
)
def test_what_does_not_go_together(
    desk: HostDesk, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pages of all users are for a proxy, on a Unix socket, without a login of their own."""
    typed = [argument.format(desk.directory) for argument in arguments]
    assert main(["--config", str(desk.config), "web", "--user-header", FIELD, *typed]) == 64
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("field", ["", "X_Remote_User", "X-Remote-User:", "a b", "\u00e4"])
def test_names_of_fields(desk: HostDesk, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A text that cannot be a field's name, or a field that is never read, is refused, with what to write."""
    socket = str(desk.directory / "w.sock")
    arguments = ["--behind-proxy", "--listen", socket, f"--user-header={field}"]
    assert main(["--config", str(desk.config), "web", *arguments]) == 64
    assert "such as X-Remote-User" in capsys.readouterr().err


def test_not_on_a_port(desk: HostDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that systemd hands over is refused too: every user of the machine could claim to be somebody."""
    with listen("127.0.0.1:0", behind_proxy=False).socket as made:
        handed = Listener(made, "127.0.0.1:1", is_unix=False)
        monkeypatch.setattr("spamnb.web.page_server.inherited", lambda *_, **__: [handed])
        with pytest.raises(UsageError, match="needs a Unix socket"), pages_of_all(desk):
            pass


def test_one_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One person's configuration has no users, and a host's has no pages without a user's name."""
    config = tmp_path / "config.yaml"
    config.write_text(
        render([Mailbox(tmp_path / "mail", {"INBOX": Role.INBOX, "Junk": Role.SPAM})], tmp_path / "ledger")
    )
    for argument in (["--behind-proxy", "--listen", str(tmp_path / "w"), "--user-header", FIELD], ["--overview"]):
        assert main(["--config", str(config), "web", *argument]) == 64
        assert "docs/mail-host.md" in capsys.readouterr().err
