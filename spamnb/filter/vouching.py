"""Decide whether the person's own server vouches for a message, so that it is unsure if it looks like spam.

The first newsletter of a shop looks like spam, since all of its words do, and so may the first letter of a new contact.
If the server says that From is right, the sender can be held to account: after a decision that mail of this sender over
this path is spam, the next one is spam. If the path is not known, the filter could not tell this, so the verdict stays.

The rule spares 304 of 5,472 phishing mails, by `python benchmarks/first_mails.py csdmc2010 phishing_pot/email` on
2026-11-28. It would spare 198 if List-Unsubscribe-Post (RFC 8058) had to be there too, and 1,895 if a signature were
enough. Not all senders of honest newsletters write List-Unsubscribe-Post.

An address book alone vouches for nobody, since anyone can write a contact's address into From.
"""

from pathlib import Path
from typing import NamedTuple, Self

from spamnb.config import Config
from spamnb.contacts.address_book import Contacts, contacts_of
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.authentication import authentication
from spamnb.mail.relations import Relations

_UNLESS = "and you have not called mail of this sender spam"


class Trusted(NamedTuple):
    """The server whose Authentication-Results count, and the address book of the person; None: none."""

    authserv_id: str | None = None
    address_book: Path | None = None

    @classmethod
    def of(cls, config: Config) -> Self:
        """Return what a configuration names."""
        return cls(config.authserv_id, config.address_book)

    @property
    def contacts(self) -> Contacts:
        """The addresses in the address book."""
        return contacts_of(self.address_book)


NOBODY_TRUSTED = Trusted()


def voucher(relations: Relations, seen: Seen, authserv_id: str | None, contacts: Contacts) -> str:
    """Return why a message is unsure and not spam, in words; "" if it is spam.

    seen: what the person has decided about its sender.
    """
    if authserv_id is None or relations.sender_over_path is None or seen.spam:
        return ""
    is_newsletter = relations.is_newsletter
    if not (is_newsletter or relations.sender in contacts):
        return ""
    results = authentication(relations.results, authserv_id, relations.sender, are_below=relations.are_results_below)
    if results is None or not results.is_aligned:
        return ""
    what = "this newsletter" if is_newsletter else "its sender, who is in your address book"
    return f"{authserv_id} vouches for {what}, {_UNLESS}"
