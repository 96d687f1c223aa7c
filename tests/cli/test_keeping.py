"""`backup`, `restore`, `export`, `import`, `prune`: what a person types, and what is said."""

import gzip
import json
import os
import shlex
import socket
import stat
import subprocess
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from spamnb.ledger.copying import held_of
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lesson import Lesson
from spamnb.ledger.reading import faults_of
from spamnb.mail.tokenizer import VERSION
from spamnb.service.alone import alone
from tests.cli.conftest import COMMAND, Run, mail
from tests.cli.test_account import counts, ledger_file

Usage = namedtuple("Usage", "total used free")


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
        "spamnb: copy.sqlite is there already: name another file, or replace it with --force",
    )
    assert Path("copy.sqlite").read_bytes() == before
    assert "26 spam" in run("backup", "--force", "copy.sqlite").out
    assert run("-q", "backup", "other.sqlite").out == ""
    assert sorted(path.name for path in taught.glob("*.sqlite*")) == ["copy.sqlite", "other.sqlite"]


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


def test_backup_compressed(taught: Path, run: Run) -> None:
    """A name that ends in .gz is written compressed, as the service's own copies are, and restored all the same."""
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


@pytest.mark.parametrize("target", ["-", "/dev/stdout", "/dev/fd/1"])
def test_backup_into_a_pipe(taught: Path, process: Run, target: str) -> None:
    """A copy for standard output is made whole first, and then nothing but its bytes is written there."""
    done = subprocess.run([*COMMAND, "backup", target], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    Path("copy.sqlite").write_bytes(done.stdout)
    assert faults_of("copy.sqlite") == []
    assert process("restore", "copy.sqlite").code == 0
    assert not list(ledger_file(taught).parent.glob(".*.part"))


@pytest.mark.parametrize("target", ["copy.sqlite", "-"])
def test_backup_of_an_interrupted_replacement(taught: Path, run: Run, target: str) -> None:
    """Where a replacement of the ledger was interrupted, the copy is one of the ledger as it will be."""
    assert run("backup", "incoming.sqlite").code == 0
    run("train", "--spam", "spam.eml")
    Path("incoming.sqlite").rename(f"{ledger_file(taught)}.incoming-replaced")
    with open("out", "wb") as out:
        assert subprocess.run([*COMMAND, "backup", target], stdout=out, check=False, timeout=60).returncode == 0
    held = held_of("copy.sqlite" if target != "-" else "out")
    assert (held.ham, held.spam) == (25, 25)


def test_backup_into_an_open_file(taught: Path) -> None:
    """A file that the shell has opened is written to, and not replaced; a descriptor that is not open is an error."""
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(COMMAND)} backup /dev/fd/3 3>copy.sqlite; {shlex.join(COMMAND)} backup /dev/fd/9"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"spamnb: cannot write /dev/fd/9: Bad file descriptor; name a file in a directory of yours\n"
    assert faults_of("copy.sqlite") == []


def test_backup_into_a_fifo(taught: Path, process: Run) -> None:
    """A pipe with a name is written into, and stays what it is."""
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        assert process("backup", "--force", "pipe").code == 0
        assert reader.stdout is not None
        Path("copy.sqlite").write_bytes(reader.stdout.read())
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
    assert "is no file, and is not replaced" in result.err
    assert [(os.lstat(path).st_mode, os.lstat(path).st_ino) for path in (special, named)] == before


def test_backup_follows_a_link(taught: Path, run: Run) -> None:
    """A link to a file stays a link, and the file is replaced."""
    Path("copy.sqlite").write_text("old")
    Path("link").symlink_to("copy.sqlite")
    assert run("backup", "--force", "link").code == 0
    assert Path("link").is_symlink()
    assert faults_of("copy.sqlite") == []


def test_backup_while_it_is_trained(taught: Path, run: Run, process: Run) -> None:
    """A copy that is made while others open the ledger, learn and close it is of one moment, or none is made."""
    command = [*COMMAND, "train", "--spam", str(mail(taught / "more", "spam", 60, 100))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as training:
        number = 0
        while training.poll() is None:
            number += 1
            assert run("backup", f"{number}.sqlite").code == 0
            assert held_of(f"{number}.sqlite").ham == 25
    assert training.returncode == 0
    assert number > 3


def test_backup_of_wrong_counts(taught: Path, run: Run) -> None:
    """Of a ledger whose counts are not the sum of what was learned no copy is made."""
    broken_count(ledger_file(taught))
    result = run("backup", "copy.sqlite")
    assert result.code == 3
    assert "was not copied, it is damaged (token 7: counted" in result.err
    assert not list(taught.glob("*copy*"))


def test_backup_of_nothing(home: Path, run: Run) -> None:
    """Without a ledger there is nothing to copy, and none is made; nor where the file cannot be written."""
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
    assert "stays where it is" in result.out
    assert counts(taught) == before
    assert run("verify").code == 0
    with Ledger(str(kept)) as ledger:
        assert ledger.learned.totals()[:2].tolist() == [25, 30]
    assert run("restore", kept).code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 30}


def test_restore_where_there_is_none(taught: Path, run: Run) -> None:
    """A copy can be put where no ledger is any more."""
    run("backup", "copy.sqlite")
    ledger_file(taught).unlink()
    result = run("restore", "copy.sqlite")
    assert result.code == 0
    assert "former" not in result.out
    assert run("verify").code == 0


def broken_count(path: Path) -> None:
    with Ledger(str(path)) as ledger:
        ledger._connection.execute("UPDATE count SET spam_messages = spam_messages + 1 WHERE token = 7")


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
        db.execute("CREATE TRIGGER evil AFTER INSERT ON message BEGIN DELETE FROM count; END")


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [broken_count, cut, diary, empty, another, later, with_a_trigger, gone])
def test_only_what_is_sound_is_put_back(taught: Path, run: Run, damage: object) -> None:
    """A file that is no sound ledger in every respect is refused in one line, and nothing is changed."""
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
    with alone(str(ledger_file(taught))):
        result = run("restore", "copy.sqlite")
    assert result.code == 3
    assert "stop that one first" in result.err
    assert former(taught) == []


def test_export_and_import(taught: Path, run: Run, process: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one filter has learned is added to another's, once; `history` shows it and `undo` takes it back."""
    assert "25 ham and 25 spam messages" in run("export", "counts.txt").out
    assert stat.S_IMODE(os.stat("counts.txt").st_mode) == 0o600
    assert process("export").out == Path("counts.txt").read_text()
    monkeypatch.setenv("XDG_DATA_HOME", str(taught / "other"))
    run("train", "--spam", mail(taught / "more", "spam", 5, 100))
    assert run("import", "counts.txt").out.startswith("added 25 ham and 25 spam messages")
    verified = run("verify").out
    assert "25 ham and 30 spam messages" in verified
    assert "Of these 25 ham and 25 spam messages were imported" in verified
    again = run("import", "counts.txt")
    assert (again.code, again.out) == (3, "")
    assert "spamnb undo 6" in again.err
    assert run("import", "--force", "counts.txt").code == 0
    (line, *_) = run("history").out.splitlines()
    assert "imported: 25 ham and 25 spam messages" in line
    assert line.endswith("counts.txt")
    newest = json.loads(run("history", "--json", "--limit", 1).out)
    assert (newest["kind"], newest["id"]) == ("imported", 7)
    assert "undid 7: imported" in run("undo", "7").out
    assert run("undo", "--since", "1h").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 0, "spam": 0}
    assert "undone already" in run("undo", "7").err
    assert process("import", "-", stdin=Path("counts.txt").read_bytes()).code == 0
    assert "standard input" in run("history", "--limit", 1).out
    assert run("verify").code == 0


def test_export_replaces_nothing(taught: Path, run: Run) -> None:
    """A file that is there is replaced only with --force, and where nothing can be written nothing is left."""
    Path("counts.txt").write_text("mine")
    assert run("export", "counts.txt").code == 64
    assert Path("counts.txt").read_text() == "mine"
    assert run("export", "counts.txt", "--force").code == 0
    assert run("export", "not/there").code == 3
    assert not list(taught.glob("*.part"))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_export_to_special_files(taught: Path, run: Run, process: Run, force: list[str]) -> None:
    """A device or a pipe's name is not replaced by an export, nor is the ledger; what is open is written to."""
    os.mkfifo("pipe")
    result = run("export", *force, "pipe")
    assert (result.code, result.out) == (3 if force else 64, "")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    before = ledger_file(taught).read_bytes()
    for part in ("", ".lock", ".use.lock"):
        assert "is the ledger's own" in run("export", *force, f"{ledger_file(taught)}{part}").err
    assert ledger_file(taught).read_bytes() == before
    assert process("export", *force, "/dev/stdout").out == process("export").out
    assert not list(taught.rglob("*.part"))


def test_a_slow_reader_holds_up_nobody(taught: Path, run: Run) -> None:
    """While what was exported is read by way of a pipe, the ledger is free: another file can take its place."""
    run("backup", "copy.sqlite")
    words = {f"word{number}": 1 for number in range(10_000)}  # more than a pipe holds
    with Ledger(str(ledger_file(taught))) as ledger:
        ledger.learned.learn([Lesson(b"x", 0, words, VERSION, "", "", 1.0)])
    with subprocess.Popen([*COMMAND, "export"], stdout=subprocess.PIPE) as export:
        assert export.stdout is not None
        assert export.stdout.read(1) == b"s"
        assert run("restore", "copy.sqlite").code == 0
        assert export.stdout.read().endswith(b"\nend\n")


def test_faulty_import(taught: Path, run: Run) -> None:
    """Each fault of an export is told with its line, and nothing is imported."""
    run("export", "counts.txt")
    lines = Path("counts.txt").read_text().splitlines()
    lines[7], lines[9] = "nonsense", lines[8]
    Path("counts.txt").write_text("\n".join(lines[:-1]))
    before = counts(taught)
    result = run("import", "counts.txt")
    assert (result.code, result.out) == (3, "")
    assert [line.split(": ")[1] for line in result.err.splitlines()[:3]] == [
        "counts.txt:8",
        "counts.txt:10",
        f"counts.txt:{len(lines) - 1}",
    ]
    assert "nothing was imported" in result.err
    assert counts(taught) == before
    missing = run("import", "not/there")
    assert missing.code == 3
    assert "cannot read not/there: No such file" in missing.err


def test_other_tokenizer(taught: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of another tokenizer are added, and a line says that they help less."""
    run("export", "counts.txt")
    text = Path("counts.txt").read_text().replace(f"tokenizer {VERSION}", "tokenizer 77")
    Path("counts.txt").write_text(text)
    result = run("import", "counts.txt")
    assert result.code == 0
    assert "another tokenizer (77;" in result.err


def test_prune(taught: Path, run: Run) -> None:
    """`prune` says what would go, and then makes the file small enough; the counts stay proven."""
    for kind in ("ham", "spam"):
        run("train", f"--{kind}", mail(taught / "more" / kind, kind, 200, 1000))
    size = ledger_file(taught).stat().st_size
    wanted = size * 9 // 10
    before = counts(taught)
    dry = run("prune", "--to", wanted, "--dry-run")
    assert dry.out.startswith("would forget ")
    assert counts(taught) == before
    result = run("prune", "--to", wanted)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("forgot ")
    assert ledger_file(taught).stat().st_size <= wanted
    assert len(counts(taught)) < len(before)
    assert run("verify").code == 0
    assert "nothing to do" in run("prune", "--to", "200M").out
    assert run("-q", "undo", "--yes", "--since", "1h").code == 0
    assert counts(taught) == []


def test_prune_refuses(taught: Path, run: Run) -> None:
    """A size that cannot be reached, and a disk without room, are refused in a line, and nothing is forgotten."""
    before = counts(taught)
    result = run("prune", "--to", "1K")
    assert (result.code, result.out) == (64, "")
    assert "without any token" in result.err
    size = ledger_file(taught).stat().st_size
    with mock.patch("spamnb.cli.keeping.shutil.disk_usage", return_value=Usage(0, 0, 1_000_000)):
        result = run("prune", "--to", size * 95 // 100)
    assert result.code == 3
    assert "Nothing was forgotten" in result.err
    with (
        mock.patch("spamnb.cli.keeping._LARGEST_WITH_SERVICE", 1000),
        alone(str(ledger_file(taught))),
    ):
        result = run("prune", "--to", size * 95 // 100)
    assert result.code == 3
    assert "stop that first" in result.err
    assert counts(taught) == before


@pytest.mark.parametrize("size", ["", "0", "-1", "1T", "M", "1.5M", "9" * 20, "١M"])
def test_no_sizes(taught: Path, run: Run, size: str) -> None:
    """What is no size is a wrong call."""
    assert run("prune", f"--to={size}").code == 64


def test_a_ledger_behind_a_link(run: Run, home: Path) -> None:
    """A ledger that is used by its own path and by a link is one ledger: whoever has it open keeps out a restore."""
    true = home / "disk" / "ledger.sqlite"
    (home / "here").mkdir()
    link = home / "here" / "ledger.sqlite"
    link.symlink_to(true)
    mailbox = f"mailboxes: [{{path: {home}/Maildir, roles: {{INBOX: inbox, Junk: spam}}}}]"
    (home / "here.yaml").write_text(f"{mailbox}\nledger: {link}\n")
    linked = ("--config", str(home / "here.yaml"))
    with Ledger(str(true)):
        assert run(*linked, "backup", "copy").code == 0
        assert run(*linked, "restore", "copy").code == 75
    assert run(*linked, "restore", "copy").code == 0
    assert link.is_symlink()
    assert list(link.parent.iterdir()) == [link]
