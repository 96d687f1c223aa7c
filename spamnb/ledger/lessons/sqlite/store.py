"""The lessons of a ledger: labels, the exact tokens behind each, and the counts that are their sum, in SQLite."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import How, Label, label_or_none
from spamnb.bayes.base import Counts
from spamnb.bayes.score_arrays import first_numbers
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.acquaintance import KeptRelations, Seen, tokens_of
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.export_format import ExportedCounts, write
from spamnb.ledger.lessons.port import (
    Change,
    FrequentTokens,
    LearnedTokens,
    Lesson,
    LessonCopy,
    LessonStats,
    Relabel,
    Teacher,
    as_counts,
    forgetting,
    replaces,
)
from spamnb.ledger.lessons.sqlite import count_table, handover
from spamnb.ledger.lessons.sqlite.counts import Dictionary, Rows, Sum, counts_of, next_changes
from spamnb.ledger.lessons.sqlite.imports import add_import, take_import_back
from spamnb.ledger.lessons.sqlite.kind_codes import decode, encode, in_order, spans
from spamnb.ledger.lessons.sqlite.lookup import TOTALS, SqliteEvidence, look_up_counts, look_up_seen, total
from spamnb.ledger.lessons.sqlite.read_again import learned_with_other_tokenizer, read_again
from spamnb.ledger.lessons.sqlite.sent_mail import SqliteSentMail
from spamnb.ledger.lessons.sqlite.token_blob import pack_all, unpacked
from spamnb.ledger.lessons.sqlite.token_search import beginning_with, frequent
from spamnb.ledger.lessons.sqlite.verification import verification
from spamnb.ledger.queries import look_up_bound
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.mail.tokens.kinds import family_of, kind
from spamnb.mail.tokens.tokenizer import VERSION

_NEWEST = 5000
_EXPORTED = 20_000  # tokens together
_LESSON = "SELECT change, digest, summary, label, weak, learned_at, why, how, takes_back FROM lesson"
_CHANGES = f"""
    {_LESSON} WHERE change > ?1
    UNION ALL
    SELECT change, digest, summary, NULL, 0, learned_at, why, 'import', takes_back FROM import WHERE change > ?1
    ORDER BY change LIMIT ?2"""  # noqa: S608 - no text from outside
_LEARNED = _LESSON.replace(" FROM", ", tokens FROM") + " WHERE label IS NOT NULL"
# Goes from one version to the next by the index; DISTINCT would read the whole index.
_TOKENIZERS = """
    WITH RECURSIVE version (number) AS (
        SELECT min(tokenizer) FROM lesson WHERE label IS NOT NULL
        UNION ALL
        SELECT (SELECT min(tokenizer) FROM lesson WHERE label IS NOT NULL AND tokenizer > number) FROM version
        WHERE number IS NOT NULL
    )
    SELECT number FROM version WHERE number IS NOT NULL"""
# Tokens whose kind has no code: it goes through bare words, and skips tokens with one prefix together, since `;`
# follows `:`. Grouping by the prefix sorts all tokens, and takes three times as long.
_NEXT_WITH_PREFIX = "SELECT text FROM token WHERE text >= ? AND text < ? AND instr(text, ':') LIMIT 1"
_BETWEEN = "SELECT group_concat(id) FROM token WHERE text >= ? AND text < ?"
# The second parameter has a byte for each id, 1 if it is wanted. Among 500,000 tokens it finds 80 of the most frequent
# in 24 ms, and any 250 in 60 ms. IN (SELECT value FROM json_each(?)) takes 42 ms and 82 to 92 ms.
_TEXTS = "SELECT id, text FROM token WHERE id < ?1 AND substr(?2, id + 1, 1) = x'01'"


class _New(NamedTuple):
    """A message to be learned, without its tokens."""

    digest: bytes
    summary: str
    relations: Relations


class SqliteLessons(SqliteEvidence, SqliteSentMail):
    """The learned messages of a ledger, and their counts, by the port `Lessons`. The only writer of counts."""

    def evidence(self, tokens: Sequence[str], without: bytes | None = None) -> Evidence:
        """Return the counts of these tokens."""
        if without is None:
            return super().evidence(tokens)
        with self._db.snapshot():
            rows, totals, change = look_up_counts(self._db, tokens), self.totals(), self.last_change()
            own = self._learned(without)
            if own is None:
                return Evidence({text: counts for _, text, counts in rows}, totals.tolist(), change)
            _, label, ids, occurrences = own
            totals[[label, 2 + label, 4 + label]] -= [1, len(ids), occurrences.sum()]
            totals[6] -= int((counts_of(self._db, ids)[:, :2].sum(axis=1) == 1).sum())
        in_message = dict(zip(ids.tolist(), occurrences.tolist(), strict=True))
        counts = {text: list(each) for _, text, each in rows}
        for id_, text, _ in rows:
            if id_ in in_message:
                counts[text][label] -= 1
                counts[text][2 + label] -= in_message[id_]
        return Evidence(counts, totals.tolist(), change)

    def counts(self, tokens: Sequence[str], without: bytes | None = None) -> Counts:
        """Return the counts of these tokens, in their order; zeros for tokens never learned."""
        return as_counts(self.evidence(tokens, without), tokens)

    def totals(self) -> NDArray[np.int64]:
        """Return int64 (7,): messages, tokens summed over messages, and occurrences, each ham then spam; vocabulary."""
        return np.array(total(self._db, TOTALS), dtype=np.int64)

    def stats(self) -> LessonStats:
        """Return when a message was last learned, and which tokenizer versions have read the messages."""
        row = self._db.row("SELECT learned_at FROM lesson WHERE label IS NOT NULL ORDER BY change DESC LIMIT 1")
        last = None if row is None else float(row[0])
        return LessonStats(last, frozenset(tokenizer for (tokenizer,) in self._db.rows(_TOKENIZERS)))

    def find(self, digest: bytes) -> Lesson | None:
        """Return the last lesson of the message of that identity, or None if it was never learned."""
        return next(map(_lesson, self._db.all(f"{_LESSON} WHERE digest = ?", (digest,))), None)

    def changes(self, since: int, most: int = 1000) -> list[Lesson]:
        """Return the first lessons with a number above `since`, at most `most`, in the order of their numbers."""
        return list(map(_lesson, self._db.all(_CHANGES, (since, most))))

    def last_change(self) -> int:
        """Return the number of the last change of a lesson or an import; 0 before the first."""
        return total(self._db, "change")[0]

    def newest(self, label: Label, most: int) -> list[Lesson]:
        """Return the messages that were last learned with this label, at most `most`, the newest first."""
        rows = self._db.all(f"{_LESSON} WHERE label = ? ORDER BY change DESC LIMIT ?", (label, most))
        return list(map(_lesson, rows))

    def holding(self, tokens: Collection[str], least: int, label: Label, most: int) -> list[Lesson]:
        """Return the lessons among the `newest` that hold at least `least` of these distinct tokens."""
        with self._db.snapshot():
            met = [id_ for id_, _, counts in look_up_counts(self._db, list(tokens)) if counts[label]]
            if len(met) < least:  # most messages end here
                return []
            is_asked = np.zeros(max(met, default=0) + 1, dtype=np.bool_)
            is_asked[met] = True
            found = []
            for *row, blob in self._db.all(f"{_LEARNED} AND label = ? ORDER BY change DESC LIMIT ?", (label, most)):
                ids, _ = unpacked(row[0], blob)
                if is_asked[ids[: np.searchsorted(ids, len(is_asked))]].sum() >= least:
                    found.append(_lesson(row))
            return found

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Return the messages among these that are learned now, in order, with their tokens and the tokens' counts."""
        with self._db.snapshot():
            row_of = {row[1]: row for row in look_up_bound(self._db, f"{_LEARNED} AND digest", digests)}
            rows = [row_of[digest] for digest in digests if digest in row_of]
            tokens = [unpacked(row[0], row[-1]) for row in rows]
            none = np.zeros(0, dtype=np.int64)
            lengths = np.array([len(ids) for ids, _ in tokens], dtype=np.int64)
            ids, columns = _distinct(np.concatenate([none, *(ids for ids, _ in tokens)]))
            occurrences = np.concatenate([none, *(numbers for _, numbers in tokens)])
            counts, totals = counts_of(self._db, ids).T, self.totals()
        sums = Counts.of(counts, totals)
        return LearnedTokens([_lesson(row[:-1]) for row in rows], lengths, columns, occurrences, ids, sums)

    def families(self) -> NDArray[np.int64]:
        """Return the family of each token: int64 (n,), a number for each id."""
        numbers = first_numbers()
        with self._db.snapshot():
            (last,) = total(self._db, "last_token")
            kinds = np.zeros(last + 1 if last else 0, dtype=np.int64)
            for prefix, *bounds in self._spans_of_families():
                (ids,) = self._db.row(_BETWEEN, bounds)
                if ids is not None:
                    number = numbers.setdefault(family_of(prefix), len(numbers))
                    kinds[np.fromstring(ids, dtype=np.int64, sep=",")] = number
        return kinds

    def _spans_of_families(self) -> Iterator[tuple[str, str, str | bytes]]:
        """Yield each prefix that tokens have, where they begin on disk, and the end that none of them reaches."""
        for first, end, code in spans():
            if code:
                yield decode(code), first, end
                continue
            begin = first
            while (row := self._db.row(_NEXT_WITH_PREFIX, (begin, end))) is not None:
                prefix = kind(decode(row[0]))
                begin = encode(f"{prefix[:-1]};")
                yield prefix, encode(prefix), begin

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """Return the tokens of these ids; this looks through the whole dictionary."""
        wanted = bytearray(max(ids, default=0) + 1)
        for id_ in ids:
            wanted[id_] = 1
        return {id_: decode(text) for id_, text in self._db.all(_TEXTS, (len(wanted), bytes(wanted)))}

    def learn(
        self, readings: Iterable[Reading], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn messages. Returns those that changed, with what they were before."""
        return self._learn([Batch.of(readings)], label, why, at, Dictionary(self._db, is_kept=False), how, weak)

    def learned_with_other_tokenizer(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return learned messages whose tokens another version of the tokenizer made, by their identities."""
        return learned_with_other_tokenizer(self._db, after, most)

    def batcher(self) -> "SqliteBatcher":
        """Return a batcher, which learns many messages, and remembers tokens from one call to the next."""
        return SqliteBatcher(self, self._db)

    def _learn(
        self,
        batches: Sequence[Batch],
        label: Label,
        why: str,
        at: float,
        dictionary: Dictionary,
        how: How,
        weak: bool,
    ) -> list[Change]:
        messages: list[_New] = []
        for batch in batches:
            messages += map(_New, batch.digests, batch.summaries, batch.relations)
        rows = Rows.joined([batch.tokens for batch in batches])  # before the ledger is held: others may still write
        first: dict[bytes, int] = {}
        for row, message in enumerate(messages):
            first.setdefault(message.digest, row)
        with self._db.transaction():
            lessons, changes = self._former(list(first)), []
            for digest in first:
                before, was_weak = lessons.get(digest, (None, False))
                if replaces(label, weak, before, was_weak):
                    changes.append(Relabel(digest, before, was_weak, label, weak, why, how))
            sum_ = Sum(self._db)
            new, more, senders = [], [], set()  # more: tokens of each new message, by what was known before it
            for change in changes:
                if change.before is not None:
                    self._set_label(sum_, change, at)
                    continue
                new.append(first[change.digest])
                relations = messages[new[-1]].relations
                sender, seen = relations.sender_over_path, look_up_seen(self._db, relations)
                more.append(tokens_of((seen.after(label) if sender in senders else seen).known))
                if sender is not None and not weak:
                    senders.add(sender)
            learned = int(label), weak, at, why, how
            rows = rows.take(new).with_more(more)
            # Forgotten messages; not by REPLACE, which would also drop another lesson of the same number.
            forgotten = [(change.digest,) for change in changes if change.before is None and change.digest in lessons]
            self._db.executemany("DELETE FROM lesson WHERE digest = ?", forgotten)
            self._learn_new(sum_, [messages[row] for row in new], rows, learned, dictionary)
            sum_.write()
        return [Change(change.digest, change.before) for change in changes]

    def _former(self, digests: Sequence[bytes]) -> dict[bytes, tuple[Label | None, bool]]:
        """Return the labels of messages that are or were learned, and whether they are weak."""
        rows = look_up_bound(self._db, "SELECT digest, label, weak FROM lesson WHERE digest", digests)
        return {digest: (label_or_none(label), bool(weak)) for digest, label, weak in rows}

    def relabel(self, changes: Sequence[Relabel], at: float) -> list[bool]:
        """Make the kept tokens of messages count for other labels. Returns which changes were made."""
        made = []
        with self._db.transaction():
            sum_ = Sum(self._db)
            for change in changes:
                lesson = self.find(change.digest)
                is_so = lesson is not None and (lesson.label, lesson.weak) == (change.before, change.before_weak)
                if is_so:
                    self._set_label(sum_, change, at)
                made.append(is_so)
            sum_.write()
        return made

    def forget(self, digests: Iterable[bytes], why: str, at: float, *, how: How) -> int:
        """Forget messages by their identities. Returns how many were learned."""
        with self._db.transaction():
            return sum(self.relabel(forgetting(self, digests, why, how), at))

    def copies_of(self, digests: Sequence[bytes], with_tokens: Collection[bytes]) -> list[LessonCopy]:
        """Return the lessons of messages, in order, for all that are or were learned; with tokens for `with_tokens`."""
        with self._db.snapshot():
            rows = handover.rows_of(self._db, digests)
            return handover.copies([rows[digest] for digest in digests if digest in rows], with_tokens, self.texts)

    def take_over(self, lessons: Iterable[LessonCopy]) -> int:
        """Make each lesson equal to the other ledger's, with its tokens and relations. Returns how many changed."""
        return handover.take_over(self._db, lessons)

    def add_import(self, counts: ExportedCounts, name: str, why: str, at: float) -> int:
        """Add counts from elsewhere, under a name. Returns the number of the change."""
        return add_import(self._db, counts, name, why, at)

    def take_import_back(self, digest: bytes, why: str, at: float, *, takes_back: int) -> int:
        """Subtract the counts of an import again. Returns the number of the change."""
        return take_import_back(self._db, digest, why, at, takes_back)

    def imported(self) -> tuple[int, int]:
        """Return how many ham and spam messages are behind the imports that count."""
        ham, spam = self._db.row("SELECT coalesce(sum(ham_messages), 0), coalesce(sum(spam_messages), 0) FROM import")
        return ham, spam

    def seen(self, messages: Sequence[Relations], without: bytes | None = None) -> list[Seen]:
        """Return what decisions and sent mail say of each of these messages."""
        if without is None:
            return super().seen(messages)
        with self._db.snapshot():
            return [look_up_seen(self._db, each, without) for each in messages]

    def frequent(self, least: int, kinds: Sequence[str] | None = None) -> FrequentTokens:
        """Return the tokens that at least `least` messages hold; kinds: with one of these prefixes."""
        with self._db.snapshot():
            return frequent(self._db, least, kinds)

    def beginning_with(self, text: str, most: int) -> list[str]:
        """Return the first `most` tokens that begin with this text and that messages hold, sorted."""
        return beginning_with(self._db, text, most)

    def teachers(self, tokens: Sequence[str], most: int = 3, without: bytes | None = None) -> dict[str, list[Teacher]]:
        """Return for each token learned messages that hold it, the newest first and at most `most` of them.

        It looks among the newest 5,000 learned messages. They hold most tokens of a clue. Tokens that only older
        messages hold, or imports, which have no messages here, cost no more than that.
        """
        own = self._learned(without)
        rows = look_up_counts(self._db, tokens)
        texts = {id_: text for id_, text, _ in rows}
        wanted = np.zeros(max(texts, default=0) + 1, dtype=bool)
        wanted[list(texts)] = True
        # A rare token has fewer teachers than `most`.
        missing = {id_: min(most, sum(in_[:2]) - (own is not None and id_ in own[2])) for id_, _, in_ in rows}
        left = sum(missing.values())
        teachers: dict[str, list[Teacher]] = {token: [] for token in tokens}
        columns = "id, summary, label, learned_at, digest, tokens"
        newest = f"SELECT {columns} FROM lesson WHERE label IS NOT NULL AND digest IS NOT ?"  # noqa: S608
        for message, summary, label, at, digest, blob in self._db.rows(
            f"{newest} ORDER BY change DESC LIMIT ?", (without, _NEWEST)
        ):
            if not left:
                break
            ids = unpacked(message, blob)[0]
            ids = ids[: np.searchsorted(ids, len(wanted))]
            for token in ids[wanted[ids]].tolist():
                if len(teachers[texts[token]]) < missing[token]:
                    teachers[texts[token]].append(Teacher(message, summary, Label(label), at, digest))
                    left -= 1
        return teachers

    def verify(self) -> list[str]:
        """Return the faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""
        return list(chain.from_iterable(self.verification()))

    def verification(self) -> Iterator[list[str]]:
        """Yield the faults that `verify` returns, in steps: about one for each learned message."""
        with self._db.snapshot():
            yield from verification(self._db, self.totals().tolist())

    def export(self) -> Iterator[str]:
        """Yield all counts as lines of text, as of this moment, imports included."""
        with self._db.snapshot():
            ham, spam, *_, number = self.totals().tolist()
            yield from write(self._counted(), number, ham, spam, self.stats().tokenizers)

    def _counted(self) -> Iterator[tuple[int, int, int, int, str]]:
        """Yield the counts and the text of each token that learned messages hold, sorted by text."""
        tokens = in_order(self._db)
        while part := list(islice(tokens, _EXPORTED)):
            counts = count_table.read(self._db, np.array([id_ for _, id_ in part], dtype=np.int64)).tolist()
            for (ham, spam, in_ham, in_spam), (text, _) in zip(counts, part, strict=True):
                if ham or spam:
                    yield ham, spam, in_ham, in_spam, text

    def _learned(self, digest: bytes | None) -> tuple[int, Label, NDArray[np.int64], NDArray[np.int64]] | None:
        """Return a learned message: its number and label, and the sorted ids of its tokens with their occurrences."""
        row = digest and self._db.row(
            "SELECT id, label, tokens FROM lesson WHERE digest = ? AND label IS NOT NULL", (digest,)
        )
        return (row[0], Label(row[1]), *unpacked(row[0], row[2])) if row else None

    def _learn_new(
        self,
        sum_: Sum,
        messages: "list[_New]",
        rows: Rows,
        learned: tuple[int, bool, float, str, How],
        dictionary: Dictionary,
    ) -> None:
        """Learn messages that are not learned yet, each with its row of tokens.

        learned: the columns to write: label, whether it is weak, when, why and how.
        """
        if not messages:
            return
        ids, sum_.new = dictionary.ids(rows.vocabulary, rows.hashes, rows.first_met())
        sum_.add_rows(ids, rows, Label(learned[0]))
        blobs = pack_all(ids[rows.columns], rows.occurrences, rows.lengths)
        self._db.executemany(
            "INSERT INTO lesson"
            " (digest, summary, change, label, weak, learned_at, why, how, tokenizer, tokens, sender_over_path,"
            " signed_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (new.digest, new.summary, number, *learned, VERSION, blob, *KeptRelations.of(new.relations))
                for new, number, blob in zip(messages, next_changes(self._db, len(messages)), blobs, strict=True)
            ],
        )

    def _set_label(self, sum_: Sum, change: Relabel, at: float) -> None:
        """Make the kept tokens of a message count for another label."""
        if change.before is not change.after:
            row = self._db.row("SELECT id, tokens FROM lesson WHERE digest = ?", (change.digest,))
            ids, occurrences = unpacked(*row)
            if change.before is not None:
                sum_.add(ids, occurrences, change.before, -1)
            if change.after is not None:
                sum_.add(ids, occurrences, change.after, 1)
        learned = change.after, change.after_weak, at, change.why, change.how, change.takes_back
        self._db.execute(
            "UPDATE lesson SET (change, label, weak, learned_at, why, how, takes_back) = (?, ?, ?, ?, ?, ?, ?)"
            " WHERE digest = ?",
            (next_changes(self._db)[0], *learned, change.digest),
        )


class SqliteBatcher:
    """Learns messages in batches; drop it if a transaction fails in which it gave ids to tokens."""

    def __init__(self, lessons: SqliteLessons, connection: Connection) -> None:
        self._lessons = lessons
        self._db = connection
        self._dictionary = Dictionary(connection)

    def learn(
        self, batches: Sequence[Batch], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn the messages of the batches with a label. Returns the changes."""
        return self._lessons._learn(batches, label, why, at, self._dictionary, how, weak)

    def read_again(self, batches: Sequence[Batch]) -> int:
        """Give messages that another version of the tokenizer has read the tokens of the batches."""
        return read_again(self._db, batches, self._dictionary)


def _distinct(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct ids, sorted, and the place of each id among them: like `np.unique`, without sorting."""
    there = np.zeros(int(ids.max(initial=-1)) + 1, dtype=bool)
    there[ids] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[ids]


def _lesson(row: tuple[int, bytes, str, int | None, int, float, str, str, int | None]) -> Lesson:
    number, digest, summary, label, weak, at, why, how, takes_back = row
    return Lesson(number, digest, summary, label_or_none(label), bool(weak), at, why, How(how), takes_back)
