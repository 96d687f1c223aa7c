"""The worked message of docs/how-it-decides.md: each number there is what the filter gives for the same mail."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from spamnb.base.label import How, Label
from spamnb.bayes.calibration import INTERCEPT, SLOPE
from spamnb.bayes.score_plain import CAUTION, CROWD, UNKNOWN, kind, strength, weights
from spamnb.config import Scoring
from spamnb.filter.judge import Explanation, Filter
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading
from spamnb.mail.reading import read as read_message
from tests.documents import block, read

DOCUMENT = "docs/how-it-decides.md"
SCORING = Scoring()


class Row(NamedTuple):
    """Tokens with the same numbers. log_odds, strength and weight are of each; of_kind: how many are of its kind."""

    ham: int
    spam: int
    log_odds: float
    strength: float
    of_kind: int
    weight: float
    tokens: list[str]

    @property
    def weights(self) -> float:
        """Of all tokens."""
        return len(self.tokens) * self.weight

    @property
    def evidence(self) -> float:
        """What all tokens add to the sum."""
        return self.weights * self.log_odds

    def __str__(self) -> str:
        cells = [str(self.ham), str(self.spam), shown(self.log_odds, 3), shown(self.strength, 3), str(self.of_kind)]
        cells += [shown(self.weight, 3), shown(self.weights, 2), shown(self.evidence, 2)]
        return line(", ".join(f"`{token}`" for token in self.tokens), *cells)


class Judged(NamedTuple):
    """What the filter knows of a message, and what it makes of that."""

    tokens: list[str]
    evidence: Evidence
    explanation: Explanation


def shown(number: float, decimals: int) -> str:
    """A number as the document writes it."""
    return f"{number:.{decimals}f}".replace("-", "−")


def line(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def section() -> str:
    """What the document says of the worked message."""
    _, _, text = read(DOCUMENT).partition("## One message worked out\n")
    return text.partition("\n## ")[0]


def learned() -> list[tuple[Label, Reading]]:
    """The messages of the first table, as they are read."""
    rows = re.findall(r"^\| (ham|spam) \| (.+?) \| (.+?) \| (.+?) \|$", section(), re.MULTILINE)
    assert len(rows) == 6
    return [
        (Label.of(label), read_message(f"From: {sender}\nSubject: {subject}\n\n{text}\n".encode()))
        for label, sender, subject, text in rows
    ]


def judged(message: str) -> Judged:
    """Learn the messages of the document, and judge one."""
    lessons = MemoryLessons()
    for label, reading in learned():
        lessons.learn([reading], label, "a document", 0.0, how=How.HAND)
    reading = read_message(message.encode())
    tokens = list(reading.tokens)
    return Judged(tokens, lessons.evidence(tokens), Filter(lessons, SCORING).explain(reading))


def rows_of(judged: Judged) -> list[Row]:
    """The tokens of a message, the strongest evidence for spam first."""
    tokens = judged.tokens
    clues = {clue.token: clue for clue in judged.explanation.clues}
    odds = [clues[token].log_odds if token in clues else 0.0 for token in tokens]
    of_kind = Counter(map(kind, tokens))
    rows = []
    for token, log_odds, weight in zip(tokens, odds, weights(odds, list(map(kind, tokens))), strict=True):
        ham, spam, *_ = judged.evidence.counts.get(token, (0, 0))
        assert token not in clues or clues[token].weight == weight
        rows.append((ham, spam, log_odds, strength(log_odds), of_kind[kind(token)], weight, token))
    rows.sort(key=lambda row: (-row[2], row[4]))
    return [Row(*numbers, [row[-1] for row in alike]) for numbers, alike in groupby(rows, key=lambda row: row[:-1])]


def worked() -> Iterator[str]:
    """All that the section says in numbers."""
    message = judged(block(DOCUMENT, "message"))
    judgement = message.explanation.judgement
    rows = rows_of(message)
    weight, evidence = sum(row.weights for row in rows), sum(row.evidence for row in rows)
    assert math.isclose(evidence / (CAUTION + weight), judgement.log_odds)
    yield f"It has {len(message.tokens)} tokens."
    yield from map(str, rows)
    yield line(f"all {len(message.tokens)}", "", "", "", "", "", "", shown(weight, 2), shown(evidence, 2))
    (row,) = [row for row in rows if "buy" in row.tokens]
    ham, spam = map(message.evidence.of_class, Label)
    alpha, distinct = SCORING.alpha, ham.vocabulary
    yield f"{row.spam} of the learned spam and {row.ham} of the learned ham have it"
    yield f"the tokens of the spam are {spam.token_messages}, those of the ham {ham.token_messages}"
    yield f"{distinct} of them are distinct"
    yield f"`scoring.alpha` is {alpha}"
    of_spam = f"({row.spam} + {alpha}) / ({spam.token_messages} + {alpha} · {distinct})"
    of_ham = f"({row.ham} + {alpha}) / ({ham.token_messages} + {alpha} · {distinct})"
    yield f"ln({of_spam}) − ln({of_ham}) = {shown(row.log_odds, 3)}"
    root = row.of_kind**-CROWD
    yield f"{row.of_kind} of the tokens are words of the text"
    yield f"{shown(row.strength, 3)} / {shown(root, 3)} = {shown(row.weight, 3)}"
    yield f"{shown(row.weight, 3)} · {shown(row.log_odds, 3)} = {shown(row.weight * row.log_odds, 2)}"
    yield f"the {len(row.tokens)} tokens of the row {shown(row.evidence, 2)}"
    yield f"the strength {UNKNOWN:.0f}"
    yield f"{shown(evidence, 2)} / ({CAUTION:.0f} + {shown(weight, 2)}) = {shown(judgement.log_odds, 3)}"
    assert INTERCEPT == 0
    exponent = f"−{SLOPE:g} · {shown(judgement.log_odds, 3)}"
    yield f"1 / (1 + e^({exponent})) = {shown(judgement.probability, 3)}"
    yield f"from {SCORING.spam_cutoff} on it is {judgement.verdict}"
    yield f"up to {SCORING.ham_cutoff} it would be ham"


def test_worked_message_is_what_the_filter_does() -> None:
    """Each row and each sentence with a number in the worked message is computed, and no other number is there."""
    text = " ".join(section().split())
    text = re.sub(r"<!--.*?-->|```eml.*?```|\| learned as .*?(?=Then)", "", text)
    for fragment in (" ".join(each.split()) for each in worked()):
        assert fragment in text, fragment
        text = text.replace(fragment, "", 1)
    assert re.findall(r"\S*\d\S*", text) == []
