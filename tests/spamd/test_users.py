"""The spamd protocol on a mail host: whose ledger answers, and that one user's trouble is not another's."""

import contextlib
import os
import shutil
import socket
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.base.label import Label
from spamnb.base.sockets import Listener
from spamnb.cli.common.sample_mail import message
from spamnb.host.service.served import ServedHost
from spamnb.host.shares import Share, claimed
from spamnb.identity.digests import identity
from spamnb.ledger.file.parts import of_day
from spamnb.ledger.file.replacement import holding
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.spamd.limits import ServerLimits
from spamnb.spamd.service import SpamdService
from tests import warm
from tests.lessons import learn, sample_lessons
from tests.patience import PATIENCE, until
from tests.ports import held_port
from tests.service.conftest import LESSONS
from tests.spamd.conftest import OfHost, exchange, request, tools
from tests.spamd.test_requests import told
from tests.spamd.test_sockets import asked_by

ANNA, BOB = "anna@example.org", "bob@example.net"
SPAM, HAM = message("spam", 900), message("ham", 900)
UNSURE = b"Subject: hello\n\nnothing\n"
_TAUGHT = [LESSONS, LESSONS]


def check(host: OfHost, user: str, mail: bytes = SPAM) -> bytes:
    """Return the answer to CHECK."""
    return host.ask(request("CHECK", mail, user=user))


def tell(host: OfHost, user: str, mail: bytes, what: str) -> bytes:
    """Return the answer to `spamc -L`."""
    fields = ["Remove: local"] if what == "forget" else [f"Message-class: {what}", "Set: local"]
    return host.ask(request("TELL", mail, "1.5", *fields, user=user))


def totals(host: OfHost, user: str) -> list[int]:
    """How many ham and how many spam a user's filter has learned."""
    with host.ledger(user) as ledger:
        found: list[int] = ledger.lessons.totals().tolist()[:2]
        return found


def label(host: OfHost, user: str, mail: bytes) -> Label | None:
    """Return the label of a message."""
    with host.ledger(user) as ledger:
        found = ledger.lessons.find(identity(mail))
        return None if found is None else found.label


@contextlib.contextmanager
def held(host: OfHost, user: str) -> Iterator[sqlite3.Connection]:
    """A user's ledger to which another process is writing."""
    with contextlib.closing(sqlite3.connect(host.path_of(user), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other
        other.execute("COMMIT")


# Whose ledger


def test_own_ledger(host: OfHost) -> None:
    """Each user's requests use the user's own ledger, which remembers verdicts and learns."""
    for user in (ANNA, BOB):
        host.user(user)
    with host.ledger(BOB) as ledger:  # to whom all of that is ham
        learn(ledger, [one._replace(label=Label.HAM) for one in sample_lessons(LESSONS)])
        learn(ledger, [one._replace(label=Label.SPAM) for one in sample_lessons(2 * LESSONS) if one.label is Label.HAM])
    assert told(check(host, ANNA)) == (True, 9.9)
    assert not told(check(host, BOB))[0]
    assert tell(host, ANNA, UNSURE, "spam").endswith(b"DidSet: local\r\n\r\n")
    assert (label(host, ANNA, UNSURE), label(host, BOB, UNSURE)) == (Label.SPAM, None)
    with host.ledger(ANNA) as ledger:
        found = ledger.early_verdicts.find(identity(SPAM), time.time())
        assert found is not None
        assert (found.verdict, found.asker) == ("spam", f"spamd for {ANNA}")
        assert ledger.lessons.verify() == []


def test_spellings(host: OfHost) -> None:
    """A name in other letters, or with a detail behind "+", is the user's; another user of that name comes first."""
    host.user(ANNA)
    assert told(check(host, "Anna+lists@Example.ORG")) == (True, 9.9)
    host.user("anna+lists@example.org", is_new=True)
    assert told(check(host, "anna+lists@example.org")) == (False, 0.0)


@pytest.mark.parametrize(
    "user",
    [
        "carl@example.org",
        "anna",
        "root",
        "../../vmail/example.org/anna",
        "..@example.org",
        "../x",
        "/etc/passwd@example.org",
        "anna@../example.org",
        "anna\x00@example.org",
        "anna@example.org\x00",
        "anna@example.org/../../x",
        "anna\r@example.org",
        "\x1b[2Janna@example.org",
        "*@example.org",
        "{local}@{domain}",
        "\u0430nna@example.org",
        "x" * 5000 + "@example.org",
    ],
)
@pytest.mark.parametrize("command", ["CHECK", "TELL"])
def test_nobody(host: OfHost, user: str, command: str, caplog: pytest.LogCaptureFixture) -> None:
    """An unknown user gets no answer; no file is made or read for such a name, and the log shows it harmlessly."""
    host.user(ANNA)
    before = host.files()
    fields = ["Message-class: spam", "Set: local"] if command == "TELL" else []
    with caplog.at_level("INFO"):
        got = host.ask(request(command, SPAM, "1.5", *fields, user=user))
    assert got == b"SPAMD/1.0 69 Service Unavailable: there is no such user\r\n"
    assert host.files() == before
    assert caplog.text.isprintable() or "\x1b" not in caplog.text
    assert f"{command} is not answered: there is no user " in caplog.text
    assert max(map(len, caplog.text.splitlines())) < 300


def test_too_long_a_name(host: OfHost) -> None:
    """A name of ten thousand bytes is not a line of the protocol."""
    host.user(ANNA)
    assert check(host, "x" * 10_000).startswith(b"SPAMD/1.0 76 ")


def test_no_name(host: OfHost, caplog: pytest.LogCaptureFixture) -> None:
    """A request without a user gets no answer, and the log says what is missing."""
    host.user(ANNA)
    with caplog.at_level("INFO"):
        assert check(host, "") == b"SPAMD/1.0 69 Service Unavailable: no user is named\r\n"
    assert "CHECK is not answered: it names no user, and a mail host needs one (spamc -u)" in caplog.text
    assert host.ask(b"PING SPAMC/1.5\r\n") == b"SPAMD/1.5 0 PONG\r\n"


def test_left_out(host: OfHost) -> None:
    """A user whom the configuration leaves out is unknown."""
    host.user(ANNA)
    host.set("  without: [anna@*]\n")
    assert check(host, ANNA).startswith(b"SPAMD/1.0 69 ")


def test_link(host: OfHost) -> None:
    """A link in place of a Maildir does not make its creator a user."""
    host.user(ANNA)
    place = host.site.mail / "example.org" / "mallory"
    place.mkdir()
    (place / "Maildir").symlink_to(host.site.mail / "example.org" / "anna" / "Maildir")
    assert check(host, "mallory@example.org").startswith(b"SPAMD/1.0 69 ")


def test_comes_and_goes(host: OfHost) -> None:
    """A user is answered from the moment when there is a Maildir, and until it is gone; the ledger stays."""
    assert check(host, ANNA).startswith(b"SPAMD/1.0 69 ")
    host.user(ANNA)
    assert told(check(host, ANNA)) == (True, 9.9)
    shutil.rmtree(host.site.mail / "example.org")
    assert check(host, ANNA).startswith(b"SPAMD/1.0 69 ")
    assert totals(host, ANNA) == _TAUGHT


def test_mail_is_not_mounted(host: OfHost) -> None:
    """If the users on the disk cannot be determined, nobody gets an answer."""
    host.user(ANNA)
    host.site.mail.rename(host.site.directory / "aside")
    assert check(host, ANNA) == b"SPAMD/1.0 69 Service Unavailable: the ledger cannot be used now\r\n"


def test_own_settings(host: OfHost) -> None:
    """A user's own settings hold from the next request on; a faulty file leaves those of all users."""
    for user in (ANNA, BOB):
        host.user(user)
    host.site.own(ANNA, "scoring: {spam_cutoff: 1.0, ham_cutoff: 0.0}\n")
    assert not told(check(host, ANNA))[0]
    assert told(check(host, BOB)) == (True, 9.9)
    host.site.own(ANNA, "scoring: {spam_cutof: 1.0}\n")
    assert told(check(host, ANNA)) == (True, 9.9)


# A user without a ledger


def test_asking_makes_nothing(host: OfHost) -> None:
    """A new user's mail is unsure, as with an empty ledger; neither asking nor forgetting makes a file."""
    host.user(ANNA, is_new=True)
    before = host.files()
    for mail in (SPAM, HAM, UNSURE):
        assert told(check(host, ANNA, mail)) == (False, 0.0)
    report = host.ask(request("REPORT", SPAM, user=ANNA))
    assert b"No verdict is given yet: 1 more ham message and 1 more spam message to learn" in report
    assert b"X-Spamnb: unsure, " in host.ask(request("PROCESS", SPAM, user=ANNA))
    assert tell(host, ANNA, SPAM, "forget").endswith(b"EX_OK\r\n\r\n")
    assert host.files() == before


def test_teaching_makes_the_ledger(host: OfHost) -> None:
    """A first lesson makes the ledger, for its owner alone, and counts from then on."""
    host.user(ANNA, is_new=True)
    for number in range(3):
        for kind in ("spam", "ham"):
            assert tell(host, ANNA, message(kind, number), kind).endswith(b"DidSet: local\r\n\r\n")
    assert stat.S_IMODE(host.path_of(ANNA).stat().st_mode) == 0o600
    assert stat.S_IMODE(host.path_of(ANNA).parent.stat().st_mode) == 0o700
    assert totals(host, ANNA) == [3, 3]
    assert told(check(host, ANNA))[0]


def test_taught_at_once(host: OfHost) -> None:
    """Many first lessons at once make one ledger, with all of them."""
    host.user(ANNA, is_new=True)
    with ThreadPoolExecutor(20) as clients:
        answers = clients.map(lambda number: tell(host, ANNA, message("ham", number), "ham"), range(40))
        assert all(answer.endswith(b"DidSet: local\r\n\r\n") for answer in answers)
    assert totals(host, ANNA) == [40, 0]


def test_lost_ledger(host: OfHost) -> None:
    """If a ledger is gone but its copies are not, the user is not new: no request is answered, and no file made."""
    host.user(ANNA)
    copy = Path(of_day(str(host.path_of(ANNA)), time.time()))
    copy.parent.mkdir()
    host.path_of(ANNA).rename(copy)
    before = host.files()
    for answer in (check(host, ANNA), tell(host, ANNA, SPAM, "spam")):
        assert answer == b"SPAMD/1.0 69 Service Unavailable: the ledger cannot be used now\r\n"
    assert host.files() == before


# Many users


@pytest.mark.thorough
def test_fifty_side_by_side(host: OfHost) -> None:
    """Fifty users who ask and teach at once are all answered, and each filter learns only its own user's mail."""
    users = [host.user(f"user{number}@example{number % 3}.org", is_new=number % 2 == 0) for number in range(50)]

    def work(number: int) -> list[bytes]:
        mail = [message("ham", 2000 + 10 * number + step) for step in range(3)]
        return [tell(host, users[number], one, "ham") + check(host, users[number], one) for one in mail]

    with ThreadPoolExecutor(50) as clients:
        for answers in clients.map(work, range(50)):
            assert all(b"DidSet" in one and one.count(b" 0 EX_OK") == 2 for one in answers), answers
    for number, user in enumerate(users):
        assert totals(host, user) == ([3, 0] if number % 2 == 0 else [LESSONS + 3, LESSONS])
        with host.ledger(user) as ledger:
            assert ledger.lessons.verify() == []


@pytest.mark.thorough
def test_held_ledgers(host: OfHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """While other processes write to the ledgers of five of twenty users, the others' mail is judged and learned.

    The five's mail is judged too, and what they teach is learned once their ledgers are free.
    """
    monkeypatch.setattr("spamnb.spamd.requests._PATIENCE", 10 * PATIENCE)
    within = 2.0
    monkeypatch.setattr("spamnb.spamd.requests.REMEMBERED_WITHIN", within)
    users = [host.user(f"user{number}@example.org") for number in range(20)]
    busy, others = users[:5], users[5:]
    mail = [message("ham", 3000 + number) for number in range(4)]
    with ThreadPoolExecutor(60) as clients:
        with contextlib.ExitStack() as stack:
            for user in busy:
                stack.enter_context(held(host, user))
            waiting = [clients.submit(tell, host, user, one, "ham") for user in busy for one in mail]
            verdicts = [clients.submit(check, host, user) for user in busy for _ in range(8)]
            began = time.monotonic()
            for user in others:
                assert told(check(host, user)) == (True, 9.9)
                assert tell(host, user, mail[0], "ham").endswith(b"DidSet: local\r\n\r\n")
            in_turn = len(verdicts) * within / ServerLimits().workers  # what it takes where workers wait with the five
            assert time.monotonic() - began < in_turn / 2
            assert all(told(one.result(PATIENCE)) == (True, 9.9) for one in verdicts)
            assert not any(one.done() for one in waiting)
        assert all(one.result(PATIENCE).endswith(b"DidSet: local\r\n\r\n") for one in waiting)
    for user in busy:
        assert totals(host, user) == [LESSONS + 4, LESSONS]
        with host.ledger(user) as ledger:
            until(lambda ledger=ledger: ledger.early_verdicts.find(identity(SPAM), time.time()), "the verdict")  # type: ignore[misc]


def test_end_while_a_verdict_waits(
    host: OfHost, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A verdict that was sent but not yet written is written at the end of the service."""
    monkeypatch.setattr("spamnb.spamd.requests.REMEMBERED_WITHIN", 0.05)
    host.user(ANNA)
    with ThreadPoolExecutor(1) as threads:
        with held(host, ANNA):
            assert told(check(host, ANNA)) == (True, 9.9)
            closing = threads.submit(host.spamd.close)
            until(lambda: not any(one.name == "spamd" for one in threading.enumerate()), "the connections to end")
            assert not closing.done()
        closing.result(PATIENCE)
    with host.ledger(ANNA) as ledger:
        assert ledger.early_verdicts.find(identity(SPAM), time.time()) is not None
    assert caplog.text == ""


def test_ledger_that_is_being_replaced(host: OfHost) -> None:
    """While a ledger is replaced its user's mail waits, and no other user's."""
    for user in (ANNA, BOB):
        host.user(user)
    with ThreadPoolExecutor(4) as clients:
        with holding(str(host.path_of(ANNA)), exclusive=True, seconds=PATIENCE, only_read=False):
            waiting = [clients.submit(check, host, ANNA) for _ in range(4)]
            for _ in range(5):
                assert told(check(host, BOB)) == (True, 9.9)
            assert not any(one.done() for one in waiting)
        assert all(told(one.result(PATIENCE)) == (True, 9.9) for one in waiting)


def test_damaged_ledger(host: OfHost) -> None:
    """A damaged ledger is a fault of its user alone, until there is a sound one."""
    for user in (ANNA, BOB):
        host.user(user)
    sound = host.path_of(ANNA).read_bytes()
    host.path_of(ANNA).write_bytes(b"no ledger" * 1000)
    assert check(host, ANNA) == b"SPAMD/1.0 69 Service Unavailable: the ledger cannot be used now\r\n"
    assert told(check(host, BOB)) == (True, 9.9)
    host.path_of(ANNA).write_bytes(sound)
    assert told(check(host, ANNA)) == (True, 9.9)


def test_few_files_are_open(host: OfHost) -> None:
    """However many users were asked about, no ledger stays open."""
    users = [host.user(f"user{number}@example.org") for number in range(20)]
    check(host, users[0])
    before = len(os.listdir("/proc/self/fd"))
    for user in users:
        assert told(check(host, user)) == (True, 9.9)
        assert b"DidSet" in tell(host, user, HAM, "ham")
    until(lambda: len(os.listdir("/proc/self/fd")) <= before, "the ledgers to be closed")


# Who may ask, and on which sockets


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user(host: OfHost) -> None:
    """A configured local user may ask for every user; any other for none, not even for its own name."""
    host.site = replace(host.site, path="{user}/Maildir")
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        host.path = f"{place}/s"
        host.set(peers="['12345']")
        host.site.maildir("root/Maildir")
        answers = [asked_by(user, host.path) for user in (12345, 12346)]
    assert answers[0].startswith("SPAMD/1.1 0 EX_OK")
    assert answers[1].startswith("SPAMD/1.0 69 Service Unavailable: user 12346 may not ask here")


def test_over_tcp(host: OfHost) -> None:
    """Over TCP all of this host may ask for every user, and teach if that is configured."""
    host.user(ANNA)
    with held_port() as port:
        for whom, end in (
            ("sockets", b"TELL is not allowed here (spamd.teach)\r\n"),
            ("tcp", b"DidSet: local\r\n\r\n"),
        ):
            host.set(listen=f"['127.0.0.1:{port}']", teach=whom)
            for sent, expected in (
                (request("CHECK", SPAM, user=ANNA), b"Spam: True ; 9.9 / 5.0\r\n\r\n"),
                (request("TELL", UNSURE, "1.5", "Message-class: spam", "Set: local", user=ANNA), end),
            ):
                with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                    assert exchange(client, sent).endswith(expected)


def test_shares(host: OfHost) -> None:
    """Several services answer on one socket, each for all users, and go on if one of them has ended."""
    users = [host.user(f"user{number}@example.org") for number in range(8)]
    host.set(listen="[]")
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(host.path)
        served.listen()
        services = []
        for number in (1, 2):
            same = served.dup()
            same.setblocking(False)
            services.append(SpamdService([Listener(same, host.path, is_unix=True)], tools()))
            services[-1].use(ServedHost(replace(host.host, share=Share(number, 2))))
        try:
            with ThreadPoolExecutor(8) as clients:
                assert {told(answer) for answer in clients.map(lambda user: check(host, user), users * 5)} == {
                    (True, 9.9)
                }
                services[0].close()
                assert {told(answer) for answer in clients.map(lambda user: check(host, user), users * 5)} == {
                    (True, 9.9)
                }
        finally:
            for service in services:
                service.close()


def test_shares_without_systemd(host: OfHost, tmp_path: Path) -> None:
    """Of several services with one `spamd.listen`, one answers for all users; if it ends, another takes its place."""
    users = [host.user(f"user{number}@example.org") for number in range(4)]
    host.set(listen="[]")
    host.path = str(tmp_path / "host" / "shares.sock")
    of_all = host.site.host(f"learning: {{minimum_messages: 1}}\nspamd: {{listen: [{host.path}]}}\n")
    now = 0.0
    with contextlib.ExitStack() as stack:
        claims, services = [], []
        for number in (1, 2, 3):
            share = Share(number, 3)
            claims.append(stack.enter_context(contextlib.ExitStack()))
            claims[-1].enter_context(claimed(of_all.directory, share))
            made = SpamdService((), tools(), clock=lambda: now)
            services.append(stack.enter_context(contextlib.closing(made)))
            services[-1].use(ServedHost(replace(of_all, share=share)))
        assert [service.addresses for service in services] == [[host.path], [], []]
        assert all(service.is_wanted for service in services)
        for ends in (0, 1):
            assert {told(check(host, user)) for user in users} == {(True, 9.9)}
            services[ends].close()
            claims[ends].close()
            now += 5.0
            for service in services[ends + 1 :]:
                assert service.due_in() == 0.0
                service.work()
            assert [service.addresses for service in services[ends + 1 :]] == [[host.path], []][: 2 - ends]
        assert {told(check(host, user)) for user in users} == {(True, 9.9)}


def test_a_strange_program_is_faster(host: OfHost, tmp_path: Path) -> None:
    """If a strange program takes the address before a service that waits for it, the service goes on waiting."""
    host.set(listen="[]")
    host.path = str(tmp_path / "host" / "shares.sock")
    of_all = host.site.host(f"spamd: {{listen: [{host.path}]}}\n")
    now = 0.0
    with contextlib.ExitStack() as stack:
        made = [SpamdService((), tools(), clock=lambda: now) for _ in range(2)]
        first, later = (stack.enter_context(contextlib.closing(service)) for service in made)
        with claimed(of_all.directory, Share(1, 2)):
            first.use(ServedHost(replace(of_all, share=Share(1, 2))))
            later.use(ServedHost(replace(of_all, share=Share(2, 2))))
        first.close()
        with socket.socket(socket.AF_UNIX) as strange:
            strange.bind(host.path)
            strange.listen()
            now = 5.0
            later.work()
            assert (later.addresses, later.due_in()) == ([], 5.0)
        now = 10.0
        later.work()
        assert later.addresses == [host.path]


def test_a_strange_program_at_the_address(host: OfHost) -> None:
    """If the program that listens there is no service of the host, the service does not begin."""
    host.set(listen="[]")
    of_all = host.site.host(f"spamd: {{listen: [{host.path}]}}\n")
    with socket.socket(socket.AF_UNIX) as strange:
        strange.bind(host.path)
        strange.listen()
        with (
            contextlib.closing(SpamdService((), tools())) as service,
            pytest.raises(SpamnbError, match="another program does"),
        ):
            service.use(ServedHost(replace(of_all, share=Share(1, 2))))


def test_reload_while_asked(host: OfHost) -> None:
    """While the configuration is read again all are answered, by the one or the other, and then by the new one."""
    users = [host.user(f"user{number}@example.org") for number in range(4)]
    over = threading.Event()

    def keep_asking(user: str) -> set[tuple[bool, float]]:
        answers = set()
        while not over.is_set():
            answers.add(told(check(host, user)))
        return answers

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(keep_asking, user) for user in users]
        try:
            for points in (7, 8, 7, 8, 7):
                host.set(most_points=points)
                assert told(check(host, users[0])) == (True, points)
        finally:
            over.set()
        assert set().union(*(one.result(PATIENCE) for one in asking)) <= {(True, 9.9), (True, 7.0), (True, 8.0)}


# By `spamnb filter`


def through(host: OfHost, *arguments: str) -> bytes:
    """A message through `spamnb filter`, as a delivery agent calls it."""
    done = warm.run("--config", str(host.host.path), *arguments, "filter", stdin=SPAM)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.partition(b"\n")[0]


def test_filter_for_a_user(host: OfHost) -> None:
    """`spamnb --user NAME filter` sends the user to the service, or without one uses the user's ledger."""
    host.user(ANNA)
    for asker in (f"spamd for {ANNA}", "spamnb filter"):
        assert through(host, "--user", "Anna+lists@example.org").startswith(b"X-Spamnb: spam, ")
        with host.ledger(ANNA) as ledger:
            found = ledger.early_verdicts.find(identity(SPAM), time.time())
            assert found is not None
            assert found.asker == asker
        host.spamd.close()


def test_filter_for_nobody(host: OfHost) -> None:
    """Without a user, or with an unknown one, the message passes, and its header says: unknown."""
    host.user(ANNA)
    for arguments in ([], ["--user", "carl@example.org"], ["--user", "../anna"]):
        assert through(host, *arguments).startswith(b"X-Spamnb: unknown, ")


# In the whole service


def test_beside_the_watching(host: OfHost, caplog: pytest.LogCaptureFixture) -> None:
    """The service of a host answers for its users while it works with their ledgers.

    What a rule files by its verdict is the filter's own move; what is taught beside it is learned.
    """
    host.spamd.close()
    host.user(ANNA)
    host.user(BOB, is_new=True)
    folders = {}
    for user in (ANNA, BOB):
        root = str(host.host.find(user).root)  # type: ignore[union-attr]
        folders[user] = {name: create_folder(root, "maildir++", name) for name in ("INBOX", "Junk")}
    service = Daemon(lambda: ServedHost(host.host), Notifier({}), parts=(partial(SpamdService, ()),))
    with caplog.at_level("INFO"), ThreadPoolExecutor(1) as threads:
        running = threads.submit(service.run)
        try:
            until(lambda: f"watching 2 users, answering on {host.path}" in caplog.text, "the service to watch")
            until(lambda: caplog.text.count("recorded 0 existing messages") == 2, "both to be known")
            assert told(check(host, ANNA)) == (True, 9.9)
            deliver(folders[ANNA]["Junk"], SPAM, "1.by-sieve")
            assert tell(host, BOB, SPAM, "spam").endswith(b"DidSet: local\r\n\r\n")
            deliver(folders[BOB]["INBOX"], HAM, "1.by-lmtp")

            def seen(user: str, mail: bytes) -> bool:
                with Ledger(str(host.path_of(user)), only_read=True) as ledger:
                    known = ledger.messages.find(identity(mail))
                    return known is not None and known.verdict is not None

            until(lambda: seen(ANNA, SPAM) and seen(BOB, HAM), "the service to see both")
        finally:
            service.stop()
            running.result(PATIENCE)
    assert label(host, ANNA, SPAM) is None
    assert totals(host, ANNA) == _TAUGHT
    assert totals(host, BOB) == [0, 1]
