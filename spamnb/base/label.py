"""Words for a message: its `Label`, the `Verdict` on it, `How` it came to these, and its folder's `Role`."""

from enum import IntEnum, StrEnum
from typing import Final, Literal


class Label(IntEnum):
    """The label with which a message is learned. Its number is a column in arrays of counts, and a value in the ledger.

    >>> Label.SPAM.word, Label.of("ham"), [0, 7][Label.SPAM]
    ('spam', <Label.HAM: 0>, 7)
    """

    HAM = 0
    SPAM = 1

    @property
    def word(self) -> str:
        """Return `ham` or `spam`."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> "Label":
        """Return the label of that word. Raises KeyError for any other word."""
        return cls[word.upper()]


def counts_as(label: Label | None, weak: bool) -> str:
    """Return what a message counts as now, in the words that commands and pages use.

    weak: as of a lesson. A label of None means that it teaches nothing.

    >>> counts_as(Label.SPAM, True), counts_as(Label.HAM, False), counts_as(None, True)
    ('weakly spam', 'ham', 'nothing')
    """
    return "nothing" if label is None else f"{'weakly ' if weak else ''}{label.word}"


def is_unseen(label: Label | None, weak: bool, how: "How | None") -> bool:
    """Tell whether a lesson is from a spam folder that nobody had ever opened; all other mail that is kept is ham.

    >>> is_unseen(Label.SPAM, True, How.KEPT), is_unseen(Label.HAM, True, How.KEPT)
    (True, False)
    """
    return weak and label is Label.SPAM and how is How.KEPT


class Verdict(StrEnum):
    """The filter's judgement of a message."""

    HAM = "ham"
    SPAM = "spam"
    UNSURE = "unsure"


class How(StrEnum):
    """The way in which a message was judged or learned. The sentence beside it, `why`, is for people only.

    The ledger's schema holds this list: a new value is a step of the schema.
    """

    MAILDIR = "maildir"  # judged when it appeared in a mailbox
    SPAMD = "spamd"  # judged at delivery, by the service
    PIPE = "pipe"  # judged at delivery, by `spamnb filter`
    MOVE = "move"  # a person has moved it
    KEYWORD = "keyword"  # marked by a mail client
    KEPT = "kept"  # answered, or read and kept; as spam: kept in a spam folder that nobody has ever opened
    SILENCE = "silence"  # moved to spam by the filter, and left there
    SEEN = "seen"  # by the folder that it was first seen in: weakly by the service, otherwise by `spamnb init`
    HAND = "hand"  # by a command, or on a page
    TELL = "tell"  # by spamc -L
    IMPORT = "import"  # from another ledger


JUDGED_BY: Final = (How.MAILDIR, How.SPAMD, How.PIPE)
LEARNED_BY: Final = tuple(how for how in How if how not in JUDGED_BY)


def label_or_none(number: int | None) -> Label | None:
    """Return the label of that number; None for None."""
    return None if number is None else Label(number)


def contradicts(label: Label, verdict: str | None) -> bool:
    """Tell whether a label contradicts the filter's verdict: then software alone did not write it."""
    return verdict == (Verdict.HAM if label is Label.SPAM else Verdict.SPAM)


class Role(StrEnum):
    """The purpose of a folder, which gives a meaning to the messages in it."""

    INBOX = "inbox"
    SPAM = "spam"
    HAM = "ham"
    NEUTRAL = "neutral"
    SENT = "sent"
    TRAIN_SPAM = "train_spam"
    TRAIN_HAM = "train_ham"
    UNSURE = "unsure"
    NEWCOMERS = "newcomers"
    NEWSLETTERS = "newsletters"

    @property
    def is_neutral(self) -> bool:
        """Tell whether mail in such a folder is never judged, moved or learned from."""
        return self in (Role.NEUTRAL, Role.SENT)

    @property
    def is_apart(self) -> bool:
        """Tell whether such a folder holds mail that the filter has put apart without calling it spam."""
        return self in (Role.UNSURE, Role.NEWCOMERS, Role.NEWSLETTERS)

    @property
    def is_goal(self) -> bool:
        """Tell whether the filter moves new mail into such a folder, so that a person may take it out again."""
        return self is Role.SPAM or self.is_apart


# Who put a file in its place: it was there when the mailbox was first seen; it appeared (a delivery, or a person); the
# filter moved it there; an undo brought it back; it appeared while the same delivery was in spam ("waiting"); or it is
# a letter that the filter itself wrote, wherever a person has moved it.
Origin = Literal["before", "appeared", "filter", "undo", "waiting", "letter"]
