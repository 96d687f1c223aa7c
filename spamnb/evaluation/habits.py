"""The habits of simulated users: how often, and how late, they correct the filter."""

from dataclasses import dataclass, replace

USUAL_PACE = 20  # messages per day


@dataclass(frozen=True, slots=True)
class Habit:
    """A user's acts, and how many messages later they happen, if `USUAL_PACE` messages come per day.

    correct: the share of missed spam that is moved to the spam folder, `corrected_after` messages later. left: the
    share of the rest that is opened and left in the inbox; the remainder is deleted. looks: the user opens a message in
    the spam folder, `rescued_after` messages after each arrival there. rescue: the share of ham there that is then
    taken out. keep: the share of ham in the inbox that is read and kept. learned: messages that are learned at the
    start. wrong: the share of messages that the user takes for the other class. told: the filter learns the true label
    of each message at once.
    """

    correct: float = 1.0
    corrected_after: int = 20
    looks: bool = True
    rescue: float = 1.0
    rescued_after: int = 20
    left: float = 0.0
    keep: float = 0.8
    learned: int = 0
    wrong: float = 0.0
    told: bool = False

    def at_pace(self, a_day: int) -> "Habit":
        """Return the habit at another number of messages per day: the next day stays the next day."""
        corrected, rescued = (
            max(1, round(after * a_day / USUAL_PACE)) for after in (self.corrected_after, self.rescued_after)
        )
        return replace(self, corrected_after=corrected, rescued_after=rescued)


_SELDOM = {"rescue": 0.3, "rescued_after": 200}
_LATE = {"correct": 0.3, "corrected_after": 200, **_SELDOM}
HABITS: dict[str, Habit] = {
    "told": Habit(told=True),
    "tidy": Habit(),
    "tidy-init": Habit(learned=500),
    "hasty": Habit(**_SELDOM),  # type: ignore[arg-type]
    "deleting": Habit(**_LATE),  # type: ignore[arg-type]
    "careless": Habit(**_LATE, left=0.5),  # type: ignore[arg-type]
    "careless-init": Habit(**_LATE, left=0.5, learned=500),  # type: ignore[arg-type]
    "blind": Habit(correct=0.3, corrected_after=200, left=0.5, looks=False, rescue=0.0),
    "noisy": Habit(told=True, wrong=0.02),
}
