"""A mail host as its configuration describes it: its users, and the configuration of each of them."""

import os
from collections.abc import Mapping
from contextlib import suppress
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

# Other names in the fixed directory of the ledgers: no user may have a directory of that name there.
_RESERVED = lazy_pattern(
    r"register-[0-9]+-of-[0-9]+\.jsonl|register\.(?:requests|web\.key)[^@]*|(?:[0-9]+-)?of-[0-9]+\.(?:lock|reading|fault)"
)


class Configured(NamedTuple):
    """The configuration of one user. fault: the fault of the user's own file, which was then not read, or ""."""

    config: Config
    fault: str


@dataclass(frozen=True, slots=True)
class Host:
    """The users of a mail host.

    template: the configuration that all users share; its `service` and `spamd` are the host's. path: the file it comes
    from. share: the part of the users that a service takes. None for a command: then the shares that `Config.share`
    names are looked up on the disk.
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
    def directory(self) -> Path:
        """The directory above the ledgers, with the register and the locks of the services."""
        return self.ledgers.fixed

    @property
    def requests(self) -> Path:
        """The directory in which commands ask the services.

        A directory with the name of a user asks to let go of the ledger. With a dot behind the name, since no name ends
        so, it asks to look at the ledger again.
        """
        return self.directory / "register.requests"

    def look_again(self, name: str) -> None:
        """Ask the service of a user to look at the ledger again, since a command has changed it.

        If no service runs, the next one does so at its start. If none ever ran, nothing is asked.
        """
        with suppress(OSError):  # then the service finds out by itself, a day later at most
            os.mkdir(self.requests / f"{name}.", 0o700)

    def users(self, owner: int | None = None, before: FoundUsers | None = None) -> FoundUsers:
        """Return all users that exist and that the configuration does not leave out.

        owner: the number of the machine's user to whom the Maildirs must belong, or ANYBODY; None: ours. before: the
        last result, which makes this one cheaper. Raises MaildirError if the directory of all mail cannot be listed.
        """
        found = find_users(self.mail, os.geteuid() if owner is None else owner, before=before)
        return replace(found, users=tuple(user for user in found.users if self._is_taken(user.name)))

    def find(self, asked: str, owner: int | None = None, *, by_login: bool = False) -> User | None:
        """Return the user whom a name means: as written, in lower case, or without the part after "+"; None if unknown.

        by_login: the name is that of a login, not an address of mail, so "+" is a letter as any other: whoever could
        get a login as `ben+x` would see the mail of `ben`. Only finds users that `users` would return; `owner` and
        errors are the same.
        """
        for name in _written(asked) if by_login else _meant(asked):
            if self.mail.takes(name) and self._is_taken(name):
                found = find_users(self.mail, os.geteuid() if owner is None else owner, name).users
                if found:
                    return found[0]
        return None

    def may_have(self, user: User) -> bool:
        """Whether the configuration has a place for this user with this Maildir, even if it does not exist."""
        return self._is_taken(user.name) and self.mail.match(str(user.root)) == user.name

    def check_root(self, user: User) -> None:
        """Raise MaildirError if another user's directory, or one behind a link, is in the place of a Maildir.

        A missing Maildir is not an error.
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
        """Return the error for an unknown user, with what to check."""
        shown, names = escaped(asked), [name for name in _meant(asked) if self.mail.takes(name)]
        if not names:
            form = "anna@example.org" if "{domain}" in self.mail.fields else "anna"
            return UsageError(f"{shown} cannot be a user of {self._shown}: write a name such as {form}")
        if not any(map(self._is_taken, names)):
            return UsageError(f"{shown} is left out in {self._shown}: see `without` below `users`")
        where = escaped(str(self.mail.fill(names[-1])))
        return UsageError(
            f"{self._shown} has no user {shown}: check that {where} is a Maildir, is not a link, and"
            " belongs to the user who runs this"
        )

    @property
    def _shown(self) -> str:
        return escaped(str(self.path))

    def config_of(self, user: User, before: Config | None = None) -> Configured:
        """Return what holds for a user: the template, changed by the user's own file.

        If that file is faulty, the fault is returned too, and the configuration is `before`, or else the template's.
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
        """Return the path of a user's ledger, which may not exist; if it is a link, the path of its target."""
        ledger = self.ledgers.fill(name)
        return Path(os.path.realpath(ledger)) if ledger.is_symlink() else ledger  # as in `load`

    def own_file(self, name: str) -> Path | None:
        """Return the path of a user's own settings, even if they do not exist; None if users have none."""
        return self.template.users.own_file(name)

    def _without_own(self, user: User) -> Config:
        directory, share = self.directory, self.share
        return replace(
            self.template,
            mailboxes=(replace(self.template.mailboxes[0], path=user.root, levels=len(self.mail.below)),),
            ledger=self.ledger_of(user.name),
            user=user.name,
            share=claim_of(directory, user.name) if share is None else share.claim(directory),
        )

    def _is_taken(self, name: str) -> bool:
        """Whether a name is not left out, and no directory of the ledgers would get a reserved name by it."""
        if self.template.users.leaves_out(name):
            return False
        may_be = "register." in name or "of-" in name  # this spares nearly all the rest
        return not (may_be and _RESERVED.fullmatch(filled(self.ledgers.below[0], name)))


def load_user(
    path: str | os.PathLike[str], environ: Mapping[str, str], asked: str, owner: int | None = None
) -> Configured:
    """Return a configuration: of the host's user `asked`, or if `asked` is "", of the person whose file is at the path.

    owner: as in `Host.users`. Raises ConfigError like `load`. Raises UsageError for a host if no user is named, for an
    unknown user, and if a user is named but this is not a host. Raises MaildirError if the directory of all mail cannot
    be listed.
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
    """Return the host of a configuration. Raises ConfigError like `load`, and UsageError if it is one person's."""
    template = load_any(path, environ)
    if not template.is_template:
        what = f"{escaped(os.fspath(path))} is the configuration of one person, and not of a mail host"
        raise UsageError(f"{what}, which has fields in its `path`: docs/mail-host.md")
    return Host(template, Path(path), share)


def _written(asked: str) -> list[str]:
    """Return a name as written and in lower case.

    A letter outside of ASCII never means one of ASCII, as the sign of kelvin would in lower case.

    >>> _written("Anna@Example.org"), _written("\u212aarla"), _written("JÖRG")
    (['Anna@Example.org', 'anna@example.org'], ['\u212aarla'], ['JÖRG', 'jörg'])
    """
    lower = "".join(letter.lower() if letter.isascii() or not letter.lower().isascii() else letter for letter in asked)
    return list(dict.fromkeys((asked, lower)))


def _meant(asked: str) -> list[str]:
    """Return the names that may be meant by an address of mail, the likeliest first.

    >>> _meant("Anna+lists@Example.org")
    ['Anna+lists@Example.org', 'anna+lists@example.org', 'Anna@Example.org', 'anna@example.org']
    """
    local, at, domain = asked.partition("@")
    return list(dict.fromkeys([*_written(asked), *_written(f"{local.partition('+')[0]}{at}{domain}")]))
