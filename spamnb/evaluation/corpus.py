"""Labelled mail in a known order, and how to read it."""

import os
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from spamnb.base.errors import MailError
from spamnb.base.label import Label
from spamnb.bulk.mapping import Workers, each, read_all
from spamnb.bulk.sources import Source
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.mail.tokens.kinds import is_header


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message file, its name in the corpus, and its true label."""

    path: str
    name: str
    label: Label


class Sample(NamedTuple):
    """A message of a corpus, after reading."""

    name: str
    label: Label
    reading: Reading


def load_corpus(directory: str, seed: int = 0) -> list[Labelled]:
    """Return the messages of a corpus, in order.

    A corpus has a file `index` with `spam PATH` or `ham PATH` per line, in order and relative to it. Otherwise it has
    folders `ham/` and `spam/`, in the order of `interleave` with this seed. Raises MailError with the line if an index
    cannot be read.
    """
    index = Path(directory) / "index"
    if index.is_file():
        return _from_index(index)
    ham, spam = (_from_folder(directory, label) for label in Label)
    if not (ham and spam):
        raise MailError(
            f"{directory} is not a corpus: it needs a file `index` (`spam PATH` or `ham PATH` per line),"
            " or folders `ham` and `spam`"
        )
    return interleave(ham, spam, seed)


def samples(
    messages: Sequence[Labelled], *, strict: bool = True, header: bool = True, executor: Workers = None
) -> Generator[Sample]:
    """Read labelled messages, in order; without the header only their subject and body.

    A message that cannot be read raises MailError if `strict`; otherwise it is left out, as it may have been moved.
    """
    sources = (Source(message.name, os.path.realpath(message.path)) for message in messages)
    with each(read_all, sources, executor) as done:
        for message, (source, reading) in zip(messages, done, strict=True):
            if not isinstance(reading, MailError):
                yield Sample(message.name, message.label, reading if header else _without_header(reading))
            elif strict:
                raise MailError(f"cannot read {source.where}: {reading}")


def _without_header(reading: Reading) -> Reading:
    tokens = {token: n for token, n in reading.tokens.items() if not is_header(token)}
    return reading._replace(tokens=tokens or {"body-empty:": 1}, relations=Relations())


def _from_index(index: Path) -> list[Labelled]:
    messages = []
    for number, line in enumerate(index.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        label, _, name = line.strip().partition(" ")
        path = index.parent / name.strip()
        if label.lower() not in ("ham", "spam") or not name:
            raise MailError(f"{index}:{number}: write `spam PATH` or `ham PATH`, not {line.strip()[:60]!r}")
        if not path.is_file():
            raise MailError(f"{index}:{number}: there is no file {path}")
        messages.append(Labelled(str(path), name.strip(), Label.of(label)))
    if {message.label for message in messages} != set(Label):
        raise MailError(f"{index} needs both ham and spam")
    return messages


def _from_folder(directory: str, label: Label) -> list[Labelled]:
    walk = os.walk(os.path.join(directory, label.word))
    files = sorted(os.path.join(at, file) for at, _, files in walk for file in files if file[0] != ".")
    return [Labelled(file, os.path.relpath(file, directory), label) for file in files]


def interleave(ham: Sequence[Labelled], spam: Sequence[Labelled], seed: int) -> list[Labelled]:
    """Return both classes in their order, the spam spread at random among the ham (Metsis et al. 2006, section 4)."""
    number = len(ham) + len(spam)
    places = set(random.Random(seed).sample(range(number), len(spam)))  # noqa: S311 - a fair shuffle
    next_ham, next_spam = iter(ham), iter(spam)
    return [next(next_spam if place in places else next_ham) for place in range(number)]
