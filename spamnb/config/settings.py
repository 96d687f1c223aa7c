"""The values of a configuration, with their limits and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from spamnb.base.label import Role
from spamnb.config.folder_names import matches, usual_role, written
from spamnb.config.named_senders import Senders
from spamnb.config.readers import (
    account_name,
    addresses,
    connection,
    full_path,
    host_name,
    number,
    optional,
    users,
    whole,
)
from spamnb.config.template import has_fields
from spamnb.config.users import Users

Layout = Literal["auto", "maildir++", "fs"]
Model = Literal["bernoulli", "multinomial", "multinomial-boolean"]  # the event models that serve; no other list of them
Watch = Literal["auto", "inotify", "polling"]
Teach = Literal["sockets", "tcp", "nobody"]


@dataclass(frozen=True, slots=True)
class Mailbox:
    """One Maildir and the roles of its folders.

    `roles` maps a folder's name, with "/" between the levels, to its role, in the order written; it names at
    least one inbox and one spam folder. `patterns` are written among them, as `Lists/*`, and hold for folders that
    are not named; the first that matches decides. An ordinary folder without either has the role `other_folders`.
    """

    path: Path
    roles: Mapping[str, Role] = field(hash=False)  # a mapping has no hash; the path tells mailboxes apart
    patterns: Mapping[str, Role] = field(default_factory=dict, hash=False, kw_only=True)
    layout: Layout = "auto"
    other_folders: Role = Role.HAM
    unsure_folder: str | None = None

    @property
    def inbox_folder(self) -> str:
        """The folder that mail returns to: the first inbox, in the order written."""
        return self._first(Role.INBOX)

    @property
    def spam_folder(self) -> str:
        """The folder that spam is moved to: the first spam folder, in the order written."""
        return self._first(Role.SPAM)

    def role_of(self, folder: str) -> Role:
        """The role of a folder. One that is not named has `other_folders`, but in the trash it is trash, in spam spam.

        QUIRK: mail programs delete a folder by moving it into the trash. As an ordinary folder, a Junk that was
        deleted would teach that all of its spam is ham. QUIRK: another mail program makes a trash, or a spam folder,
        of its own, long after the roles were written down. Spam that is deleted or sorted into it would become ham.

        So a pattern such as `*` makes neither ham nor an inbox of them, and does not hold for what is in a neutral or a
        spam folder, unless it begins with that folder's name, as `Lists/py*`. Nor of INBOX, which is always named.

        A neutral folder that is called like sent mail is sent mail: it was written down before there was such a role.
        """
        role = self._role_of(folder)
        return Role.SENT if role is Role.NEUTRAL and usual_role(folder) is Role.SENT else role

    def _role_of(self, folder: str) -> Role:
        if folder in self.roles:
            return self.roles[folder]
        parts = folder.split("/")
        above = ["/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
        named = next((name for name in above if name in self.roles), "")
        is_closed = self.roles.get(named) in (Role.NEUTRAL, Role.SENT, Role.SPAM)
        is_ordinary = usual_role(folder) in (Role.HAM, Role.INBOX)
        role = self.by_pattern(folder, f"{written(named)}/" if is_closed else "")
        if role is not None:
            return role if is_ordinary or role not in (Role.HAM, Role.INBOX) else Role.NEUTRAL
        if above and (role := self._role_of(above[0])) in (Role.NEUTRAL, Role.SENT, Role.SPAM):
            return role
        return self.other_folders if is_ordinary else Role.NEUTRAL

    def names(self, folder: str) -> bool:
        """Whether a folder's role is written, by name or by a pattern, and is not that of a spam folder it is in."""
        above = folder.rpartition("/")[0]
        is_apart = not above or self.role_of(above) is not Role.SPAM
        return folder in self.roles or (is_apart and self.by_pattern(folder) is not None)

    def by_pattern(self, folder: str, beginning: str = "") -> Role | None:
        """The role of the first pattern with this beginning that matches, in the order written; None without one."""
        if folder.upper() == "INBOX":
            return None
        held = (role for key, role in self.patterns.items() if key.startswith(beginning) and matches(key, folder))
        return next(held, None)

    def _first(self, wanted: Role) -> str:
        return next(folder for folder, role in self.roles.items() if role is wanted)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a message is judged.

    From `spam_cutoff` up a message is spam, from `ham_cutoff` down it is ham, between them it is unsure.

    `alpha` 0.01 ranks far better than 1, and 0.005 no better; a `spam_cutoff` of 0.95 catches most spam that 0.90
    does, and loses less ham (`spamnb evaluate`).
    """

    model: Model = "multinomial-boolean"
    alpha: Annotated[float, number(0, 1000, above=True)] = 0.01
    spam_cutoff: Annotated[float, number(0, 1)] = 0.95
    ham_cutoff: Annotated[float, number(0, 1)] = 0.1


@dataclass(frozen=True, slots=True)
class Learning:
    """What counts as a decision of the user, and when the filter knows enough to move mail.

    `minimum_messages` is per class. `trust_delivery`: mail that is first seen in a spam folder or a training folder,
    where a rule may have delivered it, is learned too.
    """

    kept: bool = True
    kept_days: Annotated[float, number(0, 3650)] = 3.0
    dwell_seconds: Annotated[float, number(0, 3600)] = 5.0
    minimum_messages: Annotated[int, whole(1, 1_000_000)] = 20
    keywords: bool = True
    trust_delivery: bool = True


@dataclass(frozen=True, slots=True)
class Log:
    """What the service's log holds; `subjects`: subject and sender of each message, which an administrator may read."""

    subjects: bool = True


@dataclass(frozen=True, slots=True)
class Service:
    """How the service notices what happens in the folders, and what it keeps: daily copies of the ledger, metrics.

    metrics: the file for them, or None.
    """

    reconcile_seconds: Annotated[float, number(1, 86_400)] = 300.0
    watch: Watch = "auto"
    poll_seconds: Annotated[float, number(0.1, 3600)] = 10.0
    copies: Annotated[int, whole(0, 365)] = 7
    metrics: Annotated[Path | None, optional(full_path)] = None


@dataclass(frozen=True, slots=True)
class Spamd:
    """Where the service answers the spamd protocol, and whom.

    listen: paths of Unix sockets, and loopback addresses as `127.0.0.1:783`; sockets from the service manager are
    served too. teach: over which of them TELL teaches: Unix sockets alone, TCP too, or none. most_points: the largest
    score that is told, and its negative the smallest. peers: login names or numbers of users that may ask, beside the
    service's own and root.
    """

    listen: Annotated[tuple[str, ...], addresses] = ()
    teach: Teach = "sockets"
    most_points: Annotated[float, number(5, 1000)] = 9.9
    peers: Annotated[tuple[str, ...], users] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """How several hosts share what is learned, by a log in PostgreSQL.

    database: how it is reached, as libpq has it; None: nothing is shared. host: how this host is called in the history
    of the others; None: by its own name. user: how the one person of this configuration is called in the log; a user of
    a mail host is called as there. seconds: how often the log is asked for news.
    """

    database: Annotated[str | None, optional(connection)] = None
    host: Annotated[str | None, optional(host_name)] = None
    user: Annotated[str | None, optional(account_name)] = None
    seconds: Annotated[float, number(1, 3600)] = 10.0


@dataclass(frozen=True, slots=True)
class Config:
    """All values together; at least one mailbox, none of them inside another.

    Of a mail host the paths have fields: it is a template of the configurations of its users, with one mailbox.

    breaker: whether the filter stops moving mail where nearly all of it looks like spam, unlike before. retention_days:
    how long the ledger keeps files that are gone, and verdicts on messages that are gone and were never learned; 0 for
    good.

    Three are no keys. user: whose it is, of a host; "" for the one person of a configuration. share: of a user of a
    host, the path of a lock, without its ending, that the service holds which works for this user. written: the keys of
    sections that the file itself names, as `scoring.spam_cutoff`: they stand above what a person has chosen beside it
    (`config.chosen`).
    """

    mailboxes: tuple[Mailbox, ...]
    ledger: Path
    scoring: Scoring = field(default_factory=Scoring)
    learning: Learning = field(default_factory=Learning)
    senders: Senders = field(default_factory=Senders)
    breaker: bool = True
    log: Log = field(default_factory=Log)
    service: Service = field(default_factory=Service)
    retention_days: Annotated[float, number(0, 36_500)] = 365.0
    spamd: Spamd = field(default_factory=Spamd)
    exchange: Exchange = field(default_factory=Exchange)
    users: Users = field(default_factory=Users)
    user: str = ""
    share: Path | None = None
    written: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def is_template(self) -> bool:
        """Whether it is that of a mail host, so that only those of its users can be worked with."""
        return any(has_fields(mailbox.path) for mailbox in self.mailboxes)

    @property
    def claim(self) -> Path:
        """The path, without its ending, of the lock that a service holds which works with the ledger."""
        return self.share or self.ledger

    @property
    def account(self) -> str | None:
        """How its user is called in the log of lessons; None where it has no name there."""
        return self.user or self.exchange.user
