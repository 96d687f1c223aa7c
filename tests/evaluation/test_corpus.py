"""Corpora on disk: an index, or two folders."""

from pathlib import Path

import pytest

from spamnb.base.errors import MailError
from spamnb.base.label import Label
from spamnb.evaluation.corpus import Labelled, interleave, load_corpus


def make(directory: Path, **files: str) -> str:
    """Files by name, "__" for a slash."""
    for name, content in files.items():
        path = directory / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(directory)


def test_index_gives_order_and_labels(tmp_path: Path) -> None:
    """An index gives labels and order, with paths relative to itself."""
    corpus = make(tmp_path, a="x", sub__b="y", index="spam sub/b\nham a\n\n")
    assert [(m.name, m.label) for m in load_corpus(corpus)] == [("sub/b", 1), ("a", 0)]


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("spam a\nhamm a\n", "index:2"),
        ("spam gone\n", "gone"),
        ("spam a\n", "both ham and spam"),
        ("spam\n", "index:1"),
    ],
)
def test_faulty_index(tmp_path: Path, index: str, says: str) -> None:
    """A fault in an index is named with its line."""
    with pytest.raises(MailError, match=says):
        load_corpus(make(tmp_path, a="x", index=index))


def test_folders_keep_their_order(tmp_path: Path) -> None:
    """Each of two folders keeps its order, and the seed spreads the spam among the ham."""
    names = {f"ham__{i}": "x" for i in range(9)} | {f"spam__{i}": "x" for i in range(5)}
    corpus = make(tmp_path, **names)
    one = load_corpus(corpus, seed=1)
    for label in Label:
        assert [m.name for m in one if m.label is label] == [f"{label.word}/{i}" for i in range((9, 5)[label])]
    assert one == load_corpus(corpus, seed=1)
    assert any(load_corpus(corpus, seed) != one for seed in range(5))


def test_no_corpus(tmp_path: Path) -> None:
    """A directory that is not a corpus is refused, with a description of one."""
    with pytest.raises(MailError, match="index"):
        load_corpus(str(tmp_path))


def test_interleaving_loses_nothing() -> None:
    """After interleaving every message is there once."""
    ham = [Labelled(str(i), "", Label.HAM) for i in range(7)]
    spam = [Labelled(str(i), "", Label.SPAM) for i in range(3)]
    assert sorted(interleave(ham, spam, 0), key=lambda m: (m.label, m.path)) == ham + spam
