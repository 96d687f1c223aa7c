"""Any bad input gives one clear line on standard error and the right exit code, and nothing is lost."""

import contextlib
import functools
import os
import re
import shutil
import socket
import sqlite3
import subprocess
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import COMMAND, Result, Run, mail, maildir, mbox
from tests.patience import PATIENCE


@pytest.fixture
def odd(home: Path) -> Path:
    """A directory of files that are not messages."""
    (home / "empty").write_bytes(b"")
    (home / "blank").write_bytes(b"\n \n\n")
    (home / "directory").mkdir()
    os.mkfifo(home / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    (home / "dangling").symlink_to("nowhere")
    (home / "loop").symlink_to("loop")
    return home


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nope", "there is no nope"),
        ("", "there is no file without a name"),
        ("empty", "it is empty"),
        ("blank", "it is empty"),
        ("directory", "holds no messages"),
        ("fifo", "is a device, a pipe or a socket"),
        ("socket", "is a device, a pipe or a socket"),
        ("/dev/null", "is a device, a pipe or a socket"),
        ("dangling", "there is no dangling"),
        ("loop", "cannot read loop"),
        ("empty/below", "cannot read empty/below"),
        ("x" * 300, "File name too long"),
        ("no\x1b[31m\n", r"there is no no\x1b[31m\n"),
    ],
)
@pytest.mark.parametrize("command", [("score",), ("train", "--spam"), ("untrain",), ("explain",)])
def test_paths_without_mail(odd: Path, run: Run, command: tuple[str, ...], path: str, says: str) -> None:
    """A path without mail ends with 3 and a line that names it; no file is opened that could block for ever."""
    result = run(*command, path)
    assert result.code == 3
    *_, last = result.err.splitlines()
    assert says in last
    assert result.out in ("", "learned 0 messages as spam\n", "forgot 0 messages\n")


def test_any_bytes_are_a_message(taught: Path, run: Run) -> None:
    """Damaged messages are judged and explained like any other, and learned if they begin as a message does."""
    contents = (b"\0" * 5000, b"\xff\xfe" * 99, b"Subject: =?x?q?=", b"From: \n\n\n\n.", b"a" * 3_000_000, b"From x\n")
    for number, content in enumerate(contents):
        (taught / "odd").mkdir(exist_ok=True)
        (taught / "odd" / str(number)).write_bytes(content)
    result = run("score", "odd")
    assert (result.code, result.err, len(result.out.splitlines())) == (0, "", len(contents))
    for number in range(len(contents)):
        assert run("explain", f"odd/{number}").code == 0
    learning = run("train", "--spam", "odd")
    assert (learning.code, learning.out) == (3, "learned 3 messages as spam\n")
    assert [line.split(":")[1].strip() for line in learning.err.splitlines()] == [
        f"left out odd/{number}" for number in (0, 1, 4)
    ]
    assert run("verify").code == 0


def test_names_that_no_terminal_should_see(taught: Path, run: Run) -> None:
    """A name with line ends, escapes and broken bytes takes one safe line, and JSON gives it back byte for byte."""
    import json

    name = b"a\nb\x1b[31m\xe9"
    Path(os.fsdecode(name)).write_bytes(message("spam", 9))
    (line,) = run("score", os.fsdecode(name)).out.splitlines()
    assert line.endswith(r" a\nb\x1b[31m\xe9")
    found = json.loads(run("score", "--json", os.fsdecode(name)).out)
    assert os.fsencode(found["path"]) == name


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["huge", "- <huge"])
def test_a_huge_mbox_is_read_piece_by_piece(home: Path, how: str) -> None:
    """An mbox is never wholly in memory, neither from a file nor from standard input."""
    with (home / "huge").open("wb") as file:
        for number in range(2):
            file.write(mbox("spam", range(number, number + 1)))
            for _ in range(200):
                file.write((b"x" * 9_999 + b"\n") * 100)  # 1 MB; short lines would take ten times as long
            file.write(b"\n")
    script = f"ulimit -v 600000; exec {COMMAND[0]} -m spamnb train --spam {how}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=2 * PATIENCE, check=False, text=True)
    assert (done.returncode, done.stdout) == (0, "learned 2 messages as spam\n"), done.stderr


@pytest.mark.parametrize(
    "config",
    ["mailboxes: [", "mailboxes:\n  - {path: relative}\n", "", "\t", "a: *b\n", "ledger: 3\n"],
)
@pytest.mark.parametrize("command", [("status",), ("score", "x"), ("run", "--once")])
def test_broken_configuration(home: Path, run: Run, config: str, command: tuple[str, ...]) -> None:
    """A broken configuration ends every command with 78 and the place of each fault."""
    (home / "c.yaml").write_text(config)
    (home / "x").write_bytes(message("ham", 1))
    result = run("--config", "c.yaml", *command)
    assert result.code == 78
    assert "c.yaml" in result.err


@pytest.mark.parametrize("path", ["nope.yaml", "", ".", "/dev/null/x"])
def test_named_configuration_has_to_be_there(run: Run, path: str) -> None:
    """A configuration that was named and cannot be read is an error; the usual one is not taken in its place."""
    assert run("--config", path, "status").code == 78


@pytest.fixture
def ledger(home: Path, run: Run) -> Path:
    """A ledger in which something is learned."""
    assert run("train", "--ham", mail(home / "a", "ham", 30)).code == 0
    (home / "x").write_bytes(message("spam", 77))
    return home / ".local/share/spamnb/ledger.sqlite"


COMMANDS = [
    ("score", "x"),
    ("train", "--spam", "x"),
    ("untrain", "a"),
    ("explain", "x"),
    ("status",),
    ("history",),
    ("undo", "--since", "1h"),
    ("verify",),
    ("resume",),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_ledger(ledger: Path, run: Run, command: tuple[str, ...]) -> None:
    """A ledger that is no longer a database ends with 3 and says what to do; the file stays as it is."""
    ledger.write_bytes(b"not a database" * 1000)
    result = run(*command)
    assert result.code == 3
    assert "ledger" in result.err
    assert ledger.read_bytes() == b"not a database" * 1000


@pytest.mark.parametrize("command", COMMANDS)
def test_ledger_damaged_in_its_midst(ledger: Path, process: Run, command: tuple[str, ...]) -> None:
    """A ledger with damaged pages never ends in a traceback, whatever a command makes of the rest."""
    content = bytearray(ledger.read_bytes())
    content[4096 : len(content) - 4096] = b"\xa5" * (len(content) - 8192)
    ledger.write_bytes(content)
    for beside in ("-wal", "-shm"):
        ledger.with_name(ledger.name + beside).unlink(missing_ok=True)
    result = process(*command)
    assert result.code in (0, 3)
    assert result.code == 0 or "ledger" in result.err


@pytest.mark.parametrize("command", [("train", "--spam", "x"), ("untrain", "a"), ("undo", "1"), ("resume",)])
def test_locked_ledger(ledger: Path, run: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that another process holds for too long ends what writes with 75: try again."""
    monkeypatch.setattr("spamnb.ledger.ledger.Ledger", functools.partial(Ledger, busy_seconds=0.05))
    with contextlib.closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = run(*command)
        assert result.code == 75
        assert "try again" in result.err
        assert run("score", "x").code == 2, "what only reads goes on"
        assert run("status").code == 78, "no configuration"
        other.execute("ROLLBACK")
    assert run(*command).code == 0


def test_ledger_is_a_directory(home: Path, run: Run) -> None:
    """If the ledger is a directory, the error names it."""
    (home / ".local/share/spamnb/ledger.sqlite").mkdir(parents=True)
    result = run("status")
    assert result.code == 3
    assert "ledger.sqlite" in result.err


@pytest.mark.parametrize(
    ("environ", "code"),
    [({"XDG_DATA_HOME": "/proc/nowhere"}, 3), ({"XDG_DATA_HOME": "/dev/null"}, 3), ({"HOME": "/proc/nowhere"}, 3)],
)
@pytest.mark.thorough
def test_unwritable_data_directory(home: Path, process: Run, environ: dict[str, str], code: int) -> None:
    """A place that cannot be written is named."""
    result = process("train", "--ham", mail(home / "a", "ham", 1), **environ)
    assert result.code == code
    assert "/ledger.sqlite" in result.err


def test_unset_home(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HOME the ledger has no place, and the error says what to set."""
    monkeypatch.delenv("HOME")
    result = run("status")
    assert result.code == 78
    assert "HOME is not set" in result.err


@pytest.fixture
def as_nobody(home: Path) -> Run:
    """Run a command as a user without rights here; needs root."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")

    def call(*arguments: object) -> Result:
        code = (
            "import os, locale, numpy, yaml, bs4, lxml.etree, spamnb.cli.main as m, spamnb.cli.common.stderr_log;"
            "import spamnb.cli.score, spamnb.cli.train, spamnb.cli.status, spamnb.cli.verify, spamnb.cli.export;"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534); m.entry_point()"
        )
        done = subprocess.run(
            [COMMAND[0], "-c", code, *map(str, arguments)],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            text=True,
        )
        assert "Traceback" not in done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def open_home(open_place: Path, taught_once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a filter that has learned, and that others may list.

    It is not below pytest's own directory: each pytest that starts on this machine closes that to others.
    """
    shutil.copytree(taught_once, open_place, dirs_exist_ok=True)
    open_place.chmod(0o755)
    monkeypatch.setenv("HOME", str(open_place))
    return open_place


@pytest.mark.thorough
def test_no_permission(open_home: Path, as_nobody: Run) -> None:
    """An error for missing rights names the file, and tells the user to look at its permissions."""
    os.chmod(open_home / "spam.eml", 0)
    result = as_nobody("status")
    assert result.code == 3
    assert "ermission" in result.err
    (open_home / "open").mkdir(mode=0o777)
    os.chmod(open_home / "open", 0o777)
    (open_home / "c.yaml").write_text(f"ledger: {open_home}/open/ledger.sqlite\nmailboxes: []\n")
    os.environ["XDG_DATA_HOME"] = str(open_home / "open")
    try:
        result = as_nobody("score", open_home / "spam.eml")
        assert result.code == 3
        assert "Permission denied" in result.err
        os.chmod(open_home / "lessons" / "ham", 0)
        result = as_nobody("train", "--ham", open_home / "lessons" / "ham")
        assert (result.code, "Permission denied" in result.err) == (3, True)
        assert as_nobody("train", "--ham", open_home / "lessons").code == 3
    finally:
        del os.environ["XDG_DATA_HOME"]


@pytest.mark.thorough
@pytest.mark.parametrize(("closed", "command"), [("Maildir", "init"), ("", "init"), ("Maildir", "evaluate")])
def test_mail_that_may_not_be_read(
    open_place: Path, program_for_all: None, as_nobody: Run, closed: str, command: str
) -> None:
    """If the mail may not be read, an error says who may, or what to correct."""
    root = maildir(open_place / "anna" / "Maildir", INBOX=[message("ham", 1)])
    os.chmod(open_place / "anna" / closed, 0o700)
    result = as_nobody("--config", open_place / "c.yaml", command, root)
    assert result.code == 3
    assert "Permission denied" in result.err
    assert re.search(r"run spamnb as (the owner of the mail|its owner), or correct (the|its) permissions", result.err)


@pytest.mark.thorough
def test_reading_what_may_not_be_written(open_home: Path, as_nobody: Run) -> None:
    """A user who may only read the ledger can verify and export it; no file is made beside it."""
    directory = open_home / ".local/share/spamnb"
    for each in (directory, *directory.parents[:2]):
        os.chmod(each, 0o755)
    os.chmod(directory / "ledger.sqlite", 0o644)
    before = sorted(directory.iterdir())
    result = as_nobody("verify")
    assert (result.code, result.err) == (0, "")
    assert "the sum of 25 ham and 25 spam messages" in result.out
    result = as_nobody("export")
    assert (result.code, result.err) == (0, "")
    assert len(result.out.splitlines()) > 100
    assert sorted(directory.iterdir()) == before


def test_reading_what_is_not_there(home: Path, run: Run, process: Run) -> None:
    """Without a ledger, `verify` and `export` make none."""
    assert run("verify").out == "The counts of 0 tokens are the sum of 0 ham and 0 spam messages.\n"
    (line,) = process("export").out.splitlines()
    assert '"tokens": 0' in line
    assert list(home.iterdir()) == []
