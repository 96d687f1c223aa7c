"""Mail by where it came from: the address in From, or the mailing list."""

from dataclasses import dataclass

from spamnb.ledger.connection import Connection
from spamnb.ledger.history.like import holding

_COLUMNS = "id, name, is_list, messages, judged_ham, judged_unsure, judged_spam, learned_ham, learned_spam, corrected"


@dataclass(frozen=True, slots=True)
class Sender:
    """An address or a list with the mail that came from it.

    judged_*: by the verdict. learned_*: by what they are learned as now, weakly too. corrected: verdicts against which
    a person has decided. Anybody can write any address: a sender is what the messages say.
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
        """Where it stands in the order of `SenderRecords.page`."""
        return self.messages, self.id


class SenderRecords:
    """Who has sent how much."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def page(self, most: int, text: str = "", after: tuple[int, int] | None = None) -> list[Sender]:
        """Those with the most messages first, at most so many; with a text, those whose name holds it.

        after: the place of the last one of the page before.
        """
        like, patterns = holding("name", text)
        bounded = "" if after is None else "(messages, id) < (?, ?) AND "
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM sender WHERE {bounded}messages > 0 AND {like}"  # noqa: S608 - no text from outside
            " ORDER BY messages DESC, id DESC LIMIT ?",
            (*(after or ()), *patterns, most),
        )
        return [_sender(row) for row in rows]

    def get(self, sender: int) -> Sender | None:
        """The one of that id, or None."""
        row = self._db.row(f"SELECT {_COLUMNS} FROM sender WHERE id = ?", (sender,))  # noqa: S608
        return None if row is None else _sender(row)

    def messages(self, sender: int, most: int) -> list[int]:
        """The newest messages that came from there, by their ids, and at most so many."""
        rows = self._db.all(
            "SELECT id FROM (SELECT id FROM message WHERE sender = ? UNION SELECT id FROM message WHERE list = ?)"
            " ORDER BY id DESC LIMIT ?",
            (sender, sender, most),
        )
        return [row[0] for row in rows]


def _sender(row: tuple[int, str, int, int, int, int, int, int, int, int]) -> Sender:
    id_, name, is_list, *numbers = row
    return Sender(id_, name, bool(is_list), *numbers)
