"""Mail first seen in a folder, and mail known elsewhere before: rows of the table in tests/rules/test_reactions.py."""

import errno
import logging
import math
import os
import shutil
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from spamnb.acts import training
from spamnb.base.errors import LedgerBusyError
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.maildir.messages import Entry, deliver
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import COPY_SECONDS
from tests.dying import DeathError, Fuse, burning
from tests.service.desk import DAY, ROLES, Desk

HAM, SPAM = 0, 1
DECIDED, WEAK, NOTHING = False, True, (None, False)


@pytest.fixture
def both(desk: Desk) -> Desk:
    """A mailbox with training folders of both kinds."""
    desk.roles = ROLES | {"TrainHam": Role.TRAIN_HAM}
    desk.folder("TrainHam")
    desk.restart()
    return desk


# First seen in Junk.


@pytest.mark.parametrize("flags", [None, "", "S", "FS"])
def test_first_seen_in_junk(desk: Desk, flags: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """Mail first seen in Junk is learned weakly as spam, in `new/` or `cur/`, read or not; the log says so."""
    caplog.set_level(logging.INFO)
    desk.deliver(letter := message("ham", 901), "Junk", flags)
    assert desk.lesson(letter) == (SPAM, WEAK)
    assert "learned weakly as spam, first seen in a spam folder: " in caplog.text


@pytest.mark.parametrize("flags", [None, "S"])
def test_junk_is_not_trusted(desk: Desk, flags: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """Without trust in deliveries such mail teaches nothing and stays; a person's move teaches it."""
    caplog.set_level(logging.INFO)
    desk.restart(trust_delivery=False)
    desk.deliver(letter := message("ham", 901), "Junk", flags)
    assert (desk.lesson(letter), desk.where(letter)) == (NOTHING, ["Junk"])
    assert "stays in Junk, not learned: first seen there, and learning.trust_delivery is false" in caplog.text
    desk.take(letter, "Junk", "INBOX")
    assert (desk.lesson(letter), desk.where(letter)) == ((HAM, DECIDED), ["INBOX"])
    desk.take(letter, "INBOX", "Junk")
    assert desk.lesson(letter) == (SPAM, DECIDED)


@pytest.mark.parametrize("source", ["INBOX", "Archive", "Trash"])
@pytest.mark.parametrize("trust", [True, False])
def test_moved_to_junk(desk: Desk, source: str, trust: bool) -> None:
    """Mail known in a different folder before, and now unread in `new/` of Junk, is a decision for spam."""
    desk.restart(trust_delivery=trust)
    desk.deliver(letter := message("ham", 901), source)
    (path,) = desk.paths(letter, source)
    path.rename(Path(desk.folder("Junk").subdir("new")) / next(desk.bases))
    desk.work()
    assert desk.lesson(letter) == (SPAM, DECIDED)


def test_weak_spam_gives_way(desk: Desk) -> None:
    """A weak label gives way to what a person does: out of Junk it is ham, and back it is spam by decision."""
    desk.deliver(letter := message("ham", 901), "Junk")
    assert desk.lesson(letter) == (SPAM, WEAK)
    desk.take(letter, "Junk", "INBOX")
    assert desk.lesson(letter) == (HAM, DECIDED)


def test_a_weak_label_decides_nothing(desk: Desk) -> None:
    """A second delivery of what a rule put into Junk is judged in the inbox by itself, and not moved for its label."""
    letter = message("ham", 901)
    desk.deliver(letter, "Junk")
    again = b"Received: by another.example\n" + letter
    desk.deliver(again)
    assert desk.lesson(letter) == (SPAM, WEAK)
    assert desk.where(again) == ["INBOX"]


def test_a_rule_that_copies_into_junk(desk: Desk) -> None:
    """A rule that delivers into the inbox and into Junk at once teaches weakly; a copy made later is a decision."""
    letter, later = message("ham", 901), message("ham", 902)
    for folder in ("INBOX", "Junk"):
        desk.deliver(letter, folder)
    assert desk.lesson(letter) == (SPAM, WEAK)
    desk.deliver(later)
    desk.ahead += COPY_SECONDS + 1
    desk.deliver(later, "Junk")
    assert desk.lesson(later) == (SPAM, DECIDED)


def test_a_decision_stands(desk: Desk) -> None:
    """Mail that a person called ham stays ham, even if a provider's filter delivers it into Junk again."""
    letter = message("ham", 901)
    desk.deliver(letter)
    desk.take(letter, "INBOX", "Archive")
    assert desk.lesson(letter) == (HAM, DECIDED)
    desk.deliver(b"Received: by another.example\n" + letter, "Junk")
    assert desk.lesson(letter) == (HAM, DECIDED)


# First seen in a training folder.


@pytest.mark.parametrize(("folder", "label", "goal"), [("TrainSpam", SPAM, "Junk"), ("TrainHam", HAM, "INBOX")])
def test_first_seen_in_training(both: Desk, folder: str, label: int, goal: str) -> None:
    """Mail first seen in a training folder is a decision, and is moved on."""
    both.deliver(letter := message("ham", 901), folder)
    assert (both.lesson(letter), both.where(letter)) == ((label, DECIDED), [goal])


@pytest.mark.parametrize(("folder", "label", "goal"), [("TrainSpam", SPAM, "Junk"), ("TrainHam", HAM, "INBOX")])
def test_training_is_not_trusted(
    both: Desk, folder: str, label: int, goal: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without trust in deliveries it stays in the training folder unlearned, and the log says what to do."""
    caplog.set_level(logging.INFO)
    both.restart(trust_delivery=False)
    both.deliver(letter := message("spam", 901), folder, "S")
    both.restart()
    assert (both.lesson(letter), both.where(letter)) == (NOTHING, [folder])
    assert f"stays in {folder}, not learned: first seen there" in caplog.text
    assert "move it there from another folder" in caplog.text
    both.take(letter, folder, "Archive")
    both.take(letter, "Archive", folder)
    assert (both.lesson(letter), both.where(letter)) == ((label, DECIDED), [goal])


@pytest.mark.parametrize(
    ("folder", "away", "label", "goal"),
    [
        ("TrainSpam", "Trash", SPAM, "Junk"),
        ("TrainHam", "Trash", HAM, "INBOX"),
        ("INBOX", "Unsure", HAM, "INBOX"),
        ("Archive", "Unsure", HAM, "Archive"),
        ("Junk", "Unsure", SPAM, "Junk"),
    ],
)
def test_moved_away_and_back(both: Desk, folder: str, away: str, label: int, goal: str) -> None:
    """Mail that comes back under its old name is a decision, even before the folders are compared."""
    both.apart = {"unsure_folder": "Unsure"}
    both.folder("Unsure")
    both.restart(trust_delivery=False)
    there = both.deliver(letter := message("ham", 901), folder, "S")
    assert (both.lesson(letter), both.where(letter)) == (NOTHING, [folder])
    elsewhere = there.rename(Path(both.folder(away).subdir("cur")) / there.name)
    both.meet(elsewhere)
    assert both.lesson(letter) == NOTHING
    both.meet(elsewhere.rename(there))
    assert (both.lesson(letter), both.where(letter)) == ((label, DECIDED), [goal])


@pytest.mark.parametrize("linked", [True, False])
def test_two_addresses_of_one_delivery(both: Desk, linked: bool) -> None:
    """One delivery to the inbox and to the address of a training folder, even as one file, trains nothing."""
    both.restart(trust_delivery=False)
    letter = message("ham", 901)
    path = both.deliver(letter)
    target = Path(both.folder("TrainHam").subdir("new")) / next(both.bases)
    target.hardlink_to(path) if linked else shutil.copy2(path, target)
    both.work()
    assert (both.lesson(letter), sorted(both.where(letter))) == (NOTHING, ["INBOX", "TrainHam"])


# Kept, answered, marked.


def test_read_and_kept_is_weak(desk: Desk) -> None:
    """Mail that was read and kept is learned weakly as ham; once it is answered, or filed, that is a decision."""
    kept, filed = message("ham", 901), message("ham", 902)
    for letter in (kept, filed):
        desk.deliver(letter, flags="S")  # as Sieve's setflag does
    desk.ahead += 4 * DAY
    desk.work()
    assert desk.lesson(kept) == desk.lesson(filed) == (HAM, WEAK)
    (path,) = desk.paths(kept, "INBOX")
    path.rename(path.with_name(f"{parse_name(path.name).key}:2,RS"))
    desk.work()
    desk.take(filed, "INBOX", "Archive")
    assert desk.lesson(kept) == desk.lesson(filed) == (HAM, DECIDED)


@pytest.mark.parametrize(
    ("kind", "keyword", "lesson"),
    [
        ("ham", "a", (SPAM, DECIDED)),  # $Junk, and the filter had said ham
        ("ham", "b", (HAM, WEAK)),  # $NotJunk: software may have agreed by itself
        ("spam", "a", (SPAM, WEAK)),
        ("spam", "b", (HAM, DECIDED)),
    ],
)
def test_keywords(desk: Desk, kind: str, keyword: str, lesson: tuple[int, bool]) -> None:
    """A junk keyword teaches weakly, unless it takes back the verdict: then it is a decision."""
    for folder in ("INBOX", "Junk"):
        Path(desk.folder(folder).subdir("dovecot-keywords")).write_text("0 $Junk\n1 $NotJunk\n")
    desk.deliver(letter := message(kind, 901))
    (folder,) = desk.where(letter)
    (path,) = desk.paths(letter, folder)
    path.rename(Path(desk.folder(folder).subdir("cur")) / f"{parse_name(path.name).key}:2,{keyword}")
    desk.work()
    assert desk.lesson(letter) == lesson


def test_a_keyword_that_could_not_be_learned(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the service ends before it learns a junk keyword, it learns it at the next look."""
    Path(desk.folder("INBOX").subdir("dovecot-keywords")).write_text("0 $Junk\n1 $NotJunk\n")
    desk.deliver(letter := message("ham", 901))
    (path,) = desk.paths(letter, "INBOX")
    path.rename(Path(desk.folder("INBOX").subdir("cur")) / f"{parse_name(path.name).key}:2,a")
    with monkeypatch.context() as patched, pytest.raises(DeathError):
        patched.setattr(training, "learn_together", Mock(side_effect=DeathError))
        desk.work()
    desk.restart()
    desk.work()
    assert desk.lesson(letter) == (SPAM, DECIDED)


def test_a_keyword_on_mail_never_judged(desk: Desk) -> None:
    """A junk keyword on mail that the filter never judged teaches weakly."""
    Path(desk.folder("Archive").subdir("dovecot-keywords")).write_text("0 $Junk\n1 $NotJunk\n")
    desk.deliver(letter := message("ham", 901), "Archive")
    (path,) = desk.paths(letter, "Archive")
    path.rename(Path(desk.folder("Archive").subdir("cur")) / f"{path.name}:2,a")
    desk.work()
    assert desk.lesson(letter) == (SPAM, WEAK)


# Rescued once.


def test_rescued_is_never_moved_again(desk: Desk) -> None:
    """Mail that a person took out of Junk stays in the inbox, even delivered again, until the person calls it spam."""
    spam = message("spam", 901)
    desk.deliver(spam)
    desk.take(spam, "Junk", "INBOX")
    known = desk.known(spam)
    assert known is not None
    assert known.rescued_at is not None
    training.forget(desk.ledger, [identity(spam)], "by hand", desk.now(), how=How.HAND)  # `untrain`
    again = b"Received: by another.example\n" + spam
    desk.deliver(again)
    assert desk.where(again) == ["INBOX"]
    desk.take(spam, "INBOX", "Junk")
    third = b"Received: by a third.example\n" + spam
    desk.deliver(third)
    assert (desk.lesson(spam), desk.where(third)) == ((SPAM, DECIDED), ["Junk"])


def test_rescued_before_the_ledger_was_restored(desk: Desk) -> None:
    """The rescue holds even after a ledger was restored and a synchroniser has fetched all mail again."""
    spam = message("spam", 901)
    desk.deliver(spam)
    desk.take(spam, "Junk", "INBOX", "")
    known = desk.known(spam)
    assert known is not None
    training.forget(desk.ledger, [identity(spam)], "by hand", desk.now(), how=How.HAND)
    copy, path = str(desk.directory / "copy"), desk.ledger.path
    desk.stop()
    desk.ledger.close()
    shutil.copy(path, copy)
    restore(path, copy, desk.now())
    desk.ledger = Ledger(path)
    desk.start()  # the mail that lies there is known again, and no more
    desk.paths(spam, "INBOX")[0].unlink()
    desk.put("ham", "INBOX")
    desk.work()
    again = b"Received: by another.example\n" + spam
    desk.deliver(again)
    assert desk.where(again) == ["INBOX"]
    (judged,) = (one for one in desk.ledger.journal.of_message(known.id) if one.kind == "judged")
    assert judged.why == "spam, but a person rescued this message once"


# A second delivery while the first lies in Junk.


@pytest.fixture
def waiting(desk: Desk) -> tuple[Desk, bytes]:
    """Spam in Junk by the filter, and the very same bytes in the inbox, delivered 42 seconds later."""
    spam = message("spam", 901)
    desk.deliver(spam)
    desk.ahead += 42
    desk.deliver(spam)
    assert sorted(desk.where(spam)) == ["INBOX", "Junk"]
    assert desk.lesson(spam) == NOTHING
    return desk, spam


def test_it_waits(waiting: tuple[Desk, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first copy is in Junk, the second is not judged, moved or learned: not by a restart, nor read for days.

    Nor is it read again, or looked for in a hurry.
    """
    desk, spam = waiting
    desk.restart()
    (path,) = desk.paths(spam, "INBOX")
    path.rename(Path(desk.folder("INBOX").subdir("cur")) / f"{path.name}:2,S")  # a person has read it
    monkeypatch.setattr("spamnb.service.mailbox.folders.read_chunks", lambda *_: pytest.fail("read again"))
    desk.ahead += 30 * DAY
    desk.work()
    assert desk.account.due() == math.inf
    known = desk.known(spam)
    assert known is not None
    assert (desk.lesson(spam), sorted(desk.where(spam))) == (NOTHING, ["INBOX", "Junk"])
    assert [one.kind for one in desk.ledger.journal.of_message(known.id)] == ["moved"]


@pytest.mark.parametrize("how", ["deleted", "marked as deleted", "moved to the trash", "taken out"])
@pytest.mark.parametrize("restart", [True, False])
def test_the_first_leaves_junk(waiting: tuple[Desk, bytes], how: str, restart: bool) -> None:
    """Once the first is deleted, marked as deleted, or moved out of Junk, the second is ham, and stays for good."""
    desk, spam = waiting
    if restart:
        desk.stop()
    (path,) = desk.paths(spam, "Junk")
    if how == "deleted":
        path.unlink()
    elif how == "marked as deleted":
        path.rename(Path(desk.folder("Junk").subdir("cur")) / f"{path.name}:2,T")
    else:
        folder = desk.folder("Trash" if how == "moved to the trash" else "Archive")
        path.rename(Path(folder.subdir("cur")) / f"{next(desk.bases)}:2,S")
    if restart:
        desk.start()
    desk.work()
    known = desk.known(spam)
    assert known is not None
    assert (known.label, known.weak) == (HAM, False)
    assert known.rescued_at is not None
    assert "INBOX" in desk.where(spam)


def test_it_waits_under_a_new_name(waiting: tuple[Desk, bytes]) -> None:
    """A file that waits and gets another name goes on waiting."""
    desk, spam = waiting
    (path,) = desk.paths(spam, "INBOX")
    path.rename(Path(desk.folder("INBOX").subdir("cur")) / f"{next(desk.bases)}:2,S")
    desk.work()
    assert desk.lesson(spam) == NOTHING
    desk.paths(spam, "Junk")[0].unlink()
    desk.work()
    assert desk.lesson(spam) == (HAM, DECIDED)


def test_it_waits_in_a_folder_that_cannot_be_listed(
    waiting: tuple[Desk, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If its folder cannot be listed when the first copy leaves Junk, it is learned later; others go on."""
    desk, spam = waiting
    cur, listed = desk.folder("INBOX").subdir("cur"), os.scandir

    def refusing(directory: int | str) -> object:
        if isinstance(directory, int) and os.readlink(f"/proc/self/fd/{directory}") == cur:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return listed(directory)

    with monkeypatch.context() as patched:
        (path,) = desk.paths(spam, "INBOX")
        path.rename(Path(cur) / f"{path.name}:2,S")  # it has to be looked for
        desk.paths(spam, "Junk")[0].unlink()
        patched.setattr("spamnb.maildir.messages.os.scandir", refusing)
        desk.work()
    assert desk.lesson(spam) == NOTHING
    desk.work()
    assert desk.lesson(spam) == (HAM, DECIDED)


def test_what_waits_is_called_spam(waiting: tuple[Desk, bytes]) -> None:
    """A file that waits, and whose message a person calls spam, stays spam when the first is deleted from Junk."""
    desk, spam = waiting
    desk.ahead += DAY
    training.learn(desk.ledger, read(spam), Label(SPAM), "trained by hand", desk.now(), how=How.HAND)
    desk.ahead += DAY
    desk.paths(spam, "Junk")[0].unlink()
    desk.work()
    assert (desk.lesson(spam), desk.where(spam)) == ((SPAM, DECIDED), ["INBOX"])


def test_what_waits_is_moved_by_a_person(waiting: tuple[Desk, bytes]) -> None:
    """A file that waits, and that a person puts into Junk too, is spam by decision."""
    desk, spam = waiting
    desk.take(spam, "INBOX", "Junk")
    assert desk.lesson(spam) == (SPAM, DECIDED)


def test_the_move_to_junk_is_undone(waiting: tuple[Desk, bytes]) -> None:
    """If the filter's move of the first copy is undone, the second stays too, and nothing is learned."""
    desk, spam = waiting
    (moved,) = (action for action in desk.ledger.journal.since(0.0) if action.kind == "moved")
    desk.account.mailbox(str(desk.roots[0])).mover.undo_move(moved)
    desk.ahead += 10
    desk.work()
    assert (desk.lesson(spam), desk.where(spam)) == (NOTHING, ["INBOX", "INBOX"])


def test_a_second_delivery_beside_unsure_mail(desk: Desk) -> None:
    """The same holds if the first copy is in the folder for unsure mail."""
    desk.roles = ROLES | {"Unsure": Role.NEUTRAL}
    desk.apart = {"unsure_folder": "Unsure"}
    desk.restart()
    letter = message("ham", 901)
    desk.deliver(letter, "Unsure")
    desk.ahead += 42
    desk.deliver(letter)
    assert desk.lesson(letter) == NOTHING
    desk.paths(letter, "Unsure")[0].unlink()
    desk.work()
    assert desk.lesson(letter) == (HAM, DECIDED)


def test_what_is_learned_and_not_recorded_yet(desk: Desk) -> None:
    """New mail that another host has learned as ham is not judged, though this one has no record of that."""
    spam = message("spam", 901)
    desk.ledger.lessons.learn([read(spam)], Label.HAM, "on another host", 0.0, how=How.HAND)
    path = deliver(desk.folder("INBOX"), spam, next(desk.bases))
    desk.account.look(str(desk.roots[0]), desk.folder("INBOX").path, Entry("new", os.path.basename(path)))
    known = desk.known(spam)
    assert known is not None
    assert (known.verdict, desk.where(spam)) == (None, ["INBOX"])


def test_returned_to_junk_while_the_ledger_is_busy(desk: Desk) -> None:
    """Mail returned to Junk before the busy ledger recorded its rescue is not learned as ham."""

    def busy() -> None:
        raise LedgerBusyError("busy")

    for at in range(1, 30):
        desk.deliver(letter := message("spam", 900 + at))
        (path,) = desk.paths(letter, "Junk")
        rescued = path.rename(Path(desk.folder("INBOX").subdir("cur")) / f"{next(desk.bases)}:2,S")
        desk.account.compare()
        desk.ahead += desk.learning.dwell_seconds + 1
        with suppress(LedgerBusyError), burning(desk.ledger, Fuse(at, busy, once=True), disk=False):
            desk.account.act_on_due()
        rescued.rename(Path(desk.folder("Junk").subdir("cur")) / f"{next(desk.bases)}:2,S")
        desk.restart()  # the account has rested
        lesson = desk.ledger.lessons.find(identity(letter))
        assert lesson is None or lesson.label is Label.SPAM, at
