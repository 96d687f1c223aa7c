"""The statement of a month: the five to look at, and how many of the moved messages were ham at most."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.choices import choose
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.review.at_most import Drawn, at_most
from spamnb.review.period import Month
from spamnb.review.statement import Shown, _drawn, statement
from tests.service.desk import Desk, moving_desk
from tests.service.test_untouched import fill_spam


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail."""
    with moving_desk(tmp_path) as found:
        found.ahead = Month.of(found.now()).since + 5 * 86_400 - (found.now() - found.ahead)
        found.work()
        yield found


def shown(desk: Desk) -> dict[bytes, Shown]:
    """Return what the statement of this month shows, by the identities, in order."""
    found = statement(desk.ledger, desk.config, Month.of(desk.now()))
    return {one.moved.digest: one for one in found.shown}


def at_random(desk: Desk) -> list[bytes]:
    """Return the digests of what is drawn."""
    return [digest for digest, one in shown(desk).items() if one.is_drawn]


def test_five_are_shown(desk: Desk) -> None:
    """It shows five of ten messages in Junk; first what looks most like ham, and the drawn ones last."""
    contents = fill_spam(desk, 100, 9)
    choose(desk.ledger, desk.config, "block", ["*@friends.example"], "prompt", desk.now())
    desk.deliver(wanted := message("ham", 100))
    assert desk.where(wanted) == ["Junk"]
    found = shown(desk)
    assert len(found) == 5
    assert set(found) <= set(map(identity, [wanted, *contents]))
    others = [digest for digest, one in found.items() if not one.is_drawn]
    assert wanted_is_first(found, identity(wanted), others)
    assert [one.is_drawn for one in found.values()] == sorted(one.is_drawn for one in found.values())
    assert {one.of for one in found.values()} == {40}
    assert found[identity(wanted)].ham > 0


def wanted_is_first(found: dict[bytes, Shown], wanted: bytes, others: list[bytes]) -> bool:
    """Whether a message is the first, or is shown since it was drawn."""
    return others[0] == wanted or found[wanted].is_drawn


def test_what_is_drawn_stays(desk: Desk) -> None:
    """What is drawn depends on the month, the messages and the ledger, and not on when anybody asks."""
    fill_spam(desk, 100, 9)
    first = at_random(desk)
    assert 1 <= len(first) <= 2
    assert at_random(desk) == first
    drawn = set(first)
    for number in range(20):
        drawn |= {one.digest for _, one, _ in _drawn(desk.ledger, Month.of(desk.now()), f"{number}")}
    assert len(drawn) > 4, "in another ledger others are drawn"


def test_each_message_is_drawn_as_often(desk: Desk) -> None:
    """Over many ledgers each message of a cell has the same chance."""
    contents = fill_spam(desk, 100, 5)
    times, month = dict.fromkeys(map(identity, contents), 0), Month.of(desk.now())
    for number in range(500):
        ((_, drawn, size),) = _drawn(desk.ledger, month, f"{number}")
        assert size == 5
        times[drawn.digest] += 1
    assert min(times.values()) > 70
    assert max(times.values()) < 130


def test_an_answer_is_a_decision(desk: Desk) -> None:
    """A message that a person has moved out, or called spam, is not shown again, and counts as answered."""
    contents = fill_spam(desk, 100, 8)
    month = Month.of(desk.now())
    before = statement(desk.ledger, desk.config, month)
    assert (before.moved, before.back, before.answered, before.at_most) == (8, 0, (), None)
    (drawn,) = at_random(desk)
    content = next(one for one in contents if identity(one) == drawn)
    desk.take(content, "Junk", "INBOX")
    after = statement(desk.ledger, desk.config, month)
    assert drawn not in {one.moved.digest for one in after.shown}
    assert (after.moved, after.back, after.answered, after.at_most) == (8, 1, (Drawn(8, True),), 8)
    assert (after.caught, after.spam) == (7, 7)
    desk.take(content, "INBOX", "Junk")
    assert desk.lesson(content) == (Label.SPAM, False)
    again = statement(desk.ledger, desk.config, month)
    assert (again.back, again.answered) == (0, (Drawn(8, False),))


def test_other_months(desk: Desk) -> None:
    """Each month has its own messages and draws; answers of earlier months count."""
    fill_spam(desk, 100, 4)
    month = Month.of(desk.now())
    desk.ahead += 31 * 86_400
    fill_spam(desk, 200, 3)
    found = [statement(desk.ledger, desk.config, each) for each in (month.before, month, month.next)]
    assert [(one.moved, one.drawn) for one in found] == [(0, 0), (4, 1), (3, 2)]
    assert (month.before.next, month.next.before) == (month, month)
    assert str(Month(2026, 12).next) == "2027-01"


def test_it_only_reads(desk: Desk) -> None:
    """A ledger that nobody may write gives the same statement."""
    fill_spam(desk, 100, 4)
    month = Month.of(desk.now())
    with Ledger(desk.ledger.path, only_read=True) as ledger:
        assert statement(ledger, desk.config, month) == statement(desk.ledger, desk.config, month)


def test_a_file_that_is_gone_is_not_shown(desk: Desk) -> None:
    """Nobody can look at a deleted message; it still counts as moved."""
    contents = fill_spam(desk, 100, 4)
    desk.paths(contents[0], "Junk")[0].unlink()
    found = statement(desk.ledger, desk.config, Month.of(desk.now()))
    assert (found.moved, len(found.shown)) == (4, 3)


def test_more_ham_gives_a_higher_bound() -> None:
    """The bound rises with each ham among the drawn, and falls with more draws; it is never above all messages."""
    bounds = [at_most([Drawn(50, place < ham) for place in range(20)]) for ham in range(21)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == 1000
    assert all(bound >= ham for ham, bound in enumerate(bounds))
    shares = [at_most([Drawn(50, False)] * number) / (50 * number) for number in (2, 5, 20, 100)]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.thorough
def test_the_bound_holds_in_simulated_lives() -> None:
    """In 1,000 lives with known ham, in cells of many sizes, the bound holds in 95 % at least."""
    chance = random.Random(65)
    for months, answers, share in ((3, 1.0, 0.02), (12, 1.0, 0.002), (24, 0.5, 0.05), (12, 1.0, 0.3)):
        held = 0
        for _ in range(1000):
            drawn, ham = [], 0
            for _ in range(2 * months):
                size = math.ceil(chance.expovariate(1 / 60))
                cell = [chance.random() < share * chance.choice((0, 1, 3)) for _ in range(size)]
                if chance.random() < answers:
                    drawn.append(Drawn(size, chance.choice(cell)))
                    ham += sum(cell)
            held += not drawn or ham <= at_most(drawn)
        assert held >= 950, (months, answers, share, held)
