"""How much mail is put apart, and which folders the pages offer."""

from pathlib import Path

from spamnb.base.label import How, Role, Verdict
from spamnb.config import Config, Mailbox
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.apart import MONTH, in_words, offers, put_apart

NOW = 1_700_000_000.0
ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM}
PLAIN = Config((Mailbox(Path("/mail"), ROLES),), Path("ledger"))
APART = Config((Mailbox(Path("/mail"), ROLES, newcomers_folder="New", newsletters_folder="Lists"),), Path("ledger"))


def judge(ledger: Ledger, number: int, verdict: Verdict, sender: str, list_id: str = "", ago: float = 0.0) -> int:
    """A message that was judged; its id."""
    known = ledger.messages.ensure(b"%d" % number, "")
    ledger.messages.judged(known.id, verdict, 0.5, NOW - ago, sender, list_id)
    return known.id


def test_first_letters(ledger: Ledger) -> None:
    """A folder for newcomers is offered if a first letter of a sender was unsure in the last month."""
    ledger.state.begun_with = 20
    judge(ledger, 1, Verdict.HAM, "ann@b.example")
    judge(ledger, 2, Verdict.UNSURE, "ann@b.example")
    judge(ledger, 3, Verdict.UNSURE, "old@b.example", ago=MONTH + 1)
    judge(ledger, 4, Verdict.SPAM, "spam@b.example")
    assert offers(ledger, PLAIN, NOW) == []
    judge(ledger, 5, Verdict.UNSURE, "new@b.example")
    (offer,) = offers(ledger, PLAIN, NOW)
    assert offer == ("1 first letter of somebody new was unsure in the last 30 days.", "newcomers_folder", "New")
    judge(ledger, 6, Verdict.UNSURE, "newer@b.example")
    assert offers(ledger, PLAIN, NOW)[0].sentence.startswith("2 first letters of somebody new were unsure")
    assert offers(ledger, APART, NOW) == []


def test_lists(ledger: Ledger) -> None:
    """A folder for newsletters is offered if ten messages came over lists in the last month, without spam."""
    ledger.state.begun_with = 20
    for number in range(9):
        judge(ledger, number, Verdict.HAM, "ann@b.example", "talk.b.example")
    judge(ledger, 10, Verdict.SPAM, "ann@b.example", "talk.b.example")
    judge(ledger, 11, Verdict.HAM, "ann@b.example", "talk.b.example", ago=MONTH + 1)
    assert offers(ledger, PLAIN, NOW) == []
    judge(ledger, 12, Verdict.HAM, "ann@b.example", "talk.b.example")
    (offer,) = offers(ledger, PLAIN, NOW)
    assert offer == ("10 messages of mailing lists came in the last 30 days.", "newsletters_folder", "Newsletters")
    assert offers(ledger, APART, NOW) == []


def test_nothing_is_offered_by_an_untrained_filter(ledger: Ledger) -> None:
    """A filter that has never moved mail is unsure of everything, and offers no folder because of that."""
    for number in range(10):
        judge(ledger, number, Verdict.UNSURE, f"ann{number}@b.example", "talk.b.example")
    assert offers(ledger, PLAIN, NOW) == []
    ledger.state.begun_with = 20
    assert [offer.folder for offer in offers(ledger, PLAIN, NOW)] == ["New", "Newsletters"]
    ledger.state.begun_at = NOW + 1.0
    assert offers(ledger, PLAIN, NOW + 2.0) == [], "all of that was before it began"


def test_numbers(ledger: Ledger) -> None:
    """Moves count by the role of their folder, without failed ones and those that were undone."""
    message, ends = judge(ledger, 1, Verdict.HAM, "ann@b.example"), ((1, "a"), (2, "a"))
    box = ledger.locations.mailbox("/mail")[0]
    for name in ("INBOX", "New"):
        ledger.locations.folder(box, name)
    for state, at in (("done", NOW), ("failed", NOW), ("undone", NOW), ("done", NOW - MONTH - 1)):
        move = ledger.journal.intend(message, *ends, Cause("it is", at, How.MAILDIR, Verdict.HAM, goal=Role.NEWCOMERS))
        ledger.journal.set_state(move, state)  # type: ignore[arg-type]
    found = put_apart(ledger, APART, NOW - MONTH)
    assert found == {Role.NEWCOMERS: 1, Role.NEWSLETTERS: 0}
    waits = "; newcomers begin when you know 20 addresses"
    assert in_words(ledger, APART, found) == f"newcomers 1, newsletters 0 in 30 days{waits}"
    assert (put_apart(ledger, PLAIN, 0.0), in_words(ledger, PLAIN, {})) == ({}, "")
