"""How much mail is put apart: by the folders that the configuration names, and by those that it could name."""

from collections.abc import Mapping
from typing import NamedTuple

from spamnb.acts.newcomers import knows_enough
from spamnb.acts.not_yet import moved_nothing_until
from spamnb.base.label import Role
from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.config.settings import APART
from spamnb.ledger.ledger import Ledger
from spamnb.rules.acquaintances import KNOWN_FIRST

MONTH = 30 * 86_400.0  # seconds
_FEWEST_OF_LISTS = 10  # messages in a month that are worth a folder


class FolderOffer(NamedTuple):
    """A folder that would have put mail apart: which mail, in a sentence; its key, and a name for it."""

    sentence: str
    key: str
    folder: str


def put_apart(ledger: Ledger, config: Config, since: float) -> dict[Role, int]:
    """Return how many messages went to each folder for mail that is put apart, by its role. since: as a Unix time."""
    return {role: ledger.journal.moved_to(role, since) for role in APART if config.has_folder(role)}


def in_words(ledger: Ledger, config: Config, found: Mapping[Role, int]) -> str:
    """Return the numbers of a month in words, and what the folder for newcomers waits for; "" without a folder."""
    numbers = ", ".join(f"{role} {number}" for role, number in found.items())
    waits = Role.NEWCOMERS in found and not knows_enough(ledger, config)
    begin = f"; newcomers begin when you know {KNOWN_FIRST} addresses" if waits else ""
    return f"{numbers} in 30 days{begin}" if found else ""


def offers(ledger: Ledger, config: Config, now: float) -> list[FolderOffer]:
    """Return folders that no mailbox has, and that would have put mail of the last month apart.

    Mail from before the filter moved any counts for none: then it was unsure about nearly everything.
    """
    since, found = max(now - MONTH, moved_nothing_until(ledger)), list[FolderOffer]()
    if not config.has_folder(Role.NEWCOMERS) and (letters := ledger.figures.first_letters_unsure(since)):
        verb = "was" if letters == 1 else "were"
        sentence = f"{plural(letters, 'first letter')} of somebody new {verb} unsure in the last 30 days."
        found.append(FolderOffer(sentence, APART[Role.NEWCOMERS], "New"))
    if not config.has_folder(Role.NEWSLETTERS) and (issues := ledger.figures.of_lists(since)) >= _FEWEST_OF_LISTS:
        sentence = f"{plural(issues, 'message')} of mailing lists came in the last 30 days."
        found.append(FolderOffer(sentence, APART[Role.NEWSLETTERS], "Newsletters"))
    return found
