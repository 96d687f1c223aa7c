"""What follows from a verdict. Pure: values in, a decision out."""

from dataclasses import dataclass

from spamnb.base.label import Label, Verdict
from spamnb.maildir.names import Name

MARKS = frozenset("DFPRST")  # a person's marks on a message: all of Maildir's flags


@dataclass(frozen=True, slots=True)
class Consequence:
    """Where a message goes (to the folder for spam or unsure mail; None: it stays), and why, in words for the log."""

    goal: Verdict | None
    why: str
    withheld: bool = False  # it would be moved, but moving is stopped


def consequence(
    verdict: Verdict,
    name: Name,
    label: Label | None,
    missing: str,
    tripped: bool,
    has_unsure_folder: bool,
    *,
    rescued: bool = False,
) -> Consequence:
    """What follows from a verdict on new mail: the first row of the table that applies.

    `missing`: what the filter still has to learn before it may move mail, or "". `tripped`: moving is stopped.
    `rescued`: a person took the message out of spam once.
    """
    verdict = Verdict.SPAM if label == Label.SPAM else verdict
    called_spam = "a person called this message spam" if label == Label.SPAM else "spam"
    stopped = f"{verdict}, but moving is stopped: `spamnb resume` starts it again"
    table = (
        (label == Label.HAM, Consequence(None, "a person called this message ham")),
        (verdict is Verdict.HAM, Consequence(None, "ham")),
        (verdict is Verdict.UNSURE and not has_unsure_folder, Consequence(None, "unsure")),
        (rescued, Consequence(None, f"{verdict}, but a person rescued this message once")),
        (not MARKS.isdisjoint(name.flags), Consequence(None, f"{verdict}, but a person has read or marked it")),
        (bool(missing), Consequence(None, f"{verdict}, but nothing is moved yet: {missing}")),
        (tripped, Consequence(None, stopped, withheld=True)),
        (verdict is Verdict.UNSURE, Consequence(Verdict.UNSURE, "unsure")),
        (True, Consequence(Verdict.SPAM, called_spam)),
    )
    return next(then for applies, then in table if applies)
