"""What an earlier version left is used as it is: nobody has to do anything for an upgrade."""

import contextlib
import gzip
import json
import re
import sqlite3
from pathlib import Path

import pytest

from spamnb import __version__
from spamnb.cli.sample_mail import message
from spamnb.ledger.schema import VERSION
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver, scan
from spamnb.maildir.names import unique_base
from tests.documents import ROOT
from tests.upgrade import kept

UNRELEASED = re.search(rf"^## {re.escape(__version__)} \(unreleased\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
VERSIONS = sorted({*kept.released(), __version__} if UNRELEASED else kept.released())


@pytest.fixture(scope="module", params=VERSIONS)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a version left; of the present one, before its release, what it leaves today."""
    if request.param != __version__ or not UNRELEASED:
        return kept.HERE / request.param
    place = tmp_path_factory.mktemp("left") / __version__
    kept.keep(place, tmp_path_factory.mktemp("home"))
    return place


@pytest.fixture
def home(left: Path, tmp_path: Path) -> Path:
    """A home as that version left it."""
    config, share = tmp_path / ".config/spamnb", tmp_path / ".local/share/spamnb"
    config.mkdir(parents=True)
    share.mkdir(parents=True)
    (config / "config.yaml").write_text((left / "config.yaml").read_text())
    (share / "ledger.sqlite").write_bytes(gzip.decompress((left / "ledger.sqlite.gz").read_bytes()))
    for folder in ("INBOX", "Junk"):
        create_folder(str(tmp_path / "Maildir"), "maildir++", folder)
    return tmp_path


def test_nothing_has_to_be_done(home: Path, left: Path) -> None:
    """The configuration has no fault, what was learned and done is all there, and new spam is moved."""
    assert "no faults" in kept.spamnb(home, "config", "--check")
    assert kept.spamnb(home, "verify") == (left / "verify.txt").read_text()
    before = [json.loads(line) for line in (left / "history.json").read_text().splitlines()]
    now = [json.loads(line) for line in kept.spamnb(home, "history", "--json").splitlines()]
    assert [(one["id"], one["kind"], one["digest"]) for one in now] == [
        (one["id"], one["kind"], one["digest"]) for one in before
    ]
    kept.spamnb(home, "run", "--once")  # which only records what is in the Maildir of another home
    inbox, junk = (create_folder(str(home / "Maildir"), "maildir++", name) for name in ("INBOX", "Junk"))
    deliver(inbox, message("spam", 700), unique_base(1_800_000_000, 0, 1, 1, "home"))
    kept.spamnb(home, "run", "--once")
    assert len(list(scan(junk))) == 1


def test_a_ledger_of_a_later_version_is_refused(home: Path) -> None:
    """The former program on the later one's ledger changes nothing, and its error names the way out: the copies."""
    path = home / ".local/share/spamnb/ledger.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        ledger.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    for call in (("status",), ("run", "--once"), ("train", "--spam", str(home / "Maildir"))):
        said = kept.spamnb(home, *call, code=3)
        assert "upgrade spamnb" in said
        assert f"spamnb restore {path.parent}/copies/" in said
    assert path.read_bytes() == before


def test_every_release_is_kept() -> None:
    """Of each version that the list of changes calls released, something is kept."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert set(re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", changes, re.M)) <= set(kept.released())
