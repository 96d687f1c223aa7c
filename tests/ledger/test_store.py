"""Lessons, and the counts that are their sum."""

import os
import sqlite3
from contextlib import closing

import pytest
from hypothesis import strategies as st

from spamnb.base.errors import LedgerError
from spamnb.base.label import Role
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from tests.lessons import known, label_of, learn, lesson, set_label, wrong_count

HAM, SPAM = 0, 1
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@pytest.mark.parametrize("before", [None, HAM, SPAM])
def test_both_labels(ledger: Ledger, before: int | None) -> None:
    """The last of two labels counts, whatever the message was before."""
    if before is not None:
        learn(ledger, [lesson("a", before, {"x": 1})])
    learn(ledger, [lesson("a", HAM, {"x": 1}), lesson("b", HAM, {"y": 1}), lesson("a", SPAM, {"x": 1})])
    assert label_of(ledger, b"a") == SPAM
    assert known(ledger, "x") == [0, 1, 0, 1]
    assert ledger.lessons.verify() == []
    actions = [action for action in ledger.journal.newest(9) if action.digest == b"a"]
    assert [(action.before, action.after) for action in actions] == {
        None: [(HAM, SPAM), (None, HAM)],
        HAM: [(HAM, SPAM), (None, HAM)],
        SPAM: [(HAM, SPAM), (SPAM, HAM), (None, SPAM)],
    }[before]


def test_all_or_nothing(ledger: Ledger) -> None:
    """A batch that fails leaves no trace."""
    with pytest.raises(UnicodeEncodeError):
        learn(ledger, [lesson("b", SPAM, {"x": 1}), lesson("c", SPAM, {"\ud800": 1})])
    assert ledger.messages.find(b"b") is None
    assert ledger.lessons.totals().tolist() == [0] * 7
    assert ledger.lessons.verify() == []


def test_no_label_without_tokens(ledger: Ledger) -> None:
    """A message that was only seen cannot be given a label: its tokens are not known."""
    seen = ledger.messages.ensure(b"a", "a")
    assert not set_label(ledger, seen.id, HAM, 2.0)
    assert label_of(ledger, b"a") is None


def test_teachers_are_looked_for_among_the_newest(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many messages were learned, only so many of the newest are unpacked: `explain` does not slow down."""
    monkeypatch.setattr("spamnb.ledger.lessons.sqlite.store._NEWEST", 10)
    learn(ledger, [lesson(f"m{number}", 0, {"x": 1, f"y{number}": 1}, at=float(number)) for number in range(20)])
    ledger._connection.execute("UPDATE lesson SET tokens = x'00' WHERE learned_at < 10.0")  # as if it were damaged
    found = ledger.lessons.teachers(["y19", "y10", "y9"])
    assert [[teacher.summary for teacher in found[token]] for token in found] == [["m19"], ["m10"], []]


def test_tokenizers(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer versions are those of the learned messages; without lessons there are none."""
    assert ledger.lessons.stats().tokenizers == set()
    for version in (7, 1, 3, 3, 300):
        monkeypatch.setattr("spamnb.ledger.lessons.sqlite.store.VERSION", version)
        learn(ledger, [lesson(str(version), 0, {"x": 1})])
    gone = ledger.messages.find(b"300")
    assert gone is not None
    set_label(ledger, gone.id, None, 2.0, "a test")
    assert ledger.lessons.stats().tokenizers == {1, 3, 7}


DAMAGE = {
    "a changed count": (wrong_count(1), "token 1: counted [99, "),
    "a count of no token": (wrong_count(30), "token 30: counted [99, 0, 0, 0], learned messages give [0, 0, 0, 0]"),
    "a changed total": ("UPDATE total SET spam_occurrences = spam_occurrences - 1", "totals"),
    "a changed vocabulary": ("UPDATE total SET vocabulary = 99", "totals"),
    "tokens cut short": ("UPDATE lesson SET tokens = substr(tokens, 1, 5) WHERE digest = x'61'", "message 1"),
    "counts deleted": ("DELETE FROM counts", "token 1: learned, but not counted"),
    "counts cut short": ("UPDATE counts SET numbers = substr(numbers, 1, 50)", "the counts in the ledger are damaged"),
    "an id that is given again": ("UPDATE total SET last_token = 2", "the last token should be 2, but it is 3"),
    "a token without counts": ("INSERT INTO token VALUES ('w', 77)", "token 77: it has no counts"),
    "a token's text deleted": ("DELETE FROM token WHERE text = 'x'", "it has no text"),
    "an id that is none": ("UPDATE token SET id = 'x' WHERE text = 'x'", "something other than numbers"),
    "counts that are none": ("UPDATE counts SET numbers = 'x'", "the counts in the ledger are damaged"),
    "a text given to another token": ("UPDATE token SET id = 1", "token 1: it has several texts"),
    "a changed label": ("UPDATE lesson SET label = 1 - label WHERE digest = x'61'", "token"),
    "a learned message deleted": ("DELETE FROM message WHERE digest = x'61'", "refers to nothing"),
    "a lesson deleted": ("DELETE FROM lesson WHERE digest = x'61'", "token 1: counted"),
    "a place in no folder": (
        "INSERT INTO file VALUES (77, x'61', 1, 'before', x'', '', 1.0, NULL, NULL)",
        "refers to nothing",
    ),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGE.values(), ids=DAMAGE)
def test_verify_finds(ledger: Ledger, path: str, damage: str, said: str) -> None:
    """Each kind of damage to the counts is found and named."""
    learn(ledger, [lesson("a", SPAM, {"x": 2, "y": 1}), lesson("b", HAM, {"x": 1, "z": 3})])
    assert ledger.lessons.verify() == []
    with closing(sqlite3.connect(path)) as other:
        other.execute(damage)
        other.commit()
    faults = ledger.lessons.verify()
    assert any(said in fault for fault in faults), faults


def test_lost_totals_are_an_error(ledger: Ledger, path: str) -> None:
    """A ledger without its totals is reported as damaged, instead of scoring with nothing."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM total")
        other.commit()
    with pytest.raises(LedgerError, match="damaged"):
        ledger.lessons.counts(["x"])
    with pytest.raises(LedgerError, match="damaged"):
        ledger.lessons.verify()
    with pytest.raises(LedgerError, match="damaged"):
        learn(ledger, [lesson("a", SPAM, {"x": 2})])
    assert ledger.lessons.find(b"a") is None


def test_no_lesson_is_lost_to_a_number(ledger: Ledger, path: str) -> None:
    """If the number of the last change is damaged, nothing is learned: no two lessons share a number."""
    learn(ledger, [lesson("a", SPAM, {"x": 2}), lesson("b", HAM, {"y": 1}, 2.0)])
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE total SET change = 1")
        other.commit()
    with pytest.raises(LedgerError, match="cannot be used"):
        learn(ledger, [lesson("c", SPAM, {"x": 2})])
    assert [label_of(ledger, digest) for digest in (b"a", b"b", b"c")] == [SPAM, HAM, None]
    assert ledger.lessons.verify() == []


def test_damaged_tokens_are_an_error(ledger: Ledger, path: str) -> None:
    """A correction that would need damaged tokens fails with what to do next, and changes nothing."""
    learn(ledger, [lesson("a", SPAM, {"x": 2})])
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE lesson SET tokens = x'00'")
        other.commit()
    with pytest.raises(LedgerError, match="spamnb verify"):
        learn(ledger, [lesson("a", HAM, {"x": 2})])
    with pytest.raises(LedgerError, match="spamnb verify"):
        ledger.lessons.teachers(["x"])
    assert label_of(ledger, b"a") == SPAM
    assert known(ledger, "x") == [0, 1, 0, 2]


def test_names_of_any_bytes(ledger: Ledger) -> None:
    """A base name of any bytes is returned unchanged."""
    folder = ledger.locations.folder(ledger.locations.mailbox("/mail/\udcff")[0], "INBOX")
    seen = ledger.messages.ensure(b"a", "")
    base = os.fsdecode(bytes(range(1, 256)).replace(b"/", b""))
    ledger.locations.put(folder, base, seen.id, "appeared", b"", "S", 1.0)
    assert ledger.locations.files_in(folder) == {base: "S"}
    assert ledger.locations.where(folder) == ("/mail/\udcff", "INBOX")
    action = ledger.journal.intend(seen.id, (folder, base), (folder, base + "'"), Cause("a test", 1.0))
    intents = ledger.journal.intents()
    assert [(one.id, one.source_base, one.destination_base) for one in intents] == [(action, base, base + "'")]


def test_spam_out_of_a_folder_apart_shows_no_habit(ledger: Ledger) -> None:
    """A person has acted on missed spam if it was in the inbox, or in Junk, and not if it was put apart before."""
    mailbox = ledger.locations.mailbox("/mail")[0]
    for name, goal in (("inbox", None), ("Junk", Role.SPAM), ("Unsure", Role.UNSURE), ("New", Role.NEWCOMERS)):
        learn(ledger, [lesson(name, SPAM, {"x": 1})])
        seen = ledger.messages.ensure(name.encode(), name)
        ledger.messages.judged(seen.id, "unsure", 0.5, 1.0)
        if goal is not None:
            ends = (ledger.locations.folder(mailbox, folder) for folder in ("INBOX", name))
            ledger.journal.intend(seen.id, *((end, "a") for end in ends), Cause("it is", 1.0, goal=goal))
    assert {acted.digest for acted in ledger.messages.acted_on()} == {b"inbox", b"Junk"}


def test_folders_of_a_mailbox(ledger: Ledger) -> None:
    """Each name has an id of its own, the same one from then on; new ones are made in one transaction, however many."""
    mailbox, _ = ledger.locations.mailbox("/mail")
    other, _ = ledger.locations.mailbox("/other")
    first = ledger.locations.folder(mailbox, "INBOX")
    statements: list[str] = []
    ledger._connection._sqlite.set_trace_callback(statements.append)
    names = ["INBOX", *(f"Folder {number}" for number in range(100))]
    ids = ledger.locations.folders(mailbox, names)
    assert ledger.locations.folders(mailbox, names[:3]).items() >= {name: ids[name] for name in names[:3]}.items()
    ledger._connection._sqlite.set_trace_callback(None)
    assert sum(statement.startswith("BEGIN") for statement in statements) == 1
    assert ids["INBOX"] == first
    assert len({*ids.values()}) == len(names)
    assert ledger.locations.folder(mailbox, names[-1]) == ids[names[-1]]
    assert not {*ledger.locations.folders(other, names).values()} & {*ids.values()}
