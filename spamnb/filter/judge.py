"""The filter: it makes a score, a probability and a verdict from a message's tokens and their counts.

It uses plain numbers. Arrays of one message's tokens are not faster, and importing numpy takes longer than judging a
message.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

from spamnb.base.label import Label, Verdict
from spamnb.bayes.calibration import SLOPE, probability
from spamnb.bayes.score_plain import message_weights, score, unused_weight, weights
from spamnb.config import Config, Scoring, Senders
from spamnb.filter.met_tokens import MetTokens, log_odds_of
from spamnb.filter.vouching import NOBODY_TRUSTED, Trusted, voucher
from spamnb.ledger.lessons.acquaintance import Acquaintance, Seen, SignedBefore, tokens_of
from spamnb.ledger.lessons.evidence import Evident
from spamnb.mail.reading import Content, Reading
from spamnb.mail.relations import Relations
from spamnb.mail.tokens.kinds import family_of

if TYPE_CHECKING:  # numpy is not imported to judge one message
    from spamnb.ledger.lessons.port import Lessons, Teacher


class Judgement(NamedTuple):
    """A verdict, the calibrated probability of spam, and the score behind it (a mean of log-odds).

    listed: the pattern of `senders` that decided the verdict, whatever the probability; or "". vouched: why the
    message is unsure and not spam, in words, if the person's own server vouches for its sender; or "". unread: why it
    is unsure and not ham, in words, if some of its text was not read; or "".
    """

    verdict: Verdict
    probability: float
    log_odds: float
    listed: str = ""
    vouched: str = ""
    unread: str = ""

    @property
    def why_unsure(self) -> str:
        """Why the message is unsure, whatever the probability, in words; or ""."""
        return self.vouched or self.unread


class Clue(NamedTuple):
    """One token's part in a verdict. `log_odds` above 0 points to spam. ham, spam: learned messages with the token.

    `weight`: of the token in the score, from 0 to 1. `share`: its part of the log-odds of the probability; the shares
    of all clues sum to these log-odds.
    """

    token: str
    ham: int
    spam: int
    log_odds: float
    weight: float
    share: float = 0.0

    @property
    def contribution(self) -> float:
        """Return what the token adds to the score: its weight times its log-odds."""
        return self.weight * self.log_odds


class Explanation(NamedTuple):
    """A judgement with its clues, sorted by contribution, and the messages that taught the first of them.

    history: what the person's decisions and sent mail say of the sender. silent: the part of the score, from 0 to 1,
    that points neither way.
    """

    judgement: Judgement
    clues: tuple[Clue, ...]
    teachers: "dict[str, list[Teacher]]"
    tokens: int
    history: frozenset[Acquaintance] = frozenset()
    silent: float = 1.0

    @property
    def known(self) -> int:
        """Return the number of the message's tokens that were ever learned."""
        return len(self.clues)


UNTAUGHT = Judgement(Verdict.UNSURE, 0.5, 0.0)
UNREAD = "it goes past a limit, so some of its text was not read, and that may be spam"


class Filter:
    """Judges messages by the present counts of their tokens, and gives reasons.

    met: the tokens that it has met, if it judges many messages between two lessons.
    """

    def __init__(
        self,
        lessons: "Lessons",
        scoring: Scoring,
        senders: Senders,
        trusted: Trusted = NOBODY_TRUSTED,
        met: MetTokens | None = None,
    ) -> None:
        self._lessons = lessons
        self._scoring = scoring
        self._priority = _Priority(senders, trusted)
        self._met = met

    @classmethod
    def of(cls, lessons: "Lessons", config: Config, met: MetTokens | None = None) -> Self:
        """Return the filter of a configuration."""
        return cls(lessons, config.scoring, config.senders, Trusted.of(config), met)

    def judge(self, reading: Reading | Content) -> Judgement:
        """Score a message. A filter that has learned nothing of one class is unsure."""
        (seen,) = self._lessons.seen([reading.relations])
        tokens = [*reading.tokens, *tokens_of(seen.known)]
        met = MetTokens() if self._met is None else self._met
        is_taught = met.look_up(tokens, self._lessons, self._scoring)
        judgement = _judgement_of_met(tokens, met, self._scoring) if is_taught else UNTAUGHT
        return self._priority.decided(judgement, reading, seen, self._lessons.signed_before)

    def judged_before(self, judgement: Judgement, relations: Relations) -> Judgement:
        """Return a judgement of before: spam may have become unsure, since servers add fields after the verdict."""
        if judgement.verdict is not Verdict.SPAM or not self._priority.names_a_server:
            return judgement
        (seen,) = self._lessons.seen([relations])
        now = self._priority.decided(judgement, Content({}, relations), seen, self._lessons.signed_before)
        return now if now.vouched else judgement

    def explain(self, reading: Reading, strongest: int = 5, *, without_itself: bool = False) -> Explanation:
        """Judge a message, and give the reasons; `without_itself`: as if the message were not learned.

        strongest: the number of clues for which the result names the messages that taught them.
        """
        without = reading.digest if without_itself else None
        (seen,) = self._lessons.seen([reading.relations], without)
        tokens = [*reading.tokens, *tokens_of(seen.known)]
        evidence = self._lessons.evidence(tokens, without)
        odds = log_odds_of(tokens, evidence, self._scoring)
        weight = weights(odds, list(map(family_of, tokens)))
        judgement = judgement_of(score(odds, weight), self._scoring) if evidence.is_taught else UNTAUGHT
        slope = SLOPE if evidence.is_taught else 0.0
        clues = []
        for token, of_token, its_weight in zip(tokens, odds, weight, strict=True):
            counts = evidence.counts.get(token, ())
            if any(counts):
                clues.append(Clue(token, counts[0], counts[1], of_token, its_weight, slope * its_weight * of_token))
        clues.sort(key=lambda clue: (-abs(clue.contribution), -clue.ham - clue.spam, clue.token))
        teachers = self._lessons.teachers([clue.token for clue in clues[:strongest]], without=without)
        signed_before = partial(self._lessons.signed_before, without=without)
        judgement = self._priority.decided(judgement, reading, seen, signed_before)
        return Explanation(judgement, tuple(clues), teachers, len(tokens), seen.known, unused_weight(odds, weight))


class FrozenFilter:
    """Judges many messages by lessons that do not change in that time: it looks up each token once."""

    def __init__(self, lessons: Evident, scoring: Scoring, senders: Senders, trusted: Trusted = NOBODY_TRUSTED) -> None:
        self._lessons = lessons
        self._scoring = scoring
        self._priority = _Priority(senders, trusted)
        self._met = MetTokens()

    @classmethod
    def of(cls, lessons: Evident, config: Config) -> Self:
        """Return the filter of a configuration."""
        return cls(lessons, config.scoring, config.senders, Trusted.of(config))

    def judge_all(self, messages: Sequence[Content]) -> list[Judgement]:
        """Judge several messages, each as `Filter.judge` does."""
        senders = self._lessons.seen([message.relations for message in messages])
        tokens = [[*message.tokens, *tokens_of(seen.known)] for message, seen in zip(messages, senders, strict=True)]
        judgements = [UNTAUGHT] * len(messages)
        if self._met.look_up({*itertools.chain.from_iterable(tokens)}, self._lessons, self._scoring):
            judgements = [_judgement_of_met(one, self._met, self._scoring) for one in tokens]
        return [
            self._priority.decided(judgement, message, seen, self._lessons.signed_before)
            for judgement, message, seen in zip(judgements, messages, senders, strict=True)
        ]

    def strongest(self, message: Content, judgement: Judgement, most: int) -> list[Clue]:
        """Return the strongest clues on the side of a message's score, at most `most`, the strongest first."""
        (seen,) = self._lessons.seen([message.relations])
        tokens = [*message.tokens, *tokens_of(seen.known)]
        if not self._met.look_up(tokens, self._lessons, self._scoring):
            return []
        odds, strengths, families = self._met.columns(tokens)
        weighed = zip(tokens, odds, message_weights(strengths, families), strict=True)
        side = [one for one in weighed if one[1] * one[2] * judgement.log_odds > 0]
        side = sorted(side, key=lambda one: (-abs(one[1] * one[2]), one[0]))[:most]
        counts = self._lessons.evidence([token for token, *_ in side]).counts
        clues = [Clue(token, counts[token][0], counts[token][1], *rest) for token, *rest in side]
        return sorted(clues, key=lambda clue: (-abs(clue.contribution), -clue.ham - clue.spam, clue.token))


def _judgement_of_met(tokens: Sequence[str], met: MetTokens, scoring: Scoring) -> Judgement:
    odds, strengths, families = met.columns(tokens)
    return judgement_of(score(odds, message_weights(strengths, families)), scoring)


def judgement_of(mean: float, scoring: Scoring) -> Judgement:
    """Return the judgement that follows from a score."""
    p = probability(mean)
    if p >= scoring.spam_cutoff:
        return Judgement(Verdict.SPAM, p, mean)
    return Judgement(Verdict.HAM if p <= scoring.ham_cutoff else Verdict.UNSURE, p, mean)


class _Priority:
    """What has priority over the probability.

    The person's own lists, a server that vouches for the sender, and text that was not read: a message with such text
    is never ham, since a stranger would write spam where it is not read.
    """

    def __init__(self, senders: Senders, trusted: Trusted) -> None:
        self._senders = senders
        self._authserv_id = trusted.authserv_id
        self._contacts = trusted.contacts

    @property
    def names_a_server(self) -> bool:
        """Whether there is a server that could vouch for a sender."""
        return self._authserv_id is not None

    def decided(
        self,
        judgement: Judgement,
        message: Reading | Content,
        seen: Seen,
        signed_before: Callable[[Relations], SignedBefore],
    ) -> Judgement:
        """Return the judgement after these. The probability does not change."""
        relations = message.relations
        named = self._senders.named(relations.senders, relations.list_id)
        if named is not None:
            verdict = Verdict.HAM if named[0] is Label.HAM else Verdict.SPAM
            return judgement._replace(verdict=verdict, listed=named[1])
        if judgement.verdict is Verdict.SPAM:
            why = voucher(relations, seen, signed_before, self._authserv_id, self._contacts)
            return judgement._replace(verdict=Verdict.UNSURE, vouched=why) if why else judgement
        if judgement.verdict is Verdict.HAM and message.is_in_part:
            return judgement._replace(verdict=Verdict.UNSURE, unread=UNREAD)
        return judgement
