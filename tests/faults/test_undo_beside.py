"""Moves taken back by one process while the service works on the same folders, with Junk on a disk of its own."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from tests.faults.conftest import Faulty, mounted
from tests.patience import PATIENCE, until

_TAKE_BACK = """
import sys, time
from spamnb.base.errors import SpamnbError
from spamnb.ledger.ledger import Ledger
from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import Mover, bases_now, find_folder

with Ledger(sys.argv[1]) as ledger:
    mover = Mover(ledger, time.time, bases_now(), find_folder(ledger, {}), MovedFile(None))
    for action in ledger.journal.since(0.0):
        if action.kind == "moved":
            try:
                mover.undo_move(action)
            except SpamnbError as fault:
                print(fault)
"""
# The service is slow at the step at which two processes that move one message meet.
_SLOWLY = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"]
_SLOWLY += ["-e", "trace=unlink", "-e", "inject=unlink:delay_enter=100000"]  # microseconds

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


def taken_back(directory: Path, number: int) -> None:
    """Let the service move so much spam, and take all of it back beside it."""
    with mounted(directory / "Maildir" / ".Junk", "64m"):
        site = Faulty(directory)
        site.configure("breaker: false\nservice: {reconcile_seconds: 1}", dwell=0.05)
        site.teach()
        site.start()
        spam = [site.deliver(message("spam", 1000 + each)) for each in range(number)]
        until(lambda: len(site.contents("Junk")) == number, "all spam in Junk", 10 * PATIENCE)
        site.end()
        site.by = _SLOWLY
        site.start()
        try:
            command = [sys.executable, "-c", _TAKE_BACK, str(site.ledger)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
            assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
            site.end()
        finally:
            site.kill()
        assert Counter(map(identity, site.contents("INBOX"))) == Counter(map(identity, spam))
        assert site.contents("Junk") == []
        assert [site.label(content) for content in spam] == [None] * number, "nothing is learned from it"
        site.clean()


def test_undo_beside_the_service(tmp_path: Path) -> None:
    """Each message that is taken back lies in the inbox once, and the service takes none of it for a person's move."""
    taken_back(tmp_path / "site", 60)


@pytest.mark.slow
def test_a_thousand_beside_the_service(tmp_path: Path) -> None:
    """So does each of a thousand."""
    taken_back(tmp_path / "site", 1000)
