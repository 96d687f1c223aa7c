"""Whom a simulated user does not know yet, by the rules of the service: what `acts/newcomers.py` asks the ledger."""

from collections import defaultdict, deque
from itertools import islice

from spamnb.base.label import Label
from spamnb.ledger.history.senders import Learned
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations
from spamnb.rules.acquaintances import KNOWN_FIRST, MOST_OF_SITE, why_known, why_site_known
from spamnb.rules.destination import too_many_newcomers


class Newcomers:
    """The mail that has come by its origin, and the last day's. The user has no address book and no lists of senders.

    a_day: how many messages come per day.
    """

    def __init__(self, lessons: MemoryLessons, a_day: int) -> None:
        self._lessons = lessons
        self._of_address: dict[str, list[bytes]] = defaultdict(list)
        self._of_list: dict[str, list[bytes]] = defaultdict(list)
        self._day: deque[bool] = deque(maxlen=a_day)

    def came(self, reading: Reading) -> None:
        """Keep the origin of a message."""
        self._of_address[reading.relations.sender].append(reading.digest)
        self._of_list[reading.relations.list_id].append(reading.digest)

    def judged(self, is_there: bool) -> None:
        """Keep whether a message went to the folder for newcomers."""
        self._day.append(is_there)

    def sent(self, relations: Relations) -> bool:
        """Tell whether a newcomer has sent a message; nobody is one before the user knows enough addresses."""
        (seen,) = self._lessons.seen([relations])
        of_address = self._learned(self._of_address[relations.sender])
        of_list = self._learned(self._of_list[relations.list_id])
        why = why_known(relations, seen, of_address, of_list, frozenset(), "")
        is_known = bool(why or (not seen.spam and why_site_known(self._lessons.seen(self._of_site(relations)))))
        return not is_known and self._knows_enough()

    def _of_site(self, relations: Relations) -> list[Relations]:
        """Return other addresses of the sender's site with learned mail, over the path of a message."""
        if not (site := relations.site):
            return []
        there = [address for address in self._of_address if address.endswith((f"@{site}", f".{site}"))]
        learned = {address: self._learned(self._of_address[address]) for address in there}
        known = [address for address, (ham, spam) in learned.items() if ham or spam]
        known.sort(key=lambda address: (not learned[address].spam, -len(self._of_address[address])))
        return [Relations(address, path=relations.path) for address in known[:MOST_OF_SITE]]

    def of_list(self, list_id: str) -> Learned:
        """Return what is learned of a list."""
        return self._learned(self._of_list[list_id])

    @property
    def are_many(self) -> bool:
        """Whether too much of the last day's mail is there."""
        return too_many_newcomers(sum(self._day), len(self._day))

    def _learned(self, digests: list[bytes]) -> Learned:
        labels = [lesson.label for lesson in map(self._lessons.find, digests) if lesson is not None]
        return Learned(labels.count(Label.HAM), labels.count(Label.SPAM))

    def _knows_enough(self) -> bool:
        known = (digests for address, digests in self._of_address.items() if address and self._learned(digests).ham)
        return len(list(islice(known, KNOWN_FIRST))) == KNOWN_FIRST
