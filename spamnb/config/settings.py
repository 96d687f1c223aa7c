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
    server_name,
    tag,
    users,
    whole,
)
from spamnb.config.template import has_fields
from spamnb.config.users import Users

Layout = Literal["auto", "maildir++", "fs"]
Model = Literal["bernoulli", "multinomial", "multinomial-boolean"]  # of the service; the only list
Watch = Literal["auto", "inotify", "polling"]
Teach = Literal["sockets", "tcp", "nobody"]
LogForm = Literal["text", "json"]
Statements = Literal["off", "weekly", "monthly"]

APART: Mapping[Role, str] = {
    Role.UNSURE: "unsure_folder",
    Role.NEWCOMERS: "newcomers_folder",
    Role.NEWSLETTERS: "newsletters_folder",
}
"""The keys of the folders for mail that is put apart, by their roles."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """One Maildir and the roles of its folders.

    `roles` maps a folder's name, with "/" between the levels, to its role, in the order written. It names at least one
    inbox and one spam folder. `patterns` such as `Lists/*` are written among them, and hold for folders that are not
    named; the first match decides. An ordinary folder without either has the role `other_folders`.

    `levels` has no key. It is the number of last parts of `path` that a user of a mail host can replace. None of them
    may be a link.
    """

    path: Path
    roles: Mapping[str, Role] = field(hash=False)  # a mapping has no hash; the path tells mailboxes apart
    patterns: Mapping[str, Role] = field(default_factory=dict, hash=False, kw_only=True)
    layout: Layout = "auto"
    other_folders: Role = Role.HAM
    unsure_folder: str | None = None
    newcomers_folder: str | None = None
    newsletters_folder: str | None = None
    levels: int = field(default=0, kw_only=True, compare=False)

    @property
    def goals(self) -> Mapping[Role, str]:
        """The folders that new mail is moved to, by their roles."""
        return {Role.SPAM: self.spam_folder, **self.apart}

    @property
    def apart(self) -> Mapping[Role, str]:
        """The folders for mail that is put apart, by their roles."""
        named = {role: getattr(self, key) for role, key in APART.items()}
        return {role: folder for role, folder in named.items() if folder is not None}

    def folder_for(self, goal: Role) -> str:
        """Return the folder that mail is moved to for a role: of `goals`, or the inbox. Raises KeyError for others."""
        return self.inbox_folder if goal is Role.INBOX else self.goals[goal]

    @property
    def inbox_folder(self) -> str:
        """The folder that ham is moved back to: the first inbox, in the order written."""
        return self._first(Role.INBOX)

    @property
    def spam_folder(self) -> str:
        """The folder that spam is moved to: the first spam folder, in the order written."""
        return self._first(Role.SPAM)

    def role_of(self, folder: str) -> Role:
        """Return the role of a folder. An unnamed one has `other_folders`, but inside trash or spam it has that role.

        QUIRK: mail programs delete a folder by moving it into the trash. As an ordinary folder, a deleted Junk would
        teach that all of its spam is ham. QUIRK: another mail program makes its own trash or spam folder, long after
        the roles were written. Spam that a person deletes or sorts into it would become ham.

        So a pattern such as `*` does not turn such folders into ham or an inbox. It does not hold inside a neutral or a
        spam folder, unless it begins with that folder's name, such as `Lists/py*`. It does not hold for INBOX, which is
        always named.

        A neutral folder with a usual name for sent mail is sent mail: it was written before that role existed.
        """
        for apart, key in APART.items():  # not by `apart`, which makes a mapping: this is asked for each place of mail
            if getattr(self, key) == folder:
                return apart
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
        """Return whether a folder's role is written, by name or pattern, and does not come from a spam folder above."""
        above = folder.rpartition("/")[0]
        is_apart = not above or self.role_of(above) is not Role.SPAM
        return folder in self.roles or (is_apart and self.by_pattern(folder) is not None)

    def by_pattern(self, folder: str, beginning: str = "") -> Role | None:
        """Return the role of the first matching pattern with this beginning, in the order written; None without one."""
        if folder.upper() == "INBOX":
            return None
        held = (role for key, role in self.patterns.items() if key.startswith(beginning) and matches(key, folder))
        return next(held, None)

    def _first(self, wanted: Role) -> str:
        return next(folder for folder, role in self.roles.items() if role is wanted)


@dataclass(frozen=True, slots=True)
class Scoring:
    """The settings of judging.

    From `spam_cutoff` up a message is spam, from `ham_cutoff` down it is ham, and between them it is unsure.

    `alpha` 0.01 ranks far better than 1, and 0.005 no better; a `spam_cutoff` of 0.95 catches most spam that 0.90
    does, and moves less ham (`spamnb evaluate`).
    """

    model: Model = "multinomial-boolean"
    alpha: Annotated[float, number(0, 1000, above=True)] = 0.01
    spam_cutoff: Annotated[float, number(0, 1)] = 0.95
    ham_cutoff: Annotated[float, number(0, 1)] = 0.1


@dataclass(frozen=True, slots=True)
class Learning:
    """Which acts of the user teach, and when the filter knows enough to move mail.

    `minimum_messages` is of ham; of spam a quarter is enough. `trust_delivery`: mail that first appears in a spam
    folder or a training folder is learned too, although a rule may have delivered it.
    """

    kept: bool = True
    kept_days: Annotated[float, number(0, 3650)] = 3.0
    dwell_seconds: Annotated[float, number(0, 3600)] = 5.0
    minimum_messages: Annotated[int, whole(1, 1_000_000)] = 20
    keywords: bool = True
    trust_delivery: bool = True
    move_marked: bool = True


@dataclass(frozen=True, slots=True)
class Log:
    """The content of the service's log. subjects: it names each message by its subject and sender."""

    subjects: bool = True


@dataclass(frozen=True, slots=True)
class Service:
    """How the service notices changes in the folders, and what it writes: daily copies of the ledger, metrics, letters.

    log: the form of its log. metrics: the file for them, or None. moved_file: made after each move, if it is not there;
    None: no such file. statement: how often a letter in the inbox tells what went to spam.
    """

    reconcile_seconds: Annotated[float, number(1, 86_400)] = 300.0
    watch: Watch = "auto"
    poll_seconds: Annotated[float, number(0.1, 3600)] = 10.0
    copies: Annotated[int, whole(0, 365)] = 7
    statement: Statements = "off"
    log: LogForm = "text"
    metrics: Annotated[Path | None, optional(full_path("/var/lib/prometheus/node-exporter/spamnb.prom"))] = None
    moved_file: Annotated[Path | None, optional(full_path("/home/you/.local/share/spamnb/moved"))] = None


@dataclass(frozen=True, slots=True)
class Spamd:
    """The addresses of the spamd protocol, and the users who may use it.

    listen: paths of Unix sockets, and loopback addresses such as `127.0.0.1:783`, beside sockets from the service
    manager. teach: where TELL teaches: only on Unix sockets, on TCP too, or nowhere. most_points: the largest score
    that a client gets; its negative is the smallest. peers: login names or numbers of users that may ask, beside the
    service's own user and root.
    """

    listen: Annotated[tuple[str, ...], addresses] = ()
    teach: Teach = "sockets"
    most_points: Annotated[float, number(5, 1000)] = 9.9
    peers: Annotated[tuple[str, ...], users] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """How several hosts share lessons, by a log in PostgreSQL.

    database: the connection in the form of libpq; None: nothing is shared. host: the name of this host in the history
    of the others; None: its host name. user: the name of the one person of this configuration in the log; a user of a
    mail host has the same name there. seconds: how often the service asks the log for news.
    """

    database: Annotated[str | None, optional(connection)] = None
    host: Annotated[str | None, optional(host_name)] = None
    user: Annotated[str | None, optional(account_name)] = None
    seconds: Annotated[float, number(1, 3600)] = 10.0


@dataclass(frozen=True, slots=True)
class Config:
    """All values together. There is at least one mailbox, and none is inside another.

    The paths of a mail host have fields: its configuration is a template for its users', with one mailbox.

    address_book: the vCard file of the people that one knows, or a directory of such files, or None. authserv_id: the
    site whose servers' Authentication-Results count, or None. notmuch_tag: the tag for spam in notmuch, or None.
    breaker: whether the filter stops moving mail if suddenly nearly all of it looks like spam. retention_days: how long
    the ledger keeps files that are gone, and verdicts on messages that are gone and were never learned; 0 for good.

    Three fields are not keys. user: the host's user of this configuration; "" for one person. share: for a user of a
    host, the path, without its ending, of the lock that the user's service holds. written: the keys of sections that
    the file itself names, such as `scoring.spam_cutoff`: they have priority over a person's choices (`config.chosen`).
    """

    mailboxes: tuple[Mailbox, ...]
    ledger: Path
    scoring: Scoring = field(default_factory=Scoring)
    learning: Learning = field(default_factory=Learning)
    senders: Senders = field(default_factory=Senders)
    address_book: Path | None = None
    authserv_id: Annotated[str | None, optional(server_name)] = None
    notmuch_tag: Annotated[str | None, optional(tag)] = None
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
        """Whether this configuration belongs to a mail host: then commands need that of one of its users."""
        return any(has_fields(mailbox.path) for mailbox in self.mailboxes)

    @property
    def spam_folder(self) -> str:
        """The folder for spam in the first mailbox."""
        return next((mailbox.spam_folder for mailbox in self.mailboxes), "Junk")

    def has_folder(self, goal: Role) -> bool:
        """Tell whether a mailbox has a folder of that role to which new mail is moved."""
        return any(goal in mailbox.goals for mailbox in self.mailboxes)

    @property
    def claim(self) -> Path:
        """The path, without its ending, of the lock that the service of this ledger holds."""
        return self.share or self.ledger

    @property
    def account(self) -> str | None:
        """The name in the log of lessons of the user whose configuration this is, or None."""
        return self.user or self.exchange.user
