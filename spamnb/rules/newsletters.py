"""Decide whether a message is a newsletter, which may go to a folder of its own. Pure: values in, words out."""

from spamnb.base.label import Role
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.relations import Relations


def newsletter(relations: Relations, seen: Seen, chosen: Role | None) -> str:
    """Return why a message belongs to the newsletters, in words; "" if it does not.

    seen: the record about its sender. chosen: the folder that the person has chosen for mail of this list or sender,
    inbox or newsletters, or None.

    A message of somebody to whom the person has written is a letter, even if it came over a list. Ham of a sender does
    not make it a letter: otherwise newsletters that were learned in the inbox would stay there for good.
    """
    if chosen is Role.NEWSLETTERS:
        return "sorted by your choice"
    if chosen is not None or seen.answered or seen.written_to:
        return ""
    if relations.is_newsletter:
        return "a newsletter"
    return "mail of a mailing list" if relations.list_id else ""
