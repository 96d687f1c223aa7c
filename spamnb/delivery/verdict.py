"""The verdict on a message that is being delivered, and the header fields that pass it to other programs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from spamnb import __version__
from spamnb.base.label import Verdict

Format = Literal["spamnb", "bogofilter"]
FIELD = "X-Spamnb"
NAMES: Mapping[Format, tuple[str, ...]] = MappingProxyType(
    {"spamnb": (FIELD, "X-Spam-Flag", "X-Spam-Status"), "bogofilter": (FIELD, "X-Bogosity")}
)
"""The names of the fields that each format writes. A stranger wrote those that came with a message."""

_VALUE = re.compile(r"(spam|ham|unsure), probability=([01]\.\d{6}), score=(-?\d{1,4}\.\d), version=[\w.+-]+")


@dataclass(frozen=True, slots=True)
class Delivered:
    """A verdict with the probability of spam, and the points in SpamAssassin's scale, with one decimal."""

    verdict: Verdict
    probability: float
    points: float


def fields(delivered: Delivered, style: Format = "spamnb") -> list[tuple[str, str]]:
    """Return the header fields for a verdict, as names and values.

    The words are those that recipes for SpamAssassin and bogofilter look for, and mail programs. Thunderbird wants
    `Yes` or `No` first, KMail a character after each number, a recipe of bogofilter(1) `Spam, tests=bogofilter`. Each
    field is shorter than 78 columns: Python's mail library, and so getmail, folds longer ones.

    >>> for name, value in fields(Delivered(Verdict.SPAM, 0.9987, 8.7)): print(f"{name}: {value}")
    X-Spamnb: spam, probability=0.998700, score=8.7, version=0.1.0
    X-Spam-Flag: YES
    X-Spam-Status: Yes, score=8.7 required=5.0 tests=SPAMNB_SPAM version=0.1.0
    """
    verdict, p, is_spam = delivered.verdict, f"{delivered.probability:.6f}", delivered.verdict is Verdict.SPAM
    if style == "bogofilter":
        value = f"{verdict.capitalize()}, tests=bogofilter, spamicity={p}, version={__version__}"
        return [("X-Bogosity", value)]
    status = f"score={delivered.points:.1f} required=5.0 tests=SPAMNB_{verdict.upper()} version={__version__}"
    own = f"{verdict}, probability={p}, score={delivered.points:.1f}, version={__version__}"
    flag = [("X-Spam-Flag", "YES")] if is_spam else []
    return [(FIELD, own), *flag, ("X-Spam-Status", f"{'Yes' if is_spam else 'No'}, {status}")]


def unknown(reason: str) -> list[tuple[str, str]]:
    """Return the field for a message that could not be judged.

    >>> unknown("ledger")
    [('X-Spamnb', 'unknown, reason=ledger, version=0.1.0')]
    """
    return [(FIELD, f"unknown, reason={reason}, version={__version__}")]


def read_verdict(value: str) -> Delivered | None:
    """Return the verdict in the value of an `X-Spamnb` field; None for any other text.

    >>> read_verdict("ham, probability=0.000012, score=-9.3, version=0.1.0")
    Delivered(verdict=<Verdict.HAM: 'ham'>, probability=1.2e-05, points=-9.3)
    """
    parts = _VALUE.fullmatch(value)
    return parts and Delivered(Verdict(parts[1]), float(parts[2]), float(parts[3]))
