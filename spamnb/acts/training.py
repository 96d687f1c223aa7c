"""Learn and forget messages: the functions that the service, the command line and any other program share.

Each function first changes the lessons, and then records the changes in the history: see `Ledger.record_lessons`.
`at` is the time, in seconds since the epoch; `why` is a sentence for the history; `how` is the cause.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress

from spamnb.acts import unseen
from spamnb.base.errors import LedgerError
from spamnb.base.label import How, Label, is_unseen
from spamnb.ledger.history.actions import Action
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.export_format import ExportedCounts
from spamnb.ledger.lessons.port import Batcher, Change, Lesson, LessonCopy, Relabel
from spamnb.mail.reading import Reading, read

_BY_CONTENT = (How.HAND, How.TELL)  # elsewhere the place of a file shows whether the filter wrote it


def learn(
    ledger: Ledger, reading: Reading, label: Label, why: str, at: float, *, how: How, weak: bool = False
) -> Change | None:
    """Learn a message. Returns what it was before, or None if it was already learned with that label.

    weak: perhaps no person has decided this. A weak label never replaces a decision; any decision replaces it.
    """
    changed = learn_together(ledger, [reading], label, why, at, how=how, weak=weak)
    return changed[0] if changed else None


def learn_together(
    ledger: Ledger, readings: Sequence[Reading], label: Label, why: str, at: float, *, how: How, weak: bool = False
) -> list[Change]:
    """Learn several messages in one transaction. Returns those that changed, with their earlier state."""
    if how in _BY_CONTENT:
        ours = ledger.locations.letters_among([reading.digest for reading in readings])
        readings = [reading for reading in readings if reading.digest not in ours]
    with ledger.transaction():
        unseen.note(ledger, is_unseen(label, weak, how))
        changed = ledger.lessons.learn(readings, label, why, at, how=how, weak=weak)
        ledger.record_lessons()
        ledger.messages.came_from(
            (reading.digest, reading.relations.sender, reading.relations.list_id) for reading in readings
        )
        if not weak:
            decided(ledger, [reading.digest for reading in readings], label, at)
    return changed


def decided(ledger: Ledger, digests: Iterable[bytes], label: Label, at: float) -> None:
    """Record that a person gave messages this label. Who calls a message spam no longer wants it out of spam."""
    if label is Label.SPAM:
        ledger.messages.not_rescued(digests)
    else:
        unseen.rescued(ledger, digests, at)


def learn_batches(
    ledger: Ledger,
    batches: Sequence[Batch],
    label: Label,
    why: str,
    at: float,
    batcher: Batcher | None = None,
    *,
    how: How,
    weak: bool = False,
) -> list[Change]:
    """Learn many messages at once. Returns those that changed, with their earlier state.

    batcher: the one from earlier calls (`Lessons.batcher`). weak: as for `learn`.
    """
    batches = [_without_letters(ledger, batch) for batch in batches]
    digests = list(chain.from_iterable(batch.digests for batch in batches))
    if label is Label.HAM and not weak:
        unseen.rescued(ledger, digests, at)  # first: after a kill between the two, nothing would do it
    changed = (batcher or ledger.lessons.batcher()).learn(batches, label, why, at, how=how, weak=weak)
    with ledger.transaction():
        ledger.record_lessons()
        ledger.messages.came_from(
            (digest, relations.sender, relations.list_id)
            for batch in batches
            for digest, relations in zip(batch.digests, batch.relations, strict=True)
        )
        if label is Label.SPAM and not weak:
            ledger.messages.not_rescued(digests)
    files: list[tuple[bytes, str]] = []
    for batch in batches:
        if batch.paths:
            files += [(digest, path) for digest, path in zip(batch.digests, batch.paths, strict=True) if path]
    ledger.trained.record(label, files)
    return changed


def _without_letters(ledger: Ledger, batch: Batch) -> Batch:
    """Return a batch without letters that the filter wrote: they speak of spam, and teach nothing."""
    ours = ledger.locations.letters_among(batch.digests)
    if not ours:
        return batch
    kept = [digest not in ours for digest in batch.digests]
    return Batch.of(list(compress(batch.readings(), kept)), batch.paths and list(compress(batch.paths, kept)))


def learn_message(
    ledger: Ledger, raw: bytes, label: Label, why: str, at: float, *, how: How, weak: bool = False
) -> Change | None:
    """Learn a message from its bytes, as `learn` does."""
    return learn(ledger, read(raw), label, why, at, how=how, weak=weak)


def forget(ledger: Ledger, digests: Iterable[bytes], why: str, at: float, *, how: How) -> int:
    """Forget messages by their identities. Returns how many of them were learned."""
    forgotten = ledger.lessons.forget(digests, why, at, how=how)
    ledger.record_lessons()
    return forgotten


def relabel(ledger: Ledger, changes: Sequence[Relabel], at: float) -> list[bool]:
    """Give messages other labels. Returns which changes were made: not those of messages that changed since then."""
    made = ledger.lessons.relabel(changes, at)
    ledger.record_lessons()
    return made


def take_over(ledger: Ledger, lessons: Sequence[LessonCopy], sent_by: Mapping[bytes, str]) -> int:
    """Make lessons equal to those on other hosts. Returns how many changed. sent_by: the host, per message."""

    def as_recorded(lesson: Lesson) -> Lesson:
        host = sent_by.get(lesson.digest)
        return lesson if host is None else replace(lesson, why=f"{lesson.why} (on {host})")

    with ledger.transaction():
        unseen.note(ledger, any(copy.lesson.is_unseen for copy in lessons))
        changed = ledger.lessons.take_over(lessons)
        ledger.record_lessons(as_recorded)
        ledger.messages.not_rescued(copy.lesson.digest for copy in lessons if copy.lesson.decision is Label.SPAM)
    return changed


def import_counts(ledger: Ledger, counts: ExportedCounts, name: str, at: float) -> int:
    """Add counts of another ledger, from a file of that name. Returns the action that an undo can take back.

    Raises LedgerError if the sums would be too large for the ledger.
    """
    ledger.lessons.add_import(counts, name, f"{counts.ham} ham and {counts.spam} spam messages", at)
    ledger.record_lessons()
    action = ledger.journal.import_of(counts.digest)
    if action is None:  # it was in the history, where another process may have taken it back
        raise LedgerError("another process has taken that import back")
    return action.id


def take_back_import(ledger: Ledger, action: Action, at: float) -> None:
    """Take back the import of an action. Raises LedgerError if that import no longer counts."""
    ledger.lessons.take_import_back(action.digest, f"undo of {action.id}", at, takes_back=action.id)
    ledger.record_lessons()
