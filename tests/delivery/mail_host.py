"""The users of a mail host, whose mail belongs to one user of this machine, and the real service over them."""

import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from tests.delivery.conftest import needs_a_python_for
from tests.documents import ROOT
from tests.host.conftest import Site
from tests.lessons import label_of, learn, sample_lessons
from tests.patience import PATIENCE, until

_LESSONS = 25


class MailHost:
    """Mailboxes below a directory, and ledgers that know ham from spam; only to bob all of it is the other way round.

    owner: of the mail, as whom the service runs.
    """

    USERS = ("anna@one.example", "bob@two.example", "anna@two.example")

    def __init__(self, directory: Path, owner: str) -> None:
        self.site = Site(directory)
        directory.mkdir(0o755, exist_ok=True)
        self.socket = f"{directory}/spamd.sock"
        self._log = directory / "service.log"
        self._owner = pwd.getpwnam(owner)
        self.host = self.site.host(
            f"spamd: {{listen: [{self.socket}]}}\nlearning: {{dwell_seconds: 0.3, minimum_messages: 5}}\n"
        )
        for user in self.USERS:
            for folder in ("INBOX", "Junk"):
                create_folder(str(self.maildir(user)), "maildir++", folder)
            self.ledger_of(user).parent.mkdir(0o700, parents=True)
            self._teach(user)
        for path in (directory, *directory.rglob("*")):
            shutil.chown(path, self._owner.pw_uid, self._owner.pw_gid)

    def _teach(self, user: str) -> None:
        lessons = sample_lessons(_LESSONS)
        if user.startswith("bob"):
            other = {0: 1, 1: 0}
            lessons = (one._replace(label=type(one.label)(other[one.label])) for one in lessons)
        with Ledger(str(self.ledger_of(user))) as ledger:
            learn(ledger, sorted(lessons, key=lambda one: one.label))

    def maildir(self, user: str) -> Path:
        """A user's Maildir."""
        return self.host.mail.fill(user)

    def ledger_of(self, user: str) -> Path:
        """A user's ledger."""
        return self.host.ledgers.fill(user)

    def mail(self, user: str, folder: str = "") -> list[bytes]:
        """The messages in a folder; "" is the inbox."""
        return [path.read_bytes() for path in (self.maildir(user) / folder).glob("[cn][ue][rw]/*")]

    def label(self, user: str, content: bytes) -> int | None:
        """Return the label of a message in a user's filter."""
        with Ledger(str(self.ledger_of(user)), only_read=True) as ledger:
            return label_of(ledger, identity(content))

    def kinds(self, user: str, content: bytes) -> list[str]:
        """Return the kinds of a user's history about a message."""
        with Ledger(str(self.ledger_of(user)), only_read=True) as ledger:
            known = ledger.messages.find(identity(content))
            return [] if known is None else [action.kind for action in ledger.journal.of_message(known.id)]

    def totals(self, user: str) -> list[int]:
        """How many ham and how many spam a user's filter has learned."""
        with Ledger(str(self.ledger_of(user)), only_read=True) as ledger:
            found: list[int] = ledger.lessons.totals().tolist()[:2]
            return found

    def log(self) -> str:
        """Return the log of the service."""
        return self._log.read_text(errors="replace")

    @contextmanager
    def running(self) -> Iterator[None]:
        """The service, from when it has looked at all mailboxes."""
        needs_a_python_for(self._owner.pw_name)
        who = ["setpriv", f"--reuid={self._owner.pw_uid}", f"--regid={self._owner.pw_gid}", "--clear-groups"]
        run = [sys.executable, "-m", "spamnb", "--config", str(self.host.path), "run"]
        with self._log.open("wb") as log:
            self._service = service = subprocess.Popen([*who, *run], stderr=log, cwd=ROOT)
        try:
            known = len(self.USERS)
            until(lambda: self.log().count("recorded 0 existing") == known or service.poll() is not None, "a start")
            assert service.poll() is None, self.log()
            yield
        finally:
            self.stop()
        assert "Traceback" not in self.log()

    def stop(self) -> None:
        """End the service."""
        self._service.terminate()
        self._service.wait(PATIENCE)


def spam(number: int) -> bytes:
    """Spam that was not learned, but for bob, to whom it is ham."""
    return message("spam", 700 + number)
