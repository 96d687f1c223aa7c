"""The ledger locked, damaged, deleted or replaced, before the service starts and while it works."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerError
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.file.readonly import faults_of, state_of
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.schema import VERSION
from tests import warm
from tests.faults.conftest import IMPATIENT, Faulty, mounted, read_only
from tests.patience import PATIENCE, until
from tests.service.conftest import LESSONS


@contextlib.contextmanager
def locked(path: Path):
    """Another process writes for long."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_locked_for_long(site: Faulty) -> None:
    """A ledger that is locked for very long delays the service, which logs it once, and loses nothing."""
    site.program = IMPATIENT
    site.teach()
    site.start()
    site.goes_on(850)
    with locked(site.ledger):
        spam = [site.spam(851 + number) for number in range(3)]
        until(lambda: "Mail stays where it is until then" in site.log(), "the fault said")
        assert all(one in site.contents("INBOX") for one in spam)
        assert site.is_up()
    until(lambda: all(one in site.contents("Junk") for one in spam), "all of it done")
    until(lambda: "the ledger can be used again" in site.log(), "the end of it said")
    assert site.log().count("Mail stays where it is until then") == 1
    site.clean()


def test_locked_at_the_start(site: Faulty) -> None:
    """A service that starts while the ledger is being made or converted by another process waits for it."""
    site.program = IMPATIENT
    site.teach()
    with locked(site.ledger):
        site.start(wait=False)
        until(lambda: "Another process is writing to the ledger" in site.log(), "the fault said")
        assert site.is_up()
    until(lambda: "watching" in site.log(), "the start")
    site.goes_on(855)
    site.clean()


def delete(site: Faulty) -> None:
    """With all that belongs to it."""
    for file in site.directory.glob("ledger.sqlite*"):
        if not file.name.endswith(".lock"):
            file.unlink()


def delete_alone(site: Faulty) -> None:
    """The file, and not the log beside it."""
    site.ledger.unlink()


def replace(site: Faulty) -> None:
    """By an empty ledger that another program made."""
    Ledger(str(site.directory / "another.sqlite")).close()
    delete(site)
    (site.directory / "another.sqlite").rename(site.ledger)


def replace_by_rubbish(site: Faulty) -> None:
    """By something that is no ledger."""
    (site.directory / "rubbish").write_bytes(b"rubbish" * 1000)
    os.replace(site.directory / "rubbish", site.ledger)


@pytest.mark.parametrize("how", [delete, delete_alone, replace, replace_by_rubbish])
@pytest.mark.parametrize("busy", [True, False], ids=["mail comes", "no mail comes"])
def test_lost_while_running(site: Faulty, how: Callable[[Faulty], None], busy: bool) -> None:
    """A ledger that loses its place is noticed before anything more is done, and the service ends with one line."""
    site.teach()
    site.start()
    site.goes_on(860)
    how(site)
    if busy:
        site.spam(861)
    assert site.ended() == 3
    assert site.log().splitlines()[-1].endswith("start again to use the new file")
    assert "was deleted or replaced while it was in use" in site.log()
    assert "Traceback" not in site.log()
    assert len(site.everything()) == 1 + busy
    assert len(site.contents("Junk")) == 1, "nothing more was moved"


@pytest.mark.parametrize("how", [delete, replace])
def test_started_again_without_its_ledger(site: Faulty, how: Callable[[Faulty], None]) -> None:
    """A service that starts with a new ledger learns nothing from where the mail lies, and moves none of it."""
    site.configure("service:\n  reconcile_seconds: 1\n  copies: 0\n")
    site.teach()
    site.start()
    site.goes_on(865)
    ham = site.deliver(message("ham", 865))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    how(site)
    assert site.ended() == 3
    before = site.everything()
    site.start()
    late = site.spam(866)
    until(lambda: site.log().count("stays in INBOX") == 2, "judged")
    assert site.end() == 0
    assert site.everything() == sorted([*before, late])
    assert sorted(site.contents("INBOX")) == sorted([ham, late])
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [0, 0]


def test_started_again_with_a_copy(site: Faulty) -> None:
    """A service whose ledger was deleted goes on with its newest copy, and leaves what lies there as it is."""
    site.teach()
    site.start()
    site.goes_on(865)
    delete(site)
    assert site.ended() == 3
    left = site.everything()
    site.start()
    assert "its copy of" in site.log()
    late = site.spam(866)
    until(lambda: late in site.contents("Junk"), "moved by what was learned before")
    assert site.end() == 0
    assert site.everything() == sorted([*left, late])
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.verify() == []
        assert ledger.lessons.totals()[:2].tolist() == [LESSONS, LESSONS]


def test_put_back(site: Faulty) -> None:
    """A ledger that was taken away and put back goes on as if nothing had been."""
    site.teach()
    site.start()
    site.goes_on(867)
    away = site.directory / "away"
    away.mkdir()
    for file in [*site.directory.glob("ledger.sqlite*")]:
        file.rename(away / file.name)
    assert site.ended() == 3
    for file in away.iterdir():
        file.rename(site.directory / file.name)
    late = site.spam(868)
    site.start()
    until(lambda: late in site.contents("Junk"), "moved by what was learned before")
    site.goes_on(869)
    site.clean()


def test_commands_on_a_lost_ledger(site: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """What a command would write to a ledger that was deleted meanwhile is refused with a line."""
    from spamnb.base.errors import LedgerError, LedgerUnavailableError

    site.teach()
    with Ledger(str(site.ledger)) as ledger:
        delete(site)
        with pytest.raises(LedgerError, match="was deleted or replaced") as raised:
            ledger.state.restored_at = 1.0
        assert not isinstance(raised.value, LedgerUnavailableError)


@pytest.mark.parametrize("busy", [True, False], ids=["mail comes", "no mail comes"])
def test_upgraded_while_running(site: Faulty, busy: bool) -> None:
    """A service whose ledger a later program upgrades ends with one line, and its unit may start the new program.

    Nothing more is moved until then, and nothing is lost.
    """
    site.configure("service:\n  reconcile_seconds: 1\n  copies: 0\n")
    site.teach()
    site.start()
    site.goes_on(857)

    def become(version: int, former: str, later: str) -> None:
        with contextlib.closing(sqlite3.connect(site.ledger, isolation_level=None)) as other:
            other.execute("PRAGMA writable_schema = ON")
            other.execute("BEGIN IMMEDIATE")
            other.execute(f"ALTER TABLE {former} RENAME TO {later}")
            other.execute(
                "UPDATE sqlite_master SET sql = replace(sql, '\"counts\"', 'counts')"
            )  # as it was, in the end
            other.execute(f"PRAGMA user_version = {version}")
            other.execute("COMMIT")

    become(VERSION + 1, "counts", "counts_of_a_later_version")
    late = [site.spam(858)] if busy else []
    assert site.ended() == 3  # not 78, with which the unit does not start it again
    assert site.log().splitlines()[-1].endswith("was upgraded while it was in use, to a later version: start again")
    assert site.log().count("was upgraded") == 1
    assert [one for one in late if one in site.contents("INBOX")] == late
    become(VERSION, "counts_of_a_later_version", "counts")  # what the new program would find
    site.start()
    until(lambda: all(one in site.contents("Junk") for one in late), "what came meanwhile judged and moved")
    site.goes_on(859)
    site.clean()


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "with the log of a process that was killed"])
def test_read_on_a_read_only_disk(site: Faulty, tmp_path: Path, killed: bool) -> None:
    """A ledger on a disk that takes no writing is read and examined, the commits in its log among it."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        if killed:
            with Ledger(str(site.ledger)) as ledger:
                ledger.state.restored_at = 1.0
                left = {path: path.read_bytes() for path in disk.glob("ledger.sqlite*")}
            for path, content in left.items():
                path.write_bytes(content)
        with read_only(disk):
            before = sorted(disk.iterdir())
            assert faults_of(str(site.ledger)) == []
            with Ledger(str(site.ledger), only_read=True) as ledger:
                assert ledger.lessons.totals()[:2].tolist() == [LESSONS, LESSONS]
                assert ledger.lessons.verify() == []
                assert ledger.state.restored_at == (1.0 if killed else None)
            assert sorted(disk.iterdir()) == before
        site.start()
        site.goes_on(856)
        site.clean()


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_commands_on_a_read_only_disk(
    site: Faulty, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    """What only reads does its work on a disk that takes no writing, whoever may open the ledger's directory."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        disk.chmod(mode)
        (disk / "ledger.sqlite.use.lock").unlink(missing_ok=True)
        mail = str(site.directory / "lessons" / "spam" / "0.eml")
        exported = str(tmp_path / "counts")
        with read_only(disk):
            before = sorted(disk.iterdir())
            for command in (["verify"], ["export", exported], ["status"], ["history"], ["explain", mail]):
                assert site.spamnb(*command) == 0, (command, capsys.readouterr().err)
            assert site.spamnb("score", mail) in (0, 2)
            assert sorted(disk.iterdir()) == before
        assert site.spamnb("export", "--force", str(tmp_path / "again")) == 0
        assert (tmp_path / "again").read_bytes() == Path(exported).read_bytes()


def test_a_log_without_its_index_on_a_read_only_disk(
    site: Faulty, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commits in a log that cannot be read there are not left out silently: the error says what to do."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        with Ledger(str(site.ledger)) as ledger:
            ledger.state.restored_at = 1.0
            left = {path: path.read_bytes() for path in disk.glob("ledger.sqlite*") if path.suffix != ".sqlite-shm"}
        for path, content in left.items():
            path.write_bytes(content)
        with read_only(disk):
            assert site.spamnb("verify") == 3
            assert "copy both files to another directory" in capsys.readouterr().err
        assert site.spamnb("verify") == 0


def newer(content: bytes, choose: random.Random) -> bytes:
    """From a later version: SQLite keeps the user version at byte 60."""
    return content[:60] + (999).to_bytes(4, "big") + content[64:]


def flipped(content: bytes, choose: random.Random) -> bytes:
    """Random bytes at random places."""
    damaged = bytearray(content)
    for _ in range(choose.choice([1, 10, 100, 1000])):
        damaged[choose.randrange(len(damaged))] = choose.randrange(256)
    return bytes(damaged)


def cut(content: bytes, choose: random.Random) -> bytes:
    """Of a random length."""
    return content[: choose.randrange(len(content))]


def pages_lost(content: bytes, choose: random.Random) -> bytes:
    """Whole pages of zeros or of something else, as a failing disk gives them."""
    damaged = bytearray(content)
    for _ in range(choose.choice([1, 5, 20])):
        page = choose.randrange(len(damaged) // 4096) * 4096
        damaged[page : page + 4096] = choose.choice([bytes(4096), choose.randbytes(4096)])
    return bytes(damaged)


def empty(content: bytes, choose: random.Random) -> bytes:
    """Zero length."""
    return b""


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a ledger in which something was learned, judged and moved."""
    site = Faulty(tmp_path_factory.mktemp("taught"))
    site.configure(dwell=0)
    site.teach()
    site.work()
    for number in range(20):
        site.spam(870 + number)
        site.deliver(message("ham", 870 + number))
    site.work()
    assert len(site.contents("Junk")) == 20
    return site.directory


def copy_of(taught: Path, directory: Path) -> Faulty:
    """The same site in another place, the ledger's names of it changed."""
    shutil.copytree(taught, directory, symlinks=True, dirs_exist_ok=True)
    site = Faulty(directory)
    site.configure(dwell=0)
    with contextlib.closing(sqlite3.connect(site.ledger)) as ledger:
        ledger.execute("UPDATE mailbox SET path = ?", (os.fsencode(site.root),))
        ledger.commit()
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return site


def damage(taught: Path, tmp_path: Path, how: Callable[[bytes, random.Random], bytes], seed: int) -> bool:
    """Damage the ledger, let the service work, and look at what became of the mail. Returns whether it learned."""
    site = copy_of(taught, tmp_path / f"{how.__name__}-{seed}")
    before, junk = site.everything(), site.contents("Junk")
    site.ledger.write_bytes(how(site.ledger.read_bytes(), random.Random(f"{how.__name__} {seed}")))
    for beside in ("-wal", "-shm"):
        site.ledger.with_name(site.ledger.name + beside).unlink(missing_ok=True)
    ham = site.deliver(message("ham", 899))
    done = warm.run("--config", str(site.config), "run", "--once")
    log = done.stderr.decode()
    said = f"{how.__name__} {seed}: {done.returncode}: {log}"
    assert "Traceback" not in log, said
    assert "should not happen" not in log, said
    assert done.returncode in (0, 3), said
    assert done.returncode == 0 or "ledger" in log.splitlines()[-1], said
    assert site.everything() == sorted([*before, ham]), said
    assert set(junk) <= set(site.contents("Junk")), said
    assert ham in site.contents("INBOX"), said
    return "learned as" in log


@pytest.mark.parametrize("how", [newer, flipped, cut, pages_lost, empty])
def test_damaged_at_the_start(taught: Path, tmp_path: Path, how: Callable[[bytes, random.Random], bytes]) -> None:
    """Whatever the damage: no traceback, no mail lost or moved out of its place, nothing learned."""
    for seed in range(1 if how in (newer, empty) else 4):
        assert not damage(taught, tmp_path, how, seed)


@pytest.mark.slow
@pytest.mark.parametrize("how", [flipped, cut, pages_lost])
def test_damaged_in_many_ways(taught: Path, tmp_path: Path, how: Callable[[bytes, random.Random], bytes]) -> None:
    """The same at a hundred other places; SQLite cannot see every changed byte, so a few lessons may be made up."""
    learned = 0
    for seed in range(100, 200):
        learned += damage(taught, tmp_path, how, seed)
        shutil.rmtree(tmp_path / f"{how.__name__}-{seed}")
    assert learned <= (3 if how is flipped else 0)


# --- damage that only a comparison of tables and indexes shows ------------------------------------------------


def seen_by_sqlite(path: Path, pragma: str = "integrity_check") -> bool:
    """Whether SQLite's own examination finds damage."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute(f"PRAGMA {pragma}").fetchall() != [("ok",)]
    except (sqlite3.Error, UnicodeDecodeError):
        return True


def in_an_index(path: Path, choose: random.Random) -> None:
    """Change one byte in the content of an index, mostly so that its pages can be read as before."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        pages = [
            page
            for (page,) in db.execute(
                "SELECT pageno FROM dbstat WHERE pagetype = 'leaf' AND ncell > 0"
                " AND name IN (SELECT name FROM sqlite_master WHERE type = 'index') ORDER BY pageno"
            )
        ]
    with path.open("r+b") as file:
        end = choose.choice(pages) * 4096
        file.seek(end - 1 - choose.randrange(400))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1 << choose.randrange(8)]))


def anywhere(path: Path, choose: random.Random) -> None:
    """Change a few bytes."""
    damaged = flipped(path.read_bytes(), choose)
    path.write_bytes(damaged)


def lessons_of(path: Path) -> list[bytes]:
    """The identity of each lesson, by the table alone."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT digest FROM lesson NOT INDEXED")]


def survives(taught: Path, directory: Path, how: Callable[[Path, random.Random], None], seed: int) -> bool:
    """Damage the ledger, ask the commands, and run the service until it ends well. Returns whether SQLite saw it."""
    site = copy_of(taught, directory)
    shutil.copy(site.ledger, sound := directory / "sound.sqlite")
    how(site.ledger, random.Random(f"{how.__name__} {seed}"))
    said = f"{how.__name__} {seed}"
    is_seen = seen_by_sqlite(site.ledger)
    if is_seen:
        shutil.copy(site.ledger, directory / "copy.sqlite")
        assert site.spamnb("verify") == 3, said
        assert site.spamnb("doctor") != 0, said
        with pytest.raises(LedgerError):
            restore(str(sound), str(directory / "copy.sqlite"), 1.0)
    with contextlib.suppress(LedgerError):  # of damage that no examination shows, or that is met before one is made
        site.work()
    site.work()
    assert not seen_by_sqlite(site.ledger), said
    for kind in ("ham", "spam"):
        assert site.spamnb("train", f"--{kind}", str(taught / "lessons" / kind)) == 0, said
    learned = lessons_of(site.ledger)
    assert len(learned) == len(set(learned)), f"{said}: a message is learned twice"
    if is_seen:
        assert len(learned) == 2 * LESSONS, said
        assert site.faults() == [], said
    return is_seen


@pytest.mark.parametrize("how", [in_an_index, anywhere])
def test_no_damage_is_called_well(taught: Path, tmp_path: Path, how: Callable[[Path, random.Random], None]) -> None:
    """What SQLite sees, `verify`, `doctor` and `restore` see; the service takes a copy, and learns nothing twice."""
    assert sum(survives(taught, tmp_path / str(seed), how, seed) for seed in range(5)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("how", [in_an_index, anywhere])
def test_no_damage_of_many_is_called_well(
    taught: Path, tmp_path: Path, how: Callable[[Path, random.Random], None]
) -> None:
    """The same of 75 damages each."""
    seen = 0
    for seed in range(100, 175):
        seen += survives(taught, tmp_path / str(seed), how, seed)
        shutil.rmtree(tmp_path / str(seed))
    assert seen >= 25


def test_damage_that_only_the_work_meets(site: Faulty) -> None:
    """Damage that no page shows ends the service with 3 when it is met; its next start finds it, and takes the copy."""
    site.teach()
    ham = site.deliver(message("ham", 3))  # one that was learned
    site.work()
    with contextlib.closing(sqlite3.connect(site.ledger, isolation_level=None)) as other:
        other.execute("UPDATE lesson SET tokens = x'00112233445566'")
    site.move(ham, "INBOX", "Junk")
    assert site.once() == 3
    assert "the tokens of message" in site.log()
    assert site.spamnb("doctor") == 1
    assert site.once() == 0
    assert "its copy of" in site.log()
    assert ham in site.contents("Junk")
    assert site.faults() == []
    assert site.once() == 0


def test_damage_that_the_copy_of_the_day_meets(site: Faulty) -> None:
    """A service whose copy of the day finds damage ends with 3, and its next start takes the copy before it."""
    site.teach()
    site.work()
    (copy,) = rolling(str(site.ledger))
    os.rename(copy, copy.replace(copy[-20:-10], "2001-01-01"))
    damage_an_index(site.ledger)
    assert site.once() == 3
    assert "was not copied, it is damaged" in site.log()
    assert site.once() == 0
    assert "its copy of" in site.log()
    assert site.faults() == []


def damage_an_index(path: Path) -> None:
    """Damage an index as a disk does, so that only a comparison with its table shows it."""
    before = path.read_bytes()
    for seed in range(99):
        in_an_index(path, random.Random(seed))
        if seen_by_sqlite(path) and not seen_by_sqlite(path, "quick_check"):
            break
        path.write_bytes(before)
    lock = Path(f"{path}.lock")
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"state": state_of(str(path))}))
    assert path.read_bytes() != before


@pytest.mark.parametrize("how", [flipped, cut, pages_lost, empty])
def test_damaged_while_running(site: Faulty, how: Callable[[bytes, random.Random], bytes]) -> None:
    """Damage that is met while the service works ends it with 3 and one line, or is not met; no mail is lost."""
    site.teach()
    site.start()
    site.goes_on(900)
    assert site.process is not None
    choose = random.Random(5)
    with contextlib.closing(sqlite3.connect(site.ledger)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = site.ledger.read_bytes()
    damaged = b"" if how is empty else content[:4096] + how(content[4096:], choose)
    with site.ledger.open("r+b") as file:  # the same file: its name is not at fault
        file.write(damaged)
        file.truncate(len(damaged))
    mail = [site.spam(901), *(site.deliver(message("ham", 902 + number)) for number in range(20))]
    until(lambda: not site.is_up() or site.log().count("stays in INBOX") >= 20, "the outcome")
    if not site.is_up():
        assert site.ended() == 3
        assert "ledger" in site.log().splitlines()[-1]
    else:
        site.end()
    assert "Traceback" not in site.log()
    assert "should not happen" not in site.log()
    assert len(site.everything()) == len(mail) + 1
    assert "learned as" not in site.log()
