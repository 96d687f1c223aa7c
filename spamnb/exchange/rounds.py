"""A round of one ledger with the log: it tells what it has learned, and takes over what other hosts have told.

The lessons to tell need no table of their own: `Lessons.changes` lists them after the last change that was told. The
ledger has two places (`State.told`, `State.heard`), and each step is one transaction of it:

1. Lessons after `told` are told, and then `told` is written.
2. Rows above `heard` are taken over, and `told` and `heard` are written, in one transaction. So a heard lesson is never
   told back. If something was learned in the meantime, that is told first. So an untold lesson is never overwritten.
3. The host's own rows are taken over like all others. This must stay so. A message that was forgotten here and learned
   again has the tokens of another reading than its row, which keeps the first tokens. With this rule all ledgers have
   the counts of a plain loop over the log. Without it, most had different counts after some thousand acts.

A process that is killed at any moment leaves a place that is too low, or none. Then it tells the same lessons again,
which changes no row, and hears the same rows again, which changes no lesson. Several processes may do this with one
ledger at once: each transaction checks that the places are still those it knows.

Nobody waits for a clock. The hosts' clocks decide who wins if two contradict each other, but never whether all agree.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spamnb.acts import training
from spamnb.base.label import How
from spamnb.exchange.port import Log, News, Told, news_of
from spamnb.ledger.ledger import Ledger

_TOLD_TOGETHER = 500  # 1 MB, in one transaction of the log
# Lessons in one transaction of the ledger, for which mail waits. While a service heard 2,900 lessons, messages were
# judged and moved within 68 ms at p90, and within 46 ms without that; with 50 lessons together, within 209 ms. A lesson
# takes 1.6 ms of processor time; with 50 together, 1.4.
_HEARD_TOGETHER = 16


class Round(NamedTuple):
    """The result of a round: lessons told, rows heard, and lessons that these rows changed.

    is_over: whether nothing was left at the end. is_forgotten: the user was forgotten since this ledger was made. Then
    the ledger has to be removed, and nothing was told or heard.
    """

    told: int = 0
    heard: int = 0
    changed: int = 0
    is_over: bool = False
    is_forgotten: bool = False


def exchange(
    ledger: Ledger, log: Log, account: str, host: str, news: News, go_on: Callable[[], bool] = lambda: True
) -> Round:
    """Make a round. host: this host's name in the log. go_on: asked before each transaction.

    Raises ExchangeError, LedgerError.
    """
    if is_forgotten(ledger, news):
        return Round(is_forgotten=True)
    news = _joined(ledger, log, account, news)
    done = Round()
    while go_on():
        done = done._replace(told=done.told + _tell(ledger, log, account, host, news.log, go_on))
        with ledger.snapshot():
            identity, since = ledger.state.log, ledger.state.heard
        if identity != news.log:  # another process has begun with another log
            break
        rows = log.hear(account, since, _HEARD_TOGETHER)
        are_all = len(rows) < _HEARD_TOGETHER
        # No row is left up to the earlier last place: each was heard, has moved above it, or was deleted.
        upto = max([rows[-1].place if rows else since, *([news.account.last] if are_all else [])])
        changed = _take_over(ledger, host, news.log, rows, since, upto)
        if changed is not None:
            done = done._replace(heard=done.heard + len(rows), changed=done.changed + changed)
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


def _joined(ledger: Ledger, log: Log, account: str, news: News) -> News:
    """Begin with the log from the start if the places belong to a different log, or to a later state of this one."""
    with ledger.snapshot():
        known, heard = ledger.state.log, ledger.state.heard
    if known == news.log and heard > news.account.last:  # another process may have heard more
        news = news_of(log, [account])[account]
    if known == news.log and heard <= news.account.last:
        return news
    with ledger.transaction():
        if (ledger.state.log, ledger.state.heard) == (known, heard):
            ledger.state.log = news.log
            ledger.state.told = ledger.state.heard = 0
            ledger.state.to_hear = news.account.last
            ledger.state.forgotten_at = news.account.forgotten_at
    return news


def _tell(ledger: Ledger, log: Log, account: str, host: str, identity: str, go_on: Callable[[], bool]) -> int:
    """Tell what was learned since the last time. Returns the number of lessons."""
    number = 0
    while go_on():
        with ledger.snapshot():
            told, last = ledger.state.told, ledger.lessons.last_change()
            changes = ledger.lessons.changes(told, _TOLD_TOGETHER)
        if told >= last:
            break
        digests = [lesson.digest for lesson in changes if lesson.how is not How.IMPORT]
        if digests:
            there = log.has(account, digests)
            with ledger.snapshot():  # one moment: the lesson does not know what was heard after it
                heard = ledger.state.heard
                lessons = ledger.lessons.kept(digests, [digest for digest in digests if digest not in there])
            log.tell(account, heard, host, lessons)
            number += len(lessons)
        # Reading lessons again has a number too, but is not a lesson.
        told = changes[-1].number if len(changes) == _TOLD_TOGETHER else last
        with ledger.transaction():
            if ledger.state.log != identity:
                break
            ledger.state.told = max(told, ledger.state.told)
    return number


def _take_over(ledger: Ledger, host: str, identity: str, rows: Sequence[Told], since: int, upto: int) -> int | None:
    """Take rows over. Returns how many lessons changed; None if something was learned or heard in the meantime."""
    if not rows and upto == since:
        return 0
    with ledger.transaction():
        state = ledger.state
        if (state.log, state.heard) != (identity, since) or state.told < ledger.lessons.last_change():
            return None
        told_by = {row.kept.lesson.digest: row.host for row in rows if row.host != host}
        changed = training.take_over(ledger, [row.kept for row in rows], told_by)
        state.told = ledger.lessons.last_change()
        state.heard = upto
    return changed
