"""The mail in a person's folders as it came: in the order of its arrival, labelled by its folders, with their doubts.

A folder says what its mail is, as at `spamnb init`. A message in a ham and in a spam folder is spam: somebody put it
there. The person's own decisions, if there are some, come before any folder. Then the rest is sifted as `init` does it:
in a ham folder, what would count as weakly spam is spam here, and what would teach nothing is left out.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from spamnb.base.errors import MailError
from spamnb.base.label import How, Label
from spamnb.bulk.mapping import Done, each, one_by_one
from spamnb.bulk.sources import Source
from spamnb.config import Scoring
from spamnb.evaluation.arrival import arrival, header_of
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.replayed import Doubted
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Lessons, pages
from spamnb.mail.reading import Reading, read
from spamnb.review.first_lessons import Shown, doubted
from spamnb.setup.proposal import TAUGHT, Proposal

_AT_ONCE = 500  # messages whose tokens are in memory as text while they are learned


class Found(NamedTuple):
    """A message in a folder that teaches something. came: the time of its file, in seconds since the epoch."""

    source: Source
    label: Label
    came: float


class Came(NamedTuple):
    """A message after reading. at: when it came by its header, in seconds since the epoch, or None."""

    at: float | None
    reading: Reading


def found_in(proposals: Iterable[Proposal]) -> list[Found]:
    """Return the messages in folders that teach something, the newest file first."""
    found = []
    for proposal in proposals:
        for taught in TAUGHT:
            for source in proposal.teaching(taught):
                try:
                    found.append(Found(source, taught.label, os.stat(source.file).st_mtime))
                except OSError:  # moved or deleted in the meantime
                    continue
    return sorted(found, key=lambda one: one.came, reverse=True)


def missing_label(found: Sequence[Found]) -> Label | None:
    """Return the label that none of these messages has, or None."""
    return next((label for label in Label if all(one.label is not label for one in found)), None)


def read_came(chunk: list[Source]) -> list[Done[Came]]:
    """Read messages, with the times of their arrival."""
    return one_by_one(_read_came, chunk)


def _read_came(source: Source) -> Came:
    raw = source.read()
    return Came(arrival(header_of(raw)), read(raw))


def decisions(lessons: Lessons) -> dict[bytes, Label]:
    """Return what the person has said of messages, by their identities; what `init` learned by a folder is not."""
    said = (one for one in chain.from_iterable(pages(lessons)) if not one.is_of_init)
    return {one.digest: one.decision for one in said if one.decision is not None}


class PastMail:
    """Messages of several folders, each once.

    decided: what the person has said, as `decisions` returns it. unread, again: how many could not be read, and how
    many files had a message that was there already.
    """

    def __init__(self, decided: Mapping[bytes, Label] = MappingProxyType({})) -> None:
        self._decided = decided
        self._packed = Packed()
        self._names: dict[bytes, str] = {}
        self._labels: dict[str, Label] = {}
        self.came: dict[str, float] = {}
        self.unread = self.again = 0

    def __len__(self) -> int:
        return len(self._labels)

    def add(self, found: Sequence[Found], shown: Callable[[Iterable[Done[Came]]], Iterable[Done[Came]]] = iter) -> None:
        """Read messages. Those that cannot be read are counted. shown: is passed each, to show progress."""
        with each(read_came, [one.source for one in found]) as done:
            self._packed.add(self._new(zip(found, shown(done), strict=True)))

    def _new(self, done: Iterable[tuple[Found, Done[Came]]]) -> Iterator[Sample]:
        for found, (_, came) in done:
            if isinstance(came, MailError):
                self.unread += 1
                continue
            digest, name = came.reading.digest, found.source.where
            if (known := self._names.get(digest)) is not None:
                if found.label is Label.SPAM and digest not in self._decided:
                    self._labels[known] = Label.SPAM
                self.again += 1
                continue
            self._names[digest] = name
            self._labels[name] = self._decided.get(digest, found.label)
            self.came[name] = found.came if came.at is None else came.at
            yield Sample(name, self._labels[name], came.reading)

    def _order(self, name: str) -> tuple[float, str, str]:
        """Order by time; in the same second by the names of the files, which begin with a time, wherever they lie."""
        return self.came[name], os.path.basename(name), name

    def sifted(self, scoring: Scoring, shown: Shown = iter) -> tuple[Packed, list[Doubted]]:
        """Return the messages as they came, with the labels that are left after the sift, and what it doubts."""
        samples = self._packed.relabelled(self._labels).in_order(sorted(self.came, key=self._order))
        ham = {digest for digest, name in self._names.items() if self._labels[name] is Label.HAM}
        lessons, found = _learned(samples), []
        for digest, doubt in doubted(lessons, scoring, ham.difference(self._decided), shown).items():
            lesson = lessons.find(digest)
            summary = "" if lesson is None else lesson.summary
            found.append(Doubted(self._names[digest], summary, doubt.label is Label.SPAM))
        found.sort(key=lambda one: self._order(one.name))
        left = self._labels | {one.name: Label.SPAM for one in found if one.is_spam}
        for one in found:
            if not one.is_spam:
                del left[one.name]
        return samples.relabelled(left), found


def _learned(samples: Packed) -> MemoryLessons:
    lessons = MemoryLessons()
    for start in range(0, len(samples), _AT_ONCE):
        part = list(samples[start : start + _AT_ONCE])
        for label in Label:
            readings = (sample.reading for sample in part if sample.label is label)
            lessons.learn(readings, label, "by its folder", 0.0, how=How.SEEN)
    return lessons
