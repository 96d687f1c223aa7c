"""What a replay has found: its figures, its sentences, and the mail that it names, for any door to show."""

from datetime import datetime
from typing import NamedTuple

from spamnb.base.label import Role
from spamnb.filter.judge import Clue

FEWEST_MONTHS = 3  # to draw
UNKNOWN = "It cannot know what you have deleted, what a rule has filed, and spam that nobody sorted out of a folder."
READ_ONLY = "It reads only: nothing was moved, learned or written."
NOT_BEGUN = "It does not begin: before that, it waits for letters that you read and keep, and for spam in Junk."


class Doubted(NamedTuple):
    """A message of a ham folder that looks like spam. is_spam: it counts as spam here; else it is left out."""

    name: str
    summary: str
    is_spam: bool


class Month(NamedTuple):
    """A month: how many spam came in it, and how many of them were moved."""

    name: str
    spam: int
    caught: int


class Mistake(NamedTuple):
    """A message that a life got wrong. name: its file. came: in seconds since the epoch. clues: why."""

    name: str
    came: float
    summary: str
    clues: tuple[Clue, ...]


class Lived(NamedTuple):
    """The figures of a life. words: its habit. caught: spam that was moved. apart: role, ham and spam."""

    habit: str
    words: str
    a_day: int
    ham: int
    spam: int
    caught: int
    began: float | None
    apart: tuple[tuple[Role, int, int], ...]
    months: tuple[Month, ...]
    moved: tuple[Mistake, ...]
    missed: tuple[Mistake, ...]

    @property
    def sentence(self) -> str:
        """Return what it caught and moved, in a sentence without its first word."""
        since = "at no time" if self.began is None else f"from {day(self.began)} on"
        return (
            f"it moves mail {since}, catches {self.caught:,} of {self.spam:,} spam, and takes {len(self.moved):,} of"
            f" {self.ham:,} letters for spam."
        )


class Replayed(NamedTuple):
    """What each life has done with some messages. others: how many older messages were left out."""

    messages: int
    since: float
    until: float
    unread: int
    others: int
    doubted: tuple[Doubted, ...]
    lives: tuple[Lived, ...]

    @property
    def sentence(self) -> str:
        """Return which mail this is."""
        unread = f"; {self.unread:,} more could not be read" if self.unread else ""
        return (
            f"{many(self.messages, 'message')} from {day(self.since)} to {day(self.until)}{unread}. They came in this"
            " order, as if spamnb had begun then."
        )

    @property
    def has_begun(self) -> bool:
        """Whether any of these lives has moved mail."""
        return any(life.began is not None for life in self.lives)

    @property
    def months(self) -> tuple[Month, ...]:
        """The months of the first life, if they are enough to draw."""
        found = self.lives[0].months
        return found if len(found) >= FEWEST_MONTHS else ()

    @property
    def doubts(self) -> str:
        """Return how many messages of ham folders may be spam; "" for none."""
        if not self.doubted:
            return ""
        spam = sum(one.is_spam for one in self.doubted)
        return (
            f"{many(len(self.doubted), 'message')} outside of Junk may be spam: {spam:,} of them count as spam here,"
            f" and {len(self.doubted) - spam:,} are left out."
        )


def many(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> many(1, "message"), many(3412, "message")
    ('1 message', '3,412 messages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def day(at: float) -> str:
    """Return the day of a moment in words, with its year."""
    when = datetime.fromtimestamp(at)
    return f"{when.day} {when:%B %Y}"
