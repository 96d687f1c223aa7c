"""What is a newsletter: by the message, what is known of its sender, and a person's choice."""

from spamnb.base.label import Role
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.relations import Relations
from spamnb.rules.newsletters import newsletter
from tests.table import over_rows

LETTER = Relations("ann@b.example")
NEWS, TALK = LETTER._replace(is_newsletter=True), LETTER._replace(list_id="talk.b.example")
NEWSLETTER, LIST, CHOSEN = "a newsletter", "mail of a mailing list", "sorted by your choice"


@over_rows(
    ("relations", "seen", "chosen", "why"),
    [
        (LETTER, Seen(), None, ""),
        (NEWS, Seen(), None, NEWSLETTER),
        (TALK, Seen(), None, LIST),
        (NEWS._replace(list_id="talk.b.example"), Seen(), None, NEWSLETTER),
        # the person's own letters and their answers
        (NEWS, Seen(answered=True), None, ""),
        (TALK, Seen(written_to=True), None, ""),
        # newsletters that were learned in the inbox, or called spam once, are still newsletters
        (NEWS, Seen(ham=True), None, NEWSLETTER),
        (NEWS, Seen(kept=True), None, NEWSLETTER),
        (TALK, Seen(spam=True), None, LIST),
        # a choice has priority over all of it
        (NEWS, Seen(), Role.INBOX, ""),
        (LETTER, Seen(), Role.NEWSLETTERS, CHOSEN),
        (LETTER, Seen(answered=True, written_to=True), Role.NEWSLETTERS, CHOSEN),
    ],
)
def test_newsletter(relations: Relations, seen: Seen, chosen: Role | None, why: str) -> None:
    """Mail of a list, or that offers to unsubscribe, is a newsletter, unless it is a letter or was chosen to stay."""
    assert newsletter(relations, seen, chosen) == why
