"""The journal: what was done to messages, and what is about to be done."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from spamnb.base.label import How, Label, label_or_none
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.corrections import sql_is_correction
from spamnb.ledger.lessons.port import Lesson
from spamnb.ledger.queries import contains, look_up

Kind = Literal["judged", "moved", "learned", "imported", "settled", "chosen"]
# An intent is written before a move and ends as done, or as failed if nothing was moved. A judgement is done, or
# withheld if the breaker or a pause stopped the move.
ActionState = Literal["intent", "done", "failed", "undone", "withheld"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was done.

    `before` and `after` are labels; source and destination are a folder's id and a base name. `verdict` and
    `probability` belong to a judgement, or to the judgement that a move followed from. `takes_back`: the action that
    this one undoes. An action of kind "chosen" has no message: `message` is 0, `digest` empty, `summary` the choice.
    `how`: the way by which its message was judged or learned; None for other actions.
    """

    id: int
    at: float
    message: int
    digest: bytes
    summary: str
    kind: Kind
    state: ActionState
    why: str
    how: How | None
    takes_back: int | None
    before: Label | None
    before_weak: bool
    after: Label | None
    after_weak: bool
    source: int | None
    source_base: str
    destination: int | None
    destination_base: str
    verdict: str | None
    probability: float | None

    @property
    def is_of_init(self) -> bool:
        """Whether `spamnb init` has learned the message by its folder, or this takes such a lesson back."""
        is_weak = self.before_weak if self.after is None else self.after_weak
        return self.kind == "learned" and self.how is How.SEEN and not is_weak


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


_CHOICE = "c.kind || ' ' || coalesce(c.pattern, c.number)"  # the choice, in place of a summary
_COLUMNS = (
    "a.id, a.at, coalesce(a.message, 0), coalesce(m.digest, x''),"
    f" coalesce(m.summary, {_CHOICE}), a.kind, a.state, a.why, a.how, a.takes_back,"
    " a.before, coalesce(a.before_weak, 0), a.after, coalesce(a.after_weak, 0),"
    " a.source, a.source_base, a.destination, a.destination_base, a.verdict, a.probability"
)
# LEFT JOIN: a choice has no message. This walks the actions by id, so a page ends as soon as it is full. But a
# condition on `m` that refuses NULL by itself, as = does, may make SQLite begin with the messages.
_OF_ACTION = "action AS a LEFT JOIN message AS m ON m.id = a.message LEFT JOIN choice AS c ON c.id = a.choice"
_SELECT = f"SELECT {_COLUMNS} FROM {_OF_ACTION}"  # noqa: S608 - no text from outside
_TAKEN = "takes_back = a.id AND state IN ('done', 'undone')"  # of an action that has taken back another one
_WITHHELD = (
    "a.state = 'withheld' AND m.label IS NULL AND m.rescued_at IS NULL"
    " AND EXISTS (SELECT 1 FROM file WHERE message = a.message AND gone_at IS NULL) ORDER BY a.id"
)
_AMONG = "IN (SELECT value FROM {asked})"  # for `look_up`
_LINES = (
    f"SELECT {_COLUMNS}, coalesce(s.name, ''), coalesce(d.name, ''),"  # noqa: S608
    f" CASE WHEN a.state = 'undone' THEN (SELECT max(id) FROM action WHERE {_TAKEN}) END,"
    " CASE WHEN a.state = 'withheld' THEN (SELECT min(id) FROM action"
    " WHERE message = a.message AND id > a.id AND kind = 'moved' AND state = 'done') END,"
    " CASE WHEN a.kind IN ('judged', 'moved') AND m.learned_at > a.at THEN m.label END, m.weak, a.answer"
    f" FROM {_OF_ACTION} LEFT JOIN folder AS s ON s.id = a.source LEFT JOIN folder AS d ON d.id = a.destination"
)
_CORRECTED = f"? AND a.state = 'done' AND {sql_is_correction('m.verdict')}"
_IN_MAILBOX = (
    "EXISTS (SELECT 1 FROM file AS f JOIN folder AS o ON o.id = f.folder JOIN mailbox AS b ON b.id = o.mailbox"
    " WHERE f.message = a.message AND b.path = ?)"
)
_NO_JUDGEMENT = "a.kind <> 'judged'"  # most actions are; this names the index of the others
_UNDOABLE: tuple[Kind, ...] = ("moved", "learned", "imported", "settled", "chosen")


class Journal:
    """The actions of a ledger, in order."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def intend(
        self,
        message: int,
        source: tuple[int, str],
        destination: tuple[int, str],
        why: str,
        at: float,
        *,
        how: How | None = None,
        takes_back: int | None = None,
        answer: int | None = None,
        verdict: str | None = None,
        probability: float | None = None,
        owner: str | None = None,
    ) -> int:
        """Record a move before it is made; source and destination are a folder's id and a base name.

        answer: the action of the answer that causes it. owner: the process that makes the move (`IntentOwner.name`).
        """
        ends = *_encoded(source), *_encoded(destination)
        values = at, message, why, how, *ends, takes_back, answer, verdict, probability, owner
        with self._db.transaction():
            return self._db.execute(
                "INSERT INTO action (at, message, kind, state, why, how, source, source_base, destination,"
                " destination_base, takes_back, answer, verdict, probability, owner)"
                " VALUES (?, ?, 'moved', 'intent', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )

    def judged(
        self,
        message: int,
        location: tuple[int, str],
        verdict: str,
        probability: float,
        why: str,
        at: float,
        *,
        how: How,
        withheld: bool = False,
    ) -> int:
        """Record a judgement that no move follows; `location` is a folder's id and a base name."""
        state: ActionState = "withheld" if withheld else "done"
        with self._db.transaction():
            return self._db.execute(
                "INSERT INTO action (at, message, kind, state, why, how, source, source_base, verdict, probability)"
                " VALUES (?, ?, 'judged', ?, ?, ?, ?, ?, ?, ?)",
                (at, message, state, why, how, *_encoded(location), verdict, probability),
            )

    def settled(self, message: int, why: str, at: float, since: int) -> int:
        """Record that a person has said what a message is, so that nobody asks again.

        since: an action before the answer. Later actions on the message, in this transaction, are part of the answer.
        """
        with self._db.transaction():
            answer = self._db.execute(
                "INSERT INTO action (at, message, kind, state, why) VALUES (?, ?, 'settled', 'done', ?)",
                (at, message, why),
            )
            self._db.execute("UPDATE action SET answer = ? WHERE message = ? AND id > ?", (answer, message, since))
            return answer

    def withdrawn(self, action: int, why: str, at: float) -> None:
        """Record that an answer, or a choice, is taken back; a choice needs nothing more."""
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO action (at, message, choice, kind, state, why, takes_back)"
                " SELECT ?, message, choice, kind, 'done', ?, id FROM action WHERE id = ?",
                (at, why, action),
            )
            self.taken_back(action)

    def all_settled(self) -> set[bytes]:
        """Return the identities of the messages that no question may ask about again."""
        where = f"{_NO_JUDGEMENT} AND a.kind = 'settled' AND a.state = 'done' AND a.takes_back IS NULL"
        return {action.digest for action in self._actions(where)}

    def is_settled(self, message: int) -> bool:
        """Whether no question may ask about this message again."""
        where = "message = ? AND kind = 'settled' AND state = 'done' AND takes_back IS NULL"
        return bool(self._db.all(f"SELECT 1 FROM action WHERE {where} LIMIT 1", (message,)))  # noqa: S608

    def of_answer(self, settled: int) -> list[Action]:
        """Return everything that a person's answer did, the oldest first: its lessons or forgetting, itself, its moves.

        settled: the action that is the answer itself. Empty if that action is not an answer, or takes back an answer.
        """
        return self._actions("a.answer = ? ORDER BY a.id", settled)

    def import_of(self, digest: bytes) -> Action | None:
        """Return the newest action that imported exactly these counts, unless it was undone."""
        where = "m.digest = ? AND a.kind = 'imported' AND a.state = 'done' AND a.takes_back IS NULL"
        return next(iter(self._actions(f"{where} ORDER BY a.id DESC LIMIT 1", digest)), None)

    def learned(self, lessons: Sequence[Lesson]) -> None:
        """Record lessons as actions, each if its label differs from the recorded one.

        The actions that they take back become undone. Every import is recorded: the same counts may be imported several
        times.
        """
        are_undos = any(lesson.takes_back is not None for lesson in lessons)
        imports = [lesson for lesson in lessons if lesson.how is How.IMPORT]
        lessons = [lesson for lesson in lessons if lesson.how is not How.IMPORT]
        with self._db.transaction():
            self._db.executemany(
                "INSERT OR IGNORE INTO message (digest, summary) VALUES (?, ?)",
                [(lesson.digest, lesson.summary) for lesson in lessons],
            )
            last = self.newest_id() if are_undos else 0
            labels = [(lesson.label, lesson.weak) for lesson in lessons]
            self._db.executemany(
                "INSERT INTO action"
                " (at, message, kind, state, why, how, takes_back, before, before_weak, after, after_weak)"
                " SELECT ?, id, 'learned', 'done', ?, ?, (SELECT id FROM action WHERE id = ?), label, weak, ?, ?"
                " FROM message WHERE digest = ? AND (label, weak) IS NOT (?, ?)",
                [
                    (lesson.at, lesson.why, lesson.how, lesson.takes_back, *label, lesson.digest, *label)
                    for lesson, label in zip(lessons, labels, strict=True)
                ],
            )
            self._db.executemany(
                "UPDATE message SET label = ?, weak = ?, learned_at = ?, summary = ? WHERE digest = ?",
                [(lesson.label, lesson.weak, lesson.at, lesson.summary, lesson.digest) for lesson in lessons],
            )
            self._imported(imports)
            undone = "SELECT takes_back FROM action WHERE id > ? AND takes_back IS NOT NULL ORDER BY id"
            for (action,) in self._db.all(undone, (last,)) if are_undos else ():
                self.taken_back(action)

    def _imported(self, imports: Sequence[Lesson]) -> None:
        """Record imports, and imports that were taken back."""
        self._db.executemany(
            "INSERT INTO message (digest, summary) VALUES (?, ?)"
            " ON CONFLICT (digest) DO UPDATE SET summary = excluded.summary",
            [(lesson.digest, lesson.summary) for lesson in imports],
        )
        self._db.executemany(
            "INSERT INTO action (at, message, kind, state, why, how, takes_back)"
            " SELECT ?, id, 'imported', 'done', ?, ?, (SELECT id FROM action WHERE id = ?) FROM message"
            " WHERE digest = ?",
            [(lesson.at, lesson.why, lesson.how, lesson.takes_back, lesson.digest) for lesson in imports],
        )

    def how_before(self, action: Action) -> How:
        """Return how the lesson came that this action replaced; if it replaced none, how it came itself."""
        row = self._db.row(
            "SELECT how FROM action WHERE message = ? AND kind = 'learned' AND id <= ? ORDER BY id = ?, id DESC",
            (action.message, action.id, action.id),
        )
        return How(row[0])

    def redirect(self, action: int, base: str) -> None:
        """Give an open intent a different base name at its destination."""
        with self._db.transaction():
            self._db.execute("UPDATE action SET destination_base = ? WHERE id = ?", (os.fsencode(base), action))

    def settle(self, action: int, state: ActionState) -> None:
        """Record the new state of an action. Only an open intent can fail: another process may have finished it."""
        with self._db.transaction():
            self._db.execute(
                "UPDATE action SET state = ? WHERE id = ? AND (state = 'intent' OR ? <> 'failed')",
                (state, action, state),
            )

    def get(self, action: int) -> Action | None:
        """Return the action of that id, or None."""
        return self.those([action]).get(action)

    def those(self, ids: Collection[int]) -> dict[int, Action]:
        """Return the actions of these ids, by id; missing ones are left out."""
        return {row[0]: _action(row) for row in look_up(self._db, f"{_SELECT} WHERE a.id {_AMONG}", list(ids))}

    def intents(self) -> list[Action]:
        """Return the moves that were begun and not ended: another process is making them, or the last one died."""
        return self._actions("a.state = 'intent' ORDER BY a.id")

    def is_leaving(self, folder: int, base: str, owner: str | None) -> bool:
        """Whether another owner has an open move of that file."""
        row = self._db.row(
            "SELECT 1 FROM action WHERE state = 'intent' AND source = ? AND source_base = ? AND owner IS NOT ?",
            (folder, os.fsencode(base), owner),
        )
        return row is not None

    def take_over(self, action: int, former: str | None, owner: str | None) -> bool:
        """Give an open intent a new owner. Returns False if it is no longer open, or no longer the old owner's."""
        with self._db.transaction():
            row = self._db.row("SELECT owner FROM action WHERE id = ? AND state = 'intent'", (action,))
            if row is None or row[0] != former:
                return False
            if owner != former:
                self._db.execute("UPDATE action SET owner = ? WHERE id = ?", (owner, action))
            return True

    def owner(self, action: int) -> str | None:
        """Return which process carries out an open intent (`IntentOwner.name`); None if unknown."""
        row = self._db.row("SELECT owner FROM action WHERE id = ?", (action,))
        return None if row is None else row[0]

    def newest(self, most: int) -> Iterator[Action]:
        """Return the newest actions, the newest first."""
        return iter(self._actions("1 ORDER BY a.id DESC LIMIT ?", most))

    def page(
        self, most: int, wanted: Wanted = Wanted(), before: int | None = None, after: int | None = None
    ) -> list[Line]:
        """Return the newest wanted actions, the newest first; for the next page, those before the action `before`.

        after: the id of an action; it and older ones are not searched.
        """
        where, parameters = _conditions(wanted, before, after)
        rows = self._db.all(f"{_LINES} WHERE {where} ORDER BY a.id DESC LIMIT ?", (*parameters, most))
        return self._with_chains(list(map(_line, rows)))

    def lines(self, actions: Sequence[Action]) -> list[Line]:
        """Return the lines of these actions, in their order."""
        ids = [action.id for action in actions]
        rows = {row[0]: row for row in look_up(self._db, f"{_LINES} WHERE a.id {_AMONG}", ids)}
        return self._with_chains([_line(rows[action.id]) for action in actions])

    def _with_chains(self, lines: Sequence[Line]) -> list[Line]:
        """Return lines with `answer` and `undos`: each round goes up every chain of undos by one action."""
        undos: Counter[int] = Counter()
        answers = {line.action.id: line.answer for line in lines}
        taken = {line.action.id: line.action.takes_back for line in lines}
        while taken := {id_: up for id_, up in taken.items() if up is not None}:
            undos.update(taken.keys())
            links = f"SELECT a.id, a.takes_back, a.answer FROM action AS a WHERE a.id {_AMONG}"  # noqa: S608 - no text from outside
            above = {row[0]: row[1:] for row in look_up(self._db, links, list(set(taken.values())))}
            ups = {id_: above.get(up, (None, None)) for id_, up in taken.items()}
            answers |= {id_: answer for id_, (_, answer) in ups.items()}
            taken = {id_: up for id_, (up, _) in ups.items()}
        return [replace(line, answer=answers[line.action.id], undos=undos[line.action.id]) for line in lines]

    def parts(self, lines: Sequence[Line]) -> list[Line]:
        """Return all actions of the answers, or undos of answers, that these lines belong to, the oldest first."""
        answers = sorted({line.answer for line in lines if line.answer is not None})
        of_round = list(look_up(self._db, f"{_SELECT} WHERE a.answer {_AMONG}", answers))
        found: list[Action] = []
        for _ in range(1 + max((line.undos for line in lines if line.answer is not None), default=0)):
            found += (actions := list(map(_action, of_round)))
            taking = f"{_SELECT} WHERE a.takes_back {_AMONG}"
            of_round = list(look_up(self._db, taking, [action.id for action in actions]))
        return self.lines(sorted(found, key=lambda action: action.id))

    def folders(self) -> list[str]:
        """Return the names of all folders that the ledger has ever seen."""
        return [row[0] for row in self._db.rows("SELECT DISTINCT name FROM folder ORDER BY name")]

    def since(self, at: float, kinds: Sequence[Kind] = _UNDOABLE) -> list[Action]:
        """Return the actions since a time that were not undone, the newest first: the order in which to undo them.

        Judgements did nothing, and undos are separate (`undos`): both are left out.
        """
        return self._standing("a.takes_back IS NULL", at, kinds)

    def undos(self, at: float, kinds: Sequence[Kind] = _UNDOABLE) -> list[Action]:
        """Return the undos since a time that were not undone themselves, the newest first."""
        last = f"a.takes_back IS NOT NULL AND NOT EXISTS (SELECT 1 FROM action WHERE {_TAKEN})"  # noqa: S608
        return [action for action in self._standing(last, at, kinds) if self.first(action).state == "undone"]

    def _standing(self, which: str, at: float, kinds: Sequence[Kind]) -> list[Action]:
        wanted = f"{_NO_JUDGEMENT} AND a.kind IN ({','.join('?' * len(kinds))}) AND a.at >= ? AND a.state = 'done'"
        return self._actions(f"{wanted} AND {which} ORDER BY +a.id DESC", *kinds, at)  # +: do not walk all by id

    def first(self, action: Action) -> Action:
        """Return the beginning of a chain of undos: the action itself if it takes back none."""
        while action.takes_back is not None and (earlier := self.get(action.takes_back)) is not None:
            action = earlier
        return action

    def ends(self, actions: Iterable[Action]) -> list[Action]:
        """Return the ends of the chains of undos that begin with the actions: exactly these can be undone.

        The newest first, each once.
        """
        ends: dict[int, Action] = {}
        taking = f"{_SELECT} WHERE a.state IN ('done', 'undone') AND a.takes_back {_AMONG}"
        begun = {action.id: action for action in actions}
        while begun:
            later = sorted(map(_action, look_up(self._db, taking, list(begun))), key=lambda action: action.id)
            taken = {action.takes_back: action for action in later}
            ends |= {id_: action for id_, action in begun.items() if id_ not in taken}
            begun = {action.id: action for action in taken.values()}
        return [ends[id_] for id_ in sorted(ends, reverse=True)]

    def taken_back(self, id_: int) -> Action:
        """Record that an action was taken back; the action that it took back counts again, and so on down the chain.

        Returns the first action of the chain in its new state.
        """
        with self._db.transaction():
            state: ActionState = "undone"
            action = self.get(id_)
            if action is None:
                raise LookupError(f"there is no action {id_}")
            while True:
                self.settle(action.id, state)
                earlier = None if action.takes_back is None else self.get(action.takes_back)
                if earlier is None:
                    return replace(action, state=state)
                state, action = "done" if state == "undone" else "undone", earlier

    def withheld(self) -> list[Action]:
        """Return the newest withheld judgement of each message that is still in a folder, the oldest first.

        Messages that a person has decided on since then are left out: learned ones, and rescued ones.
        """
        return list({action.message: action for action in self._actions(_WITHHELD)}.values())

    def newest_id(self) -> int:
        """Return the id of the newest action, 0 if there is none."""
        return int(self._db.row("SELECT coalesce(max(id), 0) FROM action")[0])

    def oldest_at(self) -> float | None:
        """Return when the oldest action was done, in seconds since the epoch; None if there is none."""
        (at,) = self._db.row("SELECT min(at) FROM action")
        return None if at is None else float(at)

    def undoing(self, actions: Sequence[int], since: int) -> list[int]:
        """Return the ids of the actions after `since` that take back these actions, the oldest first."""
        wanted = set(actions)
        later = self._actions("a.id > ? AND a.takes_back IS NOT NULL ORDER BY a.id", since)
        return [action.id for action in later if action.takes_back in wanted]

    def of_message(self, message: int) -> list[Action]:
        """Return what was done to a message, the oldest first."""
        return self._actions("a.message = ? ORDER BY a.id", message)

    def _actions(self, where: str, *parameters: object) -> list[Action]:
        return list(map(_action, self._db.all(f"{_SELECT} WHERE {where}", parameters)))


def _action(row: Sequence[Any]) -> Action:
    *former, how, undoes, before, was_weak, after, is_weak, source, base, goal, new_base, verdict, probability = row
    labels = label_or_none(before), bool(was_weak), label_or_none(after), bool(is_weak)
    ends = source, os.fsdecode(base or b""), goal, os.fsdecode(new_base or b"")
    values: list[Any] = [*former, None if how is None else How(how), undoes, *labels, *ends, verdict, probability]
    return Action(*values)


def _line(row: Sequence[Any]) -> Line:
    *action, source, destination, undone_by, moved_by, label, weak, answer = row
    return Line(_action(action), source, destination, undone_by, moved_by, label_or_none(label), bool(weak), answer)


def _encoded(location: tuple[int, str]) -> tuple[int, bytes]:
    return location[0], os.fsencode(location[1])


def _conditions(wanted: Wanted, before: int | None, after: int | None) -> tuple[str, list[object]]:
    """Return the condition behind WHERE, with its parameters. The + keeps SQLite from sorting what an index finds."""
    named = "IN (SELECT id FROM folder WHERE name = ?)"
    holds, texts = contains("m.summary", wanted.text)
    names, _ = contains(_CHOICE, wanted.text)
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
        (f"({holds} OR a.choice IS NOT NULL AND {names})", [*texts, *texts] if wanted.text else [None]),
    ]
    applying = [(condition, values) for condition, values in conditions if values[0] is not None]
    where = " AND ".join(["1", *(condition for condition, _ in applying)])
    return where, [value for _, values in applying for value in values]
