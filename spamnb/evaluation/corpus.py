"""Labelled mail in a known order: a corpus on disk."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spamnb.errors import MailError

_LABELS = {"ham": 0, "spam": 1}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message file, what it is called in the corpus, and its true label: 0 ham, 1 spam."""

    path: str
    name: str
    label: int


def load_corpus(directory: str, seed: int = 0) -> list[Labelled]:
    """The messages of a corpus, in order.

    A corpus has a file `index` with `spam PATH` or `ham PATH` a line, in order and relative to it, or else
    folders `ham/` and `spam/`, whose order is `interleave`'s with this seed. Raises MailError with the line
    for an index that cannot be read.
    """
    index = Path(directory) / "index"
    if index.is_file():
        return _from_index(index)
    found = [_from_folder(directory, name) for name in ("ham", "spam")]
    if not all(found):
        raise MailError(
            f"{directory} is no corpus: it needs a file `index` (`spam PATH` or `ham PATH` a line),"
            " or folders `ham` and `spam`"
        )
    return interleave(found[0], found[1], seed)


def _from_index(index: Path) -> list[Labelled]:
    messages = []
    for number, line in enumerate(index.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        label, _, name = line.strip().partition(" ")
        path = index.parent / name.strip()
        if label.lower() not in _LABELS or not name:
            raise MailError(f"{index}:{number}: write `spam PATH` or `ham PATH`, not {line.strip()[:60]!r}")
        if not path.is_file():
            raise MailError(f"{index}:{number}: there is no file {path}")
        messages.append(Labelled(str(path), name.strip(), _LABELS[label.lower()]))
    if {message.label for message in messages} != {0, 1}:
        raise MailError(f"{index} needs both ham and spam")
    return messages


def _from_folder(directory: str, name: str) -> list[Labelled]:
    folder = os.path.join(directory, name)
    if not os.path.isdir(folder):
        return []
    files = sorted(os.path.join(at, file) for at, _, files in os.walk(folder) for file in files if file[0] != ".")
    return [Labelled(file, os.path.relpath(file, directory), _LABELS[name]) for file in files]


def interleave(ham: Sequence[Labelled], spam: Sequence[Labelled], seed: int) -> list[Labelled]:
    """Both classes in their own order, the spam spread at random among the ham (Metsis et al. 2006, section 4)."""
    places = sorted(random.Random(seed).sample(range(len(ham) + len(spam)), len(spam)))  # noqa: S311 - a fair shuffle
    mixed: list[Labelled] = []
    next_ham, next_spam, taken = iter(ham), iter(spam), set(places)
    for place in range(len(ham) + len(spam)):
        mixed.append(next(next_spam if place in taken else next_ham))
    return mixed
