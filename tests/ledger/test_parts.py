"""The two parts of a ledger: what was learned, and this host's own history."""

import re
from pathlib import Path

import pytest

import spamnb.ledger
from spamnb.acts import training, undo
from spamnb.base.errors import LedgerDamagedError
from spamnb.base.label import How, Label
from spamnb.ledger import schema
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from tests.lessons import NO_MAILBOX, learn, lesson

ROOT = Path(spamnb.ledger.__file__).parent
TABLES = {
    "lessons": {"lesson", "token", "counts", "total", "import", "sent", "recipient"},
    "history": {
        "message",
        "early_verdict",
        "mailbox",
        "folder",
        "directory",
        "file",
        "action",
        "choice",
        "state",
        "tally",
        "trained_directory",
        "trained_file",
        "sender",
    },
}
TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|REFERENCES)\s+([a-z_]+)\b")


@pytest.mark.parametrize(("part", "other"), [("lessons", "history"), ("history", "lessons")])
def test_no_statement_names_a_table_of_the_other_part(part: str, other: str) -> None:
    """The SQL of lessons names only their tables, and that of the history only its own."""
    named = {
        (module.name, table)
        for module in ROOT.joinpath(part).rglob("*.py")
        for table in TABLE.findall(module.read_text(encoding="utf-8"))
    }
    assert TABLES[part] <= {table for _, table in named}
    assert not [one for one in named if one[1] in TABLES[other]]


def test_no_reference_from_part_to_part() -> None:
    """No table of one part refers to a table of the other, and each table is of one part."""
    part_of = {table: part for part, tables in TABLES.items() for table in tables}
    found = {}
    for statement in ";".join(schema._STEPS).split(";"):
        if made := re.match(r"\s*CREATE TABLE (\w+)", statement):
            found[made[1]] = set(re.findall(r"REFERENCES (\w+)", statement))
    assert found.keys() == part_of.keys()
    for name, referred in found.items():
        assert {part_of[other] for other in referred} <= {part_of[name]}


def test_learned_and_killed_before_the_record(path: str) -> None:
    """Lessons of a process that died before recording them are recorded at the next opening."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
        ledger.lessons.learn(
            [lesson("a", 1, {"x": 1}).reading, lesson("b", 1, {"x": 1}).reading], Label.SPAM, "why", 5.0, how=How.HAND
        )
        ledger.lessons.forget([b"b"], "later", 4.0, how=How.HAND)  # the clock was set back
        assert ledger.journal.newest_id() == 1
    with Ledger(path, only_read=True) as ledger:
        assert ledger.journal.newest_id() == 1, "reading writes nothing"
    for _ in range(2):
        with Ledger(path) as ledger:
            (action,) = ledger.journal.of_message(1)[1:]
            assert (action.at, action.why, action.before, action.after) == (5.0, "why", Label.HAM, Label.SPAM)
            assert ledger.messages.get(1).label is Label.SPAM
            assert ledger.journal.newest_id() == 2, "b was learned and forgotten: its label is the recorded one"


def test_the_repeat_of_a_learning_records_it(ledger: Ledger) -> None:
    """Learned again, what was learned and not recorded changes no count, and is recorded once."""
    reading = lesson("a", 1, {"x": 1}).reading
    ledger.lessons.learn([reading], Label.SPAM, "first", 1.0, how=How.HAND)
    assert training.learn(ledger, reading, Label.SPAM, "again", 2.0, how=How.HAND) is None
    assert ledger.lessons.totals()[:2].tolist() == [0, 1]
    assert [(one.at, one.why, one.after) for one in ledger.journal.newest(9)] == [(1.0, "first", Label.SPAM)]


def test_undone_and_killed_before_the_record(path: str) -> None:
    """An undo that died before its record is still an undo, and can be undone."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
        change = Relabel(b"a", Label.HAM, False, None, False, "undo of 1", How.HAND, 1)
        assert ledger.lessons.relabel([change], 2.0) == [True]
    with Ledger(path) as ledger:
        first, second = ledger.journal.of_message(1)
        assert (first.state, second.takes_back, second.after) == ("undone", 1, None)
        assert [one.fault for one in undo.undo(ledger, NO_MAILBOX, [second])] == [None]
        assert ledger.messages.get(1).label is Label.HAM
        assert [one.state for one in ledger.journal.of_message(1)] == ["done", "undone", "done"]


def test_learned_by_another_process_meanwhile(ledger: Ledger, path: str) -> None:
    """Lessons are recorded in the order in which they were learned, whichever process comes first; each once."""
    ledger.lessons.learn([lesson("a", 0, {"x": 1}).reading], Label.HAM, "one", 1.0, how=How.HAND)
    with Ledger(path) as other:
        learn(other, [lesson("a", 1, {"x": 1}), lesson("b", 1, {"x": 1})])
    ledger.record_lessons()
    actions = [(one.digest, one.before, one.after) for one in reversed(list(ledger.journal.newest(9)))]
    assert actions == [(b"a", None, Label.HAM), (b"a", Label.HAM, Label.SPAM), (b"b", None, Label.SPAM)]


def test_lessons_that_cannot_be_recorded(ledger: Ledger, path: str) -> None:
    """Damage found while lessons are recorded is reported at the opening, and nothing stays open."""
    ledger.lessons.learn([lesson("a", 0, {"x": 1}).reading], Label.HAM, "one", 1.0, how=How.HAND)
    ledger._connection.execute("UPDATE lesson SET why = CAST(x'ff' AS TEXT)")
    with pytest.raises(LedgerDamagedError, match="restore a copy"):
        Ledger(path)
    ledger._connection.execute("UPDATE lesson SET why = 'one'")
    ledger._connection.execute("INSERT OR REPLACE INTO state VALUES ('recorded', 'none')")
    with pytest.raises(LedgerDamagedError, match="its value 'recorded' is 'none'"):
        Ledger(path)
    ledger.state.recorded = 0
    Ledger(path).close()
    assert [one.why for one in ledger.journal.newest(9)] == ["one"]


def test_lessons_that_cannot_be_recorded_now(ledger: Ledger, path: str) -> None:
    """If another process is writing, the ledger opens, and the next opening records the lessons."""
    ledger.lessons.learn([lesson("a", 0, {"x": 1}).reading], Label.HAM, "one", 1.0, how=How.HAND)
    with ledger.transaction(), Ledger(path, busy_seconds=0.05) as other:
        assert list(other.journal.newest(9)) == []
    with Ledger(path) as other:
        assert len(list(other.journal.newest(9))) == 1
