"""Exim with `spamc`, Dovecot's LDA and Sieve, by the recipe of docs/mail-server.md, while the service watches."""

import re
from collections.abc import Callable, Iterator

import pytest

from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests.delivery.exim import Exim, exim, needed
from tests.documents import block, read
from tests.imap.conftest import Host, new_mail, program
from tests.imap.dovecot import ONLY_OLD
from tests.imap.test_sieve import write_sieve
from tests.patience import until

pytestmark = ONLY_OLD  # Exim starts its LDA as a user who cannot enter a tree

DOCUMENT = "docs/mail-server.md"
_SETTINGS = (
    "protocol lda {\n  mail_plugins = $mail_plugins sieve\n}\nplugin {\n  sieve_before = %h/sieve/flag.sieve\n}\n"
)
_DELIVERS = """dovecot_lda:
  driver = pipe
  {}
  delivery_date_add
  envelope_to_add
  return_path_add
  log_output
"""
_TOGETHER = 20  # messages that Exim delivers at once


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    """Anna's home with the Sieve script, and the service, which Exim may ask."""
    needed()
    if program("sievec") is None or program("spamc") is None:
        pytest.skip("needs Pigeonhole and spamc (Debian: dovecot-sieve, spamc)")
    host = make_host(more=_SETTINGS)
    write_sieve(host, "flag.sieve", block(DOCUMENT, "sieve-by-flag"))
    host.configure(f"spamd:\n  listen: [{host.directory}/spamd.sock]\n  peers: [{host.owner.pw_name}]\n")
    host.start()
    return host


@pytest.fixture
def server(host: Host) -> Iterator[Exim]:
    """An Exim with the recipe."""
    (command,) = re.findall(r"`(command = [^`]*-lda [^`]*)`", read(DOCUMENT))
    filtered = block(DOCUMENT, "exim-dovecot").replace("/run/spamnb/anna.sock", f"{host.directory}/spamd.sock")
    transport = _DELIVERS.format(command.replace("-lda ", f"-lda -c {host.conf} ")) + filtered
    with exim(host.directory / "exim", transport) as running:
        yield running


@pytest.mark.parametrize("many", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_told_at_delivery(host: Host, server: Exim, many: int) -> None:
    """Nothing is learned from what Sieve files by the verdict, and each message is judged once.

    What a person then moves out of Junk is learned.
    """
    mail = {kind: [_distinct(kind, number) for number in range(many // 2)] for kind in ("spam", "ham")}
    pairs = list(zip(mail["spam"], mail["ham"], strict=True))
    before = _totals(host)
    for start in range(0, len(pairs), _TOGETHER):
        some = [content for pair in pairs[start : start + _TOGETHER] for content in pair]
        sent = server.delivered() + len(some)
        server.send(*some, to="anna@home.example")
        until(lambda sent=sent: server.delivered() >= sent, lambda: f"mail to be delivered: {server.log()[-2000:]}")  # type: ignore[misc]
    for kind, folder in (("spam", "Junk"), ("ham", "INBOX")):
        assert sorted(map(identity, host.contents(folder))) == sorted(map(identity, mail[kind]))
    until(lambda: _journal(host, mail["spam"] + mail["ham"]) == [["judged"]] * many, "all to be seen", many)
    client = host.client()
    host.settle(client)  # which teaches one
    assert _journal(host, mail["spam"] + mail["ham"]) == [["judged"]] * many
    assert _totals(host) == [before[0] + 1, before[1]]
    assert host.log().count("answered spamc") == many
    assert server.log("panic") == ""
    client.move(mail["spam"][0], "Junk", "INBOX")
    host.wait_for(mail["spam"][0], "learned ham")


def _distinct(kind: str, number: int) -> bytes:
    """A message whose content no other has."""
    return new_mail(kind) + b"Our number: %d\n" % number


def _totals(host: Host) -> list[int]:
    """How many messages are learned as ham, and as spam."""
    with Ledger(str(host.ledger), only_read=True) as ledger:
        found: list[int] = ledger.lessons.totals().tolist()[:2]
        return found


def _journal(host: Host, contents: list[bytes]) -> list[list[str]]:
    """Return the journal's lines about each message."""
    with Ledger(str(host.ledger), only_read=True) as ledger:
        known = [ledger.messages.find(identity(content)) for content in contents]
        return [[] if one is None else [action.kind for action in ledger.journal.of_message(one.id)] for one in known]
