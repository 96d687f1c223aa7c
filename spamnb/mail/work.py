"""What reading one message may cost in all: counted, not timed, so that a message always has the same tokens."""


class Work:
    """Units of work, of which a message has so many; past them the rest is left out.

    A unit is a microsecond for the slowest text or markup of its kind, a fifth of one for ordinary mail.
    """

    def __init__(self, units: int) -> None:
        self.left = units
        self.is_spent = False  # something was left out

    def take(self, units: int) -> bool:
        """Whether there is work left for a task of so many units, which is then counted."""
        if units > self.left:
            self.is_spent = True
            return False
        self.left -= units
        return True

    def share(self, size: int, units_of_100: int) -> int:
        """How much of `size` can be done where each hundred takes so many units."""
        units = size * units_of_100 // 100
        if units <= self.left:
            self.left -= units
            return size
        most = self.left * 100 // units_of_100
        self.left, self.is_spent = 0, True
        return most

    def quarter(self) -> "Work":
        """A quarter of it for one stage, taken off until `rejoin`: a header must not use up what the text needs."""
        part = Work(self.left // 4)
        self.left -= part.left
        return part

    def rejoin(self, part: "Work") -> None:
        """Take back what a stage has left of its part."""
        self.left += part.left
        self.is_spent = self.is_spent or part.is_spent
