"""What `spamnb init` has learned by the folders of a mailbox, in words: nobody has said what these messages are."""

from collections.abc import Sequence

from spamnb.base.label import Label
from spamnb.ledger.ledger import Ledger


def learned_at_start(ledger: Ledger, digest: bytes) -> str:
    """Return why `init` has learned a message; "" if it has not, or a person has said since what the message is."""
    lesson, known = ledger.lessons.find(digest), ledger.messages.find(digest)
    if lesson is None or lesson.label is None or known is None or ledger.journal.is_settled(known.id):
        return ""
    return was_in(ledger.locations.at_start(known.id), lesson.label) if lesson.is_of_init else ""


def was_in(folders: Sequence[str], label: Label) -> str:
    """Return in which folders a message was at the start. folders: their names, if the ledger still knows them.

    >>> was_in(["INBOX"], Label.HAM), was_in(["INBOX", "Junk"], Label.SPAM), was_in([], Label.SPAM)
    ('it was in INBOX at the start', 'it was in INBOX and Junk at the start', 'it was in a spam folder at the start')
    """
    return f"it was in {' and '.join(folders) or f'a {label.word} folder'} at the start"
