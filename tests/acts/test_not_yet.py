"""Why the filter moves nothing yet, as a person reads it."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.acts.not_yet import NotYet, in_words, not_yet
from spamnb.acts.waiting import Cause, Waiting
from spamnb.config import Config, Learning
from spamnb.ledger.ledger import Ledger

MONDAY = time.mktime((2026, 11, 30, 20, 0, 0, 0, 0, -1))  # in the evening
HOUR = 3600.0
YOUNG = Waiting(Cause.LESSONS, ham=8, spam=10, ham_needed=20, spam_needed=5)
READY = Waiting(Cause.SORTING, 24, 12, 20, 5, unsorted=3, confirmed=2, confirmed_needed=5, latest_at=MONDAY + 72 * HOUR)


def words(found: Waiting, missing: str = "", weekly: tuple[int, int] = (0, 0), learning: Learning | None = None) -> str:
    """What a person reads on that Monday."""
    return in_words(found, missing, weekly, learning or Learning(), "Junk", MONDAY)


def kept(hours: Sequence[int]) -> Waiting:
    """A young filter, with kept messages that begin to count in so many hours."""
    return replace(YOUNG, kept_at=tuple(MONDAY + hour * HOUR for hour in hours))


def test_kept_mail_counts_soon() -> None:
    """It says what counts already, how many kept messages count by when, and whether that is enough."""
    learned = "It has learned 8 of 20 ham and 10 spam."
    at_once = "They count at once if you move a later message to Junk."
    enough = "By Wednesday morning, 14 messages that you kept count too, which is enough."
    assert (
        words(kept([12] * 6 + [37] * 8 + [61] * 5))
        == f"By itself, the filter moves nothing yet. {learned} {enough} {at_once}"
    )
    one = "By tomorrow morning, 1 message that you kept counts too. It counts at once"
    assert one in words(kept([12]))
    too_few = "By tomorrow morning, 7 messages that you kept count too."
    assert (
        words(kept([12] * 7))
        == f"By itself, the filter moves nothing until you have kept 5 more ham. {learned} {too_few} {at_once}"
    )


def test_what_is_still_to_do() -> None:
    """Without kept mail it says how much ham and spam a person still has to show, and about how long that takes."""
    nothing = Waiting(Cause.LESSONS, 0, 0, 20, 5)
    assert words(nothing) == "By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk."
    few = replace(nothing, ham=20, spam=3)
    assert words(few, weekly=(70, 7)) == (
        "By itself, the filter moves nothing until you have moved 2 more spam to Junk; at your 7 a week, about 2 days."
        " It has learned 20 ham and 3 of 5 spam."
    )
    many = replace(YOUNG, spam=200, ham=30, ham_needed=50)
    assert words(many, learning=Learning(kept=False)).endswith(
        "filed 20 ham. It has learned 30 of 50 ham and 200 spam."
    )


def test_a_filter_that_knows_enough() -> None:
    """It says how much it would move, how much the person still has to confirm, and when it begins at the latest."""
    by = "by Thursday evening at the latest"
    assert words(READY) == (
        "By itself, the filter moves nothing yet: it would move 3 messages in the inbox."
        f" It begins when you have moved the next 3 messages that it calls spam to Junk, {by}."
    )
    assert f"the next message that it calls spam to Junk, {by}" in words(replace(READY, confirmed=4))
    assert "yet: it knows enough. It begins" in words(replace(READY, unsorted=0))


@pytest.mark.parametrize("cause", [Cause.HOSTS, Cause.PROOF])
def test_other_causes(cause: Cause) -> None:
    """Lessons that other hosts still have to send, and ham that it would take for spam, are said in their own words."""
    assert words(replace(READY, cause=cause), "1 of 7") == "By itself, the filter moves nothing yet: 1 of 7."


def test_of_a_ledger(ledger: Ledger) -> None:
    """A filter that may move mail waits for nothing; without a ledger nothing is learned."""
    config = Config((), Path("ledger"))
    assert not_yet(ledger, config, MONDAY, "") is None
    for one in (ledger, None):
        found = not_yet(one, config, MONDAY, "20 more ham messages to learn")
        assert found is not None and (found.needed, found.weekly, found.questions) == ((20, 5), (0, 0), 0)
        assert found.words == "By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk."


def test_the_way_to_hasten_it() -> None:
    """Answers begin it now if there are as many as are missing, and else sooner."""
    found = NotYet(YOUNG, "", (0, 0), questions=12)
    assert found.way == "To begin now"
    assert replace(found, questions=11).way == "To begin sooner"
