"""What is done once a day for each user of a host."""

import itertools
import os
import zlib
from collections.abc import Callable
from unittest import mock

import pytest

from spamnb.base.errors import LedgerSpaceError
from spamnb.host.register import FilterState
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from spamnb.service.awake_account import AwakeAccount
from tests.service.hosts.inn import DAY, Desk
from tests.service.hosts.test_turns import Turns

ONE = "u00@one.example"
_SELDOM = "service: {reconcile_seconds: 1800}"


@pytest.fixture
def few(desk_of: Callable[[int], Desk]) -> Desk:
    """A host of four users, that looks at stamps twice an hour."""
    desk = desk_of(4)
    desk.configure(_SELDOM)
    desk.start()
    desk.settle()
    return desk


def looked_after(desk: Desk) -> dict[str, float]:
    """When each was looked after last."""
    return {name: row.looked_after_at or 0.0 for name, row in desk.rows().items()}


def test_spread_over_the_day(few: Desk) -> None:
    """Each is looked after at a time that follows from the name, once a day, whether they have mail or not."""
    few.pass_time(DAY)
    first = looked_after(few)
    few.pass_time(DAY)
    second = looked_after(few)
    for name in few.names:
        wanted = zlib.crc32(name.encode()) % DAY
        assert 0 <= (second[name] - wanted) % DAY < 1900.0
        assert DAY - 1900.0 < second[name] - first[name] < DAY + 1900.0


def test_after_a_restart(few: Desk) -> None:
    """A restart does nothing of it again; who was not looked after while the service was down is, once."""
    few.pass_time(DAY)
    before = looked_after(few)
    few.stop()
    few.start()
    few.pass_time(1900.0)
    assert sum(after != before[name] for name, after in looked_after(few).items()) <= 1  # whose time has come
    few.stop()
    few.ahead += 5 * DAY
    few.start()
    with Turns(few) as turns:
        few.pass_time(1900.0)
    assert min(looked_after(few).values()) > few.now() - 2000.0
    assert sorted(name for name, _ in turns.compared) == few.names


def test_it_sleeps_after_that(few: Desk) -> None:
    """An account that wakes for this alone sleeps at once when it is done, and not a minute later."""
    few.ahead += DAY
    few.until(lambda: min(looked_after(few).values()) > few.now() - 1800.0, "all looked after")
    few.rest()
    assert few.awake == set()


def test_one_after_the_other(desk_of: Callable[[int], Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many are to be looked after, not more of them are awake meanwhile than else."""
    desk, most = desk_of(6), 0
    desk.configure(_SELDOM, users="awake: 2")
    desk.start()
    desk.settle()
    desk.ahead += 3 * DAY
    step_jobs = AwakeAccount.step_jobs

    def stepped(account: AwakeAccount) -> bool:
        nonlocal most
        most = max(most, len(desk.awake))
        return step_jobs(account)

    monkeypatch.setattr(AwakeAccount, "step_jobs", stepped)
    desk.pass_time(3600.0)
    assert min(looked_after(desk).values()) > desk.now() - 3700.0
    assert most <= 3


def test_a_copy_of_what_has_changed(few: Desk) -> None:
    """A copy is made of a ledger with which something was done since the last one, and of no other."""
    for has_mail, copies in ((False, 1), (True, 2), (False, 2)):
        if has_mail:
            few.deliver(ONE)
        few.pass_time(DAY)
        made = [rolling(str(few.ledger(name))) for name in few.names]
        assert [len(each) for each in made] == [copies, 1, 1, 1]
        for copy in itertools.chain(*made):
            os.utime(copy, (few.now(), few.now()))  # by the kernel's clock it was made long before


def test_what_was_kept_is_learned(few: Desk) -> None:
    """Mail that was read and kept for some days is learned, though nothing of it has happened since."""
    ham = few.deliver(ONE, "ham")
    few.rest()
    few.move(ONE, ham, "INBOX", "INBOX")
    few.pass_time(2 * DAY)
    assert few.label(ONE, ham) is None
    few.pass_time(2.5 * DAY)
    assert few.label(ONE, ham) == 0


def test_forgetting(few: Desk) -> None:
    """What is long gone is forgotten, and the ledger remembers when that was done."""
    few.pass_time(DAY)
    for name in few.names:
        with Ledger(str(few.ledger(name))) as ledger:
            assert few.now() - ledger.state.done_at(Job.FORGETTING) < DAY


@pytest.mark.thorough
def test_who_cannot_be_worked_for(few: Desk) -> None:
    """Who is broken at the time of the look is looked after when that is over, and not before."""
    before = looked_after(few)
    (few.root(ONE) / "cur").rename(few.root(ONE) / "away")
    few.pass_time(1.2 * DAY)
    after = looked_after(few)
    assert few.rows()[ONE].state is FilterState.BROKEN
    assert after[ONE] == before[ONE]
    assert all(after[name] > before[name] for name in few.names[1:])
    (few.root(ONE) / "away").rename(few.root(ONE) / "cur")
    few.pass_time(3600.0)
    assert looked_after(few)[ONE] > after[ONE]
    assert rolling(str(few.ledger(ONE)))


def test_the_clock_was_ahead(few: Desk) -> None:
    """Who was looked after in what is the future now is looked after all the same."""
    few.pass_time(DAY)
    few.is_set = -30 * DAY
    few.pass_time(DAY)
    assert max(looked_after(few).values()) <= few.now()


def test_first_copies(desk_of: Callable[[int], Desk]) -> None:
    """A user who has learned something and has no copy gets one within minutes; who has learned nothing waits a day."""
    desk, new = desk_of(2), "new@one.example"
    desk.configure("service: {reconcile_seconds: 300}")
    desk.add(new, is_taught=False)
    desk.ahead += (zlib.crc32(new.encode()) + 7200 - desk.now()) % DAY  # not at the time of the daily look at this user
    desk.start()
    desk.settle()
    desk.pass_time(700.0)
    copied = {name: len(rolling(str(desk.ledger(name)))) for name in desk.names}
    assert copied == {ONE: 1, "u01@two.example": 1, "new@one.example": 0}
    rows = desk.rows().values()
    assert {row.name: (row.copied_at is not None, row.uncopied_since) for row in rows} == {
        name: (bool(copies), None) for name, copies in copied.items()
    }


def test_a_first_copy_that_fails(desk_of: Callable[[int], Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first copy cannot be made, it is tried again each hour, and the register says since when it is missing."""
    roll = mock.Mock(side_effect=LedgerSpaceError("there is too little space"))
    monkeypatch.setattr("spamnb.service.jobs.roll", roll)
    desk = desk_of(1)
    desk.configure("service: {reconcile_seconds: 300}")
    desk.start()
    desk.settle()
    began = desk.now()
    desk.pass_time(3 * 3600.0)
    assert 2 <= roll.call_count <= 5
    since = desk.rows()[ONE].uncopied_since
    assert since is not None
    assert abs(since - began) < 600.0
