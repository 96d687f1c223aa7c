"""Measure what the monthly letter finds again: lives with it and without it, and where lost ham is in a month's list.

The user is that of `spamnb evaluate --protocol user`, whose filter decides with the functions of the service. At the
end of each 30 days, and at the end of the life, a letter shows five of the messages that the filter has moved to Junk
since the last one, and that nobody has decided on: three that look most like ham, each judged without itself, and two
that were drawn, one of each layer of certainty (`review.statement`). The user looks at the five, and at nothing else
in Junk on that day, moves ham out, and says that the others are spam.

lost: ham that was moved to Junk in all orders. found: how many of them the letters show. by habit: how many the habit
rescues without letters. rank: places of the lost ham of a month among the messages of its letter, the most like ham
first, as "place/number"; only ham on which nobody has decided by then.

    python benchmarks/letters.py CORPUS [--habit NAME …] [--orders 5] [--first 0] [--seed 0] [--json]
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from unittest import mock

import common

from spamnb.base.label import How, Label, Role
from spamnb.config import Learning, Scoring
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.evaluation.simulated_mailbox import Mailbox
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.filter.leave_one_out import without_groups
from spamnb.review.statement import _FIVE, _LIKELY, _SURE

_MONTH = 30  # days
_HABITS = ("blind", "careless")


def main() -> None:
    """Measure, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or `ham/` and `spam/`")
    parser.add_argument("--habit", nargs="+", choices=_HABITS, default=_HABITS)
    parser.add_argument("--orders", type=int, default=5, help="the corpus's own order, and shuffles")
    parser.add_argument("--first", type=int, default=0, help="the first order to run, to do it in pieces")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    clean = list(samples(load_corpus(options.corpus)))
    figures: list[dict[str, object]] = []
    for habit in options.habit:
        for order in range(options.first, options.orders):
            stream = clean if not order else random.Random(order).sample(clean, len(clean))
            figures += _lives(stream, habit, order, options.seed)
    common.report(figures, options.json)


def _lives(stream: Sequence[Sample], habit: str, order: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield the figures of one life without letters, and of the same life with them."""
    for has_letters in (False, True):
        letters = Letters(random.Random(seed), len(stream), has_letters=has_letters)
        with letters.written():
            run = simulate(stream, Scoring(), Learning(), True, habit, seed=seed)
        figures = run.figures()
        yield {
            "habit": habit,
            "order": order,
            "letters": letters.number if has_letters else 0,
            "lost": figures["ham_lost"],
            "found": len(letters.found),
            "by habit": letters.rescued - len(letters.found),
            "caught 2nd half %": figures["caught_second_half"],
            "rank": " ".join(letters.ranks) or "-",
        }


@dataclass
class Letters:
    """The letters of one life. found: ham that the letters have shown. rescued: all ham that came out of Junk."""

    chance: random.Random
    messages: int
    has_letters: bool
    found: set[int] = field(default_factory=set)
    ranks: list[str] = field(default_factory=list)
    number: int = 0
    rescued: int = 0
    _since: int = 0

    def written(self) -> "mock._patch[object]":
        """Write a letter after each month of a life inside."""
        each_day, came, rescue = Mailbox.each_day, Mailbox.came, Mailbox.rescue

        def with_letter(mailbox: Mailbox, day: int) -> None:
            each_day(mailbox, day)
            if day and day % _MONTH == 0:
                self._write(mailbox, mailbox.now)

        def with_last(mailbox: Mailbox, place: int) -> None:
            came(mailbox, place)
            if place == self.messages - 1:
                self._write(mailbox, self.messages)

        def counted(mailbox: Mailbox, place: int) -> None:
            self.rescued += place in mailbox._in_spam
            rescue(mailbox, place)

        return mock.patch.multiple(Mailbox, each_day=with_letter, came=with_last, rescue=counted)

    def _write(self, mailbox: Mailbox, until: int) -> None:
        """Show five of the month's messages, and let the user answer."""
        goals, since, self._since = mailbox._run.goals, self._since, until
        moved = [place for place in range(since, until) if goals[place] is Role.SPAM]
        drawn = {self.chance.choice(cell) for cell in _layers(mailbox._run, moved) if cell}
        open_ = [place for place in moved if not _is_decided(mailbox, place)]
        rated = sorted(open_, key=_without_itself(mailbox, open_).__getitem__)
        lost = [place for place in rated if mailbox.label_of(place) is Label.HAM]
        self.ranks += [f"{rated.index(place) + 1}/{len(rated)}" for place in lost]
        self.number += 1
        if not self.has_letters or not rated:
            return
        at_random = [place for place in rated if place in drawn]
        likely = [place for place in rated if place not in drawn]
        shown = [*likely[: max(_LIKELY, _FIVE - len(at_random))], *at_random]
        mailbox.open_spam(shown[0])
        for place in shown:
            if mailbox.label_of(place) is Label.HAM:
                mailbox._in_spam.setdefault(place, math.nan)  # it may be learned weakly as spam
                mailbox.rescue(place)
                self.found.add(place)
            else:
                mailbox._in_spam.pop(place, None)
                mailbox._mail.learn(place, Label.SPAM, "none is mine", How.HAND)


def _layers(run: UserRun, moved: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the messages of each layer of certainty, as it was when they were moved."""
    sure = {place for place in moved if run.outcomes[place].probability >= _SURE}
    return [place for place in moved if place not in sure], sorted(sure)


def _is_decided(mailbox: Mailbox, place: int) -> bool:
    lesson = mailbox._mail.lessons.find(mailbox._mail.digest(place))
    return lesson is not None and lesson.decision is not None


def _without_itself(mailbox: Mailbox, places: Sequence[int]) -> dict[int, float]:
    """Return the probability of each message today, as if it were not learned."""
    mail = mailbox._mail
    learned = [(digest,) for digest in {*map(mail.digest, places)} if mail.lessons.find(digest) is not None]
    found = {
        left.lesson.digest: left.judgement.probability for left in without_groups(mail.lessons, mail.scoring, learned)
    }
    return {
        place: found[mail.digest(place)] if mail.digest(place) in found else mail.judge(place).probability
        for place in places
    }


if __name__ == "__main__":
    main()
