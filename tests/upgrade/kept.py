"""What each released version leaves behind: its configuration, its ledger, and what it said of them.

`python -m tests.upgrade.kept` keeps that of the present version in a directory beside this file, as the last step
before its release (.ci/release asks for it). Until then the form of its ledger may change, and the tests make it anew.
"""

import contextlib
import gzip
import io
import os
import shutil
from pathlib import Path
from unittest import mock

from spamnb import __version__
from spamnb.cli.main import main
from spamnb.cli.sample_mail import message
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.maildir.names import unique_base

HERE = Path(__file__).parent
_LESSONS = 25


def released() -> list[str]:
    """The versions of which something is kept."""
    return sorted(path.name for path in HERE.iterdir() if (path / "ledger.sqlite.gz").exists())


def keep(place: Path, home: Path) -> None:
    """Use the program for a while in an empty home, and keep what it leaves."""
    for folder, kind in (("INBOX", "ham"), ("Junk", "spam")):
        made = create_folder(str(home / "Maildir"), "maildir++", folder)
        for number in range(_LESSONS):
            deliver(made, message(kind, number), unique_base(1_700_000_000 + number, 0, 1, 1, "home"))
    place.mkdir(parents=True)
    spamnb(home, "init", "--learn")
    inbox = create_folder(str(home / "Maildir"), "maildir++", "INBOX")
    for number, kind in enumerate(("spam", "ham")):
        deliver(inbox, message(kind, 100 + number), unique_base(1_700_001_000 + number, 0, 1, 1, "home"))
    spamnb(home, "run", "--once")
    (place / "verify.txt").write_text(spamnb(home, "verify"))
    (place / "history.json").write_text(spamnb(home, "history", "--json").replace(str(home), "/home/you"))
    ledger = (home / ".local/share/spamnb/ledger.sqlite").read_bytes()
    (place / "ledger.sqlite.gz").write_bytes(gzip.compress(ledger, mtime=0))
    config = (home / ".config/spamnb/config.yaml").read_text()
    (place / "config.yaml").write_text(config.replace(str(home), "~"))


def spamnb(home: Path, *arguments: str, code: int = 0) -> str:
    """Call the program in a home, within this process; what it prints, errors too."""
    said = io.StringIO()
    usual = {name: value for name, value in os.environ.items() if not name.startswith("XDG_") and name != "MAILDIR"}
    with (
        mock.patch.dict(os.environ, {**usual, "HOME": str(home)}, clear=True),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        ended = main(list(arguments))
    if ended != code:
        raise RuntimeError(f"spamnb {' '.join(arguments)} ended with {ended}: {said.getvalue()}")
    return said.getvalue()


if __name__ == "__main__":
    home = HERE / "home"
    shutil.rmtree(HERE / __version__, ignore_errors=True)
    try:
        home.mkdir()
        keep(HERE / __version__, home)
    finally:
        shutil.rmtree(home)
