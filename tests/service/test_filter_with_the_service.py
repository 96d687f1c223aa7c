"""`spamnb filter` with the service that watches: the verdict is the service's, and it knows it again."""

import subprocess
import sys
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests.patience import PATIENCE, until
from tests.service.conftest import Site


def through(site: Site, content: bytes) -> bytes:
    """A message through the filter, as a delivery agent calls it."""
    command = [sys.executable, "-m", "spamnb", "--config", str(site.config), "filter"]
    done = subprocess.run(command, input=content, capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def story(site: Site, content: bytes) -> list[str]:
    """Return all actions on a message, the oldest first."""
    with Ledger(str(site.ledger), only_read=True) as ledger:
        known = ledger.messages.find(identity(content))
        return [] if known is None else [action.kind for action in ledger.journal.of_message(known.id)]


@pytest.fixture
def serving(site: Site, tmp_path: Path) -> Site:
    """A service that answers at a socket."""
    site.teach()
    site.configure(f"spamd:\n  listen: [{tmp_path}/socket]\n")
    site.start()
    return site


def test_a_verdict_is_known_again(serving: Site) -> None:
    """Mail that a rule files into Junk by the verdict counts as the filter's move: judged once, nothing learned."""
    spam = message("spam", 700)
    out = through(serving, spam)
    assert out.startswith(b"X-Spamnb: spam, ")
    with Ledger(str(serving.ledger), only_read=True) as ledger:
        assert ledger.early_verdicts.find(identity(spam), 0.0) is not None
    serving.deliver(b"Received: by home.example; Fri, 2 Jan 2026 10:00:00 +0000\n" + out, "Junk")
    until(lambda: story(serving, spam) != [], "the message to be seen")
    marker = serving.deliver(message("ham", 800))
    until(lambda: story(serving, marker) != [], "a later message to be judged")
    serving.move(marker, "INBOX", "Archive")
    until(lambda: serving.label(marker) == 0, "it to be learned, which comes after what dwelt before it")
    assert story(serving, spam) == ["judged"]
    assert serving.label(spam) is None


def test_no_rule(serving: Site) -> None:
    """Without a rule, spam in the inbox is moved, and history shows one judgement."""
    spam = message("spam", 701)
    serving.deliver(through(serving, spam))
    until(lambda: len(serving.contents("Junk")) == 1, "spam to be moved")
    assert story(serving, spam) == ["moved"]


def test_while_no_service_runs(site: Site) -> None:
    """Mail that a rule filed by the verdict while no service ran counts as the filter's move, and teaches nothing."""
    site.teach()
    site.work()
    spam = message("spam", 703)
    site.deliver(through(site, spam), "Junk")
    site.work()
    assert story(site, spam) == ["judged"]
    assert site.label(spam) is None
