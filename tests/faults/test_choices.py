"""`kill -9` at any moment of making or taking back a choice: it is there whole, or not at all, and can be made."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.acts.choices import choose, forget
from spamnb.config import Config, Scoring
from spamnb.ledger.history.choices import ChoiceKind
from spamnb.ledger.ledger import Ledger
from tests.traced import calls, killed_before

pytestmark = [
    pytest.mark.real_disk,  # being durable is among what it dies at
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]
KEPT, BLOCKED, CUTOFF = "friend@shop.example", ["*@shop.example", "news.example"], "0.97"
CONFIG = Config((), Path("/l"))


def pick(path: Path, kind: ChoiceKind, *values: str) -> None:
    """Choose on a page."""
    with Ledger(str(path)) as ledger:
        choose(ledger, CONFIG, kind, values, "page", time.time())


def take_back(path: Path) -> None:
    """Take back the oldest choice."""
    with Ledger(str(path)) as ledger:
        forget(ledger, CONFIG, KEPT, time.time)


def chosen(path: Path) -> set[str | float]:
    """What is chosen; the ledger is whole, and what is chosen is in force."""
    with Ledger(str(path)) as ledger:
        assert ledger.verify() == []
        found = {choice.value for choice in ledger.choices.standing()}
        in_force = ledger.choices.over(CONFIG)
        assert in_force.scoring == (Scoring(spam_cutoff=0.97) if 0.97 in found else Scoring())
        for sender in ("a@shop.example", "a@news.example"):
            assert (in_force.senders.named((sender,), "") is not None) == (BLOCKED[0] in found)
        assert len(ledger.lines.page(10)) == len(found) + 2 * (KEPT not in found), "and no action without a choice"
        return found


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.thorough)])  # of the calls
@pytest.mark.parametrize(
    ("work", "after"),
    [
        (lambda path: pick(path, "block", *BLOCKED), {KEPT, *BLOCKED}),
        (lambda path: pick(path, "spam_cutoff", CUTOFF), {KEPT, 0.97}),
        (take_back, set()),
    ],
    ids=["two senders", "a cutoff", "taken back"],
)
def test_killed_at_a_system_call(
    tmp_path: Path, work: Callable[[Path], None], after: set[str | float], every: int
) -> None:
    """Killed before any call that changes the disk, all of a choice is kept or none of it, and what was kept stays."""
    before, path = tmp_path / "before", tmp_path / "now" / "ledger"
    before.mkdir()
    pick(before / "ledger", "allow", KEPT)

    def again() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        shutil.copytree(before, path.parent)

    again()
    counted = calls(lambda: work(path), tmp_path / "log")
    assert {"pwrite64", "fdatasync"} <= counted.keys()
    outcomes = []
    for call, at in [(call, at) for call, number in counted.items() for at in range(1, number + 1)][::every]:
        again()
        assert killed_before(lambda: work(path), call, at), f"lived through {call} {at}"
        outcomes.append(chosen(path))
        assert outcomes[-1] in ({KEPT}, after), f"killed before {call} {at}"
        if outcomes[-1] == {KEPT}:
            work(path)
        assert chosen(path) == after
    assert {KEPT} in outcomes and after in outcomes, "before it was made, and after"
