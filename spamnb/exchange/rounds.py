"""A round of one ledger with the log: it tells what it has learned, and takes over what other hosts have told.

What is to be told needs no table of its own: it is what `Lessons.changes` gives behind the last change that was told.
Two places are in the ledger (`State.told`, `State.heard`), and each step is a transaction of it:

1. Lessons behind `told` are told, and then `told` is written.
2. Rows above `heard` are taken over, and `told` and `heard` are written, in one transaction: so nothing that was heard
   is told back. Where something was learned meanwhile, that is told first: so nothing untold is overwritten.
3. The host's own rows are taken over like all others. This must stay so: a message that was forgotten here and learned
   again has the tokens of another reading than its row, which keeps those that it was told with first. With this all
   ledgers have the counts of a plain loop over the log; without it most had others after some thousand acts.

A process that is killed at any moment leaves a place that is too low, or none: what was told is told again, which
changes no row, and what was heard is heard again, which changes no lesson. Several processes may do this with one
ledger at once: each transaction looks whether the places are still those it knows.

Nobody waits for a clock: those of the hosts say who wins where two contradict each other, never whether all agree.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spamnb.acts import training
from spamnb.base.label import How
from spamnb.exchange.port import Log, News, Told, news_of
from spamnb.ledger.ledger import Ledger

_TOLD_TOGETHER = 500  # 1 MB, in one transaction of the log
# In one transaction of the ledger, for which mail waits: while a service heard 2,900 lessons, messages were judged and
# moved within 68 ms at p90, and within 46 ms without that; with 50 together within 209 ms. Of processor time a lesson
# takes 1.6 ms, with 50 together 1.4.
_HEARD_TOGETHER = 16


class Round(NamedTuple):
    """What a round has done: how many lessons it told, how many rows it heard, and how many lessons these changed.

    is_over: whether nothing was left then. is_forgotten: the user was forgotten since this ledger was made: it is to be
    removed, and nothing was told or heard.
    """

    told: int = 0
    heard: int = 0
    changed: int = 0
    is_over: bool = False
    is_forgotten: bool = False


def exchange(
    ledger: Ledger, log: Log, account: str, host: str, news: News, go_on: Callable[[], bool] = lambda: True
) -> Round:
    """Make a round. host: how this host is called in the log. go_on: asked before each transaction.

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
        if identity != news.log:  # another process has begun with another log meanwhile
            break
        rows = log.hear(account, since, _HEARD_TOGETHER)
        are_all = len(rows) < _HEARD_TOGETHER
        # No row is up to the last place of before any more: each was heard, has moved above it, or was deleted.
        upto = max([rows[-1].place if rows else since, *([news.account.last] if are_all else [])])
        changed = _take_over(ledger, host, news.log, rows, since, upto)
        if changed is not None:
            done = done._replace(heard=done.heard + len(rows), changed=done.changed + changed)
            if are_all:
                return done._replace(is_over=True)
    return done


def is_forgotten(ledger: Ledger, news: News) -> bool:
    """Whether the user was forgotten in the log since this ledger was made, or has something in it.

    What a ledger has noted of the log is compared where there is such a note; times of two hosts only where not.
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
    """Begin with the log anew where the places are of another one, or of a later one than it is now."""
    with ledger.snapshot():
        known, heard = ledger.state.log, ledger.state.heard
    if known == news.log and heard > news.account.last:  # another process may have heard more meanwhile
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
    """Tell what was learned since it was told last. Returns how many lessons."""
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
            with ledger.snapshot():  # of one moment: what was heard after the lesson is not known to it
                heard = ledger.state.heard
                lessons = ledger.lessons.kept(digests, [digest for digest in digests if digest not in there])
            log.tell(account, heard, host, lessons)
            number += len(lessons)
        # To read lessons again has a number, and is no lesson.
        told = changes[-1].number if len(changes) == _TOLD_TOGETHER else last
        with ledger.transaction():
            if ledger.state.log != identity:
                break
            ledger.state.told = max(told, ledger.state.told)
    return number


def _take_over(ledger: Ledger, host: str, identity: str, rows: Sequence[Told], since: int, upto: int) -> int | None:
    """Take rows over. Returns how many lessons changed; None where something was learned or heard meanwhile."""
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
