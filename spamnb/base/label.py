"""Words for a message: its `Label`, the `Verdict` on it, and `How` it came to these; its folder's `Role`."""

from enum import IntEnum, StrEnum
from typing import Final, Literal


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


class How(StrEnum):
    """By what a message came to be judged or learned. The sentence beside it, `why`, is for people only.

    The ledger's schema holds this list: a new value is a step of the schema.
    """

    MAILDIR = "maildir"  # judged when it appeared in a mailbox
    SPAMD = "spamd"  # judged at delivery, by the service that was asked
    PIPE = "pipe"  # judged at delivery, by `spamnb filter`
    MOVE = "move"  # a person has moved it
    KEYWORD = "keyword"  # marked by a mail client
    KEPT = "kept"  # answered, or read and kept
    SILENCE = "silence"  # moved to spam by the filter, and left there
    SEEN = "seen"  # first seen in a spam folder
    HAND = "hand"  # by a command, or on a page
    TELL = "tell"  # by spamc -L
    IMPORT = "import"  # from another ledger


JUDGED_BY: Final = (How.MAILDIR, How.SPAMD, How.PIPE)
LEARNED_BY: Final = tuple(how for how in How if how not in JUDGED_BY)


def label_or_none(number: int | None) -> Label | None:
    """The label of that number; None for None."""
    return None if number is None else Label(number)


def contradicts(label: Label, verdict: str | None) -> bool:
    """Whether a label is the contrary of the filter's verdict: then it was not written by software alone."""
    return verdict == (Verdict.HAM if label is Label.SPAM else Verdict.SPAM)


class Role(StrEnum):
    """What a folder is for, and so what it means when a message is in it."""

    INBOX = "inbox"
    SPAM = "spam"
    HAM = "ham"
    NEUTRAL = "neutral"
    SENT = "sent"
    TRAIN_SPAM = "train_spam"
    TRAIN_HAM = "train_ham"

    @property
    def is_neutral(self) -> bool:
        """Whether mail in such a folder is never judged, moved or learned from."""
        return self in (Role.NEUTRAL, Role.SENT)


# Who put a file where it is: it was there when the mailbox was first seen; it appeared (a delivery, or a person);
# the filter moved it there; an undo brought it back; it appeared, while the same delivery was in spam ("waiting").
Origin = Literal["before", "appeared", "filter", "undo", "waiting"]
