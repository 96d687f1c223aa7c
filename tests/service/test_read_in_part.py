"""A letter with spam behind more text than is read, on its way: at delivery, in the mailbox, and in words."""

import json

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.filter.judge import UNREAD
from tests.service.conftest import Site
from tests.service.test_vouched import through

PADDING = b"best wishes\n" * 100_000


@pytest.fixture
def taught(site: Site) -> Site:
    """A service that knows letters and spam."""
    site.teach()
    site.work()
    return site


def test_in_the_mailbox(taught: Site) -> None:
    """It is unsure, the history says why, and it goes to the folder for unsure mail if there is one."""
    first, second = (message("ham", number) + PADDING for number in (700, 701))
    taught.deliver(first)
    taught.work()
    assert taught.why(first) == f"unsure: {UNREAD}"
    taught.configure(unsure_folder="Maybe")
    taught.deliver(second)
    taught.work()
    assert second not in taught.contents("INBOX")


def test_at_delivery(taught: Site) -> None:
    """A pipe says that it is unsure, and the history says why."""
    mail = message("ham", 700) + PADDING
    told = through(taught, mail)
    assert told.startswith(b"X-Spamnb: unsure, probability=0.0")
    taught.deliver(told)
    taught.work()
    assert taught.why(mail) == f"unsure; judged at delivery (spamnb filter; {UNREAD})"


def test_explain(taught: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` says why it is unsure, though its probability is that of ham."""
    file = taught.directory / "letter.eml"
    file.write_bytes(message("ham", 700) + PADDING)
    assert taught.spamnb("explain", str(file)) == 0
    assert f"It looks like ham, but it is unsure: {UNREAD}.\n" in capsys.readouterr().out
    assert taught.spamnb("explain", "--json", str(file)) == 0
    assert json.loads(capsys.readouterr().out)["unread"] == UNREAD
