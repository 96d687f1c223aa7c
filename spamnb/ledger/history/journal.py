"""The journal: what was done to messages, and what is about to be done."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from spamnb.base.label import How, Role
from spamnb.ledger.connection import Connection
from spamnb.ledger.history.actions import AMONG, SELECT, TAKEN, UNDOABLE, Action, ActionState, Cause, Kind, action_of
from spamnb.ledger.lessons.port import Lesson
from spamnb.ledger.queries import look_up

_WITHHELD = (
    "a.state = 'withheld' AND (m.label IS NULL OR m.learned_at < a.at) AND m.rescued_at IS NULL"
    " AND EXISTS (SELECT 1 FROM file WHERE message = a.message AND folder = a.source AND gone_at IS NULL) ORDER BY a.id"
)
_NO_JUDGEMENT = "a.kind <> 'judged'"  # most actions are; this names the index of the others


class Journal:
    """The actions of a ledger, in order."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def intend(
        self,
        message: int,
        source: tuple[int, str],
        destination: tuple[int, str],
        cause: Cause,
        owner: str | None = None,
    ) -> int:
        """Record a move before it is made; source and destination are a folder's id and a base name.

        owner: the process that makes the move (`IntentOwner.name`).
        """
        judged = cause.verdict, cause.probability, cause.goal
        ends = *_encoded(source), *_encoded(destination)
        values = cause.at, message, cause.why, cause.how, *ends, cause.takes_back, cause.answer, *judged, owner
        with self._db.transaction():
            return self._db.execute(
                "INSERT INTO action (at, message, kind, state, why, how, source, source_base, destination,"
                " destination_base, takes_back, answer, verdict, probability, goal, owner)"
                " VALUES (?, ?, 'moved', 'intent', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

    def undone(self, action: int, why: str, at: float) -> None:
        """Record that an answer, or a choice, was undone; a choice needs nothing more."""
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO action (at, message, choice, kind, state, why, takes_back)"
                " SELECT ?, message, choice, kind, 'done', ?, id FROM action WHERE id = ?",
                (at, why, action),
            )
            self.mark_undone(action)

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
                self.mark_undone(action)

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

    def set_state(self, action: int, state: ActionState) -> None:
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
        return {row[0]: action_of(row) for row in look_up(self._db, f"{SELECT} WHERE a.id {AMONG}", list(ids))}

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

    def since(self, at: float, kinds: Collection[Kind] = UNDOABLE.keys()) -> list[Action]:
        """Return the actions since a time that were not undone, the newest first: the order in which to undo them.

        Judgements did nothing, and undos are separate (`undos`): both are left out.
        """
        return self._standing("a.takes_back IS NULL", at, kinds)

    def undos(self, at: float, kinds: Collection[Kind] = UNDOABLE.keys()) -> list[Action]:
        """Return the undos since a time that were not undone themselves, the newest first."""
        last = f"a.takes_back IS NOT NULL AND NOT EXISTS (SELECT 1 FROM action WHERE {TAKEN})"  # noqa: S608
        return [action for action in self._standing(last, at, kinds) if self.first(action).state == "undone"]

    def _standing(self, which: str, at: float, kinds: Collection[Kind]) -> list[Action]:
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
        taking = f"{SELECT} WHERE a.state IN ('done', 'undone') AND a.takes_back {AMONG}"
        begun = {action.id: action for action in actions}
        while begun:
            later = sorted(map(action_of, look_up(self._db, taking, list(begun))), key=lambda action: action.id)
            taken = {action.takes_back: action for action in later}
            ends |= {id_: action for id_, action in begun.items() if id_ not in taken}
            begun = {action.id: action for action in taken.values()}
        return [ends[id_] for id_ in sorted(ends, reverse=True)]

    def mark_undone(self, id_: int) -> Action:
        """Mark an action as undone; the action that it had undone counts again, and so on down the chain.

        Returns the first action of the chain in its new state.
        """
        with self._db.transaction():
            state: ActionState = "undone"
            action = self.get(id_)
            if action is None:
                raise LookupError(f"there is no action {id_}")
            while True:
                self.set_state(action.id, state)
                earlier = None if action.takes_back is None else self.get(action.takes_back)
                if earlier is None:
                    return replace(action, state=state)
                state, action = "done" if state == "undone" else "undone", earlier

    def withheld(self) -> list[Action]:
        """Return the newest withheld judgement of each message that is still in its folder, the oldest first.

        Messages that a person has decided on since then are left out: learned ones, and rescued ones.
        """
        return list({action.message: action for action in self._actions(_WITHHELD)}.values())

    def moved_to(self, goal: Role, since: float) -> int:
        """Return how many messages a verdict has moved to a folder of that role since a time, without those undone."""
        where = f"{_NO_JUDGEMENT} AND a.kind = 'moved' AND a.at >= ? AND a.goal = ? AND a.state IN ('intent', 'done')"
        return int(self._db.row(f"SELECT count(*) FROM action AS a WHERE {where}", (since, goal))[0])  # noqa: S608

    def newest_id(self) -> int:
        """Return the id of the newest action, 0 if there is none."""
        return int(self._db.row("SELECT coalesce(max(id), 0) FROM action")[0])

    def newest_at(self) -> float | None:
        """Return when the newest action began, in seconds since the epoch; None if there is none."""
        row = self._db.row("SELECT at FROM action ORDER BY id DESC LIMIT 1")
        return None if row is None else float(row[0])

    def first_id_after(self, at: float) -> int:
        """Return the id of the first action after that time, in seconds since the epoch; one more than all without one.

        The clock may have been set back, so the next ids need not be later.
        """
        row = self._db.row("SELECT id FROM action WHERE at >= ? ORDER BY at, id LIMIT 1", (at,))
        return self.newest_id() + 1 if row is None else int(row[0])

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
        return list(map(action_of, self._db.all(f"{SELECT} WHERE {where}", parameters)))


def _encoded(location: tuple[int, str]) -> tuple[int, bytes]:
    return location[0], os.fsencode(location[1])
