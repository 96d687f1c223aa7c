"""One of the two units in a booted system: its Maildir, its configuration, its state."""

import json
import os
import time
from pathlib import Path

from spamnb.acts.moves import bases_now
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import create_folder
from tests.patience import PATIENCE, until
from tests.systemd.machine import Machine

# A hang must be found, and a death mended, within the patience of a test.
WATCHDOG = 3
_HASTE = f"[Service]\nWatchdogSec={WATCHDOG}\nRestartSec=500ms\n"
_LESSONS = 25


class Unit:
    """The service of one user, under the system's manager or (`manager` names the user) under the user's own."""

    def __init__(self, machine: Machine, user: str, name: str, manager: str | None) -> None:
        self.machine = machine
        self.user = user
        self.name = name
        self.home = f"/home/{user}"
        self.maildir = f"{self.home}/Maildir"
        self._manager = manager
        self._numbers = iter(range(1000, 9999))
        self._bases = bases_now()
        self.config = f"{self.home}/.config/spamnb/config.yaml" if manager else f"/etc/spamnb/{user}/config.yaml"
        self.state = f"{self.home}/.local/share/spamnb" if manager else f"/var/lib/spamnb/{user}"
        self._drop_ins = f"{self.home}/.config/systemd/user" if manager else "/etc/systemd/system"
        self.good = ""

    def make_maildir(self) -> None:
        """A Maildir with an inbox, as a mail host makes it."""
        create_folder(str(self.machine.path(self.maildir)), "maildir++", "INBOX")
        self.machine.run("chown", "-R", f"{self.user}:{self.user}", self.maildir)

    def prepare(self) -> None:
        """Keep the configuration for `restore`, and teach the filter a little, as the user would."""
        self.good = self.machine.path(self.config).read_text() + "\nbreaker: false  # these tests send much spam\n"
        for kind in ("ham", "spam"):
            for number in range(_LESSONS):
                lesson = f"{self.home}/lessons/{kind}/{number}.eml"
                self.machine.write(lesson, message(kind, number).decode(), self.user)
            self.spamnb("train", f"--{kind}", f"{self.home}/lessons/{kind}")

    def hasten(self) -> None:
        """Shorten the times that the tests would have to wait for."""
        self.drop_in("10-haste", _HASTE)

    def restore(self) -> None:
        """Back to a running service over the good configuration."""
        self.machine.path(f"{self._drop_ins}/{self.name}.d/probe.conf").unlink(missing_ok=True)
        self.configure()
        self.systemctl("daemon-reload")
        self.systemctl("reset-failed", check=False)
        self.systemctl("restart")

    def configure(self, more: str = "", *, instead: str | None = None) -> None:
        """Write the configuration with more keys, or a different one."""
        self.machine.path(self.config).write_text(self.good + more if instead is None else instead)

    def drop_in(self, name: str, text: str) -> None:
        """Write a drop-in of the unit."""
        owner = self.user if self._manager else None
        self.machine.write(f"{self._drop_ins}/{self.name}.d/{name}.conf", text, owner)

    def systemctl(self, verb: str, *arguments: str, check: bool = True) -> str:
        """`systemctl [--user] VERB UNIT`; what it printed."""
        which = () if self._manager is None else ("--user",)
        of_all = verb == "daemon-reload"
        command = ["systemctl", *which, verb, *(() if of_all else (self.name,)), *arguments]
        return self.machine.run(*command, user=self._manager, check=check, timeout=2 * PATIENCE).stdout.strip()

    def show(self, name: str) -> str:
        """A property of the unit."""
        return self.systemctl("show", f"--property={name}", "--value")

    def journal(self, since: str = "") -> list[dict[str, str]]:
        """The service's lines since that moment."""
        which = [f"_SYSTEMD_UNIT={self.name}"]
        if self._manager:
            which = [f"_SYSTEMD_USER_UNIT={self.name}", f"_UID={self.machine.uid(self.user)}"]
        return self._entries(which, since)

    def manager_says(self, since: str = "") -> list[dict[str, str]]:
        """Return the service manager's messages about the unit since that moment."""
        return self._entries([f"{'USER_' if self._manager else ''}UNIT={self.name}"], since)

    def _entries(self, which: list[str], since: str) -> list[dict[str, str]]:
        self.machine.run("journalctl", "--sync")
        after = [f"--since={since}"] if since else []
        out = self.machine.run("journalctl", "--output=json", "--no-pager", *after, *which).stdout
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    def now(self) -> str:
        """This moment, in the journal's words."""
        return f"@{time.time():.6f}"

    def said(self, text: str, since: str) -> bool:
        """Whether the service has logged this since that moment."""
        return any(text in str(entry["MESSAGE"]) for entry in self.journal(since))

    def pid(self) -> int:
        """Return the main process, inside; 0 if there is none."""
        return int(self.show("MainPID"))

    def signal(self, name: str) -> None:
        """Send a signal to the main process alone."""
        self.machine.run("sh", "-c", f"kill -{name} {self.pid()}")

    def spamnb(self, *arguments: str) -> str:
        """The command line, typed by the user."""
        config = () if self._manager else ("--config", self.config)
        return self.machine.run("spamnb", *config, *arguments, user=self.user).stdout

    def deliver(self, kind: str) -> bytes:
        """Deliver the next made-up message as an MDA does: written in tmp/, then renamed into new/."""
        content = message(kind, next(self._numbers))
        name, number = next(self._bases), self.machine.uid(self.user)
        draft = self.machine.path(f"{self.maildir}/tmp/{name}")
        draft.write_bytes(content)
        os.chown(draft, number, number)
        draft.rename(self.machine.path(f"{self.maildir}/new/{name}"))
        return content

    def holds(self, folder: str, content: bytes) -> bool:
        """Whether the folder has the message."""
        return content in (path.read_bytes() for path in self.files(folder))

    def wait_moved(self, content: bytes) -> None:
        """Wait until a message is in Junk and nowhere else."""
        until(lambda: self.holds(".Junk", content), f"spam moved by {self.name}; it said: {self._last_words()}")
        assert not self.holds("", content)

    def files(self, folder: str) -> list[Path]:
        """The messages of a folder, as files."""
        root = self.machine.path(f"{self.maildir}/{folder}")
        return [path for subdir in ("new", "cur") if (root / subdir).is_dir() for path in (root / subdir).iterdir()]

    def _last_words(self) -> str:
        return " | ".join(str(entry.get("MESSAGE")) for entry in self.journal()[-5:])
