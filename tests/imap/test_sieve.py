"""Dovecot's LDA and LMTP with Sieve and `spamnb filter`, by the recipe of docs/mail-server.md, beside the service."""

import contextlib
import smtplib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spamnb
from spamnb.identity.digests import identity
from tests.delivery.conftest import BROKEN, needs_a_python_for
from tests.documents import block
from tests.imap.conftest import Host, as_sent, new_mail
from tests.imap.dovecot import BOTH, Dovecot, recipe

pytestmark = BOTH

DOCUMENT = "docs/mail-server.md"
Deliver = Callable[[bytes], None]
Way = Callable[[Host], contextlib.AbstractContextManager[Deliver]]
LMTP = """
protocols = imap lmtp
service lmtp {
  unix_listener lmtp {
    mode = 0666
  }
}
"""
_SETTINGS = {version: text + LMTP for version, text in recipe(DOCUMENT, "dovecot-23", "dovecot-24").items()}
_FORGED = b"X-Spam-Flag: YES\nX-Spamnb: spam\n"


def write_program(host: Host, name: str, script: str) -> Path:
    """Write a script that Dovecot runs as the user who owns the mail."""
    path = host.directory / "lib" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


def write_sieve(host: Host, name: str, script: str) -> None:
    """Write a Sieve script, in a place for its compiled form too."""
    path = host.directory / "sieve" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    host.own(path.parent, path)


@contextlib.contextmanager
def by_lda(host: Host) -> Iterator[Deliver]:
    """dovecot-lda."""

    def deliver(content: bytes) -> None:
        host.by_lda(content, "-f", "a@b.example")

    yield deliver


@contextlib.contextmanager
def by_lmtp(host: Host) -> Iterator[Deliver]:
    """Dovecot's LMTP server."""

    def deliver(content: bytes) -> None:
        with smtplib.LMTP(str(host.directory / "run" / "lmtp"), local_hostname="mx.example") as server:
            assert server.sendmail("a@b.example", ["anna"], as_sent(content)) == {}

    yield deliver


@pytest.fixture
def filtering(make_host: Callable[..., Host], dovecot: Dovecot) -> Host:
    """Anna's home with the recipe and spamnb in it, and the service, which may be asked."""
    if dovecot.program("sievec") is None or dovecot.program("lmtp") is None:
        pytest.skip("needs Pigeonhole and Dovecot's LMTP server (Debian: dovecot-sieve, dovecot-lmtpd)")
    host = make_host(more=_SETTINGS)
    package = str(Path(spamnb.__file__).parent.parent)
    needs_a_python_for(host.owner.pw_name)
    write_sieve(host, "spamnb.sieve", block(DOCUMENT, "sieve"))
    run = f'export PYTHONPATH={package}\nexec {dovecot.python} -m spamnb --config {host.config} "$@"'
    installed = write_program(host, "spamnb", f"#!/bin/sh\n{run}\n")
    write_program(
        host, "spamnb-filter", block(DOCUMENT, "sieve-script").replace("/usr/local/bin/spamnb", str(installed))
    )
    peers = [host.owner.pw_name]
    host.configure(f"spamd:\n  listen: [{host.directory}/spamd.sock]\n  peers: {peers}\n")
    host.start()
    return host


@pytest.mark.parametrize("way", [by_lda, by_lmtp])
def test_spam_is_filed(filtering: Host, way: Way) -> None:
    """Sieve files spam into Junk by the verdict; the service takes that for the filter's own, and learns nothing."""
    spam, ham = new_mail("spam"), new_mail("ham")
    with way(filtering) as deliver:
        deliver(spam)
        deliver(_FORGED + ham)
    assert (filtering.where(spam), filtering.where(ham)) == (["Junk"], ["INBOX"])
    filtering.wait_until_judged(spam, ham)
    filtering.settle(filtering.client())
    for content, folder in ((spam, "Junk"), (ham, "INBOX")):
        assert filtering.story(content) == []
        (found,) = [one for one in filtering.contents(folder) if identity(one) == identity(content)]
        assert found.endswith(content.partition(b"\n\n")[2])
        assert (b"\nX-Spam-Flag: YES\n" in found) == (folder == "Junk")
        assert found.count(b"X-Spamnb: ") == 1


@pytest.mark.parametrize("way", [by_lda, by_lmtp])
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_filter_loses_nothing(filtering: Host, way: Way, how: str) -> None:
    """Whatever breaks, the message is delivered into the inbox unchanged, and no forged field is believed."""
    assert filtering.end() == 0
    if BROKEN[how]:
        write_program(filtering, "spamnb", f"#!/bin/sh\n{BROKEN[how]}\n")
    else:
        (filtering.directory / "lib" / "spamnb").unlink()
    content = _FORGED + new_mail("ham")
    with way(filtering) as deliver:
        deliver(content)
    (found,) = filtering.contents("INBOX")
    assert found.endswith(content)
    assert filtering.contents("Junk") == []
    faults = filtering.dovecot_faults()  # of some of these Dovecot says nothing
    assert all("spamnb" in fault for fault in faults), faults
    filtering.dovecot_log.write_text("")
