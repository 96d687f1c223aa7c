"""A request over which the service has crashed is refused, and the others are answered."""

import json
from contextlib import closing
from pathlib import Path

import pytest

import spamnb.mail.reading
from spamnb.acts.skipped import retry
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.service.reading_now import Interrupted, ReadingNow, remember
from tests.spamd.conftest import OfHost, Service, request

SPAM, OTHER = message("spam", 1), message("spam", 2)
WHAT = f"digest:{identity(SPAM).hex()}"
REFUSED = b"SPAMD/1.0 69 Service Unavailable: the service crashed while it read this message\r\n"


@pytest.mark.parametrize("command", ["CHECK", "REPORT", "TELL"])
def test_refused(service: Service, command: str) -> None:
    """A message that has ended a process is not read, for any command, until a person asks for a retry."""
    learned = ["Message-class: spam", "Set: local"] if command == "TELL" else []
    with service.ledger() as ledger:
        remember(ledger, [Interrupted("", WHAT, is_cause=True)])
    assert service.ask(request(command, SPAM, "1.5", *learned)) == REFUSED
    assert b" 0 EX_OK" in service.ask(request(command, OTHER, "1.5", *learned))
    with service.ledger() as ledger:
        assert retry(ledger) == (WHAT,)
    assert b" 0 EX_OK" in service.ask(request(command, SPAM, "1.5", *learned))


def test_of_one_user(host: OfHost) -> None:
    """A message refused to one user of a mail host is answered for another."""
    anna, bob = host.user("anna@example.org"), host.user("bob@example.net")
    with host.ledger(anna) as ledger:
        remember(ledger, [Interrupted(anna, WHAT, is_cause=True)])
    assert host.ask(request("CHECK", SPAM, user=anna)) == REFUSED
    assert b" 0 EX_OK" in host.ask(request("CHECK", SPAM, user=bob))


def test_no_more_suspected(service: Service) -> None:
    """A message that is read to its end is not suspected any longer."""
    with service.ledger() as ledger:
        remember(ledger, [Interrupted("", WHAT, is_cause=False), Interrupted("", "another", is_cause=False)])
    assert b" 0 EX_OK" in service.ask(request("CHECK", SPAM))
    with service.ledger() as ledger:
        assert ledger.state.suspected == ("another",)


def test_noted_while_it_is_read(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a message is read it is written down, and not afterwards."""
    stem, parse, noted = str(tmp_path / "service"), spamnb.mail.reading.parse, []
    service.reading.open(stem)

    def notes(raw: bytes, limits: object) -> object:
        noted.append(Path(f"{stem}.reading").read_bytes())
        return parse(raw, limits)  # type: ignore[arg-type]

    monkeypatch.setattr("spamnb.mail.reading.parse", notes)
    with closing(service.reading), closing(ReadingNow()) as next_process:
        assert b" 0 EX_OK" in service.ask(request("CHECK", SPAM))
        assert [json.loads(each.partition(b"\0")[0])[1:] for each in noted] == [["", WHAT]]
        next_process.open(stem)
        assert next_process.left == {}
