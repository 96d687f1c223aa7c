"""A mail host as its configuration has it: its users, and the configuration of each of them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from spamnb.base.errors import ConfigError, MaildirError, UsageError
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped, named
from spamnb.config import Config, load, load_any
from spamnb.config.own_file import with_own
from spamnb.config.template import PathTemplate, filled, parse_template
from spamnb.host.find_users import ANYBODY, FoundUsers, User, find_users
from spamnb.host.shares import Share, claim_of

__all__ = ["ANYBODY", "Configured", "FoundUsers", "Host", "User", "load_host", "load_user"]

REGISTER = "register.sqlite"
# What else lies in the fixed directory of the ledgers: no user may have a directory of that name there.
_RESERVED = lazy_pattern(r"register\.sqlite[^@]*|(?:[0-9]+-)?of-[0-9]+\.(?:lock|reading|fault)")


class Configured(NamedTuple):
    """The configuration of one user. fault: what is wrong with the user's own file, which was not read then, or ""."""

    config: Config
    fault: str


@dataclass(frozen=True, slots=True)
class Host:
    """The users of a mail host.

    template: what holds of all of them; its `service` and `spamd` are the host's. path: where it was read. share: the
    part of the users that a service takes, or None where a command asks: then `Config.share` is looked up on the disk.
    """

    template: Config
    path: Path
    share: Share | None = None

    @property
    def mail(self) -> PathTemplate:
        """The path of a user's Maildir."""
        return parse_template(str(self.template.mailboxes[0].path))

    @property
    def ledgers(self) -> PathTemplate:
        """The path of a user's ledger."""
        return parse_template(str(self.template.ledger), is_file=True)

    @property
    def register(self) -> Path:
        """The path of the register, beside the directories of the ledgers."""
        return self.ledgers.fixed / REGISTER

    def users(self, owner: int | None = None, before: FoundUsers | None = None) -> FoundUsers:
        """All users that are there and not left out by the configuration.

        owner: the number of the user of the machine to whom the Maildirs have to belong, or ANYBODY; None: ours.
        before: what was found the last time, which makes this one cheaper. Raises MaildirError where the directory of
        all mail cannot be listed.
        """
        found = find_users(self.mail, os.geteuid() if owner is None else owner, before=before)
        return replace(found, users=tuple(user for user in found.users if self._is_taken(user.name)))

    def find(self, asked: str, owner: int | None = None) -> User | None:
        """The user who is meant by a name: as it is, in lower case, or without what follows "+".

        Only who is one of `users`, whose `owner` and errors it has.
        """
        for name in _meant(asked):
            if self.mail.takes(name) and self._is_taken(name):
                found = find_users(self.mail, os.geteuid() if owner is None else owner, name).users
                if found:
                    return found[0]
        return None

    def may_have(self, user: User) -> bool:
        """Whether the configuration has a place for this user with this Maildir, whether that is there or not."""
        return self._is_taken(user.name) and self.mail.match(str(user.root)) == user.name

    def check_root(self, user: User) -> None:
        """Raise MaildirError where another user's directory, or one behind a link, stands at the place of a Maildir.

        Nothing is wrong with one that is not there.
        """
        root = path = str(user.root)
        fixed = len(str(self.mail.fixed))
        while len(path) > fixed:  # above that, links are the administrator's
            if os.path.islink(path):
                step = "which is not followed: put the Maildir there"
                raise MaildirError(f"{named(root)} is behind a symbolic link, {step}")
            path = os.path.dirname(path)
        try:
            owner = os.lstat(root).st_uid
        except OSError:
            return
        if owner != os.geteuid():
            raise MaildirError(f"{named(root)} belongs to another user of this machine: correct its owner")

    def unknown(self, asked: str) -> UsageError:
        """That there is no such user, and what to look at."""
        shown, names = escaped(asked), [name for name in _meant(asked) if self.mail.takes(name)]
        if not names:
            form = "anna@example.org" if "{domain}" in self.mail.fields else "anna"
            return UsageError(f"{shown} cannot be a user of {self._shown}: write a name such as {form}")
        if not any(map(self._is_taken, names)):
            return UsageError(f"{shown} is left out in {self._shown}: look at `without` below `users`")
        where = escaped(str(self.mail.fill(names[-1])))
        return UsageError(
            f"{self._shown} has no user {shown}: look whether there is a Maildir at {where}, which is no link and"
            " belongs to who runs this"
        )

    @property
    def _shown(self) -> str:
        return escaped(str(self.path))

    def config_of(self, user: User, before: Config | None = None) -> Configured:
        """What holds for a user: the template, and what the user's own file says otherwise.

        Where that file is faulty the fault is told, and the configuration is the one from before, or else the
        template's.
        """
        config = self._without_own(user)
        own = self.own_file(user.name)
        if own is None:
            return Configured(config, "")
        try:
            return Configured(with_own(config, own), "")
        except ConfigError as fault:
            return Configured(config if before is None else before, str(fault))

    def ledger_of(self, name: str) -> Path:
        """The path of a user's ledger, which need not be there; of the file itself, where that is a link."""
        ledger = self.ledgers.fill(name)
        return Path(os.path.realpath(ledger)) if ledger.is_symlink() else ledger  # as `load` has it

    def own_file(self, name: str) -> Path | None:
        """The path of a user's own settings, whether they are there or not; None where nobody has any."""
        return self.template.users.own_file(name)

    def _without_own(self, user: User) -> Config:
        directory, share = self.register.parent, self.share
        return replace(
            self.template,
            mailboxes=(replace(self.template.mailboxes[0], path=user.root),),
            ledger=self.ledger_of(user.name),
            user=user.name,
            share=claim_of(directory, user.name) if share is None else share.claim(directory),
        )

    def _is_taken(self, name: str) -> bool:
        """Whether a name is not left out, and none of the directories of the ledgers would have a reserved name."""
        if self.template.users.leaves_out(name):
            return False
        may_be = ".sqlite" in name or "of-" in name  # which spares nearly all the rest
        return not (may_be and _RESERVED.fullmatch(filled(self.ledgers.below[0], name)))


def load_user(
    path: str | os.PathLike[str], environ: Mapping[str, str], asked: str, owner: int | None = None
) -> Configured:
    """The configuration at a path: of the user of a host who is asked for, or for "" of the one person whose it is.

    owner: as `Host.users` has it. Raises ConfigError as `load` does, UsageError where it is a host's and nobody is
    asked for, or there is no such user or no host, and MaildirError where the directory of all mail cannot be listed.
    """
    if not asked:
        return Configured(load(path, environ), "")
    host = load_host(path, environ)
    user = host.find(asked, owner)
    if user is None:
        raise host.unknown(asked)
    return host.config_of(user)


def load_host(
    path: str | os.PathLike[str], environ: Mapping[str, str] = os.environ, share: Share | None = None
) -> Host:
    """The host of a configuration. Raises ConfigError as `load` does, and UsageError where it is one person's."""
    template = load_any(path, environ)
    if not template.is_template:
        what = f"{escaped(os.fspath(path))} is the configuration of one person, whose mail needs no --user"
        raise UsageError(f"{what}; that of a mail host has fields in its `path`: docs/mail-host.md")
    return Host(template, Path(path), share)


def _meant(asked: str) -> list[str]:
    """The names that may be meant, the likeliest first.

    >>> _meant("Anna+lists@Example.org")
    ['Anna+lists@Example.org', 'anna+lists@example.org', 'Anna@Example.org', 'anna@example.org']
    """
    local, at, domain = asked.partition("@")
    bare = f"{local.partition('+')[0]}{at}{domain}"
    return list(dict.fromkeys((asked, asked.lower(), bare, bare.lower())))
