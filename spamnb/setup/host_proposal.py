"""Propose the configuration of a mail host, and check it against the disk: its users, and the owner of the mail."""

import os
import pwd
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spamnb.base.errors import ConfigError, MaildirError, UsageError
from spamnb.base.label import Role
from spamnb.base.wording import escaped, named, plural
from spamnb.config import Mailbox
from spamnb.config.settings import Layout
from spamnb.config.template import PathTemplate, parse_template, why_no_name
from spamnb.host.find_users import ANYBODY, FoundUsers, User, find_users
from spamnb.maildir.folders import FolderUnavailableError, detect_layout, find_folders
from spamnb.setup.dovecot import FromDovecot
from spamnb.setup.host_roles import count_folders, host_roles, of_many

MOST_LOOKED_AT = 200  # mailboxes whose folders are listed: enough to find folders that a tenth of all users have
_FEW = 10  # names of directories that are told
_DOCUMENT = "docs/mail-host.md"


@dataclass(frozen=True, slots=True)
class MailLocation:
    """The place of the mail, as typed or from Dovecot's configuration. layout, user, group: "auto" and "" by default.

    path: the text of a template. user, group: a name or a number. roles: of folders with a known role.
    """

    path: str
    layout: Layout = "auto"
    roles: Mapping[str, Role] = field(default_factory=dict)
    user: str = ""
    group: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of_dovecot(cls, said: FromDovecot) -> "MailLocation":
        """Return the place from Dovecot's configuration."""
        return cls(said.path, said.layout, said.roles, said.user, said.group, said.notes)


@dataclass(frozen=True, slots=True)
class HostProposal:
    """A proposed mailbox for all users, with fields in its path, and what the disk has of it.

    uid: the system user who owns the mail, by number. user, group: in the form for a unit; "" for the usual group.
    found: the users on the disk. looked_at: the number of mailboxes whose folders were listed. there: the number of
    mailboxes that have each folder. notes: settings of Dovecot that are not supported here.
    """

    mailbox: Mailbox
    uid: int
    user: str
    group: str
    found: FoundUsers
    looked_at: int
    there: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def template(self) -> PathTemplate:
        """The path of a user's Maildir."""
        return parse_template(str(self.mailbox.path))

    def folders(self) -> list[str]:
        """Return the folders that have a role by their name, and others that many users have."""
        return list(dict.fromkeys([*self.mailbox.roles, *of_many(self.there, self.looked_at)]))

    def doubts(self) -> list[str]:
        """Return in words what on the disk does not match the path."""
        found = self.found
        counted = (
            (found.of_others, "Maildir", f"of system users other than {self.user}"),
            (found.links, "link", "in the place of a directory"),
            (found.twice, "user", "with two Maildirs"),
        )
        lines = [f"left out: {plural(number, noun)} {what}" for number, noun, what in counted if number]
        lines += [
            f"left out: {named(path)}, {why_no_name(os.path.basename(path))}" for path in found.may_be_meant[:_FEW]
        ]
        if (more := len(found.may_be_meant) - _FEW) > 0:
            lines.append(f"left out: {plural(more, 'more directory name')} that no user can have: spamnb doctor")
        lines += [f"cannot look into {escaped(path)}: the users below it are not known" for path in found.unreadable]
        if not found.users:
            lines.append(f"nobody has a Maildir yet below {escaped(str(self.template.fixed))}")
        return [*lines, *self.notes]


def propose_host(location: MailLocation) -> HostProposal:
    """Propose a configuration for the users of a host.

    Raises UsageError for a path without users, and MaildirError if it finds no usable mailbox or no owner of the mail.
    Raises ConfigError if that owner is not a user of this system.
    """
    template = template_of(location.path)
    uid = uid_of(location.user) if location.user else owner_of_mail(template)
    user = _name(uid)
    if uid == 0:
        raise MaildirError(
            f"the mail in {escaped(location.path)} belongs to root, but the service does not run as root: give the mail"
            " to a separate user, and name that as Dovecot's mail_uid"
        )
    found = find_users(template, uid)
    if found.of_others and not found.users:
        raise MaildirError(
            f"no Maildir in {escaped(location.path)} belongs to {user}, and {found.of_others} to others: correct their"
            " owner, or Dovecot's mail_uid"
        )
    some = found.users[:MOST_LOOKED_AT]
    layout = _layout(some) if location.layout == "auto" else location.layout
    folders = _folders(some, layout)
    there = count_folders(folders)
    mailbox = Mailbox(Path(location.path), host_roles(location.roles, there, len(folders)), layout=layout)
    return HostProposal(mailbox, uid, user, location.group, found, len(folders), there, location.notes)


def template_of(path: str) -> PathTemplate:
    """Return the path of all users' Maildirs. Raises UsageError if the text is not such a path."""
    shown = escaped(path)
    if not path.startswith("/"):
        raise UsageError(f"{shown} is not a full path: write one such as '/var/vmail/{{domain}}/{{local}}/Maildir'")
    try:
        template = parse_template(path)
    except ValueError as fault:
        raise UsageError(f"{shown} {fault}") from None
    if not template.fields:
        raise UsageError(
            f"{shown} has no fields, so it is not for many users: write {{domain}}, {{local}} or {{user}} in it; for"
            " one person's mail leave --host out"
        )
    return template


def owner_of_mail(template: PathTemplate) -> int:
    """Return the number of the system user who owns most Maildirs, or before the first one, the directory above them.

    Raises MaildirError if they belong to several users.
    """
    owners: Counter[int] = Counter()
    for user in find_users(template, ANYBODY).users:
        with suppress(OSError):  # it has just gone
            owners[os.lstat(user.root).st_uid] += 1
    if not owners:
        if uid := os.stat(template.fixed).st_uid:
            return uid
        raise MaildirError(
            f"nobody has a Maildir yet in {escaped(template.text)}, so the owner of the mail is not known: deliver a"
            " first message, or correct the path"
        )
    [(uid, number)] = owners.most_common(1)
    if 2 * number <= owners.total() and len(owners) > 1:
        raise MaildirError(
            f"the Maildirs in {escaped(template.text)} belong to {len(owners)} system users, but one service works for"
            f" the mail of one: set up a service for each, see {_DOCUMENT}, Users with a home directory"
        )
    return uid


def uid_of(user: str) -> int:
    """Return the number of a user, given by name or number. Raises ConfigError for an unknown name."""
    if user.isascii() and user.isdigit():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise ConfigError(
            f"Dovecot's mail belongs to {escaped(user)}, but this system has no such user: create it, or correct"
            " Dovecot's mail_uid"
        ) from None


def _name(uid: int) -> str:
    """Return the user in the form for a unit: the name, or the number if it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _layout(some: Sequence[User]) -> Layout:
    """Return the layout of most of these mailboxes."""
    counted: Counter[Layout] = Counter()
    for user in some:
        with suppress(FolderUnavailableError):
            counted[detect_layout(str(user.root))] += 1
    return counted.most_common(1)[0][0] if counted else "maildir++"


def _folders(some: Sequence[User], layout: Layout) -> list[list[str]]:
    """Return the names of the folders of each mailbox that can be listed."""
    found = []
    for user in some:
        with suppress(FolderUnavailableError):
            found.append([folder.name for folder in find_folders(str(user.root), layout)])
    return found
