"""What a correction is: a person's decision against a verdict, that stands.

What agrees with the verdict is none, nor what is said of unsure mail, which was called nothing. What was taken back is
none any more, and taking back is none either.
"""

UNDO_SECONDS = 3600.0
"""How long a decision has to stand until it is counted for good; most of what is undone is undone at once."""


def decides_against(verdict: str) -> str:
    """The condition that an action `a` is a decision against a verdict, which is given as an expression of SQL."""
    return (
        "a.kind = 'learned' AND a.after IS NOT NULL AND NOT a.after_weak AND a.takes_back IS NULL"
        f" AND {verdict} = iif(a.after = 1, 'ham', 'spam')"
    )
