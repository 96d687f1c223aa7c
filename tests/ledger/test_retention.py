"""Forgetting history that is long over."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.acts.training import import_counts
from spamnb.base.label import How, Role
from spamnb.ledger.history import retention
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.tallies import Tally
from spamnb.ledger.ledger import Ledger
from tests.lessons import learn, lesson, set_label, take_back
from tests.profiles import daily

OLD, NOW = 1_000.0, 9_000.0
LIMIT = 5_000.0


def place(ledger: Ledger, name: str, at: float = OLD, *, folder: str = "INBOX", base: str = "") -> tuple[int, int]:
    """Record a message of that name in a folder; return its id and the folder's."""
    known = ledger.messages.ensure(name.encode(), name)
    where = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], folder)
    ledger.locations.put(where, base or name, known.id, "appeared", name.encode(), "", at)
    return known.id, where


def judged(ledger: Ledger, name: str, at: float = OLD) -> int:
    """A message came, was judged as spam and moved to Junk; its id."""
    message, inbox = place(ledger, name, at)
    ledger.messages.judged(message, "spam", 0.99, at)
    junk = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "Junk")
    ends, verdict = ((inbox, name), (junk, name)), "spam"
    action = ledger.journal.intend(message, *ends, Cause("it is", at, How.MAILDIR, verdict, goal=Role.SPAM))
    ledger.locations.gone(inbox, [name], at, "filter")
    ledger.locations.put(junk, name, message, "filter", name.encode(), "", at)
    ledger.journal.set_state(action, "done")
    return message


def deleted(ledger: Ledger, name: str, at: float = OLD) -> int:
    """A message was judged as spam, moved and deleted; its id."""
    message = judged(ledger, name, at)
    ledger.locations.gone(ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "Junk"), [name], at)
    return message


def forget(ledger: Ledger, gone: float = LIMIT, verdicts: float = LIMIT) -> int:
    """Forget all that is over and counted; how many rows."""
    ledger.tallies.keep()
    forgotten = sum(ledger.retention.forget(gone, verdicts))
    assert ledger.lessons.verify() == []
    assert sum(ledger.retention.forget(gone, verdicts)) == 0
    return forgotten


def rows(ledger: Ledger, table: str) -> int:
    """How many rows a table has."""
    number: int = ledger._connection.row(f"SELECT count(*) FROM {table}")[0]
    return number


def newest(ledger: Ledger) -> None:
    """Something happens to a message of now: the newest row of each table is not forgotten."""
    judged(ledger, "newest", NOW)


def test_what_is_gone_is_forgotten(ledger: Ledger) -> None:
    """Nothing is left of a message that was judged, moved and deleted long ago."""
    deleted(ledger, "spam")
    newest(ledger)
    assert forget(ledger) == 4  # two files, the move, the message
    assert ledger.messages.find(b"spam") is None
    assert [action.digest for action in ledger.journal.newest(9)] == [b"newest"]
    assert [rows(ledger, table) for table in ("message", "file", "action")] == [1, 2, 1]


def test_a_message_without_a_verdict(ledger: Ledger) -> None:
    """A message that was only seen is forgotten with its last file."""
    _, inbox = place(ledger, "seen")
    ledger.locations.gone(inbox, ["seen"], OLD)
    newest(ledger)
    assert forget(ledger) == 2
    assert ledger.messages.find(b"seen") is None


def again(ledger: Ledger, message: int) -> None:
    ledger.messages.judged(message, "ham", 0.01, NOW)


def elsewhere(ledger: Ledger, message: int) -> None:
    place(ledger, "kept", folder="Archive")


def moved_now(ledger: Ledger, message: int) -> None:
    _, folder = place(ledger, "kept", folder="Archive")
    ledger.locations.gone(folder, ["kept"], NOW)


def learned(ledger: Ledger, message: int) -> None:
    learn(ledger, [lesson("kept", 1, {"a": 1}, OLD)])


def forgotten(ledger: Ledger, message: int) -> None:
    learned(ledger, message)
    set_label(ledger, message, None, OLD, "a test")


def rescued(ledger: Ledger, message: int) -> None:
    ledger._connection.execute("UPDATE message SET rescued_at = ? WHERE id = ?", (OLD, message))


def withheld(ledger: Ledger, message: int) -> None:
    ledger.journal.judged(message, (1, "kept"), "spam", 0.99, "stopped", OLD, withheld=True, how=How.MAILDIR)


def intended(ledger: Ledger, message: int) -> None:
    ledger.journal.intend(message, (1, "kept"), (2, "kept"), Cause("spam", OLD))


def undone(ledger: Ledger, message: int) -> None:
    move = ledger.journal.of_message(message)[0].id
    back = ledger.journal.intend(message, (2, "kept"), (1, "kept"), Cause("undo", OLD, takes_back=move))
    ledger.journal.set_state(back, "done")
    ledger.journal.set_state(move, "undone")


@pytest.mark.parametrize(
    "event", [again, elsewhere, moved_now, learned, forgotten, rescued, withheld, intended, undone]
)
def test_what_is_kept(ledger: Ledger, event: Callable[[Ledger, int], None]) -> None:
    """Retention keeps a message with a file, a recent event, a lesson, or an action that may still be needed."""
    message = deleted(ledger, "kept")
    event(ledger, message)
    newest(ledger)
    before = ledger.messages.get(message), ledger.journal.of_message(message)
    files = ledger.locations.of_message(message)
    forget(ledger)
    assert (ledger.messages.get(message), ledger.journal.of_message(message)) == before
    if event in (elsewhere, moved_now):
        assert ledger.locations.of_message(message) == files
    else:
        assert ledger.locations.of_message(message) == []


def test_an_import_is_kept(ledger: Ledger, tmp_path: Path) -> None:
    """An import does not count as a deleted message: it can be undone after any time."""
    from spamnb.ledger.lessons.export_format import parse

    with Ledger(str(tmp_path / "other.sqlite")) as other:
        learn(other, [lesson("theirs", 1, {"x": 3})])
        counts = parse((line.encode() for line in other.lessons.export()), "x")
    action = import_counts(ledger, counts, "x", OLD)
    newest(ledger)
    assert forget(ledger) == 0
    take_back(ledger, action, NOW)
    assert ledger.lessons.verify() == []


def test_ids_are_not_given_again(ledger: Ledger) -> None:
    """Even after all actions are forgotten, no id is used twice: `undo` never means a different action."""
    ids = {deleted(ledger, str(number)) for number in range(5)}
    actions = {action.id for action in ledger.journal.newest(9)}
    forget(ledger)
    assert deleted(ledger, "later", NOW) not in ids
    assert next(ledger.journal.newest(1)).id not in actions


@pytest.mark.parametrize(("gone", "verdicts"), [(float("-inf"), LIMIT), (LIMIT, float("-inf"))])
def test_each_limit_by_itself(ledger: Ledger, gone: float, verdicts: float) -> None:
    """As long as files are kept their messages are, and verdicts may be kept longer than files; later both go."""
    message = deleted(ledger, "spam")
    newest(ledger)
    assert forget(ledger, gone, verdicts) == (2 if gone == LIMIT else 0)
    assert ledger.messages.get(message).verdict == "spam"
    assert len(ledger.journal.of_message(message)) == 1
    forget(ledger)
    assert ledger.messages.find(b"spam") is None


def test_directories(ledger: Ledger) -> None:
    """The directory of a folder is forgotten when the folder has no mail left."""
    _, full = place(ledger, "here")
    _, empty = place(ledger, "gone", folder="Old")
    ledger.locations.gone(empty, ["gone"], OLD)
    ledger.locations.set_directories([(1, 1, full), (1, 2, empty)])
    forget(ledger)
    assert (ledger.locations.same_directory(1, 1), ledger.locations.same_directory(1, 2)) == (full, None)


def test_broken_off_anywhere(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is done in small steps; broken off after any of them, the ledger is sound, and the next run ends it."""
    monkeypatch.setattr(retention, "_ROWS", 3)
    for number in range(10):
        deleted(ledger, str(number), OLD + number % 2)
    newest(ledger)
    ledger.tallies.keep()
    steps = sum(1 for _ in range(100) if next(ledger.retention.forget(LIMIT, LIMIT)) and not ledger.lessons.verify())
    assert steps == 7  # 20 files, 3 at a time
    monkeypatch.undo()
    assert rows(ledger, "file") == 2
    forget(ledger)
    assert [rows(ledger, table) for table in ("message", "file", "action")] == [1, 2, 1]


def test_what_is_not_counted_yet(ledger: Ledger) -> None:
    """Behind an open move of a mailbox that is away nothing is forgotten: the counters would lose it for good."""
    message, inbox = place(ledger, "away")
    move = ledger.journal.intend(message, (inbox, "away"), (inbox, "gone"), Cause("spam", OLD))
    for number in range(5):
        deleted(ledger, str(number))
    newest(ledger)
    assert forget(ledger) == 10, "the files; each message and its move stay"
    assert rows(ledger, "action") == 7
    ledger.journal.set_state(move, "failed")
    before = ledger.tallies.read()
    assert before == {Tally("judged", "spam", "maildir"): 6, Tally("moved", "spam", ""): 6}
    assert forget(ledger) > 0
    assert (rows(ledger, "action"), ledger.tallies.read()) == (2, before)


NAMES = st.sampled_from("abcd")
FOLDERS = st.sampled_from(["INBOX", "Junk", "Archive"])
TIMES = st.sampled_from([OLD, LIMIT - 1, LIMIT, NOW])
EVENTS = st.one_of(
    st.tuples(st.just("put"), NAMES, FOLDERS, TIMES),
    st.tuples(st.just("gone"), NAMES, FOLDERS, TIMES),
    st.tuples(st.sampled_from(["learn", "forget", "judge", "move"]), NAMES, FOLDERS, TIMES),
)


def happen(ledger: Ledger, what: str, name: str, folder: str, at: float) -> None:
    """One event of a history."""
    where = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], folder)
    known = ledger.messages.ensure(name.encode(), name)
    if what == "put":
        ledger.locations.put(where, name, known.id, "appeared", name.encode(), "", at)
    elif what == "gone":
        ledger.locations.gone(where, [name], at)
    elif what == "learn":
        learn(ledger, [lesson(name, int(at) % 2, {name: 1, folder: 1}, at)])
    elif what == "forget" and known.label is not None:
        set_label(ledger, known.id, None, at, "a test")
    elif what == "judge":
        ledger.messages.judged(known.id, "ham", 0.1, at)
        ledger.journal.judged(known.id, (where, name), "ham", 0.1, "ham", at, how=How.MAILDIR)
    elif what == "move":
        ledger.journal.set_state(ledger.journal.intend(known.id, (where, name), (where, name), Cause("x", at)), "done")


def seen(ledger: Ledger) -> dict[str, object]:
    """Return everything that a judgement or a lesson about mail in a folder can depend on."""
    totals = ledger.lessons.totals().tolist()
    found: dict[str, object] = {"": totals}
    for name in "abcd":
        known = ledger.messages.find(name.encode())
        places = [] if known is None else ledger.locations.of_message(known.id)
        if known is not None and any(placed.gone_at is None for placed in places):
            last = [ledger.locations.last(placed.folder, placed.base) for placed in places]
            counts = ledger.lessons.counts([name]).messages.tolist()
            found[name] = known, places, last, ledger.journal.of_message(known.id), counts
    return found


@given(st.lists(EVENTS, max_size=25), TIMES, TIMES)
@settings(max_examples=daily(60))
def test_what_lies_in_folders_is_judged_as_before(
    events: list[tuple[str, str, str, float]], gone: float, verdicts: float
) -> None:
    """Retention never changes a count or a record of mail that is in a folder."""
    with tempfile.TemporaryDirectory() as directory, Ledger(f"{directory}/ledger.sqlite") as ledger:
        with ledger.transaction():  # which waits for the disk once
            for event in events:
                happen(ledger, *event)
        before = seen(ledger)
        forget(ledger, gone, verdicts)
        assert seen(ledger) == before


def test_a_folder_that_was_made_again_is_not_missing(ledger: Ledger) -> None:
    """A folder that was deleted and made again is not missing: mail filed there later stays."""
    mailbox, _ = ledger.locations.mailbox("/mail")
    folder = ledger.locations.folder(mailbox, "Archive")
    first, second = (ledger.messages.ensure(digest, "a").id for digest in (b"first", b"second"))
    ledger.locations.put(folder, "first", first, "appeared", b"c", "", 1.0)
    ledger.retention.missing(mailbox, {"INBOX"}, 10.0)
    ledger.locations.gone(folder, ["first"], 11.0)
    ledger.retention.missing(mailbox, {"INBOX", "Archive"}, 11.0)
    ledger.locations.put(folder, "second", second, "appeared", b"c", "", 39.0)
    ledger.tallies.keep(50.0)
    for _ in ledger.retention.forget(45.0, 45.0):
        pass
    assert ledger.locations.get(folder, "second") is not None
