"""Mail by its origin: the address in From, or the mailing list."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from spamnb.ledger.connection import Connection
from spamnb.ledger.history.corrections import sql_contradicts
from spamnb.ledger.queries import contains
from spamnb.mail.reading import printable

MOST_NAME = 200
"""Characters of an address or a list: RFC 5321 allows 254 for an address, and only machines write such long ones."""
_NUMBERS = "messages, judged_ham, judged_unsure, judged_spam, learned_ham, learned_spam, corrected"
_COLUMNS = f"id, name, is_list, {_NUMBERS}"
_KEPT = f"SELECT id, {_NUMBERS} FROM sender WHERE messages <> 0"  # noqa: S608 - no text from outside
_SUMS = (
    "SELECT origin, count(*), count(*) FILTER (WHERE verdict = 'ham'), count(*) FILTER (WHERE verdict = 'unsure'),"  # noqa: S608
    " count(*) FILTER (WHERE verdict = 'spam'), count(*) FILTER (WHERE label = 0), count(*) FILTER (WHERE label = 1),"
    f" count(*) FILTER (WHERE {sql_contradicts('verdict', 'label', 'weak')})"
    " FROM (SELECT sender AS origin, verdict, label, weak FROM message WHERE sender IS NOT NULL"
    " UNION ALL SELECT list, verdict, label, weak FROM message WHERE list IS NOT NULL) GROUP BY origin"
)

# Mail that is not spam. Opened: a file of it was marked as read, answered or flagged, or was moved by a person, or a
# person has called it ham. A list goes before its authors.
_CAME = """
    SELECT origin, count(*), count(*) FILTER (WHERE opened), min(judged_at), max(judged_at) FROM (
        SELECT coalesce(m.list, m.sender) AS origin, m.judged_at, (
            (m.label = 0 AND NOT m.weak)
            OR EXISTS (SELECT 1 FROM file AS f WHERE f.message = m.id AND f.flags GLOB '*[FRS]*')
            OR (SELECT count(DISTINCT f.folder) FROM file AS f WHERE f.message = m.id AND f.origin = 'appeared') > 1
        ) AS opened
        FROM message AS m WHERE m.judged_at >= ? AND (m.verdict <> 'spam' OR m.label = 0) AND m.label IS NOT 1
        ORDER BY m.judged_at DESC LIMIT ?
    ) WHERE origin IS NOT NULL GROUP BY origin ORDER BY count(*) DESC, origin"""

_FIRST = "SELECT coalesce(e.judged_at, e.learned_at, 0) FROM message AS e WHERE e.{0} = m.{0} ORDER BY e.id LIMIT 1"
_CAME_FROM = (
    f"SELECT m.id, m.judged_at, iif(m.list IS NULL, ({_FIRST.format('sender')}), ({_FIRST.format('list')}))"  # noqa: S608
    " FROM message AS m WHERE m.judged_at >= ? AND m.judged_at < ? AND m.sender IS NOT NULL"
    " AND (m.verdict <> 'spam' OR m.label = 0) AND m.label IS NOT 1 ORDER BY m.judged_at DESC, m.id DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class Sender:
    """An address or a list with the mail that came from it.

    judged_*: by the verdict. learned_*: by their labels now, including weak ones. corrected: verdicts that a person's
    decision contradicts. Anybody can write any address: a sender is what the messages claim.
    """

    id: int
    name: str
    is_list: bool
    messages: int
    judged_ham: int
    judged_unsure: int
    judged_spam: int
    learned_ham: int
    learned_spam: int
    corrected: int

    @property
    def place(self) -> tuple[int, int]:
        """The position of the sender in the order of `SenderRecords.page`."""
        return self.messages, self.id


class Learned(NamedTuple):
    """How many messages of an address or a list are learned as ham, and as spam; weak lessons too."""

    ham: int = 0
    spam: int = 0

    @property
    def mostly_ham(self) -> bool:
        """Whether more of it is ham."""
        return self.ham > self.spam


class Came(NamedTuple):
    """Mail that came and is not spam: the messages, and how many of them were opened.

    first_at, last_at: when the first and the last were judged, in seconds since the epoch.
    """

    messages: int
    opened: int
    first_at: float
    last_at: float


class CameFrom(NamedTuple):
    """A message that is not spam. at: when it was judged. first_at: when the first came from its list or address.

    Both are in seconds since the epoch.
    """

    message: int
    at: float
    first_at: float


class Earlier(NamedTuple):
    """The other mail of an address. first_at: when the first was judged or learned; inf if that is not known.

    learned_ham: how many are learned as ham, weak lessons too.
    """

    messages: int = 0
    learned_ham: int = 0
    first_at: float = math.inf


class SenderRecords:
    """Who has sent how much."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def page(self, most: int, text: str = "", after: tuple[int, int] | None = None) -> list[Sender]:
        """Return the senders with the most messages first, at most `most`; with a text, only names that contain it.

        after: the place of the last one of the previous page.
        """
        like, patterns = contains("name", text)
        bounded = "" if after is None else "(messages, id) < (?, ?) AND "
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM sender WHERE {bounded}messages > 0 AND {like}"  # noqa: S608 - no text from outside
            " ORDER BY messages DESC, id DESC LIMIT ?",
            (*(after or ()), *patterns, most),
        )
        return [_sender(row) for row in rows]

    def get(self, sender: int) -> Sender | None:
        """Return the sender of that id, or None."""
        row = self._db.row(f"SELECT {_COLUMNS} FROM sender WHERE id = ?", (sender,))  # noqa: S608
        return None if row is None else _sender(row)

    def of_message(self, message: int) -> list[Sender]:
        """Return the address and the list that a message came from, if they are known."""
        ids = "SELECT sender FROM message WHERE id = ?1 UNION SELECT list FROM message WHERE id = ?1"
        rows = self._db.all(f"SELECT {_COLUMNS} FROM sender WHERE id IN ({ids}) ORDER BY is_list", (message,))  # noqa: S608
        return [_sender(row) for row in rows]

    def newest_author(self, list_: int) -> str:
        """Return the address that the newest message of a list came from; "" if it is not known."""
        row = self._db.row(
            "SELECT s.name FROM message AS m JOIN sender AS s ON s.id = m.sender WHERE m.list = ?"
            " ORDER BY m.id DESC LIMIT 1",
            (list_,),
        )
        return "" if row is None else str(row[0])

    def learned(self, address: str, list_id: str) -> tuple[Learned, Learned]:
        """Return what is learned of an address, and of a list; nothing of what is not known."""
        kept = names(address, list_id)
        rows = self._db.all(
            "SELECT is_list, learned_ham, learned_spam FROM sender WHERE (is_list, name) IN (VALUES (0, ?), (1, ?))",
            kept,
        )
        of = {is_list: Learned(ham, spam) for is_list, ham, spam in rows}
        return of.get(0, Learned()), of.get(1, Learned())

    def earlier(self, address: str, without: bytes) -> Earlier:
        """Return what is known of an address, without the message of that identity."""
        row = self._db.row(
            "SELECT count(*), count(*) FILTER (WHERE m.label = 0), min(coalesce(m.judged_at, m.learned_at))"
            " FROM message AS m WHERE m.digest IS NOT ?2"
            " AND m.sender = (SELECT id FROM sender WHERE NOT is_list AND name = ?1)",
            (names(address, "")[0], without),
        )
        return Earlier(row[0], row[1], math.inf if row[2] is None else row[2])

    def of_site(self, site: str, most: int) -> list[str]:
        """Return learned addresses of a domain and its subdomains, at most `most`, those with spam first.

        It looks at all senders: 3 ms for 20,000. LIKE, which may find too many, more than halves that.
        """
        rows = self._db.all(
            "SELECT name FROM sender WHERE NOT is_list AND (learned_ham > 0 OR learned_spam > 0)"
            " AND name LIKE '%' || ?1 AND substr(name, -1 - length(?1)) IN ('@' || ?1, '.' || ?1)"
            " ORDER BY learned_spam > 0 DESC, messages DESC, id DESC LIMIT ?2",
            (site, most),
        )
        return [row[0] for row in rows]

    def came(self, since: float, most: int) -> dict[int, Came]:
        """Return what has come since a time, by the ids of the senders, at most the newest `most` messages.

        It looks at each of these messages: 15 ms for 5,000.
        """
        return {row[0]: Came(*row[1:]) for row in self._db.all(_CAME, (since, most))}

    def come_since(self, name: str, at: float, *, is_list: bool) -> int:
        """Return how many messages of an address or a list were judged after a time."""
        column = "list" if is_list else "sender"
        row = self._db.row(
            f"SELECT count(*) FROM message WHERE judged_at > ? AND {column} ="  # noqa: S608 - no text from outside
            " (SELECT id FROM sender WHERE is_list = ? AND name = ?)",
            (at, is_list, name),
        )
        return int(row[0])

    def came_from(self, since: float, until: float, most: int) -> list[CameFrom]:
        """Return the newest messages of a time that are not spam, at most `most`, in the order in which they came."""
        return [CameFrom(*row) for row in reversed(self._db.all(_CAME_FROM, (since, until, most)))]

    def with_most_ham(self, most: int) -> list[str]:
        """Return the addresses with more learned ham than spam, at most `most`, those with the most mail first."""
        rows = self._db.all(
            "SELECT name FROM sender WHERE NOT is_list AND learned_ham > learned_spam"
            " ORDER BY messages DESC, id DESC LIMIT ?",
            (most,),
        )
        return [row[0] for row in rows]

    def with_ham(self, most: int) -> int:
        """Return of how many addresses there is learned ham, counted up to `most`."""
        query = "SELECT count(*) FROM (SELECT 1 FROM sender WHERE NOT is_list AND learned_ham > 0 LIMIT ?)"
        return int(self._db.row(query, (most,))[0])

    def messages(self, sender: int, most: int) -> list[int]:
        """Return the ids of the newest messages from there, at most `most`."""
        rows = self._db.all(
            "SELECT id FROM (SELECT id FROM message WHERE sender = ? UNION SELECT id FROM message WHERE list = ?)"
            " ORDER BY id DESC LIMIT ?",
            (sender, sender, most),
        )
        return [row[0] for row in rows]

    def faults(self) -> list[str]:
        """Return the faults of the numbers that triggers keep; nothing if each is the sum over the messages."""
        differing = f"SELECT * FROM ({_KEPT} EXCEPT {_SUMS}) UNION ALL SELECT * FROM ({_SUMS} EXCEPT {_KEPT})"  # noqa: S608
        return [f"sender: {row} is not the sum over the messages, or is missing" for row in self._db.all(differing)]


def names(address: str, list_id: str) -> tuple[str, str]:
    """Return an address and a list in the form that is kept."""
    return printable(address)[:MOST_NAME], printable(list_id)[:MOST_NAME]


def _sender(row: tuple[int, str, int, int, int, int, int, int, int, int]) -> Sender:
    id_, name, is_list, *numbers = row
    return Sender(id_, name, bool(is_list), *numbers)
