"""How the last service ended decides whether the ledger is examined at the next start, and how closely."""

import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerDamagedError, LedgerUnavailableError
from spamnb.ledger.copies import recovery
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.copies.recovery import open_sound
from spamnb.ledger.file.last_end import EndRecord, LastEnd, last_end_of
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from tests.lessons import learn, lesson

DAY = 86_400.0


@pytest.fixture
def examinations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was examined, in order: the pages of a ledger, or all of it."""
    made: list[str] = []
    for name in ("faults_of", "all_faults_of"):
        real = getattr(recovery, name)
        monkeypatch.setattr(
            recovery, name, lambda path, *more, name=name, real=real: made.append(name) or real(path, *more)
        )
    return made


def serve(path: str, now: float, fault: Exception | None = None) -> None:
    """Work with the ledger as a service does, up to a fault."""
    with (
        only_service(path) as lock,
        EndRecord(path, lock).kept() as record,
        open_sound(path, now, record) as ledger,
    ):
        ledger.state.set_done(Job.FORGETTING, now)
        if fault is not None:
            raise fault


def killed(path: str) -> None:
    """As `serve`, and the process dies in the midst of it."""
    with only_service(path) as lock:
        open_sound(path, DAY, EndRecord(path, lock)).close()


def trained(path: str) -> None:
    """A command writes to it, while no service runs."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("later", 1, {"x": 1})])


def replaced(path: str) -> None:
    """Replace the ledger by a different sound one, of any time."""
    Ledger(path + ".other").close()
    os.replace(path + ".other", path)


@pytest.mark.parametrize(
    ("between", "now", "expected"),
    [
        (lambda _: None, DAY + 1, []),
        (lambda _: None, 3 * DAY - 1, []),
        (lambda _: None, 3 * DAY, ["faults_of"]),
        (lambda _: None, DAY - 1, ["faults_of"]),
        (killed, DAY + 1, ["faults_of"]),
        (trained, DAY + 1, ["faults_of"]),
        (replaced, DAY + 1, ["faults_of"]),
        (lambda path: os.unlink(f"{path}.lock"), DAY + 1, ["faults_of"]),
        (lambda path: Path(f"{path}.lock").write_text("[1, {"), DAY + 1, ["faults_of"]),
        (lambda path: Path(f"{path}.lock").write_text('{"damage": "x"}'), DAY + 1, ["all_faults_of"]),
    ],
    ids=[
        "in order", "nearly two days ago", "two days ago", "clock set back", "killed", "trained", "replaced",
        "no lock file", "not to be read", "over damage",
    ],
)  # fmt: skip
def test_examined_where_something_may_have_happened(
    path: str, examinations: list[str], between: object, now: float, expected: list[str]
) -> None:
    """A ledger is examined unless the service before ended in order, with this file, examined within two days."""
    serve(path, DAY)
    between(path)  # type: ignore[operator]
    examinations.clear()
    serve(path, now)
    assert examinations == expected


def test_a_new_ledger(path: str, examinations: list[str]) -> None:
    """A new ledger is not examined, and its first start counts as an examination."""
    serve(path, DAY)
    serve(path, DAY + 1)
    assert examinations == []


def test_the_time_of_the_examination_stays(path: str) -> None:
    """A start that examines nothing does not make the last examination younger."""
    serve(path, DAY)
    serve(path, 2 * DAY)
    assert last_end_of(path).examined_at == DAY


def test_an_end_over_something_else(path: str, examinations: list[str]) -> None:
    """A service that ends without damage has closed its ledger in order; one that was killed has not."""
    serve(path, DAY)
    with pytest.raises(LedgerUnavailableError):
        serve(path, DAY + 1, LedgerUnavailableError("the disk is full"))
    serve(path, DAY + 2)
    assert examinations == []
    with pytest.raises(RuntimeError):
        serve(path, DAY + 3, RuntimeError("a mistake"))
    serve(path, DAY + 4)
    assert examinations == ["faults_of"]


@pytest.mark.parametrize("change", [os.unlink, replaced])
def test_another_file_at_the_end(path: str, examinations: list[str], change: Callable[[str], None]) -> None:
    """A file that was put in the ledger's place while the service worked is examined, though that ended in order."""
    serve(path, DAY)
    with only_service(path) as lock, EndRecord(path, lock).kept() as record:
        open_sound(path, DAY + 1, record).close()
        change(path)
    serve(path, DAY + 2)
    assert examinations == ([] if change is os.unlink else ["faults_of"])
    assert last_end_of(path).examined_at == DAY + 2


def test_an_end_without_the_directory(path: str) -> None:
    """A service whose ledger is out of reach ends with the fault that says so, though its end cannot be recorded."""
    directory = Path(path).parent / "state"
    directory.mkdir()
    state = str(directory / "ledger.sqlite")
    with (
        pytest.raises(LedgerUnavailableError, match="its disk is gone"),
        only_service(state) as lock,
        EndRecord(state, lock).kept() as record,
    ):
        open_sound(state, DAY, record).close()
        directory.rename(f"{directory}.away")
        directory.write_text("")
        raise LedgerUnavailableError("its disk is gone")


def test_long_damage_in_any_letters_is_kept(path: str) -> None:
    """A description of damage can be read again, however many bytes its letters take."""
    serve(path, DAY)
    with pytest.raises(LedgerDamagedError):
        serve(path, DAY + 1, LedgerDamagedError("\N{OPEN MAILBOX WITH RAISED FLAG}" * 1000))
    assert last_end_of(path).damage


def test_a_false_alarm(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A ledger that ended a service, but is sound, stays, and the log says so."""
    serve(path, DAY)
    with pytest.raises(LedgerDamagedError):
        serve(path, DAY + 1, LedgerDamagedError("a bit had turned in memory"))
    assert last_end_of(path) == LastEnd(damage="a bit had turned in memory")
    with caplog.at_level(logging.WARNING):  # whatever a test of the commands has left
        serve(path, DAY + 2)
    assert "is sound. It was: a bit had turned in memory" in caplog.text
    assert last_end_of(path).damage == ""
    assert len(list(Path(path).parent.glob("*.damaged-*"))) == 0


def test_damage_that_is_met_at_the_start(path: str) -> None:
    """Damage that no page shows, and that opening the ledger meets, is answered by a copy at this very start."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 1, {"x": 1})])
    roll(path, DAY, 7)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE state SET value = 'x' WHERE name = 'recorded'")
    serve(path, 2 * DAY)
    with Ledger(path) as ledger:
        assert ledger.verify() == []
        assert ledger.state.restored_at == 2 * DAY
    assert len(list(Path(path).parent.glob("*.damaged-*"))) == 1


def test_nothing_is_recorded_on_a_full_disk(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the end cannot be recorded, the ledger counts as not closed in order."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    serve(path, DAY)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        serve(path, DAY + 1)
    assert last_end_of(path) == LastEnd()
