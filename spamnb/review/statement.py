"""The statement of a month or week: what went to Junk, the five to look at, and how many were ham at most.

Three of the five are the most probable to be ham: the greatest share of the person's own ham looks at least as much
like spam, each message judged without itself. Two are drawn at random, one of each layer of certainty (`at_most`). The
draw follows from the period and the mark of the ledger, so that it stays the same, and no stranger can know it.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spamnb.acts.current_files import CurrentFile, CurrentFiles
from spamnb.acts.not_yet import moved_nothing_until
from spamnb.base.label import Role
from spamnb.config import Config
from spamnb.filter.judge import Filter
from spamnb.ledger.history.messages import MovedToSpam
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.review.at_most import Drawn, at_most
from spamnb.review.own_mail import MOST, judge_own_mail
from spamnb.review.period import Period

_FIVE, _LIKELY = 5, 3
# A probability at the time of the move. On csdmc2010 nearly all ham that is moved is below it, and a fifth of the spam.
_SURE = 0.985
_FEWEST_HAM = 20  # less ham says nothing of a share


@dataclass(frozen=True, slots=True)
class Shown:
    """A message to look at. place: its file. ham: how many of the person's ham look at least as much like spam.

    of: the number of that ham, 0 if it is too little to tell. is_drawn: it was drawn at random.
    """

    moved: MovedToSpam
    place: CurrentFile
    ham: int
    of: int
    is_drawn: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement of a period. moved: messages that the filter moved to Junk; back: those of them that are ham now.

    caught, spam: as in `history.figures.Caught`. drawn: of all periods up to this one, how many messages were drawn;
    answered: what a person has said of them. moved_then: the messages of the answered draws' cells, together.
    """

    period: Period
    moved: int
    back: int
    caught: int
    spam: int
    shown: tuple[Shown, ...]
    drawn: int
    answered: tuple[Drawn, ...]

    @property
    def at_most(self) -> int | None:
        """How many messages of the answered draws were ham at most; None without an answer."""
        return at_most(self.answered) if self.answered else None

    @property
    def behind(self) -> int:
        """How many messages the bound is about."""
        return sum(one.of for one in self.answered)


def statement(ledger: Ledger, config: Config, period: Period, most: int = MOST) -> Statement:
    """Return the statement of a period; it reads only. most: as for `judge_own_mail`.

    If the newest letter was about the period, no other messages are shown than in the letter.
    """
    with ledger.snapshot():
        settled, mark, told = ledger.journal.all_settled(), ledger.state.mark, ledger.state.told
        silent = frozenset(map(bytes.fromhex, ledger.state.silent))
        moved = ledger.messages.moved_to_spam(period.since, period.next.since)
        draws = [draw for each in _periods(ledger, period) for draw in _drawn(ledger, each, mark)]
        said = {one.digest for _, one, _ in draws if one.is_answered} | settled | silent
        answered = [Drawn(of, one.is_ham) for _, one, of in draws if one.digest in said]
        (caught,) = ledger.figures.caught([period.since, period.next.since], moved_nothing_until(ledger))
    to_ask = [one for one in moved if not one.is_answered and one.digest not in settled]
    if told is not None and told.period == str(period):
        to_ask = [one for one in to_ask if one.digest in told.shown]
    drawn = {one.digest for of_period, one, _ in draws if of_period == period}
    shown = tuple(_five(ledger, config, to_ask, drawn, most))
    back = sum(one.is_ham for one in moved)
    return Statement(period, len(moved), back, caught.caught, caught.spam, shown, len(draws), tuple(answered))


def _periods(ledger: Ledger, until: Period) -> Iterator[Period]:
    """Yield the periods in which mail was moved to spam, the last of them `until`."""
    first = ledger.messages.first_moved_to_spam()
    period = until if first is None else until.of(first)
    while period.since <= until.since:
        yield period
        period = period.next


def _drawn(ledger: Ledger, period: Period, mark: str) -> Iterator[tuple[Period, MovedToSpam, int]]:
    """Yield what is drawn of a period: the message, and the number of messages in its cell."""
    moved = ledger.messages.moved_to_spam(period.since, period.next.since)
    for is_sure in (False, True):
        cell = [one for one in moved if (one.probability >= _SURE) is is_sure]
        if cell:
            yield period, min(cell, key=lambda one: _lot(mark, period, one.digest)), len(cell)


def _lot(mark: str, period: Period, digest: bytes) -> bytes:
    return hashlib.sha256(f"{mark} {period} ".encode() + digest).digest()


def _five(
    ledger: Ledger, config: Config, to_ask: Iterable[MovedToSpam], drawn: set[bytes], most: int
) -> Iterator[Shown]:
    """Yield the messages to look at that are still in spam: the drawn ones last."""
    files = CurrentFiles(ledger, config)
    in_spam = [(one, place) for one in to_ask if (place := _in_spam(files, one.digest)) is not None]
    own = judge_own_mail(ledger, config.scoring, most=most)
    without_itself = dict(zip(own.digests, own.probability.tolist(), strict=True))
    ham = sorted(own.probability[~own.is_spam].tolist())
    judge = Filter.of(ledger.lessons, config).judge

    def like_ham(one: MovedToSpam, place: CurrentFile) -> tuple[int, float] | None:
        """Return how many of the ham look at least as much like spam, and how sure it is ham; None without its file."""
        if (probability := without_itself.get(one.digest)) is None:
            found = None if place.location is None else files.read(place.location, one.digest)
            if found is None:
                return None
            probability = judge(read(found[1])).probability
        return len(ham) - bisect_left(ham, probability), -probability

    rated = [(rate, one, place) for one, place in in_spam if (rate := like_ham(one, place)) is not None]
    rated.sort(key=lambda each: each[0], reverse=True)
    of = len(ham) if len(ham) >= _FEWEST_HAM else 0
    likely = [each for each in rated if each[1].digest not in drawn]
    at_random = [each for each in rated if each[1].digest in drawn]
    for (number, _), one, place in (*likely[: max(_LIKELY, _FIVE - len(at_random))], *at_random):
        yield Shown(one, place, number, of, one.digest in drawn)


def _in_spam(files: CurrentFiles, digest: bytes) -> CurrentFile | None:
    return next((file for file in files.of(digest) if file.role is Role.SPAM), None)
