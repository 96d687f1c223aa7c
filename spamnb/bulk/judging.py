"""Judge many messages."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache

from spamnb.base.errors import MailError
from spamnb.bulk.mapping import Done, one_by_one
from spamnb.bulk.sources import Source
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import FrozenFilter, Judgement
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted
from spamnb.ledger.evidence_to_read import evidence_to_read
from spamnb.ledger.lessons.evidence import Evident, NoEvidence
from spamnb.mail.reading import read_content


class BulkJudge:
    """Reads and judges messages by the knowledge of the ledger at the first message (None: without a ledger).

    A copy in another process opens the ledger for itself, and so does each thread. A process looks up the counts of a
    token only once.
    """

    def __init__(
        self,
        ledger: str | None,
        scoring: Scoring,
        senders: Senders | None = None,
        trusted: Trusted = NOBODY_TRUSTED,
        run: int | None = None,
    ) -> None:
        self._arguments = (ledger, scoring, senders or Senders(), trusted, time.time_ns() if run is None else run)
        self._idle: list[FrozenFilter] = []
        self._open = ExitStack()

    def __reduce__(self) -> tuple["Callable[..., BulkJudge]", tuple[str | None, Scoring, Senders, Trusted, int]]:
        return _in_this_process, self._arguments

    def __call__(self, chunk: list[Source]) -> list[Done[Judgement]]:
        """Judge some messages."""
        done = one_by_one(lambda source: read_content(source.read()), chunk)
        try:
            frozen = self._idle.pop()  # no other thread gets it in the meantime
        except IndexError:
            frozen = self._new_filter()
        judgements = iter(frozen.judge_all([got for _, got in done if not isinstance(got, MailError)]))
        self._idle.append(frozen)
        return [(source, got if isinstance(got, MailError) else next(judgements)) for source, got in done]

    def _new_filter(self) -> FrozenFilter:
        path, scoring, senders, trusted, _ = self._arguments
        lessons: Evident = NoEvidence() if path is None else self._open.enter_context(evidence_to_read(path))
        return FrozenFilter(lessons, scoring, senders, trusted)

    def close(self) -> None:
        """Close the ledgers that this process has opened."""
        self._idle.clear()
        self._open.close()


@lru_cache(maxsize=1)
def _in_this_process(ledger: str | None, scoring: Scoring, senders: Senders, trusted: Trusted, run: int) -> BulkJudge:
    """Return this process's only copy of a judge, however often the judge is sent here."""
    return BulkJudge(ledger, scoring, senders, trusted, run)
