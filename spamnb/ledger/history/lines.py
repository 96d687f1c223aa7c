"""The lines of the history: each action with the names of its folders, and what happened to it later."""

import json
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spamnb.base.label import Label, label_or_none
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.actions import (
    AMONG,
    CHOICE,
    COLUMNS,
    OF_ACTION,
    SELECT,
    TAKEN,
    Action,
    ActionState,
    Kind,
    action_of,
)
from spamnb.ledger.history.corrections import sql_is_correction
from spamnb.ledger.queries import contains, look_up


@dataclass(frozen=True, slots=True)
class Line:
    """An action with the names of its folders ("" for none), and what later happened to it and to its message.

    undone_by: the action that took it back. moved_by: the later move of a withheld message. label, weak: for a
    judgement or a move, what its message was learned as afterwards, or None. answer: the person's answer that this
    action belongs to, or that it partly undoes; None without an answer. undos: the number of undos in its chain,
    including itself.
    """

    action: Action
    source: str
    destination: str
    undone_by: int | None
    moved_by: int | None
    label: Label | None
    weak: bool
    answer: int | None
    undos: int = 0

    @property
    def is_contrary(self) -> bool:
        """Whether this action takes back the first of its chain of undos; the undo of an undo does the first again."""
        return self.undos % 2 == 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter for a page of actions; a field that is None or "" filters nothing.

    since, until: seconds since the epoch. folder: the name of a folder that a message came from or went to. text: a
    part of the summary, or of a choice. state: of the action. corrected: only corrections that still count. mailbox:
    the path of a mailbox that the message is or was in.
    """

    since: float | None = None
    until: float | None = None
    kind: Kind | None = None
    verdict: str | None = None
    folder: str | None = None
    text: str = ""
    state: ActionState | None = None
    corrected: bool = False
    mailbox: str | None = None


_LINES = (
    f"SELECT {COLUMNS}, coalesce(s.name, ''), coalesce(d.name, ''),"  # noqa: S608
    f" CASE WHEN a.state = 'undone' THEN (SELECT max(id) FROM action WHERE {TAKEN}) END,"
    " CASE WHEN a.state = 'withheld' THEN (SELECT min(id) FROM action"
    " WHERE message = a.message AND id > a.id AND kind = 'moved' AND state = 'done') END,"
    " CASE WHEN a.kind IN ('judged', 'moved') AND m.learned_at > a.at THEN m.label END, m.weak, a.answer"
    f" FROM {OF_ACTION} LEFT JOIN folder AS s ON s.id = a.source LEFT JOIN folder AS d ON d.id = a.destination"
)
_NEWEST = 5000  # verdicts of spam; looking at so many takes 27 ms of CPU
_CORRECTED = f"? AND a.state = 'done' AND {sql_is_correction('m.verdict')}"
_IN_MAILBOX = (
    "EXISTS (SELECT 1 FROM file AS f JOIN folder AS o ON o.id = f.folder JOIN mailbox AS b ON b.id = o.mailbox"
    " WHERE f.message = a.message AND b.path = ?)"
)


class HistoryLines:
    """The actions of a ledger as lines for people."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def page(
        self, most: int, wanted: Wanted = Wanted(), before: int | None = None, after: int | None = None
    ) -> list[Line]:
        """Return the newest wanted actions, the newest first; for the next page, those before the action `before`.

        after: the id of an action; it and older ones are not searched.
        """
        where, parameters = _conditions(wanted, before, after)
        rows = self._db.all(f"{_LINES} WHERE {where} ORDER BY a.id DESC LIMIT ?", (*parameters, most))
        return self._with_chains(list(map(_line, rows)))

    def least_sure(
        self, folders: Collection[int], since: float, most: int, *, text: str = "", skip: int = 0
    ) -> list[Line]:
        """Return verdicts of spam whose messages are still in these folders, the least sure first: judged or moved.

        folders: the ids of folders for spam. Only the newest `_NEWEST` verdicts since a time are looked at; `since` is
        in seconds since the epoch. text: as in `Wanted`. skip: how many to pass over. Messages that a person has
        decided on are left out.
        """
        holds, texts = _holds(text)
        newest = (
            "SELECT id FROM action WHERE at >= ? AND kind IN ('judged', 'moved') AND verdict = 'spam'"
            " AND state = 'done' AND takes_back IS NULL ORDER BY at DESC LIMIT ?"
        )
        there = (
            "EXISTS (SELECT 1 FROM file AS f WHERE f.folder = coalesce(a.destination, a.source)"
            " AND f.base = coalesce(a.destination_base, a.source_base) AND f.message = a.message AND f.gone_at IS NULL)"
        )
        in_folders = "coalesce(a.destination, a.source) IN (SELECT value FROM json_each(?))"
        rows = self._db.all(
            f"{_LINES} WHERE a.id IN ({newest}) AND {in_folders} AND (m.label IS NULL OR m.weak)"
            f" AND {there} AND {holds} ORDER BY a.probability, a.id LIMIT ? OFFSET ?",
            (since, _NEWEST, json.dumps(sorted(folders)), *texts, most, skip),
        )
        return self._with_chains(list(map(_line, rows)))

    def of(self, actions: Sequence[Action]) -> list[Line]:
        """Return the lines of these actions, in their order."""
        ids = [action.id for action in actions]
        rows = {row[0]: row for row in look_up(self._db, f"{_LINES} WHERE a.id {AMONG}", ids)}
        return self._with_chains([_line(rows[action.id]) for action in actions])

    def _with_chains(self, lines: Sequence[Line]) -> list[Line]:
        """Return lines with `answer` and `undos`: each round goes up every chain of undos by one action."""
        undos: Counter[int] = Counter()
        answers = {line.action.id: line.answer for line in lines}
        taken = {line.action.id: line.action.takes_back for line in lines}
        while taken := {id_: up for id_, up in taken.items() if up is not None}:
            undos.update(taken.keys())
            links = f"SELECT a.id, a.takes_back, a.answer FROM action AS a WHERE a.id {AMONG}"  # noqa: S608 - no text from outside
            above = {row[0]: row[1:] for row in look_up(self._db, links, list(set(taken.values())))}
            ups = {id_: above.get(up, (None, None)) for id_, up in taken.items()}
            answers |= {id_: answer for id_, (_, answer) in ups.items()}
            taken = {id_: up for id_, (up, _) in ups.items()}
        return [replace(line, answer=answers[line.action.id], undos=undos[line.action.id]) for line in lines]

    def parts(self, lines: Sequence[Line]) -> list[Line]:
        """Return all actions of the answers, or undos of answers, that these lines belong to, the oldest first."""
        answers = sorted({line.answer for line in lines if line.answer is not None})
        of_round = list(look_up(self._db, f"{SELECT} WHERE a.answer {AMONG}", answers))
        found: list[Action] = []
        for _ in range(1 + max((line.undos for line in lines if line.answer is not None), default=0)):
            found += (actions := list(map(action_of, of_round)))
            taking = f"{SELECT} WHERE a.takes_back {AMONG}"
            of_round = list(look_up(self._db, taking, [action.id for action in actions]))
        return self.of(sorted(found, key=lambda action: action.id))

    def folders(self) -> list[str]:
        """Return the names of all folders that the ledger has ever seen."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT name FROM folder ORDER BY name")]


def _line(row: Sequence[Any]) -> Line:
    *action, source, destination, undone_by, moved_by, label, weak, answer = row
    return Line(action_of(action), source, destination, undone_by, moved_by, label_or_none(label), bool(weak), answer)


def _conditions(wanted: Wanted, before: int | None, after: int | None) -> tuple[str, list[object]]:
    """Return the condition behind WHERE, with its parameters. The + keeps SQLite from sorting what an index finds."""
    named = "IN (SELECT id FROM folder WHERE name = ?)"
    holds, texts = _holds(wanted.text)
    conditions: list[tuple[str, Sequence[object]]] = [
        ("a.id < ?", [before]),
        ("a.id > ?", [after]),
        ("+a.at >= ?", [wanted.since]),
        ("+a.at <= ?", [wanted.until]),
        ("a.kind = ?", [wanted.kind]),
        ("a.verdict = ?", [wanted.verdict]),
        ("a.state = ?", [wanted.state]),
        (_CORRECTED, [1 if wanted.corrected else None]),
        (_IN_MAILBOX, [None if wanted.mailbox is None else os.fsencode(wanted.mailbox)]),
        (f"(a.source {named} OR a.destination {named})", [wanted.folder] * 2),
        (holds, texts or [None]),
    ]
    applying = [(condition, values) for condition, values in conditions if values[0] is not None]
    where = " AND ".join(["1", *(condition for condition, _ in applying)])
    return where, [value for _, values in applying for value in values]


def _holds(text: str) -> tuple[str, list[str]]:
    """Return the condition that an action is about a message, a sender or a choice with this text; 1 without a text.

    A summary has the beginning of the subject and of the address alone; the table of senders has the whole address.
    """
    if not text:
        return "1", []
    summary, texts = contains("m.summary", text)
    choice, _ = contains(CHOICE, text)
    sender, _ = contains("name", text)
    of_sender = f"m.sender IN (SELECT id FROM sender WHERE NOT is_list AND {sender})"  # noqa: S608 - no text from outside
    return f"({summary} OR a.choice IS NOT NULL AND {choice} OR {of_sender})", texts * 3
