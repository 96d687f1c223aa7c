"""Delivery agents, each as its manual calls it: what they deliver is judged once and moved once."""

import contextlib
import re
from collections.abc import Callable, Iterator

import pytest

from tests.imap.conftest import Client, Host, new_mail, program
from tests.imap.postfix import by_postfix

Deliver = Callable[[bytes], None]
Agent = Callable[[Host], contextlib.AbstractContextManager[Deliver]]


def received(content: bytes, number: int) -> bytes:
    """The message with the field that a mail server puts on top of each delivery."""
    return b"Received: from mx.example by home.example id %d; Fri, 2 Jan 2026 10:00:00 +0000\n" % number + content


@contextlib.contextmanager
def by_dovecot(host: Host) -> Iterator[Deliver]:
    """dovecot-lda with the server's own configuration."""

    def deliver(content: bytes) -> None:
        assert host.by_lda(content, "-f", "a@b.example") == b""

    yield deliver


@contextlib.contextmanager
def by_maildrop(host: Host) -> Iterator[Deliver]:
    """Deliver by maildrop with a filter file that only names the place."""
    if program("maildrop") is None:
        pytest.skip("needs maildrop (Debian: maildrop)")
    rules = host.directory / ".mailfilter"
    rules.write_text(f'to "{host.root}"\n')
    rules.chmod(0o600)
    host.own(rules)

    def deliver(content: bytes) -> None:
        done = host.as_owner("maildrop", str(rules), stdin=content, LOGNAME="anna")
        assert (done.returncode, done.stderr) == (0, b"")

    yield deliver


@pytest.mark.parametrize("agent", [by_dovecot, by_maildrop, by_postfix])
def test_delivered_mail_is_judged_and_moved_once(host: Host, client: Client, agent: Agent) -> None:
    """A delivered message is judged once; spam is moved once; Dovecot shows each message once."""
    mail = {kind: [received(new_mail(kind), number) for number in range(5)] for kind in ("ham", "spam")}
    with agent(host) as deliver:
        for ham, spam in zip(mail["ham"], mail["spam"], strict=True):
            deliver(ham)
            deliver(spam)
        for spam in mail["spam"]:
            host.wait_for(spam, "moved INBOX Junk")
        host.wait_until_judged(*mail["ham"])
    host.settle(client)
    assert len(re.findall(r": (?:stays in INBOX, ham|moved from INBOX to Junk)$", host.log(), re.M)) == 10 + 1
    for kind, folder in (("ham", "INBOX"), ("spam", "Junk")):
        assert all(host.where(content) == [folder] for content in mail[kind])
        assert len(client.uids(folder)) == 5


def test_second_delivery_goes_to_junk_too(host: Host, client: Client) -> None:
    """A message that is delivered twice by two ways is moved twice, and nothing is learned from that."""
    content = new_mail("spam")
    with by_dovecot(host) as deliver:
        for number in (1, 2):
            deliver(received(content, number))
            host.wait_for(content, *["moved INBOX Junk"] * number)
    assert host.where(content) == ["Junk", "Junk"]
    assert len(client.uids("Junk", content)) == 2
