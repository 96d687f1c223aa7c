"""What all tests of the service share: the mail of one Maildir as people change it, and the service as a process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from spamnb.maildir.folders import Folder
from spamnb.maildir.messages import deliver, scan
from tests import warm
from tests.patience import PATIENCE, until

_STARTED: Final = re.compile(r"\b(?:watching|polling) \d")
Running = warm.Process | subprocess.Popen[bytes]


class Mail:
    """The folders of a Maildir, by their names. bases: names of files that nobody has used."""

    def __init__(self, folders: Mapping[str, Folder], bases: Iterator[str]) -> None:
        self.folders = folders
        self.bases = bases

    def deliver(self, content: bytes, folder: str = "INBOX") -> bytes:
        """Deliver as an agent does; the content."""
        deliver(self.folders[folder], content, next(self.bases))
        return content

    def contents(self, folder: str = "INBOX") -> list[bytes]:
        """The messages of a folder. A file that has gone away is left out."""
        found = []
        for entry in scan(self.folders[folder]):
            try:
                found.append(Path(entry.path(self.folders[folder])).read_bytes())
            except FileNotFoundError:
                continue
        return found

    def everything(self) -> list[bytes]:
        """The contents of all folders, sorted."""
        return sorted(content for name in self.folders for content in self.contents(name))

    def path_of(self, folder: str, content: bytes) -> Path:
        """The file of a message."""
        where = self.folders[folder]
        return next(Path(entry.path(where)) for entry in scan(where) if Path(entry.path(where)).read_bytes() == content)

    def move(self, content: bytes, source: str, destination: str, flags: str = "S") -> Path:
        """Move as an IMAP server does: another base name in `cur/`, and other flags."""
        target = Path(self.folders[destination].subdir("cur")) / f"{next(self.bases)}:2,{flags}"
        self.path_of(source, content).rename(target)
        return target


class ServiceProcess:
    """The service over a configuration, as a process that writes a log."""

    config: Path
    log_file: Path
    program = warm.HURRIED
    process: Running | None = None

    def start(self, *arguments: str, environ: dict[str, str] | None = None, wait: bool = True) -> None:
        """Start the service, and wait until it watches, or has ended."""
        before = self._starts()
        with self.log_file.open("ab") as log:
            self.process = self._launch(["--config", str(self.config), "run", *arguments], log.fileno(), environ or {})
        if wait:
            until(lambda: self._starts() > before or not self.is_up(), lambda: f"the service to watch: {self.log()}")

    def _launch(self, arguments: list[str], log: int, environ: dict[str, str]) -> Running:
        if environ:  # which may be about the start itself
            command = [sys.executable, "-m", "spamnb", *arguments]
            return subprocess.Popen(command, stderr=log, env=os.environ | environ)
        return warm.start(*arguments, stderr=log, code=self.program)

    def _starts(self) -> int:
        """How often the service has begun to watch."""
        return len(_STARTED.findall(self.log()))

    def once(self) -> int:
        """`run --once` as a process of its own; the exit code."""
        with self.log_file.open("ab") as log:
            once = ["--config", str(self.config), "run", "--once"]
            return warm.start(*once, stderr=log.fileno(), code=self.program).wait(PATIENCE)

    def is_up(self) -> bool:
        """Whether the service runs."""
        return self.process is not None and self.process.poll() is None

    def end(self, with_signal: int = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; the exit code."""
        assert self.process is not None
        self.process.send_signal(with_signal)
        return self.ended()

    def ended(self) -> int:
        """Wait for the service to end by itself; the exit code."""
        assert self.process is not None
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def kill(self) -> None:
        """Kill the service if it still runs."""
        if self.process is not None and self.is_up():
            self.process.kill()
            self.process.wait()

    def log(self) -> str:
        """What the service said."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
