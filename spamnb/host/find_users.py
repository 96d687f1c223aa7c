"""Find the users of a mail host by their mailboxes on the disk.

Links in the fixed part of the path are the administrator's. Below it no link is followed: a user who can make one could
have another user's mail judged, moved and learned as his own.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from spamnb.base.errors import MaildirError, next_step
from spamnb.base.wording import named
from spamnb.config.template import ANY, PathTemplate, filled, fits, is_plain

ANYBODY = -1  # in the place of a user's number
_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # of this process or machine: they say nothing of a directory


class User(NamedTuple):
    """A user of a mail host, and the Maildir."""

    name: str
    root: Path


@dataclass(frozen=True, slots=True)
class FoundUsers:
    """The users that exist, by name, and what else was found on the way to them.

    strange: the directories in the place of a name that is not allowed. of_others: Maildirs that belong to
    another user of the machine. links: the number of links in the place of a directory. twice: names with two Maildirs,
    which therefore do not count as users. unreadable: directories that cannot be read; the users below them are
    unknown. directories: all directories where a user may appear, the fixed one first.
    """

    users: tuple[User, ...]
    strange: tuple[str, ...] = ()
    of_others: int = 0
    links: int = 0
    twice: int = 0
    unreadable: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()

    @property
    def may_be_meant(self) -> list[str]:
        """The directories in `strange` that may be meant for users: a dot hides the others."""
        return sorted(path for path in self.strange if not os.path.basename(path).startswith("."))


@dataclass(slots=True)
class _Walk:
    """A walk over the directories of a template. wanted: the name of the user to find, or None for all.

    known: users who were found before, by the paths of their Maildirs.
    """

    template: PathTemplate
    owner: int
    wanted: str | None = None
    known: Mapping[str, User] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)
    of_others: int = 0
    links: int = 0
    unreadable: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)

    def users(self) -> Iterator[User]:
        """Yield each user with a Maildir, in the order of the directories."""
        paths = [str(self.template.fixed)]
        *ways, last = self.template.below
        for component in ways:
            self.directories += paths
            inside = self._inside(paths, component)
            paths = list(inside if self._is_listed(component) else filter(self._is_way, inside))
        self.directories += paths
        for path in filter(self._is_mailbox, self._inside(paths, last)):
            if (user := self.known.get(path)) is not None:
                yield user
            elif (name := self.template.match(path)) is not None:
                yield User(name, Path(path))
            else:
                self.strange.append(path)

    def _inside(self, paths: list[str], component: str) -> Iterator[str]:
        """Yield the paths in these directories that a component may mean; a path that was not listed may not exist."""
        if self._is_listed(component):
            return chain.from_iterable(self._listed(path, component) for path in paths)
        name = component if self.wanted is None else filled(component, self.wanted)
        return (f"{path}/{name}" for path in paths)

    def _is_listed(self, component: str) -> bool:
        """Whether the names of a component are found by listing directories."""
        return component == ANY or (self.wanted is None and not is_plain(component))

    def _listed(self, path: str, component: str) -> list[str]:
        names = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        self.links += 1
                    elif entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
        except FileNotFoundError:  # it has gone in the meantime
            return []
        except OSError as fault:
            if fault.errno in _LIMITS:
                raise MaildirError(f"cannot list {named(path)}: {fault.strerror}; {next_step(fault, '')}") from fault
            self.unreadable.append(path)
        fitting: list[str] = []
        for name in names:
            (fitting if fits(component, name) else self.strange).append(f"{path}/{name}")
        return fitting

    def _is_way(self, path: str) -> bool:
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return False
        self.links += stat.S_ISLNK(mode)
        return stat.S_ISDIR(mode)

    def _is_mailbox(self, path: str) -> bool:
        """Whether a directory is a Maildir, and belongs to the right user of the machine."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            self.links += stat.S_ISLNK(status.st_mode)
            return False
        if self.owner not in (ANYBODY, status.st_uid):
            self.of_others += 1
            return False
        # One look for both. Whether they are links shows when its folders are looked for.
        return path in self.known or os.access(f"{path}/new/../cur/", os.F_OK)


def find_users(
    template: PathTemplate, owner: int, wanted: str | None = None, before: FoundUsers | None = None
) -> FoundUsers:
    """Return the users whose Maildirs exist and belong to that user of the machine, or to ANYBODY.

    wanted: the name of one user; this avoids listing the directories of others. The name must fit the template. before:
    the last result; only parts that may have changed are looked at: 5,000 users then take 25 ms of CPU, otherwise 55.
    Raises MaildirError if the fixed directory cannot be listed: then the users are unknown.
    """
    fixed = str(template.fixed)
    try:
        os.stat(fixed)
    except OSError as fault:
        step = "mount the disk, or correct `path` in the configuration"
        raise MaildirError(f"cannot look for users in {named(fixed)}: {fault.strerror}; {step}") from fault
    known = {} if before is None else {str(user.root): user for user in before.users}
    walk = _Walk(template, owner, wanted, known)
    users = sorted(walk.users(), key=lambda user: user.name)
    if fixed in walk.unreadable:
        raise MaildirError(f"cannot look for users in {named(fixed)}: correct its owner or its permissions")
    double = {user.name for user, after in pairwise(users) if user.name == after.name}
    return FoundUsers(
        tuple(user for user in users if user.name not in double) if double else tuple(users),
        tuple(walk.strange),
        walk.of_others,
        walk.links,
        len(double),
        tuple(walk.unreadable),
        tuple(walk.directories),
    )
