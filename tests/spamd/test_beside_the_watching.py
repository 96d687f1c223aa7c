"""The whole service as a process: it answers on its sockets while it watches, learns, is reloaded and is stopped."""

import contextlib
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.checkup.checkup import checkup
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.service.daemon import Daemon
from spamnb.spamd.checks import CHECKS
from spamnb.spamd.service import SpamdService
from tests.patience import PATIENCE, until
from tests.service.conftest import Site, in_thread
from tests.spamd.conftest import exchange, request


def socket_of(site: Site) -> str:
    """Return the socket of the service."""
    return str(site.directory / "spamd.sock")


def ask(site: Site, sent: bytes) -> bytes:
    """Return the answer of the service."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(socket_of(site))
        return exchange(client, sent)


@pytest.fixture
def answering(site: Site) -> Site:
    """The service, which knows ham from spam, watches, and answers."""
    site.configure(f"spamd: {{listen: [{socket_of(site)}]}}")
    site.teach()
    site.start()
    return site


def is_answering(site: Site) -> bool:
    """Whether the service answers. A socket is there before anybody listens at it."""
    with contextlib.suppress(OSError):
        return ask(site, b"PING SPAMC/1.5\r\n") == b"SPAMD/1.5 0 PONG\r\n"
    return False


@contextlib.contextmanager
def answering_in_thread(site: Site) -> Iterator[tuple[Daemon, "Future[None]"]]:
    """The service in a thread of this process, from the moment on at which it answers."""
    site.configure(f"spamd: {{listen: [{socket_of(site)}]}}")
    with in_thread(site, parts=(partial(SpamdService, ()),)) as (service, running):
        until(lambda: is_answering(site), "the service to answer")
        yield service, running


def test_service_ends_where_nobody_is_answered(site: Site) -> None:
    """If answering ends by a fault, the service ends with an error at once, so that it is started again."""
    ends = pytest.raises(SpamnbError, match="the spamd protocol is no longer answered")
    with ends, answering_in_thread(site) as (service, running):
        (spamd,) = service._parts
        assert isinstance(spamd, SpamdService)
        assert spamd._running is not None
        spamd._running[0]._loop.call_soon_threadsafe(sys.exit)
        wait([running], PATIENCE)


def test_service_ends_where_answering_is_stuck(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If answering hangs, the service ends with an error in time, even if nothing else happens."""
    release = threading.Event()
    with (
        pytest.raises(SpamnbError, match="is stuck"),
        answering_in_thread(site) as (service, running),
    ):
        (spamd,) = service._parts
        assert isinstance(spamd, SpamdService)
        assert spamd._running is not None
        server = spamd._running[0]
        server._loop.call_soon_threadsafe(release.wait)
        monkeypatch.setattr("spamnb.spamd.server._ASKED_EVERY", 0.1)
        monkeypatch.setattr("spamnb.spamd.server._HEARD_WITHIN", 0.5)
        service._wake()  # by the limits of before it would wait for ten seconds
        try:
            wait([running], PATIENCE / 2)
        finally:
            release.set()
            service.stop()
            server._thread.join(PATIENCE)  # it closes what it has open


def kinds(site: Site, mail: bytes) -> list[tuple[str, str | None]]:
    """Return the kinds of the actions on a message."""
    with Ledger(str(site.ledger)) as ledger:
        known = ledger.messages.find(identity(mail))
        return [] if known is None else [(one.kind, one.verdict) for one in ledger.journal.of_message(known.id)]


def test_from_the_verdict_to_junk(answering: Site) -> None:
    """Asked at delivery, filed by a rule or left in the inbox: each message is judged once, and none is learned."""
    filed, left, kept = message("spam", 970), message("spam", 971), message("ham", 972)
    for mail in (filed, left, kept):
        assert b"Spam: " in ask(answering, request("CHECK", mail))
    received = b"Received: from a by b; Sat, 21 Nov 2026 10:00:00 +0000\n"
    answering.deliver(received + filed, "Junk")
    answering.deliver(received + left)
    answering.deliver(received + kept)
    until(lambda: len(answering.contents("Junk")) == 2, "spam to be moved")
    until(lambda: bool(kinds(answering, filed)), "what was filed to be looked at")
    assert [kinds(answering, mail) for mail in (filed, left, kept)] == [
        [("judged", "spam")],
        [("moved", "spam")],
        [("judged", "ham")],
    ]
    assert answering.faults() == []


def deliver_by_the_verdict(site: Site, number: int) -> list[bytes]:
    """Deliver so many messages as a mail server with a rule does: asked, changed on the way, filed by the answer."""
    delivered = []
    for each in range(number):
        mail = message("spam" if each % 2 else "ham", 20_000 + each)
        told = ask(site, request("PROCESS", mail if each % 3 else mail.replace(b"\n", b"\r\n"), user="bob"))
        marked = told.partition(b"\r\n\r\n")[2].replace(b"\r\n", b"\n")
        received = b"Return-Path: <a@b>\nDelivered-To: bob@b\nReceived: from a by b; Sat, 21 Nov 2026 10:00:00 +0000\n"
        is_filed = b"Spam: True" in told and each % 5  # some rules file nothing
        delivered.append(site.deliver(received + marked, "Junk" if is_filed else "INBOX"))
    return delivered


def check_nothing_learned(site: Site, number: int) -> None:
    """Wait until all mail is settled: each message is judged once, and none is learned without a person."""
    with Ledger(str(site.ledger)) as ledger:
        before = ledger.lessons.totals().tolist()
    delivered = deliver_by_the_verdict(site, number)
    until(lambda: all(kinds(site, mail) for mail in delivered[-20:]), "the last to be looked at", limit=2 * PATIENCE)
    until(lambda: not [mail for mail in delivered if not kinds(site, mail)], "all to be looked at", limit=2 * PATIENCE)
    assert {len(kinds(site, mail)) for mail in delivered} == {1}
    assert {kind for mail in delivered for kind, _ in kinds(site, mail)} == {"judged", "moved"}
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals().tolist() == before
    assert site.faults() == []


def test_mail_filed_by_the_verdict(answering: Site) -> None:
    """Mail that a rule files by the service's verdict is judged once, and teaches nothing."""
    check_nothing_learned(answering, 60)


@pytest.mark.slow
def test_much_mail_filed_by_the_verdict(answering: Site) -> None:
    """A thousand messages neither."""
    check_nothing_learned(answering, 1000)


@pytest.mark.slow
def test_whole_messages_at_once(answering: Site) -> None:
    """Forty whole messages of 30 MB at once are all answered; the service holds few of them at a time."""
    sent = request("PROCESS", message("spam", 980) + b"\n" + b"some words and more of them\n" * (30_000_000 // 28))
    assert ask(answering, request("CHECK", message("spam", 980))).endswith(b"Spam: True ; 9.9 / 5.0\r\n\r\n")
    before = most_memory(answering)
    with ThreadPoolExecutor(40) as clients:
        answers = [one.result(5 * PATIENCE) for one in [clients.submit(ask, answering, sent) for _ in range(40)]]
    assert [answer[:19] for answer in answers] == [b"SPAMD/1.1 0 EX_OK\r\n"] * 40
    assert min(map(len, answers)) > 30_000_000
    assert most_memory(answering) - before < 40 * 30 / 5  # the messages held at once, and what two threads read
    assert b"Spam: True" in ask(answering, request("CHECK", message("spam", 981)))


def most_memory(site: Site) -> float:
    """MB that the service has ever taken (proc(5), VmHWM)."""
    assert site.process is not None
    (found,) = re.findall(r"VmHWM:\s+([0-9]+) kB", Path(f"/proc/{site.process.pid}/status").read_text())
    return int(found) / 1e3


def test_learned_once_though_told_twice(answering: Site) -> None:
    """A lesson that an IMAP server sends by TELL, and the watching sees too, counts once; TELL moves nothing."""
    mail = answering.deliver(message("ham", 973))
    stays = answering.deliver(message("ham", 974))
    until(lambda: bool(kinds(answering, mail) and kinds(answering, stays)), "it to be judged")
    assert b"DidSet" in ask(answering, request("TELL", stays, "1.5", "Message-class: spam", "Set: local"))
    answering.move(mail, "INBOX", "Junk")
    told = request("TELL", mail.replace(b"\n", b"\r\n"), "1.5", "Message-class: spam", "Set: local")
    assert b"DidSet" in ask(answering, told)
    until(lambda: mail in answering.contents("Junk") and answering.label(mail) == 1, "it to be learned")
    with Ledger(str(answering.ledger)) as ledger:
        until(lambda: all(folder != "INBOX" for folder in _places(ledger, mail)), "the move to be seen")
    assert [kind for kind, _ in kinds(answering, mail)] == ["judged", "learned"]
    assert stays in answering.contents("INBOX")


def _places(ledger: Ledger, mail: bytes) -> list[str]:
    known = ledger.messages.find(identity(mail))
    assert known is not None
    return [place.folder_name for place in ledger.locations.of_message(known.id) if place.gone_at is None]


def test_reload(answering: Site) -> None:
    """A reload takes the new sockets in use; one with a socket that cannot be opened leaves the old ones."""
    assert answering.process is not None
    good = answering.config.read_text()
    answering.config.write_text(good.replace(socket_of(answering), "/nowhere/at/all.sock"))
    answering.process.send_signal(signal.SIGHUP)
    until(lambda: "cannot listen on /nowhere/at/all.sock" in answering.log(), "the fault to be reported")
    until(lambda: answering.log().count("watching") == 2, "working again")
    assert b"Spam: True" in ask(answering, request("CHECK", message("spam", 975)))
    answering.config.write_text(good.replace("spamd: {", "spamd: {most_points: 7, "))
    answering.process.send_signal(signal.SIGHUP)
    until(lambda: answering.log().count("watching") == 3, "working with the new one")
    assert b"Spam: True ; 7.0" in ask(answering, request("CHECK", message("spam", 976)))
    assert answering.end() == 0
    assert not Path(socket_of(answering)).exists()


def test_doctor(answering: Site) -> None:
    """`doctor` asks the service at its sockets, and checks that the configured users exist."""

    def found() -> list[tuple[str, str]]:
        of_all = checkup(answering.config, {}, parts=(CHECKS,))
        return [(one.state, one.means) for one in of_all if one.what == "spamd"]

    assert found() == [("ok", f"the service answers on {socket_of(answering)}")]
    answering.configure("spamd: {listen: [/nowhere/at/all.sock], peers: [nobody-at-all]}")
    assert found() == [
        ("fault", "there is no user 'nobody-at-all', and the service does not start"),
        ("fault", "nobody answers on /nowhere/at/all.sock: No such file or directory"),
    ]


def test_cannot_start(site: Site) -> None:
    """A socket that cannot be opened ends the start with one line that says what to do."""
    site.configure("spamd: {listen: [/nowhere/at/all.sock]}")
    site.start(wait=False)
    assert site.process is not None
    assert site.process.wait(PATIENCE) == 3
    assert "cannot listen on /nowhere/at/all.sock: No such file or directory; make its directory" in site.log()


def test_once_answers_nobody(site: Site) -> None:
    """`run --once` opens no socket."""
    site.configure(f"spamd: {{listen: [{socket_of(site)}]}}")
    assert site.once() == 0
    assert not Path(socket_of(site)).exists()


@pytest.mark.thorough
def test_sockets_from_systemd(site: Site) -> None:
    """A socket that systemd hands over is served without being configured, and is left to it at the end."""
    site.teach()
    with socket.socket(socket.AF_UNIX) as handed:
        handed.bind(socket_of(site))
        handed.listen()
        shell = f'exec 3<&{handed.fileno()}; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        with site.log_file.open("ab") as log:
            command = [sys.executable, "-m", "spamnb", "--config", str(site.config), "run"]
            site.process = subprocess.Popen(
                ["bash", "-c", shell, "bash", *command], stderr=log, pass_fds=[handed.fileno()]
            )
        until(lambda: f"answering on {socket_of(site)}" in site.log(), "the service to answer")
        assert b"Spam: True" in ask(site, request("CHECK", message("spam", 977)))
        assert site.end() == 0
    assert Path(socket_of(site)).exists()


def test_all_files_taken(answering: Site) -> None:
    """While silent clients take all connections that the files of the service allow, mail is judged and moved."""
    assert answering.process is not None
    of_service = answering.process.pid
    resource.prlimit(of_service, resource.RLIMIT_NOFILE, (150, 150))
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(200)]
        for client in waiting:
            client.connect(socket_of(answering))
            client.sendall(b"CHECK SPAMC/1.5\r\n")
        until(lambda: len(os.listdir(f"/proc/{of_service}/fd")) > 80, "connections to be taken")
        for number in range(3):
            spam = answering.deliver(message("spam", 30_000 + number))
            until(lambda spam=spam: spam in answering.contents("Junk"), "spam to be moved")  # type: ignore[misc]


def test_five_hundred_half_open(answering: Site) -> None:
    """While 500 connections send half a request and wait, requests are answered and mail is moved."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2000), hard))
    waiting = []
    try:
        for _ in range(500):
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].connect(socket_of(answering))
            waiting[-1].sendall(request("CHECK", b"x" * 1000)[:-500])
        assert b"Spam: True" in ask(answering, request("CHECK", message("spam", 978)))
        spam = answering.deliver(message("spam", 979))
        until(lambda: spam in answering.contents("Junk"), "spam to be moved")
        poll = select.poll()
        for client in waiting:
            poll.register(client, select.POLLIN)
        assert poll.poll(0) == []  # none was answered, and none given up
    finally:
        for client in waiting:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
