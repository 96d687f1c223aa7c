"""Messages in a small form: a corpus is read once, and judged in several orders.

As text, a message's tokens take 20 to 30 KB. As numbers in a common vocabulary they take 5 bytes each, some 2.5 KB.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.evaluation.corpus import Sample

_NONE: dict[str, int] = {}  # one for all rows


class _Row(NamedTuple):
    """A sample without its tokens, and the tokens' ids, int32 (n_tokens,), and occurrences, in as few bytes as fit."""

    sample: Sample
    ids: NDArray[np.int32]
    occurrences: NDArray[np.unsignedinteger[Any]]


class Packed(Sequence[Sample]):
    """Samples in an order; each is unpacked at its use."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._ids: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._vocabulary: list[str] = []
        self.add(samples)

    def add(self, samples: Iterable[Sample]) -> None:
        """Add samples at the end."""
        self._rows += [_packed(sample, self._ids) for sample in samples]
        self._vocabulary = list(self._ids)

    def in_order(self, names: Iterable[str]) -> "Packed":
        """Return these samples in the order of their names. names: all of theirs, and perhaps others."""
        places = {name: place for place, name in enumerate(names)}
        return self._of(sorted(self._rows, key=lambda row: places[row.sample.name]))

    def relabelled(self, labels: Mapping[str, Label]) -> "Packed":
        """Return the samples that have a label here, by their names, with this label."""
        rows = (row for row in self._rows if row.sample.name in labels)
        return self._of([row._replace(sample=row.sample._replace(label=labels[row.sample.name])) for row in rows])

    def shuffled(self, seed: int) -> "Packed":
        """Return these samples in the order of that seed."""
        rows = self._rows.copy()
        random.Random(seed).shuffle(rows)  # noqa: S311 - a repeatable order
        return self._of(rows)

    def _of(self, rows: list[_Row]) -> "Packed":
        other = Packed()
        other._ids, other._vocabulary, other._rows = self._ids, self._vocabulary, rows
        return other

    def names(self) -> list[str]:
        """Return the names of the samples, in their order."""
        return [row.sample.name for row in self._rows]

    def near(self) -> Sequence[Sample]:
        """Return the same samples for a walk in their order, that often asks for one of the last again."""
        return _Near(self)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(self._whole, self._rows)

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> "Packed": ...
    def __getitem__(self, place: int | slice) -> "Sample | Packed":
        if isinstance(place, slice):
            return self._of(self._rows[place])
        return self._whole(self._rows[place])

    def _whole(self, row: _Row) -> Sample:
        tokens = map(self._vocabulary.__getitem__, row.ids.tolist())
        reading = row.sample.reading._replace(tokens=dict(zip(tokens, row.occurrences.tolist(), strict=True)))
        return row.sample._replace(reading=reading)


class _Near(Sequence[Sample]):
    """Samples in an order. The last ones that somebody asked for stay unpacked, in some 30 MB."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        self._unpacked = lru_cache(1_000)(packed.__getitem__)

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> Packed: ...
    def __getitem__(self, place: int | slice) -> Sample | Packed:
        return self._packed[place] if isinstance(place, slice) else self._unpacked(place)


def _packed(sample: Sample, ids: dict[str, int]) -> _Row:
    tokens = sample.reading.tokens
    numbers = np.fromiter((ids.setdefault(token, len(ids)) for token in tokens), np.int32, len(tokens))
    occurrences = np.fromiter(tokens.values(), np.uint32, len(tokens))
    small = occurrences.astype(np.min_scalar_type(int(occurrences.max(initial=0))))
    return _Row(sample._replace(reading=sample.reading._replace(tokens=_NONE)), numbers, small)
