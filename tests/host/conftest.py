"""A mail host on the disk: a directory for mail, one for ledgers, and a configuration."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from spamnb.host.host import Host, load_host


@dataclass(frozen=True)
class Site:
    """A directory with the mail of a host in `vmail`, its ledgers in `state`, and users' own settings in `own`."""

    directory: Path
    path: str = "{domain}/{local}/Maildir"

    @property
    def mail(self) -> Path:
        """Where mail lies."""
        return self.directory / "vmail"

    def maildir(self, where: str) -> Path:
        """A Maildir at a path below that of all mail."""
        root = self.mail / where
        for name in ("cur", "new", "tmp"):
            (root / name).mkdir(parents=True)
        return root

    def own(self, name: str, text: str) -> Path:
        """A user's own settings."""
        path = self.directory / "own" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def host(self, more: str = "") -> Host:
        """What its configuration says; `more` is written below `users`."""
        self.mail.mkdir(exist_ok=True)
        ledger = "/".join(part for part in self.path.split("/") if "{" in part)
        config = self.directory / "config.yaml"
        config.write_text(
            f"mailboxes:\n  - path: {self.mail}/{self.path}\n    roles: {{INBOX: inbox, Junk: spam}}\n"
            f"ledger: {self.directory}/state/{ledger}/ledger.sqlite\nusers:\n"
            f"  own: {self.directory}/own/{{user}}.yaml\n{more}"
        )
        return load_host(config, {})

    def names(self, more: str = "") -> list[str]:
        """The names of all users that are found."""
        return [user.name for user in self.host(more).users().users]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A host without a user."""
    return Site(tmp_path)


@pytest.fixture
def site_of(tmp_path: Path) -> Callable[[str], Site]:
    """Makes a host whose mail lies at another path."""
    return lambda path: Site(tmp_path, path)
