"""What a message is: by a person's decision a `Label`, by the filter's a `Verdict`."""

from enum import IntEnum, StrEnum


class Label(IntEnum):
    """What a message was learned as; the number is its column in arrays of counts, and its value in the ledger.

    >>> Label.SPAM.word, Label.of("ham"), [0, 7][Label.SPAM]
    ('spam', <Label.HAM: 0>, 7)
    """

    HAM = 0
    SPAM = 1

    @property
    def word(self) -> str:
        """`ham` or `spam`."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> "Label":
        """The label of that word. Raises KeyError for any other word."""
        return cls[word.upper()]


class Verdict(StrEnum):
    """How the filter judges a message."""

    HAM = "ham"
    SPAM = "spam"
    UNSURE = "unsure"


def label_or_none(number: int | None) -> Label | None:
    """The label of that number; None for None."""
    return None if number is None else Label(number)
