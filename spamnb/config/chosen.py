"""A person's choices beside the configuration, as values, and the configuration with these choices.

The configuration has priority: a cutoff that is written there, and its `senders`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_type_hints

from spamnb.base.label import Role
from spamnb.config.keys import check_cutoffs
from spamnb.config.named_senders import Senders, SendersInForce
from spamnb.config.readers import Reader, read_text
from spamnb.config.settings import Config, Scoring

CUTOFFS = ("ham_cutoff", "spam_cutoff")
"""The keys of `scoring` that a person can choose."""
STRICTNESS = {"gentle": 0.99, "normal": Scoring().spam_cutoff, "strict": 0.9}
"""Spam cutoffs by the names that a person may give instead of a number."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices.

    cutoffs: by their keys, the newest choice last. sorted: patterns, each with the role of the folder for mail that is
    not spam, the newest choice first.
    """

    senders: Senders = field(default_factory=Senders)
    cutoffs: Mapping[str, float] = field(default_factory=dict)
    sorted: tuple[tuple[str, Role], ...] = ()


def cutoff_of(key: str, written: str) -> float:
    """Return a cutoff as the configuration would read it. Raises ValueError with the fault and what to write.

    A spam cutoff may have a name.

    >>> cutoff_of("spam_cutoff", "gentle"), cutoff_of("spam_cutoff", "0.97")
    (0.99, 0.97)
    """
    if key == "spam_cutoff" and written in STRICTNESS:
        return STRICTNESS[written]
    reader: Reader[float] = get_type_hints(Scoring, include_extras=True)[key].__metadata__[0]
    return read_text(reader, written)


def with_choices(config: Config, chosen: Chosen) -> Config:
    """Return the configuration of a file with a person's choices.

    To apply it twice changes nothing more. A cutoff that the file names is not replaced. If two cutoffs contradict each
    other, the newest one counts, or none: the other one may have been undone or written into the file since.
    """
    free = [(key, number) for key, number in chosen.cutoffs.items() if f"scoring.{key}" not in config.written]
    possible = (with_cutoffs(config.scoring, dict(some)) for some in (free, free[-1:]))
    scoring = next((scoring for scoring in possible if not contradiction(scoring)), config.scoring)
    senders = SendersInForce(config.senders.allow, config.senders.block, chosen.senders)
    return replace(config, scoring=scoring, senders=senders)


def with_cutoffs(scoring: Scoring, cutoffs: Mapping[str, float]) -> Scoring:
    """Return the same values with these cutoffs, by their keys."""
    ham, spam = (cutoffs.get(key, getattr(scoring, key)) for key in CUTOFFS)
    return replace(scoring, ham_cutoff=ham, spam_cutoff=spam)


def contradiction(scoring: Scoring) -> str:
    """Return why the two cutoffs contradict each other, and what to do; "" if they do not."""
    return next((what for _, what in check_cutoffs({key: getattr(scoring, key) for key in CUTOFFS})), "")
