"""Whose folders have changed unseen: what the times of folders tell, over losses, sleep, death and restarts."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from spamnb.host.service import sweeps
from spamnb.maildir.folders import create_folder
from spamnb.service.account import Account
from tests.service.hosts.inn import Desk
from tests.service.hosts.late import Slow

ONE, OTHER = "u00@one.example", "u01@two.example"


@pytest.fixture
def slow_of(tmp_path: Path, taught: Path) -> Iterator[Callable[..., Slow]]:
    """Makes a host of so many users whose watcher is late, and lets it come to rest."""
    made: list[Slow] = []

    def make(number: int = 3, more: str = "", users: str = "") -> Slow:
        desk = Slow(tmp_path, taught, number)
        made.append(desk)
        desk.configure(more, users)
        desk.start()
        desk.settle()
        desk.pass_time(310.0)  # the first copies are made, for which folders are compared once more
        desk.settle()
        return desk

    yield make
    for each in made:
        each.stop()


def compared(desk: Desk, work: Callable[[], object]) -> list[str]:
    """Whose folders are compared in some work, each as often as that is done."""
    names, compare = [], Account.compare

    def told(account: Account) -> bool:
        names.append(account.name)
        return compare(account)

    with mock.patch.object(Account, "compare", told):
        work()
    return names


def test_the_kernels_queue_overflows(slow_of: Callable[..., Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hints of more users are lost than one look takes, and that is told, the mail of each is judged, once."""
    monkeypatch.setattr(sweeps, "_SLICE", 2)
    desk = slow_of(5)
    desk.late.flows = False
    mail = desk.deliver_to_all()
    desk.late.lose()
    desk.late.flows = True
    desk.rest()
    assert desk.are_moved(mail)
    desk.settle()
    assert {kind for name in desk.names for kind in desk.judgements(name)[50:]} == {"moved"}
    assert all(len(desk.everything(name)) == 1 for name in desk.names)


def test_the_queue_overflows_again_and_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whose storm lets hints be lost all the time keeps nobody from being looked at."""
    monkeypatch.setattr(sweeps, "_SLICE", 2)
    mail = desk.deliver_to_all()
    desk.heard()  # and lost
    for _ in range(10 * len(desk.names)):
        desk.watcher.overflowed = True
        desk.step()
    assert desk.are_moved(mail)


def test_a_folder_that_is_made_while_the_queue_overflows(slow_of: Callable[..., Slow]) -> None:
    """A folder is found, though nothing has told of it, and its mail that is in no other one."""
    desk = slow_of()
    desk.late.flows = False
    create_folder(str(desk.root(ONE)), "maildir++", "New")
    desk.deliver(ONE, "ham", "New")
    desk.late.lose()
    desk.late.flows = True
    desk.settle()
    assert desk.unknown(ONE) == []


def test_an_event_is_lost_untold(slow_of: Callable[..., Slow]) -> None:
    """What no hint has told of is found by the times of the folders, some minutes later; nobody else is compared."""
    desk = slow_of()
    desk.pass_time(400.0)  # the first copies of the ledgers are made
    desk.late.flows = False
    mail = desk.deliver_to_all([ONE])
    desk.late.lose(is_told=False)
    desk.late.flows = True
    assert {*compared(desk, lambda: desk.pass_time(301.0))} == {ONE}
    assert desk.are_moved(mail)


def test_what_was_lost_is_not_forgotten_by_death(slow_of: Callable[..., Slow]) -> None:
    """Killed after an overflow, and before all are compared, the service has seen all mail after the next start."""
    desk = slow_of()
    mail = desk.deliver_to_all()
    desk.rest()
    desk.late.flows = False
    late = desk.deliver(ONE)
    desk.late.lose()
    with mock.patch.object(Account, "compare", side_effect=AssertionError):  # it does not come to that
        desk.late.flows = True
        desk.accounts._tools = replace(desk.accounts._tools, most_awake=0)
        desk.accounts._stepped_at = desk.running() + 1e9
        for _ in range(200):
            desk.ahead += 0.5
            desk.accounts._row[desk.account(OTHER)] = None  # somebody always has a turn
            desk.step()
    desk.kill()
    desk.start()
    desk.rest()
    assert late in desk.contents(ONE, "Junk")
    assert desk.are_moved(mail)


def test_a_hint_that_is_late(slow_of: Callable[..., Slow]) -> None:
    """However late the hint of a message is that came just before its account slept, it is seen after a death."""
    desk = slow_of()
    desk.deliver(ONE)
    desk.rest()
    desk.late.flows = False
    late = desk.deliver(ONE)
    desk.pass_time(100.0)
    assert ONE not in desk.awake
    desk.kill()
    desk.start()
    desk.rest()
    assert late in desk.contents(ONE, "Junk")


def test_mail_comes_just_after_the_account_sleeps(slow_of: Callable[..., Slow]) -> None:
    """A message that leaves the time of its folder as it was, since the clock of the disk ticks slowly, is seen."""
    desk = slow_of()
    desk.deliver(ONE)
    desk.rest()
    desk.late.flows = False
    new = desk.folder(ONE).subdir("new")
    while ONE in desk.awake:
        desk.ahead += 1.0
        desk.step()
    before = os.stat(new)
    late = desk.deliver(ONE)
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    desk.pass_time(10.0)
    desk.kill()
    desk.start()
    desk.rest()
    assert late in desk.contents(ONE, "Junk")


# --- starts


def test_a_restart_compares_who_has_changed(slow_of: Callable[..., Slow]) -> None:
    """After a start nobody is compared but for whom something has happened meanwhile."""
    desk = slow_of()
    desk.deliver_to_all()
    desk.settle()
    for end in (desk.kill, desk.stop):
        end()
        assert compared(desk, lambda: (desk.start(), desk.rest())) == []
        end()
        late = desk.deliver(OTHER)
        assert compared(desk, lambda: (desk.start(), desk.rest())) == [OTHER]
        assert late in desk.contents(OTHER, "Junk")
        desk.settle()


def test_killed_between_delivery_and_hint(slow_of: Callable[..., Slow]) -> None:
    """Mail whose hint was not read any more is judged after the start."""
    desk = slow_of()
    desk.late.flows = False
    mail = desk.deliver_to_all()
    desk.kill()
    desk.start()
    desk.rest()
    assert desk.are_moved(mail)


def test_done_once(tmp_path: Path, taught: Path) -> None:
    """What comes while `run --once` works for the others is seen at the next start of the service."""
    desk = Slow(tmp_path, taught, 3)
    desk.start()
    desk.settle()
    desk.stop()
    late: list[bytes] = []
    sleep = Account.sleep

    def slept(account: Account, fault: Exception | None = None) -> Exception | None:
        if account.name == ONE and not late:
            late.append(desk.deliver(ONE))
        desk.ahead += 100.0
        return sleep(account, fault)

    with mock.patch.object(Account, "sleep", slept):
        desk.once()
    desk.start()
    desk.rest()
    assert late[0] in desk.contents(ONE, "Junk")
    desk.stop()


# --- without events


def test_polling(slow_of: Callable[..., Slow]) -> None:
    """Where nothing is told, mail is judged after the seconds of the configuration, and who has none sleeps."""
    desk = slow_of(more="service: {watch: polling, poll_seconds: 5}")
    assert desk.watched == "3 users"
    mail = desk.deliver_to_all([ONE])
    assert {*compared(desk, lambda: desk.pass_time(6.0))} == {ONE}
    assert desk.are_moved(mail)
    desk.pass_time(150.0)
    assert desk.awake == set()
    assert compared(desk, lambda: desk.pass_time(60.0)) == []


@pytest.mark.parametrize("when", ["after the comparison", "within a tick"])
def test_polled_and_asleep(slow_of: Callable[..., Slow], when: str) -> None:
    """Mail that has come since the folders were compared is seen, though its account slept since."""
    desk = slow_of(more="service: {watch: polling, poll_seconds: 20}", users="awake: 1")
    mail = desk.deliver_to_all([ONE])
    desk.set_to_present()
    desk.pass_time(21.0)
    assert desk.are_moved(mail)
    new = desk.folder(ONE).subdir("new")
    before = os.stat(new)
    late = desk.deliver(ONE)
    if when == "within a tick":
        os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    desk.accounts.compare(desk.account(OTHER))
    desk.rest()
    assert desk.awake == {OTHER}
    desk.kill()
    desk.start()
    desk.rest()
    assert late in desk.contents(ONE, "Junk")
