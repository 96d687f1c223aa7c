"""Going back to an earlier ledger, by hand and after damage; and dying on the way."""

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import LedgerBusyError, LedgerError, LedgerLostError
from spamnb.ledger.copies.copy import roll, unpack
from spamnb.ledger.copies.recovery import recover, restore
from spamnb.ledger.file.parts import directory_of, rolling
from spamnb.ledger.file.readonly import faults_of
from spamnb.ledger.file.replacement import put
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from tests.dying import DeathError, Fuse, dead
from tests.ledger.test_copies import garble, noon
from tests.lessons import label_of, learn, lesson


def used(path: str) -> None:
    """A ledger with a copy of each of two days, a message placed and about to be moved, and one learned later."""
    with Ledger(path) as ledger:
        for number, day in enumerate((1, 2, 3)):
            tokens = {f"{number}.{i}": 1 for i in range(3000)}
            learn(ledger, [lesson(f"m{number}", number % 2, tokens, at=noon(day))])
            if number == 0:
                mailbox, _ = ledger.locations.mailbox("/mail")
                ledger.locations.start(mailbox, noon(1))
                inbox, junk = ledger.locations.folder(mailbox, "INBOX"), ledger.locations.folder(mailbox, "Junk")
                seen = ledger.messages.ensure(b"placed", "")
                ledger.locations.put(inbox, "1.a.b", seen.id, "appeared", b"", "", noon(1))
                ledger.journal.intend(seen.id, (inbox, "1.a.b"), (junk, "1.a.b"), Cause("spam", noon(1)))
            if day < 3:
                roll(path, noon(day), 7)


def labels(path: str) -> dict[str, int | None]:
    """Return the labels of the messages."""
    with Ledger(path) as ledger:
        assert ledger.lessons.verify() == []
        return {f"m{number}": label_of(ledger, f"m{number}".encode()) for number in range(3)}


def cut(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def emptied(path: str) -> None:
    os.truncate(path, 0)


def no_database(path: str) -> None:
    Path(path).write_text("my diary\n" * 500)


def removed(path: str) -> None:
    os.unlink(path)


def without_totals(path: str) -> None:
    with Ledger(path) as ledger:
        ledger._connection.execute("DELETE FROM total")


def without_a_table(path: str) -> None:
    with Ledger(path) as ledger:
        ledger._connection.execute("DROP TABLE state")


DAMAGES = [cut, emptied, no_database, removed, garble, without_totals, without_a_table]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(path: str, damage: Callable[[str], None]) -> None:
    """A ledger damaged in any way is set aside to the last byte, and its newest sound copy takes its place."""
    used(path)
    damage(path)
    before = Path(path).read_bytes() if os.path.exists(path) else None
    done = recover(path, datetime(1970, 1, 10, tzinfo=UTC).timestamp())
    assert done is not None
    assert done.source == rolling(path)[0]
    assert labels(path) == {"m0": 0, "m1": 1, "m2": None}
    if before is None:
        assert done.aside is None
    else:
        assert done.aside == f"{path}.damaged-1970-01-10T00-00-00Z"
        assert Path(done.aside).read_bytes() == before
    assert recover(path, noon(10)) is None


def test_nothing_of_places_is_kept(path: str) -> None:
    """A restore brings no places of mail: mailboxes are new, and open moves are given up."""
    used(path)
    garble(path)
    recover(path, noon(9))
    with Ledger(path) as ledger:
        mailbox, started_at = ledger.locations.mailbox("/mail")
        assert started_at is None
        assert ledger.locations.files_in(ledger.locations.folder(mailbox, "INBOX")) == {}
        placed = ledger.messages.find(b"placed")
        assert placed is not None
        assert ledger.locations.of_message(placed.id) == []
        assert ledger.journal.intents() == []
        assert ledger.state.restored_at == noon(9)


def test_log_is_set_aside_with_its_file(path: str) -> None:
    """The log of a damaged ledger moves with its file, and is never read with a different file."""
    used(path)
    with Ledger(path) as ledger:
        learn(ledger, [lesson("m3", 1, {"late": 1})])
        log = Path(path + "-wal").read_bytes()
        kept = Path(path).read_bytes()
    Path(path + "-wal").write_bytes(log)  # as a kill leaves it
    Path(path).write_bytes(kept[: len(kept) // 2])
    done = recover(path, noon(9))
    assert done is not None
    assert Path(f"{done.aside}-wal").read_bytes() == log
    assert labels(path) == {"m0": 0, "m1": 1, "m2": None}


def test_damaged_copies_are_passed_over(path: str) -> None:
    """The newest sound copy is restored."""
    used(path)
    newest, older = rolling(path)
    cut(newest)
    garble(path)
    done = recover(path, noon(9))
    assert done is not None
    assert done.source == older
    assert labels(path) == {"m0": 0, "m1": None, "m2": None}


def test_copies_of_later_days_are_passed_over(path: str) -> None:
    """A copy that was made while the clock was ahead is older than those of today, whatever its name."""
    used(path)
    newest, older = rolling(path)
    os.rename(older, older.replace("1970-01-02", "2033-05-18"))
    garble(path)
    done = recover(path, noon(9))
    assert done is not None
    assert done.source == newest


def test_a_busy_ledger_is_not_a_damaged_copy(path: str) -> None:
    """If a copy cannot be examined now, no older one replaces it."""
    used(path)
    garble(path)
    before = Path(path).read_bytes()
    busy = LedgerBusyError("another process replaces the ledger")
    with (
        mock.patch("spamnb.ledger.copies.recovery.held_of", side_effect=busy),
        pytest.raises(LedgerBusyError),
    ):
        recover(path, noon(9))
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("damage", [cut, emptied, no_database, garble])
def test_no_sound_copy(path: str, damage: Callable[[str], None]) -> None:
    """Without a sound copy nothing is touched, and the error says what to do; its exit code forbids a restart."""
    used(path)
    for copy in rolling(path):
        os.truncate(copy, 5000)
    damage(path)
    before = Path(path).read_bytes()
    with pytest.raises(LedgerLostError, match="spamnb restore FILE") as raised:
        recover(path, noon(9))
    assert raised.value.exit_code == 78
    assert Path(path).read_bytes() == before


def test_sound_or_new(path: str) -> None:
    """A sound ledger stays unchanged, and a missing one is not restored."""
    assert recover(path, noon(1)) is None
    assert not os.path.exists(path)
    used(path)
    before = Path(path).read_bytes()
    assert recover(path, noon(9)) is None
    assert Path(path).read_bytes() == before


def test_another_programs_database_is_not_damage(path: str) -> None:
    """A database of another program, or of a later version, is left alone, whatever copies there are."""
    used(path)
    with Ledger(path) as ledger:
        ledger._connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="upgrade spamnb"):
        recover(path, noon(9))
    assert os.listdir(os.path.dirname(path)).count("ledger.sqlite") == 1
    assert not list(Path(path).parent.glob("*.damaged-*"))


def test_not_while_others_have_it_open(path: str) -> None:
    """While any process has the ledger open no other file takes its place."""
    used(path)
    with (
        Ledger(path),
        mock.patch.object(time, "monotonic", side_effect=range(0, 1000, 5)),
        pytest.raises(LedgerBusyError, match="try again"),
    ):
        restore(path, rolling(path)[0], noon(9))
    assert labels(path)["m2"] == 0


def test_full_disk(path: str) -> None:
    """If the copy cannot be written the ledger is unchanged, and no part of the copy is left."""
    used(path)
    before = sorted(os.listdir(os.path.dirname(path)))
    with (
        mock.patch("spamnb.ledger.copies.recovery.copy_from", side_effect=OSError(28, "No space left on device")),
        pytest.raises(OSError, match="No space"),
    ):
        restore(path, rolling(path)[0], noon(9))
    assert sorted(os.listdir(os.path.dirname(path))) == before
    assert labels(path) == {"m0": 0, "m1": 1, "m2": 0}


def test_an_earlier_one_set_aside_is_not_overwritten(path: str) -> None:
    """Two replacements in one second keep both former ledgers."""
    used(path)
    first, second = (restore(path, rolling(path)[0], noon(9)).aside for _ in range(2))
    assert first != second
    assert first is not None
    assert labels(first)["m2"] == 0
    assert second is not None
    assert faults_of(second) == []


def test_killed_at_any_step(path: str, tmp_path: Path) -> None:
    """Killed at any step, a replacement is not begun or is made by whoever opens the ledger next; nothing is lost."""
    used(path)
    with Ledger(path) as ledger:
        learn(ledger, [lesson("m3", 1, {"late": 1})])
        log, kept = Path(path + "-wal").read_bytes(), Path(path).read_bytes()
    shutil.copytree(directory_of(path), tmp_path / "kept")
    outcomes = set()
    for at in range(1, 100):
        site = tmp_path / str(at)
        site.mkdir()
        here = str(site / "ledger.sqlite")
        Path(here).write_bytes(kept)
        Path(here + "-wal").write_bytes(log)
        fuse = Fuse(at, dead)
        with mock.patch.multiple(
            os,
            rename=fuse.through(os.rename),
            fsync=fuse.through(os.fsync),
            utime=fuse.through(os.utime),
            unlink=fuse.through(os.unlink),
        ):
            try:
                restore(here, str(tmp_path / "kept" / "ledger-1970-01-02.sqlite.gz"), noon(9))
                killed = False
            except DeathError:
                killed = True
        with Ledger(here, only_read=True) as reader:
            read = label_of(reader, b"m3")
        replaced = labels(here) == {"m0": 0, "m1": None, "m2": None}
        assert (read == 1) is not replaced, "who only reads finds what will be"
        with Ledger(here) as ledger:
            assert (label_of(ledger, b"m3") == 1) is not replaced
        former = [one for one in site.iterdir() if "replaced" in one.name and not one.name.endswith(("-wal", "-shm"))]
        assert len(former) == (1 if replaced else 0)
        for one in former:
            with Ledger(str(one)) as ledger:
                assert label_of(ledger, b"m3") == 1, "the log went with it"
        assert not [name for name in os.listdir(site) if ".incoming-" in name]
        outcomes.add((killed, replaced))
        if not killed:
            break
    assert outcomes == {(True, False), (True, True), (False, True)}


def test_reading_makes_no_replacement(path: str) -> None:
    """A reader does not complete an interrupted replacement: it reads the new ledger."""
    used(path)
    incoming = f"{path}.incoming-replaced"
    unpack(rolling(path)[0], incoming)
    before = {file: file.read_bytes() for file in Path(path).parent.iterdir() if file.is_file()}
    with Ledger(path, only_read=True) as ledger, ledger.snapshot():
        assert (label_of(ledger, b"m1"), label_of(ledger, b"m2")) == (1, None)
    assert before == {file: file.read_bytes() for file in Path(path).parent.iterdir() if file.is_file()}
    assert labels(path) == {"m0": 0, "m1": 1, "m2": None}
    assert not os.path.exists(incoming)


def test_no_new_file(path: str) -> None:
    """A new file that is not there changes nothing."""
    used(path)
    before = sorted(os.listdir(os.path.dirname(path)))
    with pytest.raises(FileNotFoundError):
        put(path, f"{path}.new", noon(1), "replaced")
    assert sorted(os.listdir(os.path.dirname(path))) == before
    assert labels(path)["m2"] == 0


@pytest.mark.parametrize("damage", [emptied, removed])
def test_no_new_ledger_beside_copies(path: str, damage: Callable[[str], None]) -> None:
    """If the ledger is gone but copies exist no new one is made: it would pass for the old one."""
    used(path)
    damage(path)
    with pytest.raises(LedgerError, match="move them away to begin again"):
        Ledger(path)
    assert recover(path, noon(9)) is not None
    assert labels(path)["m1"] == 1


def test_damage_in_the_tables_own_words(path: str) -> None:
    """Damage in SQLite's own description of a table is reported as damage, without a traceback."""
    Ledger(path).close()
    file = Path(path)
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE total", b"CREATE \xffABLE total"))
    assert len(faults_of(path)) == 1
