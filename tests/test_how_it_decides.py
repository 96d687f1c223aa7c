"""The worked messages of docs/evidence/score.md: each number there is what the filter gives for the same mail."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from spamnb.base.label import How, Label
from spamnb.bayes.calibration import SLOPE
from spamnb.bayes.score_plain import CAUTION, FAMILY, GRAMS, GRAMS_WEIGHT, LEAST_GRAMS, UNKNOWN, strength
from spamnb.config import Scoring, Senders
from spamnb.filter.judge import Filter, Judgement, judgement_of
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading
from spamnb.mail.reading import read as read_message
from spamnb.mail.tokens.kinds import family_of, visible
from tests.documents import block, read

DOCUMENT = "docs/evidence/score.md"
SCORING = Scoring()


class Row(NamedTuple):
    """Tokens with the same numbers. log_odds, strength and weight are of each; family: how many share a weight."""

    ham: int
    spam: int
    log_odds: float
    strength: float
    family: int
    weight: float
    tokens: list[str]

    @property
    def weights(self) -> float:
        """The sum of the weights of all tokens."""
        return len(self.tokens) * self.weight

    @property
    def evidence(self) -> float:
        """The contribution of all tokens to the sum."""
        return self.weights * self.log_odds

    @property
    def names(self) -> str:
        """The tokens, as the first cell of the table."""
        return ", ".join(f"`{visible(token)}`" for token in self.tokens)


class Mean(NamedTuple):
    """The rows of some of a message's tokens, the strongest evidence for spam first, and what they make together."""

    rows: list[Row]

    @property
    def weights(self) -> float:
        """Their sum."""
        return sum(row.weights for row in self.rows)

    @property
    def evidence(self) -> float:
        """The sum of weights times log-odds."""
        return sum(row.evidence for row in self.rows)

    @property
    def value(self) -> float:
        """The mean."""
        return self.evidence / (CAUTION + self.weights)

    def __len__(self) -> int:
        return sum(len(row.tokens) for row in self.rows)


class Worked(NamedTuple):
    """A message: what was learned of its tokens, its two means, and what the filter makes of it."""

    evidence: Evidence
    words: Mean
    grams: Mean
    judgement: Judgement


def shown(number: float, decimals: int = 3) -> str:
    """A number as the document writes it."""
    return f"{number:.{decimals}f}".replace("-", "−")


def line(*cells: object) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def section(title: str = "One message worked out") -> str:
    """Return the text of the document under a title."""
    _, _, text = read(DOCUMENT).partition(f"\n## {title}\n")
    return text.partition("\n## ")[0]


def learned() -> list[tuple[Label, Reading]]:
    """The messages of the first table, as they are read."""
    rows = re.findall(r"^\| (ham|spam) \| (.+?) \| (.+?) \| (.+?) \|$", section(), re.MULTILINE)
    assert len(rows) == 6
    return [
        (Label.of(label), read_message(f"From: {sender}\nSubject: {subject}\n\n{text}\n".encode()))
        for label, sender, subject, text in rows
    ]


def worked(name: str) -> Worked:
    """Learn the messages of the document, and judge the one of that name."""
    lessons = MemoryLessons()
    for label, reading in learned():
        lessons.learn([reading], label, "a document", 0.0, how=How.HAND)
    reading = read_message(block(DOCUMENT, name).encode())
    tokens = list(reading.tokens)
    evidence = lessons.evidence(tokens)
    explanation = Filter(lessons, SCORING, Senders()).explain(reading)
    log_odds = {clue.token: clue.log_odds for clue in explanation.clues}
    words = mean_of([token for token in tokens if family_of(token) != GRAMS], evidence, log_odds)
    grams = mean_of([token for token in tokens if family_of(token) == GRAMS], evidence, log_odds)
    return Worked(evidence, words, grams, explanation.judgement)


def mean_of(tokens: Sequence[str], evidence: Evidence, log_odds: Mapping[str, float]) -> Mean:
    """The rows of tokens; what was never met has no log-odds."""
    families = {**Counter(map(family_of, tokens)), GRAMS: 1}
    rows = []
    for token in tokens:
        ham, spam, *_ = evidence.counts.get(token, (0, 0))
        size = strength(log_odds.get(token, 0.0))
        family = families[family_of(token)]
        rows.append((ham, spam, log_odds.get(token, 0.0), size, family, size * family**FAMILY, token))
    rows.sort(key=lambda row: (-row[2], row[4]))
    alike = groupby(rows, key=lambda row: row[:-1])
    return Mean([Row(*numbers, [row[-1] for row in same]) for numbers, same in alike])


def short_message() -> Iterator[str]:
    """Return the section's text about the first message."""
    message = worked("message")
    words, judgement = message.words, message.judgement
    assert math.isclose(words.value, judgement.log_odds)
    yield f"It has {len(words) + len(message.grams)} tokens"
    assert len(message.grams) < LEAST_GRAMS
    yield f"{len(message.grams)} of them are grams"
    yield f"a message with fewer than {LEAST_GRAMS} grams is judged without them"
    for row in words.rows:
        of_each = shown(row.log_odds), shown(row.strength), row.family, shown(row.weight)
        yield line(row.names, row.ham, row.spam, *of_each, shown(row.weights, 2), shown(row.evidence, 2))
    yield line(f"all {len(words)}", *[""] * 6, shown(words.weights, 2), shown(words.evidence, 2))
    (row,) = [row for row in words.rows if "buy" in row.tokens]
    yield from log_odds_of(row, message.evidence)
    assert math.isclose(row.strength, row.log_odds**1.5)
    yield "The strength is |log-odds|^1.5."
    yield f"{row.family} of the tokens are words of the text"
    yield f"{shown(row.strength)} / {shown(row.family**-FAMILY, 4)} = {shown(row.weight)}"
    yield f"{shown(row.weight)} · {shown(row.log_odds)} = {shown(row.weight * row.log_odds, 2)}"
    yield f"the {len(row.tokens)} tokens of the row {shown(row.evidence, 2)}"
    yield f"the strength {UNKNOWN:g}"
    yield mean_in_words(words)
    yield f"1 / (1 + e^(−{SLOPE:g} · {shown(words.value)})) = {shown(judgement.probability)}"
    yield f"from {SCORING.spam_cutoff} on it is {judgement.verdict}"
    yield f"up to {SCORING.ham_cutoff} it would be ham"


def log_odds_of(row: Row, evidence: Evidence) -> Iterator[str]:
    """How the log-odds of a row follow from its counts."""
    ham, spam = map(evidence.of_class, Label)
    alpha, distinct = SCORING.alpha, ham.vocabulary
    yield f"{row.spam} of the learned spam and {row.ham} of the learned ham have it"
    yield f"the tokens of the spam are {spam.token_messages}, those of the ham {ham.token_messages}"
    yield f"{distinct} of them are distinct"
    yield f"`scoring.alpha` is {alpha}"
    of_spam = f"({row.spam} + {alpha}) / ({spam.token_messages} + {alpha} · {distinct})"
    of_ham = f"({row.ham} + {alpha}) / ({ham.token_messages} + {alpha} · {distinct})"
    yield f"ln({of_spam}) − ln({of_ham}) = {shown(row.log_odds)}"


def mean_in_words(mean: Mean, decimals: int = 3) -> str:
    """How a mean follows from the sums of its table."""
    return f"{shown(mean.evidence, 2)} / ({CAUTION:g} + {shown(mean.weights, 2)}) = {shown(mean.value, decimals)}"


def longer_message() -> Iterator[str]:
    """Return the section's text about the message with a second mean."""
    message = worked("longer")
    words, grams, judgement = message.words, message.grams, message.judgement
    assert len(grams) >= LEAST_GRAMS
    yield f"has {len(grams)} grams"
    for row in grams.rows:
        assert row.weight == row.strength
        of_all = shown(row.weights, 2), shown(row.evidence, 2)
        yield line(row.names, row.ham, row.spam, shown(row.log_odds), shown(row.weight), *of_all)
    yield line(f"all {len(grams)}", *[""] * 4, shown(grams.weights, 2), shown(grams.evidence, 2))
    yield mean_in_words(grams, 4)
    yield f"that of the other {len(words)} tokens {shown(words.value, 4)}"
    assert math.isclose(judgement.log_odds, (words.value + GRAMS_WEIGHT * grams.value) / (1 + GRAMS_WEIGHT))
    both = f"{shown(words.value, 4)} + {GRAMS_WEIGHT:g} · {shown(grams.value, 4)}"
    yield f"({both}) / {1 + GRAMS_WEIGHT:g} = {shown(judgement.log_odds)}"
    alone = judgement_of(words.value, SCORING)
    yield f"a probability of {shown(judgement.probability)}: {judgement.verdict}"
    yield f"would be {alone.verdict}, with {shown(alone.probability)}"


def test_worked_messages_are_what_the_filter_does() -> None:
    """Each row and number in the worked messages is computed, and there are no other numbers."""
    text = " ".join(section().split())
    text = re.sub(r"```eml.*?```|\| learned as .*?(?=Then)", "", text)
    expected = [" ".join(fragment.split()) for fragment in (*short_message(), *longer_message())]
    for fragment in expected:
        assert fragment in text, "\n".join(["these belong into the document:", *expected])
        text = text.replace(fragment, "", 1)
    assert re.findall(r"\S*\d\S*", text) == []


def test_constants_of_the_score_are_those_of_the_document() -> None:
    """The document has the constants in the weights of a mean."""
    text = " ".join(section("The score").split())
    assert strength(4.0) == 4.0**1.5
    assert "A token weighs |log-odds|^1.5" in text
    assert FAMILY == -1 / 3
    assert "each weighs less by the cube root of their number" in text
    assert f"A constant of {CAUTION:g} pulls" in text
    assert f"counts {GRAMS_WEIGHT:g} times as much" in text
    assert f"only if a message has {LEAST_GRAMS} grams" in text
