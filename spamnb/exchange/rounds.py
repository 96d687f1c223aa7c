"""A round of one ledger with the log: it sends what it has learned, and takes over what other hosts have sent.

The lessons to send need no table of their own: `Lessons.changes` lists them after the last change that was sent. The
ledger has two numbers (`State.sent`, `State.received`), and each step is one transaction of it:

1. Lessons after `sent` are sent, and then `sent` is written.
2. Rows above `received` are taken over, and `sent` and `received` are written, in one transaction. So a received lesson
   is never sent back. If something was learned in the meantime, that is sent first. So an unsent lesson is never
   overwritten.
3. The host's own rows are taken over like all others. This must stay so. A message that was forgotten here and learned
   again has the tokens of another reading than its row, which keeps the first tokens. With this rule all ledgers have
   the counts of a plain loop over the log. Without it, most had different counts after some thousand acts.

A process that is killed at any moment leaves a number that is too low, or none. Then it sends the same lessons
again, which changes no row, and receives the same rows again, which changes no lesson. Several processes may do this
with one ledger at once: each transaction checks that the numbers are still those it knows.

Nobody waits for a clock. The hosts' clocks decide who wins if two contradict each other, but never whether all agree.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spamnb.acts import training
from spamnb.base.label import How
from spamnb.exchange.port import LessonLog, LogRow, News, news_of
from spamnb.ledger.ledger import Ledger

_SENT_TOGETHER = 500  # 1 MB, in one transaction of the log
# Lessons in one transaction of the ledger, for which mail waits. While a service received 2,900 lessons, messages were
# judged and moved within 68 ms at p90, and within 46 ms without that; with 50 lessons together, within 209 ms. A lesson
# takes 1.6 ms of processor time; with 50 together, 1.4.
_RECEIVED_TOGETHER = 16


class Round(NamedTuple):
    """The result of a round: lessons sent, rows received, and lessons that these rows changed.

    is_over: whether nothing was left at the end. is_forgotten: the user was forgotten since this ledger was made. Then
    the ledger has to be removed, and nothing was sent or received.
    """

    sent: int = 0
    received: int = 0
    changed: int = 0
    is_over: bool = False
    is_forgotten: bool = False


def exchange(
    ledger: Ledger, log: LessonLog, account: str, host: str, news: News, go_on: Callable[[], bool] = lambda: True
) -> Round:
    """Make a round. host: this host's name in the log. go_on: asked before each transaction.

    Raises ExchangeError, LedgerError.
    """
    if is_forgotten(ledger, news):
        return Round(is_forgotten=True)
    news = _joined(ledger, log, account, news)
    done = Round()
    while go_on():
        done = done._replace(sent=done.sent + _send(ledger, log, account, host, news.log, go_on))
        with ledger.snapshot():
            identity, since = ledger.state.log, ledger.state.received
        if identity != news.log:  # another process has begun with another log
            break
        rows = log.receive(account, since, _RECEIVED_TOGETHER)
        are_all = len(rows) < _RECEIVED_TOGETHER
        # No row is left up to the earlier last number: each was received, has moved above it, or was deleted.
        upto = max([rows[-1].number if rows else since, *([news.account.last] if are_all else [])])
        changed = _take_over(ledger, host, news.log, rows, since, upto)
        if changed is not None:
            done = done._replace(received=done.received + len(rows), changed=done.changed + changed)
            if are_all:
                return done._replace(is_over=True)
    return done


def is_forgotten(ledger: Ledger, news: News) -> bool:
    """Tell whether the user was forgotten in the log since this ledger was made, or since it wrote to the log.

    If the ledger has a note of the log, the note is compared. Only without a note are times of two hosts compared.
    """
    at = news.account.forgotten_at
    with ledger.snapshot():
        if at is None or at == ledger.state.forgotten_at:
            return False
        if ledger.state.log == news.log:
            return True
        oldest = ledger.journal.oldest_at()
        return oldest is not None and oldest < at


def _joined(ledger: Ledger, log: LessonLog, account: str, news: News) -> News:
    """Begin with the log from the start if the numbers belong to a different log, or to a later state of this log."""
    with ledger.snapshot():
        known, received = ledger.state.log, ledger.state.received
    if known == news.log and received > news.account.last:  # another process may have received more
        news = news_of(log, [account])[account]
    if known == news.log and received <= news.account.last:
        return news
    with ledger.transaction():
        if (ledger.state.log, ledger.state.received) == (known, received):
            ledger.state.log = news.log
            ledger.state.sent = ledger.state.received = 0
            ledger.state.to_receive = news.account.last
            ledger.state.forgotten_at = news.account.forgotten_at
    return news


def _send(ledger: Ledger, log: LessonLog, account: str, host: str, identity: str, go_on: Callable[[], bool]) -> int:
    """Send what was learned since the last time. Returns the number of lessons."""
    number = 0
    while go_on():
        with ledger.snapshot():
            sent, last = ledger.state.sent, ledger.lessons.last_change()
            changes = ledger.lessons.changes(sent, _SENT_TOGETHER)
        if sent >= last:
            break
        digests = [lesson.digest for lesson in changes if lesson.how is not How.IMPORT]
        if digests:
            there = log.has(account, digests)
            with ledger.snapshot():  # one moment: the lesson does not know what was received after it
                received = ledger.state.received
                lessons = ledger.lessons.copies_of(digests, [digest for digest in digests if digest not in there])
            log.send(account, received, host, lessons)
            number += len(lessons)
        # Reading lessons again has a number too, but is not a lesson.
        sent = changes[-1].number if len(changes) == _SENT_TOGETHER else last
        with ledger.transaction():
            if ledger.state.log != identity:
                break
            ledger.state.sent = max(sent, ledger.state.sent)
    return number


def _take_over(ledger: Ledger, host: str, identity: str, rows: Sequence[LogRow], since: int, upto: int) -> int | None:
    """Take rows over. Returns how many lessons changed; None if something was learned or received in the meantime."""
    if not rows and upto == since:
        return 0
    with ledger.transaction():
        state = ledger.state
        if (state.log, state.received) != (identity, since) or state.sent < ledger.lessons.last_change():
            return None
        sent_by = {row.copy.lesson.digest: row.host for row in rows if row.host != host}
        changed = training.take_over(ledger, [row.copy for row in rows], sent_by)
        state.sent = ledger.lessons.last_change()
        state.received = upto
    return changed
