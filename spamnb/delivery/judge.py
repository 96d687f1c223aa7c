"""Judge a message that is being delivered: in the service, or without one.

The verdict is remembered: if a rule files the message by it, this counts as the filter's own move. If the ledger cannot
be written (by another user, for example), delivery neither waits nor reports it.
"""

import contextlib
import time
from typing import NamedTuple

from spamnb.acts.destination import spare_list_mail
from spamnb.acts.may_move import MissingCache, hindrance
from spamnb.base.errors import LedgerError
from spamnb.base.label import How, Verdict
from spamnb.bayes.calibration import points
from spamnb.config import Config, Scoring
from spamnb.delivery.verdict import Delivered
from spamnb.filter.judge import UNTAUGHT, Clue, Filter, Judgement
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import LazyReading, Reading
from spamnb.rules.moving import Hindrance, missing_lessons

REMEMBERED_WITHIN = 1.0  # seconds that mail waits for a ledger that another program writes
_PATIENCE = 2.0  # seconds to wait for a ledger that another program holds; the mail waits too


class JudgedAtDelivery(NamedTuple):
    """The answer about a message, the judgement behind it, and its clues, if the caller asked for them.

    hindrance: what still prevents a verdict. scoring: the settings of the judgement.
    """

    delivered: Delivered
    judgement: Judgement
    clues: tuple[Clue, ...]
    hindrance: Hindrance
    scoring: Scoring


def judge_here(raw: bytes, config: Config) -> Delivered:
    """Return the verdict on a message, by the ledger of a configuration. Raises LedgerError if it cannot be read."""
    unread, path, now = LazyReading(raw), str(config.ledger), time.time()
    reading = unread.reading  # before the ledger is held
    with Ledger(path, busy_seconds=_PATIENCE, only_read=True) as ledger:
        judged = judge(ledger, reading, config, now)
    if not judged.hindrance:
        with contextlib.suppress(LedgerError), Ledger(path, busy_seconds=REMEMBERED_WITHIN) as ledger:
            remember(ledger, unread.digest, judged, "spamnb filter", How.PIPE, now)
    return judged.delivered


def judge(
    ledger: Ledger,
    reading: Reading,
    config: Config,
    now: float,
    *,
    explains: bool = False,
    remembered: MissingCache | None = None,
) -> JudgedAtDelivery:
    """Judge a message, and return the answer. remembered: as for `acts.may_move.hindrance`.

    A person's choices beside the configuration are applied here.

    The verdict is held back if the filter has not learned enough, or moving is stopped: mail that the service would not
    move must not be moved by a rule at delivery either. Mail of a sender whom the person blocks needs no lessons.
    """
    clues: tuple[Clue, ...] = ()
    with ledger.snapshot():
        config = ledger.choices.over(config)
        chosen = Filter.of(ledger.lessons, config)
        if explains:
            judgement, clues, *_ = chosen.explain(reading, 0)
        else:
            judgement = chosen.judge(reading)
        hindered = hindrance(ledger, config, now, remembered)
        if judgement.listed and judgement.verdict is Verdict.SPAM:  # what a person orders needs no lessons
            hindered = hindered._replace(missing="")
        answered = spare_list_mail(ledger, judgement, reading.relations)
    told = delivered(answered, config, is_held=bool(hindered))
    return JudgedAtDelivery(told, judgement, clues, hindered, config.scoring)


def judge_untaught(config: Config) -> JudgedAtDelivery:
    """Return the answer about any message before the ledger exists: that of a filter without lessons."""
    nothing_learned = Hindrance(missing_lessons(0, 0, config.learning), None)
    return JudgedAtDelivery(delivered(UNTAUGHT, config, is_held=True), UNTAUGHT, (), nothing_learned, config.scoring)


def remember(ledger: Ledger, digest: bytes, judged: JudgedAtDelivery, asker: str, how: How, now: float) -> None:
    """Remember a verdict that was given, without waiting for the disk.

    A power failure loses the last verdicts, and mostly their messages too.
    """
    judgement = judged.judgement
    said = f"{asker}; {judgement.why_unsure}" if judgement.why_unsure else asker
    early = EarlyVerdict(judgement.verdict, judgement.probability, judgement.log_odds, said, how, now)
    with ledger.without_fsync():
        ledger.early_verdicts.remember(digest, early)


def delivered(judgement: Judgement, config: Config, *, is_held: bool) -> Delivered:
    """Return a judgement as the answer at delivery. If it is held back, it is unsure, with no points."""
    if is_held:
        return Delivered(Verdict.UNSURE, judgement.probability, 0.0)
    is_spam, most = judgement.verdict is Verdict.SPAM, config.spamd.most_points
    told_points = points(judgement.log_odds, config.scoring.spam_cutoff, is_spam=is_spam, most=most)
    return Delivered(judgement.verdict, judgement.probability, told_points)
