"""What a correction is: a person's decision against a verdict, that stands.

What agrees with the verdict is none, nor what is said of unsure mail, which was called nothing. What was taken back is
none any more, and taking back is none either. The triggers of `ledger.schema` that count a sender's corrections spell
the same; `verify` compares the two.
"""

UNDO_SECONDS = 3600.0
"""How long a decision has to stand until it is counted for good; most of what is undone is undone at once."""


def sql_contradicts(verdict: str, label: str, weak: str) -> str:
    """Return the condition that a label is a person's decision against a verdict, each an expression of SQL.

    It is false if there is no verdict or no label.
    """
    return f"({label} IS NOT NULL AND NOT {weak} AND {verdict} IS iif({label} = 1, 'ham', 'spam'))"


def sql_is_correction(verdict: str) -> str:
    """Return the condition that an action `a` is such a decision against a verdict, an expression of SQL."""
    return f"a.kind = 'learned' AND a.takes_back IS NULL AND {sql_contradicts(verdict, 'a.after', 'a.after_weak')}"
