"""Taking back what was done: first a plan, which can be shown, and then the doing.

An undo is an action itself, and can be undone: then a move is made again, and a learning has the label it had. So
actions form chains, each taking back the one before, of which only the last can be taken back; the others follow from
it. A judgement changed nothing, and is not undone.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spamnb.acts.moves import Layouts, MovedSinceError, Mover, bases_now, find_folder
from spamnb.acts.training import relabel, take_back_import
from spamnb.base.errors import LedgerError, MaildirError, SpamnbError
from spamnb.ledger.history.journal import Action, Kind
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.port import Relabel
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name

_BATCH = 500  # learnings a transaction: each waits for the disk, and writes each count once
_STATES = {"intent": "in progress", "failed": "not made: the message was gone", "undone": "undone already"}


class NoSuchActionError(SpamnbError):
    """The journal has no action of that id: it never had, or retention has forgotten it."""


Later = Callable[[Callable[[], object]], object]


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """What came of an action that was to be undone. fault: why it could not be, or None.

    left: a person has moved the message since, and it stays where it is; no error.
    """

    action: Action
    fault: SpamnbError | None = None
    left: bool = False


def of_ids(ledger: Ledger, ids: Iterable[int]) -> list[Action]:
    """What is to be taken back so that the actions of these ids are undone, the newest first.

    A person's answer is undone with all that it did, as far as that stands as the answer does.
    Raises NoSuchActionError where one is not in the journal.
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
    """What is to be taken back beside an answer that can be, or beside an undo of one."""
    if action.kind != "settled" or action.state != "done":
        return []
    answer = ledger.journal.first(action)
    parts = [
        part for part in ledger.journal.of_answer(answer.id) if part.id != answer.id and part.state == answer.state
    ]
    return ledger.journal.ends(parts)


def since(
    ledger: Ledger, at: float, kinds: Sequence[Kind] = ("moved", "learned", "imported", "settled", "chosen")
) -> list[Action]:
    """What is to be taken back so that all actions of these kinds since a time are undone, the newest first."""
    return _ends(ledger, ledger.journal.since(at, kinds))


def undos_since(
    ledger: Ledger, at: float, kinds: Sequence[Kind] = ("moved", "learned", "settled", "chosen")
) -> list[Action]:
    """The undos since a time that can be taken back, the newest first; an import that was taken back is not kept."""
    return ledger.journal.undos(at, kinds)


def _ends(ledger: Ledger, actions: Sequence[Action]) -> list[Action]:
    """An action that was undone and made again is undone by undoing what made it again."""
    done = [action for action in actions if action.state == "done"]
    others = [action for action in actions if action.state != "done"]
    ends = {action.id: action for action in (*others, *ledger.journal.ends(done))}
    return [ends[id_] for id_ in sorted(ends, reverse=True)]


def undo(
    ledger: Ledger,
    layouts: Layouts,
    actions: Iterable[Action],
    now: Callable[[], float] = time.time,
    later: Later = lambda work: work(),
) -> Iterator[UndoOutcome]:
    """Take back actions in the order given, which is the newest first; each with what came of it.

    later: is given what may take a second, and is of no matter for what was done: to let IMAP servers see it.

    Learnings that follow each other are taken back in one transaction. Moves are not, since an intent has to be on the
    disk before the file is renamed. Raises LedgerError where the ledger cannot be used any more.
    """
    mover = Mover(ledger, now, bases_now(), find_folder(ledger, layouts))
    mover.resolve()  # what an earlier undo that was killed has left open would stand in the way
    for kind, following in itertools.groupby(actions, key=lambda action: action.kind):
        if kind == "learned":
            for batch in _batches(following):
                yield from _relearn(ledger, batch, now())
        else:
            for action in following:
                yield _take_back(ledger, mover, action, now)
    later(lambda: mover.departures.touch_all(time.sleep))


def foresee(ledger: Ledger, layouts: Layouts, actions: Sequence[Action]) -> Iterator[UndoOutcome]:
    """What would come of taking back actions, as far as can be told without doing it. Each folder is listed once."""
    folder_of = find_folder(ledger, layouts)

    @functools.cache
    def bases(folder: int) -> frozenset[str] | None:
        on_disk = folder_of(folder)
        try:
            return None if on_disk is None else frozenset(parse_name(entry.name).key for entry in scan(on_disk))
        except MaildirError:
            return None

    name_of = functools.cache(lambda folder: ledger.locations.where(folder)[1])
    for action, fault in zip(actions, why_not_undone(ledger, actions), strict=True):
        if fault is not None:
            yield UndoOutcome(action, fault)
        elif action.kind != "moved" or action.destination is None or action.source is None:
            yield UndoOutcome(action)
        elif (there := bases(action.destination)) is None or folder_of(action.source) is None:
            yield UndoOutcome(action, SpamnbError(f"cannot undo {action.id}: a folder of that move is gone"))
        elif action.destination_base in there:
            yield UndoOutcome(action)
        else:
            means = f"the message is not in {name_of(action.destination)} any more, and stays"
            yield UndoOutcome(action, MovedSinceError(means), left=True)


def _batches(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Learnings of different messages each: whether one still stands depends on those that came after it."""
    batch: dict[int, Action] = {}
    for action in actions:
        if action.message in batch or len(batch) == _BATCH:
            yield list(batch.values())
            batch = {}
        batch[action.message] = action
    if batch:
        yield list(batch.values())


def _relearn(ledger: Ledger, batch: Sequence[Action], at: float) -> list[UndoOutcome]:
    """Give messages the lessons of before."""
    faults = {action.id: fault for action, fault in zip(batch, why_not_undone(ledger, batch), strict=True)}
    changes = []
    for action in batch:
        if faults[action.id] is None:
            learned, again = (action.after, action.after_weak), (action.before, action.before_weak)
            how = ledger.journal.how_before(action)
            changes.append(Relabel(action.digest, *learned, *again, f"undo of {action.id}", how, takes_back=action.id))
    for change, made in zip(changes, relabel(ledger, changes, at), strict=True):
        if not made and change.takes_back is not None:
            faults[change.takes_back] = SpamnbError(
                f"cannot undo {change.takes_back}: the message was learned again since; undo that first"
            )
    return [UndoOutcome(action, faults[action.id]) for action in batch]


def _take_back(ledger: Ledger, mover: Mover, action: Action, now: Callable[[], float]) -> UndoOutcome:
    """Take back a move, an import, a choice, or that a message is not asked about again."""
    (fault,) = why_not_undone(ledger, [action])
    if fault is not None:
        return UndoOutcome(action, fault)
    try:
        if action.kind == "moved":
            mover.take_back(action)
        elif action.kind in ("settled", "chosen"):
            ledger.journal.withdrawn(action.id, f"undo of {action.id}", now())
        else:
            take_back_import(ledger, action, now())
    except LedgerError as broken:
        if action.kind == "moved":
            raise  # the ledger's own: it would be the same for every action
        return UndoOutcome(action, SpamnbError(f"cannot undo {action.id}: {broken}"))
    except SpamnbError as refused:
        return UndoOutcome(action, refused, left=isinstance(refused, MovedSinceError))
    return UndoOutcome(action)


def why_not_undone(ledger: Ledger, actions: Sequence[Action]) -> list[SpamnbError | None]:
    """For each action why it cannot be undone as it stands in the journal now, or None."""
    in_history = ledger.journal.those([action.id for action in actions])
    return [_why_not(action, in_history.get(action.id)) for action in actions]


def _why_not(action: Action, present: Action | None) -> SpamnbError | None:
    if action.kind == "judged":
        why = "a judgement changed nothing"
    elif present is None:
        why = "it is not in the history any more"
    elif present.state != "done":
        why = f"it is {_STATES.get(present.state, present.state)}"
    elif action.kind == "imported" and action.takes_back is not None:
        why = "the counts of an undone import are not kept; import them again"
    else:
        return None
    return SpamnbError(f"cannot undo {action.id}: {why}")
