"""The register's row of an account, from its ledger."""

import math
import os
from pathlib import Path

import pytest

from spamnb.acts import may_move
from spamnb.base.label import Role
from spamnb.config import Config, Learning, Mailbox
from spamnb.host.register import AccountRow, FilterState
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.parts import sizes
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.host import account_row
from tests.lessons import learn, sample_lessons

DAY, NOW = 86_400.0, 1e9


@pytest.fixture
def config(ledger: Ledger) -> Config:
    """The configuration of its user, whose filter moves mail when it has learned two messages of each class."""
    mailbox = Mailbox(path=Path("/mail/anna"), roles={"INBOX": Role.INBOX, "Junk": Role.SPAM})
    learning = Learning(minimum_messages=2)
    return Config(mailboxes=(mailbox,), ledger=Path(ledger.path), learning=learning, user="anna@a.example")


def test_a_new_one(ledger: Ledger, config: Config) -> None:
    """A new filter has only its user, its mailbox and its size."""
    size = sum(sizes(ledger.path))
    judged = {"ham": 0, "unsure": 0, "spam": 0}
    row = AccountRow("anna@a.example", "/mail/anna", FilterState.LEARNING, judged=judged, bytes=size)
    assert account_row(ledger, config, NOW) == row


def test_its_figures(ledger: Ledger, config: Config) -> None:
    """The row has lessons, verdicts and corrections of 30 days, the last verdict, and the size of all files."""
    lessons = [*sample_lessons(3)]
    learn(ledger, lessons)
    days_ago = iter((1, 2, 29, 3, 31, 32))
    for lesson, verdict in zip(lessons, ("ham", "ham", "spam", "unsure", "spam", "ham"), strict=True):
        known = ledger.messages.ensure(lesson.reading.digest, "")
        ledger.messages.judged(known.id, verdict, 0.5, NOW - next(days_ago) * DAY)
    roll(ledger.path, NOW, 3)
    row = account_row(ledger, config, NOW)
    assert (row.ham, row.spam) == (3, 3)
    assert (row.judged, row.corrected) == ({"ham": 2, "unsure": 1, "spam": 1}, 1)
    assert row.judged_at == NOW - DAY
    assert row.bytes == sum(sizes(ledger.path)) > sum(sizes(ledger.path)[:2])


def test_whether_it_is_copied(ledger: Ledger, config: Config) -> None:
    """The row says when the newest copy was made, and whether something happened since; an empty ledger needs none."""
    assert account_row(ledger, config, NOW).uncopied_since is None
    learn(ledger, sample_lessons(3))
    row = account_row(ledger, config, NOW)
    assert (row.copied_at, row.uncopied_since) == (None, NOW)
    copy = roll(ledger.path, NOW, 3)
    for at, since in ((2e9, None), (0.0, NOW)):
        os.utime(copy, (at, at))
        row = account_row(ledger, config, NOW)
        assert (row.copied_at, row.uncopied_since) == (at, since)


def test_its_state(ledger: Ledger, config: Config) -> None:
    """An account is learning until it has moved mail; a stop or a pause comes first; no message is judged for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(may_move, "without_groups", None)
        learn(ledger, sample_lessons(3))
        assert account_row(ledger, config, NOW).state is FilterState.LEARNING
        ledger.state.begun_with = 2
        assert account_row(ledger, config, NOW).state is FilterState.MOVING
        ledger.state.paused_until = math.inf
        assert account_row(ledger, config, NOW).state is FilterState.PAUSED
        ledger.state.stopped_at = NOW
        assert account_row(ledger, config, NOW).state is FilterState.STOPPED
        ledger.state.stopped_at, ledger.state.paused_until = None, NOW
        assert account_row(ledger, config, NOW).state is FilterState.MOVING, "the pause is over"
