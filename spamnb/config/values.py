"""The decisions a person may take, and their defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spamnb.config.roles import Role
from spamnb.config.usual import usual_role

Layout = Literal["auto", "maildir++", "fs"]
Model = Literal["bernoulli", "multinomial", "multinomial-boolean"]
Watch = Literal["auto", "inotify", "polling"]


@dataclass(frozen=True, slots=True)
class Mailbox:
    """One Maildir and the roles of its folders.

    `roles` maps a folder's name, with "/" between the levels, to its role, in the order written; it names at
    least one inbox and one spam folder. An ordinary folder that it does not name has the role `other_folders`.
    """

    path: Path
    roles: Mapping[str, Role] = field(hash=False)  # a mapping has no hash; the path tells mailboxes apart
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
        """
        if folder in self.roles:
            return self.roles[folder]
        parts = folder.split("/")
        above = ("/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
        role = next((self.roles[name] for name in above if name in self.roles), self.other_folders)
        if role not in (Role.NEUTRAL, Role.SPAM):
            role = self.other_folders if usual_role(folder) in (Role.HAM, Role.INBOX) else Role.NEUTRAL
        return role

    def _first(self, wanted: Role) -> str:
        return next(folder for folder, role in self.roles.items() if role is wanted)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a message is judged.

    From `spam_cutoff` up a message is spam, from `ham_cutoff` down it is ham, between them it is unsure.

    `alpha`: on csdmc2010 online, (1−ROCA)% is 0.139 with 1 and 0.020 with 0.01 or 0.005, on Enron6 0.239, 0.137 and
    0.144. `spam_cutoff`: 0.95 loses 1 of csdmc2010's 2,949 ham and catches 95.4 % of the spam, 0.90 loses 2 and catches
    97.0 %, 0.97 none and 94.1 %.
    """

    model: Model = "multinomial-boolean"
    alpha: float = 0.01
    spam_cutoff: float = 0.95
    ham_cutoff: float = 0.1


@dataclass(frozen=True, slots=True)
class Learning:
    """What counts as a person's word, and when the filter knows enough to move mail.

    `minimum_messages` is per class. `trust_delivery`: mail that is first seen in a spam folder or a training folder,
    where a rule may have delivered it, is learned too.
    """

    kept: bool = True
    kept_days: float = 3.0
    dwell_seconds: float = 5.0
    minimum_messages: int = 20
    keywords: bool = True
    trust_delivery: bool = True


@dataclass(frozen=True, slots=True)
class Breaker:
    """When to stop moving mail: more than `share` of the last `window` judged messages were spam."""

    window: int = 100
    share: float = 0.95


@dataclass(frozen=True, slots=True)
class Service:
    """How the service notices what happens in the folders, and how many daily copies of the ledger it keeps."""

    reconcile_seconds: float = 300.0
    watch: Watch = "auto"
    poll_seconds: float = 10.0
    copies: int = 7


@dataclass(frozen=True, slots=True)
class Config:
    """All decisions together; at least one mailbox, no two of them at or inside the same place."""

    mailboxes: tuple[Mailbox, ...]
    ledger: Path
    scoring: Scoring = field(default_factory=Scoring)
    learning: Learning = field(default_factory=Learning)
    breaker: Breaker = field(default_factory=Breaker)
    service: Service = field(default_factory=Service)
