"""Decide where a judged message goes. Pure: values in, a decision out."""

from collections.abc import Collection
from dataclasses import dataclass

from spamnb.base.label import Label, Role, Verdict

MARKS = frozenset("DFPRST")  # a person's marks on a message: all of Maildir's flags


@dataclass(frozen=True, slots=True)
class Destination:
    """The role of the folder for a judged message (None: it stays), and why, in words for people.

    withheld: the filter would move the message, but moving is stopped.
    """

    goal: Role | None
    why: str
    withheld: bool = False


def destination_of(
    verdict: Verdict,
    flags: str,
    label: Label | None,
    missing: str,
    tripped: bool,
    goals: Collection[Role],
    *,
    rescued: bool = False,
    vouched: str = "",
) -> Destination:
    """Return the destination that follows from a verdict on new mail: the first row of the table that applies.

    flags: Maildir's letters. label: what a person has called the message, or None. missing: what the filter must still
    learn before it may move mail, or "". tripped: moving is stopped. rescued: a person once took the message out of
    spam. goals: the roles of the folders that mail may be moved to; spam is one of them. vouched: why the
    verdict is unsure and not spam, in words, if a server vouches for the sender; or "".
    """
    verdict = Verdict.SPAM if label == Label.SPAM else verdict
    called_spam = "a person called this message spam" if label == Label.SPAM else "spam"
    unsure = f"unsure: {vouched}" if vouched else "unsure"
    stopped = f"{verdict}, but moving is stopped: `spamnb resume` starts it again"
    table = (
        (label == Label.HAM, Destination(None, "a person called this message ham")),
        (verdict is Verdict.HAM, Destination(None, "ham")),
        (verdict is Verdict.UNSURE and Role.UNSURE not in goals, Destination(None, unsure)),
        (rescued, Destination(None, f"{verdict}, but a person rescued this message once")),
        (not MARKS.isdisjoint(flags), Destination(None, f"{verdict}, but a person has read or marked it")),
        (bool(missing), Destination(None, f"{verdict}, but nothing is moved yet: {missing}")),
        (tripped, Destination(None, stopped, withheld=True)),
        (verdict is Verdict.UNSURE, Destination(Role.UNSURE, unsure)),
        (True, Destination(Role.SPAM, called_spam)),
    )
    return next(destination for applies, destination in table if applies)
