"""An action of the journal, and what happened to it later: in words, and as values for JSON."""

from collections.abc import Mapping

from spamnb.base.label import Label, counts_as
from spamnb.ledger.history.actions import Kind
from spamnb.ledger.history.lines import Line

KINDS: Mapping[str, Kind] = {
    "judged": "judged",
    "moved": "moved",
    "learned": "learned",
    "imported": "imported",
    "answered": "settled",
    "chosen": "chosen",
}
"""The kinds of action by the words that people and programs use; the ledger has its own words."""

_WORDS = {kind: word for word, kind in KINDS.items()}

_AS_THEY_ARE = [
    "id",
    "at",
    "state",
    "why",
    "how",
    "verdict",
    "probability",
    "before_weak",
    "after_weak",
    "takes_back",
]


def in_words(line: Line) -> str:
    """Return what was done, as a sentence without its time and its message."""
    action = line.action
    state = "" if action.state == "done" else f" [{action.state}]"
    if action.kind == "moved":
        return f"moved {line.source} → {line.destination}{state}{_later(line)}: {action.why}"
    if action.kind == "judged":
        return f"judged {action.verdict}{state}{_later(line)}, stays in {line.source}: {action.why}"
    if action.kind == "imported":
        return f"{'counts taken back' if line.is_contrary else 'imported'}{state}: {action.why}"
    if action.kind == "chosen":
        return f"{'no longer chosen' if line.is_contrary else 'chosen'}{state}: {action.why}"
    if action.kind == "settled":
        return f"{'to be' if line.is_contrary else 'not'} asked about again{state}: {action.why}"
    if action.after is None:
        return f"forgot, was {(action.before or Label.HAM).word}{state}: {action.why}"
    return f"learned {counts_as(action.after, action.after_weak)}{state}: {action.why}"


def _later(line: Line) -> str:
    moved = [] if line.moved_by is None else [f"moved later, by {line.moved_by}"]
    learned = [] if line.label is None else [f"later learned {counts_as(line.label, line.weak)}"]
    return f" ({', '.join([*moved, *learned])})" if moved or learned else ""


def as_object(line: Line) -> dict[str, object]:
    """Return the line for JSON, with all its fields."""
    action = line.action
    labels = {"before": action.before, "after": action.after, "learned_later": line.label}
    return {
        **{name: getattr(action, name) for name in _AS_THEY_ARE},
        "kind": _WORDS[action.kind],
        **{name: None if label is None else label.word for name, label in labels.items()},
        "source": line.source,
        "destination": line.destination,
        "message": action.summary,
        "digest": action.digest.hex(),
        "undone_by": line.undone_by,
        "moved_by": line.moved_by,
        "learned_later_weak": line.label is not None and line.weak,
    }
