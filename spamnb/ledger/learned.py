"""What was learned: labels, the exact tokens behind each, and the counts that are their sum."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.errors import LedgerError
from spamnb.ledger.blob import OCCURRENCES_MAX, pack, unpack
from spamnb.ledger.connection import Connection

HAM, SPAM = 0, 1
_CHUNK = 500  # parameters a statement; SQLite's own limit was 999 before 3.32


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message to learn: its identity, what it is, its tokens with their occurrences, and why it is learned."""

    digest: bytes
    label: int
    tokens: Mapping[str, int]
    tokenizer: int
    summary: str
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class Teacher:
    """A learned message that holds a given token."""

    message: int
    summary: str
    label: int
    learned_at: float


class Learned:
    """The learned messages of a ledger, and their counts. The only writer of counts."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def counts(self, tokens: Sequence[str]) -> Counts:
        """The counts of these tokens, in their order; zeros for tokens never learned."""
        with self._db.snapshot():  # counts and totals of one moment: a class has as many messages as its tokens say
            found = {row[1]: row[2:] for row in self._rows(tokens)}
            total = self.totals()
        zeros = (0, 0, 0, 0)
        rows = np.array([found.get(token, zeros) for token in tokens], dtype=np.int64).reshape(-1, 4).T
        return Counts(
            messages=rows[:2],
            occurrences=rows[2:],
            class_messages=total[:2],
            class_token_messages=total[2:4],
            class_occurrences=total[4:6],
            vocabulary_size=int(total[6]),
        )

    def totals(self) -> NDArray[np.int64]:
        """int64 (7,): messages, tokens summed over messages, and occurrences, each ham then spam; vocabulary."""
        row = self._db.row(
            "SELECT ham_messages, spam_messages, ham_token_messages, spam_token_messages,"
            " ham_occurrences, spam_occurrences, vocabulary FROM total"
        )
        if row is None:
            raise LedgerError("The ledger is damaged, its totals are gone: put back a copy of it, or train anew")
        return np.array(row, dtype=np.int64)

    def label(self, digest: bytes) -> int | None:
        """What the message was learned as, or None."""
        row = self._db.row("SELECT label FROM message WHERE digest = ?", (digest,))
        return None if row is None else row[0]

    def learn(self, lessons: Iterable[Lesson]) -> list[tuple[bytes, int | None]]:
        """Learn messages, all or none of them. Returns the digest and former label of each one that changed.

        A message that is already learned as its lesson says is left alone; one that was learned otherwise is
        corrected with the very tokens it was learned with. Of several lessons on one message the last one stands.
        """
        changed: list[tuple[bytes, int | None]] = []
        latest = {lesson.digest: lesson for lesson in lessons}
        with self._db.transaction():
            sum_ = _Sum(self._db)
            new: list[Lesson] = []
            for lesson in latest.values():
                known = self._known(lesson.digest)
                before = known[1] if known else None
                if before == lesson.label:
                    continue
                if known and before is not None:
                    self._relabel(sum_, known[0], before, lesson.label, lesson.at, lesson.why)
                else:
                    new.append(lesson)
                changed.append((lesson.digest, before))
            self._learn_new(sum_, new)
            sum_.write()
            for digest, before in changed:
                self._record(digest, before)
        return changed

    def set_label(self, message: int, label: int | None, at: float, why: str) -> int | None:
        """Forget a learned message (None), or make its kept tokens count for `label`. Returns the former label.

        Records the change as an action. A message whose tokens were never kept cannot get a label here:
        ValueError.
        """
        with self._db.transaction():
            row = self._db.row("SELECT label, tokens IS NULL, digest FROM message WHERE id = ?", (message,))
            before: int | None = row[0]
            if before == label:
                return before
            if row[1]:
                raise ValueError("the message was never learned")
            sum_ = _Sum(self._db)
            self._relabel(sum_, message, before, label, at, why)
            sum_.write()
            self._record(row[2], before, at=at, why=why)
        return before

    def teachers(self, tokens: Sequence[str], most: int = 3) -> dict[str, list[Teacher]]:
        """For each token the learned messages that hold it, the newest first and at most `most` of them."""
        texts = {row[0]: row[1] for row in self._rows(tokens)}
        wanted = np.array(sorted(texts), dtype=np.int64)
        found: dict[str, list[Teacher]] = {token: [] for token in tokens}
        open_ = len(wanted)
        for message, summary, label, at, blob in self._db.rows(
            "SELECT id, summary, label, learned_at, tokens FROM message"
            " WHERE label IS NOT NULL ORDER BY learned_at DESC, id DESC"
        ):
            if not open_:
                break
            for token in np.intersect1d(wanted, _unpacked(message, blob)[0], assume_unique=True).tolist():
                teachers = found[texts[token]]
                if len(teachers) < most:
                    teachers.append(Teacher(message, summary, label, at))
                    open_ -= len(teachers) == most
        return found

    def verify(self) -> list[str]:
        """The faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""
        with self._db.snapshot():  # of one moment, while other processes learn
            faults = [row[0] for row in self._db.rows("PRAGMA quick_check") if row[0] != "ok"]
            faults += [
                f"row {row[1]} of {row[0]} refers to nothing in {row[2]}"
                for row in self._db.rows("PRAGMA foreign_key_check")
            ]
            sums: dict[int, list[int]] = {}
            total = np.zeros(7, dtype=np.int64)
            for message, label, blob in self._db.rows("SELECT id, label, tokens FROM message WHERE label IS NOT NULL"):
                try:
                    ids, occurrences = _unpacked(message, blob)
                except LedgerError as fault:
                    faults.append(str(fault))
                    continue
                total[label] += 1
                total[2 + label] += len(ids)
                total[4 + label] += int(occurrences.sum())
                for token, number in zip(ids.tolist(), occurrences.tolist(), strict=True):
                    row = sums.setdefault(token, [0, 0, 0, 0])
                    row[label] += 1
                    row[2 + label] += number
            total[6] = len(sums)
            for token, *kept in self._db.rows(
                "SELECT id, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM token"
            ):
                expected = sums.pop(token, [0, 0, 0, 0])
                if kept != expected:
                    faults.append(f"token {token}: counted {kept}, learned messages say {expected}")
            faults += [f"token {token}: learned, but not in the dictionary" for token in sums]
            if (kept_total := self.totals()).tolist() != total.tolist():
                faults.append(f"totals: counted {kept_total.tolist()}, learned messages say {total.tolist()}")
        return faults

    def _rows(self, tokens: Sequence[str]) -> list[tuple[int, str, int, int, int, int]]:
        found: list[tuple[int, str, int, int, int, int]] = []
        for start in range(0, len(tokens), _CHUNK):
            chunk = tokens[start : start + _CHUNK]
            found += self._db.all(
                "SELECT id, text, ham_messages, spam_messages, ham_occurrences, spam_occurrences"  # noqa: S608 - no text
                f" FROM token WHERE text IN ({','.join('?' * len(chunk))})",
                chunk,
            )
        return found

    def _known(self, digest: bytes) -> tuple[int, int | None] | None:
        row: tuple[int, int | None] | None = self._db.row("SELECT id, label FROM message WHERE digest = ?", (digest,))
        return row

    def _learn_new(self, sum_: "_Sum", lessons: list[Lesson]) -> None:
        ids = self._token_ids({token for lesson in lessons for token in lesson.tokens})
        rows = []
        for lesson in lessons:
            numbers = np.array(list(map(ids.__getitem__, lesson.tokens)), dtype=np.int64)
            occurrences = np.minimum(np.array(list(lesson.tokens.values()), dtype=np.int64), OCCURRENCES_MAX)
            sum_.add(numbers, occurrences, lesson.label, 1)
            blob = pack(numbers, occurrences)
            rows.append(
                (lesson.digest, lesson.summary, lesson.at, lesson.label, lesson.at, lesson.why, lesson.tokenizer, blob)
            )
        self._db.executemany(
            "INSERT INTO message (digest, summary, seen_at, label, learned_at, learned_why, tokenizer, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET label = excluded.label,"
            " learned_at = excluded.learned_at, learned_why = excluded.learned_why, tokenizer = excluded.tokenizer,"
            " tokens = excluded.tokens, summary = excluded.summary",
            rows,
        )

    def _token_ids(self, tokens: set[str]) -> dict[str, int]:
        texts = sorted(tokens)  # neighbours in the index: one page is read and written once
        ids = {row[1]: row[0] for row in self._rows(texts)}
        first = self._db.row("SELECT coalesce(max(id), 0) + 1 FROM token")[0]
        new = [text for text in texts if text not in ids]
        self._db.executemany(
            "INSERT INTO token VALUES (?, ?, 0, 0, 0, 0)", [(first + i, text) for i, text in enumerate(new)]
        )
        ids.update((text, first + i) for i, text in enumerate(new))
        return ids

    def _relabel(self, sum_: "_Sum", message: int, before: int | None, after: int | None, at: float, why: str) -> None:
        ids, occurrences = _unpacked(message, self._db.row("SELECT tokens FROM message WHERE id = ?", (message,))[0])
        if before is not None:
            sum_.add(ids, occurrences, before, -1)
        if after is not None:
            sum_.add(ids, occurrences, after, 1)
        self._db.execute(
            "UPDATE message SET label = ?, learned_at = ?, learned_why = ? WHERE id = ?",
            (after, None if after is None else at, None if after is None else why, message),
        )

    def _record(self, digest: bytes, before: int | None, at: float | None = None, why: str | None = None) -> None:
        self._db.execute(
            "INSERT INTO action (at, message, kind, state, why, before, after)"
            " SELECT coalesce(?, learned_at), id, 'learned', 'done', coalesce(?, learned_why), ?, label"
            " FROM message WHERE digest = ?",
            (at, why, before, digest),
        )


def _unpacked(message: int, blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    try:
        return unpack(blob)
    except (ValueError, zlib.error) as fault:
        raise LedgerError(
            f"the tokens of message {message} in the ledger are damaged: see `spamnb verify`, and put back a copy of it"
        ) from fault


class _Sum:
    """Changes to the counts, added up in memory and written once."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._ids: list[NDArray[np.int64]] = []
        self._changes: list[NDArray[np.int64]] = []
        self._total = np.zeros(6, dtype=np.int64)

    def add(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: int, sign: int) -> None:
        """Count a message's tokens (int64 (n,) ids and occurrences) for a class, or take them back (sign -1)."""
        change = np.zeros((len(ids), 4), dtype=np.int64)
        change[:, label] = sign
        change[:, 2 + label] = sign * occurrences
        self._ids.append(ids)
        self._changes.append(change)
        self._total[label] += sign
        self._total[2 + label] += sign * len(ids)
        self._total[4 + label] += sign * int(occurrences.sum())

    def write(self) -> None:
        """Write the counts of the tokens that changed, and the totals."""
        if not self._ids:
            return
        ids, place = np.unique(np.concatenate(self._ids), return_inverse=True)
        changes = np.zeros((len(ids), 4), dtype=np.int64)
        np.add.at(changes, place, np.concatenate(self._changes))
        empty = (
            "SELECT count(*) FROM token"
            " WHERE id IN (SELECT value FROM json_each(?)) AND ham_messages + spam_messages = 0"
        )
        listed = str(ids.tolist())
        empty_before = self._db.row(empty, (listed,))[0]
        self._db.executemany(
            "UPDATE token SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ? WHERE id = ?",
            np.column_stack([changes, ids]).tolist(),
        )
        empty_after = self._db.row(empty, (listed,))[0]
        self._db.execute(
            "UPDATE total SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_token_messages = ham_token_messages + ?, spam_token_messages = spam_token_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ?,"
            " vocabulary = vocabulary + ?",
            (*self._total.tolist(), empty_before - empty_after),
        )
