"""The choices that a person makes beside the configuration: about senders, the cutoffs, and folders for mail apart.

The ledger keeps each choice. A choice holds at once for all judging. It is an action, so it can be undone. The
configuration has priority: a choice that would have no effect is refused, with the reason. If the configuration changes
later, a choice may lose its effect. It stays, and `standing` says why it has none.

A chosen folder is made first, and then the choice is recorded. After a kill between the two there is an empty folder,
and the next try finds it. If the folder is deleted later, the service makes it again, as it makes Junk.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from spamnb.acts.answers import ON_A_PAGE
from spamnb.acts.undo import of_ids, undo
from spamnb.base.errors import MaildirError, SpamnbError, UsageError
from spamnb.base.label import Label, Role
from spamnb.base.wording import escaped
from spamnb.config import Config, Mailbox
from spamnb.config.chosen import (
    CUTOFFS,
    FOLDERS,
    contradiction,
    cutoff_of,
    fault_of_folder,
    folder_of,
    with_cutoffs,
    with_folder,
)
from spamnb.config.folder_names import plain_spelling
from spamnb.config.named_senders import KEYS, list_pattern, sender_pattern
from spamnb.ledger.history.choices import LABEL_OF, MOST_SENDERS, SORTED_TO, Choice, ChoiceKind, ChosenBy
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder, find_folders

_WHY: dict[ChosenBy, str] = {"page": ON_A_PAGE, "prompt": "said in a terminal", "move": "by a move"}


class NoEffectError(SpamnbError):
    """The choice would have no effect, or does not exist."""


class Standing(NamedTuple):
    """A choice that was not taken back, and why it has no effect ("" if it has one)."""

    choice: Choice
    without_effect: str


def choose(
    ledger: Ledger, config: Config, kind: ChoiceKind, written: Sequence[str], by: ChosenBy, at: float
) -> list[int]:
    """Choose patterns, a cutoff or a folder, as a person writes them. Returns the actions; one made before needs none.

    config: as its file has it. at: seconds since the epoch. Raises UsageError if something is not a pattern, a cutoff
    or a folder's name, NoEffectError, and MaildirError if a folder cannot be made. After an error nothing is chosen.
    """
    values = list(dict.fromkeys(_value_of(kind, text) for text in written))
    if kind in FOLDERS:
        for value in values:
            _make_folders(ledger, config, kind, str(value))
    with ledger.transaction():
        with_choices = ledger.choices.over(config)
        for value in values:
            if why := _why_no_effect(config, with_choices, kind, value):
                raise NoEffectError(why)
        newest = ledger.choices.newest()
        chosen = {(choice.kind, choice.value) for choice in newest}
        new = [value for value in values if (kind, value) not in chosen]
        if kind in LABEL_OF or kind in SORTED_TO:
            _check_number({choice.question for choice in newest} | {(kind in SORTED_TO, value) for value in new})
        return [ledger.choices.record(kind, value, by, _WHY[by], at) for value in new]


def _make_folders(ledger: Ledger, config: Config, kind: ChoiceKind, name: str) -> None:
    """Make the folder in each mailbox that the configuration gives none. An existing one is not changed.

    A mailbox without an inbox may be on a disk that is not mounted: nothing is made in its place.
    """
    if why := _why_no_effect(config, ledger.choices.over(config), kind, name):
        raise NoEffectError(why)
    for mailbox in _without(config, kind):
        root = str(mailbox.path)
        there = {one.name for one in find_folders(root, mailbox.layout, levels=mailbox.levels)}
        if mailbox.inbox_folder not in there:
            raise MaildirError(f"{root} has no folder {mailbox.inbox_folder!r}: mount its disk if it is not mounted")
        create_folder(root, mailbox.layout, plain_spelling(name, mailbox.layout), levels=mailbox.levels)


def _without(config: Config, key: str) -> list[Mailbox]:
    """Return the mailboxes for which the configuration names no such folder."""
    return [mailbox for mailbox in config.mailboxes if getattr(mailbox, key) is None]


def _check_number(questions: Collection[tuple[bool, str | float]]) -> None:
    """Raise NoEffectError if there are more patterns than have an effect."""
    if sum(isinstance(value, str) and value not in (*CUTOFFS, *FOLDERS) for _, value in questions) > MOST_SENDERS:
        raise NoEffectError(
            f"a person can allow and block {MOST_SENDERS:,} senders: take some of them back first, or write one pattern"
            " for several, such as *@example.org"
        )


def _value_of(kind: ChoiceKind, written: str) -> str | float:
    try:
        if kind in CUTOFFS:
            return cutoff_of(kind, written.strip())
        return folder_of(written.strip()) if kind in FOLDERS else sender_pattern(written)
    except ValueError as fault:
        raise UsageError(escaped(str(fault))) from None


def forget(ledger: Ledger, config: Config, subject: str, now: Callable[[], float]) -> list[int]:
    """Take back all choices of a pattern, or of a cutoff or a folder by its key. Returns the actions that do it.

    A List-Id names the pattern of its list too.

    Raises NoEffectError if there are none.
    """
    name = subject.strip().lower()
    names = {name, list_pattern(name)} - {""}
    chosen = [choice.action for choice in ledger.choices.standing() if choice.subject in names]
    if not chosen:
        raise NoEffectError(f"nothing was chosen for {name[:60]!r}: `spamnb choose` lists all choices")
    before, ends = ledger.journal.newest_id(), of_ids(ledger, chosen)
    for outcome in undo(ledger, config, ends, now):
        if outcome.fault is not None:
            raise outcome.fault
    return ledger.journal.undoing([action.id for action in ends], before)


def standing(ledger: Ledger, config: Config, most: int | None = None) -> list[Standing]:
    """Return the newest choice of each pattern and cutoff, newest first, and why it has no effect; at most `most`.

    config: as its file has it.
    """
    with_choices = ledger.choices.over(config)
    newest = ledger.choices.newest()[::-1][:most]
    return [Standing(choice, _without_effect(config, with_choices, choice)) for choice in newest]


def in_short(found: Sequence[Standing], cutoff: Callable[[str, object], str] = "{} {}".format) -> str:
    """Return the choices in a few words: the number of senders, each cutoff and folder, how many have no effect.

    cutoff: what it says of a cutoff or a folder, by its key and its value.
    """
    numbers = Counter(one.choice.kind for one in found)
    parts = [f"{numbers[kind]} {kind}ed" for kind in LABEL_OF if numbers[kind]]
    parts += [f"{numbers[kind]} sorted to the {kind}" for kind in SORTED_TO if numbers[kind]]
    parts += [cutoff(one.choice.kind, one.choice.value) for one in found if not one.choice.is_of_senders]
    without = sum(bool(one.without_effect) for one in found)
    return ", ".join([*parts, *([f"{without} without effect"] if without else [])])


def is_written(config: Config, cutoff: str) -> bool:
    """Tell whether the configuration names a cutoff itself, so that none can be chosen."""
    return f"scoring.{cutoff}" in config.written


def _without_effect(written: Config, config: Config, choice: Choice) -> str:
    is_in_force = choice.kind in CUTOFFS and getattr(config.scoring, choice.kind) == choice.value
    if is_in_force and not is_written(config, choice.kind):
        return ""
    return _why_no_effect(written, config, choice.kind, choice.value)


def _why_no_effect(written: Config, config: Config, kind: ChoiceKind, value: str | float) -> str:
    """Return why a choice would have no effect, and what to do; "" if it has one.

    written: the configuration as its file has it. config: with the choices.
    """
    if kind in FOLDERS:
        return _why_no_folder(written, config, kind, str(value))
    if kind in SORTED_TO:
        missing = "no mailbox has a newsletters_folder: name one in the configuration first"
        return "" if config.has_folder(Role.NEWSLETTERS) else missing
    if isinstance(value, str):
        return _decided_otherwise(config, LABEL_OF[kind], value)
    if is_written(config, kind):
        return f"the configuration names {kind}, and has priority over what you choose: change scoring.{kind} there"
    return contradiction(with_cutoffs(config.scoring, {kind: value}))


def _why_no_folder(written: Config, config: Config, key: str, name: str) -> str:
    """Return why no mailbox could have that folder, or why one could not; "" if all can that name none themselves."""
    if not written.mailboxes:
        return "there is no mailbox yet: call `spamnb init` first"
    free = {mailbox.path for mailbox in _without(written, key)}
    if not free:
        return f"the configuration names {key}, and has priority over what you choose: change it there"
    others = (with_folder(mailbox, key, None) for mailbox in config.mailboxes if mailbox.path in free)
    return next(filter(None, (fault_of_folder(mailbox, key, name) for mailbox in others)), "")


def _decided_otherwise(config: Config, label: Label, value: str) -> str:
    """Return what has priority over a choice of senders, if patterns alone can tell; "" for nothing."""
    named = config.senders.named_by(value)
    if named is None:
        return ""
    decided, pattern = named
    if not config.senders.is_chosen(pattern):
        return (
            f"the configuration already decides about mail of {value}, and has priority over what you choose:"
            f" senders.{KEYS[decided]} has {pattern}"
        )
    if decided is Label.HAM and label is Label.SPAM and pattern != value:
        return f"you allow {pattern}, and what you allow has priority over what you block: take that back first"
    return ""
