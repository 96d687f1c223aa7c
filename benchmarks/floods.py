"""Measure whether a flood of first letters is found, and whether other mail is taken for one.

The wanted mail of a corpus comes in the order of its arrival. In each trial a flood of this number of strangers begins
at a message of its second half, and comes within an hour. found: trials in which the flood is found; whole: the part of
its letters that lies in the time that is told; beside: the other letters in that time, at most. none: how often a flood
is told without one, at the end of each day with mail.

    python benchmarks/floods.py CORPUS [--trials 20] [--json]
"""

import random
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

import common

from spamnb.base.label import Label
from spamnb.evaluation.arrival import arrival, header_of
from spamnb.evaluation.corpus import load_corpus
from spamnb.ledger.history.senders import CameFrom
from spamnb.mail.reading import read
from spamnb.rules.flood import USUAL, Before, flood, is_first

_DAY, _HOUR = 86_400.0, 3600.0
_LOOKED_AT = 3 * _DAY
_SIZES = (50, 200, 2000)
_Came = tuple[float, str]  # when, and from which list or address


def main() -> None:
    """Measure, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or `ham/` and `spam/`")
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    mail = sorted(_wanted(options.corpus))
    if not mail:
        parser.error("no message of this corpus says when it came")
    days = sorted({at // _DAY for at, _ in mail})
    of_ham = _with_first(mail)
    told = sum(_found(of_ham, (day + 1) * _DAY) is not None for day in days)
    figures: list[dict[str, object]] = [{"flood": "none", "found": told, "of": len(days), "whole": "", "beside": ""}]
    figures += [_trials(mail, size, options.trials) for size in _SIZES]
    common.report(figures, options.json)


def _wanted(corpus: str) -> Sequence[_Came]:
    found = []
    for each in load_corpus(corpus):
        if each.label is Label.HAM:
            raw = Path(each.path).read_bytes()
            relations, at = read(raw).relations, arrival(header_of(raw))
            if at is not None and relations.sender:
                found.append((at, relations.list_id or relations.sender))
    return found


def _with_first(mail: Sequence[_Came]) -> list[CameFrom]:
    first: dict[str, float] = {}
    return [CameFrom(number, at, first.setdefault(origin, at)) for number, (at, origin) in enumerate(sorted(mail))]


def _found(came: Sequence[CameFrom], now: float) -> tuple[float, float] | None:
    begin, end = (bisect_left(came, at, key=lambda one: one.at) for at in (now - _LOOKED_AT, now))
    earlier = came[max(0, begin - USUAL) : begin]
    if not earlier or begin == end:
        return None
    first = sum(map(is_first, earlier))
    days = (came[begin].at - came[0].at) / _DAY
    return flood(came[begin:end], Before(first, len(earlier) - first, days))


def _trials(mail: Sequence[_Came], size: int, trials: int) -> dict[str, object]:
    whole, beside = list[float](), 0
    for trial in range(trials):
        chance = random.Random(trial)
        since = mail[chance.randrange(len(mail) // 2, len(mail))][0]
        bomb = [(since + _HOUR * chance.random(), f"{number}@{trial}.invalid") for number in range(size)]
        times = _found(_with_first([*mail, *bomb]), since + _HOUR + 1)
        if times is not None:
            whole.append(sum(times[0] <= at <= times[1] for at, _ in bomb) / size)
            beside = max(beside, sum(times[0] <= at <= times[1] for at, _ in mail))
    return {
        "flood": size,
        "found": len(whole),
        "of": trials,
        "whole": f"{min(whole, default=0.0):.2f}",
        "beside": beside,
    }


if __name__ == "__main__":
    main()
