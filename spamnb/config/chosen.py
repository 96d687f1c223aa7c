"""A person's choices beside the configuration, as values, and the configuration with these choices.

The configuration has priority: a cutoff that is written there, and its `senders`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_type_hints

from spamnb.base.label import Role
from spamnb.base.wording import escaped
from spamnb.config.folder_names import plain_spelling
from spamnb.config.keys import check_cutoffs, check_roles
from spamnb.config.named_senders import Senders, SendersInForce
from spamnb.config.readers import Reader, folder, read_text
from spamnb.config.settings import APART, Config, Mailbox, Scoring

CUTOFFS = ("ham_cutoff", "spam_cutoff")
"""The keys of `scoring` that a person can choose."""
FOLDERS = {"newcomers_folder": "New", "newsletters_folder": "Newsletters"}
"""The keys of a mailbox that a person can choose, each with a usual name for its folder."""
STRICTNESS = {"gentle": 0.99, "normal": Scoring().spam_cutoff, "strict": 0.9}
"""Spam cutoffs by the names that a person may give instead of a number."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices.

    cutoffs, folders: by their keys, the newest choice last. sorted: patterns, each with the role of the folder for mail
    that is not spam, the newest choice first.
    """

    senders: Senders = field(default_factory=Senders)
    cutoffs: Mapping[str, float] = field(default_factory=dict)
    sorted: tuple[tuple[str, Role], ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)


def cutoff_of(key: str, written: str) -> float:
    """Return a cutoff as the configuration would read it. Raises ValueError with the fault and what to write.

    A spam cutoff may have a name.

    >>> cutoff_of("spam_cutoff", "gentle"), cutoff_of("spam_cutoff", "0.97")
    (0.99, 0.97)
    """
    if key == "spam_cutoff" and written in STRICTNESS:
        return STRICTNESS[written]
    reader: Reader[float] = get_type_hints(Scoring, include_extras=True)[key].__metadata__[0]
    return read_text(reader, written)


def with_choices(config: Config, chosen: Chosen) -> Config:
    """Return the configuration of a file with a person's choices.

    To apply it twice changes nothing more. A cutoff or a folder that the file names is not replaced. If two cutoffs
    contradict each other, the newest one counts, or none: the other one may have been undone or written into the file
    since. A mailbox that gives a chosen folder another role does without it.
    """
    free = [(key, number) for key, number in chosen.cutoffs.items() if f"scoring.{key}" not in config.written]
    possible = (with_cutoffs(config.scoring, dict(some)) for some in (free, free[-1:]))
    scoring = next((scoring for scoring in possible if not contradiction(scoring)), config.scoring)
    senders = SendersInForce(config.senders.allow, config.senders.block, chosen.senders)
    mailboxes = tuple(_with_folders(mailbox, chosen.folders) for mailbox in config.mailboxes)
    return replace(config, mailboxes=mailboxes, scoring=scoring, senders=senders)


def _with_folders(mailbox: Mailbox, folders: Mapping[str, str]) -> Mailbox:
    for key, name in folders.items():
        if getattr(mailbox, key) is None and not fault_of_folder(mailbox, key, name):
            mailbox = with_folder(mailbox, key, plain_spelling(name, mailbox.layout))
    return mailbox


def with_folder(mailbox: Mailbox, key: str, name: str | None) -> Mailbox:
    """Return a mailbox with another folder, or none, for one of the keys in `FOLDERS`."""
    if key == "newcomers_folder":
        return replace(mailbox, newcomers_folder=name)
    return replace(mailbox, newsletters_folder=name)


def folder_of(written: str) -> str:
    """Return a folder's name as the configuration would read it. Raises ValueError with the fault and what to write."""
    name = read_text(folder, written)
    if not name.isprintable():
        raise ValueError(f"{escaped(name)[:60]} cannot be a folder's name: write letters, digits and blanks")
    return name


def fault_of_folder(mailbox: Mailbox, key: str, name: str) -> str:
    """Return why a mailbox cannot have a folder of that name for that key, and what to do; "" if it can."""
    roles = {**mailbox.roles, **mailbox.patterns}
    values = {"path": mailbox.path, "layout": mailbox.layout, "roles": roles, "other_folders": mailbox.other_folders}
    named = {APART[role]: folder for role, folder in mailbox.apart.items()}
    return next((what for _, what in check_roles({**values, **named, key: name})), "")


def with_cutoffs(scoring: Scoring, cutoffs: Mapping[str, float]) -> Scoring:
    """Return the same values with these cutoffs, by their keys."""
    ham, spam = (cutoffs.get(key, getattr(scoring, key)) for key in CUTOFFS)
    return replace(scoring, ham_cutoff=ham, spam_cutoff=spam)


def contradiction(scoring: Scoring) -> str:
    """Return why the two cutoffs contradict each other, and what to do; "" if they do not."""
    return next((what for _, what in check_cutoffs({key: getattr(scoring, key) for key in CUTOFFS})), "")
