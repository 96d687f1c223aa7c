"""Judging a message that is being delivered, where no service is asked.

The verdict is remembered as the service does it, so that what a rule files by it is the filter's own move when it comes
to a folder. Where the ledger cannot be written, as by another user, mail does not wait for that, nor hear of it.
"""

import contextlib
import time

from spamnb.bayes.calibration import points
from spamnb.breaker import hindrance
from spamnb.config import Config
from spamnb.delivery.verdict import Delivered
from spamnb.errors import LedgerError
from spamnb.filter import Judge, Judgement
from spamnb.label import Verdict
from spamnb.ledger.history.early_verdicts import PIPE, EarlyVerdict
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import identity
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read_content

_PATIENCE = 2.0  # seconds to wait for a ledger that another program holds; mail waits meanwhile
_REMEMBERED_WITHIN = 1.0  # seconds


def judge(raw: bytes, config: Config) -> Delivered:
    """The verdict on a message, by the ledger of a configuration. Raises LedgerError where it cannot be read."""
    content = read_content(raw[: DEFAULT_LIMITS.message_bytes + 1])
    with Ledger(str(config.ledger), busy_seconds=_PATIENCE, only_read=True) as ledger, ledger.snapshot():
        judgement = Judge(ledger.lessons, config.scoring, config.senders).judge(content)
        is_told = not is_held(ledger, config, time.time())
    if is_told:
        _remember(identity(raw), judgement, config)
    return delivered(judgement, config, is_held=not is_told)


def _remember(digest: bytes, judgement: Judgement, config: Config) -> None:
    told = EarlyVerdict(judgement.verdict, judgement.probability, judgement.log_odds, PIPE, time.time())
    path = str(config.ledger)
    with contextlib.suppress(LedgerError), Ledger(path, busy_seconds=_REMEMBERED_WITHIN) as ledger, ledger.hasty():
        ledger.early_verdicts.remember(digest, told)


def is_held(ledger: Ledger, config: Config, now: float) -> bool:
    """Whether no mail is to be filed by the filter's verdict now.

    It has not learned enough, or moving is stopped: what the service would not move, a rule at delivery shall not.
    """
    return any(hindrance(ledger, config, now))


def delivered(judgement: Judgement, config: Config, *, is_held: bool) -> Delivered:
    """A judgement as it is told at delivery; held back, it is unsure, with no points."""
    if is_held:
        return Delivered(Verdict.UNSURE, judgement.probability, 0.0)
    is_spam, most = judgement.verdict is Verdict.SPAM, config.spamd.most_points
    found = points(judgement.log_odds, config.scoring.spam_cutoff, is_spam=is_spam, most=most)
    return Delivered(judgement.verdict, judgement.probability, found)
