"""Find out who is a newcomer: ask the ledger and the address book, and decide by `rules/acquaintances.py`."""

from spamnb.base.label import Label, Role
from spamnb.config import Config
from spamnb.contacts.address_book import contacts_of
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.mail.relations import Relations
from spamnb.rules import acquaintances


def why_known(ledger: Ledger, config: Config, relations: Relations, seen: Seen | None = None) -> str:
    """Return why the person knows the sender of a message, in words; "" for a newcomer.

    config: with the choices. seen: what the lessons say of the sender, if the caller has asked them.
    """
    named = config.senders.named(relations.senders, relations.list_id)
    allowed = named[1] if named is not None and named[0] is Label.HAM else ""
    if seen is None:
        (seen,) = ledger.lessons.seen([relations])
    learned = ledger.senders.learned(relations.sender, relations.list_id)
    why = acquaintances.why_known(relations, seen, *learned, contacts_of(config.address_book), allowed)
    return why if why or seen.spam else acquaintances.why_site_known(_of_site(ledger, relations))


def _of_site(ledger: Ledger, relations: Relations) -> list[Seen]:
    """Return what the lessons say of other addresses of the sender's site over the path of a message."""
    site = relations.site
    if not site:
        return []
    others = ledger.senders.of_site(site, acquaintances.MOST_OF_SITE)
    return ledger.lessons.seen([Relations(address, path=relations.path) for address in others])


def of_sender(ledger: Ledger, config: Config, relations: Relations) -> str:
    """Return a sentence about the sender of a message; "" if no mailbox has a folder for newcomers."""
    if not config.has_folder(Role.NEWCOMERS):
        return ""
    why = why_known(ledger, config, relations)
    return f"You know its sender: {why}." if why else "You do not know its sender yet."


def knows_enough(ledger: Ledger, config: Config) -> bool:
    """Tell whether the filter has met enough addresses that the person knows, so that others are newcomers.

    It counts the addresses of ham, of sent mail, and of the address book. The largest of these numbers decides.
    """
    least = acquaintances.KNOWN_FIRST
    return (
        ledger.senders.with_ham(least) >= least
        or ledger.lessons.recipients(least) >= least
        or len(contacts_of(config.address_book)) >= least
    )
