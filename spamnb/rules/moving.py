"""Decide whether mail may be moved. Pure: the lessons, and the share of spam in the last mail, come in as values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from spamnb.base.label import Label
from spamnb.base.wording import plural
from spamnb.config import Learning
from spamnb.rules.chance import ABNORMAL, chance_of_at_least

# The circuit breaker trips at more than this share of this number of newest verdicts. A lower share would stop the
# filter of a person whose mail is mostly spam for a day. A longer window would let a faulty filter move more mail.
WINDOW, SHARE = 100, 0.95
USUAL = 1000  # messages before the last ones: they show the usual share of spam in a person's mail
SORTING_DAYS = 4.0  # a filter that knows enough waits at most so long for its person to sort the inbox
_SPAM_PER_HAM, _MOST_HAM = 4, 100


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no mail is moved. Times are seconds since the epoch.

    tripped_at: when the circuit breaker stopped moving. paused_until: the end of a person's pause (infinity: until
    `resume`). Each is None if it is not the reason.
    """

    tripped_at: float | None
    paused_until: float | None


class Hindrance(NamedTuple):
    """What keeps mail from being moved; false if nothing does.

    missing: in words, what the filter must learn first; "" for nothing. stop: what has stopped moving, or None.
    """

    missing: str
    stop: Stop | None

    def __bool__(self) -> bool:
        return bool(self.missing) or self.stop is not None

    @property
    def words(self) -> str:
        """Return the hindrance in words; "" for none."""
        return self.missing or ("moving is stopped" if self.stop else "")


def fewest(label: Label, learning: Learning) -> int:
    """Return how many messages of a class must at least be learned before mail may be moved: of spam a quarter as many.

    Few ham make a filter dangerous, few spam make it timid. `ham_needed` asks for more ham beside much spam.
    Careless lives of csdmc2010, five orders: moving begins at message 419 with 20 and 20, at 272 with 20 and 5; caught
    in the second half 91.9 and 92.4 %, no ham moved.

    >>> [fewest(label, Learning(minimum_messages=20)) for label in Label]
    [20, 5]
    """
    return learning.minimum_messages if label is Label.HAM else math.ceil(learning.minimum_messages / 4)


def is_taught(ham: int, spam: int, learning: Learning) -> bool:
    """Tell whether enough is learned for a doubt of the filter to mean anything.

    >>> is_taught(20, 5, Learning()), is_taught(20, 4, Learning())
    (True, False)
    """
    return ham >= fewest(Label.HAM, learning) and spam >= fewest(Label.SPAM, learning)


def ham_needed(spam: int, learning: Learning) -> int:
    """Return how many ham must be learned before mail may be moved, beside that much learned spam.

    Few ham beside much spam make a filter dangerous. Other mail than csdmc2010, begun at eight dates: without this
    condition the filter moves 81 of 506 ham, with it none.

    >>> [ham_needed(spam, Learning()) for spam in (5, 200, 4000)]
    [20, 50, 100]
    """
    return max(fewest(Label.HAM, learning), min(_MOST_HAM, math.ceil(spam / _SPAM_PER_HAM)))


def missing_lessons(ham: int, spam: int, learning: Learning) -> str:
    """Return what the filter must still learn before it may move mail, in words; "" for nothing.

    >>> missing_lessons(20, 3, Learning(minimum_messages=20))
    '2 more spam messages to learn'
    """
    needed = zip(lessons_needed(ham, spam, learning), (Label.HAM, Label.SPAM), strict=True)
    wanted = [plural(number, f"more {label.word} message") for number, label in needed if number]
    return f"{' and '.join(wanted)} to learn" if wanted else ""


def lessons_needed(ham: int, spam: int, learning: Learning) -> tuple[int, int]:
    """Return how many more ham and spam messages must be learned before mail may be moved.

    >>> lessons_needed(30, 3, Learning(minimum_messages=20))
    (0, 2)
    """
    return max(0, ham_needed(spam, learning) - ham), max(0, fewest(Label.SPAM, learning) - spam)


def until_it_moves(needed: tuple[int, int], weekly: tuple[int, int], learning: Learning, junk: str) -> str:
    """Return what a person does until the filter moves mail, and about how long that takes; "" if no lesson is needed.

    needed: how many ham and spam messages are still to be learned. weekly: how many come in a week; 0: not known, and
    then no time is named. junk: the folder for spam. Kept ham counts `kept_days` after it came.

    >>> until_it_moves((0, 5), (70, 30), Learning(), "Junk")
    'until you have moved 5 spam to Junk; at your 30 a week, about a day'
    >>> until_it_moves((12, 5), (70, 2), Learning(), "Junk")
    'until you have kept 12 more ham and moved 5 spam to Junk; at your 2 spam a week, about 2 weeks'
    >>> until_it_moves((12, 0), (70, 30), Learning(), "Junk"), until_it_moves((12, 0), (0, 30), Learning(), "Junk")
    ('until you have kept 12 more ham; at your 70 a week, about 4 days', 'until you have kept 12 more ham')
    >>> until_it_moves((20, 0), (70, 30), Learning(kept=False), "Junk")
    'until you have filed 20 ham'
    """
    acts, waits = [], []
    for label, number, a_week in zip(Label, needed, weekly, strict=True):
        if not number:
            continue
        is_ham = label is Label.HAM
        do, where = (("kept" if learning.kept else "filed"), "") if is_ham else ("moved", f" to {junk}")
        more = "" if number == fewest(label, learning) else " more"
        acts.append(f"{do} {number}{more} {label.word}{where}")
        if a_week and (learning.kept or not is_ham):
            waits.append((7 * number / a_week + is_ham * learning.kept_days, a_week, label.word))
    if not acts:
        return ""
    until = f"until you have {' and '.join(acts)}"
    if len(waits) < len(acts):
        return until
    days, a_week, word = max(waits)
    return f"{until}; at your {a_week}{f' {word}' * (len(acts) > 1)} a week, about {_span(days)}"


def _span(days: float) -> str:
    """Return a number of days as one says it.

    >>> [_span(days) for days in (0.1, 1.2, 2, 13, 17, 100)]
    ['a day', 'a day', '2 days', '13 days', '2 weeks', '3 months']
    """
    if days < 1.5:
        return "a day"
    if days < 13.5:
        return f"{round(days)} days"
    return f"{round(days / 7)} weeks" if days < 60 else f"{round(days / 30)} months"


def paused_until(noted: float | None, now: float) -> float | None:
    """Return the end of a person's pause by the ledger's note; None if it is over, or never was.

    >>> paused_until(100.0, 99.0), paused_until(100.0, 100.0), paused_until(math.inf, 1e12), paused_until(None, 0.0)
    (100.0, None, inf, None)
    """
    return None if noted is None or noted <= now else noted


def confirmed(fates: Sequence[bool]) -> int:
    """Return how much of the newest mail that the filter has called spam the person has moved to the spam folder.

    fates: of mail that the filter called spam and whose fate is known, the newest first: True if the person has called
    it spam, False if it was kept, or left behind.

    >>> confirmed([True, True, False, True]), confirmed([])
    (2, 0)
    """
    return sum(takewhile(bool, fates))


def why_it_waits(unsorted: int, days: float, fates: Sequence[bool], learning: Learning) -> str:
    """Return why a filter that knows enough still waits before it moves mail, in words; "" for nothing.

    unsorted: the messages in the inbox that it has called spam. days: how long it has known enough, by the time of the
    mail. fates: as in `confirmed`, of mail that came since then. The wait ends if the person has confirmed the newest
    of them, as many as the filter needs of spam.

    csdmc2010 by the time of arrival, begun empty at the messages 100, 120, … 240, habit `tidy`, ham moved and spam
    caught of the first 200: 38 and 56 % if any five later messages end the wait, and two days do; 6 and 62 % by all
    rules of today. By Date, where six starts are one event, 14 and 53 %, and 11 and 57 %.

    >>> [why_it_waits(3, days, fates, Learning()) for days, fates in ((4.0, []), (0.0, [True] * 5))]
    ['', '']
    >>> [why_it_waits(number, 3.9, [True] * 4 + [False, True], Learning()) for number in (0, 3)]
    ['', 'it takes 3 messages in the inbox for spam, and waits four days at most until you sort the inbox']
    """
    if not unsorted or confirmed(fates) >= fewest(Label.SPAM, learning) or days >= SORTING_DAYS:
        return ""
    takes = f"it takes {plural(unsorted, 'message')} in the inbox for spam"
    return f"{takes}, and waits four days at most until you sort the inbox"


def trips(spam: int, usual: Callable[[], tuple[int, int]]) -> bool:
    """Tell whether that number of spam in the last `WINDOW` verdicts is abnormal for this person.

    usual: gives ham and spam among the messages judged before these. More than `SHARE` is abnormal, unless this
    person's mail is usually like that: the chance of that much spam, given the earlier mail, is above one in a million.

    >>> [trips(97, lambda: before) for before in ((600, 400), (50, 950), (0, 0))]
    [True, False, True]
    """
    if spam <= SHARE * WINDOW:
        return False
    ham_before, spam_before = usual()
    if not spam_before:
        return True
    return chance_of_at_least(spam, WINDOW, (spam_before, ham_before)) < ABNORMAL
