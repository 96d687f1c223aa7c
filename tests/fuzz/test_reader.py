"""The fuzz target in small: its seeds and some mutations of them, with and without the fuzzer."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutator import mutate
from tests.fuzz.seeds import seeds
from tests.mail.mutations import mutated
from tests.mail.promises import check

SEEDS = dict(seeds())
ROOT = Path(__file__).parents[2]


def chop(content: bytes, chance: random.Random) -> bytes:
    """In the place of the fuzzer's own mutation."""
    return mutated(content, chance)[:5000]


def test_seeds_are_read() -> None:
    """The beginning of each hostile message, and each realistic one, is read as promised."""
    for raw in SEEDS.values():
        check(raw)


def test_structured_mutations_are_read() -> None:
    """Messages that were changed within their encodings, wrapped, and relabelled are read as promised."""
    chance = random.Random(1)
    for seed in range(200):
        check(mutate(chance.choice(list(SEEDS.values())), seed, chop))


def test_mutations_change_messages_and_nothing_but_chance_decides() -> None:
    """A mutation depends only on the seed, and hardly ever leaves a message unchanged."""
    raw = SEEDS["realistic-0"]
    changed = [mutate(raw, seed, chop) for seed in range(60)]
    assert changed == [mutate(raw, seed, chop) for seed in range(60)]
    assert sum(each != raw for each in changed) > 50


def test_the_target_runs_under_the_fuzzer(tmp_path: Path) -> None:
    """If atheris is installed, the target runs with the dictionary on a corpus that it fills itself."""
    pytest.importorskip("atheris", reason="atheris is not installed (pip install atheris)")
    command = [sys.executable, "-m", "tests.fuzz.reader", str(tmp_path), "-dict=tests/fuzz/mail.dict", "-runs=250"]
    done = subprocess.run([*command, "-max_len=500"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list(tmp_path.iterdir())) >= len(SEEDS)
