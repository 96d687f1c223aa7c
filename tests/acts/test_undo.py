"""The effect of an undo, and its own undo; without a terminal."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import FolderWithId, Mover, bases_now, find_folder
from spamnb.acts.reconsider import outdated
from spamnb.acts.undo import NoSuchActionError, foresee, of_ids, since, undo, undos_since
from spamnb.base.label import How, Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.identity.digests import delivery
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.state import MissedSpam
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import Entry, scan
from tests.lessons import NO_MAILBOX


class Desk:
    """A ledger, and a Maildir with an inbox, a spam folder and an archive."""

    def __init__(self, directory: Path) -> None:
        self.ledger = Ledger(str(directory / "ledger.sqlite"))
        self.root = str(directory / "Maildir")
        self.folders: dict[str, Folder] = {}
        self.known: dict[str, FolderWithId] = {}
        mailbox = self.ledger.locations.mailbox(self.root)[0]
        for name in ("INBOX", "Junk", "Archive"):
            self.folders[name] = create_folder(self.root, "maildir++", name)
            self.known[name] = FolderWithId(name, self.folders[name].path, self.ledger.locations.folder(mailbox, name))

    def learn(self, number: int, label: int, weak: bool = False, how: How = How.HAND) -> int:
        """Learn a made-up message; its id."""
        reading = read(message("ham", number))
        training.learn(self.ledger, reading, Label(label), "a test", time.time(), weak=weak, how=how)
        return self.ledger.messages.ensure(reading.digest, "").id

    def label(self, message_id: int) -> tuple[int | None, bool]:
        """Return the label of the message, and whether it is weak."""
        known = self.ledger.messages.get(message_id)
        return known.label, known.weak

    def spam_moved(self, number: int = 1, judged: bool = True) -> int:
        """A made-up message that the filter moved to the spam folder; the action's id."""
        raw = message("spam", number)
        name = f"1700000000.M{number}P1.host"
        (Path(self.folders["INBOX"].subdir("new")) / name).write_bytes(raw)
        reading = read(raw)
        known = self.ledger.messages.ensure(reading.digest, reading.summary)
        inbox, junk = self.known["INBOX"], self.known["Junk"]
        self.ledger.locations.put(inbox.id, name, known.id, "appeared", delivery(raw), "", 1.0)
        mover = Mover(self.ledger, time.time, bases_now(), find_folder(self.ledger, {}), MovedFile(None))
        judgement = (How.MAILDIR, Verdict.SPAM, 1.0) if judged else (How.MAILDIR,)
        entry, cause = Entry("new", name), Cause("spam", time.time(), *judgement)
        intent = mover.intend((known.id, reading.digest), inbox, entry, junk, cause)
        assert mover.carry_out(intent, entry)
        return intent.action

    def take_back(self, *ids: int) -> list[tuple[int, str, bool]]:
        """Undo actions; each with what came of it."""
        actions = of_ids(self.ledger, ids)
        return [(one.action.id, str(one.fault or ""), one.left) for one in undo(self.ledger, NO_MAILBOX, actions)]

    def lying(self) -> dict[str, int]:
        """Return the number of messages in each folder."""
        return {name: len(scan(folder)) for name, folder in self.folders.items()}

    def states(self) -> list[str]:
        """The states of all actions, the oldest first."""
        return [line.action.state for line in self.ledger.lines.page(1000)][::-1]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.ledger.close()


@pytest.mark.parametrize("weak", [False, True])
def test_a_learning_is_redone_exactly(desk: Desk, weak: bool) -> None:
    """A redone lesson has its old label, weakness and counts."""
    desk.learn(1, 1)
    one = desk.learn(2, 0, weak)
    tokens = list(read(message("ham", 2)).tokens)
    before = desk.ledger.lessons.counts(tokens)
    assert desk.take_back(2) == [(2, "", False)]
    assert desk.label(one) == (None, False)
    assert desk.take_back(3) == [(3, "", False)]
    assert desk.label(one) == (0, weak)
    assert desk.ledger.lessons.counts(tokens) == before
    assert desk.states() == ["done", "done", "undone", "done"], "what was redone stands again"
    assert desk.ledger.lessons.verify() == []
    redone = desk.ledger.journal.get(4)
    assert redone is not None
    assert redone.takes_back == 3


def test_a_decision_over_a_weak_lesson_is_taken_back_to_the_weak_one(desk: Desk) -> None:
    """Undoing a decision that replaced a weak lesson leaves the weak lesson, and the redo the decision."""
    one = desk.learn(1, 0, weak=True)
    desk.learn(1, 0)
    desk.take_back(2)
    assert desk.label(one) == (0, True)
    desk.take_back(3)
    assert desk.label(one) == (0, False)


def test_a_lesson_that_is_done_again_is_the_one_of_before(desk: Desk) -> None:
    """A redone lesson has the `how` of the first one, not that of an undo or a decision."""
    digest = read(message("ham", 1)).digest

    def how() -> How:
        lesson = desk.ledger.lessons.find(digest)
        assert lesson is not None
        return lesson.how

    desk.learn(1, 1, weak=True, how=How.SILENCE)
    desk.learn(1, 0, how=How.MOVE)
    for again, expected in ((2, How.SILENCE), (3, How.MOVE), (2, How.SILENCE), (1, How.SILENCE), (6, How.SILENCE)):
        assert [fault for _, fault, _ in desk.take_back(again)] == [""]
        assert how() is expected
    assert desk.label(1) == (1, True)


def test_what_silence_has_taught_gives_way_after_an_undo_too(desk: Desk) -> None:
    """Weak spam from silence that was undone and done again is forgotten when it is ham by all that is known since."""
    for number in range(100, 130):
        training.learn_message(desk.ledger, message("spam", number), Label.SPAM, "a test", 1.0, how=How.HAND)
        desk.learn(number, 0)
    lay = desk.learn(1, 1, weak=True, how=How.SILENCE)
    for _ in range(2):
        assert [fault for _, fault, _ in desk.take_back(desk.ledger.journal.newest_id())] == [""]
    assert desk.label(lay) == (1, True)
    ((change,),) = outdated(desk.ledger.lessons, Scoring(), MissedSpam.IS_MOVED)
    assert (change.digest, change.how) == (read(message("ham", 1)).digest, How.SILENCE)


def test_what_was_redone_is_undone_by_its_own_id(desk: Desk) -> None:
    """A redone action counts, and can be undone again by its own id, any number of times."""
    one = desk.learn(1, 1)
    for _ in range(3):
        (undone,) = desk.take_back(1)
        assert (undone[1], desk.label(one)) == ("", (None, False))
        newest = desk.ledger.journal.newest_id()
        (redone,) = desk.take_back(newest)
        assert (redone[1], desk.label(one)) == ("", (1, False))
    (refused,) = desk.take_back(2)
    assert refused[1] == "cannot undo 2: it is already undone"


def test_a_move_is_undone_and_redone(desk: Desk) -> None:
    """An undone move rescues the message; the redo moves it to spam again and ends the rescue."""
    moved = desk.spam_moved()
    digest = read(message("spam", 1)).digest
    assert desk.take_back(moved) == [(moved, "", False)]
    assert desk.lying() == {"INBOX": 1, "Junk": 0, "Archive": 0}
    known = desk.ledger.messages.find(digest)
    assert known is not None
    assert known.rescued_at is not None
    assert desk.take_back(moved + 1) == [(moved + 1, "", False)]
    assert desk.lying() == {"INBOX": 0, "Junk": 1, "Archive": 0}
    known = desk.ledger.messages.find(digest)
    assert known is not None
    assert known.rescued_at is None
    assert desk.states() == ["done", "undone", "done"]


def test_a_move_that_no_verdict_caused_rescues_nothing(desk: Desk) -> None:
    """Undoing a move out of a training folder is not a rescue: the filter had not judged the message."""
    moved = desk.spam_moved(judged=False)
    desk.take_back(moved)
    known = desk.ledger.messages.find(read(message("spam", 1)).digest)
    assert known is not None
    assert known.rescued_at is None


def test_what_a_person_moved_since_is_left(desk: Desk) -> None:
    """A message that a person has moved after the filter stays there, which is not a fault."""
    ids = [desk.spam_moved(number) for number in (1, 2)]
    (entry,) = [entry for entry in scan(desk.folders["Junk"]) if ".M1P" in entry.name]
    os.rename(entry.path(desk.folders["Junk"]), Path(desk.folders["Archive"].subdir("cur")) / "other:2,S")
    outcomes = {number: (fault, left) for number, fault, left in desk.take_back(*ids)}
    assert outcomes == {
        ids[0]: ("cannot undo 1: the message is no longer in Junk, so it stays", True),
        ids[1]: ("", False),
    }
    assert desk.lying() == {"INBOX": 1, "Junk": 0, "Archive": 1}


def test_what_is_foreseen_is_what_happens(desk: Desk) -> None:
    """The preview knows what an undo makes possible or impossible for the actions before it, and changes nothing."""
    moved, gone = desk.spam_moved(1), desk.spam_moved(2)
    junk, inbox, archive = (desk.known[name] for name in ("Junk", "INBOX", "Archive"))
    mover = Mover(desk.ledger, time.time, bases_now(), find_folder(desk.ledger, {}), MovedFile(None))
    (entry, taken) = sorted(scan(desk.folders["Junk"]), key=lambda one: one.name)
    known = desk.ledger.messages.find(read(message("spam", 1)).digest)
    assert known is not None
    for source, target in ((junk, inbox), (inbox, archive)):
        intent = mover.intend((known.id, known.digest), source, entry, target, Cause("by hand", time.time()))
        assert mover.carry_out(intent, entry)
    os.rename(taken.path(desk.folders["Junk"]), Path(desk.folders["Archive"].subdir("cur")) / "other:2,S")
    for label in (0, 1):
        desk.learn(3, label)
    training.forget(desk.ledger, [read(message("ham", 3)).digest], "a test", time.time(), how=How.HAND)
    actions = since(desk.ledger, 0.0)
    for some in (actions, [one for one in actions if one.id in (moved, gone)], actions[1:]):
        before = desk.lying(), desk.states()
        foreseen = [(one.action.id, str(one.fault), one.left) for one in foresee(desk.ledger, NO_MAILBOX, some)]
        assert (desk.lying(), desk.states()) == before
        done = [(one.action.id, str(one.fault), one.left) for one in undo(desk.ledger, NO_MAILBOX, some)]
        assert foreseen == done
        assert {fault for _, fault, _ in foreseen} != {"None"}
        again = [one.id for one in undos_since(desk.ledger, 0.0)]
        assert all(fault == "" for _, fault, _ in desk.take_back(*again))


def test_a_span_and_its_way_back(desk: Desk) -> None:
    """All since a time can be undone by kind, and all of the undos of a span can be taken back at once."""
    start = time.time()
    learned = [desk.learn(number, number % 2) for number in range(5)]
    desk.spam_moved()
    assert {action.kind for action in since(desk.ledger, start, ["moved"])} == {"moved"}
    assert len(since(desk.ledger, start, ["learned"])) == 5
    assert all(outcome.fault is None for outcome in undo(desk.ledger, NO_MAILBOX, since(desk.ledger, start)))
    assert since(desk.ledger, start) == []
    assert [desk.label(one)[0] for one in learned] == [None] * 5
    again = undos_since(desk.ledger, start)
    assert len(again) == 6
    assert all(outcome.fault is None for outcome in undo(desk.ledger, NO_MAILBOX, again))
    assert [desk.label(one)[0] for one in learned] == [0, 1, 0, 1, 0]
    assert desk.lying()["Junk"] == 1
    assert undos_since(desk.ledger, start) == [], "nothing is undone any more"
    assert len(since(desk.ledger, start)) == 6, "all of it stands again, and can be undone again"
    assert all(outcome.fault is None for outcome in undo(desk.ledger, NO_MAILBOX, since(desk.ledger, start)))
    assert (desk.label(learned[1])[0], desk.lying()["Junk"]) == (None, 0)
    assert desk.ledger.lessons.verify() == []


def test_judgements_are_not_offered(desk: Desk) -> None:
    """A judgement changed nothing: a span leaves it out, and its id is refused."""
    one = desk.learn(1, 0)
    judged = desk.ledger.journal.judged(
        one, (desk.known["INBOX"].id, "x"), "ham", 0.1, "ham", time.time(), how=How.MAILDIR
    )
    assert [action.kind for action in since(desk.ledger, 0.0)] == ["learned"]
    assert desk.take_back(judged) == [(judged, f"cannot undo {judged}: a judgement changed nothing", False)]


def test_what_retention_has_forgotten(desk: Desk) -> None:
    """The error distinguishes an action that retention has forgotten from one that never existed."""
    for number in range(3):
        desk.learn(number, 0)
    desk.ledger._connection.execute("DELETE FROM action WHERE id = 2")  # as retention does
    with pytest.raises(NoSuchActionError, match="action 2 is forgotten"):
        of_ids(desk.ledger, [2])
    with pytest.raises(NoSuchActionError, match="there is no action 17: see `spamnb history`"):
        of_ids(desk.ledger, [17])


def test_many_learnings_are_taken_back_in_few_transactions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction waits for the disk, so the learnings of many messages are taken back together."""
    monkeypatch.setattr("spamnb.acts.undo._BATCH", 10)
    batch = Batch.of(read(message("ham", number)) for number in range(25))
    training.learn_batches(desk.ledger, [batch], Label.HAM, "a test", 1.0, how=How.HAND)
    statements: list[str] = []
    desk.ledger._connection._sqlite.set_trace_callback(statements.append)
    outcomes = list(undo(desk.ledger, NO_MAILBOX, since(desk.ledger, 0.0)))
    desk.ledger._connection._sqlite.set_trace_callback(None)
    assert [outcome.fault for outcome in outcomes] == [None] * 25
    assert desk.ledger.lessons.totals().tolist() == [0] * 7
    assert 3 <= sum(statement.startswith("BEGIN IMMEDIATE") for statement in statements) <= 7


def test_after_an_undo_that_was_killed(desk: Desk) -> None:
    """The next undo ends an intent that a killed undo left open, without a service."""
    first, second = desk.spam_moved(1), desk.spam_moved(2)
    action = desk.ledger.journal.get(first)
    assert action is not None
    entry = next(entry for entry in scan(desk.folders["Junk"]) if entry.name == action.destination_base)
    with Ledger(desk.ledger.path) as dead:
        mover = Mover(dead, time.time, bases_now(), find_folder(dead, {}), MovedFile(None))
        junk, inbox = desk.known["Junk"], desk.known["INBOX"]
        cause = Cause("an undo", time.time(), takes_back=first)
        mover.intend((action.message, action.digest), junk, entry, inbox, cause)
    assert [outcome.fault for outcome in undo(desk.ledger, NO_MAILBOX, of_ids(desk.ledger, [second]))] == [None]
    assert desk.ledger.journal.intents() == []
    assert len(scan(desk.folders["INBOX"])) == 2
