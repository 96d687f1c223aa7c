"""Where a judged message goes, and why."""

from spamnb.base.label import Label, Role, Verdict
from spamnb.rules.destination import ByPerson, Destination, FromWhom, Opinion, destination_of, is_barely_spam
from spamnb.rules.moving import Hindrance, Stop
from tests.table import over_rows

SPAM, UNSURE, HAM = Verdict.SPAM, Verdict.UNSURE, Verdict.HAM
JUNK, BOTH = (Role.SPAM,), (Role.SPAM, Role.UNSURE)
ALL = (*BOTH, Role.NEWCOMERS)
EACH = (*ALL, Role.NEWSLETTERS)
KNOWN, NEWCOMER, ONE_OF_MANY = (False, False), (True, False), (True, True)
FREE = Hindrance("", None)
STRANGE, MANY = "from somebody you do not know yet", "like more than half of the mail of the last day"
WHY = "mx.example.org vouches for this newsletter, and you have called no mail of shop.example spam"


@over_rows(
    ("verdict", "label", "goals", "vouched", "newcomer", "goal", "why"),
    [
        (SPAM, None, JUNK, "", KNOWN, Role.SPAM, "spam"),
        (HAM, None, BOTH, "", KNOWN, None, "ham"),
        (UNSURE, None, JUNK, "", KNOWN, None, "unsure"),
        (UNSURE, None, BOTH, "", KNOWN, Role.UNSURE, "unsure"),
        (UNSURE, None, JUNK, WHY, KNOWN, None, f"unsure: {WHY}"),
        (UNSURE, None, BOTH, WHY, KNOWN, Role.UNSURE, f"unsure: {WHY}"),
        # a person's decision about the message goes before the server
        (UNSURE, Label.SPAM, BOTH, WHY, KNOWN, Role.SPAM, "a person called this message spam"),
        (UNSURE, Label.HAM, BOTH, WHY, KNOWN, None, "a person called this message ham"),
        # of a newcomer
        (HAM, None, ALL, "", NEWCOMER, Role.NEWCOMERS, f"ham, {STRANGE}"),
        (UNSURE, None, ALL, "", NEWCOMER, Role.NEWCOMERS, f"unsure, {STRANGE}"),
        (UNSURE, None, ALL, WHY, NEWCOMER, Role.NEWCOMERS, f"unsure, {STRANGE}: {WHY}"),
        (SPAM, None, ALL, "", NEWCOMER, Role.SPAM, "spam"),
        (HAM, Label.HAM, ALL, "", NEWCOMER, None, "a person called this message ham"),
        (HAM, Label.SPAM, ALL, "", NEWCOMER, Role.SPAM, "a person called this message spam"),
        (HAM, None, BOTH, "", NEWCOMER, None, "ham"),
        (UNSURE, None, BOTH, "", NEWCOMER, Role.UNSURE, "unsure"),
        (HAM, None, ALL, "", ONE_OF_MANY, None, f"ham, {STRANGE}, {MANY}"),
        (UNSURE, None, ALL, "", ONE_OF_MANY, Role.UNSURE, "unsure"),
        (UNSURE, None, (Role.SPAM, Role.NEWCOMERS), "", ONE_OF_MANY, None, f"unsure, {STRANGE}, {MANY}"),
    ],
)
def test_new_mail(
    verdict: Verdict,
    label: Label | None,
    goals: tuple[Role, ...],
    vouched: str,
    newcomer: tuple[bool, bool],
    goal: Role | None,
    why: str,
) -> None:
    """A message goes by its verdict. If a server vouches for an unsure newsletter, the reason names the server."""
    sender = FromWhom("", *newcomer)
    then = destination_of(Opinion(verdict, vouched), ByPerson(label=label), sender, FREE, goals)
    assert (then.goal, then.why) == (goal, why)


@over_rows(
    ("verdict", "label", "goals", "are_many", "goal", "why"),
    [
        (SPAM, None, ALL, False, Role.NEWCOMERS, f"perhaps spam, {STRANGE}"),
        (SPAM, None, EACH, False, Role.NEWCOMERS, f"perhaps spam, {STRANGE}"),
        (SPAM, None, ALL, True, Role.SPAM, "spam"),
        (SPAM, None, BOTH, False, Role.SPAM, "spam"),
        (SPAM, Label.SPAM, ALL, False, Role.SPAM, "a person called this message spam"),
        (SPAM, Label.HAM, ALL, False, None, "a person called this message ham"),
    ],
)
def test_barely_spam_of_a_newcomer(
    verdict: Verdict, label: Label | None, goals: tuple[Role, ...], are_many: bool, goal: Role | None, why: str
) -> None:
    """What is called spam, but not surely, goes to the folder for newcomers if the person does not know the sender."""
    barely, sender = Opinion(verdict, is_barely=True), FromWhom(is_newcomer=True, are_many=are_many)
    then = destination_of(barely, ByPerson(label=label), sender, FREE, goals)
    assert (then.goal, then.why) == (goal, why)
    known = destination_of(Opinion(SPAM, is_barely=True), ByPerson(), FromWhom(), FREE, goals)
    assert (known.goal, known.why) == (Role.SPAM, "spam")


@over_rows(
    ("verdict", "probability", "listed", "is_barely"),
    [
        (SPAM, 0.95, "", True),
        (SPAM, 0.9699, "", True),
        (SPAM, 0.97, "", False),
        (SPAM, 0.2, "*@shop.example", False),
        (UNSURE, 0.9, "", False),
        (HAM, 0.1, "", False),
    ],
)
def test_barely_spam(verdict: Verdict, probability: float, listed: str, is_barely: bool) -> None:
    """Spam is sure from 0.97 on, or by a list of the person."""
    assert is_barely_spam(verdict, probability, listed) == is_barely


@over_rows(
    ("by_person", "hindrance", "withheld", "why"),
    [
        (ByPerson(rescued=True), FREE, False, "but a person rescued this message once"),
        (ByPerson("S"), FREE, False, "but a person has read or marked it"),
        (ByPerson(), Hindrance("2 more ham", None), False, "but nothing is moved yet: 2 more ham"),
        (ByPerson(), Hindrance("", Stop(1.0, None)), True, "but moving is stopped: `spamnb resume` starts it again"),
    ],
)
def test_what_keeps_mail_in_the_inbox(by_person: ByPerson, hindrance: Hindrance, withheld: bool, why: str) -> None:
    """What keeps spam in the inbox keeps mail of newcomers there too."""
    for verdict in Verdict:
        then = destination_of(Opinion(verdict), by_person, FromWhom(is_newcomer=True), hindrance, ALL)
        assert then == Destination(None, f"{verdict}, {why}", withheld)


@over_rows(
    ("verdict", "label", "goals", "goal", "why"),
    [
        (HAM, None, EACH, Role.NEWSLETTERS, "ham, a newsletter"),
        (UNSURE, None, EACH, Role.NEWSLETTERS, f"unsure, a newsletter: {WHY}"),
        (SPAM, None, EACH, Role.SPAM, "spam"),
        (HAM, Label.HAM, EACH, None, "a person called this message ham"),
        (HAM, Label.SPAM, EACH, Role.SPAM, "a person called this message spam"),
        (HAM, None, ALL, Role.NEWCOMERS, f"ham, {STRANGE}"),
        (HAM, None, JUNK, None, "ham"),
    ],
)
def test_newsletters(
    verdict: Verdict, label: Label | None, goals: tuple[Role, ...], goal: Role | None, why: str
) -> None:
    """A newsletter that is not spam goes to its folder, also one of a newcomer, or one that a server vouches for."""
    sender = FromWhom("a newsletter", is_newcomer=True)
    then = destination_of(Opinion(verdict, WHY), ByPerson(label=label), sender, FREE, goals)
    assert (then.goal, then.why) == (goal, why)
