"""Forgetting tokens: the counts stay the sum of all lessons, even if others work with the ledger."""

import random
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


def fill(ledger: Ledger, messages: int = 400) -> None:
    """Learn many messages, some of them forgotten again."""
    for start in range(0, messages, 200):
        learn(ledger, lessons(start, 200))
    for number in range(0, messages, 50):
        found = ledger.messages.find(f"m{number}".encode())
        assert found is not None
        set_label(ledger, found.id, None, 5000.0, "a test")


def forget(ledger: Ledger, share: float) -> Plan:
    """Prune to a share of the size."""
    plan = ledger.pruning.plan(int(ledger.pruning.size() * share))
    for _ in ledger.pruning.forget(plan, lambda seconds: None):
        pass
    ledger.pruning.compact()
    return plan


@pytest.mark.parametrize("share", [0.8, 0.6])
def test_becomes_small_enough(ledger: Ledger, path: str, share: float) -> None:
    """The file has at most the wanted size, all messages are learned still, and the counts are their sum."""
    fill(ledger)
    before, size = ledger.lessons.totals(), ledger.pruning.size()
    plan = forget(ledger, share)
    assert Path(path).stat().st_size == ledger.pruning.size() <= share * size
    after = ledger.lessons.totals()
    assert after[:2].tolist() == before[:2].tolist()
    assert (after[2:] < before[2:]).all()
    assert ledger._connection.row("SELECT count(*) FROM token")[0] == plan.of - plan.tokens
    assert ledger.lessons.verify() == []


def test_estimate(ledger: Ledger) -> None:
    """The predicted size is within a tenth of the real one, and not below it."""
    fill(ledger)
    plan = forget(ledger, 0.6)
    assert ledger.pruning.size() <= plan.size < ledger.pruning.size() * 1.1


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


def test_corrections_stay_exact(ledger: Ledger) -> None:
    """After pruning, a relabelled, forgotten or restored message counts with its remaining tokens only."""
    fill(ledger)
    before = ledger.lessons.totals().tolist()
    forget(ledger, 0.6)
    for number in range(200):
        found = ledger.messages.find(f"m{number}".encode())
        assert found is not None
        set_label(ledger, found.id, (None, 0, 1)[number % 3], 6000.0, "a test")
    assert ledger.lessons.verify() == []
    for action in [one for one in ledger.journal.newest(1000) if one.at == 6000.0]:
        set_label(ledger, action.message, action.before, 7000.0, f"undo of {action.id}")
    assert ledger.lessons.verify() == []
    assert ledger.lessons.totals()[:2].tolist() == before[:2]


def test_others_learn_meanwhile(ledger: Ledger, path: str) -> None:
    """Between any two steps others may learn the same tokens, and forget and correct messages."""
    fill(ledger)
    plan = ledger.pruning.plan(int(ledger.pruning.size() * 0.6))
    gone = {row[0]: row[1] for row in ledger._connection.rows("SELECT id, text FROM token") if plan.forgotten[row[0]]}
    texts = sorted(gone.values())
    choose = random.Random(1)
    steps = 0
    pruning_tokens = pruning._TOKENS
    try:
        pruning._TOKENS = 500
        for _ in ledger.pruning.forget(plan, lambda seconds: None):
            steps += 1
            with Ledger(path) as other:
                learn(other, [lesson(f"new {steps}", steps % 2, dict.fromkeys(choose.sample(texts, 30), 2))])
                anew = other.messages.find(f"m{50 * steps % 400}".encode())
                assert anew is not None
                set_label(other, anew.id, None, 1.0, "a test")
                learn(other, [lesson(f"m{50 * steps % 400}", 1, dict.fromkeys(choose.sample(texts, 30), 1))])
                forgotten = other.messages.find(f"new {steps}".encode())
                assert forgotten is not None
                if steps % 3:
                    set_label(other, forgotten.id, None, 2.0, "a test")
            assert ledger.lessons.verify() == []
    finally:
        pruning._TOKENS = pruning_tokens
    assert steps > 12
    for number in range(1, steps + 1):
        found = ledger.messages.find(f"new {number}".encode())
        assert found is not None
        set_label(ledger, found.id, 1, 3.0, "a test")  # with the tokens it was learned with
    assert ledger.lessons.verify() == []


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


def test_broken_off(ledger: Ledger) -> None:
    """Broken off after any step, the ledger is sound, and the next pruning does the rest."""
    fill(ledger)
    size = ledger.pruning.size()
    for stop in range(1, 12, 2):
        steps = ledger.pruning.forget(ledger.pruning.plan(int(size * 0.6)), lambda seconds: None)
        for _ in range(stop):
            next(steps, None)
        steps.close()
        assert ledger.lessons.verify() == []
    forget(ledger, 0.6 * size / ledger.pruning.size())
    assert ledger.lessons.verify() == []
    assert ledger.pruning.size() <= 0.6 * size


def test_imports_are_pruned_too(ledger: Ledger, tmp_path: Path) -> None:
    """An import forgets the same tokens, and can be taken back exactly."""
    with Ledger(str(tmp_path / "other.sqlite")) as other:
        learn(other, lessons(5000, 200))
        counts = parse((line.encode() for line in other.lessons.export()), "x")
    fill(ledger)
    action = import_counts(ledger, counts, "x", 1.0)
    forget(ledger, 0.6)
    assert ledger.lessons.verify() == []
    take_back(ledger, action, 2.0)
    assert ledger.lessons.verify() == []
    assert ledger.lessons.totals()[:2].tolist() == [192, 200]


def test_others_get_their_turn(ledger: Ledger) -> None:
    """After each transaction there is a pause of at least a quarter of its length."""
    fill(ledger, 400)
    pauses: list[float] = []
    for _ in ledger.pruning.forget(ledger.pruning.plan(1), pauses.append):
        pass
    assert len(pauses) >= 400 / 100 + 2
    assert min(pauses) >= 0.01


def test_nothing_is_known(ledger: Ledger) -> None:
    """An empty ledger can be planned for and pruned."""
    assert forget(ledger, 0.5).tokens == 0
    assert known(ledger, "x") == [0, 0, 0, 0]
    assert ledger.lessons.verify() == []
