"""Shapes in the tokens of a message, as a person reads them."""

import re

from spamnb.filter.explain import named
from spamnb.filter.judge import Clue
from spamnb.mail.reading import read
from spamnb.mail.tokens.shape_words import SHAPES
from tests.table import over_rows

MESSAGE = b"""\
Received: from mail-12.example.org (host-9.example.org [192.0.2.9]) by mx.example.com; Mon, 2 Nov 2026 09:00:00 +0000
From: "Anna LIND 7" <anna.lind_1984@friends.example>
Message-ID: <d2f1a8c4-1b2c-4d5e-8f90-a1b2c3d4e5f6.20261102@friends.example>
Subject: You have WON $54,000,000

Pay 99.50 in 12 days: 80% off, until 2026.
"""
SAID = {
    token: (named(Clue(token, 1, 0, 1.0, 1.0)).kind, named(Clue(token, 1, 0, 1.0, 1.0)).text)
    for token in read(MESSAGE).tokens
}


def test_numbers() -> None:
    """No number of a text is shown as a row of `d`, alone or in a pair."""
    numbers = {token: said for token, said in SAID.items() if re.search(r"(?<!\w)[$]?d[d.,]*%?(?!\w)", token)}
    assert {"in the subject, an amount like", "a number like", "in the subject, words like"} <= {
        kind for kind, _ in numbers.values()
    }
    in_text = [said for token, said in numbers.items() if token.partition(":")[0] not in SHAPES]
    assert in_text
    assert [said for said in in_text if "dd" in said[1]] == []


@over_rows(
    "row",
    [
        ("from-shape:a.a_d", "letters.letters_digits"),
        ("from-name-shape:Aa A d", "Letters LETTERS digits"),
        ("message-id-shape:uuid.d", "UUID.digits"),
    ],
)
def test_shapes(row: tuple[str, str]) -> None:
    """The shape of a name or an identifier is said in words."""
    token, words = row
    assert SAID[token][1] == words
