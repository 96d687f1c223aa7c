"""Hand lessons from one ledger to another, with exactly the tokens that they count with."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError
from spamnb.base.label import How, Label, label_or_none
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.acquaintance import KeptRelations, packed
from spamnb.ledger.lessons.acquaintance import unpacked as unpacked_relations
from spamnb.ledger.lessons.batch import gather
from spamnb.ledger.lessons.port import Lesson, LessonCopy
from spamnb.ledger.lessons.sqlite.counts import ONE, Dictionary, Rows, Sum, next_changes, of_class
from spamnb.ledger.lessons.sqlite.token_blob import pack_all, unpacked
from spamnb.ledger.queries import look_up_bound

_SELECT = (
    "SELECT id, change, digest, summary, label, weak, learned_at, why, how, takes_back, tokenizer, tokens,"
    " sender_over_path, signed_by FROM lesson WHERE digest"
)
_PUT = (
    "INSERT INTO lesson (digest, summary, change, label, weak, learned_at, why, how, tokenizer, tokens,"
    " sender_over_path, signed_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET"
    " (summary, change, label, weak, learned_at, why, how, tokenizer, tokens, sender_over_path, signed_by, takes_back)"
    " = (excluded.summary, excluded.change, excluded.label, excluded.weak, excluded.learned_at, excluded.why,"
    " excluded.how, excluded.tokenizer, excluded.tokens, excluded.sender_over_path, excluded.signed_by, NULL)"
)


class Row(NamedTuple):
    """A lesson in this ledger. number: of its row. tokens: as on disk."""

    number: int
    lesson: Lesson
    tokenizer: int
    tokens: bytes
    relations: KeptRelations


class _Taken(NamedTuple):
    """A lesson from the other ledger: its tokens by the ids of this ledger, int64 (n,), sorted, with their occurrences.

    blob: these, as on disk.
    """

    copy: LessonCopy
    ids: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    blob: bytes


def rows_of(db: Connection, digests: Sequence[bytes]) -> dict[bytes, Row]:
    """Return the lessons of these messages, by their identities."""
    found = {}
    for row in look_up_bound(db, _SELECT, digests):
        number, change, digest, summary, label, weak, at, why, how, takes_back, tokenizer, tokens, *hashes = row
        lesson = Lesson(change, digest, summary, label_or_none(label), bool(weak), at, why, How(how), takes_back)
        found[digest] = Row(number, lesson, tokenizer, tokens, KeptRelations(*hashes))
    return found


def copies(
    rows: Sequence[Row], with_tokens: Collection[bytes], texts: Callable[[Collection[int]], Mapping[int, str]]
) -> list[LessonCopy]:
    """Return the lessons, some with their tokens. texts: returns the tokens of ids; called once."""
    unpacked_of = {
        row.lesson.digest: unpacked(row.number, row.tokens) for row in rows if row.lesson.digest in with_tokens
    }
    text_of = texts(set(chain.from_iterable(ids.tolist() for ids, _ in unpacked_of.values())))
    try:
        tokens = {
            digest: {text_of[id_]: number for id_, number in zip(ids.tolist(), occurrences.tolist(), strict=True)}
            for digest, (ids, occurrences) in unpacked_of.items()
        }
    except KeyError as fault:
        raise LedgerDamagedError("a learned message holds a token that has no text: see `spamnb verify`") from fault
    return [LessonCopy(row.lesson, row.tokenizer, tokens.get(row.lesson.digest), packed(row.relations)) for row in rows]


def take_over(db: Connection, lessons: Iterable[LessonCopy]) -> int:
    """Make each lesson equal to the other ledger's. Returns how many changed."""
    by_digest = {copy.lesson.digest: copy for copy in lessons}  # if a message comes several times, the last one counts
    rows = Rows.joined([gather(copy.with_its_tokens() for copy in by_digest.values())])
    with db.transaction():
        former = rows_of(db, list(by_digest))
        sum_ = Sum(db)
        of_vocabulary, sum_.new = Dictionary(db, is_kept=False).ids(rows.vocabulary, rows.hashes, rows.first_met())
        changed = [
            taken
            for taken in _taken_over(list(by_digest.values()), of_vocabulary, rows)
            if not _is_so(former.get(taken.copy.lesson.digest), taken)
        ]
        for taken in changed:
            if (before := former.get(taken.copy.lesson.digest)) is not None and before.lesson.label is not None:
                sum_.add(*unpacked(before.number, before.tokens), before.lesson.label, -1)
            _add(sum_, taken)
        sum_.write()
        numbers = next_changes(db, len(changed)) if changed else ()
        db.executemany(_PUT, [_row(taken, number) for taken, number in zip(changed, numbers, strict=True)])
    return len(changed)


def _taken_over(lessons: Sequence[LessonCopy], of_vocabulary: NDArray[np.int64], rows: Rows) -> Iterator[_Taken]:
    ids = of_vocabulary[rows.columns]
    ends = np.cumsum(rows.lengths)
    blobs = pack_all(ids, rows.occurrences, rows.lengths)
    for copy, blob, length, end in zip(lessons, blobs, rows.lengths.tolist(), ends.tolist(), strict=True):
        order = np.argsort(ids[end - length : end])
        yield _Taken(copy, ids[end - length : end][order], rows.occurrences[end - length : end][order], blob)


def _is_so(former: Row | None, taken: _Taken) -> bool:
    """Whether both lessons agree, except in their numbers and in texts for people."""
    copy = taken.copy
    if former is None or not former.lesson.is_as(copy.lesson):
        return False
    if (former.tokenizer, former.relations) != (copy.tokenizer, unpacked_relations(copy.relations)):
        return False
    if former.tokens == taken.blob:
        return True  # else they may be compressed differently
    ids, occurrences = unpacked(former.number, former.tokens)
    return np.array_equal(ids, taken.ids) and np.array_equal(occurrences, taken.occurrences)


def _add(sum_: Sum, taken: _Taken) -> None:
    """Count a lesson. The dictionary also has a forgotten lesson's tokens, with counts of their own."""
    label = taken.copy.lesson.label
    if label is not None:
        sum_.add(taken.ids, taken.occurrences, label, 1)
    else:
        sum_.add_counts(taken.ids, of_class(Label.HAM, 0, 0 * taken.occurrences), 0 * ONE[Label.HAM])


def _row(taken: _Taken, number: int) -> tuple[object, ...]:
    lesson, tokenizer, _, relations = taken.copy
    learned = lesson.label, lesson.weak, lesson.at, lesson.why, lesson.how
    return lesson.digest, lesson.summary, number, *learned, tokenizer, taken.blob, *unpacked_relations(relations)
