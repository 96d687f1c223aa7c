"""Take back what was done: first make a plan, which can be shown, and then carry it out.

An undo is itself an action, and can be undone: the move is made again, or the message gets its label back. So actions
form chains in which each takes back the one before. Only the last of a chain can be taken back; the others follow from
it. A judgement changed nothing, so it cannot be undone.
"""

import functools
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spamnb.acts.filing import Filing
from spamnb.acts.moves import MovedSinceError, find_folder, mailboxes_of
from spamnb.acts.training import relabel, take_back_import
from spamnb.base.errors import LedgerError, MaildirError, SpamnbError
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
    filing = Filing(ledger, config, now)
    for kind, following in itertools.groupby(actions, key=lambda action: action.kind):
        if kind == "learned":
            for batch in _batches(following):
                yield from _relearn(ledger, batch, now())
        else:
            for action in following:
                yield _undo(ledger, filing, action, now)
    later(filing.end)


def foresee(ledger: Ledger, config: Config, actions: Sequence[Action]) -> Iterator[UndoOutcome]:
    """Predict the result of taking back actions, without doing it. Each folder is listed once."""
    folder_of = find_folder(ledger, mailboxes_of(config))

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
            means = f"the message is no longer in {name_of(action.destination)}, so it stays"
            yield UndoOutcome(action, MovedSinceError(means), left=True)


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


def _relearn(ledger: Ledger, batch: Sequence[Action], at: float) -> list[UndoOutcome]:
    """Give messages the lessons that they had before."""
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


def _undo(ledger: Ledger, filing: Filing, action: Action, now: Callable[[], float]) -> UndoOutcome:
    """Take back a move, an import, a choice, or the request not to be asked about a message again."""
    (fault,) = why_not_undone(ledger, [action])
    if fault is not None:
        return UndoOutcome(action, fault)
    try:
        if action.kind == "moved":
            filing.undo_move(action)
        elif action.kind in ("settled", "chosen"):
            ledger.journal.undone(action.id, f"undo of {action.id}", now())
        else:
            take_back_import(ledger, action, now())
    except LedgerError as broken:
        if action.kind == "moved":
            raise  # a fault of the ledger would be the same for every action
        return UndoOutcome(action, SpamnbError(f"cannot undo {action.id}: {broken}"))
    except SpamnbError as refused:
        return UndoOutcome(action, refused, left=isinstance(refused, MovedSinceError))
    return UndoOutcome(action)


def why_not_undone(ledger: Ledger, actions: Sequence[Action]) -> list[SpamnbError | None]:
    """Return for each action why it cannot be undone in its present state in the journal, or None."""
    in_history = ledger.journal.those([action.id for action in actions])
    return [_why_not(action, in_history.get(action.id)) for action in actions]


def _why_not(action: Action, present: Action | None) -> SpamnbError | None:
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
    return SpamnbError(f"cannot undo {action.id}: {why}")
