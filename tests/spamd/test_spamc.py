"""The real spamc (Debian: spamc), option by option: its output for spam, for ham, and without a service."""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests.lessons import label_of
from tests.patience import PATIENCE
from tests.spamd.conftest import OfHost, Service

pytestmark = [
    pytest.mark.real_system,
    pytest.mark.skipif(shutil.which("spamc") is None, reason="spamc is not installed (Debian: apt install spamc)"),
]
SPAM, HAM = message("spam", 900), message("ham", 900)
Run = Callable[..., tuple[int, bytes]]


def spamc(*arguments: str, mail: bytes) -> tuple[int, bytes]:
    """The exit code and the output of spamc; it says nothing on standard error."""
    done = subprocess.run(["spamc", *arguments], input=mail, capture_output=True, timeout=PATIENCE, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout


@pytest.fixture(params=["unix", "tcp"])
def run(request: pytest.FixtureRequest, service: Service) -> Run:
    """Run spamc over a socket in the file system, and over TCP, where TELL is allowed here."""
    if request.param == "unix":
        return lambda *arguments, mail: spamc("-U", service.path, *arguments, mail=mail)
    service.set(listen=("127.0.0.1:0",), teach="tcp")
    port = port_of(service)
    return lambda *arguments, mail: spamc("-d", "127.0.0.1", "-p", port, *arguments, mail=mail)


def port_of(service: Service) -> str:
    """The port that the kernel chose for the only socket of a service."""
    (address,) = service.spamd.addresses
    return address.rpartition(":")[2]


def marked(mail: bytes) -> bytes:
    """Spam with the verdict in its header, in which P is the probability: see `masked`."""
    return (
        b"X-Spamnb: spam, probability=P, score=9.9, version=0.1.0\nX-Spam-Flag: YES\n"
        b"X-Spam-Status: Yes, score=9.9 required=5.0 tests=SPAMNB_SPAM version=0.1.0\n"
        b"X-Spam-Level: *********\n" + mail
    )


def masked(answer: tuple[int, bytes]) -> tuple[int, bytes]:
    """An answer in which a high probability is P."""
    code, mail = answer
    return code, re.sub(rb"(?<=probability=)0\.9999\d\d", b"P", mail)


def test_message_with_verdict(run: Run) -> None:
    """Without an option the message comes back with the verdict in its header; -E makes the exit code the verdict."""
    assert masked(run(mail=SPAM)) == (0, marked(SPAM))
    assert masked(run("-E", mail=SPAM)) == (1, marked(SPAM))
    code, ham = run("-E", mail=HAM)
    assert (code, ham[-len(HAM) :]) == (0, HAM)
    assert re.search(rb"X-Spam-Status: No, score=-\d\.\d ", ham)
    crlf = SPAM.replace(b"\n", b"\r\n")
    assert masked(run(mail=crlf)) == (0, marked(SPAM).replace(b"\n", b"\r\n"))


# QUIRK: spamc --headers itself loses what follows a NUL: it appends the body as a C string.
@pytest.mark.parametrize(
    "mail", [SPAM, SPAM.replace(b"\n", b"\r\n"), b"no header\n\nat all\n", b"Subject: x\n\nno end", b"\nbody\n\nmore"]
)
def test_headers(run: Run, mail: bytes) -> None:
    """With --headers the same message comes back as without."""
    assert run("--headers", mail=mail) == run(mail=mail)


def test_check(run: Run) -> None:
    """-c prints the score, and exits 1 for spam."""
    assert run("-c", mail=SPAM) == (1, b"9.9/5.0\n")
    code, told = run("-c", mail=HAM)
    assert code == 0
    assert re.fullmatch(rb"-\d\.\d/5\.0\n", told)


def test_reports(run: Run) -> None:
    """-R prints score and report, -r only of spam, -y the names; with -E the exit code is the verdict."""
    code, report = run("-R", mail=SPAM)
    assert code == 0
    assert report.startswith(b"9.9/5.0\nspamnb 0.1.0: spam, 9.9 points of 5.0 required\n")
    assert run("-R", "-E", mail=SPAM) == (1, report)
    assert run("-r", mail=SPAM) == (0, report)
    assert run("-r", "-E", mail=SPAM) == (1, report)
    assert run("-r", mail=HAM) == (0, b"")
    assert run("-y", mail=SPAM) == (0, b"SPAMNB_SPAM,")
    assert run("-y", mail=HAM) == (0, b"SPAMNB_HAM,")


def test_learning(run: Run, service: Service) -> None:
    """-L learns and forgets; no change is reported and not an error. -C learns here, and reports to nobody."""
    done, same = (0, b"Message successfully un/learned\n"), (0, b"Message was already un/learned\n")
    mail = b"Subject: hello\n\nnothing much\n"
    for what, said, label in (("spam", done, 1), ("spam", same, 1), ("ham", done, 0), ("forget", done, None)):
        assert run("-L", what, mail=mail) == said
        assert learned(service, mail) == label
    assert run("-L", "forget", mail=mail) == same
    assert run("-C", "report", mail=mail) == (0, b"Unable to report/revoke message\n")
    assert learned(service, mail) == 1
    assert run("-C", "revoke", mail=mail) == (0, b"Unable to report/revoke message\n")
    assert learned(service, mail) == 0


def learned(service: Service, mail: bytes) -> int | None:
    """Return the label of a message."""
    with Ledger(str(service.config.ledger)) as ledger:
        return label_of(ledger, identity(mail))


def test_ping(run: Run) -> None:
    """-K says that the service lives."""
    assert run("-K", mail=b"") == (0, b"SPAMD/1.5 0\n")


def test_not_sent(run: Run) -> None:
    """A message larger than -s, or an empty one, is not sent, and comes back unchanged."""
    assert run("-s", "100", mail=SPAM) == (0, SPAM)
    assert run("-s", "100", "-c", mail=SPAM) == (0, b"0/0\n")
    assert run(mail=b"") == (0, b"")


def test_user_and_times(run: Run, service: Service) -> None:
    """-u names the user, -t and -n are spamc's own patience; the verdict is remembered with the name."""
    assert run("-u", "bob@example.net", "-t", "20", "-n", "20", "-c", mail=SPAM) == (1, b"9.9/5.0\n")
    with service.ledger() as ledger:
        found = ledger.early_verdicts.find(identity(SPAM), 0.0)
        assert found is not None
        assert found.asker == "spamd for bob@example.net"


def test_refused(service: Service) -> None:
    """If teaching is not allowed spamc fails, and reports no success."""
    service.set(teach="nobody")
    assert spamc("-U", service.path, "-L", "spam", mail=SPAM) == (74, b"")
    service.set(listen=("127.0.0.1:0",), teach="sockets")
    assert spamc("-d", "127.0.0.1", "-p", port_of(service), "-L", "spam", mail=SPAM) == (74, b"")
    assert learned(service, SPAM) is None


def test_away(tmp_path: Path) -> None:
    """Without a service the message comes back unchanged; -x reports the missing service."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    nobody = ["-U", str(tmp_path / "dead"), "--connect-retries=1"]
    assert spamc(*nobody, mail=SPAM) == (0, SPAM)
    assert spamc(*nobody, "-c", mail=SPAM) == (0, b"0/0\n")
    assert spamc(*nobody, "-x", mail=SPAM) == (69, b"")
    assert spamc(*nobody, "-L", "ham", mail=SPAM) == (69, b"")


def test_no_verdict(service: Service) -> None:
    """If the ledger cannot be used the message comes back unchanged; -x reports a failure."""
    service.config.ledger.rename(service.config.ledger.with_name("aside"))
    assert spamc("-U", service.path, mail=SPAM) == (0, SPAM)
    assert spamc("-U", service.path, "-x", mail=SPAM) == (74, b"")
    assert spamc("-U", service.path, "-L", "ham", mail=SPAM) == (74, b"")


def test_large(service: Service) -> None:
    """A message of many megabytes comes back whole."""
    mail = SPAM + b"".join(b"line %d of many\n" % number for number in range(500_000))
    code, got = spamc("-U", service.path, "-s", "100000000", mail=mail)
    assert code == 0
    assert got[-len(mail) :] == mail
    assert got.startswith(b"X-Spamnb: ")


def test_many_at_once(service: Service) -> None:
    """Forty at once are all answered."""
    answers: list[tuple[int, bytes]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(spamc("-U", service.path, "-c", mail=SPAM))) for _ in range(40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(1, b"9.9/5.0\n")] * 40


# On a mail host


def test_fifty_users(host: OfHost) -> None:
    """-u selects the user's filter: fifty users who learn and ask side by side get their own verdicts."""
    users = [host.user(f"user{number}@example{number % 2}.org") for number in range(50)]
    mails = [b"Subject: hello\n\n" + b"nothing much, %d\n" % number for number in range(50)]

    def work(user: str, mail: bytes) -> list[tuple[int, bytes]]:
        ways = ["-L", "spam"], ["-L", "spam"], ["-c"]
        return [spamc("-U", host.path, "-u", user, *way, mail=mail if way != ["-c"] else SPAM) for way in ways]

    with ThreadPoolExecutor(20) as clients:
        for answers in clients.map(work, users, mails):
            assert answers == [
                (0, b"Message successfully un/learned\n"),
                (0, b"Message was already un/learned\n"),
                (1, b"9.9/5.0\n"),
            ]
    for user, mail in zip(users, mails, strict=True):
        with host.ledger(user) as ledger:
            assert [label_of(ledger, identity(one)) for one in mails] == [1 if one == mail else None for one in mails]


def test_no_such_user(host: OfHost) -> None:
    """For an unknown user the message comes back unchanged; -x reports a failure, and nothing is learned."""
    host.user("anna@example.org")
    before = host.files()
    for user in ("carl@example.org", "../example.org/anna", "anna"):
        who = ["-U", host.path, "-u", user]
        assert spamc(*who, mail=SPAM) == (0, SPAM)
        assert spamc(*who, "-x", mail=SPAM) == (74, b"")
        assert spamc(*who, "-L", "spam", mail=SPAM) == (74, b"")
    assert host.files() == before


@pytest.mark.slow
def test_whole_messages_at_once(run: Run) -> None:
    """Many large messages at once are all answered, one after the other."""
    mail = SPAM + b"\n" + b"some words and more of them\n" * (30_000_000 // 28)
    with ThreadPoolExecutor(10) as clients:
        asked = [clients.submit(run, "-x", "-c", "-s", "33554432", mail=mail) for _ in range(10)]
        assert [one.result(300) for one in asked] == [(1, b"9.9/5.0\n")] * 10
