"""Forgetting tokens: the counts stay the sum of all lessons, even if others work with the ledger."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.acts.training import import_counts
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.export_format import parse
from spamnb.ledger.lessons.sqlite import pruning
from spamnb.ledger.lessons.sqlite.pruning import Plan
from tests.lessons import Taught, known, learn, lesson, set_label, take_back


def words(choose: random.Random) -> dict[str, int]:
    """Tokens of a made-up message: some of them common, some of them in no other message."""
    numbers = [*(choose.randrange(1500) for _ in range(70)), *(choose.randrange(2000, 10**9) for _ in range(40))]
    return {f"subject:word {number}": choose.randrange(1, 4) for number in numbers}


def lessons(first: int, number: int) -> list[Taught]:
    """Made-up messages, always the same."""
    return [lesson(f"m{i}", i % 2, words(random.Random(i)), at=1000.0 + i) for i in range(first, first + number)]


MESSAGES = 200


def fill(ledger: Ledger) -> None:
    """Learn many messages, some of them forgotten again."""
    learn(ledger, lessons(0, MESSAGES))
    for number in range(0, MESSAGES, 50):
        found = ledger.messages.find(f"m{number}".encode())
        assert found is not None
        set_label(ledger, found.id, None, 5000.0, "a test")


@pytest.fixture(scope="module")
def once_filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a ledger with many lessons."""
    path = tmp_path_factory.mktemp("filled") / "ledger"
    with Ledger(str(path)) as made:
        fill(made)
    return path


@pytest.fixture
def filled(once_filled: Path, path: str) -> Iterator[Ledger]:
    """A ledger with many lessons."""
    shutil.copy(once_filled, path)
    with Ledger(path) as opened:
        yield opened


def forget(ledger: Ledger, share: float) -> Plan:
    """Prune to a share of the size."""
    plan = ledger.pruning.plan(int(ledger.pruning.size() * share))
    for _ in ledger.pruning.forget(plan, lambda seconds: None):
        pass
    ledger.pruning.compact()
    return plan


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.8, 0.6])
def test_becomes_small_enough(filled: Ledger, path: str, share: float) -> None:
    """The file has at most the wanted size, all messages are learned still, and the counts are their sum."""
    before, size = filled.lessons.totals(), filled.pruning.size()
    plan = forget(filled, share)
    assert Path(path).stat().st_size == filled.pruning.size() <= share * size
    after = filled.lessons.totals()
    assert after[:2].tolist() == before[:2].tolist()
    assert (after[2:] < before[2:]).all()
    assert filled._connection.row("SELECT count(*) FROM token")[0] == plan.of - plan.tokens
    assert filled.lessons.verify() == []


def test_estimate(filled: Ledger) -> None:
    """The predicted size is within a tenth of the real one, and not below it."""
    plan = forget(filled, 0.6)
    assert filled.pruning.size() <= plan.size < filled.pruning.size() * 1.1


def test_the_oldest_that_were_met_once_go_first(ledger: Ledger) -> None:
    """Tokens met once go before those met twice, old before new; then those without evidence."""
    learn(ledger, [lesson("old", 0, {"old once": 1, "twice": 1, "everywhere": 1}, at=1.0)])
    learn(ledger, [lesson("new", 0, {"new once": 1, "twice": 1, "everywhere": 1}, at=2.0)])
    learn(ledger, [lesson(f"spam {i}", 1, {"everywhere": 1}, at=3.0) for i in range(2)])
    order = []
    for level in range(1, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pruning, "_LEVELS", 4)
            patch.setattr(pruning.Pruning, "_sizes", lambda *_, level=level: pruning.np.arange(5) < level)
            forgotten = ledger.pruning.plan(0).forgotten
        ids = dict(ledger._connection.rows("SELECT text, id FROM token"))
        order += [text for text, id_ in ids.items() if forgotten[id_] and text not in order]
    assert order == ["old once", "new once", "everywhere", "twice"]


def test_corrections_stay_exact(filled: Ledger) -> None:
    """After pruning, a relabelled, forgotten or restored message counts with its remaining tokens only."""
    before = filled.lessons.totals().tolist()
    forget(filled, 0.6)
    for number in range(100):
        found = filled.messages.find(f"m{number}".encode())
        assert found is not None
        set_label(filled, found.id, (None, 0, 1)[number % 3], 6000.0, "a test")
    assert filled.lessons.verify() == []
    for action in [one for one in filled.journal.newest(1000) if one.at == 6000.0]:
        set_label(filled, action.message, action.before, 7000.0, f"undo of {action.id}")
    assert filled.lessons.verify() == []
    assert filled.lessons.totals()[:2].tolist() == before[:2]


@pytest.mark.thorough
def test_others_learn_meanwhile(filled: Ledger, path: str) -> None:
    """Between any two steps others may learn the same tokens, and forget and correct messages."""
    plan = filled.pruning.plan(int(filled.pruning.size() * 0.6))
    gone = {row[0]: row[1] for row in filled._connection.rows("SELECT id, text FROM token") if plan.forgotten[row[0]]}
    texts = sorted(gone.values())
    choose = random.Random(1)
    steps = 0
    pruning_tokens = pruning._TOKENS
    try:
        pruning._TOKENS = 250
        for _ in filled.pruning.forget(plan, lambda seconds: None):
            steps += 1
            with Ledger(path) as other:
                learn(other, [lesson(f"new {steps}", steps % 2, dict.fromkeys(choose.sample(texts, 30), 2))])
                anew = other.messages.find(f"m{50 * steps % MESSAGES}".encode())
                assert anew is not None
                set_label(other, anew.id, None, 1.0, "a test")
                learn(other, [lesson(f"m{50 * steps % MESSAGES}", 1, dict.fromkeys(choose.sample(texts, 30), 1))])
                forgotten = other.messages.find(f"new {steps}".encode())
                assert forgotten is not None
                if steps % 3:
                    set_label(other, forgotten.id, None, 2.0, "a test")
            assert filled.lessons.verify() == []
    finally:
        pruning._TOKENS = pruning_tokens
    assert steps > 12
    for number in range(1, steps + 1):
        found = filled.messages.find(f"new {number}".encode())
        assert found is not None
        set_label(filled, found.id, 1, 3.0, "a test")  # with the tokens it was learned with
    assert filled.lessons.verify() == []


def test_two_at_once(ledger: Ledger, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token removed by one pruning is left alone by another: its id may belong to a different token now."""
    monkeypatch.setattr(pruning, "_TOKENS", 1)
    with Ledger(str(tmp_path / "other.sqlite")) as other:
        learn(other, [lesson("a", 0, {"never met": 1, "nor this": 1})])
        counts = parse((line.encode() for line in other.lessons.export()), "x")
    learn(ledger, [lesson("stays", 0, {"stays": 1})])
    learn(ledger, [lesson("goes", 0, {"goes": 1, "goes too": 1})])
    plan = Plan(pruning.np.array([False, False, True, True]), 0, 2, 2, 3)
    dictionary = "SELECT text FROM token ORDER BY text"
    beside = 0
    for _ in ledger.pruning.forget(plan, lambda seconds: None):
        if ledger._connection.all(dictionary) == [("goes too",), ("stays",)]:
            beside += 1
            with Ledger(path) as second:
                assert len(list(second.pruning.forget(plan, lambda seconds: None))) > 1
                take_back(second, import_counts(second, counts, "x", 1.0), 2.0)
    assert beside
    assert ("goes too",) not in ledger._connection.all(dictionary)
    assert ledger.lessons.verify() == []
    learn(ledger, [lesson("late", 1, {"late": 1})])
    assert ledger.lessons.verify() == []


def test_broken_off(filled: Ledger) -> None:
    """Broken off after any step, the ledger is sound, and the next pruning does the rest."""
    size = filled.pruning.size()
    for stop in range(1, 12, 2):
        steps = filled.pruning.forget(filled.pruning.plan(int(size * 0.6)), lambda seconds: None)
        for _ in range(stop):
            next(steps, None)
        steps.close()
        assert filled.lessons.verify() == []
    forget(filled, 0.6 * size / filled.pruning.size())
    assert filled.lessons.verify() == []
    assert filled.pruning.size() <= 0.6 * size


def test_imports_are_pruned_too(filled: Ledger, tmp_path: Path) -> None:
    """An import forgets the same tokens, and can be taken back exactly."""
    with Ledger(str(tmp_path / "other.sqlite")) as other:
        learn(other, lessons(5000, 100))
        counts = parse((line.encode() for line in other.lessons.export()), "x")
    action = import_counts(filled, counts, "x", 1.0)
    forget(filled, 0.6)
    assert filled.lessons.verify() == []
    take_back(filled, action, 2.0)
    assert filled.lessons.verify() == []
    assert filled.lessons.totals()[:2].tolist() == [96, 100]


def test_others_get_their_turn(filled: Ledger) -> None:
    """After each transaction there is a pause of at least a quarter of its length."""
    pauses: list[float] = []
    for _ in filled.pruning.forget(filled.pruning.plan(1), pauses.append):
        pass
    assert len(pauses) >= MESSAGES / 100 + 2
    assert min(pauses) >= 0.01


def test_nothing_is_known(ledger: Ledger) -> None:
    """An empty ledger can be planned for and pruned."""
    assert forget(ledger, 0.5).tokens == 0
    assert known(ledger, "x") == [0, 0, 0, 0]
    assert ledger.lessons.verify() == []
