"""Forget tokens to save space: the least useful ones first, also in the learned messages.

Messages stay learned: they keep their label and their other tokens, so that corrections and undoing stay exact, and the
counts stay their sum. Other processes may work with the ledger at the same time:

1. A few messages at a time, one transaction takes tokens out of the messages and corrects the counts. After each one
   the ledger is sound, wherever the work is broken off.
2. Tokens that no message holds now leave the dictionary, some thousands per transaction. A message that was learned in
   the meantime may hold one of them again: lessons that have changed since are looked at, and their tokens stay.
3. The file is written again (VACUUM), since half-empty pages are not given back otherwise.
"""

import contextlib
import os
import shutil
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError, LedgerError, SpamnbError, UsageError
from spamnb.base.label import Label
from spamnb.base.wording import megabytes
from spamnb.ledger.connection import Connection
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.counts import ONE, Sum, of_class
from spamnb.ledger.lessons.sqlite.imports import imported, keep_only
from spamnb.ledger.lessons.sqlite.token_blob import pack_all, unpack

_LEVELS = 100
_MESSAGES = 100  # per transaction
_TOKENS = 20_000  # per transaction
# SQLite waits for a lock by looking again at most every 100 ms. The pause after each transaction is a quarter of its
# length, so a waiting process gets in after a few looks.
_SHARE, _SHORTEST = 0.25, 0.01
_TOKEN_BYTES = 8  # of a token's row, beside its text
_FULL = 1.02  # the size of a file that is written again, relative to its net bytes
# While the file is written again nobody else can write, and a service waits 10 s for that.
_LARGEST_WITH_SERVICE = 150_000_000
_ROUNDS = 3  # for lessons from the meantime, and for the error of the estimate
_SPARE = 16_000_000  # bytes; for the log of the steps before
_NEXT = "SELECT text, id FROM token WHERE text > ? ORDER BY text LIMIT ?"


@dataclass(frozen=True, slots=True)
class Plan:
    """The tokens to forget: bool (largest id + 1,), true for a token's id; and the expected size of the file in bytes.

    tokens: how many are forgotten. hapaxes: how many of these are in only one message. of: the number of all tokens.
    """

    forgotten: NDArray[np.bool_]
    size: int
    tokens: int
    hapaxes: int
    of: int


@dataclass(frozen=True, slots=True)
class Shrunk:
    """How many tokens were forgotten, how many of these were in only one message, and the file's new size in bytes."""

    tokens: int
    hapaxes: int
    size: int


class Pruning:
    """Plans which tokens to forget, and forgets them. `pause` waits some seconds, so that others can write."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def size(self) -> int:
        """Return the size of the ledger's file in bytes, once its log is written into it."""
        return int(self._db.row("PRAGMA page_count")[0] * self._db.row("PRAGMA page_size")[0])

    def shrink(
        self, target: int, shown: Callable[[Iterator[int]], Iterable[int]] = iter, claim: str | None = None
    ) -> Shrunk:
        """Forget tokens and write the file again; others may work with the ledger at the same time.

        `shown` passes on the numbers of messages processed so far. claim: what `is_running` is asked, if it is not the
        ledger. Raises UsageError as `possible_plan` does, and SpamnbError if there is too little room.
        """
        path = self._db.path
        os.environ["SQLITE_TMPDIR"] = os.path.dirname(os.path.abspath(path))  # whose free space is checked
        tokens = hapaxes = 0
        wanted = target
        for number in range(_ROUNDS):
            plan = self.plan(wanted) if number else self.possible_plan(wanted)  # once begun, it forgets what it can
            _need_room(path, 2 * plan.size + _SPARE)
            if plan.size > _LARGEST_WITH_SERVICE and is_running(claim or path):
                raise SpamnbError("the ledger is too large to be written again while the service runs: stop that first")
            deque(shown(self.forget(plan, time.sleep)), 0)
            self.compact()
            tokens, hapaxes, size = tokens + plan.tokens, hapaxes + plan.hapaxes, self.size()
            if size <= target:
                break
            wanted = target - (size - plan.size)  # the estimate was too low by this much
        return Shrunk(tokens, hapaxes, size)

    def possible_plan(self, target: int) -> Plan:
        """Plan what to forget so that the file takes `target` bytes. Raises UsageError if that is impossible."""
        plan = self.plan(target)
        if plan.size > target:
            raise UsageError(
                f"without any token the ledger would still be {megabytes(plan.size)}: that much is message records and"
                " history; choose a larger size"
            )
        return plan

    def plan(self, target: int) -> Plan:
        """Plan the fewest tokens, in hundredths of all, without which the file takes at most `target` bytes."""
        with self._db.snapshot():
            tokens = self._db.rows("SELECT id, length(CAST(text AS BLOB)) FROM token ORDER BY id")
            ids, lengths = np.fromiter(chain.from_iterable(tokens), np.int64).reshape(-1, 2).T
            messages = count_table.read(self._db, ids)[:, :2]
            of = np.array(self._db.row("SELECT ham_messages, spam_messages FROM total"), dtype=np.int64)
            try:
                uses, last = self._uses(int(ids.max(initial=0)) + 1)
            except (IndexError, ValueError, zlib.error) as fault:
                what = "the tokens of a message are damaged, so nothing is pruned: spamnb verify"
                raise LedgerDamagedError(what) from fault
            order = _least_useful_first(uses[ids], last[ids], messages, of)
            levels = np.empty(len(ids), dtype=np.int64)
            levels[order] = np.arange(len(ids)) * _LEVELS // max(1, len(ids))
            sizes = self._sizes(levels, lengths + _TOKEN_BYTES, uses[ids])
        fits = np.flatnonzero(sizes <= target)
        first = int(fits[0]) if len(fits) else _LEVELS
        chosen = ids[levels < first]
        forgotten = np.zeros(len(uses), dtype=bool)
        forgotten[chosen] = True
        return Plan(forgotten, int(sizes[first]), len(chosen), int((uses[chosen] <= 1).sum()), len(ids))

    def forget(self, plan: Plan, pause: Callable[[float], None]) -> Iterator[int]:
        """Forget the tokens of a plan, step by step; yields the number of messages processed after each step."""
        since = self._db.row("SELECT change FROM total")[0]
        messages = [row[0] for row in self._db.rows("SELECT id FROM lesson ORDER BY id")]
        done = 0
        for start in range(0, len(messages), _MESSAGES):
            batch = messages[start : start + _MESSAGES]
            with _paced(pause), self._db.transaction():
                self._shorten(batch, plan.forgotten)
            done += len(batch)
            yield done
        with _paced(pause), self._db.transaction():
            self._shorten_imports(plan.forgotten)
        last: str | None = ""
        while last is not None:
            with _paced(pause), self._db.transaction():
                last = self._drop(last, plan.forgotten, since)
            yield done

    def compact(self) -> None:
        """Write the file again, without its free pages; at that time others can read, but not write."""
        self._db.compact()

    def _uses(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how many messages hold each token, and when it was last met. Forgotten ones count: they may return."""
        uses, last = np.zeros(number, dtype=np.int64), np.zeros(number)
        for at, blob in self._db.rows("SELECT learned_at, tokens FROM lesson"):
            ids, _ = unpack(blob)
            uses[ids] += 1
            last[ids] = np.maximum(last[ids], at)
        for one in imported(self._db):
            uses[one.ids] += one.counts[:, :2].sum(axis=1)
        return uses, last

    def _sizes(
        self, levels: NDArray[np.int64], texts: NDArray[np.int64], cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the file's bytes, float64 (_LEVELS + 1,), if all tokens below a level are forgotten: an estimate.

        int64 (n_tokens,) each: the levels of the tokens, the bytes of their texts and counts, and in how many messages
        they are. The size of learned messages falls with the share of their tokens that stays.
        """
        pages = self._db.row("PRAGMA page_count")[0] - self._db.row("PRAGMA freelist_count")[0]
        size = float(pages) * self._db.row("PRAGMA page_size")[0]
        with contextlib.suppress(LedgerError):  # SQLite may be compiled without dbstat: then the estimate is too high
            size -= self._db.row("SELECT total(unused) FROM dbstat WHERE name = 'token'")[0]
        (blobs,) = self._db.row(
            "SELECT total(length(tokens)) FROM (SELECT tokens FROM lesson UNION ALL SELECT tokens FROM import)"
        )
        gone_texts, gone_cells = (
            np.concatenate([[0.0], np.bincount(levels, of, _LEVELS).cumsum()]) for of in (texts, cells)
        )
        sizes: NDArray[np.float64] = _FULL * (size - gone_texts - gone_cells / max(1, cells.sum()) * blobs)
        return sizes

    def _shorten(self, messages: list[int], forgotten: NDArray[np.bool_]) -> None:
        sum_ = Sum(self._db)
        marks = ",".join("?" * len(messages))
        shortened: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []
        for message, label, blob in self._db.all(
            f"SELECT id, label, tokens FROM lesson WHERE id IN ({marks})",  # noqa: S608 - question marks only
            messages,
        ):
            ids, occurrences = unpack(blob)
            gone = _among(ids, forgotten)
            if not gone.any():
                continue
            shortened.append((message, ids[~gone], occurrences[~gone]))
            if label is not None:
                sum_.add_counts(ids[gone], of_class(Label(label), -1, -occurrences[gone]), 0 * ONE[label])
        sum_.write()
        if not shortened:
            return
        numbers, kept, of_kept = zip(*shortened, strict=True)
        blobs = pack_all(np.concatenate(kept), np.concatenate(of_kept), np.array(list(map(len, kept))))
        self._db.executemany("UPDATE lesson SET tokens = ? WHERE id = ?", zip(blobs, numbers, strict=True))

    def _shorten_imports(self, forgotten: NDArray[np.bool_]) -> None:
        sum_ = Sum(self._db)
        for one in list(imported(self._db)):
            gone = _among(one.ids, forgotten)
            if gone.any():
                sum_.add_counts(one.ids[gone], -one.counts[gone], np.zeros(2, dtype=np.int64))
                keep_only(self._db, one, ~gone)
        sum_.write()

    def _drop(self, after: str, forgotten: NDArray[np.bool_], since: int) -> str | None:
        """Remove some tokens from the dictionary, except those that lessons after change `since` hold again.

        Returns the last token that was looked at, where the next step goes on, or None at the end.
        """
        words = self._db.all(_NEXT, (after, _TOKENS))
        if not words:
            return None
        ids = np.array([id_ for _, id_ in words], dtype=np.int64)
        free = _among(ids, forgotten) & ~count_table.read(self._db, ids)[:, :2].any(axis=1)
        held = [unpack(row[0])[0] for row in self._db.rows("SELECT tokens FROM lesson WHERE change > ?", (since,))]
        held += [one.ids for one in imported(self._db, "WHERE change > ?", since)]
        if held:
            free &= ~np.isin(ids, np.concatenate(held))
        self._db.executemany(
            "DELETE FROM token WHERE text = ?", ((text,) for text, _ in compress(words, free.tolist()))
        )
        last: str = words[-1][0]
        return last


def _least_useful_first(
    uses: NDArray[np.int64], last: NDArray[np.float64], messages: NDArray[np.int64], of: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the order of forgetting: indexes, int64 (n,). `messages`: (n, 2), of the ham and spam messages `of`, (2,).

    Tokens that were met once go first, the oldest before the newer. Then come the tokens that decide least, because
    they are rare or as frequent in ham as in spam.

    csdmc2010, the first half learned, the second scored: with the whole ledger (1−ROCA)% is 0.0023 and 96.9 % of the
    spam is caught, 0.0052 and 95.6 % with half its size, 0.0113 and 92.7 % with a quarter. At a quarter, only by rarity
    and age: 0.0315 and 83.7 %; only by age: 0.1047 and 85.2 %. No ham is called spam in any of these.
    """
    shares = np.log((messages + 0.5) / (of + 1.0))
    weight = np.sqrt(uses) * np.abs(shares[:, 1] - shares[:, 0])
    single = uses <= 1
    return np.lexsort((np.where(single, last, weight), ~single))


@contextlib.contextmanager
def _paced(pause: Callable[[float], None]) -> Iterator[None]:
    """Pause after the block, in proportion to its time."""
    start = time.monotonic()
    yield
    pause(max(_SHORTEST, _SHARE * (time.monotonic() - start)))


def _among(ids: NDArray[np.int64], forgotten: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which ids are to be forgotten; newer ids than the plan's are not."""
    known = ids < len(forgotten)
    return known & forgotten[np.where(known, ids, 0)]


def _need_room(ledger: str, needed: int) -> None:
    directory = os.path.dirname(os.path.abspath(ledger))
    lacking = needed - shutil.disk_usage(directory).free
    if lacking > 0:
        raise SpamnbError(
            f"the file has to be written again, and there is too little room for that in {directory}: free"
            f" {megabytes(lacking)} more. Nothing was forgotten"
        )
