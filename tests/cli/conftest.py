"""A home of its own for each test, and the command line in this process or as one of its own."""

import contextlib
import fcntl
import io
import os
import pty
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import spamnb
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.ledger.lessons.sqlite.count_block import TOKENS, counts_in
from spamnb.ledger.lessons.sqlite.kind_codes import decode
from tests import warm
from tests.patience import PATIENCE

COMMAND = (sys.executable, "-m", "spamnb")


@dataclass(frozen=True)
class Result:
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]
At = Callable[..., tuple[int, str, str]]


def costs(process: "Run", *command: str) -> float:
    """How many times the processor time of a Python that does nothing a command takes; of each the least of five.

    Both run by turns, so that a slow or busy machine slows both.
    """

    def seconds(work: Callable[[], object]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    nothing = [sys.executable, "-c", "pass"]
    with_bytecode = {"PYTHONDONTWRITEBYTECODE": ""}  # an installed program is not compiled at each start
    taken = [
        (
            seconds(lambda: process(*command, **with_bytecode)),
            seconds(lambda: subprocess.run(nothing, check=True, stdin=subprocess.DEVNULL)),
        )
        for _ in range(5)
    ]
    return min(ours for ours, _ in taken) / min(theirs for _, theirs in taken)


def move_in(directory: Path, patch: pytest.MonkeyPatch) -> Path:
    """Make a directory the home and the working directory."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "MAILDIR", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY"):
        patch.delenv(name, raising=False)
    directory.mkdir(exist_ok=True)
    patch.setenv("HOME", str(directory))
    patch.chdir(directory)
    return directory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, which is the working directory too."""
    return move_in(tmp_path / "home", monkeypatch)


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process; `stdin` is piped into it."""

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert "should not happen" not in said.err
        return Result(code, said.out, said.err)

    return call


@pytest.fixture
def process(home: Path) -> Run:
    """Run a command as a process of its own; with an environment of its own, it is a new Python too."""

    def call(*arguments: object, stdin: bytes = b"", **environ: str) -> Result:
        words = [str(argument) for argument in arguments]
        if environ:
            done = subprocess.run(
                [*COMMAND, *words],
                input=stdin,
                capture_output=True,
                timeout=PATIENCE,
                env=os.environ | environ,
                check=False,
            )
        else:
            done = warm.run(*words, stdin=stdin)
        said = Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        assert "Traceback" not in said.err
        return said

    return call


def waits_for_input(process: int) -> bool:
    """Whether a process has read all input and waits for more: on standard input, or at its terminal."""
    try:
        call = Path(f"/proc/{process}/syscall").read_text().split()
        reads = {"x86_64": "0", "aarch64": "63"}[os.uname().machine]
        is_reading = call[:1] == [reads]
        return is_reading and (call[1] == "0x0" or os.readlink(f"/proc/{process}/fd/{int(call[1], 16)}") == "/dev/tty")
    except OSError:  # it has ended
        return False


@pytest.fixture
def open_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that all users can read, unlike those of pytest; the working directory of the test."""
    place = Path(tempfile.mkdtemp(prefix="open-"))
    place.chmod(0o755)
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    yield place
    shutil.rmtree(place)


@pytest.fixture
def program_for_all() -> None:
    """That other users can run the program, unlike one below /root."""
    for module in (spamnb, pytest, os):
        for above in Path(str(module.__file__)).parents:
            if not above.stat().st_mode & 0o001:
                pytest.skip(f"other users cannot read the program: {above} is shut")


@pytest.fixture
def at_terminal(home: Path) -> At:
    """Run a command at a terminal of its own: see `terminal`."""
    return terminal(home)


def terminal(place: Path) -> At:
    """Run a command at a terminal of its own, and type an answer at each of its questions, once it waits for that.

    place: a directory for the file that standard output may be.
    prompt: how a question ends, in capitals or not. times: how often the last answer is typed, as long as the command
    runs. Returns its exit code, what the terminal showed, and standard output where that is a file.
    """

    def control() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # or Ctrl-C would reach nobody
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell has it ignored in what it runs in the background

    def call(
        *arguments: object,
        answers: Sequence[str] = (),
        prompt: str = "[y/N] ",
        times: int = 1,
        stdout_is_file: bool = False,
        columns: int = 300,
    ) -> tuple[int, str, str]:
        ours, theirs = pty.openpty()
        with open(place / "out", "w+b") as out:
            child = subprocess.Popen(
                [*COMMAND, *map(str, arguments)],
                stdin=theirs,
                stdout=out if stdout_is_file else theirs,
                stderr=theirs,
                env=os.environ | {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "30"},
                start_new_session=True,
                preexec_fn=control,  # noqa: PLW1509 - a test has one thread
            )
            os.close(theirs)
            shown, given, end = b"", 0, time.monotonic() + PATIENCE
            while time.monotonic() < end:
                if select.select([ours], [], [], 0.001 if times > 1 and given else 0.02)[0]:
                    try:
                        shown += os.read(ours, 65536)
                    except OSError:  # EIO: the terminal's last user is gone
                        break
                elif shown.lower().count(prompt.lower().encode()) > given and waits_for_input(child.pid):
                    assert given < len(answers), shown
                    os.write(ours, answers[given].encode())
                    given += 1
                elif given and given == len(answers) and times > 1:
                    os.write(ours, answers[-1].encode())
                    times -= 1
            os.close(ours)  # hangs up, and so ends what still runs
            code = child.wait(PATIENCE)
            out.seek(0)
            return code, shown.decode(errors="replace"), out.read().decode()

    return call


def mail(directory: Path, kind: str, number: int, first: int = 0) -> Path:
    """A directory with made-up messages of a kind."""
    directory.mkdir(parents=True, exist_ok=True)
    for i in range(first, first + number):
        (directory / f"{i}.eml").write_bytes(message(kind, i))
    return directory


def mbox(kind: str, numbers: range, end: bytes = b"\n") -> bytes:
    """Made-up messages of a kind as an mbox."""
    parts = [b"From promo@shop.example Mon Jan  1 10:00:00 2024\n" + message(kind, n) + b"\n" for n in numbers]
    return b"".join(parts).replace(b"\n", end)


def maildir(root: Path, **folders: list[bytes]) -> Path:
    """A Maildir++ with folders (`_` stands for the dot between levels) and their messages."""
    for name, contents in ({"INBOX": []} | folders).items():
        directory = root if name == "INBOX" else root / ("." + name.replace("_", "."))
        for sub in ("cur", "new", "tmp"):
            (directory / sub).mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (directory / "cur" / f"17000000{i:02}.M{i}P1.{name}:2,S").write_bytes(content)
    return root


def checked(server: str = "mx.example.org", number: int = 12) -> list[bytes]:
    """Mail that came from outside, with the results of the own server."""
    head = f"Authentication-Results: {server}; dkim=none\n"
    head += f"Received: from x (out.b.example [9.9.9.7]) by {server} (Postfix) with ESMTP id 2; Mon, 1 Jun 2026\n"
    return [head.encode() + message("ham", each) for each in range(number)]


def ledger_file(home: Path) -> Path:
    """The usual place of the ledger."""
    return home / ".local/share/spamnb/ledger.sqlite"


def counts(home: Path) -> list[tuple[object, ...]]:
    """The counts of all tokens that were learned, in the order of the dictionary on disk."""
    with contextlib.closing(sqlite3.connect(ledger_file(home))) as db:
        rows = db.execute("SELECT id, text FROM token ORDER BY text").fetchall()
        blocks = dict(db.execute("SELECT block, numbers FROM counts"))
    found = ((decode(text), *counts_in(blocks[id_ // TOKENS], id_ % TOKENS)) for id_, text in rows)
    return [one for one in found if one[1] or one[2]]


@pytest.fixture(scope="session")
def taught_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of `taught`, to be copied."""
    with pytest.MonkeyPatch.context() as patch:
        home = move_in(tmp_path_factory.mktemp("taught"), patch)
        for kind in ("ham", "spam"):
            assert main(["-q", "train", f"--{kind}", str(mail(home / "lessons" / kind, kind, 25))]) == 0
            (home / f"{kind}.eml").write_bytes(message(kind, 500))
    return home


@pytest.fixture
def taught(home: Path, taught_once: Path) -> Path:
    """A filter that has learned 25 messages of each kind; a spam and a ham message are in the home directory."""
    shutil.copytree(taught_once, home, dirs_exist_ok=True)
    return home
