"""Messages of the inbox that a person may call wanted, so that a young filter begins to move mail at once.

A filter that begins with nothing mostly lacks ham: kept mail counts only after some days. The person has read the mail
in the inbox, so one look at a list of it is enough.
"""

from collections.abc import Iterable
from typing import NamedTuple

from spamnb.acts.answers import Answers
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label, Role
from spamnb.config import Config
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger

MOST = 20  # messages on a page, or at the prompt


class WantedQuestion(NamedTuple):
    """A message to ask about, and its file in an inbox."""

    digest: bytes
    number: int
    summary: str
    location: Location


class Answered(NamedTuple):
    """The actions of some answers, the main ones among them, and how many messages could not be learned."""

    actions: list[int]
    answers: list[int]
    failed: int


def wanted_questions(ledger: Ledger, config: Config, most: int) -> list[WantedQuestion]:
    """Return the newest messages of the inboxes from which nothing was learned, at most `most`; first what was read.

    Messages that the filter has called spam are left out, and those that the person was asked about before.
    """
    inboxes = [
        (str(mailbox.path), folder)
        for mailbox in config.mailboxes
        for folder, role in mailbox.roles.items()
        if role is Role.INBOX
    ]
    found = dict[int, WantedQuestion]()
    for path, folder in inboxes:
        for location in ledger.locations.unlearned_in(path, folder):
            if len(found) < most and location.message not in found and may_ask(ledger, location.message):
                known = ledger.messages.get(location.message)
                found[known.id] = WantedQuestion(known.digest, known.id, known.summary, location)
    return list(found.values())


def may_ask(ledger: Ledger, message: int) -> bool:
    """Tell whether nothing was ever learned from a message, and nobody was asked about it."""
    known = ledger.messages.lookup(message)
    return known is not None and known.learned_at is None and not ledger.journal.is_settled(message)


def answer(answers: Answers, digests: Iterable[bytes], label: Label, why: str) -> Answered:
    """Learn messages as a person calls them. Spam is moved to the spam folder."""
    done, failed = [], 0
    for digest in digests:
        try:
            done.append(answers.call(digest, label, why))
        except MaildirError:
            failed += 1
    return Answered([action for each in done for action in each.actions], [each.answer for each in done], failed)
