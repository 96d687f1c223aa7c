"""The log-odds of tokens, and the tokens that a filter has met: their log-odds are kept from one message to the next.

Most tokens of a message are in the person's other mail too. To look them up again takes a third of judging.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from spamnb.base.label import Label
from spamnb.bayes.estimate import Estimate, bernoulli, log, log_odds, multinomial, multinomial_boolean
from spamnb.bayes.score_plain import strength
from spamnb.config import Model, Scoring
from spamnb.ledger.lessons.evidence import Evidence, Evident
from spamnb.mail.tokens.kinds import family_of

ESTIMATES: dict[Model, Estimate] = {
    "bernoulli": bernoulli,
    "multinomial": multinomial,
    "multinomial-boolean": multinomial_boolean,
}
MOST_MET = 200_000  # tokens, in some 30 MB


class Bound:
    """How many tokens several filters may keep in mind together."""

    __slots__ = ("kept", "most")

    def __init__(self, most: int = MOST_MET) -> None:
        self.most, self.kept = most, 0


class MetTokens:
    """The tokens that a filter has met: log-odds, strength and family of each.

    They are forgotten when the lessons have changed, and when more than the bound are kept.
    """

    def __init__(self, bound: Bound | None = None) -> None:
        self._bound = bound or Bound()
        self._of: dict[str, tuple[float, float, str]] = {}
        self._state: tuple[Any, ...] = ()

    def look_up(self, tokens: Collection[str], lessons: Evident, scoring: Scoring) -> bool:
        """Look up these distinct tokens. Returns whether messages of both classes were learned."""
        if self._bound.kept > self._bound.most:
            self.clear()
        new = [token for token in tokens if token not in self._of]
        evidence = lessons.evidence(new)
        if self._of and self._state != (scoring, evidence.state):
            self.clear()
            new = list(tokens)
            evidence = lessons.evidence(new)
        self._state = scoring, evidence.state
        if evidence.is_taught:
            odds = log_odds_of(new, evidence, scoring)
            self._of.update(zip(new, zip(odds, map(strength, odds), map(family_of, new), strict=True), strict=True))
            self._bound.kept += len(new)
        return evidence.is_taught

    def columns(self, tokens: Sequence[str]) -> Iterator[Any]:
        """Return the log-odds, the strengths and the families of these tokens, which were looked up."""
        return zip(*map(self._of.__getitem__, tokens), strict=True) if tokens else iter(((), (), ()))

    def clear(self) -> None:
        """Forget all of them."""
        self._bound.kept -= len(self._of)
        self._of.clear()


def log_odds_of(tokens: Sequence[str], evidence: Evidence, scoring: Scoring) -> list[float]:
    """Return the log-odds of each token: above 0 for spam, 0 for tokens that were never learned."""
    estimate, alpha = ESTIMATES[scoring.model], scoring.alpha
    never = 0, 0, 0, 0
    of_tokens: list[tuple[int, ...]] = list(map(tuple, map(evidence.counts.get, tokens, itertools.repeat(never))))
    distinct = {*of_tokens} - {never}  # many tokens have the same counts, and more have the same counts in one class
    of_ham, of_spam = (
        {pair: log(*estimate(pair[0], pair[1], of, alpha)) for pair in {counts[label::2] for counts in distinct}}
        for label, of in zip(Label, map(evidence.of_class, Label), strict=True)
    )
    by_counts = {counts: log_odds(of_spam[counts[1::2]], of_ham[counts[::2]]) for counts in distinct}
    by_counts[never] = 0.0
    return list(map(by_counts.__getitem__, of_tokens))
