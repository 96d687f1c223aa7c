"""Whom a person knows, and why."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.ledger.history.senders import Learned
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.relations import Relations
from spamnb.rules.acquaintances import why_known, why_site_known

ANN = Relations("ann@b.example", "list.b.example", "9.9.9")
NOBODY: dict[str, Any] = {
    "relations": ANN,
    "seen": Seen(),
    "of_address": Learned(),
    "of_list": Learned(),
    "contacts": frozenset(),
    "allowed": "",
}
# Each row with what makes it apply, in the order of the table. What is decided over no path comes last.
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"allowed": "*@b.example"}, "you allow *@b.example"),
    ({"seen": {"spam": True}}, ""),
    ({"seen": {"answered": True}}, "it answers a message of yours"),
    ({"seen": {"ham": True}}, "you have called mail of this sender ham"),
    ({"seen": {"kept": True}}, "you have kept mail of this sender"),
    ({"seen": {"written_to": True}}, "you have written to this address"),
    ({"contacts": {"ann@b.example"}}, "this address is in your address book"),
    ({"of_list": Learned(ham=2, spam=1)}, "you have kept mail of this list"),
    ({"of_address": Learned(ham=1), "relations": ANN._replace(path="")}, "you have kept mail of this address"),
]


def why(*ties: dict[str, Any]) -> str:
    """Return why the sender is known by all of these ties."""
    facts, seen = dict(NOBODY), Seen()
    for tie in ties:
        seen = seen._replace(**tie.get("seen", {}))
        facts |= tie
    return why_known(**{**facts, "seen": seen})


def test_nobody_knows_a_stranger() -> None:
    """Without any tie, the sender is a newcomer."""
    assert why() == why({"relations": Relations()}) == ""


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_the_first_row_that_applies(row: int) -> None:
    """A tie decides alone, and before all ties that come later in the table."""
    assert why(ROWS[row][0]) == why(*(tie for tie, _ in ROWS[row:])) == ROWS[row][1]


@pytest.mark.parametrize(
    ("others", "is_known"),
    [
        ([], False),
        ([Seen()], False),
        ([Seen(written_to=True, answered=True)], False),
        ([Seen(), Seen(ham=True)], True),
        ([Seen(kept=True)], True),
        ([Seen(ham=True), Seen(spam=True)], False),
    ],
)
def test_a_site_that_is_known(others: list[Seen], is_known: bool) -> None:
    """Ham of another address of the site over this path makes it known, until a person calls mail of it spam."""
    assert why_site_known(others) == ("you have kept mail of this site" if is_known else "")


@pytest.mark.parametrize(
    "tie",
    [
        {"of_list": Learned(ham=1, spam=1)},
        {"of_list": Learned(ham=1), "relations": ANN._replace(list_id="")},
        {"of_address": Learned(ham=9)},  # over another path
        {"of_address": Learned(ham=1, spam=1), "relations": ANN._replace(path="")},
        {"of_address": Learned(ham=9), "relations": ANN._replace(path="", others=("eve@c.example",))},
        {"contacts": {"ann@b.example"}, "relations": ANN._replace(others=("eve@c.example",))},
        {"contacts": {""}, "relations": Relations()},
    ],
)
def test_what_is_no_tie(tie: dict[str, Any]) -> None:
    """An address over an unknown path, a second address, as much spam as ham: none of these makes a sender known."""
    assert why(tie) == ""


@given(
    st.builds(Seen, *[st.booleans()] * 5),
    st.builds(Learned, st.integers(0, 3), st.integers(0, 3)),
    st.builds(Learned, st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
)
def test_spam_over_the_path_ends_all_but_what_is_allowed(
    seen: Seen, of_address: Learned, of_list: Learned, is_contact: bool
) -> None:
    """After a person has called mail of this sender over this path spam, nothing but `allow` makes it known."""
    facts = {"of_address": of_address, "of_list": of_list, "contacts": {ANN.sender} if is_contact else frozenset()}
    assert why_known(**{**NOBODY, **facts, "seen": seen._replace(spam=True)}) == ""
    assert why_known(**{**NOBODY, **facts, "seen": seen, "allowed": "b.example"}) == "you allow b.example"
