"""Take back what was done: first make a plan, which can be shown, and then carry it out.

An undo is itself an action, and can be undone: the move is made again, or the message gets its label back. So actions
form chains in which each takes back the one before. Only the last of a chain can be taken back; the others follow from
it. A judgement changed nothing, so it cannot be undone.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from spamnb.acts.filing import Filing
from spamnb.acts.moves import FolderWithId, MovedSinceError, NotUndoneError, ends_of, find_folder, mailboxes_of
from spamnb.acts.training import relabel, take_back_import
from spamnb.base.errors import LedgerError, SpamnbError
from spamnb.base.label import Label
from spamnb.config import Config
from spamnb.ledger.history.actions import UNDOABLE, Action, Kind
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name

_BATCH = 500  # learnings per transaction: each transaction waits for the disk, and writes each count once
_STATES = {"intent": "in progress", "failed": "not made: the message was gone", "undone": "already undone"}


class NoSuchActionError(SpamnbError):
    """The journal has no action of that id: there never was one, or retention has forgotten it."""


Later = Callable[[Callable[[], object]], object]


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The result of an action that was to be undone. fault: why it could not be undone, or None.

    left: a person has moved the message since then, and it stays there; this is not an error.
    """

    action: Action
    fault: SpamnbError | None = None
    left: bool = False

    @property
    def why_not(self) -> str:
        """Return why the action was not undone, without its number; "" if it was."""
        return self.fault.why if isinstance(self.fault, NotUndoneError) else str(self.fault or "")


def of_ids(ledger: Ledger, ids: Iterable[int]) -> list[Action]:
    """Return the actions to take back so that the actions of these ids are undone, the newest first.

    A person's answer is undone with everything that it did, as far as that still holds like the answer itself.
    Raises NoSuchActionError if the journal lacks one of them.
    """
    actions = []
    for number in sorted(set(ids), reverse=True):
        action = ledger.journal.get(number)
        if action is None and number > ledger.journal.newest_id():
            raise NoSuchActionError(f"there is no action {number}: see `spamnb history`")
        if action is None:
            raise NoSuchActionError(
                f"action {number} is forgotten, it cannot be undone: its message is long gone and was never learned;"
                " see `retention_days` in the configuration"
            )
        actions.append(action)
    named = _ends(ledger, actions)
    ends = {action.id: action for action in named}
    for action in named:
        ends |= {part.id: part for part in _with_answer(ledger, action)}
    return [ends[number] for number in sorted(ends, reverse=True)]


def _with_answer(ledger: Ledger, action: Action) -> list[Action]:
    """Return the actions to take back together with an answer, or with an undo of an answer."""
    if action.kind != "settled" or action.state != "done":
        return []
    answer = ledger.journal.first(action)
    parts = [
        part for part in ledger.journal.of_answer(answer.id) if part.id != answer.id and part.state == answer.state
    ]
    return ledger.journal.ends(parts)


def since(ledger: Ledger, at: float, kinds: Collection[Kind] = UNDOABLE.keys()) -> list[Action]:
    """Return the actions to take back so that all actions of these kinds since a time are undone, newest first."""
    return _ends(ledger, ledger.journal.since(at, kinds))


def undos_since(ledger: Ledger, at: float, kinds: Collection[Kind] = UNDOABLE.keys() - {"imported"}) -> list[Action]:
    """Return the undos since a time that can be taken back, newest first; not those of imports, which are not kept."""
    return ledger.journal.undos(at, kinds)


def _ends(ledger: Ledger, actions: Sequence[Action]) -> list[Action]:
    """Replace each action that was undone and made again by the one that made it again."""
    done = [action for action in actions if action.state == "done"]
    others = [action for action in actions if action.state != "done"]
    ends = {action.id: action for action in (*others, *ledger.journal.ends(done))}
    return [ends[id_] for id_ in sorted(ends, reverse=True)]


class _Hands(Protocol):
    """What takes actions back: one makes the changes, the other only notes what they would be."""

    def move(self, action: Action) -> None:
        """Undo a move. Raises MovedSinceError and NotUndoneError as `Mover.undo_move` does."""

    def relabel(self, changes: Sequence[Relabel]) -> list[bool]:
        """Give messages the lessons of before. Returns which changes were made, as `Lessons.relabel` does."""

    def end_choice(self, action: Action) -> None:
        """Undo a choice, or an answer."""

    def take_back_import(self, action: Action) -> None:
        """Undo an import. Raises LedgerError if it no longer counts."""


class _RealHands:
    """Makes the changes."""

    def __init__(self, ledger: Ledger, config: Config, now: Callable[[], float]) -> None:
        self._ledger = ledger
        self._now = now
        self.filing = Filing(ledger, config, now)

    def move(self, action: Action) -> None:
        self.filing.undo_move(action)

    def relabel(self, changes: Sequence[Relabel]) -> list[bool]:
        return relabel(self._ledger, changes, self._now())

    def end_choice(self, action: Action) -> None:
        self._ledger.journal.undone(action.id, f"undo of {action.id}", self._now())

    def take_back_import(self, action: Action) -> None:
        take_back_import(self._ledger, action, self._now())


class _NoHands:
    """Changes nothing, and remembers where messages and lessons would be by then. It lists each folder once."""

    def __init__(self, ledger: Ledger, config: Config) -> None:
        self._ledger = ledger
        self._folder_of = find_folder(ledger, mailboxes_of(config))
        self._bases: dict[int, set[str]] = {}
        self._labels: dict[bytes, tuple[Label | None, bool]] = {}

    def move(self, action: Action) -> None:
        source, destination = ends_of(action, self._folder_of)
        if action.destination_base not in self._in(destination):
            raise MovedSinceError(action.id, destination.name)
        self._in(destination).remove(action.destination_base)
        self._in(source).add(action.destination_base)

    def _in(self, folder: FolderWithId) -> set[str]:
        if folder.id not in self._bases:
            self._bases[folder.id] = {parse_name(entry.name).key for entry in scan(folder)}
        return self._bases[folder.id]

    def relabel(self, changes: Sequence[Relabel]) -> list[bool]:
        missing = [change.digest for change in changes if change.digest not in self._labels]
        for copy in self._ledger.lessons.copies_of(missing, ()):
            self._labels[copy.lesson.digest] = copy.lesson.label, copy.lesson.weak
        made = []
        for change in changes:
            made.append(self._labels.get(change.digest) == (change.before, change.before_weak))
            if made[-1]:
                self._labels[change.digest] = change.after, change.after_weak
        return made

    def end_choice(self, action: Action) -> None:
        pass

    def take_back_import(self, action: Action) -> None:
        pass


def undo(
    ledger: Ledger,
    config: Config,
    actions: Iterable[Action],
    now: Callable[[], float] = time.time,
    later: Later = lambda work: work(),
) -> Iterator[UndoOutcome]:
    """Take back actions in the given order, which is newest first; yields the result of each.

    later: gets work that may take a second and does not affect the result: showing the change to IMAP servers.

    Consecutive learnings are taken back in one transaction. Moves are not, since an intent has to be on the disk before
    the file is renamed. Raises LedgerError if the ledger can no longer be used.
    """
    hands = _RealHands(ledger, config, now)
    yield from _take_back(ledger, hands, actions)
    later(hands.filing.end)


def foresee(ledger: Ledger, config: Config, actions: Iterable[Action]) -> Iterator[UndoOutcome]:
    """Yield what `undo` would yield for these actions now; it changes nothing.

    An undo may make an earlier action possible, or impossible: both are foreseen.
    """
    return _take_back(ledger, _NoHands(ledger, config), actions)


def _take_back(ledger: Ledger, hands: _Hands, actions: Iterable[Action]) -> Iterator[UndoOutcome]:
    for kind, following in itertools.groupby(actions, key=lambda action: action.kind):
        if kind == "learned":
            for batch in _batches(following):
                yield from _relearn(ledger, hands, batch)
        else:
            for action in following:
                yield _undo(ledger, hands, action)


def _batches(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Group learnings of different messages: later actions decide whether an action can still be taken back."""
    batch: dict[int, Action] = {}
    for action in actions:
        if action.message in batch or len(batch) == _BATCH:
            yield list(batch.values())
            batch = {}
        batch[action.message] = action
    if batch:
        yield list(batch.values())


def _relearn(ledger: Ledger, hands: _Hands, batch: Sequence[Action]) -> list[UndoOutcome]:
    """Give messages the lessons that they had before."""
    faults = {action.id: fault for action, fault in zip(batch, why_not_undone(ledger, batch), strict=True)}
    changes = []
    for action in batch:
        if faults[action.id] is None:
            learned, again = (action.after, action.after_weak), (action.before, action.before_weak)
            how = ledger.journal.how_before(action)
            changes.append(Relabel(action.digest, *learned, *again, f"undo of {action.id}", how, takes_back=action.id))
    for change, made in zip(changes, hands.relabel(changes), strict=True):
        if not made and change.takes_back is not None:
            why = "the message was learned again since; undo that first"
            faults[change.takes_back] = NotUndoneError(change.takes_back, why)
    return [UndoOutcome(action, faults[action.id]) for action in batch]


def _undo(ledger: Ledger, hands: _Hands, action: Action) -> UndoOutcome:
    """Take back a move, an import, a choice, or the request not to be asked about a message again."""
    (fault,) = why_not_undone(ledger, [action])
    if fault is not None:
        return UndoOutcome(action, fault)
    try:
        if action.kind == "moved":
            hands.move(action)
        elif action.kind in ("settled", "chosen"):
            hands.end_choice(action)
        else:
            hands.take_back_import(action)
    except LedgerError as broken:
        if action.kind == "moved":
            raise  # a fault of the ledger would be the same for every action
        return UndoOutcome(action, NotUndoneError(action.id, str(broken)))
    except SpamnbError as refused:
        return UndoOutcome(action, refused, left=isinstance(refused, MovedSinceError))
    return UndoOutcome(action)


def why_not_undone(ledger: Ledger, actions: Sequence[Action]) -> list[NotUndoneError | None]:
    """Return for each action why it cannot be undone in its present state in the journal, or None."""
    in_history = ledger.journal.those([action.id for action in actions])
    return [_why_not(action, in_history.get(action.id)) for action in actions]


def _why_not(action: Action, present: Action | None) -> NotUndoneError | None:
    if action.kind == "judged":
        why = "a judgement changed nothing"
    elif present is None:
        why = "it is no longer in the history"
    elif present.state != "done":
        why = f"it is {_STATES.get(present.state, present.state)}"
    elif action.kind == "imported" and action.takes_back is not None:
        why = "the counts of an undone import are not kept; import them again"
    else:
        return None
    return NotUndoneError(action.id, why)
