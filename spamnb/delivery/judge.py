"""Judging a message that is being delivered, by the service that is asked, or where none is.

The verdict is remembered, so that what a rule files by it is the filter's own move when it comes to a folder. Where the
ledger cannot be written, as by another user, mail does not wait for that, nor hear of it.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from spamnb.acts import arming
from spamnb.acts.withheld import hindrance
from spamnb.base.errors import LedgerError
from spamnb.base.label import Verdict
from spamnb.bayes.calibration import points
from spamnb.config import Config, Learning, Scoring
from spamnb.delivery.verdict import Delivered
from spamnb.filter.judge import Judge, Judgement
from spamnb.ledger.history.early_verdicts import PIPE, EarlyVerdict
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import identity
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read_content

REMEMBERED_WITHIN = 1.0  # seconds that mail waits for a ledger that another program writes
_PATIENCE = 2.0  # seconds to wait for a ledger that another program holds; mail waits meanwhile


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a message, and the judgement behind it. held: why no verdict is told yet, or ""."""

    delivered: Delivered
    judgement: Judgement
    held: str


def judge(raw: bytes, config: Config) -> Delivered:
    """The verdict on a message, by the ledger of a configuration. Raises LedgerError where it cannot be read."""
    content, path, now = read_content(raw[: DEFAULT_LIMITS.message_bytes + 1]), str(config.ledger), time.time()
    with Ledger(path, busy_seconds=_PATIENCE, only_read=True) as ledger, ledger.snapshot():
        told = told_of(ledger, Judge(ledger.lessons, config.scoring, config.senders).judge(content), config, now)
    if not told.held:
        with contextlib.suppress(LedgerError), Ledger(path, busy_seconds=REMEMBERED_WITHIN) as ledger:
            remember(ledger, identity(raw), told, PIPE, now)
    return told.delivered


def told_of(
    ledger: Ledger,
    judgement: Judgement,
    config: Config,
    now: float,
    missing: Callable[[Ledger, Scoring, Learning], str] = arming.missing,
) -> Told:
    """What is told of a message that was judged so. `missing`: as for `breaker.hindrance`.

    No verdict is told where the filter has not learned enough, or moving is stopped: what the service would not move,
    a rule at delivery shall not.
    """
    lacking, is_stopped = hindrance(ledger, config, now, missing)
    held = lacking or ("moving is stopped" if is_stopped else "")
    return Told(delivered(judgement, config, is_held=bool(held)), judgement, held)


def remember(ledger: Ledger, digest: bytes, told: Told, asker: str, now: float) -> None:
    """Remember a verdict that is told, without waiting for the disk.

    Power that fails loses the last verdicts, and the messages that they were about with them, mostly.
    """
    judgement = told.judgement
    early = EarlyVerdict(judgement.verdict, judgement.probability, judgement.log_odds, asker, now)
    with ledger.hasty():
        ledger.early_verdicts.remember(digest, early)


def delivered(judgement: Judgement, config: Config, *, is_held: bool) -> Delivered:
    """A judgement as it is told at delivery; held back, it is unsure, with no points."""
    if is_held:
        return Delivered(Verdict.UNSURE, judgement.probability, 0.0)
    is_spam, most = judgement.verdict is Verdict.SPAM, config.spamd.most_points
    found = points(judgement.log_odds, config.scoring.spam_cutoff, is_spam=is_spam, most=most)
    return Delivered(judgement.verdict, judgement.probability, found)
