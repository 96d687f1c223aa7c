"""The mailboxes of a mail host as they might be configured, proven against the disk: who is there, and whose it is."""

import os
import pwd
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spamnb.base.errors import ConfigError, MaildirError, UsageError
from spamnb.base.label import Role
from spamnb.base.wording import escaped, plural
from spamnb.config import Mailbox
from spamnb.config.settings import Layout
from spamnb.config.template import PathTemplate, parse_template
from spamnb.host.find_users import ANYBODY, FoundUsers, User, find_users
from spamnb.maildir.folders import FolderUnavailableError, detect_layout, find_folders
from spamnb.setup.dovecot import FromDovecot
from spamnb.setup.host_roles import count_folders, host_roles, of_many

MOST_LOOKED_AT = 200  # mailboxes whose folders are listed: enough for what a tenth of all users have
_DOCUMENT = "docs/mail-host.md"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the mail of a host's users is said to lie. layout, user, group: "auto" and "" where that is not said.

    path: a template's text. user, group: a name or a number. roles: of folders that are known to have one.
    """

    path: str
    layout: Layout = "auto"
    roles: Mapping[str, Role] = field(default_factory=dict)
    user: str = ""
    group: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of_dovecot(cls, said: FromDovecot) -> "Place":
        """What Dovecot's configuration says."""
        return cls(said.path, said.layout, said.roles, said.user, said.group, said.notes)


@dataclass(frozen=True, slots=True)
class HostProposal:
    """The mailbox of all users as it might be configured, with fields in its path, and what is there of it.

    uid: the number of the user of the machine whose mail it is. user, group: as a unit has them, "" for the usual
    group. found: who is there. looked_at: in how many mailboxes the folders were listed; there: in how many each of
    them is. notes: what Dovecot does that is not done here.
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
        """The folders that have a role by their name, and the others that many users have."""
        return list(dict.fromkeys([*self.mailbox.roles, *of_many(self.there, self.looked_at)]))

    def doubts(self) -> list[str]:
        """What on the disk is not as the path says, in words."""
        found = self.found
        counted = (
            (found.of_others, "Maildir", f"of other users of the machine than {self.user}"),
            (found.strange, "name", "of a directory that no user can have"),
            (found.links, "link", "where a directory should be"),
            (found.twice, "user", "with two Maildirs"),
        )
        lines = [f"passed over: {plural(number, noun)} {what}" for number, noun, what in counted if number]
        lines += [f"cannot look into {escaped(path)}: who is below it is not known" for path in found.unreadable]
        if not found.users:
            lines.append(f"nobody has a Maildir yet below {escaped(str(self.template.fixed))}")
        return [*lines, *self.notes]


def propose_host(place: Place) -> HostProposal:
    """A configuration for the users of a host.

    Raises UsageError for a path that is none of users, MaildirError where nobody can be found, or nobody can tell whose
    the mail is, and ConfigError where that user is none of the machine's.
    """
    template = template_of(place.path)
    uid = uid_of(place.user) if place.user else owner_of_mail(template)
    user = _name(uid)
    if uid == 0:
        raise MaildirError(
            f"the mail in {escaped(place.path)} belongs to root, as whom no service runs: give it to a user of its own,"
            " as Dovecot's mail_uid names one"
        )
    found = find_users(template, uid)
    if found.of_others and not found.users:
        raise MaildirError(
            f"all {plural(found.of_others, 'Maildir')} in {escaped(place.path)} belong to others than {user}: correct"
            " their owner, or Dovecot's mail_uid"
        )
    some = found.users[:MOST_LOOKED_AT]
    layout = _layout(some) if place.layout == "auto" else place.layout
    folders = _folders(some, layout)
    there = count_folders(folders)
    mailbox = Mailbox(Path(place.path), host_roles(place.roles, there, len(folders)), layout=layout)
    return HostProposal(mailbox, uid, user, place.group, found, len(folders), there, place.notes)


def template_of(path: str) -> PathTemplate:
    """The path of all users' Maildirs. Raises UsageError where it is none."""
    shown = escaped(path)
    if not path.startswith("/"):
        raise UsageError(f"{shown} is not a full path: write one such as '/var/vmail/{{domain}}/{{local}}/Maildir'")
    try:
        template = parse_template(path)
    except ValueError as fault:
        raise UsageError(f"{shown} {fault}") from None
    if not template.fields:
        raise UsageError(
            f"{shown} has no fields, and so is not of many users: write {{domain}}, {{local}} or {{user}} in it; for"
            " one person's mail leave --host out"
        )
    return template


def owner_of_mail(template: PathTemplate) -> int:
    """The number of the user of the machine to whom the mail belongs, as the Maildirs show, or the directory of all.

    Raises MaildirError where they belong to several.
    """
    owners: Counter[int] = Counter()
    for user in find_users(template, ANYBODY).users:
        with suppress(OSError):  # it has gone meanwhile
            owners[os.lstat(user.root).st_uid] += 1
    if not owners:
        if uid := os.stat(template.fixed).st_uid:
            return uid
        raise MaildirError(
            f"nobody has a Maildir yet in {escaped(template.text)}, so nobody can tell whose the mail will be: have a"
            " first message delivered, or correct the path"
        )
    [(uid, number)] = owners.most_common(1)
    if 2 * number <= owners.total() and len(owners) > 1:
        raise MaildirError(
            f"the Maildirs in {escaped(template.text)} belong to {len(owners)} users of the machine, and one service"
            f" works for the mail of one: each of them has a service, as in {_DOCUMENT}, Users with a home directory"
        )
    return uid


def uid_of(user: str) -> int:
    """The number of a user, who is told by name or number. Raises ConfigError for a name that nobody has."""
    if user.isascii() and user.isdigit():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise ConfigError(
            f"Dovecot's mail belongs to {escaped(user)}, and this machine has no such user: make one, or correct"
            " Dovecot's mail_uid"
        ) from None


def _name(uid: int) -> str:
    """The user as a unit has it: the name, or the number where nobody has it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _layout(some: Sequence[User]) -> Layout:
    """The layout that most of these mailboxes have."""
    counted: Counter[Layout] = Counter()
    for user in some:
        with suppress(FolderUnavailableError):
            counted[detect_layout(str(user.root))] += 1
    return counted.most_common(1)[0][0] if counted else "maildir++"


def _folders(some: Sequence[User], layout: Layout) -> list[list[str]]:
    """The names of the folders of each mailbox that can be listed."""
    found = []
    for user in some:
        with suppress(FolderUnavailableError):
            found.append([folder.name for folder in find_folders(str(user.root), layout)])
    return found
