"""Where a judged message goes, and why."""

from spamnb.base.label import Label, Verdict
from spamnb.rules.destination import destination_of
from tests.table import over_rows

SPAM, UNSURE, HAM = Verdict.SPAM, Verdict.UNSURE, Verdict.HAM
WHY = "mx.example.org vouches for this newsletter, and you have not called mail of this sender spam"


@over_rows(
    ("verdict", "label", "has_folder", "vouched", "goal", "why"),
    [
        (SPAM, None, False, "", SPAM, "spam"),
        (HAM, None, True, "", None, "ham"),
        (UNSURE, None, False, "", None, "unsure"),
        (UNSURE, None, True, "", UNSURE, "unsure"),
        (UNSURE, None, False, WHY, None, f"unsure: {WHY}"),
        (UNSURE, None, True, WHY, UNSURE, f"unsure: {WHY}"),
        # a person's decision about the message goes before the server
        (UNSURE, Label.SPAM, True, WHY, SPAM, "a person called this message spam"),
        (UNSURE, Label.HAM, True, WHY, None, "a person called this message ham"),
    ],
)
def test_new_mail(
    verdict: Verdict, label: Label | None, has_folder: bool, vouched: str, goal: Verdict | None, why: str
) -> None:
    """A message goes by its verdict. If a server vouches for an unsure newsletter, the reason names the server."""
    then = destination_of(verdict, "", label, "", False, has_folder, vouched=vouched)
    assert (then.goal, then.why) == (goal, why)
