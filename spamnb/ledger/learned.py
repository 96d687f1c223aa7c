"""What was learned: labels, the exact tokens behind each, and the counts that are their sum."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.errors import LedgerError
from spamnb.ledger.blob import pack_all, unpacked
from spamnb.ledger.connection import Connection
from spamnb.ledger.dictionary import look_up, token_ids, tokenizers
from spamnb.ledger.lesson import Head, Lesson, Sheaf, bind
from spamnb.ledger.proof import faults
from spamnb.ledger.rows import Rows
from spamnb.ledger.sums import Sum

HAM, SPAM = 0, 1
_NEWEST = 5000


@dataclass(frozen=True, slots=True)
class Teacher:
    """A learned message that holds a given token."""

    message: int
    summary: str
    label: int
    learned_at: float


class NewLabel(NamedTuple):
    """What a message, by its id, shall be learned as (None: not any more), and which action that takes back."""

    message: int
    label: int | None
    weak: bool
    why: str
    takes_back: int | None = None


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
            raise LedgerError("The ledger is damaged, its totals are gone: restore a copy of it, or train again")
        return np.array(row, dtype=np.int64)

    def last_at(self) -> float | None:
        """When a message was learned last, seconds since the epoch; None where none was."""
        at: float | None = self._db.row("SELECT max(learned_at) FROM message WHERE label IS NOT NULL")[0]
        return at

    def tokenizers(self) -> set[int]:
        """The versions of the tokenizer with which the learned messages were read."""
        return tokenizers(self._db)

    def label(self, digest: bytes) -> int | None:
        """What the message was learned as, or None."""
        row = self._db.row("SELECT label FROM message WHERE digest = ?", (digest,))
        return None if row is None else row[0]

    def learn(self, lessons: Iterable[Lesson]) -> list[tuple[bytes, int | None]]:
        """Learn messages, all or none of them. Returns the digest and former label of each one that changed.

        A message that is already learned as its lesson says is left alone; one that was learned otherwise is
        corrected with the very tokens it was learned with. A weak lesson changes no decision; a decision replaces a
        weak lesson, also one that says the same. Of several lessons on one message the last decision says what it is,
        or else the last weak lesson, and the first one which tokens it has: all comes out as if they were learned one
        after the other.
        """
        return self.learn_sheaves([bind(lessons)])

    def learn_sheaves(self, sheaves: Sequence[Sheaf]) -> list[tuple[bytes, int | None]]:
        """Learn messages that are bound in sheaves, as `learn` does."""
        heads = [head for sheaf in sheaves for head in sheaf.heads]
        first: dict[bytes, int] = {}
        for row, head in enumerate(heads):
            first.setdefault(head.digest, row)
        latest: dict[bytes, Head] = {}
        for head in heads:
            if not head.weak or latest.get(head.digest, head).weak:
                latest[head.digest] = head
        changed: list[tuple[bytes, int | None, bool]] = []
        rows = Rows.joined([sheaf.tokens for sheaf in sheaves])  # before the ledger is held: others may write meanwhile
        with self._db.transaction():
            sum_ = Sum(self._db)
            new: list[Head] = []
            known = self._known(list(latest))
            for digest, head in latest.items():
                message, before, was_weak = known.get(digest, (0, None, False))
                if not _replaces(head, before, was_weak):
                    continue
                if before is None:
                    new.append(head)
                else:
                    self._relabel(sum_, message, before, head.label, head.weak, head.at, head.why)
                changed.append((digest, before, was_weak))
            self._learn_new(sum_, new, rows.take([first[head.digest] for head in new]))
            sum_.write()
            self._record([(None, None, None, before, was_weak, digest) for digest, before, was_weak in changed])
        return [(digest, before) for digest, before, _ in changed]

    def set_label(
        self,
        message: int,
        label: int | None,
        at: float,
        why: str,
        *,
        weak: bool = False,
        takes_back: int | None = None,
    ) -> int | None:
        """Forget a learned message (None), or make its kept tokens count for `label`. Returns the former label.

        Records the change as an action, which may take back another one. A message whose tokens were never kept
        cannot get a label here: ValueError.
        """
        return self.set_labels([NewLabel(message, label, weak, why, takes_back)], at)[0]

    def set_labels(self, changes: Sequence[NewLabel], at: float) -> list[int | None]:
        """Change several labels, one after the other, as `set_label` does; the counts are written once."""
        former: list[int | None] = []
        with self._db.transaction():
            sum_ = Sum(self._db)
            for one in changes:
                row = self._db.row(
                    "SELECT label, weak, tokens IS NULL, digest FROM message WHERE id = ?", (one.message,)
                )
                before: int | None = row[0]
                former.append(before)
                if (before, bool(row[1])) == (one.label, one.weak):
                    continue
                if row[2]:
                    raise ValueError("the message was never learned")
                self._relabel(sum_, one.message, before, one.label, one.weak, at, one.why)
                self._record([(at, one.why, one.takes_back, before, row[1], row[3])])
            sum_.write()
        return former

    def teachers(self, tokens: Sequence[str], most: int = 3) -> dict[str, list[Teacher]]:
        """For each token the learned messages that hold it, the newest first and at most `most` of them.

        Looked for among the newest 5,000 learned messages: most tokens of a clue are met there, and those that only
        older messages hold, or imports, of which no message is here, cost no more than that.
        """
        rows = self._rows(tokens)
        texts = {row[0]: row[1] for row in rows}
        missing = sum(min(most, row[2] + row[3]) for row in rows)  # a rare token has fewer teachers than `most`
        wanted = np.zeros(max(texts, default=0) + 1, dtype=bool)
        wanted[list(texts)] = True
        found: dict[str, list[Teacher]] = {token: [] for token in tokens}
        for message, summary, label, at, blob in self._db.rows(
            "SELECT id, summary, label, learned_at, tokens FROM message"
            " WHERE label IS NOT NULL ORDER BY learned_at DESC, id DESC LIMIT ?",
            (_NEWEST,),
        ):
            if not missing:
                break
            ids = unpacked(message, blob)[0]
            ids = ids[: np.searchsorted(ids, len(wanted))]
            for token in ids[wanted[ids]].tolist():
                teachers = found[texts[token]]
                if len(teachers) < most:
                    teachers.append(Teacher(message, summary, label, at))
                    missing -= 1
        return found

    def verify(self) -> list[str]:
        """The faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""
        with self._db.snapshot():
            return list(faults(self._db, self.totals().tolist()))

    def _rows(self, tokens: Sequence[str]) -> list[tuple[int, str, int, int, int, int]]:
        return look_up(
            self._db,
            "SELECT id, text, ham_messages, spam_messages, ham_occurrences, spam_occurrences"
            " FROM token JOIN count ON count.token = token.id WHERE text",
            tokens,
        )

    def _known(self, digests: Sequence[bytes]) -> dict[bytes, tuple[int, int | None, bool]]:
        """Id, label, and whether it is a weak one, of each of these messages that was ever seen."""
        rows = look_up(self._db, "SELECT digest, id, label, weak FROM message WHERE digest", digests)
        return {digest: (message, label, bool(weak)) for digest, message, label, weak in rows}

    def _learn_new(self, sum_: Sum, heads: list[Head], rows: Rows) -> None:
        """Learn messages that are not learned yet, each with its row of tokens."""
        if not heads:
            return
        labels = np.array([head.label for head in heads], dtype=np.int64)
        ids, sum_.new = token_ids(self._db, rows.vocabulary)
        sum_.add_rows(ids, rows, labels)
        blobs = pack_all(ids[rows.columns], rows.occurrences, rows.lengths)
        self._db.executemany(
            "INSERT INTO message (digest, summary, seen_at, label, weak, learned_at, learned_why, tokenizer, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET label = excluded.label,"
            " weak = excluded.weak, learned_at = excluded.learned_at, learned_why = excluded.learned_why,"
            " tokenizer = excluded.tokenizer, tokens = excluded.tokens, summary = excluded.summary",
            [
                (head.digest, head.summary, head.at, head.label, head.weak, head.at, head.why, head.tokenizer, blob)
                for head, blob in zip(heads, blobs, strict=True)
            ],
        )

    def _relabel(
        self, sum_: Sum, message: int, before: int | None, after: int | None, weak: bool, at: float, why: str
    ) -> None:
        if before != after:
            ids, occurrences = unpacked(message, self._db.row("SELECT tokens FROM message WHERE id = ?", (message,))[0])
            if before is not None:
                sum_.add(ids, occurrences, before, -1)
            if after is not None:
                sum_.add(ids, occurrences, after, 1)
        self._db.execute(
            "UPDATE message SET label = ?, weak = ?, learned_at = ?, learned_why = ? WHERE id = ?",
            (after, weak, None if after is None else at, None if after is None else why, message),
        )

    def _record(self, changes: Iterable[tuple[float | None, str | None, int | None, int | None, bool, bytes]]) -> None:
        """Write learnings down as actions: when and why (None: as the message says), the action that is taken back,
        the label before, whether that was a weak one, the digest."""
        self._db.executemany(
            "INSERT INTO action (at, message, kind, state, why, takes_back, before, before_weak, after, after_weak)"
            " SELECT coalesce(?, learned_at), id, 'learned', 'done', coalesce(?, learned_why), ?, ?, ?, label, weak"
            " FROM message WHERE digest = ?",
            changes,
        )


def _replaces(head: Head, before: int | None, was_weak: bool) -> bool:
    """Whether a lesson changes what a message is learned as, or how firmly."""
    if before is None:
        return True
    return before != head.label and was_weak if head.weak else before != head.label or was_weak
