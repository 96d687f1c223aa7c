"""Acts on a mailbox whose configured layout is not the one that its directories look like."""

from pathlib import Path

import pytest

from spamnb.acts.answers import Answers
from spamnb.acts.current_files import CurrentFiles
from spamnb.acts.undo import foresee, since
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder, detect_layout
from tests.service.conftest import Site

SPAM = [message("spam", number) for number in range(1000, 1005)]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A mailbox of the layout `fs` in which the filter has moved five messages, with a dotted Maildir in it."""
    made = Site(tmp_path, "fs")
    made.configure(layout="fs")
    create_folder(str(made.root), "maildir++", "old")
    assert detect_layout(str(made.root)) == "maildir++"
    made.teach()
    assert made.spamnb("run", "--once") == 0
    for content in SPAM:
        made.deliver(content)
    assert made.spamnb("run", "--once") == 0
    assert len(made.contents("Junk")) == len(SPAM)
    return made


def test_undo(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """The configured layout says which folders there are, for an undo too: all that was moved comes back."""
    with Ledger(str(site.ledger)) as ledger:
        foreseen = list(foresee(ledger, load(site.config), since(ledger, 0.0, ["moved"])))
        assert [outcome.fault for outcome in foreseen] == [None] * len(SPAM)
    assert site.spamnb("undo", "--since", "1h", "--only", "moves", "--yes") == 0, capsys.readouterr().err
    assert (len(site.contents("INBOX")), site.contents("Junk")) == (len(SPAM), [])


def test_answers(site: Site) -> None:
    """An answer too finds the message and moves it."""
    config = load(site.config)
    with Ledger(str(site.ledger)) as ledger:
        digest = identity(SPAM[0])
        (file,) = CurrentFiles(ledger, config).of(digest)
        assert file.label is Label.SPAM
        assert Answers(ledger, config).call(digest, Label.HAM).stays == ""
    assert site.contents("INBOX") == [SPAM[0]]


def test_withheld(site: Site) -> None:
    """The same holds if withheld mail is moved later."""
    assert site.spamnb("pause") == 0
    withheld = [message("spam", number) for number in range(2000, 2003)]
    for content in withheld:
        site.deliver(content)
    assert site.spamnb("run", "--once") == 0
    assert len(site.contents("INBOX")) == len(withheld)
    assert site.spamnb("resume", "--move") == 0
    assert site.contents("INBOX") == []
