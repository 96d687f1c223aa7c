"""Where a judged message goes, and why."""

from spamnb.base.label import Label, Role, Verdict
from spamnb.rules.destination import destination_of
from tests.table import over_rows

SPAM, UNSURE, HAM = Verdict.SPAM, Verdict.UNSURE, Verdict.HAM
JUNK, BOTH = (Role.SPAM,), (Role.SPAM, Role.UNSURE)
WHY = "mx.example.org vouches for this newsletter, and you have not called mail of this sender spam"


@over_rows(
    ("verdict", "label", "goals", "vouched", "goal", "why"),
    [
        (SPAM, None, JUNK, "", Role.SPAM, "spam"),
        (HAM, None, BOTH, "", None, "ham"),
        (UNSURE, None, JUNK, "", None, "unsure"),
        (UNSURE, None, BOTH, "", Role.UNSURE, "unsure"),
        (UNSURE, None, JUNK, WHY, None, f"unsure: {WHY}"),
        (UNSURE, None, BOTH, WHY, Role.UNSURE, f"unsure: {WHY}"),
        # a person's decision about the message goes before the server
        (UNSURE, Label.SPAM, BOTH, WHY, Role.SPAM, "a person called this message spam"),
        (UNSURE, Label.HAM, BOTH, WHY, None, "a person called this message ham"),
    ],
)
def test_new_mail(
    verdict: Verdict, label: Label | None, goals: tuple[Role, ...], vouched: str, goal: Role | None, why: str
) -> None:
    """A message goes by its verdict. If a server vouches for an unsure newsletter, the reason names the server."""
    then = destination_of(verdict, "", label, "", False, goals, vouched=vouched)
    assert (then.goal, then.why) == (goal, why)
