"""The definition of a correction: a person's decision that contradicts a verdict, until it is taken back.

A decision that agrees with the verdict does not count, and neither does one about unsure mail, which had no label. A
decision that was taken back no longer counts, and taking back does not count either. The triggers of `ledger.schema`
that count a sender's corrections spell the same; `verify` compares the two.
"""

UNDO_SECONDS = 3600.0
"""How long a decision must last until it counts for good; most undoing happens at once."""


def sql_contradicts(verdict: str, label: str, weak: str) -> str:
    """Return the condition that a label is a person's decision against a verdict, each an expression of SQL.

    It is false without a verdict or without a label.
    """
    return f"({label} IS NOT NULL AND NOT {weak} AND {verdict} IS iif({label} = 1, 'ham', 'spam'))"


def sql_is_correction(verdict: str) -> str:
    """Return the condition that an action `a` is such a decision against a verdict, an expression of SQL."""
    return f"a.kind = 'learned' AND a.takes_back IS NULL AND {sql_contradicts(verdict, 'a.after', 'a.after_weak')}"
