"""`backup` and `restore`: copies of the ledger."""

import functools
import gzip
import json
import os
import shlex
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.ledger.copies.copy import held_of, unpack
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.file.parts import of_day
from spamnb.ledger.file.readonly import faults_of
from spamnb.ledger.file.replacement import holding
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import COMMAND, Run, counts, ledger_file, mail, maildir
from tests.lessons import wrong_count
from tests.patience import PATIENCE


def former(home: Path) -> list[Path]:
    """The ledgers that were set aside."""
    return sorted(ledger_file(home).parent.glob("ledger.sqlite.replaced-*Z"))


def test_backup(taught: Path, run: Run) -> None:
    """`backup` writes a copy for its owner alone, says what it holds, and replaces a file only with --force."""
    result = run("backup", "copy.sqlite")
    assert result.code == 0
    assert result.out.startswith("wrote copy.sqlite: ")
    assert " KB, 25 ham" in result.out
    assert "25 ham and 25 spam messages" in result.out
    assert stat.S_IMODE(os.stat("copy.sqlite").st_mode) == 0o600
    before = Path("copy.sqlite").read_bytes()
    run("train", "--spam", "spam.eml")
    result = run("backup", "copy.sqlite")
    assert (result.code, result.err.strip()) == (
        64,
        "spamnb: copy.sqlite exists already: name another file, or replace it with --force",
    )
    assert Path("copy.sqlite").read_bytes() == before
    assert "26 spam" in run("backup", "--force", "copy.sqlite").out
    assert run("-q", "backup", "other.sqlite").out == ""
    assert sorted(path.name for path in taught.glob("*.sqlite*")) == ["copy.sqlite", "other.sqlite"]


def test_the_copy_of_the_day(taught: Path, run: Run) -> None:
    """Without FILE, `backup` makes the daily copy, as doctor advises, and keeps as many as the configuration says."""
    maildir(taught / "Maildir", INBOX=[])
    assert run("init", "--no-learn").code == 0
    copies = ledger_file(taught).parent / "copies"
    old, older = (copies / f"ledger-2020-01-0{day}.sqlite.gz" for day in (2, 1))
    today = of_day(str(ledger_file(taught)), time.time())
    assert "; to make one now: spamnb backup\n" in run("doctor").out
    result = run("backup")
    assert (result.code, result.out.partition(": ")[0]) == (0, f"wrote {today}")
    assert held_in(today) == (25, 25)
    assert "spamnb backup" not in run("doctor").out
    for copy in (old, older):
        copy.write_bytes(b"")
    config = taught / ".config/spamnb/config.yaml"
    text = config.read_text()
    config.write_text(f"{text}service: {{copies: 2}}\n")
    run("train", "--spam", "spam.eml")
    assert run("backup").code == 0
    assert (held_in(today), sorted(copies.iterdir())) == ((25, 26), [old, Path(today)])
    config.write_text(f"{text}service: {{copies: 0}}\n")
    for arguments, said in (((), "name a FILE"), (("--force",), "--force is for a FILE")):
        refused = run("backup", *arguments)
        assert (refused.code, said in refused.err) == (64, True)


def held_in(copy: str) -> tuple[int, int]:
    """Return how many ham and spam messages a compressed copy holds."""
    plain = f"{copy}.plain"
    unpack(copy, plain)
    held = held_of(plain)
    os.unlink(plain)
    return held.ham, held.spam


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize("part", ["", "-wal", ".lock"])
def test_the_ledger_itself(taught: Path, run: Run, command: str, part: str) -> None:
    """The ledger is neither copied over itself nor restored from itself, whatever it is called."""
    link = taught / "link"
    link.symlink_to(f"{ledger_file(taught)}{part}")
    force = ["--force"] if command == "backup" else []
    result = run(command, *force, link)
    assert (result.code, result.out) == (64, "")
    assert "is the ledger's own" in result.err


def test_restore_of_a_copy_that_was_cut_short(taught: Path, run: Run) -> None:
    """The error has the reason and the next step, each once."""
    run("backup", "copy.sqlite.gz")
    Path("short.gz").write_bytes(Path("copy.sqlite.gz").read_bytes()[:2000])
    Path("empty.gz").touch()
    Path("short").write_bytes(gzip.decompress(Path("copy.sqlite.gz").read_bytes())[:20_000])
    Path("other").write_bytes(b"no database" * 1000)
    assert "short is not restored, it is damaged (database disk image is malformed):" in run("restore", "short").err
    assert "other is not restored, it is damaged (file is not a database):" in run("restore", "other").err
    assert "there is no file without a name: give" in run("restore", "").err
    result = run("restore", "short.gz")
    why = "Compressed file ended before the end-of-stream marker was reached"
    assert (result.code, result.err) == (
        3,
        f"spamnb: short.gz is not restored, it is damaged ({why}): try another copy\n",
    )
    assert "empty.gz is not restored, it is damaged (it is empty): try another copy" in run("restore", "empty.gz").err


def test_restore_of_a_copy_with_damaged_pages(taught: Path, run: Run) -> None:
    """SQLite's heading over the faults is left out: the first of them follows on the same line."""
    run("backup", "copy.sqlite")
    pages = bytearray(Path("copy.sqlite").read_bytes())
    for start in range(9000, len(pages) - 9000, 5000):
        pages[start] ^= 0xFF
    Path("copy.sqlite").write_bytes(pages)
    result = run("restore", "copy.sqlite")
    assert result.code == 3
    assert result.err.startswith("spamnb: copy.sqlite is not restored, it is damaged (")
    assert (len(result.err.splitlines()), "in database" in result.err) == (1, False)


def test_restore_of_a_copy_with_a_damaged_name(taught: Path, run: Run) -> None:
    """Damage in the name of a table, which Python cannot decode, is damage as any other."""
    run("backup", "copy.sqlite")
    pages = (
        Path("copy.sqlite").read_bytes().replace(b"lessonlesson", b"\xacessonlesson").replace(b"CREATE T", b"CREATX T")
    )
    Path("copy.sqlite").write_bytes(pages)
    result = run("restore", "copy.sqlite")
    assert result.code == 3
    assert result.err.startswith("spamnb: copy.sqlite is not restored, it is damaged (")


def test_backup_compressed(taught: Path, run: Run) -> None:
    """A copy whose name ends in .gz is compressed, like the service's own copies, and can be restored."""
    before = counts(taught)
    assert "25 ham and 25 spam messages" in run("backup", "copy.sqlite.gz").out
    Path("plain").write_bytes(gzip.decompress(Path("copy.sqlite.gz").read_bytes()))
    assert faults_of("plain") == []
    run("train", "--spam", mail(taught / "more", "spam", 5, 100))
    result = run("restore", "copy.sqlite.gz")
    assert (result.code, result.err) == (0, "")
    assert "25 ham and 25 spam messages" in result.out
    assert counts(taught) == before
    assert run("verify").code == 0
    assert not list(ledger_file(taught).parent.glob("*.part"))


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/dev/fd/1"])
def test_backup_into_a_pipe(taught: Path, process: Run, target: str) -> None:
    """A copy for standard output is made whole first, and then nothing but its bytes is written there."""
    done = subprocess.run([*COMMAND, "backup", target], capture_output=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    Path("copy.sqlite").write_bytes(done.stdout)
    assert faults_of("copy.sqlite") == []
    assert process("restore", "copy.sqlite").code == 0
    assert not list(ledger_file(taught).parent.glob(".*.part"))


@pytest.mark.parametrize("target", ["copy.sqlite", "-"])
def test_backup_of_an_interrupted_replacement(taught: Path, run: Run, target: str) -> None:
    """After an interrupted replacement, the copy is one of the new ledger."""
    assert run("backup", "incoming.sqlite").code == 0
    run("train", "--spam", "spam.eml")
    Path("incoming.sqlite").rename(f"{ledger_file(taught)}.incoming-replaced")
    with open("out", "wb") as out:
        assert subprocess.run([*COMMAND, "backup", target], stdout=out, check=False, timeout=PATIENCE).returncode == 0
    held = held_of("copy.sqlite" if target != "-" else "out")
    assert (held.ham, held.spam) == (25, 25)


def test_backup_into_an_open_file(taught: Path) -> None:
    """A file that the shell has opened is written to, and not replaced; a descriptor that is not open is an error."""
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(COMMAND)} backup /dev/fd/3 3>copy.sqlite; {shlex.join(COMMAND)} backup /dev/fd/9"],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"spamnb: cannot write /dev/fd/9: Bad file descriptor; name one of your directories\n"
    assert faults_of("copy.sqlite") == []


def test_backup_into_a_fifo(taught: Path, process: Run) -> None:
    """A pipe with a name is written into, and stays what it is."""
    os.mkfifo("pipe")
    with open("copy.sqlite", "wb") as copy, subprocess.Popen(["cat", "pipe"], stdout=copy):
        assert process("backup", "--force", "pipe").code == 0
    assert faults_of("copy.sqlite") == []
    assert stat.S_ISFIFO(os.lstat("pipe").st_mode)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # a /dev/null of our own
    except OSError as fault:
        pytest.skip(f"no device can be made: {fault}")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [device, listening, Path.mkdir])
@pytest.mark.parametrize("linked", [False, True], ids=["itself", "by a link"])
def test_backup_replaces_no_special_file(taught: Path, run: Run, make: Callable[[Path], None], linked: bool) -> None:
    """A device, a socket or a directory is never replaced, with --force neither, nor by way of a link."""
    special, named = taught / "special", taught / ("link" if linked else "special")
    make(special)
    if linked:
        named.symlink_to(special)
    before = [(os.lstat(path).st_mode, os.lstat(path).st_ino) for path in (special, named)]
    result = run("backup", "--force", named)
    assert result.code == 3
    assert ("Is a directory" if make is Path.mkdir else "Not a regular file") in result.err
    assert [(os.lstat(path).st_mode, os.lstat(path).st_ino) for path in (special, named)] == before


def test_backup_follows_a_link(taught: Path, run: Run) -> None:
    """A link to a file stays a link, and the file is replaced."""
    Path("copy.sqlite").write_text("old")
    Path("link").symlink_to("copy.sqlite")
    assert run("backup", "--force", "link").code == 0
    assert Path("link").is_symlink()
    assert faults_of("copy.sqlite") == []


@pytest.mark.thorough
def test_backup_while_it_is_trained(taught: Path, run: Run, process: Run) -> None:
    """A copy that is made while others open the ledger, learn and close it is of one moment, or none is made."""
    number = 0
    while number < 4:  # on a busy machine fewer copies fall into one training
        more = mail(taught / f"more{number}", "spam", 60, 100 + 60 * number)
        with subprocess.Popen([*COMMAND, "train", "--spam", str(more)], stdout=subprocess.DEVNULL) as training:
            while training.poll() is None:
                number += 1
                assert run("backup", f"{number}.sqlite").code == 0
                assert held_of(f"{number}.sqlite").ham == 25
        assert training.returncode == 0


def test_backup_of_wrong_counts(taught: Path, run: Run) -> None:
    """If the counts are not the sum of all lessons, `backup` makes no copy."""
    broken_count(ledger_file(taught))
    result = run("backup", "copy.sqlite")
    assert result.code == 3
    assert "was not copied, it is damaged (token 7: counted" in result.err
    assert not list(taught.glob("*copy*"))


def test_backup_of_nothing(home: Path, run: Run) -> None:
    """Without a ledger, or if the copy cannot be written, `backup` makes no file."""
    result = run("backup", "copy.sqlite")
    assert result.code == 3
    assert "There is no ledger" in result.err
    assert list(home.iterdir()) == []
    run("train", "--ham", mail(home / "a", "ham", 1))
    result = run("backup", "not/there")
    assert result.code == 3
    assert "cannot write not/there: No such file" in result.err


def test_restore(taught: Path, run: Run) -> None:
    """`restore` gives back what was learned then, keeps the present ledger, and says both."""
    before = counts(taught)
    run("backup", "copy.sqlite")
    run("train", "--spam", mail(taught / "more", "spam", 5, 100))
    result = run("restore", "copy.sqlite")
    assert result.code == 0
    (kept,) = former(taught)
    assert result.out.splitlines()[0].startswith("restored copy.sqlite, of 20")
    assert f"kept as {kept}" in result.out
    assert "is not moved" in result.out
    assert counts(taught) == before
    assert run("verify").code == 0
    with Ledger(str(kept)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [25, 30]
    assert run("restore", kept).code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 30}


def test_restore_after_damage(taught: Path, run: Run) -> None:
    """After a restore, the damage that ended the last service is no longer a fault."""
    run("backup", "copy.sqlite")
    path = str(ledger_file(taught))
    with only_service(path) as lock:
        EndRecord(path, lock).damaged("it was met")
    assert "ended over damage in it: it was met" in run("doctor").out
    assert run("restore", "copy.sqlite").code == 0
    assert "ended over damage" not in run("doctor").out


def test_restore_where_there_is_none(taught: Path, run: Run) -> None:
    """A copy can be restored if the ledger is gone."""
    run("backup", "copy.sqlite")
    ledger_file(taught).unlink()
    result = run("restore", "copy.sqlite")
    assert result.code == 0
    assert "former" not in result.out
    assert run("verify").code == 0


def broken_count(path: Path) -> None:
    with Ledger(str(path)) as ledger:
        ledger._connection.execute(wrong_count(7))


def cut(path: Path) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def diary(path: Path) -> None:
    path.write_text("my diary\n" * 500)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def another(path: Path) -> None:
    import contextlib
    import sqlite3

    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (a)")


def later(path: Path) -> None:
    with Ledger(str(path)) as ledger:
        ledger._connection.execute("PRAGMA user_version = 99")


def with_a_trigger(path: Path) -> None:
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER evil AFTER INSERT ON message BEGIN DELETE FROM counts; END")


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [broken_count, cut, diary, empty, another, later, with_a_trigger, gone])
def test_only_what_is_sound_is_put_back(taught: Path, run: Run, damage: object) -> None:
    """A file that is not a sound ledger is refused in one line, and nothing changes."""
    run("backup", "copy.sqlite")
    damage(taught / "copy.sqlite")  # type: ignore[operator]
    before = ledger_file(taught).read_bytes()
    result = run("restore", "copy.sqlite")
    assert result.code in {3, 64}
    assert len(result.err.splitlines()) == 1
    assert "copy.sqlite" in result.err
    assert ledger_file(taught).read_bytes() == before
    assert former(taught) == []


def test_not_under_a_running_service(taught: Path, run: Run) -> None:
    """While a service runs nothing is put in the ledger's place."""
    run("backup", "copy.sqlite")
    with only_service(str(ledger_file(taught))):
        result = run("restore", "copy.sqlite")
    assert result.code == 3
    assert "stop that one first" in result.err
    assert former(taught) == []


def test_a_ledger_behind_a_link(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is used by its own path and by a link is one ledger: whoever has it open keeps out a restore."""
    true = home / "disk" / "ledger.sqlite"
    (home / "here").mkdir()
    link = home / "here" / "ledger.sqlite"
    link.symlink_to(true)
    mailbox = f"mailboxes: [{{path: {home}/Maildir, roles: {{INBOX: inbox, Junk: spam}}}}]"
    (home / "here.yaml").write_text(f"{mailbox}\nledger: {link}\n")
    linked = ("--config", str(home / "here.yaml"))
    monkeypatch.setattr("spamnb.ledger.copies.recovery.holding", functools.partial(holding, seconds=0.1))
    with Ledger(str(true)):
        assert run(*linked, "backup", "copy").code == 0
        assert run(*linked, "restore", "copy").code == 75
    assert run(*linked, "restore", "copy").code == 0
    assert link.is_symlink()
    assert list(link.parent.iterdir()) == [link]
