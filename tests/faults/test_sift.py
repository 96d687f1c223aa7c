"""A sift of the first lessons that is killed: nothing is half done, and the next call does the rest."""

import shutil
from itertools import count
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.reading import read
from spamnb.review import first_lessons
from tests.dying import killed_at

_LYING = [read(message("spam", number)) for number in range(30, 38)]


def _learned(path: Path) -> Path:
    """A ledger with spam among the ham, before the sift."""
    with Ledger(str(path)) as ledger:
        first_lessons.begin(ledger)
        for label, numbers in ((Label.HAM, range(25)), (Label.SPAM, range(15))):
            readings = [read(message(label.word, number)) for number in numbers]
            readings += _LYING if label is Label.HAM else []
            training.learn_batches(ledger, [Batch.of(readings)], label, "at the start", 1.0, how=How.SEEN)
    return path


def _sift(ledger: Ledger) -> object:
    return first_lessons.finish(ledger, Scoring())


def _state(path: Path) -> list[object]:
    """What the messages teach, and whether a sift is still due; the counts must be right."""
    with Ledger(str(path)) as ledger:
        assert ledger.verify() == []
        lessons = [ledger.lessons.find(reading.digest) for reading in _LYING]
        recorded = [ledger.messages.find(reading.digest) for reading in _LYING]
        assert [one and (one.label, one.weak) for one in recorded] == [one and (one.label, one.weak) for one in lessons]
        return [*((one.label, one.weak) for one in lessons if one), ledger.state.sifting_since]


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_killed_sift_is_whole_or_not_done(tmp_path: Path, step: int) -> None:
    """Killed at any write, all messages have their old labels or all the new ones, and the next call does the rest."""
    before = _learned(tmp_path / "before")
    path = tmp_path / "ledger.sqlite"
    shutil.copy(before, path)
    untouched = _state(path)
    with Ledger(str(path)) as ledger:
        _sift(ledger)
    done = _state(path)
    assert done != untouched
    assert set(done[:-1]) <= {(None, True), (Label.SPAM, True)}
    for at in count(1, step):
        for left in tmp_path.glob("ledger.sqlite*"):
            left.unlink()
        shutil.copy(before, path)
        if not killed_at(at, str(path), _sift):
            break
        assert _state(path) in (untouched, done), f"killed at {at}"
        with Ledger(str(path)) as ledger:
            _sift(ledger)
        assert _state(path) == done, f"killed at {at}"
    assert at > 3
