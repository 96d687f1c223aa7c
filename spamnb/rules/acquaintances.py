"""Decide whether the person knows the sender of a message. Pure: values in, words out.

Anyone can write any address into From, and any list into List-Id. So an address counts together with the path over
which its mail came before (`mail/relations.py`). The same holds for the site of an address, such
as a shop's, but not for a mailbox provider's. Without the path count: sent mail, the address book, a list, and an
address if the path of the message cannot be known. All of this only says who is a newcomer. It changes no verdict.
"""

from collections.abc import Iterable

from spamnb.contacts.address_book import Contacts
from spamnb.ledger.history.senders import Learned
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.relations import Relations

MOST_OF_SITE = 20
"""Addresses of one site that are looked at: a shop writes from a few."""
KNOWN_FIRST = 20
"""Addresses that a person has to know before anyone is a newcomer; else a new filter would take all mail for theirs."""


def why_known(
    relations: Relations, seen: Seen, of_address: Learned, of_list: Learned, contacts: Contacts, allowed: str
) -> str:
    """Return why the person knows the sender of a message, in words: the first row that applies; "" for a newcomer.

    of_address, of_list: what is learned of the address and the list, over any path. allowed: the pattern of `senders`,
    or of a choice, that makes the message ham; or "". Several addresses in From are nobody's.

    For a list, and for an address without a path, the larger number decides. One spam among the mail of a list, or one
    forged From, must not make all others newcomers.
    """
    is_one = bool(relations.sender) and not relations.others
    table = (
        (bool(allowed), f"you allow {allowed}"),  # said of all mail to come, so before what was said of one message
        (seen.spam, ""),  # a sender who is not wanted, or a mailbox that was broken into
        (seen.answered, "it answers a message of yours"),
        (seen.ham, "you have called mail of this sender ham"),
        (seen.kept, "you have kept mail of this sender"),
        (seen.written_to, "you have written to this address"),
        (is_one and relations.sender in contacts, "this address is in your address book"),
        (bool(relations.list_id) and of_list.mostly_ham, "you have kept mail of this list"),
        (is_one and not relations.path and of_address.mostly_ham, "you have kept mail of this address"),
        (True, ""),
    )
    return next(why for applies, why in table if applies)


def why_site_known(of_site: Iterable[Seen]) -> str:
    """Return why the person knows the site of a sender whom nobody knows; "" if the site is not known either.

    of_site: what is known of other addresses of this site, over the path of the message. The receipt of a shop comes
    from another address than its letters. The path is the same, so a stranger who writes any address of the site into
    From wins no more than with an address that is known.
    """
    others = list(of_site)
    is_known = any(seen.ham or seen.kept for seen in others) and not any(seen.spam for seen in others)
    return "you have kept mail of this site" if is_known else ""
