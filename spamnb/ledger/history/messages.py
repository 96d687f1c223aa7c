"""The messages of a ledger: one row for each identity that was ever seen, judged or learned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from spamnb.base.label import Label, Verdict, label_or_none
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.senders import names
from spamnb.ledger.queries import look_up_bound


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message as the ledger knows it. `label` is None if it is not learned.

    weak: no person has decided the label. rescued_at: since when a person wants it where it is, or None. learned_at:
    when its label last changed, or None. Both are seconds since the epoch.
    """

    id: int
    digest: bytes
    summary: str
    verdict: str | None
    probability: float | None
    label: Label | None
    weak: bool
    rescued_at: float | None
    learned_at: float | None


class ActedOn(NamedTuple):
    """A message that came to an inbox, and that a person has moved to spam, or read and left in a folder.

    at: when it was learned as spam, or came there; seconds since the epoch. probability: of its verdict.
    """

    at: float
    digest: bytes
    is_spam: bool
    probability: float
    mailbox: int
    folder: str


class LeftBehind(NamedTuple):
    """A message that a person has read and left.

    is_called_spam: by the filter. is_later: it was judged after the time that the caller names.
    """

    message: int
    is_called_spam: bool
    is_later: bool


# Of a message `m`: the filter by itself has forgotten its lesson, and may learn it again. A person who takes a weak
# lesson back does not want that; a person who takes a decision back wants everything as before.
FORGOTTEN_BY_FILTER = (
    "(m.label IS NULL AND m.weak AND NOT (SELECT coalesce(b.after_weak, 0) FROM action AS a LEFT JOIN action AS b"
    " ON b.id = a.takes_back WHERE a.message = m.id AND a.kind = 'learned' ORDER BY a.id DESC LIMIT 1))"
)
FIRST_JUDGED = "SELECT min(judged_at) FROM message WHERE judged_at IS NOT NULL"
_NEWEST = 5000  # judged messages among which those that a person has acted on are looked for
# Spam that was moved out of a folder for mail apart does not count, since mail that is read and left there does not.
_ACTED_ON = f"""
    SELECT learned_at, digest, 1, probability, 0, '' FROM (SELECT * FROM message WHERE judged_at IS NOT NULL
    ORDER BY judged_at DESC LIMIT ?1) AS m WHERE label = 1 AND NOT weak
    AND NOT EXISTS (SELECT 1 FROM action AS a WHERE a.message = m.id AND a.goal <> 'spam')
    UNION ALL
    SELECT f.since, m.digest, 0, m.probability, o.mailbox, o.name FROM (SELECT * FROM message
    WHERE judged_at IS NOT NULL ORDER BY judged_at DESC LIMIT ?1) AS m
    JOIN file AS f ON f.message = m.id JOIN folder AS o ON o.id = f.folder
    WHERE f.gone_at IS NULL AND f.origin IN ('appeared', 'undo') AND f.flags GLOB '*S*'
    AND (m.label = 0 AND m.weak OR m.learned_at IS NULL OR {FORGOTTEN_BY_FILTER})"""  # noqa: S608 - no text from outside
# A file `f` of an unlearned message `m` is in the folder where the message was judged: since then nobody has moved it.
_LIES = (
    "m.label IS NULL AND f.since <= m.judged_at AND f.gone_at IS NULL AND f.origin = 'appeared'"
    " AND NOT f.flags GLOB '*T*'"
)
_LYING = f"""
    FROM (SELECT * FROM message WHERE judged_at IS NOT NULL ORDER BY judged_at DESC LIMIT {_NEWEST}) AS m
    JOIN file AS f ON f.message = m.id WHERE {_LIES}"""  # noqa: S608 - no text from outside
# A person has read such a message, and left it there while calling a later message spam.
_LEFT_BEHIND = (
    "m.learned_at IS NULL AND f.flags GLOB '*S*' AND m.judged_at < (SELECT judged_at"
    " FROM message WHERE judged_at IS NOT NULL AND label = 1 AND NOT weak ORDER BY judged_at DESC LIMIT 1)"
)
# NULL: not known. A copy of a message that was moved before says nothing.
_FATE = (
    "CASE WHEN m.label = 1 THEN iif(m.weak OR m.learned_at < m.judged_at, NULL, 1) WHEN m.label = 0 THEN 0"  # noqa: S608
    f" WHEN EXISTS (SELECT 1 FROM file AS f WHERE f.message = m.id AND {_LIES} AND {_LEFT_BEHIND}) THEN 0 END"
)
_TO_SPAM = (  # `kind <> 'judged'` names the index of the actions that are few
    "kind <> 'judged' AND kind = 'moved' AND goal = 'spam' AND takes_back IS NULL AND state IN ('done', 'undone')"
)
_MOVED = (
    "SELECT m.digest, m.summary, a.at, a.probability, m.label, m.weak, m.rescued_at IS NOT NULL"  # noqa: S608
    f" FROM (SELECT * FROM action WHERE {_TO_SPAM}) AS a JOIN message AS m ON m.id = a.message"
    f" WHERE NOT EXISTS (SELECT 1 FROM action WHERE message = a.message AND id < a.id AND {_TO_SPAM})"
)
_IN_SPAM = (
    "SELECT 1 FROM message AS m WHERE m.verdict = 'spam'"
    " AND EXISTS (SELECT 1 FROM file AS f WHERE f.message = m.id AND f.origin = 'filter')"
    " AND NOT EXISTS (SELECT 1 FROM action AS a WHERE a.message = m.id AND a.goal <> 'spam') AND m.digest"
)
_FROM_NOWHERE = "sender IS NULL AND list IS NULL"  # a message whose origin is not recorded
_NEW_SENDER = (
    "INSERT OR IGNORE INTO sender (is_list, name) SELECT ?, ?"  # noqa: S608 - no text from outside
    f" WHERE EXISTS (SELECT 1 FROM message WHERE {{key}} = ? AND {_FROM_NOWHERE})"
)
_SENDER = "(SELECT id FROM sender WHERE is_list = 0 AND name = ?)"
_LIST = "(SELECT id FROM sender WHERE is_list = 1 AND name = ?)"
_CAME_FROM = f"UPDATE message SET sender = {_SENDER}, list = {_LIST} WHERE digest = ? AND {_FROM_NOWHERE}"  # noqa: S608
_JUDGED = (
    "UPDATE message SET verdict = ?, probability = ?, judged_at = ?,"  # noqa: S608
    f" sender = iif({_FROM_NOWHERE}, {_SENDER}, sender), list = iif({_FROM_NOWHERE}, {_LIST}, list) WHERE id = ?"
)
_COLUMNS = "id, digest, summary, verdict, probability, label, weak, rescued_at, learned_at"
_SELECT = f"SELECT {_COLUMNS} FROM message"  # noqa: S608
_ENSURE = (
    "INSERT INTO message (digest, summary, header_digest) VALUES (?, ?, ?)"  # noqa: S608
    " ON CONFLICT (digest) DO UPDATE SET summary = iif(summary = '', excluded.summary, summary),"
    " header_digest = coalesce(header_digest, excluded.header_digest)"
    f" WHERE summary = '' OR header_digest IS NULL RETURNING {_COLUMNS}"
)
# FILTER: grouping by the verdict would sort the rows.
_NUMBERS = (
    f"SELECT {', '.join(f'count(*) FILTER (WHERE verdict = {str(verdict)!r})' for verdict in Verdict)}"  # noqa: S608
    " FROM message WHERE judged_at IS NOT NULL"
)


class MovedToSpam(NamedTuple):
    """A message that the filter has moved to spam. at: when, in seconds since the epoch. probability: at that time.

    label, weak: of its lesson now. rescued: a person wants it out of spam.
    """

    digest: bytes
    summary: str
    at: float
    probability: float
    label: Label | None
    weak: bool
    rescued: bool

    @property
    def is_ham(self) -> bool:
        """Tell whether a person has called it ham."""
        return self.rescued or (self.label is Label.HAM and not self.weak)

    @property
    def is_answered(self) -> bool:
        """Tell whether a person has said what it is."""
        return self.rescued or (self.label is not None and not self.weak)


class Messages:
    """The known messages, and the filter's verdicts on them."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def find(self, digest: bytes) -> MessageRow | None:
        """Return the message of that identity, or None if it was never seen."""
        row = self._db.row(f"{_SELECT} WHERE digest = ?", (digest,))
        return None if row is None else _message_row(row)

    def lookup(self, message: int) -> MessageRow | None:
        """Return the message of that id, or None if there is none (now)."""
        row = self._db.row(f"{_SELECT} WHERE id = ?", (message,))
        return None if row is None else _message_row(row)

    def get(self, message: int) -> MessageRow:
        """Return the message of that id."""
        return _message_row(self._db.row(f"{_SELECT} WHERE id = ?", (message,)))

    def ensure(self, digest: bytes, summary: str, header_digest: bytes | None = None) -> MessageRow:
        """Return the message of that identity, and create it if new; add a missing summary or header digest."""
        with self._db.transaction():
            row = self._db.row(_ENSURE, (digest, summary, header_digest))  # None: it exists, and lacks nothing
            return _message_row(row or self._db.row(f"{_SELECT} WHERE digest = ?", (digest,)))

    def has_alike(self, header_digest: bytes | None, digest: bytes) -> bool:
        """Whether the ledger knows another message with equal Message-ID, Date and From."""
        query = "SELECT 1 FROM message WHERE header_digest = ? AND digest <> ? LIMIT 1"
        return header_digest is not None and self._db.row(query, (header_digest, digest)) is not None

    def of_sender(self, address: str, most: int) -> list[int]:
        """Return the ids of the newest messages from an address, at most `most`."""
        rows = self._db.all(
            "SELECT id FROM message WHERE sender = (SELECT id FROM sender WHERE NOT is_list AND name = ?)"
            " ORDER BY id DESC LIMIT ?",
            (names(address, "")[0], most),
        )
        return [row[0] for row in rows]

    def came_from(self, messages: Iterable[tuple[bytes, str, str]]) -> None:
        """Record where messages came from, if that is missing: identity, address in From, list ("": none)."""
        rows = [(*names(sender, list_id), digest) for digest, sender, list_id in messages]
        with self._db.transaction():
            self._make_senders("digest", rows)
            self._db.executemany(_CAME_FROM, [row for row in rows if row[0] or row[1]])

    def _make_senders(self, key: str, rows: Iterable[tuple[str, str, object]]) -> None:
        """Create the missing addresses and lists that messages came from. key: the column that names the message."""
        new = [(is_list, row[is_list], row[2]) for row in rows for is_list in (0, 1) if row[is_list]]
        self._db.executemany(_NEW_SENDER.format(key=key), new)

    def rescued(self, message: int, at: float | None) -> None:
        """Record that a person has taken the message out of spam, so that it is never moved again.

        `at`: seconds since the epoch; None if the person has called it spam since.
        """
        with self._db.transaction():
            self._db.execute("UPDATE message SET rescued_at = ? WHERE id = ?", (at, message))

    def not_rescued(self, digests: Iterable[bytes]) -> None:
        """Record that a person no longer wants the messages out of spam."""
        update = "UPDATE message SET rescued_at = NULL WHERE digest = ? AND rescued_at IS NOT NULL"
        with self._db.transaction():
            self._db.executemany(update, [(digest,) for digest in digests])

    def is_any_in_spam(self, digests: Iterable[bytes]) -> bool:
        """Tell whether the filter has moved one of these messages to spam, wherever it is now."""
        return bool(look_up_bound(self._db, _IN_SPAM, list(digests)))

    def moved_to_spam(self, since: float, until: float) -> list[MovedToSpam]:
        """Return the messages that the filter has moved to spam in a span, [since, until), each once, in order.

        Times are seconds since the epoch. A message counts in the span of its first move.
        """
        rows = self._db.all(f"{_MOVED} AND a.at >= ? AND a.at < ? ORDER BY a.id", (since, until))
        return [
            MovedToSpam(digest, summary, at, probability, label_or_none(label), bool(weak), bool(rescued))
            for digest, summary, at, probability, label, weak, rescued in rows
        ]

    def first_moved_to_spam(self) -> float | None:
        """Return when the filter first moved a message to spam, in seconds since the epoch, or None."""
        row = self._db.row(f"{_MOVED} ORDER BY a.at LIMIT 1")
        return None if row is None else float(row[2])

    def judged(
        self, message: int, verdict: str, probability: float, at: float, sender: str = "", list_id: str = ""
    ) -> None:
        """Keep a verdict on a message, and its origin, as `came_from` does."""
        kept = names(sender, list_id)
        with self._db.transaction():
            self._make_senders("id", [(*kept, message)])
            self._db.execute(_JUDGED, (verdict, probability, at, *kept, message))

    def last_verdicts(self, most: int, since: float) -> Sequence[str]:
        """Return the newest verdicts given after a time, the newest first."""
        rows = self._db.rows(
            "SELECT verdict FROM message WHERE judged_at > ? ORDER BY judged_at DESC LIMIT ?", (since, most)
        )
        return [row[0] for row in rows]

    def usual(self, most: int, skip: int) -> tuple[int, int]:
        """Return how many ham and spam were judged before the newest `skip` messages, among at most `most`.

        A learned message counts by its label, any other by its verdict.
        """
        ham, spam = self._db.row(
            "SELECT count(*) - coalesce(sum(spam), 0), coalesce(sum(spam), 0) FROM"
            " (SELECT coalesce(label = 1, verdict = 'spam') AS spam FROM message WHERE judged_at IS NOT NULL"
            " ORDER BY judged_at DESC LIMIT ? OFFSET ?)",
            (most, skip),
        )
        return ham, spam

    def first_judged_at(self) -> float | None:
        """Return when the first message was judged that is still known, in seconds since the epoch."""
        (at,) = self._db.row(FIRST_JUDGED)
        return None if at is None else float(at)

    def last_judged_at(self) -> float | None:
        """Return when a message was last judged, in seconds since the epoch."""
        (at,) = self._db.row("SELECT max(judged_at) FROM message WHERE judged_at IS NOT NULL")
        return None if at is None else float(at)

    def judged_at(self, number: int) -> float | None:
        """Return when the newest message but `number` was judged, in seconds since the epoch; None if fewer were."""
        row = self._db.row(
            "SELECT judged_at FROM message WHERE judged_at IS NOT NULL ORDER BY judged_at DESC LIMIT 1 OFFSET ?",
            (number,),
        )
        return None if row is None else float(row[0])

    def acted_on(self) -> list[ActedOn]:
        """Return the newest judged messages that a person has moved to spam, and those that were read and kept.

        Answered or filed mail is neither, and neither is mail that a person has made the filter forget.
        """
        rows = self._db.rows(_ACTED_ON, (_NEWEST,))
        return [ActedOn(at, digest, bool(is_spam), *rest) for at, digest, is_spam, *rest in rows]

    def unsorted(self) -> int:
        """Return how much of the newest mail was called spam, and is where it was judged, neither learned nor deleted.

        For a filter that does not move mail yet: this is the mail that it would have moved.
        """
        (number,) = self._db.row(f"SELECT count(DISTINCT m.id) {_LYING} AND m.verdict = 'spam'")
        return int(number)

    def kept_since(self) -> list[tuple[float, bool]]:
        """Return since when each of the newest messages that was read is where it was judged, the earliest first.

        Beside each time is whether the filter called the message spam. Messages that were ever learned are left out.
        """
        rows = self._db.rows(
            f"SELECT max(f.since), m.verdict = 'spam' {_LYING} AND m.learned_at IS NULL AND f.flags GLOB '*S*'"
            " GROUP BY m.id ORDER BY 1"
        )
        return [(float(since), bool(is_spam)) for since, is_spam in rows]

    def fates(self, since: float, most: int) -> list[bool]:
        """Return what a person did with mail that the filter has called spam, the newest first, at most `most`.

        True: the person has called the message spam. False: it was learned as ham, or left behind. Mail whose fate is
        not known is left out. since: only messages judged after that time.
        """
        rows = self._db.rows(
            f"SELECT fate FROM (SELECT m.judged_at, {_FATE} AS fate FROM message AS m"  # noqa: S608 - no text from outside
            " WHERE m.judged_at > ? AND m.verdict = 'spam') WHERE fate IS NOT NULL ORDER BY judged_at DESC LIMIT ?",
            (since, most),
        )
        return [bool(fate) for (fate,) in rows]

    def left_behind(self, until: float, *, only_called_spam: bool = False, lists: bool = False) -> list[LeftBehind]:
        """Return messages that a person has read, and left in place, while calling a later message spam.

        until: only messages judged up to that time, and if `lists`, later mail of lists. only_called_spam: leave out
        what the filter did not call spam. Messages that were ever learned are left out.
        """
        left = (
            f"SELECT m.id, m.verdict = 'spam', m.judged_at > ?1 {_LYING} AND (m.verdict = 'spam' OR NOT ?2)"
            f" AND (m.judged_at <= ?1 OR ?3 AND m.list IS NOT NULL) AND {_LEFT_BEHIND}"
        )
        rows = self._db.rows(left, (until, only_called_spam, lists))
        return [LeftBehind(message, bool(is_spam), bool(is_later)) for message, is_spam, is_later in rows]

    def learned_weakly(self, since: float, most: int) -> list[bytes]:
        """Return the identities of messages learned weakly since a time, the newest first, at most `most`."""
        rows = self._db.rows(
            "SELECT digest FROM message WHERE weak AND label IS NOT NULL AND learned_at >= ?"
            " ORDER BY learned_at DESC LIMIT ?",
            (since, most),
        )
        return [digest for (digest,) in rows]

    def numbers(self) -> dict[str, int]:
        """Return how many messages were judged, by verdict; this reads all of them: 70 ms for a million."""
        numbers = self._db.row(_NUMBERS)
        return {str(verdict): number for verdict, number in zip(Verdict, numbers, strict=True) if number}


def _message_row(row: Sequence[Any]) -> MessageRow:
    known = MessageRow(*row)
    return replace(known, label=label_or_none(known.label), weak=bool(known.weak))
