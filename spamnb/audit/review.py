"""What to ask a person first: the mail whose label would teach the filter most.

First mail that the filter calls spam and that a person has read and kept: one of the two is wrong, and nothing is
learned from it. Then the least certain (uncertainty sampling; Lewis and Gale, "A sequential algorithm for training text
classifiers", 1994), one of each sender before the second of any: mail of one sender teaches nearly the same.

On csdmc2010, with 100 messages learned, (1-ROCA)% of the rest is 0.61 in the corpus's order, 0.19 over five shuffles.
After 60 answers at random it is 0.37 and 0.12; after 60 in this order, chosen again after every ten, 0.17 and 0.04
(`benchmarks/audit.py`; single orders differ much). One of each domain before the second does no better.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from spamnb.audit.findings import CLUES, Finding, complete
from spamnb.audit.near_copies import groups, shape
from spamnb.audit.places import Places
from spamnb.config import Config
from spamnb.filter import Filter
from spamnb.label import Label, Verdict
from spamnb.leave_one_out import learned, without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read

MOST = 50  # a person is asked at once
ROUND = 10  # answers, after which it is looked again what teaches most
_LOOKED_AT = 1000  # files: the newest; each is read, which takes some milliseconds
T = TypeVar("T")


def teaching_order(
    items: Iterable[tuple[T, float, Hashable]],
) -> list[T]:
    """Items in the order in which their labels teach most, each given with its probability of spam and its sender.

    >>> teaching_order([("a", 0.9, "x"), ("b", 0.6, "x"), ("c", 0.2, "y")])
    ['b', 'c', 'a']
    """
    met: Counter[Hashable] = Counter()
    ranked = []
    for item, probability, sender in sorted(items, key=lambda one: abs(one[1] - 0.5)):
        ranked.append((met[sender], abs(probability - 0.5), item))
        met[sender] += 1
    return [item for *_, item in sorted(ranked, key=lambda one: one[:2])]


def to_answer(ledger: Ledger, config: Config, most: int = MOST) -> list[Finding]:
    """What to ask about first, at most so many, but for what was answered before.

    That is mail in folders for ham or unsure mail that the filter now calls spam or is unsure about, and mail that was
    learned weakly, about which it is unsure without it, or of the other opinion.
    """
    with ledger.snapshot():
        settled = ledger.journal.all_settled()
        unlearned = {one.digest: (one, was_read) for one, was_read in _unlearned(ledger, config)}
        kept: list[Finding] = []
        others = _weak(ledger, config, settled)
        for one, was_read in unlearned.values():
            (kept if was_read and one.judgement.verdict is Verdict.SPAM else others).append(one)
        asked = (one for one in (*_ordered(kept), *_ordered(others)) if one.digest not in settled)
        return list(islice(asked, most))


def _ordered(found: Iterable[Finding]) -> list[Finding]:
    return teaching_order((one, one.judgement.probability, shape(one.summary)[0]) for one in found)


def _unlearned(ledger: Ledger, config: Config) -> Iterator[tuple[Finding, bool]]:
    """Mail that was judged and not learned, and is not ham by what is known now; and whether it was read."""
    filter_ = Filter(ledger.lessons, config.scoring)
    places = Places(ledger, config)
    for location in ledger.locations.undecided(_LOOKED_AT):
        digest = ledger.messages.get(location.message).digest
        found = places.read(location, digest)
        if found is None or not (found[0].is_unsure or found[0].label is Label.HAM):
            continue
        place, raw = found
        reading = read(raw)
        explained = filter_.explain(reading, strongest=0)
        judgement = explained.judgement
        if judgement.verdict is Verdict.HAM:
            continue
        label = Label(judgement.probability > 0.5) if place.is_unsure else Label.HAM
        side = [clue for clue in explained.clues if clue.contribution * judgement.log_odds > 0]
        finding = Finding(digest, reading.summary, label, False, judgement, tuple(side[:CLUES]), place)
        yield finding, "S" in location.flags


def _weak(ledger: Ledger, config: Config, settled: Collection[bytes]) -> list[Finding]:
    """Mail that was learned weakly, and that the filter, without it and its near-copies, would not learn so."""
    lessons = ledger.lessons
    copies = list(groups(one for one in learned(lessons) if one.weak))
    found = []
    for one in without_groups(lessons, config.scoring, copies):
        label, verdict = one.lesson.label, one.judgement.verdict
        if label is not None and verdict != label.word and one.lesson.digest not in settled:
            found.append(Finding(one.lesson.digest, one.lesson.summary, label, True, one.judgement))
    return complete(ledger, config, found, copies)
