"""Whose turn it is, who sleeps, and what can wait."""

import contextlib
import itertools
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from spamnb.base import memory
from spamnb.base.errors import SpamnbError
from spamnb.cli.common.sample_mail import message
from spamnb.host.register import FilterState
from spamnb.host.service import sweeps
from spamnb.host.service.host_users import HostUser
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import Entry, scan
from spamnb.service.account import Account, AccountState
from spamnb.service.mailbox import folders, untouched
from spamnb.service.watcher import Hint
from tests.patience import PATIENCE
from tests.service.hosts.inn import DAY, ROLES, Desk

pytestmark = pytest.mark.thorough  # 10 s of processor time

ONE = "u00@one.example"
MESSAGE = 0.01  # seconds that a message takes, where each look at the clock takes half of that


class Turns:
    """The turns that accounts have: who, and how many hints were worked on."""

    def __init__(self, desk: Desk) -> None:
        self.taken: list[tuple[str, int]] = []
        self.compared: list[tuple[str, float]] = []
        work, compare = Account.work, Account.compare

        def worked(account: Account, end: float) -> bool:
            before = len(account._hints)
            done = work(account, end)
            self.taken.append((account.name, before - len(account._hints)))
            return done

        def compared(account: Account) -> bool:
            self.compared.append((account.name, desk.running()))
            return compare(account)

        self._patches = mock.patch.object(Account, "work", worked), mock.patch.object(Account, "compare", compared)

    def __enter__(self) -> "Turns":
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()


def test_a_storm_of_one_user(desk: Desk) -> None:
    """Who gets much mail at once has a twentieth of a second, then less, and each other one has a turn in between."""
    storm = [desk.deliver(ONE) for _ in range(30)]
    quiet = desk.deliver_to_all(desk.names[1:])
    desk.take()
    desk.set_pace(MESSAGE / 2)
    with Turns(desk) as turns:
        while not desk.are_moved(quiet):
            desk.step()
        more = desk.deliver_to_all(desk.names[1:3])
        desk.take()
        served = len(turns.taken)
        while not desk.are_moved(more):
            desk.step()
        desk.until(lambda: len(desk.contents(ONE, "Junk")) == len(storm), "the storm judged")
    names = [name for name, _ in turns.taken]
    assert set(names[: len(desk.names)]) == set(desk.names), "each has had a turn before anybody had a second one"
    assert names[served : served + 4].count(ONE) <= 2
    assert max(done for name, done in turns.taken if name == ONE) <= 0.05 / MESSAGE + 1
    assert {name for name, _ in turns.taken[-6:]} == {ONE}
    assert max(done for _, done in turns.taken[-4:]) <= 0.02 / MESSAGE + 1


def test_who_has_come_during_a_turn(desk: Desk) -> None:
    """Whoever gets mail during a long turn has a turn before the one who had it has another."""
    for _ in range(3):
        desk.deliver(ONE)
    desk.take()
    desk.set_pace(0.1)  # a message takes longer than a turn may
    with Turns(desk) as turns:
        desk.accounts.work()
        desk.deliver(ONE)
        desk.deliver_to_all(desk.names[1:3])
        desk.take()
        while len(turns.taken) < 4:
            desk.accounts.work()
    assert [name for name, _ in turns.taken] == [ONE, *desk.names[1:3], ONE]


def test_hints_come_before_comparisons(desk_of: Callable[[int], Desk]) -> None:
    """While hints wait, folders are compared once a second, and no more than that, and not left for longer."""
    desk = desk_of(8)
    desk.start()
    busy = desk.names[:3]
    for name in busy:
        desk.deliver(name, "ham")
    desk.settle()
    for name in desk.names[3:]:
        desk.accounts.compare(desk.account(name))
    desk.set_pace(MESSAGE / 2)
    with Turns(desk) as turns:
        began = desk.running()
        while desk.running() - began < 4.0:
            for name in busy:
                (entry,) = scan(desk.folder(name))
                desk.accounts.take(Hint(str(desk.root(name)), str(desk.root(name)), entry))
            desk.step()
    times = [began, *(at for _, at in turns.compared)]
    assert 3 <= len(turns.compared) <= 5
    assert all(1.0 - MESSAGE <= after - before <= 1.0 + 4 * 0.05 for before, after in itertools.pairwise(times[1:]))


def test_more_hints_than_are_kept(desk: Desk) -> None:
    """Of one account a thousand hints are kept; what else has come is found by a comparison."""
    root = str(desk.root(ONE))
    for number in range(1000):
        desk.accounts.take(Hint(root, root, Entry("new", f"{number}.gone")))
    late = [desk.deliver(ONE) for _ in range(3)]
    desk.take()
    assert len(desk.account(ONE)._hints) == 1000
    desk.rest()
    assert sorted(desk.contents(ONE, "Junk")) == sorted(late)


def test_a_dwelling_file_does_not_hold_up_comparisons(desk: Desk) -> None:
    """An account that waits for both a comparison and a file that dwells has no turn after the other over that."""
    desk.configure(dwell=5.0)
    desk.reload()
    desk.settle()
    desk.set_to_present()
    for name in desk.names:
        desk.deliver(name, "ham", "Archive")
        desk.take()
    desk.until(lambda: all(desk.account(name).is_awake for name in desk.names), "they dwell")
    desk.set_pace(MESSAGE / 2)
    for name in desk.names:
        desk.accounts.compare(desk.account(name))
    began = desk.running()
    with Turns(desk) as turns:
        while len(turns.compared) < len(desk.names):
            desk.step()
    assert desk.running() - began < 1.0


# --- long work


def fill(desk: Desk, name: str, number: int) -> list[bytes]:
    """A new user with so much mail."""
    desk.add(name)
    contents = [message("spam", 5000 + each) for each in range(number)]
    for each, content in enumerate(contents):
        (desk.root(name) / "cur" / f"{each}.filled:2,S").write_bytes(content)
    return contents


def test_others_have_turns_within_long_work(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """While the mail of a new user is recorded, that of the others is judged."""
    caplog.set_level("INFO", "spamnb")
    old = fill(desk, "new@one.example", 100)
    desk.pass_time(9.0)
    assert desk.account("new@one.example").state is AccountState.FILLING
    mail: dict[str, bytes] = {}

    def alive(status: str) -> None:
        if status.startswith("recording") and not mail:
            mail.update(desk.deliver_to_all(desk.names[:4]))
            for hint in desk.heard():
                desk.watcher.tell(hint)
        desk.ahead += 0.1

    desk.alive = alive
    desk.set_pace(MESSAGE / 5)
    desk.pass_time(10.0)
    assert desk.are_moved(mail)
    said = [record.getMessage() for record in caplog.records]
    recorded = next(number for number, text in enumerate(said) if text.startswith("recorded 100"))
    assert sum("moved from INBOX to Junk" in text for text in said[:recorded]) == 4
    assert sorted(desk.contents("new@one.example")) == sorted(old)


def seen_while(desk: Desk, doing: str) -> list[str]:
    """Deliver mail to others when long work for ONE says for the first time that it does this.

    Returns a list, which grows by each later time that it says so when that mail is moved.
    """
    mail: dict[str, bytes] = {}
    seen: list[str] = []

    def alive(status: str) -> None:
        if status.startswith(doing):
            assert not desk.account(ONE).ledger.is_held
            if not mail:
                mail.update(desk.deliver_to_all(desk.names[1:4]))
                for hint in desk.heard():
                    desk.watcher.tell(hint)
            elif desk.are_moved(mail):
                seen.append(status)
            desk.ahead += 0.1

    desk.alive = alive
    return seen


def test_others_have_turns_while_a_long_message_is_read(desk: Desk) -> None:
    """Mail of others is judged while a message of 40 MB is read, which is judged after that."""
    draft = desk.root(ONE) / "tmp" / "long"
    draft.write_bytes(message("spam", 8000))
    os.truncate(draft, 40 << 20)
    seen = seen_while(desk, "reading a long message")
    draft.rename(desk.root(ONE) / "new" / "long")
    desk.until(lambda: desk.account(ONE).is_awake and not desk.unknown(ONE), "the long message to be judged")
    assert seen, "while the long message was read"
    assert (desk.root(ONE) / ".Junk" / "new" / "long").exists()


def looked_on(desk: Desk, doing: str) -> list[str]:
    """Compare the folders of ONE. Returns what `seen_while` does."""
    seen = seen_while(desk, doing)
    desk.accounts.compare(desk.account(ONE))
    desk.rest()
    return seen


def test_others_have_turns_while_folders_are_looked_for(desk: Desk) -> None:
    """Mail of others is judged while the folders of a user who has very many are looked for."""
    make_folders(desk, ONE, 400)
    assert looked_on(desk, "looking for the folders")


def test_others_have_turns_while_junk_is_made(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have turns while Junk is made for a user who has very many folders."""
    make_folders(desk, ONE, 200)
    monkeypatch.setattr(folders, "_AT_ONCE", 10)
    seen: list[str] = []
    within: list[int] = []
    create = folders.create_folder

    def created(*given: Any, **named: Any) -> Folder:
        before = len(seen)
        folder = create(*given, **named)
        within.append(len(seen) - before)
        return folder

    monkeypatch.setattr(folders, "create_folder", created)
    desk.alive = seen.append
    shutil.rmtree(desk.root(ONE) / ".Junk")
    spam = desk.deliver(ONE)
    desk.pass_time(30.0)
    assert spam in desk.contents(ONE, "Junk")
    assert within[0] >= 20


def test_a_start_with_very_many_folders_of_one_user(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with more folders than are watched does not hold up the start, and is looked at some seconds later."""
    make_folders(desk, ONE, 400)
    desk.settle()
    desk.stop()
    late = desk.deliver(ONE)
    looked_at: list[str] = []
    has_changed = sweeps.Sweeps.has_changed

    def told(of: sweeps.Sweeps, user: HostUser) -> tuple[bool, int]:
        looked_at.append(user.account.name)
        return has_changed(of, user)

    monkeypatch.setattr(sweeps.Sweeps, "has_changed", told)
    desk.start()
    assert looked_at == desk.names[1:]
    desk.pass_time(15.0)
    assert late in desk.contents(ONE, "Junk")


def test_others_have_turns_while_times_of_folders_are_looked_at(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail of others is judged while the times of the folders of a user who has very many are looked at."""
    make_folders(desk, ONE, 150)  # too many to be watched
    desk.settle()
    monkeypatch.setattr(sweeps, "_PAUSE", 10)
    late = desk.deliver(ONE)
    desk.ahead += 11.0  # seconds, after which those who are polled are looked at
    desk.step()
    mail = desk.deliver_to_all(desk.names[1:4])
    desk.take()
    while not desk.are_moved(mail):
        desk.step()
    assert desk.roster is not None
    assert desk.roster._sweeps.due_in() == 0.0, "it is not over yet"
    desk.until(lambda: desk.are_moved({ONE: late}), "the change seen")


def test_others_have_turns_while_kept_mail_is_looked_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail of others is judged while a user's mail is looked through for what was kept, if that is very much."""
    monkeypatch.setattr(untouched, "_ROWS", 20)
    for number in range(400):
        name = f"{number}.kept:2,S"
        (desk.root(ONE) / ".Archive" / "cur" / name).write_bytes(message("ham", 7000 + number))
    desk.settle()
    assert len(looked_on(desk, "looking for kept mail")) > len(ROLES), "not for each folder alone"


def known_files(desk: Desk, folder: str, number: int) -> list[Path]:
    """So many files in a folder of ONE, which are known, and were looked at long ago."""
    cur = Path(desk.folder(ONE, folder).subdir("cur"))
    made = [cur / f"{each}.known:2,S" for each in range(number)]
    for each, path in enumerate(made):
        path.write_bytes(message("ham", 9000 + each))
    desk.deliver(ONE, "ham")  # so that the mailbox is never empty, as it is below a mount point
    desk.settle()
    return made


def rename_archive(desk: Desk, number: int) -> None:
    """Archive, with so many known files, gets the name Old."""
    known_files(desk, "Archive", number)
    (desk.root(ONE) / ".Archive").rename(desk.root(ONE) / ".Old")


def flag(path: Path) -> None:
    """Somebody marks a message."""
    path.rename(f"{path}F")


def unlink(path: Path) -> None:
    """Somebody deletes a message."""
    path.unlink()


@pytest.mark.parametrize(
    ("change", "doing"),
    [
        (lambda _: None, "looking at Archive"),
        (flag, "recording new flags in Archive"),
        (unlink, "recording what has left Archive"),
    ],
)
def test_others_have_turns_within_a_full_folder(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], doing: str
) -> None:
    """Mail of others is judged while a folder with very many files is compared, whatever has changed in it."""
    monkeypatch.setattr(folders, "_AT_ONCE", 20)
    monkeypatch.setattr(folders, "_WRITTEN", 20)
    for path in known_files(desk, "Archive", 400):
        change(path)
    desk.heard()  # and lost: else each file is looked at by its hint
    assert len(looked_on(desk, doing)) >= 15


def test_others_have_turns_while_a_full_folder_gets_another_name(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail of others is judged while the records of a renamed folder with very many files are carried over."""
    monkeypatch.setattr(folders, "_WRITTEN", 20)
    rename_archive(desk, 400)
    assert len(looked_on(desk, "looking at Old")) >= 15
    desk.settle()
    assert desk.unknown(ONE) == []
    assert desk.judgements(ONE)[51:] == []


def test_carrying_over_is_cut_short(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not carried over when the work ended is carried over later, and counts as no move."""
    monkeypatch.setattr(folders, "_WRITTEN", 20)
    rename_archive(desk, 100)
    ended: list[int] = []

    def alive(status: str) -> None:
        if status.startswith("looking at Old") and len(desk.unknown(ONE)) == 60 and not ended:
            ended.append(60)
            raise SpamnbError("cut short")

    desk.alive = alive
    desk.pass_time(20.0)
    assert ended
    desk.settle()
    assert desk.unknown(ONE) == []
    assert desk.judgements(ONE)[51:] == []


def test_others_have_turns_while_a_full_folder_is_recorded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail of others is judged while the files of a new mailbox are listed, and before the first of them is read."""
    monkeypatch.setattr(folders, "_AT_ONCE", 20)
    fill(desk, "new@one.example", 400)
    seen = []
    desk.alive = seen.append
    desk.pass_time(20.0)
    first = next(number for number, status in enumerate(seen) if status.startswith("recording"))
    assert sum(status.startswith("looking at INBOX") for status in seen[:first]) >= 15


def test_others_have_turns_while_keywords_are_learned(desk: Desk) -> None:
    """Mail of others is judged while messages are learned that a mail program has marked together."""
    marked = known_files(desk, "Archive", 30)
    (desk.root(ONE) / ".Archive" / "dovecot-keywords").write_text("0 $Junk\n")
    for path in marked:
        path.rename(f"{path}a")
    assert len(looked_on(desk, "learning by keywords")) >= 20


def make_folders(desk: Desk, name: str, number: int) -> None:
    """More folders for a user."""
    for each in range(number):
        for subdir in ("new", "cur"):
            (desk.root(name) / f".F{each}" / subdir).mkdir(parents=True)


def test_existing_mail_is_read_before_the_ledger_is_held(desk: Desk) -> None:
    """Others have a turn after each message of a new user, and no transaction is open then."""
    fill(desk, "new@one.example", 20)
    asked: list[bool] = []

    def alive(status: str) -> None:
        if status.startswith("recording"):
            asked.append(desk.account("new@one.example").ledger._connection._sqlite.in_transaction)

    desk.alive = alive
    desk.pass_time(20.0)
    assert len(asked) >= 20
    assert not any(asked)


def test_long_work_within_long_work_waits(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Of two accounts with long work one waits; neither loses a message, nor do hints that were put off."""
    caplog.set_level("INFO", "spamnb")
    first, second = "new@one.example", "u01@two.example"
    fill(desk, first, 400)
    desk.pass_time(9.0)
    create_folder(str(desk.root(second)), "maildir++", "Large")
    spam: list[bytes] = []

    def alive(status: str) -> None:
        if status.startswith("recording") and not spam:
            large = desk.root(second) / ".Large" / "cur"  # not known: the folders are compared in the middle of a turn
            for number in range(80):
                (large / f"{number}.large:2,S").write_bytes(message("ham", 7000 + number))
            spam.append(desk.deliver(second))
            for hint in desk.heard():
                desk.watcher.tell(hint)

    desk.alive = alive
    desk.set_pace(MESSAGE)
    desk.pass_time(40.0)
    assert desk.contents(second, "Junk") == spam
    assert "recorded 400 existing messages" in caplog.text
    assert not desk.account(second)._hints
    desk.settle()
    assert desk.awake == set()
    assert desk.rows()[second].judged["ham"] == 0, "mail that a rule has filed is known, and was not judged"


# --- awake and asleep


def test_the_longest_unused_sleeps_first(desk_of: Callable[[int], Desk]) -> None:
    """More are not awake than the configuration says; who was used longest ago sleeps."""
    desk = desk_of(8)
    desk.configure(users="awake: 3")
    desk.start()
    desk.settle()
    for name in [*desk.names, desk.names[6]]:
        desk.deliver(name)
        desk.rest()
        assert len(desk.awake) <= 3
    assert desk.awake == {*desk.names[5:8]}
    desk.deliver(desk.names[0])
    desk.rest()
    assert desk.awake == {desk.names[0], desk.names[6], desk.names[7]}


def test_who_waits_for_something_does_not_sleep(desk_of: Callable[[int], Desk]) -> None:
    """An account with a file that dwells stays awake, though more are than should be, and sleeps when that is over."""
    desk = desk_of(6)
    desk.configure(users="awake: 1", dwell=30.0)
    desk.start()
    desk.settle()
    desk.set_to_present()
    spam = {name: desk.deliver(name) for name in desk.names[:3]}
    desk.rest()
    assert desk.are_moved(spam)
    for name, content in spam.items():
        desk.move(name, content, "Junk", "Archive")
    desk.rest()
    assert desk.awake == {*desk.names[:3]}
    desk.deliver(desk.names[4])
    desk.rest()
    assert desk.awake > {*desk.names[:3]}
    desk.pass_time(31.0)
    assert [desk.label(name, content) for name, content in spam.items()] == [0, 0, 0]
    desk.pass_time(90.0)
    assert desk.awake == set()


def test_a_minute_without_work_lets_commands_in(desk: Desk) -> None:
    """Who is awake holds the ledger, and lets go of it a minute after the last message, whatever is compared."""
    desk.deliver(ONE)
    desk.rest()
    assert desk.awake == {ONE}
    with pytest.raises(Exception, match="another spamnb service"), only_service(str(desk.ledger(ONE)), 0.0):
        pass
    for _ in range(3):
        desk.pass_time(19.0)
        desk.accounts.compare(desk.account(ONE))
    desk.pass_time(10.0)
    assert desk.awake == set()
    with only_service(str(desk.ledger(ONE)), 0.0):
        pass


def test_memory_is_returned_while_somebody_is_awake(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Free memory goes back to the system once a minute at most, though one user after the other gets mail."""
    desk.pass_time(400.0)  # the first copies of the ledgers are made
    returned = list[float]()
    monkeypatch.setattr(memory, "give_back", lambda: returned.append(desk.running()))
    for number in range(12):
        desk.deliver(desk.names[number % 4])
        desk.pass_time(25.0)
        assert desk.awake
    assert 2 <= len(returned) <= 5
    assert all(after - before >= 60.0 for before, after in itertools.pairwise(returned))


@pytest.mark.parametrize("by", [-DAY, DAY])
def test_the_clock_is_set(desk: Desk, by: float) -> None:
    """A clock that is set by a day holds up neither what dwells nor new mail for longer than a minute."""
    desk.configure(dwell=5.0)
    desk.reload()
    desk.settle()
    desk.set_to_present()
    spam = desk.deliver(ONE)
    desk.rest()
    desk.move(ONE, spam, "Junk", "Archive")
    desk.rest()
    assert desk.account(ONE).due() > desk.running()
    desk.is_set += by
    late = desk.deliver_to_all()
    desk.pass_time(61.0)
    assert desk.are_moved(late)
    assert desk.label(ONE, spam) == 0
    desk.pass_time(500.0)
    assert desk.awake == set()


# --- accounts that are removed


@pytest.mark.parametrize("what", ["asleep", "awake", "hinted", "failed", "waiting", "compared", "filled"])
def test_removed(desk: Desk, what: str) -> None:
    """An account may be removed whatever becomes of it at that moment; nothing of it is left, and the others go on."""
    account = desk.account(ONE)
    if what == "awake":
        desk.deliver(ONE)
        desk.rest()
    elif what == "hinted":
        desk.deliver(ONE)
        desk.take()
    elif what == "failed":
        desk.ledger(ONE).parent.rename(desk.ledger(ONE).parent.with_name("aside"))
        desk.ledger(ONE).parent.touch()
        desk.deliver(ONE)
        desk.rest()
        assert account.state is AccountState.FAILED
    elif what == "waiting":
        desk.move(ONE, spam_in_junk(desk), "Junk", "Archive")
        desk.take()
        desk.step()
    elif what == "compared":
        desk.accounts.daily_look(account)
    elif what == "filled":
        desk.accounts.wait_until_filled(account)
    desk.remove(ONE)
    mail = desk.deliver_to_all()
    desk.until(lambda: desk.are_moved(mail), "the others' mail moved")
    desk.pass_time(700.0)
    assert ONE not in {each.name for each in desk.accounts}
    assert not account.is_awake
    assert not is_running(str(desk.ledger(ONE)))
    for waiting in ("_row", "_later", "_planned", "_awake"):
        assert account not in getattr(desk.accounts, waiting)
    assert desk.rows()[ONE].state is FilterState.GONE


def spam_in_junk(desk: Desk) -> bytes:
    """A spam that was moved."""
    spam = desk.deliver(ONE)
    desk.rest()
    return spam


def test_removed_in_the_midst_of_long_work(desk: Desk) -> None:
    """A mailbox that is deleted while its mail is recorded is gone, and harms nobody."""
    name, served = "new@one.example", dict[str, bytes]()
    fill(desk, name, 300)

    def alive(status: str) -> None:
        if status.startswith("recording") and not served:
            desk.remove(name)
            served.update(desk.deliver_to_all())
            for hint in desk.heard():
                desk.watcher.tell(hint)

    desk.alive = alive
    desk.set_pace(MESSAGE)
    desk.pass_time(60.0)
    assert served
    assert desk.are_moved(served)
    assert desk.rows()[name].state is FilterState.GONE


def test_nothing_sleeps(desk_of: Callable[[int], Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of the loop waits by itself, whatever is wrong: others would wait with it."""
    desk = desk_of(6)
    desk.start()
    desk.settle()
    slept: list[float] = []
    sleep = time.sleep

    def raising(seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            sleep(seconds)
        else:
            slept.append(seconds)
            raise AssertionError("the loop sleeps")

    monkeypatch.setattr(time, "sleep", raising)
    claimed, written, damaged = desk.names[1:4]
    desk.ledger(damaged).write_bytes(b"no ledger" * 1000)
    with contextlib.ExitStack() as stack:
        stack.enter_context(only_service(str(desk.ledger(claimed)), 0.0))
        writer = stack.enter_context(contextlib.closing(sqlite3.connect(desk.ledger(written), isolation_level=None)))
        writer.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        mail = desk.deliver_to_all()
        desk.pass_time(30.0)
        assert desk.are_moved({name: mail[name] for name in desk.names[4:]})
        desk.remove(desk.names[5])
        desk.pass_time(30.0)
    desk.pass_time(DAY)
    assert desk.awake == set()
    assert not slept
    assert time.monotonic() - began < PATIENCE
