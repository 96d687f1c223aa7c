"""Learning from IMAP by imapsieve and `spamc -L`, by the recipe of docs/mail-server.md; nobody watches the Maildir."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.identity.digests import identity
from tests.documents import block
from tests.imap.conftest import Client, Host, new_mail
from tests.imap.dovecot import BOTH, Dovecot, recipe
from tests.imap.test_sieve import write_program, write_sieve
from tests.lessons import label_of
from tests.spamd.conftest import Service

pytestmark = BOTH

DOCUMENT = "docs/mail-server.md"
_SETTINGS = recipe(DOCUMENT, "imapsieve-23", "imapsieve-24")


@pytest.fixture
def asked(make_host: Callable[..., Host], dovecot: Dovecot, taught: Path) -> Iterator[tuple[Client, Service, Host]]:
    """A session of anna's mail program with the recipe, and a service that she may ask and that watches nothing."""
    if dovecot.program("sievec") is None or dovecot.program("spamc") is None:
        pytest.skip("needs Pigeonhole and spamc (Debian: dovecot-sieve, spamc)")
    host = make_host(more=_SETTINGS)
    directory = host.directory / "spamd"
    directory.mkdir()
    shutil.copy(taught, directory / "ledger")
    service = Service(directory)
    service.set(peers=(host.owner.pw_name,))
    write_sieve(host, "learn.sieve", block(DOCUMENT, "imapsieve"))
    script = block(DOCUMENT, "imapsieve-script").replace("/run/spamnb/anna.sock", service.path)
    write_program(host, "spamnb-learn", script)
    yield host.client(), service, host
    service.spamd.close()


def learned(service: Service, content: bytes) -> int | None:
    """Return the label of a message; TELL is answered after it is written, so no wait is needed."""
    with service.ledger() as ledger:
        return label_of(ledger, identity(content))


def test_moves_teach(asked: tuple[Client, Service, Host]) -> None:
    """MOVE into Junk teaches spam, and out of it ham; the history has the source, and each lesson can be undone."""
    client, service, _ = asked
    content = new_mail("spam")
    client.put("INBOX", content)
    assert learned(service, content) is None
    client.move(content, "INBOX", "Junk")
    assert learned(service, content) == 1
    client.move(content, "Junk", "Archive")
    assert learned(service, content) == 0
    with service.ledger() as ledger:
        known = ledger.messages.find(identity(content))
        assert known is not None
        assert [action.why for action in ledger.journal.of_message(known.id)] == ["spamc -L for anna"] * 2


def test_learned_already(asked: tuple[Client, Service, Host]) -> None:
    """A message that is already learned moves as usual, and Dovecot logs no fault."""
    client, service, host = asked
    content = new_mail("spam")
    client.put("Junk", content)
    assert learned(service, content) == 1
    client.move(content, "Junk", "Trash")
    assert learned(service, content) == 1
    client.move(content, "Trash", "Junk")
    assert learned(service, content) == 1
    assert host.dovecot_faults() == []


def test_service_is_away(asked: tuple[Client, Service, Host]) -> None:
    """If spamnb cannot be asked the message still moves, and Dovecot's log says why nothing was learned."""
    client, service, host = asked
    service.spamd.close()
    content = new_mail("spam")
    client.put("INBOX", content)
    client.move(content, "INBOX", "Junk")
    assert client.uids("Junk", content)
    assert client.uids("INBOX") == []
    faults = host.dovecot_faults()
    assert "spamnb-learn" in faults[0]
    assert all("sieve: " in fault for fault in faults), faults
    host.dovecot_log.write_text("")
