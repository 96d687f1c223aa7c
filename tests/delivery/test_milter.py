"""Postfix with spamass-milter (Debian: spamass-milter), which runs `spamc`, by the recipe of docs/mail-server.md."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.delivery.conftest import HAM, SPAM, Home, without_fields
from tests.delivery.postfix import USER, Postfix, by_smtp
from tests.documents import block
from tests.imap.conftest import program
from tests.patience import PATIENCE, until
from tests.spamd.conftest import Service

pytestmark = pytest.mark.real_system
DOCUMENT = "docs/mail-server.md"
_SOCKET = "/run/spamnb/anna.sock"  # in the document
_FORGED = b"X-Spam-Flag: YES\nX-Spam-Status: Yes, score=99.0 required=5.0\n"


@dataclass(frozen=True)
class Host:
    """Postfix, the milter and the service."""

    server: Postfix
    service: Service
    milter: "subprocess.Popen[bytes]"


@pytest.fixture
def host(home: Home) -> Iterator[Host]:
    """Postfix with the milter, which asks a service whose ledger is this home's."""
    found = program("spamass-milter")
    if program("postfix") is None or found is None or program("spamc") is None or os.getuid() != 0:
        pytest.skip("needs Postfix, spamass-milter and spamc (Debian: packages of these names), and root")
    for path in [home.path / "Maildir", *(home.path / "Maildir").rglob("*")]:
        shutil.chown(path, USER)
    directory = home.path / "spamd"
    directory.mkdir()
    shutil.copy(home.path / "ledger.sqlite", directory / "ledger")
    service = Service(directory)
    service.set(peers=(USER,))
    # The milter's own socket is below the queue, as its package has it.
    options = "".join(f"    -o {line.replace(' = ', '=')}\n" for line in block(DOCUMENT, "milter-postfix").splitlines())
    with by_smtp(home, f"smtp inet n - n - - smtpd\n{options}") as server:
        milter = _milter(found, home.path / "postfix" / "queue" / "spamass", service)
        try:
            yield Host(server, service, milter)
        finally:
            milter.terminate()
            milter.wait(PATIENCE)
            service.spamd.close()


def _milter(found: str, directory: Path, service: Service) -> "subprocess.Popen[bytes]":
    """spamass-milter with the document's options, on a socket that Postfix can open."""
    directory.mkdir()
    shutil.chown(directory, USER)
    assignment = block(DOCUMENT, "milter").replace(_SOCKET, service.path).strip()
    options = shlex.split(shlex.split(assignment)[0].removeprefix("OPTIONS="))
    running = subprocess.Popen([found, "-p", str(directory / "spamass.sock"), *options], user=USER, group="nogroup")
    until((directory / "spamass.sock").exists, "the milter to listen")
    (directory / "spamass.sock").chmod(0o666)
    return running


def test_delivered(home: Home, host: Host) -> None:
    """Mail is delivered once, whole, with the verdict in its header, whatever the sender wrote."""
    for content in (SPAM, HAM):
        host.server.send(_FORGED + content)
    until(lambda: len(home.mail()) == 2, lambda: f"both to be delivered: {host.server.log()}")
    ham, spam = sorted(home.mail(), key=lambda content: b"X-Spam-Flag: YES\n" in content)
    assert b"X-Spam-Status: Yes, score=9.9 required=5.0 tests=SPAMNB_SPAM version=0.1.0\n" in spam
    assert b"X-Spam-Level: *********\n" in spam
    assert re.search(rb"X-Spam-Status: No, score=-\d\.\d ", ham)
    assert b"X-Spam-Flag" not in ham
    for content, found in ((SPAM, spam), (HAM, ham)):
        assert found.count(b"X-Spam-Status: ") == 1
        header, _, body = content.partition(b"\n\n")
        assert without_fields(found).endswith(b"\n\n" + body)
        assert set(header.splitlines()) <= set(found.splitlines())
    with host.service.ledger() as ledger:
        assert ledger.lessons.totals().tolist()[:2] == [25, 25], "nothing is learned by it"


def test_service_is_away(home: Home, host: Host) -> None:
    """Without the service mail is delivered without a verdict, also without one that the sender wrote."""
    host.service.spamd.close()
    host.server.send(_FORGED + HAM)
    until(lambda: len(home.mail()) == 1, lambda: f"it to be delivered: {host.server.log()}")
    (found,) = home.mail()
    assert found.endswith(HAM)
    assert b"X-Spam" not in found


def test_milter_is_away(home: Home, host: Host) -> None:
    """Without the milter mail is delivered unchanged."""
    host.milter.terminate()
    host.milter.wait(PATIENCE)
    host.server.send(HAM)
    until(lambda: len(home.mail()) == 1, lambda: f"it to be delivered: {host.server.log()}")
    assert home.mail()[0].endswith(HAM)
