"""A person's choices beside the configuration, from a page or the prompt: senders, lists, folders and cutoffs.

Each choice is an action of the history, and counts until that is undone. For one pattern, and for one cutoff, the
newest choice counts. To withdraw a choice, undo its action.

A move of mail of a list once chose a pattern without "list:", which matches mail from that domain too. Such a choice
without "@" can only be about the list, so it is read as one of that. The same pattern from a page or the prompt may be
about either, and keeps both.

Every process that judges asks `over` for each message, so a choice takes effect at once. This is one query on an index
with a row for each choice and each undo: 6 µs, with a thousand choices 19 µs.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal

from spamnb.base.label import Label, Role
from spamnb.config import Config, Senders
from spamnb.config.chosen import FOLDERS, Chosen, with_choices
from spamnb.config.named_senders import is_of_list, list_pattern, matches_sender
from spamnb.ledger.connection import Connection

ChoiceKind = Literal[
    "allow", "block", "ham_cutoff", "spam_cutoff", "inbox", "newsletters", "newcomers_folder", "newsletters_folder"
]
ChosenBy = Literal["page", "prompt", "move"]
LABEL_OF: dict[ChoiceKind, Label] = {"allow": Label.HAM, "block": Label.SPAM}
SORTED_TO: dict[ChoiceKind, Role] = {"inbox": Role.INBOX, "newsletters": Role.NEWSLETTERS}
"""The kinds of choice about the folder for mail of a sender or a list that is not spam."""
MOST_SENDERS = 1000
"""Patterns that have an effect, the newest ones. On a mail host all users wait for the mail of one: 1,000 with stars
take at most 0.1 s for a message, and 100,000 would take 10 s. The configuration may have more."""
_STANDING = (
    "SELECT a.id, a.at, c.kind, coalesce(c.pattern, c.number), c.by"
    " FROM action AS a JOIN choice AS c ON c.id = a.choice"
    " WHERE a.choice IS NOT NULL AND a.state = 'done' AND a.takes_back IS NULL"
    " AND (c.pattern IS NULL) = (c.kind IN ('ham_cutoff', 'spam_cutoff')) ORDER BY c.id"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice in force.

    action: the action that made it, and whose undo ends it. at: seconds since the epoch. by: where it was made. value:
    a pattern of senders or lists, a cutoff, or the name of a folder.
    """

    action: int
    at: float
    kind: ChoiceKind
    value: str | float
    by: ChosenBy

    @property
    def subject(self) -> str:
        """The pattern of the choice, or the key of the cutoff or the folder."""
        return self.value if isinstance(self.value, str) and self.kind not in FOLDERS else self.kind

    @property
    def is_of_senders(self) -> bool:
        """Whether the choice is about senders or lists."""
        return self.kind in LABEL_OF or self.kind in SORTED_TO

    @property
    def question(self) -> tuple[bool, str]:
        """The question that it answers: the label or the folder of a subject, or a cutoff. The newest answer counts."""
        return self.kind in SORTED_TO, self.subject


class Choices:
    """The choices of a ledger."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._known: tuple[int, Chosen] = 0, Chosen()  # by the number of actions
        self._last: tuple[Chosen, Config, Config] | None = None  # the choices, the configuration, and both together

    def standing(self) -> list[Choice]:
        """Return the choices that were not taken back, the oldest first; even if a newer one has replaced them."""
        return [_as_meant(Choice(*row)) for row in self._db.rows(_STANDING)]

    def newest(self) -> list[Choice]:
        """Return the newest choice in force for each question, the oldest first."""
        newest: dict[tuple[bool, str], Choice] = {}
        for choice in self.standing():
            newest.pop(choice.question, None)
            newest[choice.question] = choice
        return list(newest.values())

    def over(self, config: Config) -> Config:
        """Return the configuration with the choices over it; until something changes, always one object.

        Do not call it in a transaction that has written a choice and may still fail.
        """
        chosen = self._in_force()
        if self._last is None or self._last[0] is not chosen or self._last[1] is not config:
            self._last = chosen, config, with_choices(config, chosen)
        return self._last[2]

    def sorted_to(self, sender: str, list_id: str) -> Role | None:
        """Return the folder for mail of a sender or a list, by the newest choice that matches; None without one."""
        return next(
            (role for pattern, role in self._in_force().sorted if matches_sender(pattern, sender, list_id)), None
        )

    def _in_force(self) -> Chosen:
        (number,) = self._db.row("SELECT count(*) FROM action WHERE choice IS NOT NULL")  # none is ever deleted
        if self._known[0] != number:
            self._known = number, self._chosen()
        return self._known[1]

    def _chosen(self) -> Chosen:
        newest = self.newest()
        cutoffs: dict[str, float] = {one.kind: one.value for one in newest if not isinstance(one.value, str)}
        named: dict[str, str] = {one.kind: str(one.value) for one in newest if one.kind in FOLDERS}
        patterns: dict[Label, list[str]] = {label: [] for label in Label}
        folders: list[tuple[str, Role]] = []
        for kind, pattern in _of_senders(newest)[-MOST_SENDERS:]:
            if kind in LABEL_OF:
                patterns[LABEL_OF[kind]].append(pattern)
            else:
                folders.append((pattern, SORTED_TO[kind]))
        return Chosen(Senders(*map(tuple, patterns.values())), cutoffs, tuple(folders[::-1]), named)

    def record(self, kind: ChoiceKind, value: str | float, by: ChosenBy, why: str, at: float) -> int:
        """Record a choice, and the action that names it. Returns the action's id."""
        pattern, number = (value, None) if isinstance(value, str) else (None, value)
        with self._db.transaction():
            choice = self._db.execute(
                "INSERT INTO choice (kind, pattern, number, by) VALUES (?, ?, ?, ?)", (kind, pattern, number, by)
            )
            return self._db.execute(
                "INSERT INTO action (at, choice, kind, state, why) VALUES (?, ?, 'chosen', 'done', ?)",
                (at, choice, why),
            )


def _of_senders(choices: Iterable[Choice]) -> list[tuple[ChoiceKind, str]]:
    return [(one.kind, one.value) for one in choices if one.is_of_senders and isinstance(one.value, str)]


def _as_meant(choice: Choice) -> Choice:
    """Return a choice by a move with the pattern of a list, if it was made before these patterns existed."""
    if choice.by != "move" or not isinstance(choice.value, str) or "@" in choice.value or is_of_list(choice.value):
        return choice
    return replace(choice, value=list_pattern(choice.value) or choice.value)


def in_force(config: Config, path: str | None) -> Config:
    """Return a configuration, as in its file, with the choices of the ledger at a path; without numpy.

    path: None without a ledger. Raises LedgerError if the ledger cannot be read.
    """
    if path is None:
        return config
    with closing(Connection(path, only_read=True)) as connection:
        return Choices(connection).over(config)
