"""The time that a statement is about: a month or a week, in local time. Weeks are those of ISO 8601."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Protocol, Self


class Period(Protocol):
    """A month or a week. Its text, such as 2026-11 or 2026-W48, names it at the prompt."""

    @property
    def next(self) -> Self:
        """The one after it."""

    @property
    def before(self) -> Self:
        """The one before it."""

    @property
    def since(self) -> float:
        """Its beginning, in seconds since the epoch."""

    @property
    def words(self) -> str:
        """Its name for people, after "in"."""

    @classmethod
    def of(cls, at: float) -> Self:
        """Return the one of a time in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Month:
    """A month.

    >>> Month(2026, 12).next, Month(2026, 1).before, Month(2026, 11).words
    (Month(year=2027, number=1), Month(year=2025, number=12), 'November 2026')
    """

    year: int
    number: int

    @classmethod
    def of(cls, at: float) -> "Month":
        """Return the month of a time in seconds since the epoch."""
        then = datetime.fromtimestamp(at)
        return cls(then.year, then.month)

    @property
    def next(self) -> "Month":
        """The month after it."""
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def before(self) -> "Month":
        """The month before it."""
        return Month(self.year - (self.number == 1), (self.number - 2) % 12 + 1)

    @property
    def since(self) -> float:
        """Its beginning, in seconds since the epoch."""
        return datetime(self.year, self.number, 1).timestamp()

    @property
    def words(self) -> str:
        """Its name for people."""
        return f"{date(self.year, self.number, 1):%B %Y}"

    def __str__(self) -> str:
        return f"{self.year}-{self.number:02}"


@dataclass(frozen=True, slots=True)
class Week:
    """A week, from Monday to Sunday.

    >>> Week(2026, 53).next, Week(2027, 1).before, Week(2026, 48).words
    (Week(year=2027, number=1), Week(year=2026, number=53), 'the week from 23 November 2026')
    """

    year: int
    number: int

    @classmethod
    def of(cls, at: float) -> "Week":
        """Return the week of a time in seconds since the epoch."""
        return cls._of(date.fromtimestamp(at))

    @classmethod
    def _of(cls, day: date) -> "Week":
        year, number, _ = day.isocalendar()
        return cls(year, number)

    @property
    def _monday(self) -> date:
        return date.fromisocalendar(self.year, self.number, 1)

    @property
    def next(self) -> "Week":
        """The week after it."""
        return self._of(self._monday + timedelta(days=7))

    @property
    def before(self) -> "Week":
        """The week before it."""
        return self._of(self._monday - timedelta(days=7))

    @property
    def since(self) -> float:
        """Its beginning, in seconds since the epoch."""
        return datetime.combine(self._monday, time()).timestamp()

    @property
    def words(self) -> str:
        """Its name for people."""
        return f"the week from {self._monday:%-d %B %Y}"

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"
