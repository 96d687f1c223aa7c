"""A home with a Maildir, a filter that has learned enough, and the program as the recipes of the guide call it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import spamnb
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from tests.documents import block
from tests.lessons import learn, sample_lessons
from tests.patience import PATIENCE

DOCUMENT = "docs/mail-server.md"
PROGRAM = "/usr/local/bin/spamnb"  # in the document
_LESSONS = 25  # of each kind
SPAM, HAM = message("spam", 700), message("ham", 700)
# What stands in the place of the program: each ends without the message, as a broken program does.
BROKEN = {
    "fails": "exit 3",
    "tries-later": "exit 75",
    "half": "head -c 60; exit 1",
    "killed": "head -c 60; kill -9 $$",
    "missing": "",
}
SILENT = {"silent": "exit 0"}  # for an agent that does not trust the exit code alone


@dataclass(frozen=True)
class Home:
    """A person's home directory."""

    path: Path

    @property
    def program(self) -> Path:
        """A substitute for `/usr/local/bin/spamnb`."""
        return self.path / "bin" / "spamnb"

    def recipe(self, name: str) -> str:
        """A block of the document, for this home: the agents themselves take it from the system's list of users."""
        return self.named(block(DOCUMENT, name))

    def named(self, recipe: str) -> str:
        """A recipe with the program and the home directory of this home."""
        text = recipe.replace(PROGRAM, str(self.program))
        return text.replace("$HOME", str(self.path)).replace("%h", str(self.path))

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        """A file in the home directory."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def install(self, script: str) -> None:
        """Let the program be a script."""
        self.write("bin/spamnb", f"#!/bin/sh\n{script}\n", 0o755)

    def install_spamnb(self) -> None:
        """Let the program be spamnb itself, with this home's configuration."""
        package = Path(spamnb.__file__).parent.parent  # procmail and Postfix pass on no variable of ours
        run = f'exec {sys.executable} -m spamnb --config {self.path}/config.yaml "$@"'
        self.install(f"export PYTHONPATH={package}\n{run}")

    def break_it(self, how: str) -> None:
        """Let the program be one that is broken, or take its ledger away."""
        if how == "no-ledger":
            self.install_spamnb()
            (self.path / "ledger.sqlite").rename(self.path / "kept")
        elif script := (BROKEN | SILENT)[how]:
            self.install(script)
        else:
            self.program.unlink()

    def repair(self) -> None:
        """Let a filter work again: one that starts at once, and calls everything spam."""
        self.install("echo 'X-Spam-Flag: YES'; exec cat")
        if (self.path / "kept").exists():
            (self.path / "kept").rename(self.path / "ledger.sqlite")

    def run(self, *command: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a program of this home."""
        environ = {"HOME": str(self.path), "PATH": os.environ["PATH"], "LOGNAME": "anna", "TERM": "xterm"}
        return subprocess.run(
            command, input=stdin, capture_output=True, timeout=PATIENCE, check=False, cwd=self.path, env=environ
        )

    def mail(self, folder: str = "") -> list[bytes]:
        """The messages in a folder of the Maildir; "" is the inbox. procmail adds a line end to each."""
        found = (path.read_bytes() for path in (self.path / "Maildir" / folder).glob("[cn][ue][rw]/*"))
        return [content.rstrip(b"\n") + b"\n" for content in found]


@pytest.fixture(scope="session")
def taught_home(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A ledger that has learned enough of both kinds."""
    path = tmp_path_factory.mktemp("taught") / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(_LESSONS))
    return path.read_bytes()


@pytest.fixture
def home(taught_home: bytes) -> Iterator[Home]:
    """A home of one test."""
    with made_home(taught_home) as made:
        yield made


@contextmanager
def made_home(taught_home: bytes) -> Iterator[Home]:
    """A home with a Maildir, its configuration and its ledger, in a directory that other users can reach."""
    with tempfile.TemporaryDirectory(prefix="spamnb-home-") as directory:
        made = Home(Path(directory).resolve())
        made.path.chmod(0o755)
        for name in ("INBOX", "Junk", "Archive"):
            create_folder(str(made.path / "Maildir"), "maildir++", name)
        ledger = made.path / "ledger.sqlite"
        ledger.write_bytes(taught_home)
        mailbox = Mailbox(path=made.path / "Maildir", roles={"INBOX": Role.INBOX, "Junk": Role.SPAM})
        made.write("config.yaml", render([mailbox], ledger))
        made.install_spamnb()
        yield made
        with Ledger(str(ledger), only_read=True) as read:
            assert read.lessons.totals().tolist()[:2] == [_LESSONS, _LESSONS], "no recipe teaches by itself"


def without_fields(content: bytes) -> bytes:
    """A message without the fields that the filter writes."""
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith((b"X-Spam", b"X-Bogosity")))


def needs_a_python_for(user: str) -> None:
    """Skip if a user cannot run the filter: others cannot use a Python below /root."""
    command = ["runuser", "-u", user, "--", sys.executable, "-c", "import spamnb.cli.main, numpy"]
    if subprocess.run(command, capture_output=True, cwd="/", check=False).returncode != 0:
        pytest.skip(f"needs a Python with spamnb that the user {user} can start")
