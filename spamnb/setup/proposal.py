"""A proposal for a Maildir to watch: its folders, their roles, and what their mail teaches."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from spamnb.base.errors import ConfigError, MaildirError
from spamnb.base.label import Label, Role
from spamnb.base.wording import escaped
from spamnb.bulk.sources import Source
from spamnb.checkup.finding import name_of, owner_of
from spamnb.config import Mailbox
from spamnb.config.folder_names import matches, proposed_roles, usual_role, written
from spamnb.config.settings import Layout
from spamnb.maildir.folders import Folder, FolderUnavailableError, detect_layout, find_folders
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import taught_by
from spamnb.setup.list_folders import list_folders


class Taught(NamedTuple):
    """What the mail of a folder teaches at the start. weak: as ham that was read and kept."""

    label: Label
    weak: bool = False

    @property
    def why(self) -> str:
        """Return why such mail is learned, in words."""
        return f"was {'read, in a folder of lists' if self.weak else f'in a {self.label.word} folder'} at the start"


TAUGHT: Final = (Taught(Label.HAM, weak=True), Taught(Label.HAM), Taught(Label.SPAM))
"""In this order mail is learned: a message in several folders ends as what the last of them teaches."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A configured or proposed mailbox, its folders, their messages by folder, and the faults of reading them.

    lists: the folders, or patterns for them, that are neutral because rules seem to sort mailing lists into them. Their
    mail tells that, and no configuration: so it holds for one that is older than this rule, too.
    """

    mailbox: Mailbox
    folders: tuple[Folder, ...]
    messages: dict[str, list[Source]]
    faults: list[str]
    lists: tuple[str, ...] = ()

    def taught(self, folder: str) -> Taught | None:
        """Return what a folder's messages teach, or None."""
        role = self.mailbox.role_of(folder)
        if role is Role.NEUTRAL and any(self._stands_for(one, folder) for one in self.lists):
            return Taught(Label.HAM, weak=True)
        label = taught_by(role)
        return None if label is None else Taught(label)

    def in_folder(self, folder: str) -> list[Source]:
        """Return the messages of a folder that teach something."""
        some, taught = self.messages[folder], self.taught(folder)
        if taught is None:
            return []
        return [one for one in some if "S" in parse_name(os.path.basename(one.file)).flags] if taught.weak else some

    def teaching(self, taught: Taught) -> list[Source]:
        """Return the messages that teach this."""
        return [
            source for folder in self.messages if self.taught(folder) == taught for source in self.in_folder(folder)
        ]

    def _stands_for(self, one: str, folder: str) -> bool:
        """Tell whether a folder, or a pattern such as `Lists/*`, of `lists` stands for a folder."""
        return folder == one or (one not in self.messages and folder.startswith(one[:-1]))


def propose(root: Path) -> Proposal:
    """Propose a role for each folder of a Maildir, by its name; a folder of mailing lists is told by its mail."""
    layout = detect_layout(str(root))
    folders, messages, faults = _found(root, layout)
    named = proposed_roles({name: len(some) for name, some in messages.items()})
    lists = list_folders(messages, [name for name, role in named.items() if role is Role.HAM])
    patterns = [f"{written(one[:-2])}/*" for one in lists if one not in messages]
    roles = {
        name: Role.NEUTRAL if name in lists else role
        for name, role in named.items()
        if role is not Role.HAM or not any(matches(pattern, name) for pattern in patterns)
    }
    mailbox = Mailbox(path=root, roles=roles, patterns=dict.fromkeys(patterns, Role.NEUTRAL), layout=layout)
    return Proposal(mailbox, folders, messages, faults, tuple(lists))


def with_roles(proposal: Proposal, told: Mapping[str, Role]) -> Proposal:
    """Return the proposal with given roles, such as the server's. Spam folders among these come first."""
    there = {name: role for name, role in told.items() if name in proposal.messages}
    roles = {**proposal.mailbox.roles, **there}
    spam = sorted((name for name, role in roles.items() if role is Role.SPAM), key=lambda name: name not in there)
    found = [name for name in spam if name in proposal.messages]
    if not spam:
        return proposal
    others = {name: role for name, role in roles.items() if role is not Role.SPAM}
    roles = others | dict.fromkeys(found or spam, Role.SPAM)
    return replace(proposal, mailbox=replace(proposal.mailbox, roles=roles))


def as_configured(mailbox: Mailbox) -> Proposal:
    """Return the folders of a mailbox with their configured roles. Their mail tells which neutral ones are of lists."""
    folders, messages, faults = _found(mailbox.path, mailbox.layout, mailbox.levels)
    neutral = [name for name in messages if mailbox.role_of(name) is Role.NEUTRAL]
    lists = list_folders(messages, [name for name in neutral if usual_role(name) is Role.HAM])  # trash has lists too
    return Proposal(mailbox, folders, messages, faults, tuple(lists))


def check_apart(proposals: Sequence[Proposal], configured: Sequence[Mailbox]) -> None:
    """Raise ConfigError for a mailbox inside another: its mail would be seen twice."""
    paths = [mailbox.path for mailbox in configured]
    for here in (one.mailbox.path for one in proposals):
        for other in paths:
            if here.is_relative_to(other) or other.is_relative_to(here):
                inner, outer = sorted(map(str, (here, other)), key=len, reverse=True)
                raise ConfigError(f"{escaped(inner)} is inside the mailbox {escaped(outer)}: choose one of the two")
        paths.append(here)


def check_rights(proposal: Proposal) -> str:
    """Raise MaildirError if spam could not be moved. Returns a warning if the mail is another user's, or ""."""
    mailbox, known = proposal.mailbox, {folder.name: folder for folder in proposal.folders}
    ends = [known[name] for name in (mailbox.inbox_folder, mailbox.spam_folder) if name in known]
    directories = [folder.subdir(which) for folder in ends for which in ("new", "cur")]
    if mailbox.spam_folder not in known:
        directories.append(str(mailbox.path))
    me, owner = name_of(os.geteuid()), name_of(owner_of(directories[0]))
    for directory in directories:
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            raise MaildirError(
                f"{me} may not read and write {escaped(directory)}: run spamnb as {owner}, the owner of the"
                " mail, or correct the permissions"
            )
    return "" if me == owner else f"this mail belongs to {owner}, and you are {me}: run the service as {owner}"


def _found(
    root: Path, layout: Layout, levels: int = 0
) -> tuple[tuple[Folder, ...], dict[str, list[Source]], list[str]]:
    """Return the folders, their messages in the order of their names without deleted ones, and the faults."""
    messages: dict[str, list[Source]] = {}
    faults: list[str] = []
    folders = find_folders(str(root), layout, levels=levels)
    for folder in folders:
        try:
            entries = sorted(scan(folder), key=lambda entry: entry.name)
        except FolderUnavailableError as fault:
            entries = []
            faults.append(str(fault))
        paths = [entry.path(folder) for entry in entries if not parse_name(entry.name).trashed]
        messages[folder.name] = [Source(path, path, within=folder) for path in paths]
    return folders, messages, faults
