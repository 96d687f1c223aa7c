"""The state that each released version leaves: its configuration, ledger and mail, and its own output about them.

`python -m tests.upgrade.kept` keeps that of the present version in a directory beside this file, as the last step
before its release (.ci/release asks for it). Until then the form of its ledger may change, and it is kept again.
`ledger-2` is that of a program between two releases, whose ledger has version 2.
"""

import contextlib
import gzip
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from spamnb import __version__
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.maildir.names import unique_base

HERE = Path(__file__).parent
LEDGER, CONFIG = ".local/share/spamnb/ledger.sqlite", ".config/spamnb/config.yaml"
_HOME = "/home/you"  # in the place of the home in which it was made
_LESSONS = 25


def released() -> list[str]:
    """Return the versions with a kept state."""
    return sorted(path.name for path in HERE.iterdir() if (path / "ledger.sqlite.gz").exists())


def keep(place: Path, home: Path) -> None:
    """Use the program for a while in an empty home, and keep what it leaves."""
    for folder, kind in (("INBOX", "ham"), ("Junk", "spam")):
        made = create_folder(str(home / "Maildir"), "maildir++", folder)
        for number in range(_LESSONS):
            deliver(made, message(kind, number), unique_base(1_700_000_000 + number, 0, 1, 1, "home"))
    for name, kind in (("unseen", "ham"), ("unseen", "spam"), ("lessons", "ham")):
        (home / name).mkdir(exist_ok=True)
        for number in range(200, 205):
            (home / name / f"{kind}-{number}.eml").write_bytes(message(kind, number))
    place.mkdir(parents=True)
    spamnb(home, "init", "--learn")
    inbox = create_folder(str(home / "Maildir"), "maildir++", "INBOX")
    for number, kind in enumerate(("spam", "ham")):
        deliver(inbox, message(kind, 100 + number), unique_base(1_700_001_000 + number, 0, 1, 1, "home"))
    spamnb(home, "run", "--once")
    spamnb(home, "train", "--ham", str(home / "lessons"))
    (place / "verify.txt").write_text(spamnb(home, "verify"))
    for name, said in (("history.json", ("history", "--json")), ("scores.json", ("score", "--json", *unseen(home)))):
        (place / name).write_text(spamnb(home, *said).replace(str(home), _HOME))
    _move_home(home / LEDGER, str(home), _HOME)
    (place / "ledger.sqlite.gz").write_bytes(gzip.compress((home / LEDGER).read_bytes(), mtime=0))
    (place / "config.yaml").write_text((home / CONFIG).read_text().replace(str(home), "~"))
    _pack(place / "mail.tar.gz", home, ("Maildir", "unseen"))


def restore(place: Path, home: Path) -> None:
    """Bring an empty home to what was kept."""
    for name in (CONFIG, LEDGER):
        (home / name).parent.mkdir(parents=True)
    shutil.copyfile(place / "config.yaml", home / CONFIG)
    (home / LEDGER).write_bytes(gzip.decompress((place / "ledger.sqlite.gz").read_bytes()))
    _move_home(home / LEDGER, _HOME, str(home))
    with tarfile.open(place / "mail.tar.gz") as archive:
        for one in archive:
            (home / one.name).parent.mkdir(parents=True, exist_ok=True)
            if (content := archive.extractfile(one)) is not None:
                (home / one.name).write_bytes(content.read())
                os.utime(home / one.name, (one.mtime, one.mtime))
            else:
                (home / one.name).mkdir()


def unseen(home: Path) -> list[str]:
    """The paths of messages that the version has judged, and not learned."""
    return sorted(map(str, (home / "unseen").iterdir()))


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


def _move_home(ledger: Path, former: str, present: str) -> None:
    """The same ledger in another home: each column named path is changed."""
    with contextlib.closing(sqlite3.connect(ledger)) as connection, connection:
        for table in _tables_with_paths(connection):
            for number, path in connection.execute(f"SELECT rowid, path FROM {table}").fetchall():
                moved = path.replace(os.fsencode(former), os.fsencode(present))
                connection.execute(f"UPDATE {table} SET path = ? WHERE rowid = ?", (moved, number))


def _tables_with_paths(connection: sqlite3.Connection) -> Iterator[str]:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if "path" in {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}:
            yield table


def _pack(archive: Path, home: Path, names: tuple[str, ...]) -> None:
    """Pack files and directories unchanged, without an owner."""

    def nobody(one: tarfile.TarInfo) -> tarfile.TarInfo:
        one.uid = one.gid = 0
        one.uname = one.gname = ""
        return one

    with gzip.GzipFile(archive, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as made:
        for name in names:
            made.add(home / name, name, filter=nobody)


if __name__ == "__main__":
    shutil.rmtree(HERE / __version__, ignore_errors=True)
    with tempfile.TemporaryDirectory() as home:
        keep(HERE / __version__, Path(home))
